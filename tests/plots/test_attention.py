import pytest
import torch

from transformer_course.plots import attention as pictures

QUERIES, KEYS = ["le", "chat", "dort"], ["the", "cat", "sleeps", "</s>"]


def weights(*leading: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.rand(*leading, 3, 4, generator=generator).softmax(dim=-1)


def captured() -> dict[str, torch.Tensor]:
    return {
        "encoder.layers.0.self_attention": torch.full((2, 2, 4, 4), 0.25),
        "decoder.layers.0.cross_attention": weights(2, 2),
        "decoder.layers.1.cross_attention": weights(2, 2),
    }


def matrices(chart) -> dict[str, list[float]]:
    records = chart.to_dict()["data"]["values"]
    return {record["matrix"]: record["value"] for record in records}


def choices(chart) -> list[str]:
    controls = [p["bind"] for p in chart.to_dict()["params"] if "bind" in p]
    return controls[0]["options"] if controls else []


def flat(matrix: torch.Tensor) -> list[float]:
    return pytest.approx(matrix.flatten().tolist(), abs=6e-3)


def test_one_head_needs_no_choice():
    chart = pictures.attention_heatmap(weights(), QUERIES, KEYS)
    assert choices(chart) == []
    assert matrices(chart) == {"head 0": flat(weights())}


def test_the_reader_chooses_among_heads_and_their_mean():
    three = weights(3)
    chart = pictures.attention_heatmap(three, QUERIES, KEYS)
    assert choices(chart) == ["head 0", "head 1", "head 2", "mean of heads"]
    assert matrices(chart)["head 2"] == flat(three[2])
    assert matrices(chart)["mean of heads"] == flat(three.mean(dim=0))


def test_the_reader_chooses_among_layers():
    chart = pictures.attention_heatmap(weights(2, 1), QUERIES, KEYS)
    assert choices(chart) == ["layer 0, head 0", "layer 1, head 0"]


def test_captured_attention_is_chosen_by_layer_and_sentence():
    maps = captured()
    chart = pictures.attention_heatmap(maps, QUERIES, KEYS, layer="cross_attention", sentence=1)
    assert [name for name in choices(chart) if name.endswith("head 1")] == [
        "decoder.layers.0.cross_attention, head 1",
        "decoder.layers.1.cross_attention, head 1",
    ]
    name = "decoder.layers.1.cross_attention"
    assert matrices(chart)[f"{name}, head 0"] == flat(maps[name][1, 0])


def test_the_description_names_the_strongest_keys():
    matrix = torch.eye(3, 4)
    description = pictures.attention_heatmap(matrix, QUERIES, KEYS).to_dict()["description"]
    assert "le to the; chat to cat; dort to sleeps." in description


@pytest.mark.parametrize(
    ("layer", "sentence", "message"),
    [
        ("decoder.layers.7", 0, "no captured layer has 'decoder.layers.7'.*encoder.layers.0"),
        ("cross_attention", 2, "has 2 sentences, counted from 0; got 2"),
        ("", 0, "encoder.layers.0.self_attention, head 0: 3 tokens down and 4 across do not fit"),
    ],
)
def test_captured_attention_refuses(layer, sentence, message):
    with pytest.raises(ValueError, match=message):
        pictures.attention_heatmap(captured(), QUERIES, KEYS, layer, sentence)


@pytest.mark.parametrize("bad", [-0.5, 1.5, float("nan")])
def test_scores_are_not_taken_for_weights(bad):
    matrix = weights()
    matrix[1, 2] = bad
    with pytest.raises(ValueError, match="attention weights are numbers from 0 to 1"):
        pictures.attention_heatmap(matrix, QUERIES, KEYS)


def test_weights_in_training_are_drawn_too():
    matrix = weights().requires_grad_()
    assert matrices(pictures.attention_heatmap(matrix, QUERIES, KEYS))


def test_the_head_grid_shows_every_head():
    chart = pictures.head_grid(weights(5), QUERIES, KEYS)
    assert list(matrices(chart)) == [f"head {number}" for number in range(5)]


def test_the_head_grid_takes_one_layer():
    chart = pictures.head_grid(captured(), QUERIES, KEYS, layer="decoder.layers.1.cross")
    assert "decoder.layers.1.cross_attention" in chart.to_dict()["description"]
    with pytest.raises(ValueError, match=r"draws one layer; got 2: decoder\.layers\.0"):
        pictures.head_grid(captured(), QUERIES, KEYS, layer="cross")


def test_alignment_counts_hits_and_outlines_gold_cells():
    matrix = torch.tensor([[0.9, 0.1, 0, 0], [0.6, 0.4, 0, 0], [0, 0, 0.8, 0.2]])
    gold = [(0, 0), (1, 1), (2, 2), (3, 2)]
    spec = pictures.alignment_against_gold(matrix, gold, KEYS, QUERIES).to_dict()
    assert "for 2 of 3 words" in spec["title"]["text"][0]
    filters = [t["filter"] for layer in spec["layer"] for t in layer["transform"] if "filter" in t]
    assert {"field": "cell", "oneOf": [0, 5, 10, 11]} in filters


def test_alignment_refuses_gold_outside_the_sentence():
    with pytest.raises(ValueError, match=r"gold pair \(source 4, target 0\) points outside"):
        pictures.alignment_against_gold(weights(), [(4, 0)], KEYS, QUERIES)


def test_a_row_that_sees_nothing_looks_at_none():
    weights = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    spec = pictures.attention_heatmap(weights, ["a", "<pad>"], ["k1", "k2"]).to_dict()
    assert "Strongest: a to k1; <pad> to none." in spec["description"]
