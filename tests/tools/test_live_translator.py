import base64
import importlib
import inspect
import json
import re
from operator import attrgetter

import numpy as np
import pytest
import torch

from tools import live_translator
from tools.sources import ROOT
from transformer_course.translation import Translator, toy_checkpoint, toy_corpus
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.translator import parameters_by_name

PAGE = ROOT / "book" / "live_translator.md"
TEXT_CONTRAST = 4.5  # WCAG AA
PAIRS = [SentencePair("the cat sleeps", "le chat dort", ())]
SIZES = {
    "d_model": 8,
    "heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "d_ff": 12,
    "norm_first": True,
}


def small_translator(**changes):
    return Translator.from_pairs(PAIRS, ("en", "fr"), **(SIZES | changes))


@pytest.fixture(scope="module", autouse=True)
def corpus():
    """Draw the toy corpus once for all tests: it takes seconds."""
    corpus = toy_corpus()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live_translator, "toy_corpus", lambda: corpus)
        yield corpus


@pytest.fixture(scope="module")
def toy():
    return Translator.load(toy_checkpoint())


def numbers_in(checkpoint):
    return np.frombuffer(base64.b64decode(checkpoint["weights"]), dtype="<f2")


def test_every_weight_comes_back_rounded_to_half_precision(toy):
    checkpoint = live_translator.checkpoint(toy)
    numbers, start = numbers_in(checkpoint), 0
    tensors = parameters_by_name(toy.model)
    assert list(checkpoint["shapes"]) == list(tensors)
    for name, shape in checkpoint["shapes"].items():
        size = int(np.prod(shape))
        stored = torch.tensor(numbers[start : start + size].astype(np.float32)).reshape(shape)
        start += size
        # Half precision keeps eleven binary digits; below 2^-14 the gaps stay as they are there.
        torch.testing.assert_close(stored, tensors[name], rtol=2**-11, atol=2**-25)
    assert start == len(numbers)


def test_checkpoint_brings_words_and_configuration(toy):
    checkpoint = live_translator.checkpoint(toy)
    assert checkpoint["source"] == toy.source.vocabulary.tokens
    assert checkpoint["target"] == toy.target.vocabulary.tokens
    assert checkpoint["config"]["heads"] == toy.model.config.heads
    for name, number in checkpoint["special"].items():
        assert checkpoint["target"][number] == f"<{name.lower()}>"


@pytest.mark.parametrize(
    "change", [{"norm_first": False}, {"positions": "learned"}, {"tying": "none"}]
)
def test_model_that_the_script_does_not_compute_is_refused(change):
    live_translator.checkpoint(small_translator())
    with pytest.raises(ValueError, match=r"translator\.js computes norm_first=True"):
        live_translator.checkpoint(small_translator(**change))


def test_weight_beyond_half_precision_is_refused():
    translator = small_translator()
    with torch.no_grad():
        translator.model.output.weight[-1, -1] = 70_000
    with pytest.raises(ValueError, match=r"ends at 65504"):
        live_translator.checkpoint(translator)


def test_script_is_three_constants():
    lines = live_translator.translator_script().splitlines()
    constants = dict(re.fullmatch(r"const (\w+) = (.*);", line).groups() for line in lines)
    assert list(constants) == ["CHECKPOINT", "EXAMPLES", "SHADES"]
    assert json.loads(constants["EXAMPLES"]) == live_translator.examples()
    assert all(json.loads(text) for text in constants.values())


def test_examples_are_test_sentences(corpus):
    sentences = live_translator.examples()
    assert len(set(sentences)) == live_translator.EXAMPLES
    assert set(sentences) <= {pair.source for pair in corpus.split("test")}
    assert sentences == live_translator.examples()


def luminance(colour):
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_figures_are_legible_on_every_shade():
    shades = live_translator.shades()
    assert (shades[0][0], shades[-1][0]) == ("#440154", "#fde725")  # the ends of viridis
    for pair in shades:
        dark, light = sorted(luminance(colour) for colour in pair)
        assert (light + 0.05) / (dark + 0.05) >= TEXT_CONTRAST


# The page


def test_every_named_function_stands_beside_its_python():
    script = live_translator.FORWARD_PASS.read_text(encoding="utf-8")
    named = re.findall(r"// ([\w/]+)\.py: ([\w.]+)", script)
    text = live_translator.mirrors()
    assert len(named) == text.count("### ") == text.count("```javascript\n") > 10
    for path, name in named:
        found = importlib.import_module(f"transformer_course.{path.replace('/', '.')}")
        assert inspect.isfunction(attrgetter(name)(found))
        assert f"### `{name}`\n" in text


def test_functions_are_whole():
    block = re.compile(r"```javascript\n(.*?)```", re.DOTALL)
    for code in block.findall(live_translator.mirrors()):
        assert code.endswith("}\n") and code.count("{") == code.count("}")
        assert not code.startswith(" ") and "//" not in code


def test_page_is_right_about_what_it_proposes(toy):
    proposed = re.findall(r'"([^"]+)" becomes \*([^*]+)\*', PAGE.read_text(encoding="utf-8"))
    assert len(proposed) > 3
    sources, targets = zip(*proposed, strict=True)
    assert toy.translate(sources) == list(targets)
