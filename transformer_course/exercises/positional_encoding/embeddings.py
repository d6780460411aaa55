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
