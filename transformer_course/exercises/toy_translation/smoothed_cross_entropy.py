"""Cross-entropy against smoothed targets."""

import torch
from torch import Tensor, nn

from transformer_course.checker.cases import Case, Property, gradients
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.exercises.start_here.softmax import softmax
from transformer_course.translation.training import loss


def _logits(tokens: int, vocab: int) -> Tensor:
    grid = torch.arange(tokens * vocab, dtype=torch.float32).reshape(tokens, vocab)
    return 3 * torch.sin(2.7 * grid)


@exercise(
    reference=loss.smoothed_cross_entropy,
    cases=[
        Case((_logits(1, 4), torch.tensor([2]), 0.1, 0)),
        Case((_logits(5, 7), torch.tensor([3, 1, 6, 0, 0]), 0.1, 0)),
        Case((_logits(6, 5), torch.tensor([0, 4, 4, 1, 0, 2]), 0.3, 4)),
        Case((_logits(3, 6) + 100, torch.tensor([5, 1, 1]), 0.0, 0)),
        # A model so sure of itself that most of its probabilities are 0 in float32.
        Case((60 * _logits(3, 5), torch.tensor([2, 1, 4]), 0.1, 0)),
        Case(
            (_logits(3, 4), torch.tensor([2, 1, 0]), 0.1, 0),
            observe=gradients,
            looks_at="the gradients of the logits",
        ),
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
        "then `own.masked_mean(per_token, targets != pad)`.",
    ],
)
def smoothed_cross_entropy(logits: Tensor, targets: Tensor, smoothing: float, pad: int) -> Tensor:
    """Return the mean loss per real token, a tensor without axes."""
    vocab = logits.shape[-1]
    right = nn.functional.one_hot(targets, vocab)
    wanted = (1 - smoothing) * right + smoothing / vocab
    log_probabilities = logits.log_softmax(dim=-1)
    per_token = -(wanted * log_probabilities).sum(dim=-1)
    return own.masked_mean(per_token, targets != pad)


smoothed_cross_entropy.mistake(
    "the smoothing is shared among the wrong tokens only",
    edits=[("/ vocab", "/ (vocab - 1) * (1 - right)")],
    observed="The right token gets exactly `1 - smoothing`: every other one gets `smoothing / "
    "(vocab - 1)`. That is a different convention from the one asked for.",
    change="Spread `smoothing / vocab` over all tokens, the right one included.",
)
smoothed_cross_entropy.mistake(
    "the smoothing is shared among the wrong tokens without padding",
    edits=[("/ vocab", "/ (vocab - 2) * (1 - right) * (torch.arange(vocab) != pad)")],
    observed="Each wrong token but padding gets `smoothing / (vocab - 2)`. Many programs do that; "
    "it is a different convention from the one asked for.",
    change="Spread `smoothing / vocab` over all tokens, the right one and padding included.",
)
smoothed_cross_entropy.mistake(
    "the right token misses its part of the spread share",
    edits=[("/ vocab", "/ vocab * (1 - right)")],
    observed="The right token gets `1 - smoothing` and each other one `smoothing / vocab`: the "
    "shares sum to less than 1.",
    change="The right token gets `1 - smoothing + smoothing / vocab`.",
)
smoothed_cross_entropy.mistake(
    "the right token keeps the whole of its share",
    edits=[("(1 - smoothing) * right", "right")],
    observed="The right token gets `1 + smoothing / vocab`: the shares sum to more than 1.",
    change="Weigh the right token with `1 - smoothing`.",
)
smoothed_cross_entropy.mistake(
    "the spread share is divided by `vocab - 1`",
    edits=[("/ vocab", "/ (vocab - 1)")],
    observed="All tokens get `smoothing / (vocab - 1)`, the right one included: the shares sum to "
    "more than 1.",
    change="Divide by `vocab`, which is `logits.shape[-1]`.",
)
smoothed_cross_entropy.mistake(
    "the spread share is divided by the number of tokens",
    edits=[("/ vocab", "/ len(targets)")],
    observed="Each word of the vocabulary gets `smoothing / len(targets)`, so the loss depends on "
    "how many rows there are.",
    change="Divide by the number of words, `logits.shape[-1]`.",
)
smoothed_cross_entropy.mistake(
    "padding gets no part of the spread share",
    edits=[("/ vocab", "/ vocab * (torch.arange(vocab) != pad)")],
    observed="Every word but padding gets `smoothing / vocab`: the shares sum to less than 1.",
    change="Spread `smoothing / vocab` over all words, padding included.",
)
smoothed_cross_entropy.mistake(
    "the smoothing is shared among all tokens but padding",
    edits=[("/ vocab", "/ (vocab - 1) * (torch.arange(vocab) != pad)")],
    observed="Each word but padding gets `smoothing / (vocab - 1)`. That is a different convention "
    "from the one asked for.",
    change="Spread `smoothing / vocab` over all words, padding included.",
)
smoothed_cross_entropy.mistake(
    "`smoothing` and `1 - smoothing` are swapped",
    edits=[("(1 - smoothing) * right", "smoothing * right"), ("+ smoothing", "+ (1 - smoothing)")],
    observed="With `smoothing=0` the right answer has no effect on the loss.",
    change="The right token gets the share `1 - smoothing`, which is the large one.",
)
smoothed_cross_entropy.mistake(
    "the logarithm has base 2",
    edits=[("logits.log_softmax(dim=-1)", "logits.softmax(dim=-1).log2()")],
    observed="The loss is 1 / ln 2 = 1.44 times as large as wanted: bits, not nats.",
    change="Use the natural logarithm, `log_softmax` or `torch.log`.",
)
smoothed_cross_entropy.mistake(
    "it is a sum, not a mean",
    edits=[("targets != pad)", "targets != pad) * (targets != pad).sum()")],
    observed="Twice as many tokens of the same loss give twice the result.",
    change="Divide by the number of real tokens.",
)
smoothed_cross_entropy.mistake(
    "there is no smoothing",
    edits=[("(1 - smoothing) * right + smoothing / vocab", "right")],
    observed="The result does not depend on `smoothing`.",
    change="Weigh the right token with `1 - smoothing` and the mean over all tokens with "
    "`smoothing`.",
)
smoothed_cross_entropy.mistake(
    "the spread part is missing",
    edits=[(" + smoothing / vocab", "")],
    observed="The target's shares sum to `1 - smoothing`, not to 1: the loss is only scaled.",
    change="Add `smoothing / vocab` to each token's share.",
)
smoothed_cross_entropy.mistake(
    "each token gets the whole of `smoothing`",
    edits=[("smoothing / vocab", "smoothing")],
    observed="The target's shares sum to more than 1.",
    change="Divide `smoothing` by the number of tokens, or use the mean instead of the sum.",
)
smoothed_cross_entropy.mistake(
    "padding counts like a word",
    edits=[("own.masked_mean(per_token, targets != pad)", "per_token.mean()")],
    observed="The loss changes when padding is appended.",
    change="Leave tokens with `targets == pad` out of sum and count.",
)
smoothed_cross_entropy.mistake(
    "0 is left out instead of `pad`",
    edits=[("targets != pad", "targets != 0")],
    observed="With `pad=4` tokens of id 4 still count, and those of id 0 do not.",
    change="Use the argument `pad`.",
)
smoothed_cross_entropy.mistake(
    "the spread part counts padding like a word",
    edits=[
        (" + smoothing / vocab", ""),
        ("targets != pad)", "targets != pad) - smoothing * log_probabilities.mean()"),
    ],
    observed="The part of the right word leaves padding out, the mean over all words does not.",
    change="Add both parts for each token first, then take one mean over the real tokens.",
)
smoothed_cross_entropy.mistake(
    "the sum leaves padding out, the count does not",
    edits=[("targets != pad)", "targets != pad) * (targets != pad).float().mean()")],
    observed="The loss gets smaller when padding is appended.",
    change="Divide by the number of real tokens.",
)
smoothed_cross_entropy.mistake(
    "the mean runs over the vocabulary too",
    edits=[("sum(dim=-1)", "mean(dim=-1)")],
    observed="The loss is `vocab` times too small.",
    change="Sum over the vocabulary, then take the mean over the tokens.",
)
smoothed_cross_entropy.mistake(
    "the spread part has the wrong sign",
    edits=[("+ smoothing / vocab", "- smoothing / vocab")],
    observed="The share of every word is lowered by `smoothing / vocab`; it should be raised.",
    change="Both parts are minus a log-probability: `-(1 - smoothing) * right - smoothing * mean`.",
)
smoothed_cross_entropy.mistake(
    "the logarithm is taken of the mixed probabilities",
    edits=[
        (
            "(wanted * log_probabilities).sum(dim=-1)",
            "(wanted * log_probabilities.exp()).sum(dim=-1).log()",
        )
    ],
    observed="You weigh the probabilities, add them up and take one logarithm. Formula (2) takes "
    "the logarithm of each first.",
    change="Take the logarithm first, `logits.log_softmax(dim=-1)`, then weigh and add up.",
)
smoothed_cross_entropy.mistake(
    "the logarithm is that of a probability of 0",
    edits=[("logits.log_softmax(dim=-1)", "logits.softmax(dim=-1).log()")],
    observed="Where one logit is 300 above another, the loss is infinite: in float32 the softmax "
    "of the lower one is 0.",
    change="Use `logits.log_softmax(dim=-1)`, which takes the logarithm before anything becomes 0.",
)
smoothed_cross_entropy.mistake(
    "the sign is missing",
    edits=[("-(wanted", "(wanted")],
    observed="The loss is negative, and training would make it more so.",
    change="A log-probability is negative or 0: put a minus before it.",
)
smoothed_cross_entropy.mistake(
    "it is the Kullback-Leibler divergence",
    edits=[("-(wanted", "(torch.xlogy(wanted, wanted) - wanted")],
    observed="The loss is smaller than wanted by the entropy of the smoothed target, a constant. "
    "The gradient is right, the number is not a cross-entropy.",
    change="Leave the target's own logarithm out: `-(wanted * log_probabilities).sum(dim=-1)`.",
)
smoothed_cross_entropy.mistake(
    "probabilities are used where their logarithms are wanted",
    edits=[("log_softmax", "softmax")],
    observed="The loss is negative and never below -1.",
    change="Use `log_softmax`, not `softmax`.",
)
smoothed_cross_entropy.mistake(
    "the logits are used as they are",
    edits=[("logits.log_softmax(dim=-1)", "logits")],
    observed="Adding 100 to every logit changes the loss; it should not.",
    change="Turn the logits into log-probabilities first: `logits.log_softmax(dim=-1)`.",
)
smoothed_cross_entropy.mistake(
    "the softmax is taken twice",
    edits=[("logits.log_softmax", "logits.softmax(dim=-1).log_softmax")],
    observed="Even a certain and right answer has a high loss: a softmax of probabilities is "
    "nearly uniform.",
    change="`log_softmax` takes logits: leave out the `softmax` before it.",
)
smoothed_cross_entropy.mistake(
    "the softmax runs over the tokens",
    edits=[("log_softmax(dim=-1)", "log_softmax(dim=0)")],
    observed="The columns of the probabilities sum to 1; the rows should.",
    change="Use `dim=-1`, the vocabulary.",
)
for _which, _result in {
    "token": "per_token * (targets != pad)",
    "real token": "per_token[targets != pad]",
}.items():
    smoothed_cross_entropy.mistake(
        f"each {_which} gets a loss of its own",
        edits=[("own.masked_mean(per_token, targets != pad)", _result)],
        observed="The result has an axis; one number for all tokens is wanted.",
        change="Take the mean over the real tokens: `own.masked_mean(per_token, targets != pad)`.",
    )


def _plain_number(logits: Tensor, targets: Tensor, smoothing: float, pad: int) -> float:
    return loss.smoothed_cross_entropy(logits, targets, smoothing, pad).item()


smoothed_cross_entropy.mistake(
    "the result is a plain number",
    body=_plain_number,
    observed="It is a Python number, which has no gradient: nothing can be trained with it.",
    change="Return a tensor: leave out `.item()` and `float(...)`.",
)
smoothed_cross_entropy.shares(
    softmax, "no gradient passes", edits=[("targets != pad)", "targets != pad).detach()")]
)


def _integers(logits: Tensor, targets: Tensor, smoothing: float, pad: int) -> Tensor:
    wanted = nn.functional.one_hot(targets, logits.shape[-1])
    wanted *= 1 - smoothing
    return own.masked_mean(-(wanted * logits.log_softmax(dim=-1)).sum(dim=-1), targets != pad)


smoothed_cross_entropy.mistake(
    "the wanted probabilities are integers",
    body=_integers,
    observed="`one_hot` gives integers, and a tensor of integers cannot hold a fraction: torch "
    "refuses to write it there.",
    change="Turn them into floating-point numbers first: `one_hot(...).float()`.",
)
smoothed_cross_entropy.mistake(
    "the spread share is divided by `vocab - 2`",
    edits=[("/ vocab", "/ (vocab - 2)")],
    observed="The shares of a token sum to more than 1. Programs that divide by `vocab - 2` give "
    "no share to the right token and to padding.",
    change="Divide by `vocab`: every token gets a share, the right one and padding too.",
)
# What the mean of nothing is depends on who wrote `own.masked_mean`.
for _nothing, _result in {
    "": "own.masked_mean(per_token, targets == pad)",
    ", and 0 / 0 without any": "per_token[targets == pad].mean()",
}.items():
    smoothed_cross_entropy.mistake(
        f"only padding counts{_nothing}",
        edits=[("own.masked_mean(per_token, targets != pad)", _result)],
        observed="The mean is that of the padding, and the words have no influence.",
        change="True means a real token to `own.masked_mean`: `targets != pad`.",
    )
for _small in ("1e-8", "1e-9", "1e-12"):
    smoothed_cross_entropy.mistake(
        f"{_small} is added before the logarithm",
        edits=[("logits.log_softmax(dim=-1)", f"(logits.softmax(dim=-1) + {_small}).log()")],
        observed="Where one logit is 300 below another, its probability is 0 in float32, and you "
        f"take the logarithm of {_small} instead of -300.",
        change="Use `logits.log_softmax(dim=-1)`, which needs no such help.",
    )
