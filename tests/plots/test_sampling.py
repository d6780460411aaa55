import re

import pytest
import torch

from transformer_course.plots import sampling as pictures
from transformer_course.translation.decoding.next_token import next_token_probabilities

LETTERS = "abcdefghijklmnopqrst"
LOGITS = torch.linspace(2.0, -2.0, len(LETTERS)).flip(0)  # the last letter is the most probable


@pytest.mark.parametrize("top_p", [0.3, 0.8])
def test_coloured_bars_are_the_nucleus(drawn, top_p):
    chart = pictures.sampling_cuts({"so far": LOGITS}, LETTERS, top_k=4, top_p=top_p)
    svg = drawn(chart)
    bars = re.findall(r"probability: ([\d.]+); next word: (\w); nucleus of [\d.]+: (\w+)", svg)
    kept = next_token_probabilities(LOGITS, top_p=top_p)
    chances = LOGITS.softmax(dim=0)
    assert [letter for _, letter, _ in bars] == list(reversed(LETTERS))[: pictures.WORDS_SHOWN]
    for chance, letter, nucleus in bars:
        place = LETTERS.index(letter)
        assert float(chance) == pytest.approx(float(chances[place]), abs=2e-3)
        assert (nucleus == "in") == bool(kept[place] > 0)
    assert f"nucleus: {int((kept > 0).sum())} of {len(LETTERS)} words, top-k: 4" in svg


def test_the_slider_begins_at_the_model_itself():
    chart = pictures.sampling_cuts({"so far": LOGITS}, LETTERS, 4, 0.8).to_dict()
    assert {p["name"]: p["value"] for p in chart["params"]}["temperature"] == 1


@pytest.mark.parametrize(
    ("words", "top_k", "top_p", "message"),
    [
        ("ab", 4, 0.8, "got 20 logits for 2 words"),
        (LETTERS, 0, 0.8, "1 to 9 to be seen; got 0"),
        (LETTERS, 10, 0.8, "1 to 9 to be seen; got 10"),
        (LETTERS, 4, 80, "a probability above 0; got 80"),
    ],
)
def test_cuts_refuse(words, top_k, top_p, message):
    with pytest.raises(ValueError, match=message):
        pictures.sampling_cuts({"so far": LOGITS}, words, top_k, top_p)


def test_what_is_masked_has_no_chance(drawn):
    logits = torch.tensor([0.0, -1.0, -torch.inf])
    svg = drawn(pictures.sampling_cuts({"so far": logits}, "abc", top_k=2, top_p=0.9))
    bars = dict(re.findall(r"probability: ([\d.e-]+); next word: (\w);", svg))
    chances = {letter: float(chance) for chance, letter in bars.items()}
    assert chances == pytest.approx({"a": 0.731, "b": 0.269, "c": 0.0}, abs=1e-3)
    assert (
        "Bars of the 3 most probable next words"
        in pictures.sampling_cuts({"so far": logits}, "abc", 2, 0.9).to_dict()["description"]
    )


def test_equal_words_are_bars_of_their_own(drawn):
    svg = drawn(pictures.sampling_cuts({"so far": torch.tensor([1.0, 3, 2, 0])}, "aacd", 2, 0.8))
    assert {"a (1)", "a (2)", "c", "d"} <= set(re.findall(r"next word: ([^;]+);", svg))


def test_too_many_contexts_and_too_few_words_are_refused():
    with pytest.raises(ValueError, match="1 or 2 contexts; got 3"):
        pictures.sampling_cuts(dict.fromkeys("xyz", LOGITS), LETTERS, 4, 0.8)
    with pytest.raises(ValueError, match="top_k must be 1 to 4 to be seen; got 5"):
        pictures.sampling_cuts({"x": LOGITS[:5]}, LETTERS[:5], 5, 0.8)
