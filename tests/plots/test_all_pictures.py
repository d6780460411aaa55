"""What every picture of the course must fulfil."""

import base64
import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import get_type_hints

import matplotlib as mpl
import pandas as pd
import pytest
import torch
from PIL import Image

from transformer_course import plots
from transformer_course.costs import parameter_summary
from transformer_course.model.attention import causal_mask
from transformer_course.model.transformer import Transformer, TransformerConfig
from transformer_course.plots.renderer import PNG, VEGA_LITE, Picture, mime_bundle
from transformer_course.plots.theme import CARD
from transformer_course.translation.decoding.prefix_scorers import FunctionScorer
from transformer_course.translation.translator import Translator, toy_checkpoint

LARGEST_SPECIFICATION, LARGEST_IMAGE = 150_000, 60_000  # bytes; notebooks hold many pictures
COLUMN = 640  # pixels of a notebook's column

WORDS = ["the", "cat", "sat", "on", "the", "mat"]
WEIGHTS = torch.rand(2, 4, 6, 6, generator=torch.Generator().manual_seed(0)).softmax(dim=-1)
SCORES = torch.arange(36.0).sin().reshape(6, 6)
HISTORY = [
    {"step": step, "train_loss": 50 / step, "dev_loss": 40 / step}
    | {"dev_exact_match": step / 500, "dev_bleu": step / 10}
    for step in range(50, 450, 50)
]
TRAINER = SimpleNamespace(
    translator=SimpleNamespace(target=dict.fromkeys("abcd")),
    dev=[("the cat", "le chat")],
    steps=500,
    step=400,
    history=[row | {"said": ["le chien"]} for row in HISTORY],
    seconds_left=9.0,
)
ABLATION = pd.DataFrame({"layer": ["encoder"] * 2, "head": [0, 1], "right": [0.9, 0.8]})
LENGTHS = pd.DataFrame({"length": [8, 32], "accuracy": [1.0, 0.2], "encoding": ["a", "a"]})
GROWTH = pd.DataFrame({"length": [2, 4], "cost": [1, 4], "part": ["a", "a"]})
SMALL = Transformer(
    TransformerConfig(9, 9, d_model=8, heads=2, encoder_layers=1, decoder_layers=1, d_ff=8)
)
IDS = torch.tensor([[1, 2, 3]])
BEAMS = pd.DataFrame({"beam": [1, 4], "log_probability": [-9.0, -7.0], "length": [1.0, 0.8]})
VERDICTS = pd.DataFrame({"test": [False, True]}, index=["right model", "no mask"])
MINUTES = [{"minutes": minutes, "dev_bleu": 8.0 * minutes} for minutes in (0.5, 1, 2, 4)]
TEXTS = [{"pairs": pairs, "bleu": pairs / 400} for pairs in (1000, 1000, 20_000)]
PIECES = pd.DataFrame({"pieces": [100, 800], "tokens": [30.0, 15.0], "parameters": [1e5, 8e5]})
BINS = pd.DataFrame({"sentences": [9, 1], "chrf": [70.0, 40.0]}, index=["up to 8", "over 8"])
FAILURES = pd.DataFrame(
    {
        "translation": ["un chat", "un un"],
        "chrf": [90.0, 20.0],
        "source_words": [2, 3],
        "length_ratio": [1.0, 0.5],
        "repetition": ["", "un un"],
        **{name: [0, 1] for name in ("unseen_words", "rare_words", "unknown_pieces")},
    }
)


def search_to_draw() -> dict:
    """A decoder has read nothing yet, so each picture takes a new one."""
    decoder = FunctionScorer(lambda prefix: [-9.0, -9.0, len(prefix) - 2.0, 0.5, 0.1])
    words = ["<pad>", "<bos>", "<eos>", "a", "b"]
    return {"decoder": decoder, "words": words, "bos": 1, "eos": 2, "limit": 4}


PICTURES = {
    "activation_functions": lambda: plots.activation_functions({"tanh": torch.tanh}, "A bend"),
    "accuracy_by_length": lambda: plots.accuracy_by_length(LENGTHS, 24, 0.1, "It falls"),
    "alignment_against_gold": lambda: plots.alignment_against_gold(
        WEIGHTS[0, 0], [(0, 0), (2, 1)], WORDS, WORDS
    ),
    "attention_flow": lambda: plots.attention_flow(
        SCORES[0, :4], SCORES[:, :4], SCORES[:, :2], WORDS, "cat"
    ),
    "attention_heatmap": lambda: plots.attention_heatmap(WEIGHTS, WORDS, WORDS),
    "batch_endings": lambda: plots.batch_endings([["a", "<eos>", "<pad>"], list("abc")], "Ends"),
    "batch_rectangles": lambda: plots.batch_rectangles({"mixed": [(3, 4), (9, 8)]}),
    "beam_steps": lambda: plots.beam_steps(**search_to_draw()),
    "beam_tree": lambda: plots.beam_tree(**search_to_draw()),
    "beam_width_curves": lambda: plots.beam_width_curves(BEAMS.assign(bleu=[30.0, 20.0])),
    "bleu_by_minutes": lambda: plots.bleu_by_minutes({"EN-FR": MINUTES}),
    "bleu_by_pairs": lambda: plots.bleu_by_pairs(TEXTS, yours=2000),
    "cache_grids": plots.cache_grids,
    "clock_hands": plots.clock_hands,
    "curve_comparison": lambda: plots.curve_comparison({"a": HISTORY}, "dev_loss", "It falls"),
    "dot_product_by_offset": plots.dot_product_by_offset,
    "encoder_and_decoder_layer": plots.encoder_and_decoder_layer,
    "encoding_heatmap": plots.encoding_heatmap,
    "failure_chart": lambda: plots.failure_chart(FAILURES),
    "forward_pass": lambda: plots.forward_pass(SMALL, IDS, IDS),
    "head_ablation": lambda: plots.head_ablation(ABLATION, ["right"], "Each is needed"),
    "head_grid": lambda: plots.head_grid(WEIGHTS[0], WORDS, WORDS),
    "learning_to_translate": lambda: plots.learning_to_translate(TRAINER),
    "logits_and_probabilities": lambda: plots.logits_and_probabilities(
        WEIGHTS[0, 0, 0], WORDS, "One wins"
    ),
    "information_paths": lambda: plots.information_paths(
        dict.fromkeys(("encoder", "decoder"), causal_mask(6).expand(2, -1, -1)),
        WORDS,
        "Two triangles of paths",
    ),
    "loss_curves": lambda: plots.loss_curves(HISTORY),
    "mask_panels": lambda: plots.mask_panels({"causal": causal_mask(6)}, WORDS, WORDS, "Open"),
    "mask_viewer": lambda: plots.mask_viewer(SCORES, WORDS, real=4),
    "ngram_matches": lambda: plots.ngram_matches(WORDS, WORDS[:4]),
    "norm_orders": plots.norm_orders,
    "normalisation_steps": lambda: plots.normalisation_steps({"x": torch.ones(4)}, "It shrinks"),
    "padding_waste_bars": lambda: plots.padding_waste_bars({"at random": 0.5, "by length": 0.1}),
    "parameter_bars": lambda: plots.parameter_bars({"small": parameter_summary(SMALL)}, "Few"),
    "position_wise_diagram": lambda: plots.position_wise_diagram(WORDS, 512, 2048),
    "progress_bars": lambda: plots.progress_bars({"Attention": (2, 5), "Layers": (0, 4)}),
    "recurrence_and_attention": lambda: plots.recurrence_and_attention(WORDS, asks=5, answers=1),
    "rotation_of_one_pair": plots.rotation_of_one_pair,
    "sampling_cuts": lambda: plots.sampling_cuts({"a": torch.arange(12.0)}, "abcdefghijkl", 3, 0.8),
    "scaling_curves": lambda: plots.scaling_curves(GROWTH, "length", "cost", "part", "It grows"),
    "schedule_curves": plots.schedule_curves,
    "sentence_lengths": lambda: plots.sentence_lengths({"English": [3, 4, 9], "French": [4, 5]}),
    "scores_by_bin": lambda: plots.scores_by_bin({"source words": BINS}),
    "soft_look_up": lambda: plots.soft_look_up(
        torch.tensor([[2.0, 0.0], [0.0, -2.0]]), torch.tensor([18.0, 22.0]), ["a", "b"]
    ),
    "softmax_temperature": lambda: plots.softmax_temperature(SCORES[0], list("abcdef"), 64),
    "split_and_merge": plots.split_and_merge,
    "split_without_transpose": plots.split_without_transpose,
    "step_profile": lambda: plots.step_profile({"matrices": 0.7, "the rest": 0.3}),
    "subword_cuts": lambda: plots.subword_cuts({"9": ["▁a", "▁d", "og"], "99": ["▁a", "▁dog"]}),
    "training_curves": lambda: plots.training_curves(HISTORY),
    "translations_without_a_head": lambda: plots.translations_without_a_head(
        Translator.load(toy_checkpoint()), ["the small cat sleeps"]
    ),
    "unit_words": lambda: plots.unit_words(
        pd.DataFrame({"unit": [3, 3, 8], "word": ["a", "b", "c"], "activation": [2.0, 1.0, 0.5]})
    ),
    "vocabulary_tradeoff": lambda: plots.vocabulary_tradeoff(PIECES),
    "who_catches_whom": lambda: plots.who_catches_whom(VERDICTS, "One is caught"),
}
NOT_PICTURES = {"COLOURS", "course_map", "first_question", "LiveLossPicture", "Picture", "enable"}
FIGURES = [name for name in PICTURES if get_type_hints(getattr(plots, name))["return"] is Picture]
CHARTS = [name for name in PICTURES if name not in FIGURES]
SAMPLE = [*PICTURES][::6]


@cache
def bundle(name: str) -> tuple[dict, dict]:
    picture = PICTURES[name]()
    if isinstance(picture, Picture):
        return picture._repr_mimebundle_()
    return mime_bundle(picture.to_dict())


def objects(spec: object) -> Iterator[dict]:
    """Yield every object inside a specification."""
    children = spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list) else ()
    if isinstance(spec, dict):
        yield spec
    for child in children:
        yield from objects(child)


def fingerprints(names: list[str]) -> dict[str, str]:
    return {name: hashlib.sha256(json.dumps(bundle(name)).encode()).hexdigest() for name in names}


def test_every_public_picture_is_tested_here():
    assert set(PICTURES) == set(plots.__all__) - NOT_PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_carry_sentences_and_stay_small(name):
    data, metadata = bundle(name)
    assert len(data["text/plain"]) > 40
    assert data["text/plain"].endswith(".")
    assert metadata[PNG]["alt"] == data["text/plain"]
    assert metadata[PNG]["width"] <= COLUMN
    assert len(base64.b64decode(data[PNG])) <= LARGEST_IMAGE


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_stand_on_their_card(name):
    image = Image.open(io.BytesIO(base64.b64decode(bundle(name)[0][PNG]))).convert("RGB")
    corners = [(0, 0), (image.width - 1, 0), (0, image.height - 1)]
    assert {image.getpixel(corner) for corner in corners} == {tuple(bytes.fromhex(CARD[1:]))}


@pytest.mark.parametrize("name", CHARTS)
def test_charts_say_what_to_see_and_name_their_axes(name):
    spec = bundle(name)[0][VEGA_LITE]
    assert all(spec["title"]["text"])
    for part in objects(spec):
        for axis in ("x", "y"):
            if "field" in part.get("encoding", {}).get(axis, {}):
                assert part["encoding"][axis]["title"]


@pytest.mark.parametrize("name", CHARTS)
def test_charts_have_tooltips_and_at_most_one_control(name):
    spec = PICTURES[name]().to_dict()
    assert any("tooltip" in part.get("encoding", {}) for part in objects(spec))
    controls = [p for p in spec.get("params", []) if isinstance(p.get("bind"), dict)]
    assert len(controls) <= 1


@pytest.mark.parametrize("name", CHARTS)
def test_specifications_are_small_and_hold_no_counted_names(name):
    text = json.dumps(PICTURES[name]().to_dict())
    assert len(text) <= LARGEST_SPECIFICATION
    # Altair counts charts and parameters since the kernel started.
    assert "view_" not in text
    assert "param_" not in text


@pytest.mark.parametrize("name", FIGURES)
def test_figures_say_what_to_see_and_name_their_axes(name):
    before = dict(mpl.rcParams)
    axes = PICTURES[name]().figure.axes
    assert dict(mpl.rcParams) == before
    assert axes[0].get_title(loc="left")
    graphs = [part for part in axes if part.axison]  # a diagram has no axes to name
    assert not graphs or any(part.get_xlabel() for part in graphs)
    assert all(part.get_ylabel() for part in graphs)


@pytest.mark.parametrize(
    "names",
    [SAMPLE, pytest.param([*PICTURES], marks=pytest.mark.exhaustive)],
    ids=["sample", "all"],
)
def test_the_same_picture_is_the_same_bytes_in_another_kernel(names):
    code = (
        "import json, runpy\n"
        f"module = runpy.run_path({__file__!r})\n"
        "module['bundle']('beam_steps')  # shifts any counter\n"
        f"print(json.dumps(module['fingerprints']({names})))\n"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=240
    )
    assert json.loads(other.stdout) == fingerprints(names)
