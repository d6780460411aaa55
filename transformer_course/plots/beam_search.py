"""Pictures of beam search: its steps, the tree of its candidates, penalties, wider beams."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import altair as alt
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    CARD,
    GRID,
    INK,
    MUTED,
    SERIES,
    SMALL_SIZE,
    blank_axes,
    check_columns,
    entitle,
    matplotlib_theme,
    titled,
)
from transformer_course.translation.decoding.beam import (
    Hypothesis,
    mean_length,
    search,
)
from transformer_course.translation.decoding.prefix_scorers import PrefixScorer

FATES = {
    "kept": (SERIES[1], "circle"),
    "finished": (SERIES[2], "square"),
    "dropped": (SERIES[3], "cross"),
}
"""What can happen to a candidate of a beam, with its colour and shape."""
TREE_WIDTH, ROW_HEIGHT = 500, 46
MOST_STEPS = 12
"""Longest search whose words stay apart in a tree."""
FEWEST_ROWS = 4
"""Candidates that a step shows at least, so that greedy search has some to drop."""
BEAM_COLUMNS = {
    "log_probability": "log-probability\n(nats)",
    "length": "length (share\nof reference)",
    "bleu": "BLEU\n(0 to 100)",
}
"""What a row of :func:`beam_width_curves` measures."""


def beam_tree(
    decoder: PrefixScorer,
    words: Sequence[str],
    bos: int,
    eos: int,
    limit: int,
    beam: int = 3,
    length_penalty: Callable[[int], float] = mean_length,
    pad: int | None = None,
    title: str = "At each step all candidates compete, whoever their parent is",
) -> alt.LayerChart:
    """Search with a beam and draw the tree of its candidates; the reader steps through it.

    Parameters
    ----------
    decoder
        What reads the prefixes: one row, nothing read yet.
    words
        The vocabulary.
    bos, eos, beam, length_penalty, pad
        As for :func:`~transformer_course.translation.search`.
    limit
        Most tokens, end token included; at most twelve.
    title
        What to see.

    Raises
    ------
    ValueError
        If the search takes more steps than a tree has room for.
    """
    nodes, best, steps = _recorded(
        decoder, words, bos, eos, limit, beam, length_penalty, pad, 2 * beam
    )
    for node in nodes:
        node["total"] = round(node["total"], 2)
    said = " ".join(words[token] for token in best.tokens)
    fates = {fate: sum(node["fate"] == fate for node in nodes) for fate in FATES}
    return titled(
        _tree(nodes, words[bos], steps),
        title,
        f"A tree that grows to the right, one column for each of {steps} steps; the "
        f"{2 * beam} most probable candidates of a step stand below each other with their "
        f"log-probabilities. A slider sets how many steps are shown. Of the candidates shown "
        f"{fates['kept']} were kept, {fates['finished']} finished and {fates['dropped']} dropped. "
        f"The best in the end, drawn with thick lines: {said}, log-probability "
        f"{best.log_probability:.2f}.",
    )


def beam_steps(
    decoder: PrefixScorer,
    words: Sequence[str],
    bos: int,
    eos: int,
    limit: int,
    beam: int = 3,
    length_penalty: Callable[[int], float] = mean_length,
    pad: int | None = None,
    title: str = "At each step the most probable candidates are kept",
) -> alt.LayerChart:
    """Search with a beam and draw one step at a time, from the first; the reader goes on.

    A step's candidates are bars of their probability so far, with the product that makes it.

    Parameters
    ----------
    decoder, words, bos, eos, limit, beam, length_penalty, pad
        As for :func:`beam_tree`.
    title
        What to see.

    Raises
    ------
    ValueError
        If the search takes more than twelve steps.
    """
    rows = max(2 * beam, FEWEST_ROWS)
    nodes, best, steps = _recorded(decoder, words, bos, eos, limit, beam, length_penalty, pad, rows)
    sofar = {"": 0.0} | {node["said"]: node["total"] for node in nodes}
    for node in nodes:
        total, before = node.pop("total"), sofar[node["said"].removesuffix(node["word"]).rstrip()]
        node["probability"] = round(math.exp(total), 3)
        node["product"] = (
            f"{math.exp(before):.2f} \u00b7 {math.exp(total - before):.2f} = "
            f"{math.exp(total):.2f}, {node['fate']}"
        )
    leaders = [f"{node['said']}, {node['product']}" for node in nodes if node["rank"] == 1]
    said = " ".join(words[token] for token in best.tokens)
    return titled(
        _bars(nodes, rows, steps),
        title,
        f"Bars of the {rows} most probable candidates of a step, which a slider sets, from 1 to "
        f"{steps}. Over each bar: what is said so far, and its probability, which is that of its "
        f"beginning times that of its last word. The first candidate of each step: "
        f"{'; '.join(leaders)}. The search returns, with dark outlines: {said}.",
    )


def _recorded(
    decoder: PrefixScorer,
    words: Sequence[str],
    bos: int,
    eos: int,
    limit: int,
    beam: int,
    length_penalty: Callable[[int], float],
    pad: int | None,
    shown: int,
) -> tuple[list[dict[str, Any]], Hypothesis, int]:
    """Search; return the ``shown`` best candidates of each step, what won, and the steps."""
    recorder = _Recorder(decoder)
    with torch.no_grad():
        [[best, *_]] = search(recorder, bos, eos, [limit], beam, length_penalty, 1, pad)
    if len(recorder.steps) > MOST_STEPS:
        raise ValueError(
            f"there is room for {MOST_STEPS} steps; this search took {len(recorder.steps)}. "
            f"Choose a shorter sentence, or a smaller limit."
        )
    nodes = list(_candidates(recorder.steps, best, eos, pad, beam, limit, shown))
    for node in nodes:
        said = [words[token] for token in node.pop("prefix")]
        node.update(word=said[-1], said=" ".join(said))
    return nodes, best, len(recorder.steps)


class _Step(NamedTuple):
    """What a search knew when it asked for the next tokens."""

    prefixes: list[tuple[int, ...]]
    totals: list[float]
    log_probabilities: Float[Tensor, "rows vocab"]


class _Recorder:
    """A decoder that notes down what a search asks of another one."""

    def __init__(self, decoder: PrefixScorer) -> None:
        self.decoder = decoder
        self.steps: list[_Step] = []
        self.parents: list[int] = []

    def step(self, tokens: Int[Tensor, "rows"]) -> Float[Tensor, "rows vocab"]:
        """Pass the tokens on, and note each row's prefix and its log-probability."""
        logits = self.decoder.step(tokens)
        prefixes, totals = self._grown(tokens.tolist())
        self.steps.append(_Step(prefixes, totals, logits.log_softmax(dim=-1)))
        self.parents = list(range(len(tokens)))
        return logits

    def _grown(self, tokens: list[int]) -> tuple[list[tuple[int, ...]], list[float]]:
        if not self.steps:  # the first token is the begin token, which nobody chose
            return [()], [0.0]
        last = self.steps[-1]
        rows = list(zip(self.parents, tokens, strict=True))
        return (
            [(*last.prefixes[parent], token) for parent, token in rows],
            [last.totals[row[0]] + float(last.log_probabilities[row]) for row in rows],
        )

    def reorder(self, parents: Int[Tensor, "rows"]) -> None:
        """Pass on which rows go on."""
        self.decoder.reorder(parents)
        self.parents = parents.tolist()


def _candidates(
    steps: Sequence[_Step],
    best: Hypothesis,
    eos: int,
    pad: int | None,
    beam: int,
    limit: int,
    shown: int,
) -> Iterator[dict[str, Any]]:
    """Yield a record for each of the ``shown`` most probable candidates of each step."""
    winner = (*best.tokens, eos)
    ranks: dict[tuple[int, ...], int] = {(): 1}
    for number, step in enumerate(steps, start=1):
        followed = set(steps[number].prefixes) if number < len(steps) else set()
        parents, ranks = ranks, {}
        ranked = _ranked(step, pad, followed | {winner[:number]})[:shown]
        for rank, (total, tokens) in enumerate(ranked, start=1):
            ends = rank <= beam and (tokens[-1] == eos or len(tokens) == limit)
            ranks[tokens] = rank
            yield {
                "step": number,
                "rank": rank,
                "parent": parents[tokens[:-1]],
                "prefix": tokens,
                "total": total,
                "fate": "finished" if ends else "kept" if tokens in followed else "dropped",
                "best": winner[: len(tokens)] == tokens,
            }


def _ranked(
    step: _Step, pad: int | None, first: set[tuple[int, ...]]
) -> list[tuple[float, tuple[int, ...]]]:
    """Return a step's candidates, the most probable first; of equal ones, those in ``first``."""
    candidates = [
        (total + log_probability, (*prefix, token))
        for prefix, total, row in zip(*step[:2], step.log_probabilities.tolist(), strict=True)
        for token, log_probability in enumerate(row)
        if token != pad and log_probability > -torch.inf
    ]
    return sorted(candidates, key=lambda candidate: (-candidate[0], candidate[1] not in first))


def _tree(nodes: list[dict[str, Any]], root: str, steps: int) -> alt.LayerChart:
    rows = max(node["rank"] for node in nodes)
    slider = alt.binding_range(min=1, max=steps, step=1, name="steps: ")
    base = (
        alt.Chart(width=TREE_WIDTH, height=ROW_HEIGHT * rows)
        .transform_filter("datum.step <= steps_shown")
        .transform_calculate(before="datum.step - 1")
        .encode(
            x=alt.X(
                "step:Q",
                title="step",
                scale=alt.Scale(domain=[-0.5, steps + 0.5], nice=False),
                axis=alt.Axis(values=list(range(steps + 1)), grid=False, format="d"),
            ),
            y=alt.Y(
                "rank:Q",
                title="rank among the candidates of the step",
                scale=alt.Scale(domain=[rows + 0.6, 0.4], nice=False),
                axis=alt.Axis(values=list(range(1, rows + 1)), grid=False),
            ),
        )
    )
    edges = base.transform_filter("isValid(datum.parent)")
    shown = edges.encode(
        color=alt.Color(
            "fate:N",
            title="candidate",
            scale=_fates(0),
            legend=alt.Legend(orient="bottom", symbolOpacity=1, symbolStrokeWidth=2),
        )
    )
    marks = shown.mark_point(filled=True, size=90, opacity=1).encode(
        shape=alt.Shape("fate:N", title="candidate", scale=_fates(1)),
        tooltip=[
            alt.Tooltip("said:N", title="so far"),
            alt.Tooltip("total:Q", title="log-probability", format=".2f"),
            alt.Tooltip("rank:Q"),
            alt.Tooltip("fate:N", title="candidate"),
        ],
    )
    return alt.layer(
        edges.mark_rule().encode(
            x2="before:Q",
            y2="parent:Q",
            color=alt.condition("datum.fate == 'dropped'", alt.value(GRID), alt.value(MUTED)),
            strokeWidth=alt.condition("datum.best", alt.value(3.5), alt.value(1.2)),
        ),
        marks,
        *_words_on_a_halo(base, "word:N", dy=-13, size=SMALL_SIZE, colour=INK),
        *_words_on_a_halo(edges, "total:Q", dy=14, size=SMALL_SIZE - 1, colour=MUTED),
        data=alt.Data(values=[{"step": 0, "rank": 1, "word": root}, *nodes]),
    ).add_params(alt.param(name="steps_shown", value=steps, bind=slider))


def _bars(nodes: list[dict[str, Any]], rows: int, steps: int) -> alt.LayerChart:
    slider = alt.binding_range(min=1, max=steps, step=1, name="step: ")
    base = (
        alt.Chart(width=TREE_WIDTH, height=ROW_HEIGHT * rows)
        .transform_filter("datum.step == step_shown")
        .encode(
            y=alt.Y(
                "rank:Q",
                title="rank",
                scale=alt.Scale(domain=[rows + 0.5, 0.3], nice=False),
                axis=alt.Axis(values=list(range(1, rows + 1)), grid=False),
            )
        )
    )
    bars = base.mark_bar(orient="horizontal", size=14).encode(
        x=alt.X(
            "probability:Q", title="probability of the words so far", scale=alt.Scale(domain=[0, 1])
        ),
        color=alt.Color(
            "fate:N", title="candidate", scale=_fates(0), legend=alt.Legend(orient="bottom")
        ),
        stroke=alt.condition("datum.best", alt.value(INK), alt.value(None)),
        strokeWidth=alt.value(2.5),
        tooltip=[
            alt.Tooltip("said:N", title="so far"),
            alt.Tooltip("product:N", title="probability"),
            alt.Tooltip("rank:Q"),
        ],
    )
    over = base.mark_text(align="left", x=3, dy=-15, fontSize=SMALL_SIZE, color=INK)
    right = base.mark_text(align="right", x=TREE_WIDTH, dy=-15, fontSize=SMALL_SIZE, color=MUTED)
    caption = alt.Chart(alt.Data(values=[{}])).mark_text(
        text=alt.ExprRef(f"'step ' + step_shown + ' of {steps}'"), align="left", x=0, y=-10
    )
    return alt.layer(
        bars,
        over.encode(text="said:N"),
        right.encode(text="product:N"),
        caption,
        data=alt.Data(values=nodes),
    ).add_params(alt.param(name="step_shown", value=1, bind=slider))


def _words_on_a_halo(
    nodes: alt.Chart, field: str, dy: float, size: float, colour: str
) -> Iterator[alt.Chart]:
    """Yield words, and below them their thick white outline, which hides lines behind them."""
    text = alt.Text(field, format=".2f") if field.endswith(":Q") else alt.Text(field)
    for look in ({"stroke": CARD, "strokeWidth": 3}, {"color": colour}):
        yield nodes.mark_text(dy=dy, fontSize=size, **look).encode(text=text)


def _fates(part: int) -> alt.Scale:
    return alt.Scale(domain=list(FATES), range=[look[part] for look in FATES.values()])


@matplotlib_theme()
def beam_width_curves(
    frame: pd.DataFrame,
    title: str = "A wider beam: more probable, shorter, worse",
) -> Picture:
    """Draw what a wider beam finds, one panel for each measure.

    Parameters
    ----------
    frame
        One row for each beam: columns ``beam``, ``log_probability`` (mean over the sentences),
        ``length`` (words, as a share of the reference's) and ``bleu``.
    title
        What to see.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    check_columns(frame, ("beam", *BEAM_COLUMNS))
    panels = blank_axes(height=440, rows=len(BEAM_COLUMNS))
    for axes, (column, name) in zip(panels, BEAM_COLUMNS.items(), strict=True):
        axes.plot(frame["beam"], frame[column], marker="o", color=SERIES[1])
        axes.set(ylabel=name)
        axes.margins(y=0.2)
    panels[-1].set_xscale("log", base=2)
    panels[-1].set(xlabel="beam (hypotheses kept at each step)")
    panels[-1].set_xticks(frame["beam"], frame["beam"])
    panels[-1].minorticks_off()
    panels[0].figure.align_ylabels()
    entitle(panels[0], title)
    return Picture(
        panels[0].figure,
        f"{title}. Three lines against the beam, from {frame['beam'].min()} to "
        f"{frame['beam'].max()}: the mean log-probability, the length compared with the "
        f"reference, and BLEU.",
    )
