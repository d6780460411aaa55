import altair as alt
import matplotlib as mpl
import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure

from transformer_course.plots import theme

OKABE_ITO = {
    *("#000000", "#E69F00", "#56B4E9", "#009E73"),
    *("#F0E442", "#0072B2", "#D55E00", "#CC79A7"),
}
TEXT_CONTRAST, LINE_CONTRAST = 4.5, 3.0  # WCAG 2.2, success criteria 1.4.3 and 1.4.11
DARK_PAGE = "#111111"


def luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def test_each_idea_owns_a_colour_of_the_palette():
    assert set(theme.COLOURS) == {"query", "key", "value", "position", "mask", "memory"}
    assert set(theme.COLOURS.values()) <= OKABE_ITO
    assert len(set(theme.COLOURS.values())) == len(theme.COLOURS)


def test_lines_that_stand_for_no_idea_borrow_no_idea_colour():
    assert not set(theme.SERIES) & OKABE_ITO


@pytest.mark.parametrize("colour", [theme.INK, theme.MUTED])
def test_text_is_legible_on_the_card(colour):
    assert contrast(colour, theme.CARD) >= TEXT_CONTRAST


@pytest.mark.parametrize("colour", theme.COLOURS.values())
def test_words_are_legible_in_boxes_of_every_colour(colour):
    assert contrast(theme.INK, theme.tinted(colour)) >= TEXT_CONTRAST


@pytest.mark.parametrize("colour", [*theme.SERIES, *theme.SHADES, theme.COLOURS["position"]])
def test_lines_are_visible_on_the_card(colour):
    assert contrast(colour, theme.CARD) >= LINE_CONTRAST


def test_no_grey_is_legible_on_both_pages_so_that_pictures_need_a_card():
    greys = [f"#{level:02x}{level:02x}{level:02x}" for level in range(256)]
    best = max(min(contrast(g, "#FFFFFF"), contrast(g, DARK_PAGE)) for g in greys)
    assert best < TEXT_CONTRAST


def test_jupyterlabs_dark_theme_finds_no_colour_left_to_set():
    config = theme.altair_theme()["config"]
    assert config["background"] == theme.CARD
    assert config["view"]["stroke"]
    assert config["title"]["color"]
    for guide in ("axis", "legend", "header"):
        assert config[guide]["labelColor"] == config[guide]["titleColor"] == theme.INK
    assert config["axis"]["domainColor"] and config["axis"]["tickColor"]
    assert config["axis"]["gridColor"]


def test_matplotlib_theme_ends_with_the_function():
    before = dict(mpl.rcParams)

    @theme.matplotlib_theme()
    def colour_inside() -> str:
        return mpl.rcParams["text.color"]

    assert colour_inside() == theme.INK
    assert dict(mpl.rcParams) == before


def test_titled_gives_title_and_description():
    chart = theme.titled(alt.Chart(alt.Data(values=[{}])).mark_point(), "See this", "Spoken.")
    spec = chart.to_dict()
    assert spec["title"]["text"] == ["See this"]
    assert spec["description"] == "Spoken."


def test_long_titles_are_wrapped_and_complete():
    title = "a title far too long for one line " * 4
    lines = theme.wrapped(title)
    assert max(map(len, lines)) <= theme.TITLE_CHARACTERS
    assert " ".join(lines).split() == title.split()


def test_blank_axes_share_one_figure_of_the_stated_size():
    above, below = theme.blank_axes(height=440, rows=2)
    assert isinstance(above.figure, Figure)
    assert above.figure is below.figure
    assert above.figure.get_size_inches() * theme.PIXELS_PER_INCH == pytest.approx([620, 440])


def test_lines_differ_in_colour_and_in_stroke():
    styles = theme.line_styles(["a", "b", "c", "d"]).values()
    assert len({style["color"] for style in styles}) == 4
    assert len({style["linestyle"] for style in styles}) == 4


def test_a_name_that_begins_with_an_underscore_is_in_the_legend():
    [axes] = theme.blank_axes()
    for style in theme.line_styles(["_small", "large"]).values():
        axes.plot([1, 2], **style)
    assert [text.get_text() for text in axes.legend().get_texts()] == [" _small", "large"]


@pytest.mark.parametrize("score", [torch.nan, torch.inf])
def test_a_score_without_a_softmax_is_not_drawn(score):
    with pytest.raises(ValueError, match="NaN or infinite"):
        theme.finite(torch.tensor([1.0, score]))


def test_too_many_lines_are_refused():
    with pytest.raises(ValueError, match="at most 4 lines; got 5: a, b, c, d, e"):
        theme.line_styles(list("abcde"))


def test_missing_column_is_named():
    with pytest.raises(ValueError, match="lacks the column loss; it has: step"):
        theme.check_columns(pd.DataFrame({"step": [1]}), ["step", "loss"])
