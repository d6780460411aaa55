"""One table for both embeddings and the output layer."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.transformer.inputs import CONFIG

_LOOKS_AT_TABLES = "the three tables, before and after a training step"


def _tables(network: nn.Module) -> dict[str, nn.Parameter]:
    return {
        "source": network.source_embeddings.table.weight,
        "target": network.target_embeddings.table.weight,
        "output": network.output.weight,
    }


def _tied(code: Callable, config: model.TransformerConfig) -> dict[str, bool | int | str]:
    """Tie a new model, and look at what has become of its three tables."""
    network = model.Transformer(config)
    before = {name: table.detach().clone() for name, table in _tables(network).items()}
    code(network)
    tables = _tables(network)
    found = {
        "source and target share one parameter": tables["source"] is tables["target"],
        "target and output share one parameter": tables["target"] is tables["output"],
        "trained numbers in the three tables": sum(
            p.numel() for p in {*tables.values()} if p.requires_grad
        ),
        "what stays": _origin(tables["output"], before),
        "the output is a linear layer": isinstance(network.output, nn.Linear),
        "source and target are equal": torch.equal(tables["source"], tables["target"]),
        "target and output are equal": torch.equal(tables["target"], tables["output"]),
    }
    if found["the output is a linear layer"]:
        _train(network)
    source, target, output = _tables(network).values()
    return found | {
        "source and target are equal after a training step": torch.equal(source, target),
        "target and output are equal after a training step": torch.equal(target, output),
    }


def _origin(table: Tensor, before: dict[str, Tensor]) -> str:
    for name, other in before.items():
        times = float(table.norm() / other.norm())
        if table.shape == other.shape and torch.allclose(table, times * other):
            kind = "the output's table" if name == "output" else "a table of embeddings"
            return kind if round(times, 5) == 1 else f"{kind}, {times:.4g} times as large"
    return "none of the three tables"


def _train(network: nn.Module) -> None:
    ids = torch.tensor([[1, 2, 3]])
    network.eval()(ids, ids).square().sum().backward()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.grad is not None:
                parameter -= 0.1 * parameter.grad


@exercise(
    cases=[
        Case((CONFIG,), observe=_tied, looks_at=_LOOKS_AT_TABLES, written="(network)"),
        Case(
            (replace(CONFIG, source_vocab=5, target_vocab=5, d_model=6, pad_id=4),),
            observe=_tied,
            looks_at=_LOOKS_AT_TABLES,
            written="(network)  # other sizes",
        ),
    ],
    hints=[
        "An `nn.Parameter` is an object, and two modules can hold the same one. Which three "
        "modules of the network hold a table?",
        "They are `network.source_embeddings.table`, `network.target_embeddings.table` and "
        "`network.output`, and each calls its parameter `weight`.",
        "`network.output.weight = network.target_embeddings.table.weight`, and the same for the "
        "source.",
    ],
)
def tie(network: nn.Module) -> None:
    """Let both embeddings and the output layer share the target's table."""
    weight = network.target_embeddings.table.weight
    network.source_embeddings.table.weight = weight
    network.output.weight = weight
