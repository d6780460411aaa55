import re

import pytest
import torch

from transformer_course import model
from transformer_course.plots.masks import mask_viewer

TOKENS = ["a", "b", "c", "d"]
SCORES = torch.tensor([[1.0, 2, 0, 1], [0, 1, 3, 0], [2, 0, 1, 1], [0, 0, 1, 2]])
CELL = re.compile(
    r'aria-label="key: (\d); query: (\d); padding allows: (\w+); causal allows: (\w+); '
    r'both allows: (\w+); weight: ([\d.]+)"'
)


def cells(svg: str) -> dict[str, torch.Tensor]:
    """Return what the cells of each kind say, as (query, key) matrices."""
    drawn = {name: torch.zeros(4, 4) for name in ("padding", "causal", "both", "weight")}
    for key, query, *verdicts, weight in CELL.findall(svg):
        for name, verdict in zip(drawn, verdicts, strict=False):
            drawn[name][int(query), int(key)] = verdict == "true"
        drawn["weight"][int(query), int(key)] = float(weight)
    return drawn


@pytest.mark.parametrize("real", range(5))
def test_the_grids_are_the_models_masks_and_weights(drawn, real):
    ids = torch.tensor([[7] * real + [0] * (4 - real)])
    mask = model.target_mask(ids, pad_id=0)[0, 0]
    # Query and key whose product, divided by the root of 4, is SCORES.
    _, weights = model.scaled_dot_product_attention(2 * SCORES, torch.eye(4), torch.eye(4), mask)
    seen = cells(drawn(mask_viewer(SCORES, TOKENS, real)))
    assert torch.equal(seen["padding"].bool(), model.padding_mask(ids, 0)[0, 0].expand(4, 4))
    assert torch.equal(seen["causal"].bool(), model.causal_mask(4))
    assert torch.equal(seen["both"].bool(), mask)
    assert torch.allclose(seen["weight"], weights, atol=0.006)


@pytest.mark.parametrize("score", [800.0, -800.0, -torch.inf])
def test_scores_may_be_of_any_size(drawn, score):
    scores = SCORES.clone()
    scores[2, 0] = score
    weights = scores.masked_fill(~model.causal_mask(4), -torch.inf).softmax(dim=-1)
    seen = cells(drawn(mask_viewer(scores, TOKENS, 4)))
    assert torch.allclose(seen["weight"], weights, atol=0.006)


def test_padding_is_named(drawn):
    svg = drawn(mask_viewer(SCORES, TOKENS, real=3))
    labels = re.findall(r">([^<>]+)</text>", svg)
    # Four grids, each with the token on both axes.
    assert (labels.count("c"), labels.count("d"), labels.count("&lt;pad&gt;")) == (8, 0, 8)


def test_the_slider_reaches_from_padding_alone_to_no_padding():
    params = {p["name"]: p for p in mask_viewer(SCORES, TOKENS, 2).to_dict()["params"]}
    slider = params["real"]
    assert slider["value"] == 2
    assert (slider["bind"]["min"], slider["bind"]["max"], slider["bind"]["step"]) == (0, 4, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((SCORES, TOKENS[:3], 2), "do not fit"),
        ((torch.zeros(8, 8), ["a"] * 8, 2), "room for 7 tokens; got 8"),
        ((SCORES, TOKENS, 5), "0 to 4 are real; got 5"),
    ],
)
def test_the_viewer_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        mask_viewer(*arguments)
