"""The rarer mistakes in attention; the commonest are with the exercise."""

from transformer_course.exercises.attention.scaled_dot_product_attention import (
    NOT_CLEARED,
    scaled_dot_product_attention,
)

# The scores

scaled_dot_product_attention.mistake(
    "the key is not transposed",
    edits=[("key.transpose(-2, -1)", "key")],
    observed="`query @ key` stops with an error, unless there are as many keys as a key has "
    "numbers: then it multiplies numbers that do not belong together.",
    change="Write `query @ key.transpose(-2, -1)`.",
)
scaled_dot_product_attention.mistake(
    "`key.T` reverses all axes, the batch too",
    edits=[("key.transpose(-2, -1)", "key.permute(*reversed(range(key.dim())))")],
    observed="Matrices are right. With a batch axis `key.T` has shape (d_k, keys, batch).",
    change="Swap the last two axes only: `key.transpose(-2, -1)`.",
)
scaled_dot_product_attention.mistake(
    "the key's axes 0 and 1 are swapped",
    edits=[("transpose(-2, -1)", "transpose(0, 1)")],
    observed="Matrices are right; with a batch axis, batch and keys change places.",
    change="Count axes from the end: `key.transpose(-2, -1)`.",
)
scaled_dot_product_attention.mistake(
    "the key's axes 1 and 2 are swapped",
    edits=[("transpose(-2, -1)", "transpose(1, 2)")],
    observed="Three axes are right. A matrix has no axis 2, and with four axes heads and keys "
    "change places.",
    change="Count axes from the end: `key.transpose(-2, -1)`.",
)
scaled_dot_product_attention.mistake(
    "the key is reshaped instead of transposed",
    edits=[("key.transpose(-2, -1)", "key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])")],
    observed="The shape fits, but each of your columns mixes numbers of several keys: `view` and "
    "`reshape` keep the order of the numbers.",
    change="Write `key.transpose(-2, -1)`, which turns rows into columns.",
)
scaled_dot_product_attention.mistake(
    "query and key have changed places",
    edits=[("query @ key.transpose(-2, -1)", "key @ query.mT")],
    observed="Your scores have a row for each key and a column for each query. With as many "
    "queries as keys there is no error, and every key attends instead of every query.",
    change="Write `query @ key.transpose(-2, -1)`: queries down, keys across.",
)

# The softmax

scaled_dot_product_attention.mistake(
    "the softmax runs over the queries",
    edits=[("own.softmax(scores)", "scores.softmax(-2)")],
    observed="The columns of your weights sum to 1; the rows should.",
    change="Each query shares out its weight among the keys: `softmax(dim=-1)`.",
)
scaled_dot_product_attention.mistake(
    "the softmax runs along axis 1",
    edits=[("own.softmax(scores)", "scores.softmax(dim=1)")],
    observed="Matrices are right. With a batch axis the columns sum to 1, with heads it is the "
    "heads.",
    change="Use the last axis: `softmax(dim=-1)`.",
)
scaled_dot_product_attention.mistake(
    "the softmax runs along the first axis",
    edits=[("own.softmax(scores)", "scores.softmax(dim=0)")],
    observed="Your weights sum to 1 over the sentences of the batch; in a matrix, over queries.",
    change="Use the last axis: `softmax(dim=-1)`.",
)
scaled_dot_product_attention.mistake(
    "the softmax is not told which axis to use",
    edits=[("own.softmax(scores)", "scores.softmax(dim=0 if scores.dim() == 3 else 1)")],
    observed="torch then takes the last axis of a matrix, the batch with three axes and the heads "
    "with four.",
    change="Give the axis: `softmax(dim=-1)`.",
)
scaled_dot_product_attention.mistake(
    "the rows are divided by their length, not by their sum",
    edits=[
        (
            "own.softmax(scores)",
            "F.normalize((scores - scores.amax(-1, keepdim=True)).exp(), dim=-1)",
        )
    ],
    observed="The squares of your weights sum to 1 in each row; the weights should.",
    change="Divide by the sum of each row: `own.softmax(scores)`.",
)
scaled_dot_product_attention.mistake(
    "the largest score takes all: argmax instead of softmax",
    edits=[
        ("own.softmax(scores)", "(scores == scores.amax(dim=-1, keepdim=True)).to(scores.dtype)")
    ],
    observed="In each row one weight is 1 and the others are 0. That has no gradient.",
    change="Use the softmax, which gives each key a share: `own.softmax(scores)`.",
)
scaled_dot_product_attention.mistake(
    "all weights together sum to 1",
    edits=[("own.softmax(scores)", "scores.flatten().softmax(dim=0).reshape(scores.shape)")],
    observed="Each row of your weights should sum to 1, not the whole tensor.",
    change="Divide by the sum of each row: `softmax(dim=-1)`.",
)
scaled_dot_product_attention.mistake(
    "the softmax is missing",
    edits=[("own.softmax(scores)", "scores")],
    observed="Your weights are scores: they may be negative, and the rows do not sum to 1.",
    change="Turn the scores into weights first: `own.softmax(scores)`.",
)
scaled_dot_product_attention.mistake(
    "`exp` is taken without subtracting the largest score",
    edits=[
        (
            "own.softmax(scores)",
            "scores.exp()\n    weights = weights / weights.sum(dim=-1, keepdim=True)",
        )
    ],
    observed="Small scores are right. For scores of 900 / sqrt(2) = 636 you return NaN: "
    "`exp(636)` is infinite.",
    change="Use `own.softmax(scores)`, or subtract the largest score of each row first.",
)
scaled_dot_product_attention.mistake(
    "dropout with 0.1 changes the weights at every call",
    edits=[("own.softmax(scores)", "F.dropout(scores.softmax(dim=-1), 0.1)")],
    observed="Two calls with the same arguments differ; some weights are 0, the others 1.111 "
    "times too large.",
    change="Leave it out here. Dropout belongs to training: `F.dropout(..., training=...)`.",
)

# The mask

scaled_dot_product_attention.mistake(
    "the mask is not used",
    edits=[("scores.masked_fill(~mask, lowest)", "scores"), NOT_CLEARED],
    observed="Keys that the mask hides keep their weight.",
    change="Unless it is None, fill the scores where the mask is False, before the softmax.",
)
scaled_dot_product_attention.mistake(
    "the mask is read the wrong way round",
    edits=[("lowest = ", "mask = ~mask\n        lowest = ")],
    observed="All weight lies on keys that the mask hides: False means hidden, True may attend.",
    change="`masked_fill` fills where it gets True: give it `~mask`. `torch.where` and fused "
    "attention want the mask as it is.",
)
scaled_dot_product_attention.mistake(
    "the mask itself is added to the scores, times a very low number",
    edits=[("scores.masked_fill(~mask, lowest)", "(scores - 1e9 * mask)"), NOT_CLEARED],
    observed="Where the mask is True the score becomes very low, so all weight lies on the keys "
    "that the mask hides: True means that a key may be seen.",
    change="Add the low number where the mask is False: `scores + ~mask * -1e9`, or "
    "`scores.masked_fill(~mask, ...)`.",
)
scaled_dot_product_attention.mistake(
    "the mask itself is added, times a very low number, and hidden weights are cleared",
    edits=[("scores.masked_fill(~mask, lowest)", "(scores - 1e9 * mask)")],
    observed="Where the mask is True the score becomes very low; then the other weights are set to "
    "0, so rows in which anything is hidden are all 0.",
    change="Add the low number where the mask is False: `scores + ~mask * -1e9`, or "
    "`scores.masked_fill(~mask, ...)`.",
)
scaled_dot_product_attention.mistake(
    "hidden scores are set to 0 (or 1e-9) instead of a very low number",
    edits=[("~mask, lowest", "~mask, 0.0"), NOT_CLEARED],
    observed="`exp(0)` is 1, so hidden keys keep weight: with the scores 1, 0, 0, 0 and only the "
    "first key allowed, 52 % of the weight lies on hidden keys. Multiplying the scores by the "
    "mask does the same.",
    change="Fill with the lowest number: `masked_fill(~mask, torch.finfo(scores.dtype).min)`.",
)
scaled_dot_product_attention.mistake(
    "hidden scores are set to 0, though rows without any key are cleared",
    edits=[
        ("~mask, lowest", "~mask, 0.0"),
        ("weights.masked_fill(~mask, 0.0)", "weights * mask.any(dim=-1, keepdim=True)"),
    ],
    observed="A row that is all False is right. In all others `exp(0)` is 1, so hidden keys keep "
    "weight.",
    change="Fill with the lowest number: `masked_fill(~mask, torch.finfo(scores.dtype).min)`.",
)
scaled_dot_product_attention.mistake(
    "hidden scores are set to 0 before the softmax, and their weights after it",
    edits=[("~mask, lowest", "~mask, 0.0")],
    observed="Hidden keys have weight 0, but the rows sum to less than 1: `exp(0)` is 1, and each "
    "hidden key adds it to the softmax's denominator.",
    change="Fill with the lowest number: `masked_fill(~mask, torch.finfo(scores.dtype).min)`.",
)
scaled_dot_product_attention.mistake(
    "0 times minus infinity: the weights are NaN",
    edits=[("scores.masked_fill(~mask, lowest)", "(scores + ~mask * -math.inf)"), NOT_CLEARED],
    observed="With a mask all rows are NaN: where nothing is hidden, 0 * -inf is NaN, not 0.",
    change="Do not multiply by infinity: `masked_fill(~mask, torch.finfo(scores.dtype).min)`.",
)
scaled_dot_product_attention.mistake(
    "hidden scores are set to -1, which is not low enough",
    edits=[("~mask, lowest", "~mask, -1.0"), NOT_CLEARED],
    observed="`exp(-1)` is 0.37, so hidden keys keep weight.",
    change="Fill with the lowest number: `masked_fill(~mask, torch.finfo(scores.dtype).min)`.",
)
scaled_dot_product_attention.mistake(
    "the mask is added to the scores as 0 and 1",
    edits=[("scores.masked_fill(~mask, lowest)", "(scores + mask)"), NOT_CLEARED],
    observed="Allowed keys get e = 2.718 times their weight, and hidden keys keep some.",
    change="A boolean mask selects; use `scores.masked_fill(~mask, ...)`.",
)
scaled_dot_product_attention.mistake(
    "hidden scores are set to a large number: the minus sign is missing",
    edits=[("~mask, lowest", "~mask, 1e9"), NOT_CLEARED],
    observed="All weight lies on hidden keys, in equal shares.",
    change="Fill with a very low number: `torch.finfo(scores.dtype).min`.",
)
scaled_dot_product_attention.mistake(
    "the mask comes after the softmax",
    edits=[("scores.masked_fill(~mask, lowest)", "scores")],
    observed="Hidden keys have weight 0, but the rows sum to less than 1: hidden scores are still "
    "in the softmax's denominator.",
    change="Fill the scores before the softmax, so that it shares out all weight among the rest.",
)
scaled_dot_product_attention.mistake(
    "the mask comes after the softmax, and the rows are divided by their sums again",
    edits=[
        ("scores.masked_fill(~mask, lowest)", "scores"),
        (
            "weights.masked_fill(~mask, 0.0)",
            "weights * mask\n        weights = weights / weights.sum(dim=-1, keepdim=True)",
        ),
    ],
    observed="Right as long as hidden scores are moderate. Where a hidden key outscores the others "
    "by 600, those get 0 from the softmax, and 0 / 0 is NaN; so does a row that is all False.",
    change="Fill the scores before the softmax; then nothing needs to be repaired.",
)
scaled_dot_product_attention.mistake(
    "-inf is added and NaN replaced afterwards: the gradients are NaN",
    edits=[
        ("scores.masked_fill(~mask, lowest)", "(scores + torch.where(mask, 0.0, -math.inf))"),
        ("masked_fill(~mask, 0.0)", "nan_to_num()"),
    ],
    observed="The results are right. Backwards, a row that is all False passes through the softmax "
    "of -inf, which gives NaN; one step of training turns every weight that it reaches into NaN.",
    change="Fill with `torch.finfo(scores.dtype).min`, which is finite, and clear the weights "
    "where the mask is False.",
)

# What is returned

scaled_dot_product_attention.mistake(
    "the weights are multiplied by the keys instead of the values",
    edits=[("weights @ value", "weights @ key")],
    observed="Your output is d_k wide; it should be d_v wide.",
    change="Return `weights @ value`.",
)
scaled_dot_product_attention.mistake(
    "the weights are returned with rows and columns exchanged",
    edits=[("value, weights", "value, weights.mT")],
    observed="The output is right. Your weights have a row for each key and a column for each "
    "query.",
    change="Return the weights as (..., query, key).",
)
scaled_dot_product_attention.mistake(
    "the output has rows and columns exchanged",
    edits=[("return weights @ value", "return (weights @ value).mT")],
    observed="Your output has a row for each number of a value and a column for each query.",
    change="Return `weights @ value`, of shape (..., query, d_v).",
)
scaled_dot_product_attention.mistake(
    "the output of a row without any key is cleared, its weights are not",
    edits=[
        ("weights = own", "uncleared = weights = own"),
        ("value, weights", "value, uncleared"),
    ],
    observed="The output is right. In a row that is all False your weights are not 0.",
    change="Clear the weights and return these: `weights.masked_fill(~mask, 0.0)`.",
)
scaled_dot_product_attention.mistake(
    "only the weights are returned",
    edits=[("weights @ value, weights", "weights")],
    observed="Your result has a number for each key; the values have no part in it.",
    change="Return `weights @ value, weights`.",
)
scaled_dot_product_attention.mistake(
    "the scores are returned in place of the weights",
    edits=[("scores = query", "unmasked = scores = query"), ("value, weights", "value, unmasked")],
    observed="The output is right. The rows of your second result do not sum to 1: they have not "
    "been through the softmax.",
    change="Return what the values were multiplied by: `output, weights`.",
)
scaled_dot_product_attention.mistake(
    "the output is cut off from query, key and value",
    edits=[
        ("return weights @", "return (weights @"),
        ("value, weights", "value).detach(), weights.detach()"),
    ],
    observed="The numbers are right, but no gradient flows back: a model with it learns nothing.",
    change="Leave out `.detach()`, `.data` and `torch.no_grad()`, and make no new tensor from "
    "numbers.",
)
scaled_dot_product_attention.mistake(
    "the weights that are returned know nothing of the mask",
    edits=[
        ("scores = query", "unmasked = scores = query"),
        ("value, weights", "value, own.softmax(unmasked)"),
    ],
    observed="The output is right. The weights beside it are not those that made it: hidden keys "
    "have a share in them.",
    change="Return the weights that the values were multiplied by.",
)
scaled_dot_product_attention.mistake(
    "-inf, and only the output is cleared of NaN",
    edits=[
        ("~mask, lowest", "~mask, -math.inf"),
        ("masked_fill(~mask, 0.0)", "clone()"),
        ("weights @ value, weights", "(weights @ value).nan_to_num(), weights"),
    ],
    observed="The output is right. In a row that is all False your weights are NaN.",
    change="Clear the weights, before the output is made of them: fill with "
    "`torch.finfo(scores.dtype).min`, and set weights to 0 where the mask is False.",
)
scaled_dot_product_attention.mistake(
    "-inf, and only the weights that are returned are cleared of NaN",
    edits=[
        ("~mask, lowest", "~mask, -math.inf"),
        ("masked_fill(~mask, 0.0)", "clone()"),
        ("weights @ value, weights", "weights @ value, weights.nan_to_num()"),
    ],
    observed="The weights are right. In a row that is all False your output is NaN.",
    change="Clear the weights before the output is made of them: fill with "
    "`torch.finfo(scores.dtype).min`, and set weights to 0 where the mask is False.",
)
scaled_dot_product_attention.mistake(
    "the weights of a row without any key are cleared after the output was made of them",
    edits=[
        ("weights = own", "uncleared = weights = own"),
        ("return weights @", "return uncleared @"),
    ],
    observed="The weights are right. In a row that is all False your output is the mean of all "
    "values.",
    change="First set weights to 0 where the mask is False, then return "
    "`weights @ value, weights`.",
)
scaled_dot_product_attention.mistake(
    "a row that is all False attends as if there were no mask: a low number is added",
    edits=[("scores.masked_fill(~mask, lowest)", "(scores + ~mask * -1e4)"), NOT_CLEARED],
    observed="All other rows are right. -10000 on every score of a row changes none of its shares; "
    "such a row should be 0.",
    change="After the softmax, set weights to 0 where the mask is False.",
)
scaled_dot_product_attention.mistake(
    "hidden weights become -1e9 after the softmax",
    edits=[
        ("scores.masked_fill(~mask, lowest)", "scores"),
        ("masked_fill(~mask, 0.0)", "masked_fill(~mask, -1e9)"),
    ],
    observed="Your weights are hugely negative where the mask is False: the low number belongs to "
    "scores, from which `exp` makes 0.",
    change="Fill the scores, before the softmax: `scores.masked_fill(~mask, ...)`.",
)
scaled_dot_product_attention.mistake(
    "the mask comes after the softmax, and the rows are divided by their sums, which are kept "
    "from 0",
    edits=[
        ("scores.masked_fill(~mask, lowest)", "scores"),
        (
            "weights.masked_fill(~mask, 0.0)",
            "weights * mask\n"
            "        weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-9)",
        ),
    ],
    observed="Right as long as hidden scores are moderate. Where a hidden key outscores the others "
    "by 600, those get 0 from the softmax, and nothing is left to share out.",
    change="Fill the scores before the softmax; then nothing needs to be repaired.",
)
scaled_dot_product_attention.mistake(
    "the mask gets one axis more than it should",
    edits=[("lowest = ", "mask = mask.unsqueeze(1)\n        lowest = ")],
    observed="The mask of each call already fits the scores, (..., query, key), or broadcasts to "
    "them; yours has an axis more.",
    change="Use `mask` as it is, without `unsqueeze`: who calls gives it the axes that it needs.",
)
scaled_dot_product_attention.mistake(
    "the masked scores are returned in place of the weights",
    edits=[("value, weights", "value, scores")],
    observed="The output is right. The rows of your second result do not sum to 1: they have not "
    "been through the softmax.",
    change="Return what the values were multiplied by: `output, weights`.",
)
scaled_dot_product_attention.mistake(
    "attention is causal where there is no mask",
    edits=[
        (
            "    if mask is not None:\n        lowest",
            "    if mask is None:\n"
            "        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()\n"
            "    if mask is not None:\n        lowest",
        ),
        # Two edits: one alone would open a gap in the model answer.
        ("lowest = torch.finfo", "lowest = 1 * torch.finfo"),
    ],
    observed="With a mask everything is right. Without one, query 0 sees key 0 only.",
    change="No mask means that every key may be seen: leave out `is_causal` and `tril`.",
)
scaled_dot_product_attention.mistake(
    "every attention is causal",
    edits=[
        (
            "    if mask is not None:\n        lowest",
            "    causal = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()\n"
            "    mask = causal if mask is None else mask & causal\n"
            "    if mask is not None:\n        lowest",
        ),
        # Two edits: one alone would open a gap in the model answer.
        ("lowest = torch.finfo", "lowest = 1 * torch.finfo"),
    ],
    observed="A query never sees a later key, whatever the mask says, and without a mask.",
    change="The caller says with `mask` what may be seen: leave the triangle out.",
)
scaled_dot_product_attention.mistake(
    "query and key learn nothing: the weights are cut off from them",
    edits=[("return weights @ value", "return weights.detach() @ value")],
    observed="All results are right, but the gradients of `query` and `key` are 0.",
    change="Leave out `.detach()`, `.data` and `torch.no_grad()`.",
)
scaled_dot_product_attention.mistake(
    "the key's axes are listed for a tensor of three",
    edits=[("key.transpose(-2, -1)", "key.permute(0, 2, 1)")],
    observed="`permute` wants as many numbers as there are axes: a matrix has two, a batch of "
    "heads four.",
    change="Swap the last two axes of any tensor: `key.transpose(-2, -1)`.",
)
scaled_dot_product_attention.mistake(
    "queries and keys are brought to length 1: cosines instead of dot products",
    edits=[
        ("scores = query @", "scores = F.normalize(query, dim=-1) @ F.normalize("),
        ("key.transpose(-2, -1)", "key, dim=-1).transpose(-2, -1)"),
    ],
    observed="Your scores do not grow with the length of a query or a key, and lie between -1 and "
    "1 before they are divided.",
    change="Leave `normalize` out: a score is `query @ key.transpose(-2, -1)`, divided by "
    "`math.sqrt(query.shape[-1])`.",
)
scaled_dot_product_attention.mistake(
    "d_k is read from axis 1",
    edits=[("query.shape[-1]", "key.shape[1]")],
    observed="Matrices are right. With a batch axis, axis 1 holds the keys, and their number is "
    "not d_k.",
    change="The width is the last axis: `query.shape[-1]`.",
)
