"""Temperature, top-k and nucleus: the probabilities to draw the next token from."""

import math

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.translation import decoding

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
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None) -> Tensor:
    """Return the probabilities [B, V] to draw the next token from; None switches a filter off."""
    logits = logits / temperature
    if top_k is not None:
        smallest_kept = logits.topk(top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < smallest_kept, -math.inf)
    probabilities = logits.softmax(dim=-1)
    if top_p is not None:
        ordered, places = probabilities.sort(dim=-1, descending=True)
        sum_before = ordered.cumsum(dim=-1) - ordered
        ordered = ordered * (sum_before < top_p)
        probabilities = torch.zeros_like(ordered).scatter(-1, places, ordered)
    return probabilities / probabilities.sum(dim=-1, keepdim=True)


next_token_probabilities.mistake(
    "the logits are multiplied by the temperature",
    edits=[("logits / temperature", "logits * temperature")],
    observed="At temperature 1 nothing shows. Below 1 your probabilities come closer together; the "
    "best token should gain instead.",
    change="Divide: `logits / temperature`.",
)
next_token_probabilities.mistake(
    "the temperature is not used",
    edits=[("logits / temperature", "logits")],
    observed="Temperature 0.5 and temperature 1 give the same probabilities. That also happens if "
    "you divide after the softmax and then renormalise.",
    change="Divide the logits by the temperature, before the softmax.",
)
next_token_probabilities.mistake(
    "the temperature comes last",
    edits=[
        ("logits / temperature", "logits"),
        (
            "    return probabilities",
            "    probabilities = probabilities ** (1 / temperature)\n    return probabilities",
        ),
    ],
    observed="Each filter is right on its own, but at temperature 2 your nucleus is the one of "
    "temperature 1: flatter probabilities need more tokens to reach the same sum.",
    change="Divide the logits by the temperature before anything else.",
)
next_token_probabilities.mistake(
    "the probabilities are divided by the temperature",
    edits=[
        ("logits / temperature", "logits"),
        ("logits.softmax(dim=-1)", "logits.softmax(dim=-1) / temperature"),
        ("probabilities / probabilities.sum(dim=-1, keepdim=True)", "probabilities"),
    ],
    observed="At temperature 0.5 the rows sum to 2: you divide after the softmax, which changes "
    "the sum and not the proportions.",
    change="Divide the logits by the temperature, before the softmax.",
)
next_token_probabilities.mistake(
    "what the nucleus leaves is not renormalised",
    edits=[("probabilities / probabilities.sum(dim=-1, keepdim=True)", "probabilities")],
    observed="Wherever the nucleus leaves a token out, your row sums to less than 1.",
    change="Divide by the sum of what is left: `p / p.sum(dim=-1, keepdim=True)`.",
)
next_token_probabilities.mistake(
    "the softmax is taken again over the probabilities",
    edits=[
        ("probabilities / probabilities.sum(dim=-1, keepdim=True)", "probabilities.softmax(dim=-1)")
    ],
    observed="The rows sum to 1, but excluded tokens come back, and the rest is nearly equal.",
    change="Renormalise by dividing by the sum; a softmax takes logits.",
)
next_token_probabilities.mistake(
    "excluded tokens get logit 0, not minus infinity",
    edits=[("-math.inf", "0.0")],
    observed="Tokens beyond the `top_k` best have probability left: a logit of 0 is a large one "
    "where the others are negative.",
    change="Fill with `-math.inf`, which the softmax turns into exactly 0.",
)
next_token_probabilities.mistake(
    "top-k keeps one token too few",
    edits=[("logits < smallest_kept", "logits <= smallest_kept")],
    observed="With `top_k=2` one token is left: the smallest of those to keep is excluded too.",
    change="Exclude what is smaller than the k-th largest logit, with `<`, not `<=`.",
)
next_token_probabilities.mistake(
    "top-k keeps one token too many",
    edits=[("topk(top_k,", "topk(top_k + 1,")],
    observed="With `top_k=2` three tokens are left.",
    change="The k-th largest is at place k - 1: `logits.topk(top_k, dim=-1).values[:, -1:]`.",
)
next_token_probabilities.mistake(
    "top-k keeps the least probable tokens",
    edits=[
        ("topk(top_k, dim=-1)", "topk(top_k, dim=-1, largest=False)"),
        ("logits < smallest_kept", "logits > smallest_kept"),
    ],
    observed="With `top_k=2` the two smallest probabilities are left.",
    change="Keep the largest: `topk` finds them, and `sort` needs `descending=True`.",
)
next_token_probabilities.mistake(
    "top-k is shared by the whole batch",
    edits=[
        (
            "logits.topk(top_k, dim=-1).values[:, -1:]",
            "logits.flatten().topk(top_k * len(logits)).values[-1]",
        )
    ],
    observed="One threshold for all rows: some rows keep more tokens than others, and what is "
    "drawn for one sentence depends on its neighbours.",
    change="Use `dim=-1`, so that each row has its own k-th largest logit.",
)
next_token_probabilities.mistake(
    "the first row's k-th largest logit counts for all rows",
    edits=[(".values[:, -1:]", ".values[0, -1]")],
    observed="The first row is right. The others keep what is above the first one's threshold, "
    "which may be more or fewer than `top_k` tokens.",
    change="Keep a threshold for each row: `.values[:, -1:]`.",
)
next_token_probabilities.mistake(
    "the lowest of all rows' limits counts for all rows",
    edits=[(".values[:, -1:]", ".values.min()")],
    observed="One threshold for all rows, that of the row with the lowest one: the others keep "
    "more than `top_k` tokens.",
    change="Keep a threshold for each row: `.values[:, -1:]`.",
)
next_token_probabilities.mistake(
    "the k-th largest logits have lost their axis",
    edits=[(".values[:, -1:]", ".values[:, -1]")],
    observed="`values[:, -1]` has shape (batch), and is laid along the words: it does not fit, or "
    "each word gets the threshold of another row.",
    change="Keep the axis: `.values[:, -1:]`.",
)
next_token_probabilities.mistake(
    "the nucleus stays below `top_p`",
    edits=[("ordered.cumsum(dim=-1) - ordered", "ordered.cumsum(dim=-1)")],
    observed="With `top_p=0.7` only tokens that sum to less than 0.7 are left; with 0.2 none at "
    "all, and 0 / 0 is NaN. The token that crosses `top_p` belongs to the nucleus.",
    change="Judge by the sum before each token: `ordered.cumsum(dim=-1) - ordered`.",
)
next_token_probabilities.mistake(
    "the nucleus stays below `top_p`, but for the best token",
    edits=[
        (
            "ordered.cumsum(dim=-1) - ordered",
            "ordered.cumsum(dim=-1)\n        sum_before[:, 0] = 0.0",
        )
    ],
    observed="The best token is saved, and no other one that crosses `top_p`: with `top_p=0.7` "
    "your tokens sum to less than 0.7.",
    change="Judge each token by the sum before it: `ordered.cumsum(dim=-1) - ordered`.",
)
next_token_probabilities.mistake(
    "the nucleus has one token too many",
    edits=[("cumsum(dim=-1) - ordered", "cumsum(dim=-1) - ordered - ordered.roll(1, dims=-1)")],
    observed="With `top_p=0.2` a best token of probability 0.5 is enough; you keep the second one "
    "too.",
    change="Keep a token while the sum of those before it is below `top_p`.",
)
next_token_probabilities.mistake(
    "the nucleus is gathered from the least probable end",
    edits=[("sort(dim=-1, descending=True)", "sort(dim=-1)")],
    observed="The best token is lost: your sum begins with the smallest probabilities.",
    change="Sort with `descending=True`.",
)
next_token_probabilities.mistake(
    "the nucleus is not put back in place",
    edits=[("torch.zeros_like(ordered).scatter(-1, places, ordered)", "ordered")],
    observed="The probabilities come out in falling order: the first token of the vocabulary gets "
    "that of the best one.",
    change="Put them back: `torch.zeros_like(ordered).scatter(-1, places, ordered)`.",
)
next_token_probabilities.mistake(
    "the nucleus is put back by the wrong operation",
    edits=[
        ("torch.zeros_like(ordered).scatter(-1, places, ordered)", "ordered.gather(-1, places)")
    ],
    observed="The probabilities are right, their places are not: `gather` takes from the places "
    "that `sort` returned, which goes the same way a second time.",
    change="Use `scatter`, which writes to these places, or `gather` with `places.argsort(-1)`.",
)
next_token_probabilities.mistake(
    "the marks of the sorted tokens are used on the unsorted ones",
    edits=[
        ("ordered * (", "probabilities * ("),
        ("torch.zeros_like(ordered).scatter(-1, places, ordered)", "ordered"),
    ],
    observed="The first tokens of the vocabulary stay and the last ones go, however probable they "
    "are: your mask is in sorted order, the probabilities are not.",
    change="Mask the sorted probabilities, then put them back with `scatter`.",
)
next_token_probabilities.mistake(
    "`top_p` is compared with single probabilities",
    edits=[("sum_before < top_p", "ordered >= top_p")],
    observed="With `top_p=0.2` each token above 0.2 stays; that is a threshold, not a nucleus.",
    change="Sort, sum up with `cumsum`, and compare the sums with `top_p`.",
)
next_token_probabilities.mistake(
    "the nucleus is measured before top-k has taken effect",
    edits=[
        ("logits / temperature", "logits / temperature\n    full = logits.softmax(dim=-1)"),
        ("= probabilities.sort", "= full.sort"),
        ("ordered = ordered * (", "ordered = probabilities.gather(-1, places) * ("),
    ],
    observed="Each filter is right alone. With both, your nucleus sums up probabilities of the "
    "whole vocabulary, and so needs more tokens to reach `top_p`.",
    change="Do top-k first, renormalise, and take the nucleus of what is left.",
)
next_token_probabilities.mistake(
    "with `top_k` the nucleus is skipped",
    edits=[("if top_p is not None", "if top_p is not None and top_k is None")],
    observed="Each filter is right alone. With both, only top-k acts.",
    change="Use two `if`s: the second filter is not an `elif` or `else` of the first.",
)
next_token_probabilities.mistake(
    "with `top_p` top-k is skipped",
    edits=[("if top_k is not None", "if top_k is not None and top_p is None")],
    observed="Each filter is right alone. With both, only the nucleus acts.",
    change="Use two `if`s: the second filter is not an `elif` or `else` of the first.",
)
next_token_probabilities.mistake(
    "the softmax runs over the sentences",
    edits=[
        ("logits.softmax(dim=-1)", "logits.softmax(dim=0)"),
        ("probabilities / probabilities.sum(dim=-1, keepdim=True)", "probabilities"),
    ],
    observed="The columns sum to 1; the rows should.",
    change="Use `dim=-1`, the vocabulary.",
)

# Rarer ones

next_token_probabilities.mistake(
    "the probabilities are sorted, and never put back in place",
    edits=[("logits / temperature", "(logits / temperature).sort(dim=-1, descending=True).values")],
    observed="Even without filters the probabilities come out in falling order: the first token of "
    "the vocabulary gets that of the best one.",
    change="Put them back, with `scatter` and the places that `sort` returned.",
)
next_token_probabilities.mistake(
    "sorted probabilities are put back by the wrong operation",
    edits=[
        (
            "logits = logits / temperature",
            "logits, order = (logits / temperature).sort(dim=-1, descending=True)",
        ),
        ("return probabilities", "return (probabilities"),
        ("keepdim=True)", "keepdim=True)).gather(-1, order)"),
    ],
    observed="Even without filters the probabilities are right and their places are not: `gather` "
    "takes from the places that `sort` returned, which goes the same way a second time.",
    change="Use `scatter`, which writes to these places, or `gather` with `order.argsort(-1)`.",
)
next_token_probabilities.mistake(
    "the best token is lost where it alone exceeds `top_p`",
    edits=[
        (
            "cumsum(dim=-1) - ordered",
            "cumsum(dim=-1) - ordered\n        sum_before[:, 0] = ordered[:, 0]",
        )
    ],
    observed="With `top_p=0.2` and a best token of probability 0.5 nothing is left. All marks were "
    "moved by one place, but the first one was not cleared.",
    change="The best token always stays: set the first mark to keep it.",
)
next_token_probabilities.mistake(
    "`top_p` is compared with shares of the best token's probability",
    edits=[("sum_before < top_p", "ordered >= top_p * ordered[:, :1]")],
    observed="With `top_p=0.2` each token stays that has a fifth of the best one's probability. "
    "That filter exists too, under the name min-p; a nucleus looks at sums.",
    change="Sort, sum up with `cumsum`, and compare the sums with `top_p`.",
)
next_token_probabilities.mistake(
    "what top-k leaves is not renormalised",
    edits=[
        ("logits / temperature", "logits / temperature\n    logits = logits.log_softmax(dim=-1)"),
        ("logits.softmax(dim=-1)", "logits.exp()"),
        (
            "scatter(-1, places, ordered)\n    return probabilities / probabilities.sum(dim=-1,",
            "scatter(-1, places, ordered)\n        probabilities = probabilities / "
            "probabilities.sum(dim=-1, keepdim=True)\n    return probabilities / "
            "probabilities.sum(dim=-1,",
        ),
        (" keepdim=True)", " keepdim=True) ** (top_p is not None)"),
    ],
    observed="With `top_k` alone the rows sum to less than 1. With a nucleus as well, its sums are "
    "those of the whole vocabulary, and it needs more tokens to reach `top_p`.",
    change="Divide by the sum of what is left after top-k too, before the nucleus.",
)
next_token_probabilities.mistake(
    "nothing is renormalised",
    edits=[
        ("logits / temperature", "logits / temperature\n    logits = logits.log_softmax(dim=-1)"),
        ("logits.softmax(dim=-1)", "logits.exp()"),
        ("probabilities / probabilities.sum(dim=-1, keepdim=True)", "probabilities"),
    ],
    observed="With either filter the rows sum to less than 1, and with both the nucleus sums up "
    "probabilities of the whole vocabulary.",
    change="Divide by the sum of what is left, after top-k and again after the nucleus.",
)
next_token_probabilities.mistake(
    "words are taken for rows when the nucleus is cut",
    edits=[
        (
            "ordered = ordered * (sum_before < top_p)\n"
            "        probabilities = torch.zeros_like(ordered).scatter(-1, places, ordered)",
            "probabilities[places[sum_before >= top_p]] = 0.0",
        )
    ],
    observed="`places[...]` is a list of words; as the first index of a tensor with a row for each "
    "sentence it picks rows. That works for one row without a batch.",
    change="Put the marks in place row by row: `scatter(-1, places, marks)`.",
)
next_token_probabilities.mistake(
    "log-probabilities come back",
    edits=[
        ("return probabilities", "return (probabilities"),
        ("keepdim=True)", "keepdim=True)).log()"),
    ],
    observed="No number is above 0, and the exponentials of a row sum to 1.",
    change="Return the probabilities, without a logarithm.",
)
next_token_probabilities.mistake(
    "the filtered logits come back",
    edits=[
        (
            "probabilities / probabilities.sum(dim=-1, keepdim=True)",
            "logits.masked_fill(probabilities == 0, -math.inf)",
        )
    ],
    observed="What is left out is minus infinity, rightly, and what is left are logits: the "
    "softmax is missing at the end.",
    change="Return probabilities that sum to 1: take the softmax of what is left.",
)
next_token_probabilities.mistake(
    "what the nucleus leaves is divided by the sum over the whole batch",
    edits=[
        (
            "probabilities / probabilities.sum(dim=-1, keepdim=True)",
            "probabilities / (1 if top_p is None else probabilities.sum())",
        )
    ],
    observed="With a nucleus the numbers of all rows together sum to 1; each row should.",
    change="Divide each row by its own sum: `p.sum(dim=-1, keepdim=True)`.",
)
next_token_probabilities.mistake(
    "everything is divided by the sum over the whole batch",
    edits=[("probabilities.sum(dim=-1, keepdim=True)", "probabilities.sum()")],
    observed="The numbers of all rows together sum to 1; each row should.",
    change="Divide each row by its own sum: `p.sum(dim=-1, keepdim=True)`.",
)
next_token_probabilities.mistake(
    "the sums of the rows have lost their axis",
    edits=[("sum(dim=-1, keepdim=True)", "sum(dim=-1)")],
    observed="The sums have shape (batch), and are laid along the words: they do not fit, or each "
    "word is divided by the sum of another row.",
    change="Keep the axis: `p.sum(dim=-1, keepdim=True)`.",
)
