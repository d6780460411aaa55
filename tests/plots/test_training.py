import math
import subprocess
import sys
from types import SimpleNamespace

import IPython
import IPython.display
import pandas as pd
import pytest

from transformer_course.plots import training as pictures
from transformer_course.translation.training.schedule import noam

HISTORY = [
    {"step": 50, "train_loss": 3.0, "dev_loss": 2.5, "dev_exact_match": 0.1},
    {"step": 100, "train_loss": 1.0, "dev_loss": 0.5, "dev_exact_match": 0.9},
]


def lines(axes) -> dict[str, list[float]]:
    return {line.get_label(): list(line.get_ydata()) for line in axes.lines}


@pytest.mark.parametrize("history", [HISTORY, pd.DataFrame(HISTORY)], ids=["rows", "table"])
def test_loss_curves_draw_the_history(history):
    above, below = pictures.loss_curves(history).figure.axes
    assert lines(above) == {"training": [3.0, 1.0], "dev": [2.5, 0.5]}
    assert list(below.lines[0].get_ydata()) == [0.1, 0.9]


def test_the_default_sentence_holds_no_measured_figure():
    assert not any(character.isdigit() for character in pictures.loss_curves(HISTORY).description)


def test_a_loss_that_rises_is_not_said_to_fall():
    assert "falls" in pictures.loss_curves(HISTORY).description
    assert "falls" not in pictures.loss_curves(HISTORY[::-1]).description


@pytest.mark.parametrize(
    ("text", "start"), [("猫" * 75, "猫猫"), ("word " * 20, "word word"), ("", "(nothing)")]
)
def test_of_a_long_sentence_the_beginning_is_shown(text, start):
    shown = pictures._shortened(text)
    assert shown.startswith(start) and len(shown) <= 74
    assert shown.endswith(" ...") == (len(text) > 74)


def test_loss_curves_name_a_missing_column():
    with pytest.raises(ValueError, match="lacks the column dev_exact_match"):
        pictures.loss_curves([{"step": 1, "train_loss": 1.0, "dev_loss": 1.0}])


def test_comparison_draws_each_run():
    runs = {"a": HISTORY, "b": HISTORY[:1]}
    [axes] = pictures.curve_comparison(runs, "dev_loss", "Both fall").figure.axes
    assert lines(axes) == {"a": [2.5, 0.5], "b": [2.5]}


@pytest.mark.parametrize(("bleu", "top"), [(0.45, 10), (40, 42)])
def test_small_bleu_looks_small(bleu, top):
    history = [
        {"step": step, "train_loss": 5.0, "dev_loss": 5.0, "dev_bleu": step * bleu}
        for step in (0, 1)
    ]
    curves = pictures.training_curves(history).figure.axes[1]
    [beside] = pictures.curve_comparison({"a": history}, "dev_bleu", "Title").figure.axes
    assert curves.get_ylim() == pytest.approx((0, top))
    assert beside.get_ylim() == pytest.approx((0, top))


def test_comparison_refuses_an_unknown_column():
    with pytest.raises(ValueError, match="cannot draw 'bleu'; choose one of train_loss"):
        pictures.curve_comparison({"a": HISTORY}, "bleu", "Title")


def test_the_schedules_are_the_papers_with_their_peaks():
    [axes] = pictures.schedule_curves(warmups=(333, 777), d_model=64, steps=2000).figure.axes
    for line, warmup in zip(axes.lines, (333, 777), strict=True):
        drawn = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
        assert max(drawn, key=drawn.get) == warmup
        assert all(rate == noam(int(step), 64, warmup) for step, rate in drawn.items())


def test_padding_bars_say_their_share():
    picture = pictures.padding_waste_bars({"at random": 0.5, "by length": 0.034})
    assert [text.get_text() for text in picture.figure.axes[0].texts] == ["50%", "3%"]
    assert "at random 50%, by length 3%." in picture.description


def test_padding_bars_refuse_percentages():
    with pytest.raises(ValueError, match="from 0 to 1; got 50 for at random"):
        pictures.padding_waste_bars({"at random": 50})


DEV = [("a cat", "un chat"), ("a dog", "un chien"), ("a bee", "une abeille"), ("no", "non")]


def trainer(looks: int, **changes) -> SimpleNamespace:
    """Return what the picture sees of a learner's trainer after so many looks at dev."""
    history = [row | {"said": ["un chat", "le " * 60, ""]} for row in HISTORY[:looks]]
    words = {str(number): number for number in range(90)}
    state = {
        "translator": SimpleNamespace(target=words),
        "dev": DEV,
        "steps": 150,
        "step": 50 * looks,
        "history": history,
        "seconds_left": 7.4,
    }
    return SimpleNamespace(**state | changes)


def sentences(picture) -> list[str]:
    return [text.get_text() for text in picture.figure.axes[2].texts]


def test_learning_is_drawn_with_what_the_translator_says():
    picture = pictures.learning_to_translate(trainer(looks=2))
    above, below, _ = picture.figure.axes
    assert lines(above)["training, smoothed"] == [3.0, 1.0] and lines(above)["dev"] == [2.5, 0.5]
    assert set(lines(above)["knowing nothing, ln V"]) == {math.log(90)}
    assert list(below.lines[0].get_xdata()) == [50, 100]
    assert list(below.lines[0].get_ydata()) == [0.1, 0.9]
    said = sentences(picture)
    assert said[:6] == ["source", "a cat", "right", "un chat", "✓ said", "un chat"]
    assert said[10] == said[16] == "✗ said" and said[17] == "(nothing)"
    assert len(said) == 18 and max(map(len, said)) < 80
    for text in ("✓ said: un chat", "right: un chien", "0.50 nats", "90%"):
        assert text in picture.description


def test_axes_of_learning_stand_still():
    def places(run):
        figure = pictures.learning_to_translate(run).figure
        figure.draw_without_rendering()
        return [(a.get_xlim(), a.get_ylim(), a.get_position().bounds) for a in figure.axes]

    before, after = places(trainer(looks=0)), places(trainer(looks=2))
    assert before == after
    (across, loss, _), (_, quality, _), _ = before
    assert across == (0, 150) and quality[0] == 0 and 1 <= quality[1] < 1.1
    assert loss[0] == 0 and math.log(90) < loss[1] < 1.1 * math.log(90)


@pytest.mark.parametrize(
    ("run", "title"),
    [
        (trainer(looks=0), "Step 0 of 150"),
        (trainer(looks=2), "Step 100 of 150, about 7 s of training left"),
        (trainer(looks=2, seconds_left=0.1), "Step 100 of 150, about 1 s of training left"),
        (trainer(looks=2, steps=100), "Step 100 of 100"),
    ],
)
def test_the_title_says_how_far_it_is(run, title):
    picture = pictures.learning_to_translate(run)
    assert picture.figure.axes[0].get_title(loc="left") == title
    assert picture.description.startswith(f"{title}. ")


def test_a_translation_is_right_only_as_a_whole():
    long = "le chat noir " * 20
    run = trainer(looks=1, dev=[("a", long + "dort")])
    run.history[0]["said"] = [long + "mange"]
    assert "✗ said" in sentences(pictures.learning_to_translate(run))


class Screen:
    """Takes the place of a notebook's output."""

    def __init__(self) -> None:
        self.shown = []

    def display(self, picture, display_id):
        assert display_id is True
        self.shown.append(("new", picture))
        return self

    def update(self, picture) -> None:
        self.shown.append(("again", picture))


@pytest.fixture
def screen(monkeypatch) -> Screen:
    screen = Screen()
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel="there"))
    monkeypatch.setattr(IPython.display, "display", screen.display)
    return screen


def test_the_live_picture_draws_at_most_once_in_an_interval_and_ends_complete(screen):
    with pictures.LiveLossPicture(interval=math.inf) as live:
        live.update(HISTORY[:1])
        live.update(HISTORY)
        assert [kind for kind, _ in screen.shown] == ["new"]
    assert [kind for kind, _ in screen.shown] == ["new", "again"]
    final = screen.shown[-1][1].figure.axes[0]
    assert lines(final)["dev"] == [2.5, 0.5]


def test_the_live_picture_draws_again_when_the_interval_is_over(screen):
    live = pictures.LiveLossPicture(interval=0)
    live.update(HISTORY[:1])
    live.update(HISTORY)
    assert [kind for kind, _ in screen.shown] == ["new", "again"]


def test_the_live_picture_may_be_another_one(screen):
    with pictures.LiveLossPicture(lambda history: len(history)) as live:
        live.update(HISTORY)
    assert [picture for _, picture in screen.shown] == [len(HISTORY)] * 2


def test_a_run_that_never_got_a_row_draws_nothing(screen):
    with pictures.LiveLossPicture():
        pass
    assert screen.shown == []


def test_the_learners_trainer_is_drawn_as_it_is(screen):
    with pictures.LiveLossPicture(pictures.learning_to_translate, interval=0) as live:
        live.update(trainer(looks=0))
    assert screen.shown[0][1].description.startswith("Step 0")


def test_a_stop_is_told_in_a_sentence_and_still_stops(screen):
    with pytest.raises(KeyboardInterrupt) as stop, pictures.LiveLossPicture() as live:
        live.update(HISTORY)
        raise KeyboardInterrupt
    assert stop.value._render_traceback_() == [pictures.STOPPED]
    assert [kind for kind, _ in screen.shown] == ["new", "again"]


def test_an_error_keeps_its_traceback(screen):
    with pytest.raises(ZeroDivisionError) as error, pictures.LiveLossPicture():
        raise ZeroDivisionError
    assert not hasattr(error.value, "_render_traceback_")


def test_outside_a_notebook_the_live_picture_needs_no_ipython():
    code = (
        "import sys; sys.modules['IPython'] = None\n"
        "from transformer_course.plots import LiveLossPicture\n"
        "with LiveLossPicture(interval=0) as live: live.update([{'step': 1}])\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_warm_up_is_drawn_once_and_may_outlast_the_steps():
    picture = pictures.schedule_curves(warmups=(500, 500, 9000), steps=2000)
    assert len(picture.figure.axes[0].lines) == 2
    assert picture.description.endswith("until the warm-up ends.")
