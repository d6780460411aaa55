import pytest

from transformer_course import plots
from transformer_course.model import silenced_heads
from transformer_course.plots.silenced import ALWAYS, LONGEST, MOST_SENTENCES, NOBODY
from transformer_course.translation.translator import Translator, toy_checkpoint

SENTENCES = ["the queen runs with the bears", "his black cow finds an old flower"]
GENDER = ("decoder.layers.1.cross_attention", 3)
OTHER = ("decoder.layers.0.self_attention", 0)


@pytest.fixture(scope="module")
def translator():
    return Translator.load(toy_checkpoint())


@pytest.fixture(scope="module")
def spec(translator):
    return plots.translations_without_a_head(translator, SENTENCES, GENDER).to_dict()


def lines(spec, head, name):
    return [
        row for row in spec["data"]["values"] if row["head"] == head and row.get("line") == name
    ]


def texts(spec, head, name):
    return [" ".join(row["word"]) for row in lines(spec, head, name)]


@pytest.mark.parametrize(
    ("head", "name"),
    [(GENDER, "decoder.1.cross, head 3"), (OTHER, "decoder.0.self, head 0")],
)
def test_lines_are_what_the_translator_says(spec, translator, head, name):
    assert texts(spec, name, "all heads") == translator.translate(SENTENCES)
    with silenced_heads(translator.model, [head]):
        assert texts(spec, name, "without it") == translator.translate(SENTENCES)


def test_the_english_is_there_whichever_head_is_silenced(spec):
    assert texts(spec, ALWAYS, "English") == SENTENCES


def test_the_words_that_change_are_marked(spec):
    unharmed, harmed = lines(spec, "decoder.1.cross, head 3", "without it")
    assert not any(unharmed["changed"])
    new = [word for word, new in zip(harmed["word"], harmed["changed"], strict=True) if new]
    assert new == ["son", "un", "vieux"]


def test_nothing_changes_without_silence(spec):
    assert texts(spec, NOBODY, "without it") == texts(spec, NOBODY, "all heads")
    assert not any(any(row["changed"]) for row in lines(spec, NOBODY, "without it"))


def test_words_of_a_line_do_not_meet(spec):
    for row in spec["data"]["values"]:
        words, places = row.get("word", []), row.get("at", [])
        ends = [place + len(word) for place, word in zip(places, words, strict=True)]
        assert all(end < place for end, place in zip(ends, places[1:], strict=False))
        assert max(ends, default=0) <= LONGEST


def test_a_long_line_is_cut(translator):
    long = "the queen runs with the bears " * 3
    values = plots.translations_without_a_head(translator, [long]).to_dict()["data"]["values"]
    (english,) = (row for row in values if row["head"] == ALWAYS)
    assert english["word"][-1] == "…"


def test_the_reader_chooses_among_all_heads(spec):
    (menu,) = (param for param in spec["params"] if "bind" in param)
    assert menu["value"] == "decoder.1.cross, head 3"
    assert menu["bind"]["options"][0] == NOBODY
    assert len(menu["bind"]["options"]) == 1 + 24


def test_the_description_says_what_each_head_changes(spec):
    assert "Without decoder.1.cross, head 3, 1 change: sa vache noire" in spec["description"]
    assert spec["description"].endswith("Without any other head all stay.")


@pytest.mark.parametrize(
    ("sentences", "shown", "message"),
    [
        ([], None, "got 0"),
        (["the cat"] * (MOST_SENTENCES + 1), None, "got 9"),
        (["the cat"], ("decoder.layers.1.cross_attention", 4), "no 'decoder.1.cross, head 4'"),
    ],
)
def test_the_picture_refuses(translator, sentences, shown, message):
    with pytest.raises(ValueError, match=message):
        plots.translations_without_a_head(translator, sentences, shown)
