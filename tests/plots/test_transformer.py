import pandas as pd
import pytest
import torch

from transformer_course.costs import parameter_summary
from transformer_course.model import (
    Transformer,
    TransformerConfig,
    causal_mask,
)
from transformer_course.plots import transformer as pictures

CONFIG = TransformerConfig(
    source_vocab=9, target_vocab=9, d_model=8, heads=2, encoder_layers=1, decoder_layers=3, d_ff=16
)
WORDS = ["a", "b", "c"]


@pytest.fixture
def network() -> Transformer:
    return Transformer(CONFIG)


def words(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


# The forward pass


def test_the_shapes_are_those_of_a_pass(network):
    picture = pictures.forward_pass(
        network, torch.ones(2, 5, dtype=torch.long), torch.ones(2, 7, dtype=torch.long)
    )
    drawn = words(picture.figure.axes[0])
    for shape, times in {
        "(2, 5)": 1,
        "(2, 7)": 1,
        "(2, 5, 8)": 3,  # embeddings, positions, memory
        "(2, 7, 8)": 3,
        "(2, 7, 9)": 1,
        "(2, 1, 1, 5)": 1,
        "(2, 1, 7, 7)": 1,
    }.items():
        assert drawn.count(shape) == times
    assert {"encoder, 1 layer", "decoder, 3 layers"} <= set(drawn)


def test_the_picture_of_a_pass_leaves_the_model_as_it_was(network):
    ids = torch.ones(1, 3, dtype=torch.long)
    pictures.forward_pass(network, ids, ids)
    for module in network.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
    with pytest.raises(IndexError):
        pictures.forward_pass(network, ids + 8, ids)
    assert not any(module._forward_hooks for module in network.modules())


# What it costs


def test_the_bars_are_the_parameters_of_each_part(network):
    summary = parameter_summary(network)
    [axes] = pictures.parameter_bars({"small": summary}, "Title").figure.axes
    assert [bar.get_width() for bar in axes.patches] == [
        summary["encoder"],
        summary["decoder"],
        summary["source_embeddings"],
    ]
    assert axes.patches[-1].get_x() + axes.patches[-1].get_width() == summary["total"]


def test_a_narrow_part_has_a_bar_without_a_name():
    summary = {"encoder": 95_000_000, "decoder": 5_000_000, "total": 100_000_000}
    [axes] = pictures.parameter_bars({"lopsided": summary}, "Title").figure.axes
    assert words(axes) == ["encoder\n95.0", "100.0"]


def test_a_part_of_another_name_is_drawn_too():
    summary = {"head": 20_000, "total": 20_000}
    [axes] = pictures.parameter_bars({"new": summary}, "Title").figure.axes
    assert words(axes) == ["head\n0.02", "0.02"]


# Tests


def test_a_cross_stands_where_a_test_catches():
    table = pd.DataFrame({"x": [False, True], "y": [False, False]}, index=["right", "no_mask"])
    picture = pictures.who_catches_whom(table, "Title")
    axes = picture.figure.axes[-1]
    assert [text.get_position() for text in axes.texts] == [(0, 1)]
    assert "right by none; no_mask by x." in picture.description


# Masks


def test_every_closed_cell_is_crossed_out():
    masks = {"all": torch.ones(3, 3, dtype=torch.bool), "causal": causal_mask(3)}
    picture = pictures.mask_panels(masks, WORDS, WORDS, "Title")
    _, everything, causal = picture.figure.axes
    assert words(everything) == []
    assert [text.get_position() for text in causal.texts] == [(1, 0), (2, 0), (2, 1)]
    assert "all: 9 of 9 cells; causal: 6 of 9 cells." in picture.description


def test_a_mask_must_fit_its_tokens():
    with pytest.raises(ValueError, match="causal: 3 tokens down and 3 across do not fit"):
        pictures.mask_panels({"causal": causal_mask(4)}, WORDS, WORDS, "Title")


# Logits


def test_the_best_words_with_logits_and_probabilities():
    logits = torch.tensor([0.0, 2.0, -1.0])
    picture = pictures.logits_and_probabilities(logits, WORDS, "Title")
    _, left, right = picture.figure.axes
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["b", "a", "c"]
    assert [bar.get_width() for bar in left.patches] == [2, 0, -1]
    shares = logits.softmax(dim=0)[[1, 0, 2]].tolist()
    assert [bar.get_width() for bar in right.patches] == pytest.approx(shares)


def test_of_many_words_the_best_are_drawn():
    picture = pictures.logits_and_probabilities(torch.arange(20.0), [*map(str, range(20))], "Title")
    _, left, _ = picture.figure.axes
    assert [bar.get_width() for bar in left.patches] == [19, 18, 17, 16, 15, 14, 13, 12]


def test_logits_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="one logit for each of 3 words; got the shape \\(2,\\)"):
        pictures.logits_and_probabilities(torch.zeros(2), WORDS, "Title")
