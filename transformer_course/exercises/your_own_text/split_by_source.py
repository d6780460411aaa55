"""A test split that shares no source sentence with training."""

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise

_REPEATED = [
    ("ein Hund", "un chien"),
    ("ein Hund", "un chien"),
    ("eine Katze", "une chatte"),
    ("ein Kind", "un enfant"),
    ("ein Hund", "un toutou"),
    ("eine Katze", "un chat"),
    ("ein Mann", "un homme"),
    ("ein Kind", "un gamin"),
    ("ein Mann", "un homme"),
    ("ein Mann", "un type"),
]
# Two sources with one translation, and one source in capitals.
_ALIKE = [
    ("er rennt", "il court"),
    ("er läuft", "il court"),
    ("sie ruft", "elle crie"),
    ("Er rennt", "il court vite"),
    ("sie schreit", "elle crie"),
    ("er läuft", "il marche"),
]


@exercise(
    cases=[
        Case(([("ein Hund", "un chien"), ("ein Kind", "un enfant")], 1)),
        Case((_REPEATED, 2)),
        Case((_REPEATED, 3)),
        Case((_ALIKE, 1)),
        Case((_ALIKE, 3)),
    ],
    properties=[
        Property(
            "no source of the test split is in training",
            lambda value, case: not {s for s, _ in value[0]} & {s for s, _ in value[1]},
        ),
        Property(
            "the test split has `count` pairs", lambda value, case: len(value[1]) == case.inputs[1]
        ),
    ],
    hints=[
        "What is drawn: lines, or source sentences? One source sentence may be in many lines. Draw "
        "first, and decide about each line afterwards.",
        "Walk through the pairs and keep a dictionary from source to target. A source goes in if "
        "it is not there yet and there is room. Which pairs may then be trained on?",
        "`test[source] = target` while `len(test) < count`; then a list of all pairs whose source "
        "is not in `test`; then `list(test.items())`.",
    ],
)
def split_by_source(pairs: list[tuple], count: int) -> tuple[list[tuple], list[tuple]]:
    """Return the pairs to train on, and the pairs to judge by."""
    test = {}
    for source, target in pairs:
        if source not in test and len(test) < count:
            test[source] = target
    train = [(source, target) for source, target in pairs if source not in test]
    return train, list(test.items())
