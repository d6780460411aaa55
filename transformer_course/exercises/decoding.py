"""Lesson 8: the exercises on choosing tokens, beam search and the cache."""

import copy
import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from types import SimpleNamespace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course import model
from transformer_course.exercises.cases import Case, Property, vectors
from transformer_course.exercises.exercise import exercise
from transformer_course.translation import decoding

BOS, EOS = 1, 2  # of the toys in this file, whose words begin at 3

# --- next_token_probabilities ----------------------------------------------------------------

_LOGITS = torch.tensor(
    [[0.07, 0.50, 0.15, 0.03, 0.25], [0.04, 0.09, 0.36, 0.31, 0.20], [0.62, 0.02, 0.05, 0.20, 0.11]]
).log()


def _sums_to_one(value: Tensor, case: Case) -> bool:
    return torch.allclose(value.sum(dim=-1), torch.ones(len(value), dtype=value.dtype))


def _keeps_the_best(value: Tensor, case: Case) -> bool:
    return torch.equal(value.argmax(dim=-1), case.inputs[0].argmax(dim=-1))


def _leaves_at_most_k(value: Tensor, case: Case) -> bool:
    top_k = case.inputs[2] or value.shape[-1]
    return bool(((value > 0).sum(dim=-1) <= top_k).all())


class _ProbabilitySteps:
    """Temperature, top-k and nucleus in steps, so that a mistake replaces one."""

    def scaled(self, logits: Tensor, temperature: float) -> Tensor:
        return logits / temperature

    def best(self, logits: Tensor, top_k: int) -> Tensor:
        return logits >= logits.topk(top_k, dim=-1).values[..., -1:]

    def excluded(self) -> float:
        return -math.inf

    def without_others(self, logits: Tensor, top_k: int) -> Tensor:
        return logits.masked_fill(~self.best(logits, top_k), self.excluded())

    def softmax(self, logits: Tensor, temperature: float) -> Tensor:
        return logits.softmax(dim=-1)

    def ordered(self, probabilities: Tensor) -> tuple[Tensor, Tensor]:
        return probabilities.sort(dim=-1, descending=True)

    def nucleus(self, ordered: Tensor, top_p: float) -> Tensor:
        return ordered.cumsum(dim=-1) - ordered < top_p

    def back_in_place(self, kept: Tensor, places: Tensor) -> Tensor:
        return torch.zeros_like(kept).scatter(-1, places, kept)

    def inside_nucleus(self, probabilities: Tensor, top_p: float) -> Tensor:
        ordered, places = self.ordered(probabilities)
        return self.back_in_place(ordered * self.nucleus(ordered, top_p), places)

    def renormalised(self, probabilities: Tensor, temperature: float) -> Tensor:
        return probabilities / probabilities.sum(dim=-1, keepdim=True)

    def switched_on(
        self, top_k: int | None, top_p: float | None
    ) -> tuple[int | None, float | None]:
        return top_k, top_p

    def __call__(
        self,
        logits: Tensor,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
    ) -> Tensor:
        top_k, top_p = self.switched_on(top_k, top_p)
        logits = self.scaled(logits, temperature)
        if top_k is not None:
            logits = self.without_others(logits, top_k)
        probabilities = self.softmax(logits, temperature)
        if top_p is not None:
            probabilities = self.inside_nucleus(probabilities, top_p)
        return self.renormalised(probabilities, temperature)


@exercise(
    reference=decoding.next_token_probabilities,
    cases=[
        Case((_LOGITS, 1.0, None, None)),
        Case((_LOGITS, 0.5, None, None)),
        Case((_LOGITS, 1.0, 2, None)),
        Case((_LOGITS, 1.0, None, 0.7)),
        Case((_LOGITS, 2.0, None, 0.6)),
        Case((_LOGITS[:2], 1.0, None, 0.2)),
        Case((_LOGITS[:1], 1.0, 3, 0.8)),
        Case((_LOGITS[:1], 1.0, 2, 0.95)),
        Case((vectors(2, 9, seed=4).double(), 0.7, 5, 0.9)),
    ],
    properties=[
        Property("each row sums to 1", _sums_to_one),
        Property("the most probable token stays the most probable", _keeps_the_best),
        Property("at most `top_k` tokens are left", _leaves_at_most_k),
    ],
    hints=[
        "Take the filters one after the other and test each alone, with the others off: the "
        "temperature works on the logits, top-k too, the nucleus on probabilities.",
        "Top-k: a logit of minus infinity becomes probability 0, and the softmax renormalises the "
        "rest. Nucleus: sort, and look at the sum of all tokens *before* each one. While that sum "
        "is below `top_p`, the token is still needed.",
        "`ordered, places = probabilities.sort(dim=-1, descending=True)`, then "
        "`ordered.cumsum(dim=-1) - ordered >= top_p` marks what is left out, and "
        "`torch.zeros_like(ordered).scatter(-1, places, ordered)` puts the tokens back in their "
        "places. Divide by the sum at the end.",
    ],
)
def next_token_probabilities(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """Return the probabilities [B, V] to draw the next token from; None switches a filter off."""
    logits = logits / temperature
    if top_k is not None:
        smallest_kept = logits.topk(top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < smallest_kept, -math.inf)
    probabilities = logits.softmax(dim=-1)
    if top_p is not None:
        ordered, places = probabilities.sort(dim=-1, descending=True)
        sum_before = ordered.cumsum(dim=-1) - ordered
        ordered = ordered.masked_fill(sum_before >= top_p, 0.0)
        probabilities = torch.zeros_like(ordered).scatter(-1, places, ordered)
    return probabilities / probabilities.sum(dim=-1, keepdim=True)


@next_token_probabilities.mistake(
    "the logits are multiplied by the temperature",
    observed="A low temperature makes your probabilities more equal; it should make the best "
    "token more certain.",
    change="Divide: `logits / temperature`.",
)
class _TemperatureMultiplied(_ProbabilitySteps):
    def scaled(self, logits: Tensor, temperature: float) -> Tensor:
        return logits * temperature


@next_token_probabilities.mistake(
    "the temperature is not used",
    observed="Temperature 0.5 and temperature 1 give the same probabilities. They do so too if you "
    "divide after the softmax and then renormalise.",
    change="Divide the logits by the temperature, before the softmax.",
)
class _NoTemperature(_ProbabilitySteps):
    def scaled(self, logits: Tensor, temperature: float) -> Tensor:
        return logits


@next_token_probabilities.mistake(
    "the temperature comes last",
    observed="Each filter is right on its own, but at temperature 2 your nucleus is the one of "
    "temperature 1: flatter probabilities need more tokens to reach the same sum.",
    change="Divide the logits by the temperature before anything else.",
)
class _TemperatureLast(_ProbabilitySteps):
    def scaled(self, logits: Tensor, temperature: float) -> Tensor:
        return logits

    def renormalised(self, probabilities: Tensor, temperature: float) -> Tensor:
        return super().renormalised(probabilities ** (1 / temperature), temperature)


@next_token_probabilities.mistake(
    "the probabilities are divided by the temperature",
    observed="At temperature 0.5 the rows sum to 2: you divide after the softmax, which changes "
    "the sum and not the proportions.",
    change="Divide the logits by the temperature, before the softmax.",
)
class _ProbabilitiesDivided(_ProbabilitySteps):
    def scaled(self, logits: Tensor, temperature: float) -> Tensor:
        return logits

    def softmax(self, logits: Tensor, temperature: float) -> Tensor:
        return logits.softmax(dim=-1) / temperature

    def renormalised(self, probabilities: Tensor, temperature: float) -> Tensor:
        return probabilities


@next_token_probabilities.mistake(
    "what the nucleus leaves is not renormalised",
    observed="With `top_p=0.7` the rows sum to 0.75 and the like; they should sum to 1.",
    change="Divide by the sum of what is left: `p / p.sum(dim=-1, keepdim=True)`.",
)
class _NotRenormalised(_ProbabilitySteps):
    def renormalised(self, probabilities: Tensor, temperature: float) -> Tensor:
        return probabilities


@next_token_probabilities.mistake(
    "the softmax is taken again over the probabilities",
    observed="The rows sum to 1, but excluded tokens come back, and the rest is nearly equal.",
    change="Renormalise by dividing by the sum; a softmax takes logits.",
)
class _SoftmaxAgain(_ProbabilitySteps):
    def renormalised(self, probabilities: Tensor, temperature: float) -> Tensor:
        return probabilities.softmax(dim=-1)


@next_token_probabilities.mistake(
    "excluded tokens get logit 0, not minus infinity",
    observed="Tokens beyond the `top_k` best have probability left: a logit of 0 is a large one "
    "where the others are negative.",
    change="Fill with `-math.inf`, which the softmax turns into exactly 0.",
)
class _ExcludedGetZero(_ProbabilitySteps):
    def excluded(self) -> float:
        return 0.0


@next_token_probabilities.mistake(
    "top-k keeps one token too few",
    observed="With `top_k=2` one token is left: the smallest of those to keep is excluded too.",
    change="Exclude what is smaller than the k-th largest logit, with `<`, not `<=`.",
)
class _OneTooFew(_ProbabilitySteps):
    def best(self, logits: Tensor, top_k: int) -> Tensor:
        return logits > logits.topk(top_k, dim=-1).values[..., -1:]


@next_token_probabilities.mistake(
    "top-k keeps one token too many",
    observed="With `top_k=2` three tokens are left.",
    change="The k-th largest stands at place k - 1: `logits.topk(top_k, dim=-1).values[:, -1:]`.",
)
class _OneTooMany(_ProbabilitySteps):
    def best(self, logits: Tensor, top_k: int) -> Tensor:
        return super().best(logits, top_k + 1)


@next_token_probabilities.mistake(
    "top-k keeps the least probable tokens",
    observed="With `top_k=2` the two smallest probabilities are left.",
    change="Keep the largest: `topk` finds them, and `sort` needs `descending=True`.",
)
class _KeepsTheWorst(_ProbabilitySteps):
    def best(self, logits: Tensor, top_k: int) -> Tensor:
        return super().best(-logits, top_k)


@next_token_probabilities.mistake(
    "top-k is shared by the whole batch",
    observed="One threshold for all rows: some rows keep more tokens than others, and what is "
    "drawn for one sentence depends on its neighbours.",
    change="Use `dim=-1`, so that each row has its own k-th largest logit.",
)
class _OneThreshold(_ProbabilitySteps):
    def best(self, logits: Tensor, top_k: int) -> Tensor:
        return logits >= logits.flatten().topk(top_k * len(logits)).values[-1]


@next_token_probabilities.mistake(
    "the nucleus stays below `top_p`",
    observed="With `top_p=0.7` only tokens that sum to less than 0.7 are left; with 0.2 none at "
    "all, and 0 / 0 is NaN. The token that crosses `top_p` belongs to the nucleus.",
    change="Judge by the sum before each token: `ordered.cumsum(dim=-1) - ordered`.",
)
class _WithoutTheCrossing(_ProbabilitySteps):
    def nucleus(self, ordered: Tensor, top_p: float) -> Tensor:
        return ordered.cumsum(dim=-1) <= top_p


@next_token_probabilities.mistake(
    "the nucleus stays below `top_p`, but for the best token",
    observed="The best token is saved, and no other one that crosses `top_p`: with `top_p=0.7` "
    "your tokens sum to less than 0.7.",
    change="Judge each token by the sum before it: `ordered.cumsum(dim=-1) - ordered`.",
)
class _OnlyTheBestIsSaved(_ProbabilitySteps):
    def nucleus(self, ordered: Tensor, top_p: float) -> Tensor:
        return (ordered.cumsum(dim=-1) <= top_p) | (torch.arange(ordered.shape[-1]) == 0)


@next_token_probabilities.mistake(
    "the nucleus has one token too many",
    observed="With `top_p=0.2` a best token of probability 0.5 is enough; you keep the second one "
    "too.",
    change="Keep a token while the sum of those before it is below `top_p`.",
)
class _NucleusTooLarge(_ProbabilitySteps):
    def nucleus(self, ordered: Tensor, top_p: float) -> Tensor:
        two_before = (ordered.cumsum(dim=-1) - ordered).roll(1, dims=-1)
        return two_before.index_fill(-1, torch.tensor([0]), 0.0) < top_p


@next_token_probabilities.mistake(
    "the nucleus is gathered from the least probable end",
    observed="The best token is lost: your sum begins with the smallest probabilities.",
    change="Sort with `descending=True`.",
)
class _SortedUpwards(_ProbabilitySteps):
    def ordered(self, probabilities: Tensor) -> tuple[Tensor, Tensor]:
        return probabilities.sort(dim=-1)


@next_token_probabilities.mistake(
    "the nucleus is not put back in place",
    observed="The probabilities come out in falling order: the first token of the vocabulary gets "
    "that of the best one.",
    change="Put them back: `torch.zeros_like(ordered).scatter(-1, places, ordered)`.",
)
class _LeftInOrder(_ProbabilitySteps):
    def back_in_place(self, kept: Tensor, places: Tensor) -> Tensor:
        return kept


@next_token_probabilities.mistake(
    "the nucleus is put back by the wrong operation",
    observed="The probabilities are right, their places are not: `gather` takes from the places "
    "that `sort` returned, which goes the same way a second time.",
    change="Use `scatter`, which writes to these places, or `gather` with `places.argsort(-1)`.",
)
class _GatheredTwice(_ProbabilitySteps):
    def back_in_place(self, kept: Tensor, places: Tensor) -> Tensor:
        return kept.gather(-1, places)


@next_token_probabilities.mistake(
    "the marks of the sorted tokens are used on the unsorted ones",
    observed="The first tokens of the vocabulary stay and the last ones go, however probable they "
    "are: your mask stands in sorted order, the probabilities do not.",
    change="Mask the sorted probabilities, then put them back with `scatter`.",
)
class _MaskInOtherOrder(_ProbabilitySteps):
    def inside_nucleus(self, probabilities: Tensor, top_p: float) -> Tensor:
        ordered, _ = self.ordered(probabilities)
        return probabilities * self.nucleus(ordered, top_p)


@next_token_probabilities.mistake(
    "`top_p` is compared with single probabilities",
    observed="With `top_p=0.2` each token above 0.2 stays; that is a threshold, not a nucleus.",
    change="Sort, sum up with `cumsum`, and compare the sums with `top_p`.",
)
class _SingleProbabilities(_ProbabilitySteps):
    def nucleus(self, ordered: Tensor, top_p: float) -> Tensor:
        return ordered >= top_p


@next_token_probabilities.mistake(
    "the nucleus is measured before top-k has taken effect",
    observed="Each filter is right alone. With both, your nucleus sums up probabilities of the "
    "whole vocabulary, and so needs more tokens to reach `top_p`.",
    change="Do top-k first, renormalise, and take the nucleus of what is left.",
)
class _NucleusFirst(_ProbabilitySteps):
    def without_others(self, logits: Tensor, top_k: int) -> Tensor:
        # The shares of the whole vocabulary survive, because nothing is renormalised in between.
        return super().without_others(logits.log_softmax(dim=-1), top_k)

    def softmax(self, logits: Tensor, temperature: float) -> Tensor:
        excluded = logits == -math.inf
        return logits.exp() if excluded.any() else logits.softmax(dim=-1)


@next_token_probabilities.mistake(
    "with `top_k` the nucleus is skipped",
    observed="Each filter is right alone. With both, only top-k acts.",
    change="Use two `if`s: the second filter is no `elif` or `else` of the first.",
)
class _OnlyTopK(_ProbabilitySteps):
    def switched_on(
        self, top_k: int | None, top_p: float | None
    ) -> tuple[int | None, float | None]:
        return top_k, top_p if top_k is None else None


@next_token_probabilities.mistake(
    "with `top_p` top-k is skipped",
    observed="Each filter is right alone. With both, only the nucleus acts.",
    change="Use two `if`s: the second filter is no `elif` or `else` of the first.",
)
class _OnlyNucleus(_ProbabilitySteps):
    def switched_on(
        self, top_k: int | None, top_p: float | None
    ) -> tuple[int | None, float | None]:
        return top_k if top_p is None else None, top_p


@next_token_probabilities.mistake(
    "the softmax runs over the sentences",
    observed="The columns sum to 1; the rows should.",
    change="Use `dim=-1`, the vocabulary.",
)
class _SoftmaxOverBatch(_ProbabilitySteps):
    def softmax(self, logits: Tensor, temperature: float) -> Tensor:
        return logits.softmax(dim=0)

    def renormalised(self, probabilities: Tensor, temperature: float) -> Tensor:
        return probabilities


# --- greedy ----------------------------------------------------------------------------------


class _Interpreter(nn.Module):
    """A stand-in for the Transformer with a rule for its next token, which counts calls.

    After t tokens it says a word made from the source's word t and the token just read, so that
    another beginning, a shorter prefix or another position give another sentence. Where the source
    ends it says ``eos``; asked for more, it goes on with words.
    """

    def __init__(self, pad: int) -> None:
        super().__init__()
        self.config = SimpleNamespace(pad_id=pad, max_len=50)
        self.calls_of_encode = 0
        self.dropout_was_on = self.gradients_were_on = False

    def encode(self, source_ids: Int[Tensor, "batch source"]) -> Float[Tensor, "batch source 1"]:
        self.calls_of_encode += 1
        return source_ids[..., None].double()

    def decode(
        self,
        target_ids: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source 1"],
        source_ids: Int[Tensor, "batch source"],
    ) -> Float[Tensor, "batch target vocab"]:
        self.dropout_was_on |= self.training
        self.gradients_were_on |= torch.is_grad_enabled()
        places = torch.arange(target_ids.shape[1]).clamp(max=memory.shape[1] - 1)
        words = memory[:, places, 0].long()
        said = torch.where(words == EOS, EOS, 3 + (3 * words + target_ids) % 5)
        return -(torch.arange(10.0) - said[..., None]).abs()

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        return self.decode(target_ids, self.encode(source_ids), source_ids)


def _translated(code: Callable, source_ids: Tensor, pad: int, max_length: int) -> dict:
    """Translate with the interpreter, which begins in training mode, as every module does."""
    network = _Interpreter(pad)
    tokens = code(network, source_ids, BOS, EOS, max_length)
    return {
        "tokens": tokens,
        "calls of encode": network.calls_of_encode,
        "dropout on": network.dropout_was_on,
        "gradients on": network.gradients_were_on,
    }


class _GreedySteps:
    """Greedy decoding in steps, so that a mistake replaces one."""

    def mode(self, network: nn.Module) -> AbstractContextManager:
        return model.inference_mode(network)

    def first(self, pad: int, bos: int, eos: int) -> int:
        return bos

    def memory_at_first(self, network: nn.Module, source_ids: Tensor) -> Tensor | None:
        return network.encode(source_ids)

    def memory(self, network: nn.Module, source_ids: Tensor, memory: Tensor | None) -> Tensor:
        return memory

    def read(self, target: Tensor) -> Tensor:
        return target

    def choice(self, logits: Tensor) -> Tensor:
        return logits[:, -1].argmax(dim=-1)

    def filling(self, pad: int, eos: int) -> int:
        return pad

    def frozen(self, token: Tensor, ended: Tensor, filling: int) -> Tensor:
        return token.masked_fill(ended, filling)

    def written(self, token: Tensor, eos: int, pad: int) -> Tensor:
        return token

    def remembered(self, ended: Tensor, now: Tensor) -> Tensor:
        return ended | now

    def all_said(self, ended: Tensor) -> bool:
        return bool(ended.all())

    def steps(self, max_length: int) -> int:
        return max_length

    def result(self, target: Tensor, stopped: bool) -> Tensor:
        return target[:, 1:]

    def __call__(
        self, network: nn.Module, source_ids: Tensor, bos: int, eos: int, max_length: int
    ) -> Tensor:
        pad = network.config.pad_id
        filling = self.filling(pad, eos)
        target = source_ids.new_full((len(source_ids), 1), self.first(pad, bos, eos))
        ended = torch.zeros(len(source_ids), dtype=torch.bool)
        with self.mode(network):
            memory = self.memory_at_first(network, source_ids)
            for _ in range(self.steps(max_length)):
                memory = self.memory(network, source_ids, memory)
                logits = network.decode(self.read(target), memory, source_ids)
                token = self.frozen(self.choice(logits), ended, filling)
                target = torch.cat([target, self.written(token, eos, pad)[:, None]], dim=1)
                ended = self.remembered(ended, token == eos)
                if self.all_said(ended):
                    break
        return self.result(target, self.all_said(ended))


def _greedy_case(rows: list[list[int]], pad: int, max_length: int) -> Case:
    batch = f"source_ids of shape [{len(rows)}, {len(rows[0])}]"
    return Case(
        (torch.tensor(rows), pad, max_length),
        observe=_translated,
        written=f"(network, {batch}, bos={BOS}, eos={EOS}, max_length={max_length})",
    )


def _begins_with_a_word(value: dict, case: Case) -> bool:
    return bool((value["tokens"][:, 0] != BOS).all())


def _nothing_after_the_end(value: dict, case: Case) -> bool:
    _, pad, _ = case.inputs
    ended = (value["tokens"] == EOS).int().cumsum(dim=1) - (value["tokens"] == EOS).int() > 0
    return bool((value["tokens"][ended] == pad).all())


@exercise(
    reference=_GreedySteps(),
    cases=[
        _greedy_case([[4, 6, 2]], pad=0, max_length=5),
        _greedy_case([[4, 6, 2, 0, 0], [5, 4, 3, 8, 2], [7, 2, 0, 0, 0]], pad=0, max_length=9),
        _greedy_case([[9, 4, 3, 6, 2], [4, 5, 2, 8, 8]], pad=8, max_length=7),
        _greedy_case([[5, 8, 4, 4, 6, 2], [3, 2, 0, 0, 0, 0]], pad=0, max_length=3),
        _greedy_case([[3, 4, 2], [7, 7, 2]], pad=0, max_length=6),
    ],
    properties=[
        Property("the begin token is not in the result", _begins_with_a_word),
        Property("after its end a row holds only padding", _nothing_after_the_end),
    ],
    hints=[
        "Play decoder on paper with two sentences, one shorter. What do you read at the start, "
        "what do you append, and what happens to the short row while the long one goes on?",
        "Keep two things beside the target: the memory, made once before the loop, and a boolean "
        "per row that says whether it has ended. The scores for the next token stand at the last "
        "position, `[:, -1]`.",
        "In the loop: `token = logits.argmax(dim=-1).masked_fill(ended, network.config.pad_id)`, "
        "append it with `torch.cat`, then `ended = ended | (token == eos)`, and leave the loop if "
        "`ended.all()`. `with model.inference_mode(network):` stands around all of it.",
    ],
)
def greedy(network: nn.Module, source_ids: Tensor, bos: int, eos: int, max_length: int) -> Tensor:
    """Return the most probable tokens [B, at most max_length], ended rows filled with padding."""
    target = source_ids.new_full((len(source_ids), 1), bos)
    ended = torch.zeros(len(source_ids), dtype=torch.bool)
    with model.inference_mode(network):
        memory = network.encode(source_ids)
        for _ in range(max_length):
            logits = network.decode(target, memory, source_ids)[:, -1]
            token = logits.argmax(dim=-1).masked_fill(ended, network.config.pad_id)
            target = torch.cat([target, token[:, None]], dim=1)
            ended = ended | (token == eos)
            if ended.all():
                break
    return target[:, 1:]


@greedy.mistake(
    "the next token is read at the first position",
    observed="The first token comes out again and again: position 0 always scores the token "
    "behind `bos`.",
    change="Read the last position, `logits[:, -1]`.",
)
class _FirstPosition(_GreedySteps):
    def choice(self, logits: Tensor) -> Tensor:
        return logits[:, 0].argmax(dim=-1)


@greedy.mistake(
    "tokens follow the end of a sentence",
    observed="A short row goes on with words behind `eos` while a longer one is still at work.",
    change="Fill rows that have ended: `token.masked_fill(ended, network.config.pad_id)`.",
)
class _GoesOnAfterEnd(_GreedySteps):
    def frozen(self, token: Tensor, ended: Tensor, filling: int) -> Tensor:
        return token


@greedy.mistake(
    "the end token stops nothing",
    observed="Every row has `max_length` tokens, with words behind `eos`.",
    change="Remember which rows have produced `eos`, fill them with padding from then on, and stop "
    "when all have.",
)
class _NeverEnds(_GreedySteps):
    def remembered(self, ended: Tensor, now: Tensor) -> Tensor:
        return ended


@greedy.mistake(
    "the loop goes on when all rows have ended",
    observed="The result is right and then filled with padding up to `max_length`: as many passes "
    "through the decoder for nothing.",
    change="Leave the loop when `ended.all()`.",
)
class _LoopGoesOn(_GreedySteps):
    def all_said(self, ended: Tensor) -> bool:
        return False


@greedy.mistake(
    "the loop stops when the first row has ended",
    observed="The longer sentences of a batch are cut off; one sentence alone is right.",
    change="Wait for all rows: `ended.all()`, not `ended.any()`.",
)
class _StopsWithFirst(_GreedySteps):
    def all_said(self, ended: Tensor) -> bool:
        return bool(ended.any())


@greedy.mistake(
    "only the first row's end counts",
    observed="The loop stops when row 0 has ended: longer rows are cut off, and behind shorter "
    "ones it goes on too long.",
    change="Ask all rows: `ended.all()`.",
)
class _FirstRowDecides(_GreedySteps):
    def all_said(self, ended: Tensor) -> bool:
        return bool(ended[0])


@greedy.mistake(
    "a row forgets that it has ended",
    observed="One place of padding follows `eos`, then the row goes on: `ended` knows only the "
    "newest token.",
    change="Keep what was known: `ended = ended | (token == eos)`.",
)
class _ForgetsTheEnd(_GreedySteps):
    def remembered(self, ended: Tensor, now: Tensor) -> Tensor:
        return now


@greedy.mistake(
    "all rows must end in the same step",
    observed="Tokens follow the end of a short row, and where rows end in different steps the loop "
    "runs up to `max_length`: only the newest tokens are compared with `eos`.",
    change="Keep a boolean per row, `ended = ended | (token == eos)`, fill ended rows with padding "
    "and stop when `ended.all()`.",
)
class _EndTogether(_ForgetsTheEnd):
    def frozen(self, token: Tensor, ended: Tensor, filling: int) -> Tensor:
        return token


@greedy.mistake(
    "the end token itself is replaced by padding",
    observed="No row shows where it ended by itself and where `max_length` cut it.",
    change="Mark a row as ended only after its `eos` has been appended.",
)
class _EndIsBlanked(_GreedySteps):
    def written(self, token: Tensor, eos: int, pad: int) -> Tensor:
        return token.masked_fill(token == eos, pad)


@greedy.mistake(
    "ended rows are filled with the end token",
    observed="Short rows end in `eos`, `eos`, `eos`.",
    change="Fill with `network.config.pad_id`.",
)
class _FilledWithEnd(_GreedySteps):
    def filling(self, pad: int, eos: int) -> int:
        return eos


@greedy.mistake(
    "ended rows are filled with 0",
    observed="With a network whose padding is 8, short rows end in 0, an ordinary token.",
    change="Fill with `network.config.pad_id`.",
)
class _FilledWithZero(_GreedySteps):
    def filling(self, pad: int, eos: int) -> int:
        return 0


@greedy.mistake(
    "the target begins with padding",
    observed="All words differ from those wanted: the network never saw a sentence begin with "
    "padding.",
    change="Begin with `bos`.",
)
class _BeginsWithPadding(_GreedySteps):
    def first(self, pad: int, bos: int, eos: int) -> int:
        return pad


@greedy.mistake(
    "the target begins with the end token",
    observed="All words differ from those wanted: the network learned to begin behind `bos`.",
    change="Begin with `bos`.",
)
class _BeginsWithEnd(_GreedySteps):
    def first(self, pad: int, bos: int, eos: int) -> int:
        return eos


@greedy.mistake(
    "the decoder reads only the newest token",
    observed="The first word is right. From then on the network believes that it stands at the "
    "first position: without a cache it needs the whole target so far.",
    change="Give `network.decode` all tokens, `bos` included.",
)
class _ReadsOnlyNewest(_GreedySteps):
    def read(self, target: Tensor) -> Tensor:
        return target[:, -1:]


@greedy.mistake(
    "the source is encoded again for each token",
    observed="The tokens are right, but `encode` is called once more for each of them.",
    change="Call `network.encode` once, before the loop, and call `network.decode` in it.",
)
class _EncodesAgain(_GreedySteps):
    def memory(self, network: nn.Module, source_ids: Tensor, memory: Tensor | None) -> Tensor:
        return network.encode(source_ids)


@greedy.mistake(
    "the source is encoded again for each token, and only there",
    observed="The tokens are right, but `encode` is called once for each of them.",
    change="Move `network.encode` in front of the loop; `network(source_ids, target)` encodes too.",
)
class _EncodesInLoop(_EncodesAgain):
    def memory_at_first(self, network: nn.Module, source_ids: Tensor) -> Tensor | None:
        return None


@greedy.mistake(
    "dropout is on",
    observed="The network is in training mode while you decode, so that a real one gives another "
    "translation at every call.",
    change="Write `with model.inference_mode(network):` around the loop, or call `network.eval()`.",
)
class _DropoutOn(_GreedySteps):
    def mode(self, network: nn.Module) -> AbstractContextManager:
        return torch.no_grad()


@greedy.mistake(
    "gradients are recorded",
    observed="The tokens are right, but each pass keeps its autograd graph in memory.",
    change="Write `with model.inference_mode(network):` around the loop: it is `network.eval()` "
    "and `torch.no_grad()` in one.",
)
class _GradientsOn(_GreedySteps):
    def mode(self, network: nn.Module) -> AbstractContextManager:
        network.eval()
        return nullcontext()


@greedy.mistake(
    "dropout is on and gradients are recorded",
    observed="The tokens are right here, where the network has no dropout. A real one would give "
    "another translation at every call, and keep each pass in memory.",
    change="Write `with model.inference_mode(network):` around the loop.",
)
class _TrainingMode(_GreedySteps):
    def mode(self, network: nn.Module) -> AbstractContextManager:
        return nullcontext()


@greedy.mistake(
    "the whole network is called for each token, as in training",
    observed="The source is encoded once for each token, with dropout on and gradients recorded.",
    change="Write `with model.inference_mode(network):` around all of it. Call `network.encode` "
    "once, before the loop, and `network.decode` in it.",
)
class _AsInTraining(_TrainingMode, _EncodesInLoop):
    """Both at once, because who copies a training loop makes both."""


@greedy.mistake(
    "the begin token is in the result",
    observed="Every row begins with `bos`.",
    change="Return `target[:, 1:]`.",
)
class _BeginIsReturned(_GreedySteps):
    def result(self, target: Tensor, stopped: bool) -> Tensor:
        return target


@greedy.mistake(
    "`max_length` counts the begin token",
    observed="A sentence that is cut off has one token less than `max_length`.",
    change="Run the loop `max_length` times: it counts produced tokens.",
)
class _OneTokenLess(_GreedySteps):
    def steps(self, max_length: int) -> int:
        return max_length - 1


@greedy.mistake(
    "one token more than `max_length`",
    observed="A sentence that is cut off has `max_length + 1` tokens.",
    change="Run the loop `max_length` times.",
)
class _OneTokenMore(_GreedySteps):
    def steps(self, max_length: int) -> int:
        return max_length + 1


@greedy.mistake(
    "the last token is lost",
    observed="When all rows have ended, the loop is left before their last token is appended: the "
    "longest row has no `eos`.",
    change="Append the token first, then ask whether all rows have ended.",
)
class _LeavesTooEarly(_GreedySteps):
    def result(self, target: Tensor, stopped: bool) -> Tensor:
        return target[:, 1:-1] if stopped else target[:, 1:]


# --- length_score ----------------------------------------------------------------------------


class _LengthScoreSteps:
    """The score of a finished hypothesis in steps, so that a mistake replaces one."""

    def length(self, length: int) -> int:
        return length

    def growth(self, length: int, alpha: float) -> float:
        return ((5 + length) / 6) ** alpha

    def score(self, log_probability: float, penalty: float) -> float:
        return log_probability / penalty

    def wants_mean(self, alpha: float | None) -> bool:
        return alpha is None

    def mean(self, log_probability: float, length: int) -> float:
        return self.score(log_probability, length)

    def __call__(self, log_probability: float, length: int, alpha: float | None = None) -> float:
        length = self.length(length)
        if self.wants_mean(alpha):
            return self.mean(log_probability, length)
        return self.score(log_probability, self.growth(length, alpha))


def _course_score(log_probability: float, length: int, alpha: float | None = None) -> float:
    penalty = decoding.mean_length if alpha is None else decoding.gnmt(alpha)
    return log_probability / penalty(length)


@exercise(
    reference=_course_score,
    cases=[
        Case((-1.2, 2)),
        Case((-1.5, 5)),
        Case((-1.2, 2, 0.6)),
        Case((-1.5, 5, 0.6)),
        Case((-1.5, 5, 1.0)),
        Case((-7.0, 19, 2.0)),
        Case((-1.5, 5, 0.0)),
        Case((-0.3, 1, 0.6)),
    ],
    properties=[
        Property("the score is negative", lambda value, case: value < 0),
        Property(
            "no score is below the log-probability",
            lambda value, case: value >= case.inputs[0] - 1e-9,
        ),
    ],
    hints=[
        "A log-probability is negative and falls with each token. Both scores divide by something "
        "that grows with the length.",
        "For `alpha=None` that is the length itself. GNMT's penalty is 1 for one token: "
        "`(5 + 1) / 6`. Which exponent weakens or strengthens it?",
        "`log_probability / ((5 + length) / 6) ** alpha`; ask `if alpha is None` first, because "
        "`alpha=0` is a number like any other.",
    ],
)
def length_score(log_probability: float, length: int, alpha: float | None = None) -> float:
    """Return the mean log-probability per token, or with alpha GNMT's score."""
    if alpha is None:
        return log_probability / length
    return log_probability / ((5 + length) / 6) ** alpha


@length_score.mistake(
    "the penalty multiplies",
    observed="Long hypotheses get lower scores still: a log-probability is negative, and you make "
    "it more so.",
    change="Divide the log-probability by the penalty.",
)
class _PenaltyMultiplies(_LengthScoreSteps):
    def score(self, log_probability: float, penalty: float) -> float:
        return log_probability * penalty


@length_score.mistake(
    "GNMT's penalty multiplies",
    observed="The mean is right. With `alpha` long hypotheses get lower scores still, as if its "
    "sign were turned.",
    change="Divide the log-probability by `((5 + length) / 6) ** alpha`.",
)
class _GrowthMultiplies(_LengthScoreSteps):
    def growth(self, length: int, alpha: float) -> float:
        return 1 / super().growth(length, alpha)


@length_score.mistake(
    "the penalty is subtracted",
    observed="A penalty of 1 should change nothing; yours lowers the score by 1.",
    change="Divide the log-probability by `((5 + length) / 6) ** alpha`.",
)
class _PenaltySubtracted(_LengthScoreSteps):
    def score(self, log_probability: float, penalty: float) -> float:
        return log_probability - penalty


@length_score.mistake(
    "GNMT's penalty is the plain length to the power of `alpha`",
    observed="With `alpha=1` your score is the mean. GNMT's penalty grows more slowly.",
    change="Use `((5 + length) / 6) ** alpha`.",
)
class _PlainLength(_LengthScoreSteps):
    def growth(self, length: int, alpha: float) -> float:
        return length**alpha


@length_score.mistake(
    "the 6 stands outside the power",
    observed="With `alpha=0` the score should be the log-probability; yours is six times as much.",
    change="Both numbers belong under the exponent: `((5 + length) / 6) ** alpha`.",
)
class _SixOutside(_LengthScoreSteps):
    def growth(self, length: int, alpha: float) -> float:
        return (5 + length) ** alpha / 6


@length_score.mistake(
    "there is no division by 6",
    observed="The penalty of a single token should be 1, so that its score is its log-probability.",
    change="Use `((5 + length) / 6) ** alpha`.",
)
class _NoSix(_LengthScoreSteps):
    def growth(self, length: int, alpha: float) -> float:
        return (5 + length) ** alpha


@length_score.mistake(
    "brackets are missing: only the length is divided by 6",
    observed="Python divides before it adds: a single token has the penalty 5.17 instead of 1.",
    change="Write `((5 + length) / 6) ** alpha`.",
)
class _BracketsMissing(_LengthScoreSteps):
    def growth(self, length: int, alpha: float) -> float:
        return (5 + length / 6) ** alpha


@length_score.mistake(
    "brackets are missing: only the 6 has the exponent",
    observed="With `alpha=1` all is right, with any other number it is not: `**` comes before `/`.",
    change="Write `((5 + length) / 6) ** alpha`, with brackets around the whole fraction.",
)
class _ExponentOfSix(_LengthScoreSteps):
    def growth(self, length: int, alpha: float) -> float:
        return (5 + length) / 6**alpha


@length_score.mistake(
    "brackets are missing: the power of 6 divides once more",
    observed="With `alpha=0` all is right, else it is not: `score / a / b` divides by `a` and by "
    "`b`. The 6 was to make the penalty smaller.",
    change="Write `((5 + length) / 6) ** alpha`, with brackets around the whole fraction.",
)
class _DividesBySixToo(_LengthScoreSteps):
    def growth(self, length: int, alpha: float) -> float:
        return (5 + length) ** alpha * 6**alpha


@length_score.mistake(
    "`alpha` is a factor, not an exponent",
    observed="With `alpha=0` you divide by 0; the penalty should be 1.",
    change="Use `((5 + length) / 6) ** alpha`.",
)
class _AlphaIsFactor(_LengthScoreSteps):
    def growth(self, length: int, alpha: float) -> float:
        return (5 + length) / 6 * alpha


@length_score.mistake(
    "`alpha` is not used",
    observed="All values of `alpha` give the score of `alpha=1`.",
    change="Raise the penalty to the power of `alpha`.",
)
class _AlphaIgnored(_LengthScoreSteps):
    def growth(self, length: int, alpha: float) -> float:
        return (5 + length) / 6


@length_score.mistake(
    "it is always the mean",
    observed="`alpha` changes nothing.",
    change="With a number for `alpha`, divide by `((5 + length) / 6) ** alpha` instead.",
)
class _AlwaysMean(_LengthScoreSteps):
    def wants_mean(self, alpha: float | None) -> bool:
        return True


@length_score.mistake(
    "`alpha=0` is taken for None",
    observed="With `alpha=0` the mean comes out; GNMT's score leaves the log-probability as it is.",
    change="Ask `if alpha is None`: in Python the number 0 counts as False too.",
)
class _ZeroIsNone(_LengthScoreSteps):
    def wants_mean(self, alpha: float | None) -> bool:
        return not alpha


@length_score.mistake(
    "without `alpha` nothing is divided",
    observed="`alpha=None` returns the log-probability; the mean per token is asked for.",
    change="Divide by the length.",
)
class _NoMean(_LengthScoreSteps):
    def mean(self, log_probability: float, length: int) -> float:
        return log_probability


@length_score.mistake(
    "the length is one too large",
    observed="Two tokens are scored as three.",
    change="`length` is already the number of tokens: use it as it is.",
)
class _LengthTooLarge(_LengthScoreSteps):
    def length(self, length: int) -> int:
        return length + 1


@length_score.mistake(
    "the result is a probability",
    observed="The score is positive: it is the exponential of the one asked for.",
    change="Leave `exp` out; scores are compared as logarithms.",
)
class _Exponential(_LengthScoreSteps):
    def score(self, log_probability: float, penalty: float) -> float:
        return math.exp(log_probability / penalty)


# --- beam_search -----------------------------------------------------------------------------

Table = dict[tuple[int, ...], dict[int, float]]
Hypothesis = tuple[tuple[int, ...], float]


def _toy(table: Table) -> Callable[[Sequence[int]], Float[Tensor, "7"]]:
    """Return a step function over 7 tokens, from the probabilities behind some prefixes.

    Prefixes that are not in the table end; a token or two would follow a sentence's end, and a
    sentence that does not begin with ``bos`` is nonsense.
    """

    def step(tokens: Sequence[int]) -> Float[Tensor, "7"]:
        first, *words = (int(token) for token in tokens)
        probabilities = table.get(tuple(words), {EOS: 1.0})
        if EOS in words:
            probabilities = {5: 0.9, EOS: 0.1}
        if first != BOS:
            probabilities = {6: 0.8, EOS: 0.2}
        shares = torch.zeros(7, dtype=torch.float64)
        shares[[*probabilities]] = torch.tensor([*probabilities.values()], dtype=torch.float64)
        return shares.log()

    return step


# The best first word leads to worse second words.
_LATE_LUCK: Table = {(): {3: 0.6, 4: 0.4}, (3,): {5: 0.55, 6: 0.45}, (4,): {5: 0.95, 6: 0.05}}
# After two words both of the best hypotheses begin with the second best word.
_ONE_PARENT: Table = {
    (): {3: 0.51, 4: 0.49},
    (3,): {3: 0.35, 4: 0.33, 5: 0.32},
    (4,): {3: 0.63, 4: 0.37},
    (3, 3): {3: 0.5, 4: 0.3, 5: 0.2},
    (3, 4): {3: 0.9, 4: 0.1},
    (3, 5): {3: 0.9, 4: 0.1},
    (4, 3): {3: 1.0},
    (4, 4): {3: 0.9, 4: 0.1},
}
# The best sentence goes through the second best child of the best word.
_SECOND_CHILD: Table = {
    (): {3: 0.6, 4: 0.4},
    (3,): {5: 0.55, 6: 0.45},
    (4,): {5: 0.6, 6: 0.4},
    (3, 5): {3: 0.4, 4: 0.35, 5: 0.25},
    (3, 6): {3: 0.95, 4: 0.05},
    (4, 5): {3: 0.9, 4: 0.1},
    (4, 6): {3: 0.9, 4: 0.1},
}
# The best sentence begins with the third best word.
_THIRD_WORD: Table = {
    (): {3: 0.5, 4: 0.3, 5: 0.2},
    (3,): {3: 0.36, 4: 0.33, 5: 0.31},
    (4,): {3: 0.5, 4: 0.4, 5: 0.1},
}
# The best sentence goes through the third best hypothesis after two words.
_THIRD_PLACE: Table = {
    (): {3: 0.6, 4: 0.4},
    (3,): {5: 0.55, 6: 0.45},
    (4,): {5: 0.6, 6: 0.4},
    (3, 5): {3: 0.4, 4: 0.35, 5: 0.25},
    (3, 6): {3: 0.5, 4: 0.3, 5: 0.2},
}
# Ending at once is probable, but a longer sentence is more so.
_EARLY_END: Table = {(): {EOS: 0.3, 3: 0.7}, (3,): {4: 0.9, 5: 0.1}}
_EARLY_ENDS: Table = {
    (): {EOS: 0.3, 3: 0.7},
    (3,): {EOS: 0.25, 4: 0.75},
    (3, 4): {5: 0.9, 6: 0.1},
}
# The best sentence ends at once, and two beginnings that look better come to nothing.
_BEST_ENDS_FIRST: Table = {
    (): {3: 0.6, EOS: 0.29, 4: 0.11},
    (3,): {3: 0.505, 4: 0.495},
    (3, 3): {3: 0.4, 4: 0.3, 5: 0.2, 6: 0.1},
    (3, 4): {3: 0.4, 4: 0.3, 5: 0.2, 6: 0.1},
}
# A sentence of 2 tokens with log-probability -1.2, and one of 5 tokens with -1.5.
_SHORT_OR_LONG: Table = {
    (): {3: 0.65, 4: 0.35},
    (4,): {EOS: 0.86, 6: 0.14},
    (3,): {5: 0.7, 6: 0.3},
    (3, 5): {5: 0.7, 6: 0.3},
    (3, 5, 5): {5: 0.7, 6: 0.3},
}


def _found(code: Callable, table: Table, beam: int, max_length: int, alpha: float) -> tuple:
    """Search a toy; tokens may come as a list or as a tensor."""
    found = code(_toy(table), BOS, EOS, beam, max_length, alpha)
    if isinstance(found, list | tuple) and len(found) == 2 and isinstance(found[0], Tensor):
        return found[0].tolist(), found[1]
    return found


def _beam_case(table: Table, beam: int, max_length: int, alpha: float = 0.0) -> Case:
    written = f"bos={BOS}, eos={EOS}, beam={beam}, max_length={max_length}, alpha={alpha:g}"
    return Case((table, beam, max_length, alpha), observe=_found, written=f"(step, {written})")


class _BeamSteps:
    """Beam search in steps, so that a mistake replaces one."""

    def prefix(self, bos: int, tokens: tuple[int, ...]) -> tuple[int, ...]:
        return (bos, *tokens)

    def total(self, total: float, log_probability: float) -> float:
        return total + log_probability

    def families(self, live: list[Hypothesis], step: Callable, bos: int) -> list[list[Hypothesis]]:
        return [
            [
                ((*tokens, token), self.total(total, log_probability))
                for token, log_probability in enumerate(step(self.prefix(bos, tokens)).tolist())
            ]
            for tokens, total in live
        ]

    def ranked(self, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        return sorted(hypotheses, key=lambda hypothesis: hypothesis[1], reverse=True)

    def best(
        self, families: list[list[Hypothesis]], beam: int, live: list[Hypothesis]
    ) -> list[Hypothesis]:
        return self.ranked([child for family in families for child in family])[:beam]

    def has_ended(self, tokens: tuple[int, ...], eos: int) -> bool:
        return tokens[-1] == eos

    def put_aside(self, finished: list[Hypothesis], ended: list[Hypothesis]) -> list[Hypothesis]:
        return finished + ended

    def enough(self, finished: list[Hypothesis], beam: int) -> bool:
        return False

    def steps(self, max_length: int) -> int:
        return max_length

    def candidates(
        self, finished: list[Hypothesis], live: list[Hypothesis], beam: int
    ) -> list[Hypothesis]:
        return finished + live

    def length(self, tokens: tuple[int, ...]) -> int:
        return len(tokens)

    def score(self, total: float, length: int, alpha: float) -> float:
        return total / ((5 + length) / 6) ** alpha

    def choice(self, scored: list[tuple]) -> tuple:
        return max(scored, key=lambda candidate: candidate[1])

    def reported(self, score: float, total: float) -> float:
        return score

    def tokens(self, tokens: tuple[int, ...], bos: int, eos: int) -> tuple[int, ...]:
        return tokens

    def __call__(
        self, step: Callable, bos: int, eos: int, beam: int, max_length: int, alpha: float
    ) -> Hypothesis:
        live: list[Hypothesis] = [((), 0.0)]
        finished: list[Hypothesis] = []
        for _ in range(self.steps(max_length)):
            best = self.best(self.families(live, step, bos), beam, live)
            ended = [child for child in best if self.has_ended(child[0], eos)]
            live = [child for child in best if not self.has_ended(child[0], eos)]
            finished = self.put_aside(finished, ended)
            if self.enough(finished, beam):
                break
        scored = [
            (tokens, self.score(total, self.length(tokens), alpha), total)
            for tokens, total in self.candidates(finished, live, beam)
        ]
        tokens, score, total = self.choice(scored)
        return self.tokens(tokens, bos, eos), self.reported(score, total)


@exercise(
    reference=_BeamSteps(),
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
            lambda value, case: len(value[0]) <= case.inputs[2],
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
        "`finished + live`, by `total / ((5 + len(tokens)) / 6) ** alpha`.",
    ],
)
def beam_search(
    step, bos: int, eos: int, beam: int, max_length: int, alpha: float
) -> tuple[tuple[int, ...], float]:
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
    scored = [
        (tokens, total / ((5 + len(tokens)) / 6) ** alpha) for tokens, total in finished + live
    ]
    return max(scored, key=lambda hypothesis: hypothesis[1])


@beam_search.mistake(
    "each hypothesis keeps only its best child",
    observed="From the start a single hypothesis is alive: this is greedy search, and it finds a "
    "sentence of probability 0.09 where there is one of 0.31.",
    change="Put all children of all hypotheses into one list, and keep the `beam` best of it.",
)
class _BestChildOnly(_BeamSteps):
    def best(
        self, families: list[list[Hypothesis]], beam: int, live: list[Hypothesis]
    ) -> list[Hypothesis]:
        return self.ranked([self.ranked(family)[0] for family in families])[:beam]


@beam_search.mistake(
    "after the first word each hypothesis keeps only its best child",
    observed="The `beam` best first words are right, then no hypothesis can have two children that "
    "live: the best sentence, through a second best child, is lost.",
    change="Let all children of all hypotheses compete in one list, at every step.",
)
class _SeparateChains(_BeamSteps):
    def best(
        self, families: list[list[Hypothesis]], beam: int, live: list[Hypothesis]
    ) -> list[Hypothesis]:
        if len(families) == 1 and not live[0][0]:
            return super().best(families, beam, live)
        return self.ranked([self.ranked(family)[0] for family in families])[:beam]


@beam_search.mistake(
    "each hypothesis keeps its `beam` best children",
    observed="The number of hypotheses doubles with each step at `beam=2`; you find sentences that "
    "a beam of 2 cannot find, at the price of trying nearly all.",
    change="Sort the children of all hypotheses together and keep `beam` of them in all.",
)
class _NoJointPruning(_BeamSteps):
    def best(
        self, families: list[list[Hypothesis]], beam: int, live: list[Hypothesis]
    ) -> list[Hypothesis]:
        return [child for family in families for child in self.ranked(family)[:beam]]


@beam_search.mistake(
    "`beam` is not used",
    observed="A beam of 1 finds what greedy search cannot find: nothing is pruned.",
    change="Keep only the `beam` best children of each step.",
)
class _NothingPruned(_BeamSteps):
    def best(
        self, families: list[list[Hypothesis]], beam: int, live: list[Hypothesis]
    ) -> list[Hypothesis]:
        possible = [child for family in families for child in family if child[1] > -math.inf]
        return self.ranked(possible)


@beam_search.mistake(
    "tokens are appended in the same place, not to their parent",
    observed="Where both of the best children have one parent, the second is appended to another "
    "hypothesis: the score is not that of the tokens. With a cache it is the same: its rows must "
    "be put in the order of the parents.",
    change="Remember which hypothesis a child comes from, and append to that one.",
)
class _WrongParent(_BeamSteps):
    def best(
        self, families: list[list[Hypothesis]], beam: int, live: list[Hypothesis]
    ) -> list[Hypothesis]:
        best = super().best(families, beam, live)
        return [
            ((*live[place % len(live)][0], tokens[-1]), total)
            for place, (tokens, total) in enumerate(best)
        ]


@beam_search.mistake(
    "the least probable children are kept",
    observed="The score is minus infinity: you sort upwards and keep the beginning.",
    change="Sort with `reverse=True`.",
)
class _KeepsLeastProbable(_BeamSteps):
    def ranked(self, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        return sorted(hypotheses, key=lambda hypothesis: hypothesis[1])


@beam_search.mistake(
    "probabilities are added up",
    observed="The score is positive and grows with each token. Probabilities multiply, and their "
    "logarithms add.",
    change="Add the log-probabilities as `step` returns them, without `exp`.",
)
class _SumsProbabilities(_BeamSteps):
    def total(self, total: float, log_probability: float) -> float:
        return total + math.exp(log_probability)


@beam_search.mistake(
    "a child forgets its parent's log-probability",
    observed="Each hypothesis is worth only its newest token, so that an unlikely beginning costs "
    "nothing.",
    change="Add: `total + log_probability`.",
)
class _ForgetsTotal(_BeamSteps):
    def total(self, total: float, log_probability: float) -> float:
        return log_probability


@beam_search.mistake(
    "finished hypotheses are expanded",
    observed="Tokens follow `eos`.",
    change="Put a child that ends with `eos` aside; only the others live on.",
)
class _ExpandsFinished(_BeamSteps):
    def has_ended(self, tokens: tuple[int, ...], eos: int) -> bool:
        return False


@beam_search.mistake(
    "finished hypotheses compete for a place in the beam",
    observed="A sentence that ended with probability 0.29 is crowded out by two beginnings that "
    "are better so far; they end with 0.12.",
    change="Put a child that ends with `eos` aside for good; what is alive later takes nothing "
    "from it.",
)
class _FinishedCompete(_ExpandsFinished):
    def families(self, live: list[Hypothesis], step: Callable, bos: int) -> list[list[Hypothesis]]:
        expand = super().families
        return [
            [hypothesis] if EOS in hypothesis[0] else expand([hypothesis], step, bos)[0]
            for hypothesis in live
        ]


@beam_search.mistake(
    "finished hypotheses are lost",
    observed="A sentence that ends leaves the beam and is not stored: in the end there is nothing, "
    "or only what had not ended at `max_length`.",
    change="Put those that end with `eos` into a list of their own, and choose from it too.",
)
class _FinishedAreLost(_BeamSteps):
    def put_aside(self, finished: list[Hypothesis], ended: list[Hypothesis]) -> list[Hypothesis]:
        return []


@beam_search.mistake(
    "only the newest finished hypotheses are stored",
    observed="Each step replaces the list of finished hypotheses: an earlier and better one is "
    "lost.",
    change="Append to the list: `finished += ...`.",
)
class _OnlyNewestFinished(_BeamSteps):
    def put_aside(self, finished: list[Hypothesis], ended: list[Hypothesis]) -> list[Hypothesis]:
        return ended or finished


@beam_search.mistake(
    "the first hypothesis that ends is taken",
    observed="Ending at once with probability 0.3 is taken, while a hypothesis is alive that ends "
    "with 0.63.",
    change="Go on until no hypothesis is alive or `max_length` is reached, then take the `max` by "
    "score. You may stop earlier only if no live one can win any more.",
)
class _StopsAtFirst(_BeamSteps):
    def enough(self, finished: list[Hypothesis], beam: int) -> bool:
        return bool(finished)

    def candidates(
        self, finished: list[Hypothesis], live: list[Hypothesis], beam: int
    ) -> list[Hypothesis]:
        return finished or live


@beam_search.mistake(
    "the search stops when `beam` hypotheses have finished",
    observed="Two early ends of probability 0.3 and 0.18 fill the list, while a hypothesis is "
    "alive that ends with 0.47. Many programs stop there to save time; it can cost the best one.",
    change="Go on until no hypothesis is alive or `max_length` is reached.",
)
class _StopsAtBeam(_BeamSteps):
    def enough(self, finished: list[Hypothesis], beam: int) -> bool:
        return len(finished) >= beam

    def candidates(
        self, finished: list[Hypothesis], live: list[Hypothesis], beam: int
    ) -> list[Hypothesis]:
        return finished if len(finished) >= beam else finished + live


@beam_search.mistake(
    "the hypothesis that finished last is taken",
    observed="The last one to end is returned, however many better ones ended before.",
    change="Take the `max` of all by score.",
)
class _TakesLast(_BeamSteps):
    def choice(self, scored: list[tuple]) -> tuple:
        return scored[-1]


@beam_search.mistake(
    "hypotheses cut off by `max_length` are thrown away",
    observed="When nothing has ended after `max_length` tokens, you have nothing to return; and "
    "where something has, a better one that was cut off does not count.",
    change="Choose from those that are still alive at the end too: `finished + live`.",
)
class _CutOffAreLost(_BeamSteps):
    def candidates(
        self, finished: list[Hypothesis], live: list[Hypothesis], beam: int
    ) -> list[Hypothesis]:
        return finished


@beam_search.mistake(
    "hypotheses cut off by `max_length` count only if nothing has ended",
    observed="A finished hypothesis is returned though one that was cut off has the better score.",
    change="Choose from both, `finished + live`, by score.",
)
class _CutOffComeSecond(_BeamSteps):
    def candidates(
        self, finished: list[Hypothesis], live: list[Hypothesis], beam: int
    ) -> list[Hypothesis]:
        return finished or live


@beam_search.mistake(
    "the length has no effect",
    observed="With `alpha=1` the sentence of 5 tokens should win over that of 2; the sums of the "
    "log-probabilities say the opposite.",
    change="Divide each sum by `((5 + length) / 6) ** alpha`.",
)
class _NoLengthPenalty(_BeamSteps):
    def score(self, total: float, length: int, alpha: float) -> float:
        return total


@beam_search.mistake(
    "the score is the mean per token",
    observed="The sentence of 5 tokens wins over that of 2 for every `alpha`: the mean divides by "
    "the whole length. GNMT's penalty with `alpha=0.6` is weaker, and the short one wins.",
    change="Divide by `((5 + length) / 6) ** alpha`.",
)
class _MeanPerToken(_BeamSteps):
    def score(self, total: float, length: int, alpha: float) -> float:
        return total / length


@beam_search.mistake(
    "the penalty multiplies",
    observed="Long sentences are punished twice: a sum of logarithms is negative, and you make it "
    "more so.",
    change="Divide by the penalty.",
)
class _MultipliesPenalty(_BeamSteps):
    def score(self, total: float, length: int, alpha: float) -> float:
        return total * ((5 + length) / 6) ** alpha


@beam_search.mistake(
    "the length leaves the end token out",
    observed="With `alpha` above 0 the scores are those of sentences one token shorter.",
    change="Count the tokens behind `bos`, `eos` included.",
)
class _LengthWithoutEnd(_BeamSteps):
    def length(self, tokens: tuple[int, ...]) -> int:
        return len(tokens) - (tokens[-1] == EOS)


@beam_search.mistake(
    "the length counts the begin token",
    observed="With `alpha` above 0 the scores are those of sentences one token longer.",
    change="Count the tokens behind `bos`.",
)
class _LengthWithBegin(_BeamSteps):
    def length(self, tokens: tuple[int, ...]) -> int:
        return len(tokens) + 1


@beam_search.mistake(
    "the sum is returned instead of the score",
    observed="The tokens are right; with `alpha` above 0 the number beside them is their "
    "log-probability.",
    change="Return the score by which you chose.",
)
class _ReturnsTotal(_BeamSteps):
    def reported(self, score: float, total: float) -> float:
        return total


@beam_search.mistake(
    "the score is a probability",
    observed="The score is between 0 and 1: it is the exponential of the one asked for.",
    change="Leave `exp` out.",
)
class _ReturnsProbability(_BeamSteps):
    def reported(self, score: float, total: float) -> float:
        return math.exp(score)


@beam_search.mistake(
    "the begin token is returned",
    observed="The tokens begin with `bos`.",
    change="Return the tokens behind `bos`.",
)
class _ReturnsBegin(_BeamSteps):
    def tokens(self, tokens: tuple[int, ...], bos: int, eos: int) -> tuple[int, ...]:
        return (bos, *tokens)


@beam_search.mistake(
    "the end token is cut off",
    observed="A sentence that ended by itself comes back without its `eos`, and looks like one "
    "that `max_length` cut off.",
    change="Return the tokens with their `eos`.",
)
class _EndCutOff(_BeamSteps):
    def tokens(self, tokens: tuple[int, ...], bos: int, eos: int) -> tuple[int, ...]:
        return tuple(token for token in tokens if token != eos)


@beam_search.mistake(
    "`step` gets only the newest token",
    observed="The first word is right; from then on the model does not know what came before.",
    change="Give it the whole prefix: `step((bos, *tokens))`.",
)
class _OnlyNewestToken(_BeamSteps):
    def prefix(self, bos: int, tokens: tuple[int, ...]) -> tuple[int, ...]:
        return tokens[-1:] or (bos,)


@beam_search.mistake(
    "`max_length` counts the begin token",
    observed="A hypothesis that is cut off has one token less than `max_length`.",
    change="Run the loop `max_length` times: it counts tokens behind `bos`.",
)
class _OneStepLess(_BeamSteps):
    def steps(self, max_length: int) -> int:
        return max_length - 1


@beam_search.mistake(
    "one token more than `max_length`",
    observed="A hypothesis that is cut off has `max_length + 1` tokens.",
    change="Run the loop `max_length` times.",
)
class _OneStepMore(_BeamSteps):
    def steps(self, max_length: int) -> int:
        return max_length + 1


# --- cached_step -----------------------------------------------------------------------------


class SmallLayer(nn.Module):
    """The projections of a decoder layer with one head, and its feed-forward network."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.cross_query = nn.Linear(d_model, d_model)
        self.cross_key = nn.Linear(d_model, d_model)
        self.cross_value = nn.Linear(d_model, d_model)
        self.feed_forward = model.FeedForward(d_model, 2 * d_model)


class SmallDecoder(nn.Module):
    """A decoder with all that a cache has to do with, and nothing else: one head, no norms."""

    def __init__(self, vocab: int = 11, d_model: int = 8, layers: int = 2) -> None:
        super().__init__()
        self.table = nn.Embedding(vocab, d_model)
        self.register_buffer("positions", model.sinusoidal_encoding(100, d_model))
        self.layers = nn.ModuleList(SmallLayer(d_model) for _ in range(layers))
        self.output = nn.Linear(d_model, vocab)

    def embed(
        self, tokens: Int[Tensor, "batch length"], first: int = 0
    ) -> Float[Tensor, "batch length d_model"]:
        """Return vectors with positions; ``first`` is the position of the first of the tokens."""
        return self.table(tokens) + self.positions[first : first + tokens.shape[1]]

    def forward(
        self, tokens: Int[Tensor, "batch length"], memory: Float[Tensor, "batch source d_model"]
    ) -> Float[Tensor, "batch length vocab"]:
        """Decode all tokens at once."""
        x = self.embed(tokens)
        mask = model.causal_mask(tokens.shape[1])
        for layer in self.layers:
            x = x + model.fused_attention(layer.query(x), layer.key(x), layer.value(x), mask)
            keys, values = layer.cross_key(memory), layer.cross_value(memory)
            x = x + model.fused_attention(layer.cross_query(x), keys, values)
            x = x + layer.feed_forward(x)
        return self.output(x)


@cache
def _trained_decoder() -> SmallDecoder:
    """Make the weights once: a check decodes some hundred times with them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return SmallDecoder()


def _twin(module: nn.Module) -> nn.Module:
    """Return a copy with the same weights, in which nothing that is stored reaches the original."""
    twin = copy.copy(module)
    twin._modules = {name: _twin(part) for name, part in module._modules.items()}
    twin._forward_hooks = OrderedDict()
    return twin


class _Counter:
    """Counts the positions that some of a decoder's projections work on."""

    def __init__(self, *projections: nn.Module) -> None:
        self.positions = 0
        for projection in projections:
            projection.register_forward_hook(self._count)

    def _count(self, projection: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        self.positions += inputs[0].shape[-2]


def _step_by_step(code: Callable, sentences: list[Tensor], memories: list[Tensor]) -> dict:
    """Decode one sentence after the other, token by token; each has an empty cache at first."""
    decoder = _twin(_trained_decoder())
    layers = list(decoder.layers)
    own = _Counter(*(part for layer in layers for part in (layer.key, layer.value)))
    cross = _Counter(*(part for layer in layers for part in (layer.cross_key, layer.cross_value)))
    logits = []
    with torch.no_grad():
        for tokens, memory in zip(sentences, memories, strict=True):
            cache: dict = {}
            for place in range(tokens.shape[1]):
                logits.append(code(decoder, tokens[:, [place]], memory, cache))
    return {
        "logits at each step": logits,
        "keys and values made from the target": own.positions,
        "keys and values made from the memory": cross.positions,
    }


class _CacheSteps:
    """One step with a cache, in steps, so that a mistake replaces one.

    The cache holds, by the number of the layer, (keys, values) of the target and of the memory.
    """

    def cache(self, decoder: nn.Module, cache: dict) -> dict:
        return cache

    def position(self, length: int, token: Tensor) -> int:
        return length

    def own_name(self, number: int) -> tuple:
        return "self", number

    def cross_name(self, number: int) -> tuple:
        return "cross", number

    def longer(self, old: tuple[Tensor, ...], new: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(torch.cat(pair, dim=1) for pair in zip(old, new, strict=True))

    def stored(self, old: tuple | None, new: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return new if old is None else self.longer(old, new)

    def own(self, layer: nn.Module, x: Tensor, cache: dict, name: tuple) -> tuple[Tensor, ...]:
        cache[name] = self.stored(cache.get(name), (layer.key(x), layer.value(x)))
        return cache[name]

    def seen(self, pair: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return pair

    def of_memory(self, layer: nn.Module, memory: Tensor) -> tuple[Tensor, ...]:
        return layer.cross_key(memory), layer.cross_value(memory)

    def cross(
        self, layer: nn.Module, x: Tensor, memory: Tensor, cache: dict, name: tuple
    ) -> tuple[Tensor, ...]:
        if name not in cache:
            cache[name] = self.of_memory(layer, memory)
        return cache[name]

    def after(self, decoder: nn.Module, x: Tensor) -> Tensor:
        return decoder.output(x)[:, -1]

    def __call__(self, decoder: nn.Module, token: Tensor, memory: Tensor, cache: dict) -> Tensor:
        cache = self.cache(decoder, cache)
        length = cache.get("length", 0)
        cache["length"] = length + 1
        x = decoder.embed(token, self.position(length, token))
        for number, layer in enumerate(decoder.layers):
            pair = self.seen(self.own(layer, x, cache, self.own_name(number)))
            x = x + model.fused_attention(layer.query(x), *pair)
            pair = self.cross(layer, x, memory, cache, self.cross_name(number))
            x = x + model.fused_attention(layer.cross_query(x), *pair)
            x = x + layer.feed_forward(x)
        return self.after(decoder, x)


def _cache_case(looks_at: str, *lengths: tuple[int, int]) -> Case:
    """Return a case with batches of (target, source) tokens, one after the other.

    All hold two sentences, so that what a global variable keeps of another batch fits in shape
    and shows in the numbers.
    """
    sentences = [
        torch.randint(11, (2, target), generator=torch.Generator().manual_seed(number))
        for number, (target, _) in enumerate(lengths)
    ]
    memories = [vectors(2, source, 8, seed=number) for number, (_, source) in enumerate(lengths)]
    return Case(
        (sentences, memories),
        observe=_step_by_step,
        looks_at=looks_at,
        written="(decoder, token, memory, cache)",
    )


@exercise(
    reference=_CacheSteps(),
    cases=[
        _cache_case("sentences of 2 tokens", (2, 3)),
        _cache_case("sentences of 5 tokens", (5, 4)),
        _cache_case("sentences of 3 tokens, then others of 4 with a new cache", (3, 4), (4, 5)),
    ],
    hints=[
        "Read `forward` of the decoder and ask of each line: which of its numbers does the newest "
        "token change, and which are the same as one step before?",
        "Per layer there are two things to store: the keys and values of the target, which grow by "
        "one position each step, and those of the memory, which never change. The newest token may "
        "see all that is stored, so no mask is needed. Its position is the number of tokens before "
        "it.",
        "For each layer: `key, value = layer.key(x), layer.value(x)`, joined to the stored ones by "
        "`torch.cat([old, new], dim=1)`, stored again under a name with the layer's number, such "
        'as `cache["self", number]`. At the first step store `layer.cross_key(memory)` and '
        "`layer.cross_value(memory)` too.",
    ],
)
def cached_step(decoder: nn.Module, token: Tensor, memory: Tensor, cache: dict) -> Tensor:
    """Return the logits [B, V] behind one more token [B, 1]; the cache is empty at first."""
    position = cache.get("position", 0)
    x = decoder.embed(token, position)
    for number, layer in enumerate(decoder.layers):
        key, value = layer.key(x), layer.value(x)
        if position == 0:
            cache["cross", number] = layer.cross_key(memory), layer.cross_value(memory)
        else:
            old_key, old_value = cache["self", number]
            key, value = torch.cat([old_key, key], dim=1), torch.cat([old_value, value], dim=1)
        cache["self", number] = key, value
        x = x + model.fused_attention(layer.query(x), key, value)
        x = x + model.fused_attention(layer.cross_query(x), *cache["cross", number])
        x = x + layer.feed_forward(x)
    cache["position"] = position + 1
    return decoder.output(x)[:, -1]


@cached_step.mistake(
    "every token gets position 0",
    observed="The first step is right, all others are wrong: the token stands alone in its tensor, "
    "so that it looks like the first one.",
    change="Its position is the number of tokens before it: `decoder.embed(token, position)`.",
)
class _NoOffset(_CacheSteps):
    def position(self, length: int, token: Tensor) -> int:
        return 0


@cached_step.mistake(
    "positions are one too high",
    observed="Even the first step is wrong: the position is read after the token was counted.",
    change="Read the position first, which is 0 for the first token, and count the token then.",
)
class _OneTooHigh(_CacheSteps):
    def position(self, length: int, token: Tensor) -> int:
        return length + 1


@cached_step.mistake(
    "positions are one too low",
    observed="The first two steps both use position 0; from the second on all is wrong.",
    change="The position is the number of tokens before this one.",
)
class _OneTooLow(_CacheSteps):
    def position(self, length: int, token: Tensor) -> int:
        return max(length - 1, 0)


@cached_step.mistake(
    "each layer counts the token again",
    observed="The positions are 0, 2, 4: the first step is right, and from then on they grow by "
    "the number of layers.",
    change="Count the token once, outside the loop over the layers.",
)
class _CountedByLayers(_CacheSteps):
    def position(self, length: int, token: Tensor) -> int:
        return 2 * length


@cached_step.mistake(
    "the position is the batch size",
    observed="From the second step on the position stays the same: it comes from the wrong axis.",
    change="Stored keys have shape [B, tokens, d_model]: their number is `key.shape[1]`.",
)
class _PositionFromBatch(_CacheSteps):
    def position(self, length: int, token: Tensor) -> int:
        return len(token) if length else 0


@cached_step.mistake(
    "the newest token sees only the first one",
    observed="The first step is right and the cache grows, but what is stored has no effect: row 0 "
    "of the causal mask hides all keys except the first.",
    change="Leave the mask out: everything in the cache lies before the newest token.",
)
class _FirstRowOfMask(_CacheSteps):
    def seen(self, pair: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(part[:, :1] for part in pair)


@cached_step.mistake(
    "the newest token sees only itself",
    observed="The first step is right; from the second on, the tokens before have no effect.",
    change="Attend to all stored keys and values, not to the new ones alone.",
)
class _SeesOnlyItself(_CacheSteps):
    def seen(self, pair: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(part[:, -1:] for part in pair)


@cached_step.mistake(
    "the newest token does not see itself",
    observed="The first step is right; from the second on, the token's own key is missing.",
    change="Append the new key and value first, then attend to all of them.",
)
class _DoesNotSeeItself(_CacheSteps):
    def seen(self, pair: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(part[:, : max(part.shape[1] - 1, 1)] for part in pair)


@cached_step.mistake(
    "only the token just before is remembered",
    observed="The first two steps are right; from the third on, older tokens are missing: the "
    "cache is replaced by the newest key and value instead of growing.",
    change="Store the joined keys and values, not the new ones.",
)
class _RemembersOne(_CacheSteps):
    def stored(self, old: tuple | None, new: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return super().stored(old and tuple(part[:, -1:] for part in old), new)


@cached_step.mistake(
    "all layers share one cache of the target",
    observed="Even the first step is wrong: the second layer finds the keys of the first.",
    change='Store under a name with the layer\'s number: `cache["self", number]`.',
)
class _OneCache(_CacheSteps):
    def own_name(self, number: int) -> tuple:
        return "self", 0


@cached_step.mistake(
    "all layers share the keys and values of the memory",
    observed="Even the first step is wrong: the second layer attends with the first one's "
    "projections of the memory.",
    change="The memory is the same for all layers, its keys and values are not: store them under a "
    "name with the layer's number.",
)
class _OneCrossCache(_CacheSteps):
    def cross_name(self, number: int) -> tuple:
        return "cross", 0


@cached_step.mistake(
    "all layers share both caches",
    observed="Even the first step is wrong: the second layer finds keys and values of the first, "
    "of the target and of the memory.",
    change='Store under names with the layer\'s number, such as `cache["self", number]`.',
)
class _NothingByLayer(_OneCache):
    def cross_name(self, number: int) -> tuple:
        return "cross", 0


@cached_step.mistake(
    "target and memory share one cache",
    observed="Even the first step is wrong: cross-attention finds the keys of the target under the "
    "same name.",
    change="Use two names for each layer, one for the target and one for the memory.",
)
class _SharedNames(_CacheSteps):
    def own_name(self, number: int) -> tuple:
        return "cross", number


@cached_step.mistake(
    "the memory's keys and values are made at every step",
    observed="The logits are right, but the memory is projected again for each token. It never "
    "changes.",
    change="Make them at the first step, store them, and use the stored ones from then on.",
)
class _MemoryAgain(_CacheSteps):
    def cross(
        self, layer: nn.Module, x: Tensor, memory: Tensor, cache: dict, name: tuple
    ) -> tuple[Tensor, ...]:
        return self.of_memory(layer, memory)


@cached_step.mistake(
    "the target's keys and values are made again at every step",
    observed="The logits are right, but all tokens so far are projected at each step: the vectors "
    "are stored instead of their keys and values.",
    change="Store keys and values, and project only the newest token.",
)
class _TargetAgain(_CacheSteps):
    def own(self, layer: nn.Module, x: Tensor, cache: dict, name: tuple) -> tuple[Tensor, ...]:
        (vectors_so_far,) = cache[name] = self.stored(cache.get(name), (x,))
        return layer.key(vectors_so_far), layer.value(vectors_so_far)


@cached_step.mistake(
    "there is no cache: the whole target is decoded again",
    observed="The logits are right, but everything is computed anew for each token.",
    change="Store keys and values, project only the newest token, and attend to the stored ones.",
)
class _NoCache(_CacheSteps):
    def __call__(self, decoder: nn.Module, token: Tensor, memory: Tensor, cache: dict) -> Tensor:
        so_far = cache.get("tokens", token[:, :0])
        cache["tokens"] = torch.cat([so_far, token], dim=1)
        return decoder(cache["tokens"], memory)[:, -1]


@cached_step.mistake(
    "what is stored outlives the sentence",
    observed="The first sentence is right, the second one finds the keys of the first: they are "
    "stored in the decoder or in a global variable.",
    change="Store in `cache` alone, which is empty at the beginning of each sentence.",
)
class _NotReset(_CacheSteps):
    def cache(self, decoder: nn.Module, cache: dict) -> dict:
        return vars(decoder).setdefault("remembered", {})


@cached_step.mistake(
    "the memory's keys and values outlive the sentence",
    observed="The first sentence is right, the second one attends to the memory of the first.",
    change="Store in `cache`, which is empty at the beginning of each sentence.",
)
class _MemoryNotReset(_CacheSteps):
    def cross(
        self, layer: nn.Module, x: Tensor, memory: Tensor, cache: dict, name: tuple
    ) -> tuple[Tensor, ...]:
        return super().cross(layer, x, memory, vars(layer).setdefault("remembered", {}), name)


@cached_step.mistake(
    "cross-attention looks at the target",
    observed="The memory has no effect: the keys and values of cross-attention are made from `x`.",
    change="Make them from the memory: `layer.cross_key(memory)`, `layer.cross_value(memory)`.",
)
class _CrossFromTarget(_CacheSteps):
    def cross(
        self, layer: nn.Module, x: Tensor, memory: Tensor, cache: dict, name: tuple
    ) -> tuple[Tensor, ...]:
        return super().cross(layer, x, x, cache, name)


@cached_step.mistake(
    "keys and values are swapped in cross-attention",
    observed="Even the first step is wrong: attention compares with the values and blends the "
    "keys.",
    change="Store and take them in the same order: keys first.",
)
class _SwappedInCross(_CacheSteps):
    def of_memory(self, layer: nn.Module, memory: Tensor) -> tuple[Tensor, ...]:
        return layer.cross_value(memory), layer.cross_key(memory)


@cached_step.mistake(
    "new keys are joined along the features",
    observed="The first step is right; at the second the keys are wider than the query, and "
    "attention stops with an error.",
    change="Join along the tokens: `torch.cat([old, new], dim=1)` for shape [B, tokens, d_model].",
)
class _JoinedAlongFeatures(_CacheSteps):
    def longer(self, old: tuple[Tensor, ...], new: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(torch.cat(pair, dim=-1) for pair in zip(old, new, strict=True))


@cached_step.mistake(
    "new keys are joined along the batch",
    observed="The first step is right; then the stored keys look like those of other sentences, "
    "until shapes no longer fit.",
    change="Join along the tokens: `torch.cat([old, new], dim=1)` for shape [B, tokens, d_model].",
)
class _JoinedAlongBatch(_CacheSteps):
    def longer(self, old: tuple[Tensor, ...], new: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(torch.cat(pair, dim=0) for pair in zip(old, new, strict=True))


@cached_step.mistake(
    "an axis of length 1 is left",
    observed="The numbers are right, but they have shape [B, 1, V].",
    change="Take the only position: `decoder.output(x)[:, -1]`.",
)
class _AxisLeft(_CacheSteps):
    def after(self, decoder: nn.Module, x: Tensor) -> Tensor:
        return decoder.output(x)


@cached_step.mistake(
    "probabilities are returned instead of logits",
    observed="Each row sums to 1.",
    change="Return the logits, without a softmax.",
)
class _Probabilities(_CacheSteps):
    def after(self, decoder: nn.Module, x: Tensor) -> Tensor:
        return super().after(decoder, x).softmax(dim=-1)
