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
