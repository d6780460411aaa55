import re

import pytest
import torch

from transformer_course.model import scaled_dot_product_attention
from transformer_course.plots.soft_look_up import soft_look_up

KEYS = torch.tensor([[2.0, -0.5], [1.5, 1.5], [-2.0, 0.5], [0.5, -2.0]])
VALUES = torch.tensor([18.0, 19.0, 22.0, 20.0])
NAMES = ["a", "b", "c", "d"]


def controls(picture) -> dict:
    [query] = picture.to_dict()["params"]
    return query


@pytest.mark.parametrize("query", [(0.0, 0.0), (1.0, 0.25), (-3.0, 3.0)])
def test_weights_and_output_are_those_of_attention(drawn, query):
    svg = drawn(soft_look_up(KEYS, VALUES, NAMES, query=query))
    # The picture does not divide by the root of 2.
    asked = 2**0.5 * torch.tensor([query])
    output, weights = scaled_dot_product_attention(asked, KEYS, VALUES[:, None])
    bars = re.findall(r'aria-label="weight: ([\d.e-]+); key: (\w)', svg)
    shown = {name: float(weight) for weight, name in bars}
    assert [shown[name] for name in NAMES] == pytest.approx(weights[0].tolist(), abs=1e-6)
    assert f"output: {float(output):.2f}" in svg


def test_keys_of_one_name_have_a_bar_each(drawn):
    svg = drawn(soft_look_up(KEYS[:3], VALUES[:3], ["the", "cat", "the"], query=(0.0, 0.0)))
    bars = re.findall(r'aria-label="weight: ([\d.e-]+); key: ([^;"]+)', svg)
    assert {name: float(weight) for weight, name in bars} == pytest.approx(
        {"the (1)": 1 / 3, "cat": 1 / 3, "the (2)": 1 / 3}
    )


def test_the_query_begins_where_it_is_put(drawn):
    picture = soft_look_up(KEYS, VALUES, NAMES, axes=("music", "sport"), query=(0.5, -1.25))
    assert controls(picture)["value"] == [{"across": 0.5, "up": -1.25}]
    assert 'aria-label="music: 0.5; sport: -1.25; name: query"' in drawn(picture)


def test_two_sliders_and_the_pointer_move_the_query_over_the_whole_plane():
    query = controls(soft_look_up(KEYS, VALUES, NAMES, axes=("music", "sport")))
    assert [slider["name"] for slider in query["bind"].values()] == [
        "query, music: ",
        "query, sport: ",
    ]
    assert {(slider["min"], slider["max"]) for slider in query["bind"].values()} == {(-3, 3)}
    assert "pointermove" in query["select"]["on"]


def test_the_description_says_where_the_keys_are():
    description = soft_look_up(KEYS, VALUES, NAMES).to_dict()["description"]
    assert "a at (2, -0.5) with 18; b at (1.5, 1.5) with 19" in description


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": VALUES[:3]}, "4 keys, 3 values and 4 names"),
        ({"names": NAMES[:3]}, "4 keys, 4 values and 3 names"),
        ({"keys": torch.zeros(7, 2), "values": torch.zeros(7), "names": "abcdefg"}, "got 7"),
        ({"keys": 2 * KEYS}, "between -3 and 3"),
        ({"query": (0.0, 3.5)}, "between -3 and 3"),
    ],
)
def test_the_picture_refuses(change, message):
    arguments = {"keys": KEYS, "values": VALUES, "names": NAMES}
    with pytest.raises(ValueError, match=message):
        soft_look_up(**arguments | change)
