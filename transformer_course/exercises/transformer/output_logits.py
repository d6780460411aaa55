"""Scoring every token of the vocabulary."""

import torch.nn.functional as F
from torch import Tensor

from transformer_course.checker.cases import Case, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.start_here.softmax import softmax


@exercise(
    reference=F.linear,
    cases=[
        Case((vectors(1, 2, 4), vectors(3, 4, seed=1))),
        Case((vectors(2, 3, 4), vectors(4, 4, seed=1))),
        Case((vectors(2, 5, 9), vectors(7, 9, seed=1))),
        Case((vectors(3, 2, 6), vectors(5, 6, seed=1))),
        Case(
            (vectors(1, 2, 3), vectors(4, 3, seed=1)),
            observe=gradients,
            looks_at="the gradients of the vectors and of the table",
        ),
    ],
    hints=[
        "The score of a token is the dot product of the vector with the token's row. Which two "
        "axes must meet so that all dot products are taken at once?",
        "The rows of the table must become columns: `table.T` has shape (d_model, vocab).",
        "`vectors @ table.T`. Nothing else: no factor and no softmax.",
    ],
)
def output_logits(vectors: Tensor, table: Tensor) -> Tensor:
    """Score each token after each position: the dot product with the token's row."""
    return vectors @ table.T


output_logits.mistake(
    "the factor sqrt(d_model) is used here too",
    edits=[("vectors @ table", "vectors * table.shape[1] ** 0.5 @ table")],
    observed="With d_model = 4 your scores are twice as high as wanted. The factor is for vectors "
    "on their way in; here it would only make the softmax sharper.",
    change="Leave the factor out.",
)
output_logits.mistake(
    "the scores are divided by sqrt(d_model)",
    edits=[("vectors @ table", "vectors / table.shape[1] ** 0.5 @ table")],
    observed="With d_model = 4 your scores are half as high as wanted. Attention divides its "
    "scores; the output layer does not.",
    change="Leave the division out.",
)
output_logits.mistake(
    "probabilities come back instead of logits",
    edits=[("return vectors", "return (vectors"), ("table.T", "table.T).softmax(dim=-1)")],
    observed="Every row sums to 1. The loss takes a softmax itself; with two of them it could not "
    "fall to 0.",
    change="Leave the softmax out.",
)
output_logits.mistake(
    "log-probabilities come back instead of logits",
    edits=[("return vectors", "return (vectors"), ("table.T", "table.T).log_softmax(dim=-1)")],
    observed="No score is above 0, and the exponentials of a row sum to 1.",
    change="Leave `log_softmax` out: the loss takes it itself.",
)
output_logits.mistake(
    "the best token comes back instead of all scores",
    edits=[("return vectors", "return (vectors"), ("table.T", "table.T).argmax(dim=-1)")],
    observed="There is one number for each position; `vocab` numbers are wanted.",
    change="Leave `argmax` out.",
)
output_logits.mistake(
    "only the last position is scored",
    edits=[("return vectors", "return vectors[:, -1]")],
    observed="The axis of the positions is gone. In training, every position predicts a token.",
    change="Score all positions: `vectors`, not `vectors[:, -1]`.",
)
output_logits.mistake(
    "tokens and positions have changed places",
    edits=[("return vectors", "return (vectors"), ("table.T", "table.T).transpose(1, 2)")],
    observed="Your result has shape (batch, vocab, length): the axes are swapped.",
    change="The vectors come first: `vectors @ table.T`.",
)
output_logits.mistake(
    "the table lies on its side",
    edits=[("table.T", "table")],
    observed="It runs only where the table has as many rows as columns, and there each score is "
    "the dot product with a column of the table.",
    change="Use `table.T`, so that each token's row meets the vector.",
)
output_logits.mistake(
    "the rows of the table are brought to length 1",
    edits=[("@ table.T", "@ F.normalize(table, dim=-1).T")],
    observed="Two rows of the same direction get the same score, however long they are, though the "
    "length of a row is trained like its direction.",
    change="Use the rows as they are.",
)
output_logits.mistake(
    "it is the cosine instead of the dot product",
    edits=[
        ("return vectors", "return vectors / vectors.norm(dim=-1, keepdim=True)"),
        ("@ table.T", "@ F.normalize(table, dim=-1).T"),
    ],
    observed="No score is above 1 or below -1, so no token can ever get a probability near 1.",
    change="Do not normalise: take the dot product of the vectors and rows as they are.",
)
output_logits.shares(
    softmax,
    "no gradient passes",
    edits=[("return vectors", "return (vectors"), ("table.T", "table.T).detach()")],
)

# Rarer ones

output_logits.mistake(
    "the table is reshaped instead of transposed",
    edits=[("table.T", "table.reshape(table.shape[1], table.shape[0])")],
    observed="The shape is right, the scores are not: `reshape` and `view` keep the numbers in "
    "their order, so a column holds parts of several rows.",
    change="Swap the axes with `table.T`.",
)
output_logits.mistake(
    "the sum runs over the tokens instead of d_model",
    edits=[("@ table.T", "* table.sum(dim=0)")],
    observed="Your last axis has d_model numbers; one score for each row of the table is wanted.",
    change="Sum the products over d_model, which both have: `vectors @ table.T`.",
)
output_logits.mistake(
    "only the last position is scored, and its axis is kept",
    edits=[("return vectors", "return vectors[:, -1:]")],
    observed="The axis of the positions has length 1. In training, every position predicts a "
    "token.",
    change="Score all positions: `vectors`, not `vectors[:, -1:]`.",
)
output_logits.mistake(
    "the positions come before the batch",
    edits=[("return vectors", "return vectors.transpose(0, 1)")],
    observed="Your result has shape (length, batch, vocab) instead of (batch, length, vocab): what "
    "a loop over the positions collects, `torch.stack` joins along a new axis 0.",
    change="Leave the batch in front; `torch.stack(..., dim=1)` puts the positions after it.",
)
output_logits.mistake(
    "batch and positions are one axis",
    edits=[("return vectors", "return vectors.flatten(0, 1)")],
    observed="Your result has two axes, (batch x length, vocab). The loss needs that, later.",
    change="Return three axes, (batch, length, vocab).",
)
output_logits.mistake(
    "probabilities over the positions come back instead of logits",
    edits=[("return vectors", "return (vectors"), ("table.T", "table.T).softmax(dim=1)")],
    observed="For each token your numbers sum to 1 along the positions.",
    change="Leave the softmax out: logits are wanted, and the axis is not that of the tokens.",
)
output_logits.mistake(
    "the scores are divided by d_model",
    edits=[("vectors @ table", "vectors / table.shape[1] @ table")],
    observed="With d_model = 4 your scores are a quarter of those wanted: it is a mean of the "
    "products, not their sum.",
    change="Take the sum: `vectors @ table.T`.",
)
output_logits.mistake(
    "the vectors are brought to length 1",
    edits=[("return vectors", "return F.normalize(vectors, dim=-1)")],
    observed="Two vectors of the same direction get the same scores, however long they are.",
    change="Use the vectors as they are.",
)
output_logits.mistake(
    "the table does not learn",
    edits=[("table.T", "table.detach().T")],
    observed="The scores are right, but no gradient reaches the table, only the vectors.",
    change="Use `table` itself, without `.data` and `.detach()`; a new `nn.Parameter` made from "
    "it is cut off as well.",
)
output_logits.mistake(
    "the tokens come before the batch",
    edits=[("return vectors", "return (vectors"), ("table.T", "table.T).permute(2, 0, 1)")],
    observed="Your result has shape (vocab, batch, length) instead of (batch, length, vocab): what "
    "a loop over the rows of the table collects, `torch.stack` joins along a new axis 0.",
    change="Put the tokens last: `vectors @ table.T`, or `torch.stack(..., dim=-1)`.",
)
output_logits.mistake(
    "tokens and positions are exchanged, then cut into the right shape",
    edits=[
        (
            "vectors @ table.T",
            "(table @ vectors.flatten(0, 1).T).reshape(*vectors.shape[:2], len(table))",
        )
    ],
    observed="The numbers are the right ones, in other places: the first row holds the scores of "
    "token 0 after each position.",
    change="Turn before you cut: `(table @ flat.T).T.reshape(...)`. Or write `vectors @ table.T`.",
)
