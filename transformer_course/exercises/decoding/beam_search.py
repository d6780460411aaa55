"""Beam search, over any model that continues a prefix."""

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.exercises.decoding.inputs import BOS, EOS
from transformer_course.exercises.decoding.length_score import length_score

Step = Callable[[Sequence[int]], Float[Tensor, "7"]]


def _logarithms(probabilities: dict[int, float]) -> Float[Tensor, "7"]:
    logs = [math.log(probabilities[n]) if n in probabilities else -math.inf for n in range(7)]
    return torch.tensor(logs, dtype=torch.float64)


_END, _BEHIND_THE_END, _NONSENSE = map(
    _logarithms, [{EOS: 1.0}, {5: 0.9, EOS: 0.1}, {6: 0.8, EOS: 0.2}]
)


def _toy(table: dict[tuple[int, ...], dict[int, float]]) -> Step:
    """Return a step function over 7 tokens, from the probabilities behind some prefixes.

    Prefixes that are not in the table end; a token or two would follow a sentence's end, and a
    sentence that does not begin with ``bos`` is nonsense.
    """
    known = {words: _logarithms(probabilities) for words, probabilities in table.items()}

    def step(tokens: Sequence[int]) -> Float[Tensor, "7"]:
        begin, words = list(map(int, tokens[:1])), list(map(int, tokens[1:]))
        if begin != [BOS]:
            return _NONSENSE.clone()
        return (_BEHIND_THE_END if EOS in words else known.get(tuple(words), _END)).clone()

    return step


_LATE_LUCK = _toy({(): {3: 0.6, 4: 0.4}, (3,): {5: 0.55, 6: 0.45}, (4,): {5: 0.95, 6: 0.05}})

_ONE_PARENT = _toy(
    {
        (): {3: 0.51, 4: 0.49},
        (3,): {3: 0.35, 4: 0.33, 5: 0.32},
        (4,): {3: 0.63, 4: 0.37},
        (3, 3): {3: 0.5, 4: 0.3, 5: 0.2},
        (3, 4): {3: 0.9, 4: 0.1},
        (3, 5): {3: 0.9, 4: 0.1},
        (4, 3): {3: 1.0},
        (4, 4): {3: 0.9, 4: 0.1},
    }
)

_SECOND_CHILD = _toy(
    {
        (): {3: 0.6, 4: 0.4},
        (3,): {5: 0.55, 6: 0.45},
        (4,): {5: 0.6, 6: 0.4},
        (3, 5): {3: 0.4, 4: 0.35, 5: 0.25},
        (3, 6): {3: 0.95, 4: 0.05},
        (4, 5): {3: 0.9, 4: 0.1},
        (4, 6): {3: 0.9, 4: 0.1},
    }
)

_THIRD_WORD = _toy(
    {
        (): {3: 0.5, 4: 0.3, 5: 0.2},
        (3,): {3: 0.36, 4: 0.33, 5: 0.31},
        (4,): {3: 0.5, 4: 0.4, 5: 0.1},
    }
)

_THIRD_PLACE = _toy(
    {
        (): {3: 0.6, 4: 0.4},
        (3,): {5: 0.55, 6: 0.45},
        (4,): {5: 0.6, 6: 0.4},
        (3, 5): {3: 0.4, 4: 0.35, 5: 0.25},
        (3, 6): {3: 0.5, 4: 0.3, 5: 0.2},
    }
)

_EARLY_END = _toy({(): {EOS: 0.3, 3: 0.7}, (3,): {4: 0.9, 5: 0.1}})

_EARLY_ENDS = _toy(
    {
        (): {EOS: 0.3, 3: 0.7},
        (3,): {EOS: 0.25, 4: 0.75},
        (3, 4): {5: 0.9, 6: 0.1},
    }
)

_BEST_ENDS_FIRST = _toy(
    {
        (): {3: 0.6, EOS: 0.29, 4: 0.11},
        (3,): {3: 0.505, 4: 0.495},
        (3, 3): {3: 0.4, 4: 0.3, 5: 0.2, 6: 0.1},
        (3, 4): {3: 0.4, 4: 0.3, 5: 0.2, 6: 0.1},
    }
)

# With a beam of 2, the first word ends a hypothesis, and the second best of the third word wins.
_WINS_FROM_SECOND_PLACE = _toy(
    {
        (): {3: 0.6, EOS: 0.25, 4: 0.15},
        (3,): {5: 0.55, 6: 0.45},
        (4,): {5: 1.0},
        (3, 5): {3: 0.34, 4: 0.33, 5: 0.33},
    }
)

_BEST_ENDS_SHORT = _toy({(): {EOS: 0.52, 3: 0.48}, (3,): {4: 1.0}, (3, 4): {5: 1.0}})

_SHORT_OR_LONG = _toy(
    {
        (): {3: 0.65, 4: 0.35},
        (4,): {EOS: 0.86, 6: 0.14},
        (3,): {5: 0.7, 6: 0.3},
        (3, 5): {5: 0.7, 6: 0.3},
        (3, 5, 5): {5: 0.7, 6: 0.3},
    }
)


def _found(code: Callable, step: Step, *arguments: float) -> tuple:
    """Search a toy; tokens may come as a list or as a tensor."""
    found = code(step, *arguments)
    if isinstance(found, list | tuple) and len(found) == 2 and isinstance(found[0], Tensor):
        return found[0].tolist(), found[1]
    return found


def _beam_case(step: Step, beam: int, max_length: int, alpha: float = 0.0) -> Case:
    written = f"bos={BOS}, eos={EOS}, beam={beam}, max_length={max_length}, alpha={alpha:g}"
    return Case(
        (step, BOS, EOS, beam, max_length, alpha), observe=_found, written=f"(step, {written})"
    )


@exercise(
    parts={"own.length_score": length_score},
    cases=[
        _beam_case(_LATE_LUCK, beam=2, max_length=4),
        _beam_case(_LATE_LUCK, beam=1, max_length=4),
        _beam_case(_ONE_PARENT, beam=2, max_length=4),
        _beam_case(_SECOND_CHILD, beam=2, max_length=4),
        _beam_case(_THIRD_PLACE, beam=2, max_length=4),
        _beam_case(_THIRD_WORD, beam=2, max_length=4),
        _beam_case(_THIRD_WORD, beam=3, max_length=4),
        _beam_case(_EARLY_END, beam=2, max_length=4),
        _beam_case(_EARLY_ENDS, beam=2, max_length=5),
        _beam_case(_BEST_ENDS_FIRST, beam=2, max_length=4),
        _beam_case(_WINS_FROM_SECOND_PLACE, beam=2, max_length=6),
        _beam_case(_BEST_ENDS_SHORT, beam=2, max_length=5, alpha=1.0),
        _beam_case(_SHORT_OR_LONG, beam=2, max_length=5, alpha=0.6),
        _beam_case(_SHORT_OR_LONG, beam=2, max_length=5, alpha=1.0),
        _beam_case(_SHORT_OR_LONG, beam=2, max_length=3),
        _beam_case(_ONE_PARENT, beam=2, max_length=2, alpha=0.6),
    ],
    properties=[
        Property("the score is not positive", lambda value, case: value[1] <= 0),
        Property(
            "nothing follows the end token",
            lambda value, case: EOS not in list(value[0])[:-1],
        ),
        Property(
            "there are at most `max_length` tokens",
            lambda value, case: len(value[0]) <= case.inputs[4],
        ),
    ],
    hints=[
        "Keep two lists of pairs, (tokens, sum of log-probabilities): those that are alive, at "
        "first only `((), 0.0)`, and those that have ended. What happens to both in one step?",
        "One step: make a list of all children of all live hypotheses, each with the sum of its "
        "parent plus its own log-probability. Sort the list, cut it to `beam`, then put aside "
        "those that end with `eos`. Nothing is scored for its length before the end.",
        "`for tokens, total in live`, and in it "
        "`for token, log_probability in enumerate(step((bos, *tokens)).tolist())`: a child is "
        "`((*tokens, token), total + log_probability)`. In the end take the `max` over "
        "`finished + live`, by `own.length_score(total, len(tokens), alpha)`.",
    ],
)
def beam_search(step, bos: int, eos: int, beam: int, max_length: int, alpha: float) -> tuple:
    """Return the tokens of the best hypothesis found, and its score."""
    live, finished = [((), 0.0)], []
    for _ in range(max_length):
        children = [
            ((*tokens, token), total + log_probability)
            for tokens, total in live
            for token, log_probability in enumerate(step((bos, *tokens)).tolist())
        ]
        best = sorted(children, key=lambda child: child[1], reverse=True)[:beam]
        finished += [child for child in best if child[0][-1] == eos]
        live = [child for child in best if child[0][-1] != eos]
    ended = finished + live
    scored = [(tokens, own.length_score(total, len(tokens), alpha)) for tokens, total in ended]
    return max(scored, key=lambda hypothesis: hypothesis[1])
