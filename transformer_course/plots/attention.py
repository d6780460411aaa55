"""Pictures of attention: who looks at whom, and who must not."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import altair as alt
from jaxtyping import Float
from torch import Tensor

from transformer_course.plots.theme import CARD, INK, SEQUENTIAL, titled
from transformer_course.plots.token_grid import cells, numbers, token_grid

Weights: TypeAlias = Float[Tensor, "query key"]
Attention: TypeAlias = Float[Tensor, "*layers_heads query key"] | Mapping[str, Tensor]
"""Weights of a head, of a layer's heads or of all layers' heads, or the dictionary that
:func:`~transformer_course.model.multi_head_attention.capture_attention` hands out."""

PANELS_WIDTH = 520
"""Width in pixels of the panels of a head grid, the gaps between them included."""
MOST_SPOKEN = 12
"""Up to this many tokens, a description goes through them one by one."""


def attention_heatmap(
    attention: Attention,
    queries: Sequence[str],
    keys: Sequence[str],
    layer: str = "",
    sentence: int = 0,
    title: str = "The brightest cell of a row is where that query looks",
) -> alt.LayerChart:
    """Draw the attention weights of one head; if there are several, the reader chooses.

    Parameters
    ----------
    attention
        Weights, 0 to 1, with axes (query, key), (heads, query, key) or (layers, heads, query,
        key); or a dictionary from a layer's path to weights (batch, heads, query, key).
    queries, keys
        The tokens, one for each row and column.
    layer
        With a dictionary: draw the layers whose path contains this, such as
        ``"cross_attention"`` or ``"decoder.layers.0"``.
    sentence
        With a dictionary: the sentence's number in the batch.
    title
        What to see.

    Raises
    ------
    ValueError
        If tokens and weights do not fit, no layer matches, or a weight is not in 0 to 1.
    """
    heads = _heads(_layers(attention, layer, sentence))
    first = next(iter(heads))
    grid = _weight_grid(heads, queries, keys)
    if len(heads) > 1:
        choice = alt.binding_select(options=list(heads), name="layer and head: ")
        grid = grid.add_params(alt.param(name="shown", value=first, bind=choice))
        grid = grid.transform_filter("datum.matrix == shown")
    which = "" if list(heads) == ["head 0"] else f" ({first})"
    description = (
        f"Heatmap of attention weights{which}, queries down, keys across. "
        f"{_strongest(heads[first], queries, keys)}"
    )
    return titled(_cells(grid) + _numbers(grid), title, description)


def head_grid(
    attention: Attention,
    queries: Sequence[str],
    keys: Sequence[str],
    layer: str = "",
    title: str = "Each head looks in its own way",
) -> alt.FacetChart:
    """Draw the attention weights of one layer's heads side by side.

    Parameters and errors are those of :func:`attention_heatmap`; ``layer`` must single out one
    layer, a tensor must have the axes (heads, query, key), and of a batch the first sentence is
    drawn.
    """
    layers = _layers(attention, layer, sentence=0)
    if len(layers) > 1:
        raise ValueError(
            f"head_grid draws one layer; got {len(layers)}: {', '.join(layers)}. Give the path of "
            f"one as `layer`, or index the tensor."
        )
    [(path, weights)] = layers.items()
    heads = {f"head {number}": head for number, head in enumerate(weights)}
    columns = min(len(heads), 4)
    grid = _weight_grid(heads, queries, keys, width=PANELS_WIDTH // columns - 26)
    description = (
        f"{len(heads)} heatmaps of attention weights{f' of {path}' if path else ''}, one for each "
        f"head, queries down, keys across."
    )
    header = alt.Header(labelOrient="bottom")
    heading = alt.Facet("matrix:N", title=None, sort=list(heads), header=header)
    return titled(_cells(grid).facet(heading, columns=columns), title, description)


def alignment_against_gold(
    weights: Weights,
    gold: Iterable[tuple[int, int]],
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    title: str = "",
) -> alt.LayerChart:
    """Draw cross-attention with the cells of the gold alignment outlined.

    Parameters
    ----------
    weights
        Weights, 0 to 1, with axes (target, source), such as the mean over heads. Row ``t``
        belongs to the prediction of target token ``t``.
    gold
        Pairs (source word, target word), counted from 0, as in ``SentencePair.alignment``.
    source_tokens, target_tokens
        The tokens, one for each column and row.
    title
        What to see; left out, it counts the hits.

    Raises
    ------
    ValueError
        If tokens and weights do not fit, a weight is not in 0 to 1, or a gold pair points outside
        the sentence.
    """
    weights = _checked("cross-attention", weights)
    grid = _weight_grid(
        {"cross-attention": weights}, target_tokens, source_tokens, ("target token", "source token")
    )
    links = {(target, source) for source, target in gold}
    for target, source in links:
        if target not in range(len(target_tokens)) or source not in range(len(source_tokens)):
            raise ValueError(
                f"the gold pair (source {source}, target {target}) points outside a sentence of "
                f"{len(source_tokens)} source and {len(target_tokens)} target tokens."
            )
    aligned = {target for target, _ in links}
    hits = sum((target, int(weights[target].argmax())) in links for target in aligned)
    finding = f"Outlined: gold. The strongest weight agrees for {hits} of {len(aligned)} words"
    gold_cells = sorted(target * len(source_tokens) + source for target, source in links)
    gold_grid = grid.transform_filter(alt.FieldOneOfPredicate("cell", gold_cells))
    # Dark and light together stand out from every colour of the map.
    outlines = [
        gold_grid.mark_rect(filled=False, stroke=colour, strokeWidth=width)
        for colour, width in ((INK, 6), (CARD, 2.5))
    ]
    description = (
        f"Heatmap of cross-attention, target tokens down, source tokens across. {finding}. "
        f"{_strongest(weights, target_tokens, source_tokens)}"
    )
    return titled(alt.layer(_cells(grid), *outlines, _numbers(grid)), title or finding, description)


def _layers(
    attention: Attention, layer: str, sentence: int
) -> dict[str, Float[Tensor, "heads query key"]]:
    """Bring every way to hand in weights to one form: a layer's name and its heads' weights."""
    if isinstance(attention, Mapping):
        return {
            path: _checked(path, _sentence(path, weights, sentence))
            for path, weights in _matching(attention, layer).items()
        }
    weights = _checked("attention", attention)
    if weights.dim() == 4:
        return {f"layer {number}": heads for number, heads in enumerate(weights)}
    if weights.dim() == 3:
        return {"": weights}
    return {"": _last_two_axes(weights)[None]}


def _matching(maps: Mapping[str, Tensor], layer: str) -> dict[str, Tensor]:
    matching = {path: weights for path, weights in maps.items() if layer in path}
    if not matching:
        raise ValueError(
            f"no captured layer has {layer!r} in its path; captured were: {', '.join(maps)}."
        )
    return matching


def _sentence(path: str, weights: Tensor, sentence: int) -> Tensor:
    if sentence not in range(len(weights)):
        raise ValueError(f"{path} has {len(weights)} sentences, counted from 0; got {sentence}.")
    return weights[sentence]


def _last_two_axes(matrix: Tensor) -> Tensor:
    while matrix.dim() > 2 and len(matrix) == 1:
        matrix = matrix[0]
    if matrix.dim() != 2:
        raise ValueError(
            f"a picture needs a matrix with axes (query, key); got the shape "
            f"{tuple(matrix.shape)}. Choose one sentence and one head, for example `[0, 0]`."
        )
    return matrix


def _checked(name: str, weights: Tensor) -> Tensor:
    # Comparisons with NaN are false, so NaN is refused too.
    if not ((weights >= 0) & (weights <= 1 + 1e-4)).all():
        raise ValueError(
            f"{name}: attention weights are numbers from 0 to 1; got {float(weights.min()):.3g} "
            f"to {float(weights.max()):.3g}. Are these scores before the softmax?"
        )
    return weights.detach().cpu()


def _heads(layers: Mapping[str, Float[Tensor, "heads query key"]]) -> dict[str, Weights]:
    """Name each head, and add each layer's mean over heads."""
    named = {}
    for path, weights in layers.items():
        prefix = f"{path}, " if path else ""
        named |= {f"{prefix}head {number}": head for number, head in enumerate(weights)}
        if len(weights) > 1:
            named[f"{prefix}mean of heads"] = weights.mean(dim=0)
    return named


def _weight_grid(
    heads: Mapping[str, Weights],
    rows: Sequence[str],
    columns: Sequence[str],
    names: tuple[str, str] = ("query", "key"),
    **options: int,
) -> alt.Chart:
    weight = alt.Tooltip("value:Q", title="weight", format=".2f")
    return token_grid(heads, rows, columns, names, weight, **options)


def _cells(grid: alt.Chart) -> alt.Chart:
    return cells(grid, "weight", alt.Scale(scheme=SEQUENTIAL, domain=[0, 1]))


def _numbers(grid: alt.Chart) -> alt.Chart:
    return numbers(grid, dark="datum.value < 0.5")


def _strongest(weights: Weights, rows: Sequence[str], columns: Sequence[str]) -> str:
    if len(rows) > MOST_SPOKEN:
        return f"{len(rows)} rows, {len(columns)} columns."
    most, best = (found.tolist() for found in weights.max(dim=1))
    looks = [
        f"{row} to {columns[column] if weight else 'none'}"
        for row, weight, column in zip(rows, most, best, strict=True)
    ]
    return f"Strongest: {'; '.join(looks)}."
