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


tie.mistake(
    "the network stays as it was",
    edits=[
        ("network.source_embeddings.table.weight = weight", "source_table = weight"),
        ("network.output.weight = weight", "output_table = weight"),
    ],
    observed="Afterwards it still has three tables, each with numbers of its own. A new name for "
    "a weight, or a new network, changes nothing in the one you were given.",
    change="Assign to the attribute of the module: `network.output.weight = ...`.",
)
tie.mistake(
    "the source has a table of its own",
    edits=[("network.source_embeddings.table.weight = weight", "source_table = weight")],
    observed="Target and output share one parameter; the source's embeddings do not. That is "
    "two-way tying, for two vocabularies.",
    change="Give the same parameter to `network.source_embeddings.table.weight`.",
)
tie.mistake(
    "the output has a table of its own",
    edits=[("network.output.weight = weight", "output_table = weight")],
    observed="Both embeddings share one parameter; the output layer does not.",
    change="Give the same parameter to `network.output.weight`.",
)
tie.mistake(
    "the target has a table of its own",
    edits=[("network.target_embeddings.table.weight", "network.source_embeddings.table.weight")],
    observed="Source and output share one parameter; the target's embeddings do not.",
    change="Give the same parameter to `network.target_embeddings.table.weight`.",
)
tie.mistake(
    "the tables are copies",
    edits=[
        (
            "source_embeddings.table.weight = weight",
            "source_embeddings.table.weight = nn.Parameter(weight.detach().clone())",
        ),
        ("output.weight = weight", "output.weight = nn.Parameter(weight.detach().clone())"),
    ],
    observed="Each of the three has a parameter of its own, and they drift apart with the first "
    "training step. Copying numbers, or assigning to `.data`, does not make them one.",
    change="Do not clone or copy: assign the parameter itself.",
)
tie.mistake(
    "the numbers are shared, the parameters are not",
    edits=[
        (
            "source_embeddings.table.weight = weight",
            "source_embeddings.table.weight = nn.Parameter(weight.data)",
        ),
        ("output.weight = weight", "output.weight = nn.Parameter(weight.data)"),
    ],
    observed="Three parameters look at the same memory. Each is counted, and Adam would keep "
    "running means for each and move the numbers three times in a step. `.data` and "
    "`nn.Parameter(...)` do that.",
    change="Assign the parameter itself: `one.weight = other.weight`.",
)
tie.mistake(
    "the output's table stays",
    edits=[
        ("weight = network.target_embeddings.table.weight", "weight = network.output.weight"),
        ("network.output.weight = weight", "network.target_embeddings.table.weight = weight"),
    ],
    observed="The padding's row is not zero any more, and the numbers are 0.58 times as large as "
    "embeddings should be at the start: `nn.Linear` has an initialisation of its own.",
    change="Keep the table of the embeddings, and give it to the output layer.",
)
tie.mistake(
    "the shared table is a new one",
    edits=[
        (
            "weight = network.target_embeddings.table.weight",
            "weight = nn.Parameter(torch.randn_like(network.output.weight))\n"
            "    network.target_embeddings.table.weight = weight",
        )
    ],
    observed="None of the three tables stays as it was. With numbers from N(0, 1), the paper's "
    "base model with 1000 tokens starts at a loss near 70; with those of its embeddings, near 7.5.",
    change="Keep the target's table, which is initialised for both uses.",
)
tie.mistake(
    "the output gets the table on its side",
    edits=[("network.output.weight = weight", "network.output.weight = nn.Parameter(weight.T)")],
    observed="`nn.Linear(d_model, vocab)` keeps its weight as (vocab, d_model), just like the "
    "embeddings; yours is (d_model, vocab), and the model no longer runs.",
    change="Leave the transposition out.",
)

# Only one of the places

tie.mistake(
    "the output gets a copy",
    edits=[("output.weight = weight", "output.weight = nn.Parameter(weight.detach().clone())")],
    observed="The embeddings share one parameter. The output layer has a copy of its numbers, and "
    "drifts away from it with the first training step.",
    change="Assign the parameter itself: `network.output.weight = ...`.",
)
tie.mistake(
    "the source gets a copy",
    edits=[
        (
            "source_embeddings.table.weight = weight",
            "source_embeddings.table.weight = nn.Parameter(weight.detach().clone())",
        )
    ],
    observed="Target and output share one parameter. The source's embeddings have a copy of its "
    "numbers, and drift away from it with the first training step.",
    change="Assign the parameter itself to `network.source_embeddings.table.weight`.",
)
tie.mistake(
    "the target gets a copy",
    edits=[
        ("network.target_embeddings.table.weight", "network.source_embeddings.table.weight"),
        (
            "network.source_embeddings.table.weight = weight",
            "network.target_embeddings.table.weight = nn.Parameter(weight.detach().clone())",
        ),
    ],
    observed="Source and output share one parameter. The target's embeddings have a copy of its "
    "numbers, and drift away from it with the first training step.",
    change="Assign the parameter itself to `network.target_embeddings.table.weight`.",
)
tie.mistake(
    "the output shares the numbers, but not the parameter",
    edits=[("output.weight = weight", "output.weight = nn.Parameter(weight.data)")],
    observed="The embeddings share one parameter. The output layer has another one in the same "
    "memory: it is counted again, and Adam would move the numbers twice in a step.",
    change="Assign the parameter itself: `network.output.weight = ...`, without `.data`.",
)
tie.mistake(
    "the output layer is replaced by the embeddings' table",
    edits=[("network.output.weight = weight", "network.output = network.target_embeddings.table")],
    observed="`network.output` is an `nn.Embedding` now: it looks ids up and cannot score vectors, "
    "so the network no longer runs.",
    change="Keep the `nn.Linear` and give it the weight: `network.output.weight = ...`.",
)

# The numbers in the table

tie.mistake(
    "the shared table is multiplied by sqrt(d_model)",
    edits=[
        (
            "network.target_embeddings.table.weight",
            "network.target_embeddings.table.weight\n    weight.data *= weight.shape[1] ** 0.5",
        )
    ],
    observed="The numbers are sqrt(d_model) times as large as they were: twice with d_model = 4. "
    "The look-up multiplies by sqrt(d_model) already.",
    change="Leave the numbers as they are.",
)
tie.mistake(
    "the shared table is divided by sqrt(d_model)",
    edits=[
        (
            "network.target_embeddings.table.weight",
            "network.target_embeddings.table.weight\n    weight.data /= weight.shape[1] ** 0.5",
        )
    ],
    observed="The numbers are smaller than they were by sqrt(d_model): half with d_model = 4. The "
    "table of the embeddings is made for both uses already.",
    change="Leave the numbers as they are.",
)
tie.mistake(
    "the shared table is no longer trained",
    edits=[
        (
            "network.target_embeddings.table.weight",
            "network.target_embeddings.table.weight.requires_grad_(False)",
        )
    ],
    observed="The table gets no gradient. `nn.Embedding.from_pretrained` freezes its table too.",
    change="Assign the parameter as it is; for `from_pretrained`, say `freeze=False`.",
)
tie.mistake(
    "the output gets the table that the target had before",
    edits=[
        (
            "network.source_embeddings.table.weight = weight",
            "network.target_embeddings.table.weight = network.source_embeddings.table.weight",
        )
    ],
    observed="Source and target share one table, and the output has another: it was tied before "
    "the target's table was replaced.",
    change="Replace the target's table first, or leave it and give it to the other two.",
)
tie.mistake(
    "the output layer is replaced by the embeddings",
    edits=[("network.output.weight = weight", "network.output = network.target_embeddings")],
    observed="`network.output` is the embeddings now: they look ids up and cannot score vectors.",
    change="Keep the `nn.Linear` and give it the weight: `network.output.weight = ...`.",
)
tie.mistake(
    "a whole module is given to the output's weight",
    edits=[
        (
            "network.output.weight = weight",
            "network.output.weight = network.target_embeddings.table",
        )
    ],
    observed="torch refuses: the table is an `nn.Embedding`, and a weight must be a parameter.",
    change="Go one step further, to its weight: `network.target_embeddings.table.weight`.",
)
