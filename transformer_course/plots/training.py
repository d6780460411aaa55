"""Pictures of training: whether the loss falls, and what moves it.

Measured figures stay out of the default sentences: they differ from one computer to the next.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from transformer_course.plots.renderer import Picture, in_notebook
from transformer_course.plots.theme import (
    INK,
    MUTED,
    SERIES,
    SMALL_SIZE,
    blank_axes,
    check_columns,
    entitle,
    line_styles,
    matplotlib_theme,
    points,
)
from transformer_course.translation.training.schedule import noam

History: TypeAlias = Sequence[Mapping[str, float | int]] | pd.DataFrame
"""A training run's rows: ``Trainer.history``, or the table of its ``metrics.csv``."""

COLUMNS = {
    "train_loss": "training loss (nats per token)",
    "dev_loss": "dev loss (nats per token)",
    "dev_exact_match": "sentences exactly right",
    "dev_bleu": "BLEU on dev (0 to 100)",
    "learning_rate": "learning rate",
}
"""What a column of a history measures, and in which unit."""
LEAST_BLEU = 10
"""How far an axis of BLEU reaches at least: up to there a translator is as good as useless."""
MOST_CHARACTERS = 74
"""Characters of a line below the losses."""
STOPPED = "Stopped. Run this cell again to go on."


@matplotlib_theme()
def loss_curves(
    history: History,
    title: str | None = None,
) -> Picture:
    """Draw a training run: the losses above, the share of dev sentences exactly right below.

    Parameters
    ----------
    history
        Rows with ``step``, ``train_loss``, ``dev_loss`` and ``dev_exact_match``, as in
        ``Trainer.history``.
    title
        What to see; by default that the loss falls, if it does.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    title = title or _what_it_learns(_frame(history, "dev_loss", "dev_exact_match"))
    below, description = _under_losses(history, "dev_exact_match", title)
    below.set(ylim=(0, 1.04))
    below.yaxis.set_major_formatter(PercentFormatter(1))
    return Picture(
        below.figure, f"{description} the share of dev sentences translated exactly right."
    )


def _what_it_learns(frame: pd.DataFrame) -> str:
    learns = len(frame) < 2 or (
        frame["dev_loss"].iloc[-1] < frame["dev_loss"].iloc[0]
        and frame["dev_exact_match"].iloc[-1] >= frame["dev_exact_match"].iloc[0]
    )
    if learns:
        return "The loss falls, and more and more sentences come out right"
    return "The losses, and the share of sentences that come out right"


@matplotlib_theme()
def training_curves(history: History, title: str = "Losses and BLEU of a training") -> Picture:
    """Draw a training run on real text: the losses above, BLEU on the dev split below.

    Parameters
    ----------
    history
        Rows with ``step``, ``train_loss``, ``dev_loss`` and ``dev_bleu``, as in
        ``Trainer.history``.
    title
        What to see.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    below, description = _under_losses(history, "dev_bleu", title)
    _from_nothing(below, "dev_bleu")
    return Picture(below.figure, f"{description} BLEU on the dev split, 0 to 100.")


def _under_losses(history: History, column: str, title: str) -> tuple[Axes, str]:
    """Draw the losses, and a column below; return the lower axes and a text alternative."""
    losses = {"training": "train_loss", "dev": "dev_loss"}
    frame = _frame(history, *losses.values(), column)
    above, below = blank_axes(height=440, rows=2)
    for name, style in line_styles(list(losses)).items():
        above.plot(frame["step"], frame[losses[name]], marker=".", **style)
    above.set(ylabel="loss (nats per token)", ylim=(0, None))
    above.legend()
    below.plot(frame["step"], frame[column], marker=".", color=SERIES[1])
    below.set(xlabel="training step (updates)", ylabel=COLUMNS[column])
    entitle(above, title)
    return below, (
        f"{title}. Against the training step: above, the loss on the training and the dev "
        f"sentences; below,"
    )


def _from_nothing(axes: Axes, column: str) -> None:
    """Let an axis begin at 0, and let a small BLEU look small."""
    least = LEAST_BLEU if column == "dev_bleu" else 0
    axes.set(ylim=(0, max(axes.get_ylim()[1], least)))


@matplotlib_theme()
def curve_comparison(histories: Mapping[str, History], column: str, title: str) -> Picture:
    """Draw one measure of several training runs.

    Parameters
    ----------
    histories
        A run's name and its ``Trainer.history``; at most four.
    column
        ``"train_loss"``, ``"dev_loss"``, ``"dev_exact_match"``, ``"dev_bleu"`` or
        ``"learning_rate"``.
    title
        What to see.

    Raises
    ------
    ValueError
        If there are too many runs, or the column is unknown or missing.
    """
    if column not in COLUMNS:
        raise ValueError(f"cannot draw {column!r}; choose one of {', '.join(COLUMNS)}.")
    [axes] = blank_axes()
    for name, style in line_styles(list(histories)).items():
        frame = _frame(histories[name], column)
        axes.plot(frame["step"], frame[column], marker=".", **style)
    axes.set(xlabel="training step (updates)", ylabel=COLUMNS[column])
    _from_nothing(axes, column)
    if column == "dev_exact_match":
        axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.legend()
    entitle(axes, title)
    return Picture(
        axes.figure,
        f"{title}. Lines of {COLUMNS[column]} against the training step for "
        f"{', '.join(histories)}.",
    )


@matplotlib_theme()
def schedule_curves(
    warmups: Sequence[int] = (1000, 4000, 8000), d_model: int = 512, steps: int = 20_000
) -> Picture:
    """Draw the paper's learning rate (section 5.3) for several lengths of the warm-up, in steps.

    Raises
    ------
    ValueError
        If there are too many warm-ups to tell apart, or one is below 1.
    """
    warmups = [*dict.fromkeys(warmups)]
    [axes] = blank_axes()
    # Peaks are where the curve bends: a grid of steps must not miss them.
    drawn = sorted(
        {*range(1, steps + 1, max(1, steps // 200)), *(w for w in warmups if w <= steps)}
    )
    styles = line_styles([f"{warmup:,} steps" for warmup in warmups])
    for warmup, style in zip(warmups, styles.values(), strict=True):
        axes.plot(drawn, [noam(step, d_model, warmup) for step in drawn], **style)
    axes.set(xlabel="training step (updates)", ylabel="learning rate", ylim=(0, None))
    axes.legend(title="warm-up")
    entitle(axes, "The longer the warm-up, the later and lower the peak")
    ends = max(warmups) < steps
    falls = " and then falls as 1 / sqrt(step), all on the same curve" if ends else ""
    return Picture(
        axes.figure,
        f"The learning rate against the training step for warm-ups of "
        f"{', '.join(map(str, warmups))} steps (d_model = {d_model}). Each rises in a straight "
        f"line until the warm-up ends{falls}.",
    )


@matplotlib_theme()
def padding_waste_bars(
    waste: Mapping[str, float], title: str = "Batches of similar lengths waste less on padding"
) -> Picture:
    """Draw which share of the positions is padding, for several ways to form batches.

    Parameters
    ----------
    waste
        A way's name and its share of padding, 0 to 1.
    title
        What to see.

    Raises
    ------
    ValueError
        If a share is not in 0 to 1.
    """
    for name, share in waste.items():
        if not 0 <= share <= 1:
            raise ValueError(f"a share of padding is a number from 0 to 1; got {share} for {name}.")
    [axes] = blank_axes(height=110 + 45 * len(waste))
    bars = axes.barh(list(waste), list(waste.values()), color=SERIES[1], height=0.6)
    axes.bar_label(bars, fmt="{:.0%}", padding=4)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.set(xlabel="positions that are padding", ylabel="batches", xlim=(0, 1))
    entitle(axes, title)
    shares = ", ".join(f"{name} {share:.0%}" for name, share in waste.items())
    return Picture(axes.figure, f"{title}. Share of positions that are padding: {shares}.")


class Trainer(Protocol):
    """A run of ``my_transformer.py``, as far as its picture asks."""

    translator: Any
    dev: Sequence[tuple[str, str]]
    steps: int
    step: int
    history: Sequence[Mapping[str, Any]]
    seconds_left: float


@matplotlib_theme()
def learning_to_translate(trainer: Trainer) -> Picture:
    """Draw a run of the learner's own trainer, with what it says by now, on axes that stand still.

    Parameters
    ----------
    trainer
        The ``Trainer`` of ``my_transformer.py``, before, during or after its training.
    """
    ignorance = math.log(len(trainer.translator.target))
    above, below, words = blank_axes(height=640, rows=3)
    losses = {"training, smoothed": "train_loss", "dev": "dev_loss"}
    for name, style in line_styles(list(losses)).items():
        _line(above, trainer, losses[name], **style)
    above.axhline(ignorance, color=MUTED, linestyle=":", label="knowing nothing, ln V")
    above.set(ylabel="loss (nats per word)", ylim=(0, 1.05 * ignorance), xlim=(0, trainer.steps))
    above.legend(loc="upper right", bbox_to_anchor=(1, 0.92))
    _line(below, trainer, "dev_exact_match", color=SERIES[1])
    below.set(ylabel=COLUMNS["dev_exact_match"], ylim=(0, 1.04), xlabel="training step (updates)")
    below.yaxis.set_major_formatter(PercentFormatter(1))
    below.tick_params(labelbottom=True)
    lines = _translations(trainer)
    _write(words, lines)
    entitle(above, _how_far(trainer))
    spoken = "; ".join(f"{name}: {text}" for name, text in lines)
    return Picture(
        above.figure,
        f"{_how_far(trainer)}. Against the training step: above, the loss on the training and the "
        f"dev sentences; below, the share of dev sentences translated exactly right"
        f"{_last_figures(trainer)}. Three of the sentences: {spoken}.",
    )


def _line(axes: Axes, trainer: Trainer, column: str, **style: Any) -> None:
    steps, values = ([row[name] for row in trainer.history] for name in ("step", column))
    axes.plot(steps, values, marker=".", **style)


def _how_far(trainer: Trainer) -> str:
    """Say which step it is and, if any are left, how long they will take."""
    far = f"Step {trainer.step:,} of {trainer.steps:,}"
    if not 0 < trainer.step < trainer.steps:
        return far
    return f"{far}, about {max(1, round(trainer.seconds_left))} s of training left"


def _last_figures(trainer: Trainer) -> str:
    if not trainer.history:
        return ""
    row = trainer.history[-1]
    return f"; now {row['dev_loss']:.2f} nats on dev, and {row['dev_exact_match']:.0%}"


def _translations(trainer: Trainer) -> list[tuple[str, str]]:
    """Return the lines of three dev sentences with their names, cut to the picture's width."""
    lines = []
    said = trainer.history[-1]["said"] if trainer.history else [None] * 3
    for (source, right), text in zip(trainer.dev, said, strict=False):
        lines += [("source", _shortened(source)), ("right", _shortened(right))]
        mark = "✓" if text == right else "✗"
        lines.append(("said", "") if text is None else (f"{mark} said", _shortened(text)))
    return lines


def _shortened(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text or "(nothing)"
    start = text[: MOST_CHARACTERS - 4]
    return f"{start.rpartition(' ')[0] or start} ..."


def _write(axes: Axes, lines: Sequence[tuple[str, str]]) -> None:
    """Write named lines below one another, with a gap after each third."""
    axes.set_axis_off()
    for number, line in enumerate(lines):
        y = 1 - (number + number // 3 / 2) / 10
        colour = MUTED if number % 3 == 0 else INK
        for x, text in zip((-0.02, 0.08), line, strict=True):
            written = axes.text(x, y, text, color=colour, fontsize=points(SMALL_SIZE), va="top")
            written.set_transform(axes.transAxes)
            # A long sentence must not squeeze the axes above.
            written.set_in_layout(False)


class LiveLossPicture:
    """A picture of a run that is still going on, redrawn in the notebook's output.

    Outside a notebook it draws nothing. Leaving the block draws the final state. When the reader
    stops the run, a sentence takes the place of the traceback.

    Parameters
    ----------
    draw
        Makes the picture from what :meth:`update` got: the rows so far, or the trainer itself.
    interval
        Seconds between two drawings, at least.

    Examples
    --------
    >>> with LiveLossPicture() as live:                               # doctest: +SKIP
    ...     Trainer(translator, train, dev, settings, watch=live.update).train()
    """

    def __init__(self, draw: Callable[[Any], Picture] = loss_curves, interval: float = 1.0) -> None:
        self.draw = draw
        self.interval = interval
        self._run: Any = None
        self._drawn = -math.inf
        self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._draw()
        if isinstance(error, KeyboardInterrupt):
            # IPython asks an exception first how it wants to be shown.
            error._render_traceback_ = lambda: [STOPPED]

    def update(self, run: Any) -> None:
        """Take the run so far, and draw it if the last drawing is old enough."""
        self._run = run
        if time.monotonic() - self._drawn >= self.interval:
            self._draw()

    def _draw(self) -> None:
        if self._run is None or not in_notebook():
            return
        # Only notebooks are sure to have IPython.
        from IPython.display import display

        picture = self.draw(self._run)
        if self._handle is None:
            self._handle = display(picture, display_id=True)
        else:
            self._handle.update(picture)
        self._drawn = time.monotonic()


def _frame(history: History, *columns: str) -> pd.DataFrame:
    frame = pd.DataFrame(history)
    check_columns(frame, ("step", *columns))
    return frame
