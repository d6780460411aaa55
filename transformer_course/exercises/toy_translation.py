"""Lesson 7: the exercises on batches, losses, the schedule and the training step."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_course.exercises.cases import Case, Property
from transformer_course.exercises.exercise import exercise
from transformer_course.translation import batches, loss, schedule

# --- collate ---------------------------------------------------------------------------------

Pairs = list[tuple[list[int], list[int]]]
_PAIRS = [([4, 5, 6], [7, 8]), ([5], [6, 4, 8, 7]), ([6, 4], [5])]


def _rectangles(code: Callable, pairs: Pairs, bos: int, eos: int, pad: int) -> tuple:
    """Collate; what goes in where padding is to come out has no effect, so it is blanked."""
    source, target_in, target_out = code(pairs, bos, eos, pad)
    if isinstance(target_in, Tensor) and isinstance(target_out, Tensor):
        same_shape = target_in.shape == target_out.shape
        target_in = torch.where(target_out == pad, pad, target_in) if same_shape else target_in
    return source, target_in, target_out


@exercise(
    reference=batches.collate,
    cases=[
        Case(([([4, 5], [6, 7, 8])], 1, 2, 0), observe=_rectangles),
        Case((_PAIRS, 1, 2, 0), observe=_rectangles),
        Case((_PAIRS, 2, 3, 9), observe=_rectangles),
        Case(([([4, 4, 4, 4], [5]), ([6], [7])], 1, 2, 0), observe=_rectangles),
    ],
    properties=[
        Property(
            "the source holds no begin token",
            lambda value, case: not (value[0] == case.inputs[1]).any(),
        ),
        Property(
            "every target in begins with the begin token",
            lambda value, case: bool((value[1][:, 0] == case.inputs[1]).all()),
        ),
        Property(
            "every target out holds the end token once",
            lambda value, case: bool(((value[2] == case.inputs[2]).sum(dim=1) == 1).all()),
        ),
        Property(
            "target out is target in, one step ahead",
            lambda value, case: torch.equal(
                value[1][:, 1:],
                torch.where(value[2][:, 1:] == case.inputs[3], case.inputs[3], value[2][:, :-1]),
            ),
        ),
    ],
    hints=[
        "Write the three lists for one pair on paper first. If the target is `[7, 8]`, what does "
        "the decoder read first, and what must it predict last?",
        "For one pair: source `[*source, eos]`, target in `[bos, *target]`, target out "
        "`[*target, eos]`.",
        "Then fill each rectangle: `row + [pad] * (longest - len(row))`, where `longest` is the "
        "longest row of this batch, and `torch.tensor(rows)`.",
    ],
)
def collate(
    pairs: list[tuple[list[int], list[int]]], bos: int, eos: int, pad: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return source, target in and target out as rectangles of ids."""

    def rectangle(rows: list[list[int]]) -> Tensor:
        longest = max(len(row) for row in rows)
        return torch.tensor([row + [pad] * (longest - len(row)) for row in rows])

    return (
        rectangle([[*source, eos] for source, _ in pairs]),
        rectangle([[bos, *target] for _, target in pairs]),
        rectangle([[*target, eos] for _, target in pairs]),
    )


class _CollateSteps:
    """Collating in steps, so that a mistake replaces one."""

    def source(self, ids: list[int], bos: int, eos: int) -> list[int]:
        return [*ids, eos]

    def target(self, ids: list[int], bos: int, eos: int) -> tuple[list[int], list[int]]:
        return [bos, *ids], [*ids, eos]

    def fill(self, row: list[int], length: int, pad: int) -> list[int]:
        return row + [pad] * (length - len(row))

    def length(self, rows: list[list[int]]) -> int:
        return max(map(len, rows))

    def rectangle(self, rows: list[list[int]], pad: int) -> Tensor:
        length = self.length(rows)
        return torch.tensor([self.fill(row, length, pad) for row in rows])

    def __call__(self, pairs: Pairs, bos: int, eos: int, pad: int) -> tuple[Tensor, ...]:
        sources = [self.source(ids, bos, eos) for ids, _ in pairs]
        targets = [self.target(ids, bos, eos) for _, ids in pairs]
        ins, outs = [row for row, _ in targets], [row for _, row in targets]
        return tuple(self.rectangle(rows, pad) for rows in (sources, ins, outs))


@collate.mistake(
    "target in and target out are the same",
    observed="For the target 6 7 8 the decoder reads 6 7 8 and must predict 6 7 8: each answer "
    "stands in front of it. The loss falls to nearly 0 and nothing is learned.",
    change="Put `bos` before what goes in and `eos` behind what comes out.",
)
class _NoShift(_CollateSteps):
    def target(self, ids: list[int], bos: int, eos: int) -> tuple[list[int], list[int]]:
        return [*ids, eos], [*ids, eos]


@collate.mistake(
    "target in and target out are the whole sentence with both its ends",
    observed="Both hold `bos`, the words and `eos`, so the token to predict is the one just read.",
    change="Leave `eos` off what goes in and `bos` off what comes out.",
)
class _WholeSentenceTwice(_CollateSteps):
    def target(self, ids: list[int], bos: int, eos: int) -> tuple[list[int], list[int]]:
        return [bos, *ids, eos], [bos, *ids, eos]


@collate.mistake(
    "the shift goes the wrong way",
    observed="The decoder reads a word and must predict the one before it; `bos` comes out.",
    change="Swap them: `bos` goes in first, `eos` comes out last.",
)
class _ShiftedBack(_CollateSteps):
    def target(self, ids: list[int], bos: int, eos: int) -> tuple[list[int], list[int]]:
        return [*ids, eos], [bos, *ids]


@collate.mistake(
    "there is no begin token",
    observed="Target in begins with the first word, so that word is never predicted, and when "
    "translating there is nothing to start from.",
    change="Target in is `[bos, *target]`, and target out holds all words of the target.",
)
class _NoBegin(_CollateSteps):
    def target(self, ids: list[int], bos: int, eos: int) -> tuple[list[int], list[int]]:
        return ids, [*ids[1:], eos]


@collate.mistake(
    "there is no end token to predict",
    observed="Target out ends with the last word: the model never learns to stop.",
    change="Target out is `[*target, eos]`, and target in holds all words of the target.",
)
class _NoEnd(_CollateSteps):
    def target(self, ids: list[int], bos: int, eos: int) -> tuple[list[int], list[int]]:
        return [bos, *ids[:-1]], ids


@collate.mistake(
    "target in ends with the end token too",
    observed="Target in is one longer than target out: it holds `eos`, after which nothing is "
    "to be predicted.",
    change="Leave `eos` off what goes in.",
)
class _EndGoesIn(_CollateSteps):
    def target(self, ids: list[int], bos: int, eos: int) -> tuple[list[int], list[int]]:
        return [bos, *ids, eos], [*ids, eos]


@collate.mistake(
    "the source has no end token",
    observed="The source's rows are one shorter than wanted; an empty sentence would have "
    "nothing to attend to.",
    change="Append `eos` to each source too.",
)
class _SourceWithoutEnd(_CollateSteps):
    def source(self, ids: list[int], bos: int, eos: int) -> list[int]:
        return ids


@collate.mistake(
    "the source begins with the begin token",
    observed="The first column of the source is `bos`.",
    change="The begin token tells the decoder to start; the source takes only `eos`, at its end.",
)
class _SourceWithBegin(_CollateSteps):
    def source(self, ids: list[int], bos: int, eos: int) -> list[int]:
        return [bos, *ids, eos]


@collate.mistake(
    "source and target are swapped",
    observed="The first rectangle holds the second sentence of each pair.",
    change="A pair is (source, target): take its first list for the source.",
)
class _SwappedSides(_CollateSteps):
    def __call__(self, pairs: Pairs, bos: int, eos: int, pad: int) -> tuple[Tensor, ...]:
        return super().__call__([(target, source) for source, target in pairs], bos, eos, pad)


@collate.mistake(
    "padding comes first",
    observed="Short rows begin with padding, so their words stand at other positions than in a "
    "long row.",
    change="Append the padding: `row + [pad] * n`.",
)
class _PaddingFirst(_CollateSteps):
    def fill(self, row: list[int], length: int, pad: int) -> list[int]:
        return [pad] * (length - len(row)) + row


@collate.mistake(
    "rows are filled up with 0 instead of `pad`",
    observed="With `pad=9` the short rows end in 0, which is then an ordinary token.",
    change="Use the argument `pad`.",
)
class _PaddingZero(_CollateSteps):
    def fill(self, row: list[int], length: int, pad: int) -> list[int]:
        return row + [0] * (length - len(row))


@collate.mistake(
    "rows are cut to the shortest",
    observed="The rectangles are as narrow as the shortest sentence: words are lost.",
    change="Fill up to the longest row of the batch.",
)
class _CutToShortest(_CollateSteps):
    def length(self, rows: list[list[int]]) -> int:
        return min(map(len, rows))

    def fill(self, row: list[int], length: int, pad: int) -> list[int]:
        return row[:length]


@collate.mistake(
    "the rectangles are wider than the longest sentence",
    observed="Every batch is as wide as some fixed length: most of it is padding, and padding "
    "costs as much time as words.",
    change="Fill up to the longest row of this batch.",
)
class _FixedLength(_CollateSteps):
    def length(self, rows: list[list[int]]) -> int:
        return 10


@collate.mistake(
    "the rectangles lie on their side",
    observed="The first axis is the token, the second the sentence.",
    change="Batch first: one row for each sentence. `pad_sequence` needs `batch_first=True`.",
)
class _Sideways(_CollateSteps):
    def rectangle(self, rows: list[list[int]], pad: int) -> Tensor:
        return super().rectangle(rows, pad).T


# --- masked mean -----------------------------------------------------------------------------

_LOSS = torch.tensor([[1.0, 1.0, 1.0, 1.0], [5.0, 70.0, 30.0, 20.0]])
_REAL = torch.tensor([[True, True, True, True], [True, False, False, False]])


@exercise(
    reference=loss.masked_mean,
    cases=[
        Case((_LOSS, _REAL)),
        Case((torch.arange(6.0).reshape(2, 3), torch.tensor([[1, 0, 0], [1, 1, 0]]).bool())),
        Case((_LOSS[:1], _REAL[:1])),
        Case((torch.arange(15.0).reshape(3, 5).sqrt(), torch.arange(15).reshape(3, 5) % 4 < 3)),
    ],
    hints=[
        "A mean is a sum divided by a count. Which tokens belong into the sum, and how many are "
        "they?",
        "Where the mask is False a loss must count as 0, and the count must leave it out too.",
        "`loss[mask].mean()` does both.",
    ],
)
def masked_mean(loss: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of the losses where the mask is True, a tensor without axes."""
    return loss[mask].mean()


class _MaskedMeanSteps:
    """The masked mean in steps, so that a mistake replaces one."""

    def keep(self, mask: Tensor) -> Tensor:
        return mask

    def total(self, loss: Tensor, mask: Tensor) -> Tensor:
        return (loss * mask).sum()

    def count(self, mask: Tensor) -> Tensor | int:
        return mask.sum()

    def __call__(self, loss: Tensor, mask: Tensor) -> Tensor:
        mask = self.keep(mask)
        return self.total(loss, mask) / self.count(mask)


@masked_mean.mistake(
    "padding counts like a word",
    observed="The losses 1, 1, 1, 1 and 5, with three padding places, give 16.1 instead of 1.8: "
    "the mask has no effect.",
    change="Sum and count only where the mask is True.",
)
class _IgnoresMask(_MaskedMeanSteps):
    def keep(self, mask: Tensor) -> Tensor:
        return torch.ones_like(mask)


@masked_mean.mistake(
    "the sum leaves padding out, the count does not",
    observed="The losses 1, 1, 1, 1 and 5, with three padding places, give 9 / 8 instead of "
    "9 / 5: a batch with more padding looks better.",
    change="Divide by `mask.sum()`, the number of real tokens.",
)
class _CountsAll(_MaskedMeanSteps):
    def count(self, mask: Tensor) -> Tensor | int:
        return mask.numel()


@masked_mean.mistake(
    "it is the mean of the sentences' means",
    observed="The losses 1, 1, 1, 1 and 5 give (1 + 5) / 2 = 3 instead of 9 / 5: a word in a "
    "short sentence weighs more than one in a long sentence.",
    change="Sum over the whole batch first, then divide once by the number of real tokens.",
)
class _MeanOfMeans(_MaskedMeanSteps):
    def total(self, loss: Tensor, mask: Tensor) -> Tensor:
        return ((loss * mask).sum(dim=1) / mask.sum(dim=1)).sum()

    def count(self, mask: Tensor) -> Tensor | int:
        return len(mask)


@masked_mean.mistake(
    "it is divided by the number of sentences",
    observed="The result grows with the length of the sentences.",
    change="Divide by `mask.sum()`, the number of real tokens.",
)
class _PerSentence(_MaskedMeanSteps):
    def count(self, mask: Tensor) -> Tensor | int:
        return len(mask)


@masked_mean.mistake(
    "it is a sum, not a mean",
    observed="Twice as many tokens of the same loss give twice the result.",
    change="Divide by `mask.sum()`, the number of real tokens.",
)
class _SumOnly(_MaskedMeanSteps):
    def count(self, mask: Tensor) -> Tensor | int:
        return 1


@masked_mean.mistake(
    "the mask is read the wrong way round",
    observed="Only the padding counts, so that a batch without padding gives 0 / 0.",
    change="True means a real token: keep those.",
)
class _InvertedMask(_MaskedMeanSteps):
    def keep(self, mask: Tensor) -> Tensor:
        return ~mask


@masked_mean.mistake(
    "each sentence gets a mean of its own",
    observed="The result has one number for each sentence instead of one for the batch.",
    change="Sum over both axes: one mean for the whole batch.",
)
class _OnePerSentence(_MaskedMeanSteps):
    def total(self, loss: Tensor, mask: Tensor) -> Tensor:
        return (loss * mask).sum(dim=1)

    def count(self, mask: Tensor) -> Tensor | int:
        return mask.sum(dim=1)


# --- smoothed cross-entropy ------------------------------------------------------------------


def _logits(tokens: int, vocab: int) -> Tensor:
    grid = torch.arange(tokens * vocab, dtype=torch.float64).reshape(tokens, vocab)
    return 3 * torch.sin(2.7 * grid)


@exercise(
    reference=loss.smoothed_cross_entropy,
    cases=[
        Case((_logits(1, 4), torch.tensor([2]), 0.1, 0)),
        Case((_logits(5, 7), torch.tensor([3, 1, 6, 0, 0]), 0.1, 0)),
        Case((_logits(6, 5), torch.tensor([0, 4, 4, 1, 0, 2]), 0.3, 4)),
        Case((_logits(3, 6) + 100, torch.tensor([5, 1, 1]), 0.0, 0)),
    ],
    properties=[
        Property("the loss is not negative", lambda value, case: float(value) >= 0),
    ],
    hints=[
        "Begin without smoothing: the loss of a token is minus the log-probability of the right "
        "one, `logits.log_softmax(dim=-1)` looked up at its target.",
        "The smoothed target gives `1 - smoothing` to the right token and spreads `smoothing` "
        "evenly over all tokens. The loss is the mean of two losses with these weights: that of "
        "the right token, and the mean over all tokens.",
        "`-(1 - smoothing) * right - smoothing * log_probabilities.mean(dim=-1)` for each token, "
        "then the mean where `targets != pad`.",
    ],
)
def smoothed_cross_entropy(logits: Tensor, targets: Tensor, smoothing: float, pad: int) -> Tensor:
    """Return the mean loss per real token, a tensor without axes."""
    log_probabilities = logits.log_softmax(dim=-1)
    vocab = logits.shape[-1]
    wanted = torch.full_like(logits, smoothing / vocab)
    wanted += (1 - smoothing) * nn.functional.one_hot(targets, vocab)
    per_token = -(wanted * log_probabilities).sum(dim=-1)
    return per_token[targets != pad].mean()


class _SmoothedSteps:
    """The smoothed cross-entropy in steps, so that a mistake replaces one."""

    def log_probabilities(self, logits: Tensor) -> Tensor:
        return logits.log_softmax(dim=-1)

    def wanted(self, right: Tensor, smoothing: float, pad: int) -> Tensor:
        return (1 - smoothing) * right + smoothing / right.shape[-1]

    def per_token(self, wanted: Tensor, log_probabilities: Tensor) -> Tensor:
        return -(wanted * log_probabilities).sum(dim=-1)

    def mean(self, per_token: Tensor, real: Tensor) -> Tensor:
        return (per_token * real).sum() / real.sum()

    def __call__(self, logits: Tensor, targets: Tensor, smoothing: float, pad: int) -> Tensor:
        right = nn.functional.one_hot(targets, logits.shape[-1]).to(logits.dtype)
        wanted = self.wanted(right, smoothing, pad)
        per_token = self.per_token(wanted, self.log_probabilities(logits))
        return self.mean(per_token, targets != pad)


@smoothed_cross_entropy.mistake(
    "the smoothing is shared among the wrong tokens only",
    observed="The right token gets exactly `1 - smoothing`: every other one gets "
    "`smoothing / (vocab - 1)`. That is another convention than the one asked for.",
    change="Spread `smoothing / vocab` over all tokens, the right one included.",
)
class _WithoutTheRight(_SmoothedSteps):
    def wanted(self, right: Tensor, smoothing: float, pad: int) -> Tensor:
        return (1 - smoothing) * right + smoothing / (right.shape[-1] - 1) * (1 - right)


@smoothed_cross_entropy.mistake(
    "the smoothing is shared among the wrong tokens without padding",
    observed="Each wrong token but padding gets `smoothing / (vocab - 2)`. Many programs do "
    "that; it is another convention than the one asked for.",
    change="Spread `smoothing / vocab` over all tokens, the right one and padding included.",
)
class _WithoutRightAndPadding(_SmoothedSteps):
    def wanted(self, right: Tensor, smoothing: float, pad: int) -> Tensor:
        others = (1 - right) * (torch.arange(right.shape[-1]) != pad)
        return (1 - smoothing) * right + smoothing / (right.shape[-1] - 2) * others


@smoothed_cross_entropy.mistake(
    "the right token misses its part of the spread share",
    observed="The right token gets `1 - smoothing` and each other one `smoothing / vocab`: the "
    "shares sum to less than 1.",
    change="The right token gets `1 - smoothing + smoothing / vocab`.",
)
class _RightMissesItsPart(_SmoothedSteps):
    def wanted(self, right: Tensor, smoothing: float, pad: int) -> Tensor:
        return (1 - smoothing) * right + smoothing / right.shape[-1] * (1 - right)


@smoothed_cross_entropy.mistake(
    "`smoothing` and `1 - smoothing` are swapped",
    observed="With `smoothing=0` the right answer has no effect on the loss.",
    change="The right token gets the share `1 - smoothing`, which is the large one.",
)
class _SwappedShares(_SmoothedSteps):
    def wanted(self, right: Tensor, smoothing: float, pad: int) -> Tensor:
        return super().wanted(right, 1 - smoothing, pad)


@smoothed_cross_entropy.mistake(
    "there is no smoothing",
    observed="The result does not depend on `smoothing`.",
    change="Weigh the right token with `1 - smoothing` and the mean over all tokens with "
    "`smoothing`.",
)
class _NoSmoothing(_SmoothedSteps):
    def wanted(self, right: Tensor, smoothing: float, pad: int) -> Tensor:
        return right


@smoothed_cross_entropy.mistake(
    "the spread part is missing",
    observed="The target's shares sum to `1 - smoothing`, not to 1: the loss is only scaled.",
    change="Add `smoothing / vocab` to each token's share.",
)
class _NothingSpread(_SmoothedSteps):
    def wanted(self, right: Tensor, smoothing: float, pad: int) -> Tensor:
        return (1 - smoothing) * right


@smoothed_cross_entropy.mistake(
    "each token gets the whole of `smoothing`",
    observed="The target's shares sum to more than 1.",
    change="Divide `smoothing` by the number of tokens, or use the mean instead of the sum.",
)
class _SmoothingNotDivided(_SmoothedSteps):
    def wanted(self, right: Tensor, smoothing: float, pad: int) -> Tensor:
        return (1 - smoothing) * right + smoothing


@smoothed_cross_entropy.mistake(
    "padding counts like a word",
    observed="The loss changes when padding is appended.",
    change="Leave tokens with `targets == pad` out of sum and count.",
)
class _PaddingCounts(_SmoothedSteps):
    def mean(self, per_token: Tensor, real: Tensor) -> Tensor:
        return per_token.mean()


@smoothed_cross_entropy.mistake(
    "the sum leaves padding out, the count does not",
    observed="The loss gets smaller when padding is appended.",
    change="Divide by the number of real tokens.",
)
class _PaddingIsCounted(_SmoothedSteps):
    def mean(self, per_token: Tensor, real: Tensor) -> Tensor:
        return (per_token * real).mean()


@smoothed_cross_entropy.mistake(
    "it is a sum, not a mean",
    observed="Twice as many tokens of the same loss give twice the result.",
    change="Divide by the number of real tokens.",
)
class _SumOfTokens(_SmoothedSteps):
    def mean(self, per_token: Tensor, real: Tensor) -> Tensor:
        return (per_token * real).sum()


@smoothed_cross_entropy.mistake(
    "the mean runs over the vocabulary too",
    observed="The loss is `vocab` times too small.",
    change="Sum over the vocabulary, then take the mean over the tokens.",
)
class _MeanOverVocabulary(_SmoothedSteps):
    def per_token(self, wanted: Tensor, log_probabilities: Tensor) -> Tensor:
        return -(wanted * log_probabilities).mean(dim=-1)


@smoothed_cross_entropy.mistake(
    "the sign is missing",
    observed="The loss is negative, and training would make it more so.",
    change="A log-probability is negative or 0: put a minus before it.",
)
class _SignMissing(_SmoothedSteps):
    def per_token(self, wanted: Tensor, log_probabilities: Tensor) -> Tensor:
        return (wanted * log_probabilities).sum(dim=-1)


@smoothed_cross_entropy.mistake(
    "it is the Kullback-Leibler divergence",
    observed="The loss is smaller than wanted by the entropy of the smoothed target, a constant. "
    "The gradient is right, the number is not a cross-entropy.",
    change="Leave the target's own logarithm out: `-(wanted * log_probabilities).sum(dim=-1)`.",
)
class _Divergence(_SmoothedSteps):
    def per_token(self, wanted: Tensor, log_probabilities: Tensor) -> Tensor:
        return (torch.xlogy(wanted, wanted) - wanted * log_probabilities).sum(dim=-1)


@smoothed_cross_entropy.mistake(
    "probabilities stand where their logarithms are wanted",
    observed="The loss is negative and never below -1.",
    change="Use `log_softmax`, not `softmax`.",
)
class _NoLogarithm(_SmoothedSteps):
    def log_probabilities(self, logits: Tensor) -> Tensor:
        return logits.softmax(dim=-1)


@smoothed_cross_entropy.mistake(
    "the logits are used as they are",
    observed="Adding 100 to every logit changes the loss; it should not.",
    change="Turn the logits into log-probabilities first: `logits.log_softmax(dim=-1)`.",
)
class _NoSoftmax(_SmoothedSteps):
    def log_probabilities(self, logits: Tensor) -> Tensor:
        return logits


@smoothed_cross_entropy.mistake(
    "the softmax is taken twice",
    observed="Even a certain and right answer has a high loss: a softmax of probabilities is "
    "nearly uniform.",
    change="`log_softmax` takes logits: leave out the `softmax` before it.",
)
class _SoftmaxTwice(_SmoothedSteps):
    def log_probabilities(self, logits: Tensor) -> Tensor:
        return logits.softmax(dim=-1).log_softmax(dim=-1)


@smoothed_cross_entropy.mistake(
    "the softmax runs over the tokens",
    observed="The columns of the probabilities sum to 1; the rows should.",
    change="Use `dim=-1`, the vocabulary.",
)
class _SoftmaxOverTokens(_SmoothedSteps):
    def log_probabilities(self, logits: Tensor) -> Tensor:
        return logits.log_softmax(dim=0)


# --- noam ------------------------------------------------------------------------------------


@exercise(
    reference=schedule.noam,
    cases=[
        Case((1, 512, 4000)),
        Case((4000, 512, 4000)),
        Case((100_000, 512, 4000)),
        Case((7, 64, 20)),
        Case((50, 64, 20)),
    ],
    properties=[
        Property("the learning rate is positive", lambda value, case: value > 0),
    ],
    hints=[
        "There are two branches: one rises with the step, one falls with it. They meet where "
        "step = warmup, and the smaller of the two is taken.",
        "The rising branch is `step * warmup ** -1.5`, the falling one `step ** -0.5`.",
        "`d_model ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)`",
    ],
)
def noam(step: int, d_model: int, warmup: int) -> float:
    """Return the learning rate at a step, counted from 1."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


class _NoamSteps:
    """The schedule in steps, so that a mistake replaces one."""

    def width(self, d_model: int) -> float:
        return d_model**-0.5

    def rising(self, step: int, warmup: int) -> float:
        return step * warmup**-1.5

    def falling(self, step: int) -> float:
        return step**-0.5

    def choose(self, rising: float, falling: float) -> float:
        return min(rising, falling)

    def number(self, step: int) -> int:
        return step

    def join(self, width: float, rising: float, falling: float) -> float:
        return width * self.choose(rising, falling)

    def __call__(self, step: int, d_model: int, warmup: int) -> float:
        step = self.number(step)
        return self.join(self.width(d_model), self.rising(step, warmup), self.falling(step))


@noam.mistake(
    "the larger branch is taken",
    observed="Step 1 gives 0.044 at d_model=512: training would begin with its largest step.",
    change="Use `min` instead of `max`.",
)
class _LargerBranch(_NoamSteps):
    def choose(self, rising: float, falling: float) -> float:
        return max(rising, falling)


@noam.mistake(
    "there is no warm-up",
    observed="The rate falls from step 1 on.",
    change="Take the smaller of `step ** -0.5` and `step * warmup ** -1.5`.",
)
class _NoWarmup(_NoamSteps):
    def choose(self, rising: float, falling: float) -> float:
        return falling


@noam.mistake(
    "the rate never falls",
    observed="The rate keeps rising after the warm-up: there is no falling branch, or its exponent "
    "has lost its minus.",
    change="Take the smaller of `step ** -0.5` and `step * warmup ** -1.5`.",
)
class _OnlyWarmup(_NoamSteps):
    def choose(self, rising: float, falling: float) -> float:
        return rising


@noam.mistake(
    "the branches are added",
    observed="At step = warmup, where both branches are equal, the rate is twice as high.",
    change="Take the smaller of the two with `min`.",
)
class _AddedBranches(_NoamSteps):
    def choose(self, rising: float, falling: float) -> float:
        return rising + falling


@noam.mistake(
    "a wider model gets a larger step",
    observed="The rate is d_model times too high: the exponent of `d_model` lacks its minus.",
    change="Use `d_model ** -0.5`.",
)
class _WiderIsLarger(_NoamSteps):
    def width(self, d_model: int) -> float:
        return d_model**0.5


@noam.mistake(
    "it is divided by d_model instead of its root",
    observed="The rate is sqrt(d_model) times too low.",
    change="Use `d_model ** -0.5`.",
)
class _DividedByWidth(_NoamSteps):
    def width(self, d_model: int) -> float:
        return 1 / d_model


@noam.mistake(
    "the width of the model is missing",
    observed="The rate does not depend on `d_model`.",
    change="Multiply by `d_model ** -0.5`.",
)
class _WidthMissing(_NoamSteps):
    def width(self, d_model: int) -> float:
        return 1.0


@noam.mistake(
    "the warm-up has the wrong exponent",
    observed="The branches do not meet at step = warmup: the rising one uses `warmup ** -0.5`.",
    change="Use `step * warmup ** -1.5`, which equals `warmup ** -0.5` at step = warmup.",
)
class _WarmupExponent(_NoamSteps):
    def rising(self, step: int, warmup: int) -> float:
        return step * warmup**-0.5


@noam.mistake(
    "the warm-up is only a share",
    observed="The rising branch is `step / warmup`, which is 1 at the end of the warm-up, far "
    "above the falling branch.",
    change="Use `step * warmup ** -1.5`.",
)
class _WarmupShare(_NoamSteps):
    def rising(self, step: int, warmup: int) -> float:
        return step / warmup


@noam.mistake(
    "the rate falls as 1 / step",
    observed="After the warm-up the rate falls too fast: four times the steps give a quarter of "
    "it instead of a half.",
    change="Use `step ** -0.5`.",
)
class _FallsTooFast(_NoamSteps):
    def falling(self, step: int) -> float:
        return 1 / step


@noam.mistake(
    "the step is counted one too high",
    observed="Step 1 gives twice the rate that it should: it is treated as step 2.",
    change="Steps already count from 1: use `step` as it is.",
)
class _OneTooHigh(_NoamSteps):
    def number(self, step: int) -> int:
        return step + 1


@noam.mistake(
    "`d_model` counts in the falling branch only",
    observed="During the warm-up the rate does not depend on `d_model`.",
    change="Put the `min(...)` in brackets and multiply all of it by `d_model ** -0.5`.",
)
class _WidthInFallingOnly(_NoamSteps):
    def join(self, width: float, rising: float, falling: float) -> float:
        return self.choose(rising, width * falling)


@noam.mistake(
    "`d_model` counts in the rising branch only",
    observed="After the warm-up the rate does not depend on `d_model`.",
    change="Put the `min(...)` in brackets and multiply all of it by `d_model ** -0.5`.",
)
class _WidthInRisingOnly(_NoamSteps):
    def join(self, width: float, rising: float, falling: float) -> float:
        return self.choose(width * rising, falling)


# --- training step ---------------------------------------------------------------------------


class _SmallNetwork(nn.Module):
    """A stand-in for the Transformer: scores from the token just read and the source's mean."""

    def __init__(self) -> None:
        super().__init__()
        self.source = nn.Embedding(8, 4)
        self.target = nn.Embedding(8, 4)
        self.output = nn.Linear(4, 8)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.output(self.target(target) + self.source(source).mean(dim=1, keepdim=True))


def _two_steps(code: Callable, source: Tensor, target_in: Tensor, target_out: Tensor) -> dict:
    """Train a small model by two steps; return both losses and the sum of each parameter."""
    torch.manual_seed(0)
    network = _SmallNetwork().double()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.5)
    losses = [code(network, optimizer, source, target_in, target_out, 0) for _ in range(2)]
    with torch.no_grad():
        weights = [
            (p * torch.arange(p.numel()).view_as(p).cos()).sum() for p in network.parameters()
        ]
    return {"losses": losses, "weights": torch.stack(weights)}


def _training_step(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    source: Tensor,
    target_in: Tensor,
    target_out: Tensor,
    pad: int,
) -> float:
    return _TrainingSteps()(network, optimizer, source, target_in, target_out, pad)


class _TrainingSteps:
    """One update of the weights in steps, so that a mistake replaces one."""

    def reads(self, target_in: Tensor, target_out: Tensor) -> Tensor:
        return target_in

    def predicts(self, target_in: Tensor, target_out: Tensor) -> Tensor:
        return target_out

    def scores(self, logits: Tensor) -> Tensor:
        return logits

    def loss(self, scores: Tensor, targets: Tensor, pad: int) -> Tensor:
        return nn.functional.cross_entropy(
            scores.flatten(0, 1), targets.flatten(), ignore_index=pad
        )

    def update(self, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def __call__(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        source: Tensor,
        target_in: Tensor,
        target_out: Tensor,
        pad: int,
    ) -> float:
        logits = network(source, self.reads(target_in, target_out))
        loss = self.loss(self.scores(logits), self.predicts(target_in, target_out), pad)
        self.update(optimizer, loss)
        return loss.item()


@exercise(
    reference=_training_step,
    cases=[
        Case(
            (
                torch.tensor([[4, 5, 6, 2], [5, 2, 0, 0]]),
                torch.tensor([[1, 6, 7, 5], [1, 4, 0, 0]]),
                torch.tensor([[6, 7, 5, 2], [4, 2, 0, 0]]),
            ),
            observe=_two_steps,
            looks_at="the losses of two steps on one batch, and the weights after them",
        ),
        Case(
            (
                torch.tensor([[4, 3, 2]]),
                torch.tensor([[1, 6]]),
                torch.tensor([[6, 2]]),
            ),
            observe=_two_steps,
            looks_at="the same on a batch without padding",
        ),
    ],
    hints=[
        "Ask of each line: what goes in, and what comes out? Which of the two targets may the "
        "decoder read, and which must it predict?",
        "Which tokens should the loss leave out? And what does `backward()` do with gradients "
        "that are already there?",
        "The decoder reads `target_in` and predicts `target_out`; `ignore_index=pad` leaves "
        "padding out; `zero_grad()` comes before `backward()`, and `step()` after it.",
    ],
)
def training_step(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    source: Tensor,
    target_in: Tensor,
    target_out: Tensor,
    pad: int,
) -> float:
    """Update the weights once on a batch; return its loss per real token as a number."""
    logits = network(source, target_in)
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), target_out, ignore_index=pad)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@training_step.mistake(
    "the decoder reads what it must predict",
    observed="`target_out` goes into the model and is compared with what comes out: each answer "
    "stands in front of the question, so the loss says nothing.",
    change="Feed `target_in`.",
)
class _ReadsAnswer(_TrainingSteps):
    def reads(self, target_in: Tensor, target_out: Tensor) -> Tensor:
        return target_out


@training_step.mistake(
    "the model is taught to repeat its input",
    observed="The loss compares with `target_in`, which the decoder has just read.",
    change="Compare with `target_out`, which is one token ahead.",
)
class _PredictsInput(_TrainingSteps):
    def predicts(self, target_in: Tensor, target_out: Tensor) -> Tensor:
        return target_in


@training_step.mistake(
    "padding counts like a word",
    observed="The loss changes with the amount of padding: predicting padding is rewarded.",
    change="Give `ignore_index=pad` to `cross_entropy`.",
)
class _PaddingInLoss(_TrainingSteps):
    def loss(self, scores: Tensor, targets: Tensor, pad: int) -> Tensor:
        return nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())


@training_step.mistake(
    "the loss is a sum, not a mean",
    observed="The loss, and with it the step, grows with the number of tokens in the batch.",
    change="Use the mean over the real tokens, which is what `cross_entropy` does by itself.",
)
class _SummedLoss(_TrainingSteps):
    def loss(self, scores: Tensor, targets: Tensor, pad: int) -> Tensor:
        return nn.functional.cross_entropy(
            scores.flatten(0, 1), targets.flatten(), ignore_index=pad, reduction="sum"
        )


@training_step.mistake(
    "the softmax is taken twice",
    observed="The loss starts near ln(vocab) and cannot fall to 0: `cross_entropy` takes a "
    "softmax itself.",
    change="Give the logits to `cross_entropy`.",
)
class _SoftmaxBeforeLoss(_TrainingSteps):
    def scores(self, logits: Tensor) -> Tensor:
        return logits.softmax(dim=-1)


@training_step.mistake(
    "old gradients are never cleared",
    observed="The first step is right, the second uses the sum of both gradients.",
    change="Call `optimizer.zero_grad()` before `loss.backward()`.",
)
class _GradientsPileUp(_TrainingSteps):
    def update(self, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
        loss.backward()
        optimizer.step()


@training_step.mistake(
    "the weights never change",
    observed="The weights after two steps are those from the beginning: a step without fresh "
    "gradients, or no step at all.",
    change="In this order: `optimizer.zero_grad()`, `loss.backward()`, `optimizer.step()`.",
)
class _NothingMoves(_TrainingSteps):
    def update(self, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()


@training_step.mistake(
    "the step comes before the gradient",
    observed="The first call moves nothing and the second one uses the first one's gradient: "
    "each step is one batch late.",
    change="Call `loss.backward()` before `optimizer.step()`.",
)
class _StepTooEarly(_TrainingSteps):
    def update(self, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
        optimizer.step()
        optimizer.zero_grad()
        loss.backward()


@training_step.mistake(
    "the labels are smoothed",
    observed="The loss is higher than wanted: it has a floor.",
    change="Leave `label_smoothing` out; here the plain loss is asked for.",
)
class _Smoothed(_TrainingSteps):
    def loss(self, scores: Tensor, targets: Tensor, pad: int) -> Tensor:
        return nn.functional.cross_entropy(
            scores.flatten(0, 1), targets.flatten(), ignore_index=pad, label_smoothing=0.1
        )


@training_step.mistake(
    "it is the broken step, with all its bugs",
    observed="The results are those of `broken_training_step`.",
    change="Look at its first, second and third line: what may the decoder read, which tokens "
    "count, and what happens to the gradients of the step before?",
)
class _AllBugs(_TrainingSteps):
    reads = _ReadsAnswer.reads
    loss = _PaddingInLoss.loss
    update = _GradientsPileUp.update
