import pytest
import torch

from transformer_course.model import scaled_dot_product_attention
from transformer_course.plots.look_up import attention_flow, recurrence_and_attention

WORDS = ["one", "two", "three"]
QUERY = torch.tensor([2.0, 0, 1, 0])
KEY = torch.tensor([[1.0, 0, 2, 0], [0, 3, 0, 1], [2, 1, 0, 0]])
VALUE = torch.tensor([[1.0, 0], [0, 5], [2, 2]])


def words(picture) -> list[str]:
    return [text.get_text() for text in picture.figure.axes[0].texts]


def test_the_flow_writes_every_number_of_attention():
    picture = attention_flow(QUERY, KEY, VALUE, WORDS, "two")
    output, weights = scaled_dot_product_attention(QUERY[None], KEY, VALUE)
    shown = words(picture)
    for score, weight in zip((KEY @ QUERY).tolist(), weights[0].tolist(), strict=True):
        assert f"{score:.3g}" in shown
        assert f"{score / 2:.3g}" in shown
        assert f"{weight:.3f}" in shown
    blend = [f"{number:.3g}" for number in output[0].tolist()]
    assert "\n".join(blend) in shown
    assert f"give the output {', '.join(blend)}." in picture.description


def test_the_flow_names_the_word_that_weighs_most():
    _, weights = scaled_dot_product_attention(QUERY[None], KEY, VALUE)
    best = WORDS[int(weights.argmax())]
    axes = attention_flow(QUERY, KEY, VALUE, WORDS, "two").figure.axes[0]
    title = axes.get_title(loc="left").replace("\n", " ")
    part = f"the largest part, {float(weights.max()):.0%},"
    assert title == f"'two' takes {part} of its new vector from '{best}'"
    axes = attention_flow(9 * KEY[1], KEY, VALUE, WORDS, "two").figure.axes[0]
    assert axes.get_title(loc="left").startswith("'two' takes most of its new vector from '")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": ["a"] * 9}, "1 to 8 words; got 9"),
        ({"value": torch.zeros(3, 5)}, "1 to 4 numbers in a vector; got 5"),
        ({"value": torch.zeros(2, 2)}, "3 words, 3 keys and 2 values"),
    ],
)
def test_the_flow_refuses(change, message):
    arguments = {"query": QUERY, "key": KEY, "value": VALUE, "tokens": WORDS, "asks": "two"}
    with pytest.raises(ValueError, match=message):
        attention_flow(**arguments | change)


def test_the_way_through_a_recurrent_network_is_as_long_as_the_distance():
    picture = recurrence_and_attention(WORDS, asks=2, answers=0)
    axes = picture.figure.axes[0]
    assert axes.get_title(loc="left") == "From 'one' to 'three': 2 steps, or one"
    assert "it takes 2 steps" in picture.description
    assert words(picture).count("one") == 2


def test_neighbours_are_one_step_apart_in_both():
    picture = recurrence_and_attention(WORDS, asks=1, answers=0)
    assert "it takes 1 step." in picture.description


@pytest.mark.parametrize(
    ("tokens", "asks", "answers", "message"),
    [
        (WORDS, 0, 1, "must come before"),
        (WORDS, 3, 1, "must come before"),
        (["a"] * 9, 3, 1, "1 to 8 words"),
    ],
)
def test_the_ways_refuse(tokens, asks, answers, message):
    with pytest.raises(ValueError, match=message):
        recurrence_and_attention(tokens, asks, answers)
