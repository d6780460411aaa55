"""One step of the search for what a published model computes otherwise."""

from collections.abc import Callable
from typing import Any

from transformer_course.checker.cases import Case
from transformer_course.checker.exercise import exercise
from transformer_course.pretrained import search

Options = dict[str, Any]
Distance = Callable[[Options], float]


def _far_from(**right: Any) -> Distance:
    """Return a distance: 1 for the first option that is not right, 2 for the second, and so on.

    A missing option is farther than a wrong one.
    """

    def distance(options: Options) -> float:
        wrong = (
            (place if name in options else 10 * place) * (options.get(name) != value)
            for place, (name, value) in enumerate(right.items(), start=1)
        )
        return float(sum(wrong))

    return distance


def _misleading(options: Options) -> float:
    """Return a distance by which every single change leads away."""
    return {("relu", "after"): 1.0, ("swish", "before"): 0.0}.get(tuple(options.values()), 2.0)


def _two_alike(options: Options) -> float:
    """Return a distance that two changes make smaller by as much."""
    return 3.0 - (options.get("bias") is True) - (options.get("first") == 1)


def _nearer_and_nearer(options: Options) -> float:
    """Return a distance by which gelu is nearer than relu, and swish nearer than gelu."""
    steps = {"swish": 0.0, "gelu": 1.0, "relu": 2.0}
    activation = options.get("activation")
    step = steps[activation] if isinstance(activation, str) else 10.0
    return step + 3 * (options.get("order") != "pairs") + 3 * (options.get("bias") is not False)


_START = {"activation": "relu", "order": "pairs", "bias": False}
_CHOICES = {
    "activation": ["relu", "gelu", "swish"],
    "order": ["pairs", "halves"],
    "bias": [False, True],
}
_BACK = {"activation": ["relu", "swish"], "bias": [False, True]}
_CASES = (
    (_far_from(activation="swish", order="halves", bias=True), "two changes help, and a third"),
    (_far_from(bias=True, order="halves", activation="gelu"), "others help more"),
    (_far_from(activation="swish", order="pairs", bias=False), "the first is wrong"),
    (_nearer_and_nearer, "one of its values is nearer, and another nearer still"),
    (_far_from(activation="relu", order="pairs", bias=True), "the last is wrong"),
    (_far_from(activation="relu", order="pairs", bias=False), "nothing is wrong"),
)


@exercise(
    reference=search.nearest_change,
    cases=[
        *(
            Case((distance, _START, _CHOICES), written=f"(distance, options, choices)  # {words}")
            for distance, words in _CASES
        ),
        Case(
            (
                _far_from(activation="relu", bias=False),
                {"activation": "swish", "bias": True},
                _BACK,
            ),
            written="(distance, options, choices)  # the first values are right",
        ),
        Case(
            (
                _misleading,
                {"activation": "relu", "norm": "after"},
                {"activation": ["relu", "swish"], "norm": ["after", "before"]},
            ),
            written="(distance, options, choices)  # every single change leads away",
        ),
        Case(
            (
                _two_alike,
                {"bias": False, "first": 0},
                {"bias": [False, True], "first": [0, 1]},
            ),
            written="(distance, options, choices)  # two changes are equally good",
        ),
    ],
    hints=[
        "Two loops, one inside the other: over the names, and over the values of each. What must "
        "you remember between the rounds?",
        "`{**options, name: value}` is a new dictionary with one value changed; `options` stays as "
        "it is. Which distance must a change beat, to be remembered?",
        "Begin with `best = options`. For each change, `if distance(changed) < distance(best)`, "
        "then `best = changed`.",
    ],
)
def nearest_change(distance: Callable, options: dict, choices: dict[str, list]) -> dict:
    """Return the options with the one change that brings them nearest; as they are if none does."""
    best = options
    for name, values in choices.items():
        for value in values:
            changed = {**options, name: value}
            if distance(changed) < distance(best):
                best = changed
    return best
