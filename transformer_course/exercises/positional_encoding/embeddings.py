"""Token embeddings: a look-up table and a factor."""

import math

import torch
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise


def _embedding_gradient(module: nn.Module, ids: Tensor) -> Tensor:
    """Return the gradient of the table for a loss that adds everything up."""
    table = dict(module.named_parameters()).get("table.weight")
    output = module(ids)
    if table is None or not output.requires_grad:
        return torch.zeros(0)
    return torch.autograd.grad(output.sum(), table)[0]


def _fresh_vectors(module: nn.Module, ids: Tensor) -> dict[str, float | list[int]]:
    """Look at initial vectors: mean and standard deviation, rounded, and where the zeros are."""
    table = dict(module.named_parameters()).get("table.weight", torch.ones(1, 1))
    words = ids[1:]
    with torch.no_grad():
        vectors = module(words[None])
        return {
            "mean": round((vectors.mean() / vectors.std()).item(), 1),
            "standard deviation": round(vectors.std().item(), 1),
            "rows of zeros": _numbers(~table.any(dim=1)),
            "columns of zeros": _numbers(~table.any(dim=0)),
        }


def _numbers(mask: Tensor) -> list[int]:
    return mask.nonzero().flatten().tolist()


def _equal_ids_equal_vectors(value: Tensor, case: Case) -> bool:
    (ids,) = case.inputs
    same = ids.flatten()[:, None] == ids.flatten()
    vectors = value.flatten(end_dim=1)
    return torch.allclose((vectors[:, None] - vectors)[same], torch.tensor(0.0), atol=1e-5)


_IDS = torch.tensor([[1, 5, 3, 3, 0], [4, 1, 1, 6, 2]])


@exercise(
    reference=model.Embeddings,
    cases=[
        Case((_IDS[:, :3],), construct=(7, 4, 3)),
        Case((_IDS,), construct=(7, 9, 3)),
        Case((_IDS[:1],), construct=(8, 6, 0)),
        Case(
            (_IDS,),
            construct=(7, 4, 3),
            observe=_embedding_gradient,
            looks_at="the gradient of `table.weight`, that of the padding row being zero",
        ),
        Case(
            (torch.arange(2, 1000),),
            construct=(1000, 64, 2),
            observe=_fresh_vectors,
            looks_at="a new module: mean 0 and standard deviation 1.0 of its output, zeros in row "
            "`pad_id` of the table alone",
            inject=False,
        ),
    ],
    properties=[
        Property("equal ids get equal vectors", _equal_ids_equal_vectors),
        Property(
            "the vector of the padding is zero",
            lambda value, case: not value[case.inputs[0] == case.construct[2]].any(),
        ),
    ],
    hints=[
        "The look-up is `nn.Embedding`. Which of its arguments keeps the row of the padding at "
        "zero, and out of training?",
        "Initialise with `nn.init.normal_(self.table.weight, std=d_model**-0.5)`. What has this "
        "done to the padding row?",
        "Set `self.table.weight[pad_id]` to zero within `torch.no_grad()`, and return "
        "`self.table(ids) * math.sqrt(self.table.embedding_dim)`.",
    ],
)
class Embeddings(nn.Module):
    """Look up ids of shape (batch, length) in a table, times sqrt(d_model)."""

    def __init__(self, vocab: int, d_model: int, pad_id: int) -> None:
        super().__init__()
        self.table = nn.Embedding(vocab, d_model, padding_idx=pad_id)
        nn.init.normal_(self.table.weight, std=d_model**-0.5)
        with torch.no_grad():
            self.table.weight[pad_id] = 0

    def forward(self, ids: Tensor) -> Tensor:
        """Return vectors of shape (batch, length, d_model)."""
        return self.table(ids) * math.sqrt(self.table.embedding_dim)


Embeddings.mistake(
    "the factor sqrt(d_model) is missing",
    edits=[("math.sqrt(self.table.embedding_dim)", "1")],
    observed="Your vectors are those of the table; with d_model = 4 they should be twice as long.",
    change="Multiply what is looked up by `math.sqrt(d_model)`.",
)
Embeddings.mistake(
    "multiplied by d_model: sqrt(d_model) twice, or no square root",
    edits=[("math.sqrt(self.table.embedding_dim)", "self.table.embedding_dim")],
    observed="Your vectors are sqrt(d_model) times too long.",
    change="Multiply by `math.sqrt(d_model)`, once.",
)
Embeddings.mistake(
    "divided by sqrt(d_model) instead of multiplied",
    edits=[("* math.sqrt", "/ math.sqrt")],
    observed="Your vectors are d_model times too short.",
    change="Multiply by `math.sqrt(d_model)`; it is in attention that you divide by a root.",
)
Embeddings.mistake(
    "the root is that of the vocabulary's size",
    edits=[("self.table.embedding_dim", "self.table.num_embeddings")],
    observed="The factor changes with the number of words, not with the width.",
    change="Multiply by `math.sqrt(d_model)`.",
)
Embeddings.mistake(
    "the root is that of the length",
    edits=[("self.table.embedding_dim", "ids.shape[1]")],
    observed="The factor changes with the number of words in a sentence.",
    change="Multiply by `math.sqrt(d_model)`; d_model is the last axis of what is looked up.",
)
Embeddings.mistake(
    "`d_model` is not kept for `forward`",
    edits=[("self.table.embedding_dim", "d_model")],
    observed="NameError: `d_model` is an argument of `__init__`, and `forward` does not know it.",
    change="Keep it in `__init__`, `self.d_model = d_model`, and use `self.d_model`.",
)
Embeddings.mistake(
    "the table starts as N(0, 1)",
    edits=[
        (
            "        nn.init.normal_(self.table.weight, std=d_model**-0.5)\n"
            "        with torch.no_grad():\n"
            "            self.table.weight[pad_id] = 0\n",
            "",
        )
    ],
    observed="In a new module of width 64 the output has standard deviation 8, not 1.",
    change="Initialise with `std=d_model**-0.5`; `nn.Embedding` itself starts with std 1.",
)
Embeddings.mistake(
    "the standard deviation is 1 / d_model",
    edits=[("std=d_model**-0.5", "std=1 / d_model")],
    observed="In a new module of width 64 the output has standard deviation 0.1, not 1.",
    change="Use the root: `std=d_model**-0.5`; 1 / d_model is the variance.",
)
Embeddings.mistake(
    "1/sqrt(d_model) is the mean of the table instead of its standard deviation",
    edits=[("std=d_model**-0.5", "mean=d_model**-0.5")],
    observed="In a new module of width 64 the output has mean 1 and standard deviation 8.",
    change="Name the argument: `nn.init.normal_(self.table.weight, std=d_model**-0.5)`; the mean "
    "comes before it.",
)
Embeddings.mistake(
    "the standard deviation is sqrt(d_model)",
    edits=[("d_model**-0.5", "d_model**0.5")],
    observed="In a new module of width 64 the output has standard deviation 64, not 1.",
    change="Mind the minus: `std=d_model**-0.5`.",
)
Embeddings.mistake(
    "the standard deviation is 0.02",
    edits=[("std=d_model**-0.5", "std=0.02")],
    observed="In a new module of width 64 the output has standard deviation 0.2, not 1.",
    change="Initialise with `std=d_model**-0.5`, whatever other programs do.",
)
Embeddings.mistake(
    "the table starts with uniform numbers between -0.1 and 0.1",
    edits=[
        ("normal_(self.table.weight, std=d_model**-0.5)", "uniform_(self.table.weight, -0.1, 0.1)")
    ],
    observed="In a new module of width 64 the output has standard deviation 0.5, not 1.",
    change="Initialise with `nn.init.normal_(self.table.weight, std=d_model**-0.5)`.",
)
Embeddings.mistake(
    "the table starts with numbers that shrink with the vocabulary",
    edits=[("normal_(self.table.weight, std=d_model**-0.5)", "xavier_uniform_(self.table.weight)")],
    observed="In a new module of 1000 words the output has standard deviation 0.3, not 1. Xavier's "
    "start does that, and so does the root of the number of words.",
    change="Initialise with `nn.init.normal_(self.table.weight, std=d_model**-0.5)`: the width "
    "alone decides.",
)
Embeddings.mistake(
    "the initialisation fills the padding row",
    edits=[("        with torch.no_grad():\n            self.table.weight[pad_id] = 0\n", "")],
    observed="In a new module row `pad_id` of the table is not zero.",
    change="Set row `pad_id` to zero after `nn.init.normal_`, within `torch.no_grad()`.",
)
Embeddings.mistake(
    "column `pad_id` is set to zero instead of the row",
    edits=[("weight[pad_id]", "weight[:, pad_id]")],
    observed="In a new module one dimension is zero for all words, and the padding row is not.",
    change="Rows are words: `self.table.weight[pad_id] = 0`.",
)
Embeddings.mistake(
    "the padding row is trained",
    edits=[(", padding_idx=pad_id", "")],
    observed="The padding row gets a gradient, so it would not stay zero.",
    change="Give `nn.Embedding` the argument `padding_idx=pad_id`, and call the table, "
    "`self.table(ids)`: `self.table.weight[ids]` does not know of the padding.",
)
Embeddings.mistake(
    "the padding is always id 0",
    edits=[("padding_idx=pad_id", "padding_idx=0"), ("weight[pad_id]", "weight[0]")],
    observed="With another `pad_id`, row 0 is zero and gets no gradient, but not the padding row.",
    change="Use the argument: `padding_idx=pad_id`, and row `pad_id` of the table.",
)
Embeddings.mistake(
    "`padding_idx` is 0 whatever `pad_id` is",
    edits=[("padding_idx=pad_id", "padding_idx=0")],
    observed="With another `pad_id`, row 0 gets no gradient and the padding row does.",
    change="Pass the argument on: `padding_idx=pad_id`.",
)
Embeddings.mistake(
    "row 0 is set to zero whatever `pad_id` is",
    edits=[("weight[pad_id]", "weight[0]")],
    observed="In a new module row 0 of the table is zero, and row `pad_id` is not.",
    change="Set row `pad_id` to zero.",
)
Embeddings.mistake(
    "the sizes of the table are swapped",
    edits=[
        ("vocab, d_model, padding_idx", "d_model, vocab, padding_idx"),
        ("self.table.embedding_dim", "self.table.num_embeddings"),
    ],
    observed="`table.weight` has shape (d_model, vocab).",
    change="Rows are words: `nn.Embedding(vocab, d_model)`.",
)
Embeddings.mistake(
    "the table is an `nn.Parameter` and not an `nn.Embedding`",
    edits=[
        (
            "nn.Embedding(vocab, d_model, padding_idx=pad_id)",
            "nn.Parameter(torch.empty(vocab, d_model))",
        ),
        ("normal_(self.table.weight", "normal_(self.table"),
        ("self.table.weight[pad_id]", "self.table[pad_id]"),
        ("self.table(ids)", "self.table[ids]"),
        ("self.table.embedding_dim", "self.table.shape[1]"),
    ],
    observed="Your parameter is named `table`, that of an embedding `table.weight`.",
    change="Make the table with `nn.Embedding(vocab, d_model, padding_idx=pad_id)`, which also "
    "keeps the padding row out of training.",
)
Embeddings.mistake(
    "the table does not learn",
    edits=[("self.table(ids)", "self.table(ids).detach()")],
    observed="No gradient reaches `table.weight`.",
    change="Leave out `.data`, `.detach()`, `torch.no_grad()` and `requires_grad = False` in "
    "`forward`; `nn.Embedding.from_pretrained` needs `freeze=False`.",
)
Embeddings.mistake(
    "the batch and the length are swapped",
    edits=[("self.table(ids)", "self.table(ids.T)")],
    observed="Your output has shape (length, batch, d_model).",
    change="Keep the batch first, without a transpose.",
)
Embeddings.mistake(
    "the table starts with uniform numbers",
    edits=[
        (
            "normal_(self.table.weight, std=d_model**-0.5)",
            "uniform_(self.table.weight, -(d_model**-0.5), d_model**-0.5)",
        )
    ],
    observed="Between -1 / sqrt(d_model) and 1 / sqrt(d_model) their standard deviation is 0.58 of "
    "that bound, so that your vectors start with 0.58 instead of 1.",
    change="Draw from a normal distribution: `nn.init.normal_(..., std=d_model**-0.5)`.",
)
Embeddings.mistake(
    "the factor is d_model / 2: brackets are missing around the exponent",
    edits=[("math.sqrt(self.table.embedding_dim)", "(self.table.embedding_dim**1 / 2)")],
    observed="`d_model ** 1 / 2` is half of d_model: Python takes the power before it divides.",
    change="Write `d_model ** 0.5`, or `math.sqrt(d_model)`.",
)
Embeddings.mistake(
    "`normal_` keeps its standard deviation of 1, and fills the padding row",
    edits=[
        ("d_model, padding_idx=pad_id", "d_model, pad_id"),
        (", std=d_model**-0.5", ""),
        ("        with torch.no_grad():\n            self.table.weight[pad_id] = 0\n", ""),
    ],
    observed="In a new module of width 64 the output has standard deviation 8, not 1, and row "
    "`pad_id` of the table is not zero.",
    change="Write `nn.init.normal_(self.table.weight, std=d_model**-0.5)`, then set row `pad_id` "
    "to zero within `torch.no_grad()`.",
)
Embeddings.mistake(
    "the last row is set to zero instead of row `pad_id`",
    edits=[("weight[pad_id]", "weight[-1]")],
    observed="In a new module the last row of the table is zero, and row `pad_id` is not.",
    change="Set row `pad_id` to zero: `self.table.weight[pad_id] = 0`.",
)
Embeddings.mistake(
    "the whole table is set to zero",
    edits=[("weight[pad_id]", "weight[:]")],
    observed="In a new module all rows are zero, and equal rows would learn nothing that tells "
    "words apart.",
    change="Set row `pad_id` to zero, and no other.",
)
