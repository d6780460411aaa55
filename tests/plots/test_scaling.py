import pandas as pd
import pytest

from transformer_course.plots.scaling import scaling_curves

X, Y = "length (tokens)", "time (times that of 2 tokens)"
FRAME = pd.DataFrame(
    [(n, n**power, name) for name, power in (("flat", 0), ("square", 2)) for n in (2, 4, 8)],
    columns=[X, Y, "part"],
)


def picture(frame=FRAME, **options):
    return scaling_curves(frame, X, Y, "part", "One grows", **options)


def names(axes):
    return {text.get_text(): text for text in axes.texts}


def test_each_line_holds_the_points_of_its_series():
    [axes] = picture().figure.axes
    flat, square = axes.lines
    assert list(flat.get_xdata()) == list(square.get_xdata()) == [2, 4, 8]
    assert list(flat.get_ydata()) == [1, 1, 1]
    assert list(square.get_ydata()) == [4, 16, 64]


def test_the_axes_say_what_the_columns_are_called():
    [axes] = picture().figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == (X, Y)
    assert list(axes.get_xticks()) == [2, 4, 8]


@pytest.mark.parametrize(
    ("log", "scales"),
    [("xy", ("log", "log")), ("x", ("log", "linear")), ("", ("linear", "linear"))],
)
def test_axes_are_logarithmic_where_asked(log, scales):
    [axes] = picture(log=log).figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == scales


def test_numbers_are_written_out():
    axes = picture().figure.axes[0]
    write = axes.yaxis.get_major_formatter()
    assert [write(number, 0) for number in (1000, 1, 1e-6)] == ["1000", "1", "0.000001"]


def minor_numbers(scaled):
    axes = scaled.figure.axes[0]
    axes.figure.canvas.draw()
    return [text.get_text() for text in axes.get_yticklabels(minor=True) if text.get_text()]


def test_within_a_decade_the_minor_ticks_are_numbered_and_written_out():
    within_a_decade = FRAME.assign(**{Y: [0.2, 0.4, 0.5, 0.3, 0.6, 0.7]})
    numbers = minor_numbers(picture(within_a_decade, log="y"))
    assert {"0.2", "0.3", "0.4", "0.6"} <= set(numbers)
    assert all(float(number) > 0 for number in numbers)


def test_over_several_decades_only_powers_of_ten_are_numbered():
    assert minor_numbers(picture(FRAME.assign(**{Y: FRAME[Y] ** 3}), log="y")) == []


def test_lines_are_named_at_their_ends_in_their_colour():
    [axes] = picture().figure.axes
    for line in axes.lines:
        text = names(axes)[line.get_label()]
        assert tuple(text.xy) == tuple(line.get_xydata()[-1])
        assert text.get_color() == line.get_color()


def test_names_of_lines_that_end_together_do_not_touch():
    twins = pd.concat([FRAME, FRAME[FRAME["part"] == "square"].assign(part="again")])
    [axes] = picture(twins).figure.axes
    axes.figure.canvas.draw()
    extents = [text.get_window_extent() for text in names(axes).values()]
    assert not any(a.overlaps(b) for a in extents for b in extents if a is not b)


def test_lines_may_be_named_by_numbers():
    axes = scaling_curves(FRAME.assign(heads=8), X, Y, "heads", "One grows").figure.axes[0]
    assert set(names(axes)) == {"8"}


def test_marks_stand_where_they_belong():
    marked = picture(marks={"n = 2d": 4})
    axes = marked.figure.axes[0]
    assert list(axes.lines[-1].get_xdata()) == [4, 4]
    assert "n = 2d" in names(axes)
    assert "marked: n = 2d." in marked.description


def test_the_sentence_holds_no_measured_figure():
    assert "64" not in picture().description


def test_a_missing_column_is_named():
    with pytest.raises(ValueError, match="lacks the column part"):
        picture(FRAME.drop(columns="part"))


@pytest.mark.parametrize("log", ["xy", "x", "y"])
def test_zero_is_refused_on_a_logarithmic_axis(log):
    with pytest.raises(ValueError, match="positive numbers only"):
        picture(FRAME.assign(**{X: 0, Y: 0}), log=log)


def test_too_many_lines_are_refused():
    many = FRAME.head(5).assign(part=list("abcde"))
    with pytest.raises(ValueError, match="at most 4 lines"):
        picture(many)
