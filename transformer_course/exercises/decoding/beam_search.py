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


beam_search.mistake(
    "only one hypothesis is alive, as in greedy search",
    edits=[
        ("in enumerate(", "in sorted(enumerate("),
        (".tolist())", ".tolist()), key=lambda pair: -pair[1])[:1]"),
    ],
    observed="You find what greedy search finds, a sentence of probability 0.09 where there is one "
    "of 0.31: each hypothesis keeps only its best child, or all begin as copies of one.",
    change="Begin with one hypothesis, put all children of all hypotheses into one list, and keep "
    "the `beam` best in it.",
)
beam_search.mistake(
    "after the first word each hypothesis keeps only its best child",
    edits=[
        ("in enumerate(", "in sorted(enumerate("),
        (".tolist())", ".tolist()), key=lambda pair: -pair[1])[: 1 if tokens else None]"),
    ],
    observed="The `beam` best first words are right, but after that no hypothesis can have two "
    "children that live on: the best sentence, which goes through a second-best child, is lost.",
    change="Let all children of all hypotheses compete in one list, at every step.",
)
beam_search.mistake(
    "where several hypotheses are alive, each keeps only its best child",
    edits=[
        ("in enumerate(", "in sorted(enumerate("),
        (".tolist())", ".tolist()), key=lambda pair: -pair[1])[: 1 if len(live) > 1 else None]"),
    ],
    observed="No hypothesis that has company can have two children that live on: the best "
    "sentence, which goes through a second-best child, is lost.",
    change="Let all children of all hypotheses compete in one list, at every step.",
)
beam_search.mistake(
    "each hypothesis keeps its `beam` best children",
    edits=[
        ("in enumerate(", "in sorted(enumerate("),
        (".tolist())", ".tolist()), key=lambda pair: -pair[1])[:beam]"),
        ("sorted(children, key=lambda child: child[1], reverse=True)[:beam]", "children"),
    ],
    observed="The number of hypotheses doubles with each step at `beam=2`; you find sentences that "
    "a beam of 2 cannot find, at the price of trying nearly all.",
    change="Sort the children of all hypotheses together and keep `beam` of them in all.",
)
beam_search.mistake(
    "`beam` is not used",
    edits=[
        (".tolist())", ".tolist())\n            if log_probability > -math.inf"),
        ("reverse=True)[:beam]", "reverse=True)"),
    ],
    observed="A beam of 1 finds what greedy search cannot find: nothing is pruned.",
    change="Keep only the `beam` best children of each step.",
)
beam_search.mistake(
    "tokens are appended in the same place, not to their parent",
    edits=[
        (
            "[:beam]\n",
            "[:beam]\n        best = [\n"
            "            ((*live[place % len(live)][0], tokens[-1]), total)\n"
            "            for place, (tokens, total) in enumerate(best)\n"
            "        ]\n",
        )
    ],
    observed="Where both of the best children have one parent, the second is appended to another "
    "hypothesis: the score is not that of the tokens. With a cache it is the same: its rows must "
    "be put in the order of the parents.",
    change="Remember which hypothesis a child comes from, and append to that one.",
)
beam_search.mistake(
    "the least probable children are kept",
    edits=[(", reverse=True", "")],
    observed="The score is minus infinity: you sort in ascending order and keep the beginning.",
    change="Sort with `reverse=True`.",
)
beam_search.mistake(
    "probabilities are added up",
    edits=[("total + log_probability", "total + math.exp(log_probability)")],
    observed="The score is positive and grows with each token. Probabilities multiply, and their "
    "logarithms add.",
    change="Add the log-probabilities as `step` returns them, without `exp`.",
)
beam_search.mistake(
    "a child forgets its parent's log-probability",
    edits=[("total + log_probability", "log_probability")],
    observed="Each hypothesis is worth only its newest token, so that an unlikely beginning costs "
    "nothing.",
    change="Add: `total + log_probability`.",
)
beam_search.mistake(
    "finished hypotheses are expanded",
    edits=[
        (
            "finished += [child for child in best if child[0][-1] == eos]\n"
            "        live = [child for child in best if child[0][-1] != eos]\n",
            "live = best\n",
        )
    ],
    observed="Tokens follow `eos`.",
    change="Put a child that ends with `eos` aside; only the others live on.",
)
beam_search.mistake(
    "finished hypotheses compete for a place in the beam",
    edits=[("sorted(children,", "sorted(children + finished,"), ("finished += [", "finished = [")],
    observed="A sentence that ended with probability 0.29 is crowded out by two beginnings that "
    "are better so far; they end with 0.12.",
    change="Put a child that ends with `eos` aside for good; nothing that comes later can push it "
    "out.",
)
beam_search.mistake(
    "finished hypotheses are lost",
    edits=[("finished += [", "ended = [")],
    observed="A sentence that ends leaves the beam and is not stored: in the end there is nothing, "
    "or only what had not ended at `max_length`.",
    change="Put those that end with `eos` into a list of their own, and choose from it too.",
)
beam_search.mistake(
    "only the newest finished hypotheses are stored",
    edits=[("finished += [", "finished = ["), ("== eos]", "== eos] or finished")],
    observed="Each step replaces the list of finished hypotheses: an earlier and better one is "
    "lost.",
    change="Append to the list: `finished += ...`.",
)
beam_search.mistake(
    "the first hypothesis that ends is taken",
    edits=[("live = [child", "live = [] if finished else [child")],
    observed="A hypothesis that ends at once with probability 0.3 is taken, while one that would "
    "end with 0.63 is still alive.",
    change="Go on until no hypothesis is alive or `max_length` is reached, then take the `max` by "
    "score. You may stop earlier only if no live one can win any more.",
)
beam_search.mistake(
    "the search stops when `beam` hypotheses have finished",
    edits=[("live = [child", "live = [] if len(finished) >= beam else [child")],
    observed="Two early ends of probability 0.3 and 0.18 fill the list, while a hypothesis that "
    "would end with 0.47 is still alive. Many programs stop there to save time; it can cost the "
    "best one.",
    change="Go on until no hypothesis is alive or `max_length` is reached.",
)
beam_search.mistake(
    "the search stops when the best child of a step has ended",
    edits=[("live = [child", "live = [] if not best or best[0][0][-1] == eos else [child")],
    observed="With `alpha=1` a hypothesis that ends at once with probability 0.52 is taken, while "
    "one of probability 0.48 is still alive, which the length penalty helps to win.",
    change="Go on until no hypothesis is alive or `max_length` is reached.",
)
beam_search.mistake(
    "the beam shrinks with each hypothesis that ends",
    edits=[("[:beam]", "[: max(beam - len(finished), 0)]")],
    observed="With `beam=2`, once a hypothesis has ended with probability 0.25, only one child is "
    "kept in each step; a sentence of 0.27 that begins in second place is lost.",
    change="Keep `beam` children in every step: what has ended is put aside and takes no place.",
)
beam_search.mistake(
    "the winner is chosen by its sum, not by its score",
    edits=[("alpha)) for", "alpha), total) for"), ("hypothesis[1])", "hypothesis[2])[:2]")],
    observed="With `alpha=1` the sentence of 2 tokens is returned, with its right score, though "
    "one of 5 tokens has a better one.",
    change="Take the `max` by the length score.",
)
beam_search.mistake(
    "the hypothesis that finished last is taken",
    edits=[("max(scored, key=lambda hypothesis: hypothesis[1])", "scored[-1]")],
    observed="The last one to end is returned, however many better ones ended before.",
    change="Take the `max` of all by score.",
)
beam_search.mistake(
    "hypotheses cut off by `max_length` are thrown away",
    edits=[("finished + live", "finished")],
    observed="When nothing has ended after `max_length` tokens, you have nothing to return; and "
    "where something has, a better one that was cut off does not count.",
    change="Choose from those that are still alive at the end too: `finished + live`.",
)
beam_search.mistake(
    "hypotheses cut off by `max_length` count only if nothing has ended",
    edits=[("finished + live", "finished or live")],
    observed="A finished hypothesis is returned though one that was cut off has the better score.",
    change="Choose from both, `finished + live`, by score.",
)
beam_search.mistake(
    "the length has no effect",
    edits=[("log_probability / penalty", "log_probability")],
    observed="With `alpha=1` the sentence of 5 tokens should win over that of 2; the sums of the "
    "log-probabilities say the opposite.",
    change="Divide each sum by `((5 + length) / 6) ** alpha`.",
)
