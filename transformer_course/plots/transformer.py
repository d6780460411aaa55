"""Pictures of the whole model: its forward pass, what it costs, and the tests it must pass."""

from collections.abc import Mapping, Sequence

import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor, nn

from transformer_course.model.transformer import Transformer
from transformer_course.plots.diagram import HEADROOM, MARGIN, arrow, box, canvas, label
from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    CARD,
    COLOURS,
    FIGURE_WIDTH,
    GRID,
    MUTED,
    PIXELS_PER_INCH,
    SERIES,
    SMALL_SIZE,
    TEXT_SIZE,
    blank_axes,
    entitle,
    matplotlib_theme,
    points,
    tinted,
    without_frame,
)
from transformer_course.plots.token_grid import check_tokens

PARTS = {
    "encoder": ("encoder", SERIES[0]),
    "decoder": ("decoder", SERIES[1]),
    "source_embeddings": ("source table", SERIES[2]),
    "target_embeddings": ("target table", SERIES[2]),
    "output": ("output table", SERIES[2]),
}
"""How a bar names and colours the parts of a model; other parts are drawn in grey."""
NARROWEST_NAMED = 0.11
"""Share of the longest bar from which on a part has room for its name."""
MOST_WORDS = 8
"""Up to this many words, a picture compares them one by one."""
BOX = (150, 36)
SOURCE_X, MASK_X, TARGET_X, TARGET_MASK_X = 100, 258, 412, 556


@matplotlib_theme()
def forward_pass(
    network: Transformer,
    source_ids: Int[Tensor, "batch source"],
    target_ids: Int[Tensor, "batch target"],
) -> Picture:
    """Draw the way of two batches of ids through the model, with the shape of each tensor.

    The shapes are those of a real pass.
    """
    shapes = _shapes(network, source_ids, target_ids)
    axes = canvas(420, "From ids to logits: each tensor with its shape")
    for side, stack, x in (("source", "encoder", SOURCE_X), ("target", "decoder", TARGET_X)):
        layers = len(network.get_submodule(stack).layers)
        label(axes, (x, 14), f"{side} ids", bold=True)
        _flow(axes, x, 24, 62, shapes[f"{side}_ids"])
        box(axes, (x, 80), BOX, f"{side} embeddings")
        _flow(axes, x, 98, 134, shapes[f"{side}_embeddings"])
        box(axes, (x, 152), BOX, "+ positions", COLOURS["position"])
        _flow(axes, x, 170, 234, shapes[f"{side}_positions"])
        box(axes, (x, 255), (150, 42), f"{stack}, {layers} layer{'s' if layers > 1 else ''}")
    _masks(axes, shapes)
    _memory(axes, shapes["encoder"])
    _flow(axes, TARGET_X, 276, 322, shapes["decoder"])
    box(axes, (TARGET_X, 340), BOX, "output layer")
    _flow(axes, TARGET_X, 358, 398, shapes["output"])
    label(axes, (TARGET_X, 408), "logits", bold=True)
    return Picture(
        axes.figure,
        f"Diagram of the forward pass. Source ids {shapes['source_ids']} pass through embeddings, "
        f"positions and the encoder and become the memory {shapes['encoder']}. Target ids "
        f"{shapes['target_ids']} pass through embeddings, positions, the decoder, which reads the "
        f"memory, and the output layer, and become logits {shapes['output']}. The padding mask "
        f"{shapes['source_mask']} comes from the source ids and goes to encoder and decoder, the "
        f"target mask {shapes['target_mask']} from the target ids to the decoder.",
    )


def _shapes(network: Transformer, source_ids: Tensor, target_ids: Tensor) -> dict[str, str]:
    """Return the shape of each tensor that a pass hands from part to part."""
    tensors: dict[str, Tensor] = {"source_ids": source_ids, "target_ids": target_ids}

    def keep_output(name: str) -> nn.modules.module.RemovableHandle:
        def keep(_module: nn.Module, _inputs: tuple, output: Tensor) -> None:
            tensors[name] = output

        return network.get_submodule(name).register_forward_hook(keep)

    def keep_masks(_module: nn.Module, inputs: tuple) -> None:
        _, _, tensors["source_mask"], tensors["target_mask"] = inputs

    hooks = [keep_output(name) for name, _ in network.named_children()]
    hooks.append(network.decoder.register_forward_pre_hook(keep_masks))
    try:
        with torch.no_grad():
            network(source_ids, target_ids)
    finally:
        for hook in hooks:
            hook.remove()
    return {name: str(tuple(tensor.shape)) for name, tensor in tensors.items()}


def _flow(axes: Axes, x: float, top: float, bottom: float, shape: str) -> None:
    arrow(axes, (x, top), (x, bottom))
    label(axes, (x + 8, (top + bottom) / 2), shape, MUTED, align="left")


def _masks(axes: Axes, shapes: Mapping[str, str]) -> None:
    """Draw both masks, each from the ids it is made of to the attentions it serves."""
    black = COLOURS["mask"]
    box(axes, (MASK_X, 80), (104, 36), "padding mask", black, SMALL_SIZE)
    arrow(axes, (SOURCE_X + 40, 14), (MASK_X - 10, 62), black, bend=-0.2)
    label(axes, (MASK_X, 107), shapes["source_mask"], MUTED)
    arrow(axes, (MASK_X - 20, 118), (SOURCE_X + 77, 240), black, bend=-0.15)
    arrow(axes, (MASK_X + 20, 118), (TARGET_X - 77, 240), black, bend=0.15)
    box(axes, (TARGET_MASK_X, 164), (90, 36), "target mask", black, SMALL_SIZE)
    arrow(axes, (TARGET_X + 40, 14), (TARGET_MASK_X, 146), black, bend=-0.3)
    label(axes, (TARGET_MASK_X, 191), shapes["target_mask"], MUTED)
    arrow(axes, (TARGET_MASK_X, 202), (TARGET_X + 77, 246), black, bend=-0.2)


def _memory(axes: Axes, shape: str) -> None:
    colour = COLOURS["memory"]
    arrow(axes, (SOURCE_X + 76, 264), (TARGET_X - 77, 264), colour, width=2.4)
    middle = (SOURCE_X + TARGET_X) / 2
    label(axes, (middle, 251), "memory", bold=True)
    label(axes, (middle, 278), shape, MUTED)


@matplotlib_theme()
def parameter_bars(summaries: Mapping[str, Mapping[str, int]], title: str) -> Picture:
    """Draw how many parameters the parts of several models have.

    Parameters
    ----------
    summaries
        A model's name and its :func:`~transformer_course.costs.parameter_summary`.
    title
        What to see.
    """
    longest = max(summary["total"] for summary in summaries.values())
    [axes] = blank_axes(height=110 + 60 * len(summaries))
    for row, summary in enumerate(summaries.values()):
        left = 0
        for part, count in summary.items():
            if part != "total" and count:
                _segment(axes, row, left, part, count, named=count >= NARROWEST_NAMED * longest)
                left += count
        axes.text(left + 0.01 * longest, row, _millions(left), va="center", weight="bold")
    axes.set_yticks(range(len(summaries)), list(summaries))
    axes.set(
        xlabel="parameters (millions)",
        ylabel="model",
        xlim=(0, 1.1 * longest),
        ylim=(len(summaries) - 0.5, -0.5),
    )
    axes.xaxis.set_major_formatter(lambda count, _: f"{count / 1e6:.3g}")
    axes.grid(visible=False, axis="y")
    entitle(axes, title)
    totals = ", ".join(f"{name} {_millions(s['total'])}" for name, s in summaries.items())
    return Picture(
        axes.figure,
        f"{title}. Bars of the parameters of each part. Totals in millions: {totals}.",
    )


def _millions(count: int) -> str:
    """Write a number in millions: 43.9, and 0.02, which is not 0.0."""
    return f"{count / 1e6:.1f}" if count >= 100_000 else f"{count / 1e6:.1g}"


def _segment(axes: Axes, row: int, left: int, part: str, count: int, named: bool) -> None:
    name, colour = PARTS.get(part, (part, MUTED))
    axes.barh(row, count, 0.62, left, color=tinted(colour), edgecolor=colour, linewidth=1.2)
    if named:
        words = f"{name}\n{_millions(count)}"
        size = points(SMALL_SIZE)
        axes.text(left + count / 2, row, words, ha="center", va="center", fontsize=size)


@matplotlib_theme()
def who_catches_whom(table: pd.DataFrame, title: str) -> Picture:
    """Draw which test fails on which model.

    Parameters
    ----------
    table
        True where a test (column) catches a model (row).
    title
        What to see.
    """
    rows, columns = table.shape
    [axes] = _panels(1, 200 + 24 * rows, title)
    for row, model in enumerate(table.index):
        for column, test in enumerate(table.columns):
            _verdict(axes, column, row, caught=bool(table.loc[model, test]))
    names = [str(test).replace("_", " ") for test in table.columns]
    axes.set_xticks(range(columns), names, rotation=45, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(rows), [str(model) for model in table.index])
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("bottom")
    axes.set(
        xlabel="test (a cross: the model fails it)",
        ylabel="model",
        xlim=(-0.5, columns - 0.5),
        ylim=(rows - 0.5, -0.5),
    )
    without_frame(axes)
    caught = "; ".join(
        f"{model} by {', '.join(map(str, tests[tests].index)) or 'none'}"
        for model, tests in table.iterrows()
    )
    return Picture(axes.figure, f"{title}. Caught are: {caught}.")


def _panels(count: int, height: int, title: str) -> list[Axes]:
    """Return axes side by side under one title, which starts at the figure's left edge."""
    below = 1 - HEADROOM / height
    figure = Figure(figsize=(FIGURE_WIDTH / PIXELS_PER_INCH, height / PIXELS_PER_INCH))
    # The title of a panel would make that panel wide, so it has invisible axes of its own.
    heading = figure.add_axes((MARGIN / FIGURE_WIDTH, 0, 1, below))
    heading.set_axis_off()
    entitle(heading, title)
    figure.get_layout_engine().set(rect=(0, 0, 1, below))
    return list(figure.subplots(1, count, squeeze=False)[0])


def _verdict(axes: Axes, column: int, row: int, caught: bool) -> None:
    _cell(axes, column, row, SERIES[1] if caught else CARD, GRID)
    if caught:
        axes.text(column, row, "\u00d7", color=CARD, ha="center", va="center", weight="bold")


def _cell(axes: Axes, column: int, row: int, colour: str, edge: str) -> None:
    axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colour, edgecolor=edge))


@matplotlib_theme()
def mask_panels(
    masks: Mapping[str, Bool[Tensor, "query key"]],
    queries: Sequence[str],
    keys: Sequence[str],
    title: str,
    names: tuple[str, str] = ("query", "key"),
) -> Picture:
    """Draw several masks side by side: open cells are True, crossed-out ones False.

    Parameters
    ----------
    masks
        What a panel shows, and its matrix.
    queries, keys
        The tokens, one for each row and column, the same in all panels.
    title
        What to see.
    names
        What rows and columns are, where they are not queries and keys.

    Raises
    ------
    ValueError
        If a matrix and the tokens do not fit.
    """
    for name, mask in masks.items():
        check_tokens(name, mask.shape, queries, keys)
    panels = _panels(len(masks), 290, title)
    for axes, (name, mask) in zip(panels, masks.items(), strict=True):
        for row, column in torch.cartesian_prod(*map(torch.arange, mask.shape)).tolist():
            _opening(axes, column, row, is_open=bool(mask[row, column]))
        axes.set_xticks(range(len(keys)), keys, rotation=45, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(queries)), queries)
        axes.xaxis.tick_top()
        axes.set_title(name, fontsize=points(TEXT_SIZE))
        axes.set(
            aspect="equal",
            xlabel=names[1],
            ylabel=names[0],
            xlim=(-0.5, len(keys) - 0.5),
            ylim=(len(queries) - 0.5, -0.5),
        )
        without_frame(axes)
    openings = "; ".join(
        f"{name}: {int(mask.sum())} of {mask.numel()} cells" for name, mask in masks.items()
    )
    return Picture(
        panels[0].figure, f"{title}. {names[0]} down, {names[1]} across. Open are: {openings}."
    )


def _opening(axes: Axes, column: int, row: int, is_open: bool) -> None:
    _cell(axes, column, row, CARD if is_open else COLOURS["mask"], MUTED)
    if not is_open:
        axes.text(column, row, "\u00d7", color=CARD, ha="center", va="center")


@matplotlib_theme()
def logits_and_probabilities(
    logits: Float[Tensor, "vocab"], words: Sequence[str], title: str
) -> Picture:
    """Draw the highest logits of one position beside the probabilities that softmax makes of them.

    Parameters
    ----------
    logits
        A score for each word of the vocabulary.
    words
        The vocabulary, in the order of its ids.
    title
        What to see.

    Raises
    ------
    ValueError
        If logits and words do not fit.
    """
    if logits.shape != (len(words),):
        raise ValueError(
            f"a picture needs one logit for each of {len(words)} words; got the shape "
            f"{tuple(logits.shape)}."
        )
    best = logits.topk(min(MOST_WORDS, len(words))).indices.tolist()
    left, right = _panels(2, 120 + 24 * len(best), title)
    for axes, values, name in (
        (left, logits, "logit"),
        (right, logits.softmax(dim=0), "probability"),
    ):
        # By number and not by word, so that a word that comes twice keeps two bars.
        axes.barh(range(len(best)), values.detach()[best].tolist(), 0.6, color=SERIES[1])
        axes.grid(visible=False, axis="y")
        axes.set(xlabel=name, ylabel="word")
        axes.set_yticks(range(len(best)), [words[word] for word in best])
        axes.set_ylim(len(best) - 0.5, -0.5)
    right.set_xlim(0, 1)
    return Picture(
        left.figure,
        f"{title}. Bars for the {len(best)} words with the highest logits: on the left the logits, "
        f"on the right their probabilities, which lie between 0 and 1.",
    )
