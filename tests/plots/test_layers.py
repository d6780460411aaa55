import itertools
import math
import re

import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch, Patch

from transformer_course.model.attention import causal_mask
from transformer_course.plots import layers as pictures
from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import COLOURS

DIAGRAMS = [pictures.norm_orders, pictures.encoder_and_decoder_layer]
FULL = torch.ones(3, 5, 5, dtype=torch.bool)
WORDS = ["a", "b", "c", "d", "e"]


def boxes(picture: Picture) -> dict[str, list[Patch]]:
    """Return the boxes of a diagram by the words in them."""
    [axes] = picture.figure.axes
    found: dict[str, list[Patch]] = {}
    for patch in axes.patches:
        if isinstance(patch, FancyBboxPatch):
            x, y = patch.get_x() + patch.get_width() / 2, patch.get_y() + patch.get_height() / 2
            [text] = [t for t in axes.texts if t.get_position() == (x, y)]
            found.setdefault(text.get_text().replace("\n", " "), []).append(patch)
    return found


def streams(picture: Picture) -> list[float]:
    """Return where the residual streams stand, from left to right."""
    [axes] = picture.figure.axes
    return [line.get_xdata()[0] for line in axes.lines if line.get_linewidth() == 3]


def on(stream: float, patch: Patch) -> bool:
    return patch.get_x() < stream < patch.get_x() + patch.get_width()


def test_post_norm_has_its_norms_on_the_stream_and_pre_norm_only_the_last():
    picture = pictures.norm_orders()
    post, pre = streams(picture)
    norms = boxes(picture)["norm"]
    assert sum(on(post, norm) for norm in norms) == 2
    assert sum(on(pre, norm) for norm in norms) == 1
    assert sum(norm.get_x() > pre for norm in norms) == 2


def test_layers_have_the_sublayers_masks_and_memory_of_the_model():
    picture = pictures.encoder_and_decoder_layer()
    found = boxes(picture)
    encoder, decoder = streams(picture)
    assert {name: len(patches) for name, patches in found.items()} == {
        "self- attention": 1,
        "masked self- attention": 1,
        "cross- attention": 1,
        "feed- forward": 2,
        "norm": 5,
        "source mask": 2,
        "target mask": 1,
        "memory": 1,
    }
    assert sum(on(encoder, norm) for norm in found["norm"]) == 2
    assert sum(on(decoder, norm) for norm in found["norm"]) == 3
    [memory], [target], [cross] = (found[n] for n in ("memory", "target mask", "cross- attention"))
    assert to_hex(memory.get_edgecolor()) == COLOURS["memory"].lower()
    assert to_hex(target.get_edgecolor()) == COLOURS["mask"]
    inside = (cross.get_y(), cross.get_y() + cross.get_height())
    assert inside[0] < memory.get_y() + memory.get_height() / 2 < inside[1]


@pytest.mark.parametrize("diagram", DIAGRAMS)
def test_words_stay_inside_the_picture_and_apart(diagram):
    picture = diagram()
    [axes] = picture.figure.axes
    picture.figure.canvas.draw()
    extents = [text.get_window_extent() for text in axes.texts if text.get_text()]
    edge = picture.figure.bbox
    assert all(edge.x0 <= e.x0 and e.x1 <= edge.x1 and edge.y0 <= e.y0 for e in extents)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(extents, 2))


def test_the_steps_are_bars_on_one_scale():
    steps = {"x": torch.tensor([9.0, 3.0, 3.0, 1.0]), "x - mean": torch.tensor([5.0, -1, -1, -3])}
    rows = pictures.normalisation_steps(steps, "It shrinks").figure.axes
    assert [axes.get_ylabel() for axes in rows] == list(steps)
    for axes, vector in zip(rows, steps.values(), strict=True):
        assert [bar.get_height() for bar in axes.containers[0]] == vector.tolist()
    assert rows[0].get_ylim() == rows[1].get_ylim()


def test_path_counts_multiply_through_full_layers():
    assert [int(counts[2, 0]) for counts in pictures.path_counts(FULL)] == [25, 5, 1, 0]


def test_path_counts_of_a_causal_stack_are_binomials():
    [first, *_] = pictures.path_counts(causal_mask(5).expand(3, -1, -1))
    for output, position in itertools.product(range(5), repeat=2):
        steps = output - position
        assert first[output, position] == (math.comb(steps + 2, 2) if steps >= 0 else 0)


def test_paths_show_what_leads_to_the_output_in_the_middle(drawn):
    chart = pictures.information_paths({"decoder": causal_mask(5).expand(2, -1, -1)}, WORDS, "Few")
    svg = drawn(chart)
    nodes = re.findall(
        r"position: (\d+); after layer: (\d+); paths to the chosen output: (\d+)", svg
    )
    paths = {(int(layer), int(position)): int(count) for position, layer, count in nodes}
    assert len(paths) == 3 * 5
    assert [paths[0, position] for position in range(5)] == [3, 2, 1, 0, 0]
    assert [paths[2, position] for position in range(5)] == [0, 0, 1, 0, 0]


def test_edges_are_the_dependencies():
    stack = causal_mask(5).expand(2, -1, -1)
    chart = pictures.information_paths({"decoder": stack}, WORDS, "Few").to_dict()
    [records] = chart["datasets"].values() if "datasets" in chart else [chart["data"]["values"]]
    edges = {(r["level"], r["end"], r["position"]) for r in records if "end" in r}
    assert edges == {tuple(edge) for edge in stack.nonzero().tolist()}


def test_the_description_says_what_is_reached():
    stacks = {"encoder": FULL, "decoder": FULL.tril()}
    description = pictures.information_paths(stacks, WORDS, "Few").description
    assert "encoder: the last output is reached from 5 inputs, the first from 5." in description
    assert "decoder: the last output is reached from 5 inputs, the first from 1." in description


def test_paths_refuse_a_stack_that_does_not_fit_the_tokens():
    with pytest.raises(ValueError, match=r"decoder: 3 layers and 4 tokens .* \(3, 4, 4\)"):
        pictures.information_paths({"decoder": FULL}, WORDS[:4], "Few")
