import base64

import numpy as np
import pytest
import torch

from transformer_course.publish.checkpoint import checkpoint
from transformer_course.translation import Translator, toy_checkpoint
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.translator import parameters_by_name

PAIRS = [SentencePair("the cat sleeps", "l'élève dort", ())]
SIZES = {
    "d_model": 8,
    "heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "d_ff": 12,
}


def small_translator(pairs=PAIRS, **changes):
    return Translator.from_pairs(pairs, ("en", "fr"), **(SIZES | changes))


@pytest.fixture(scope="module")
def toy():
    return Translator.load(toy_checkpoint())


def test_every_weight_comes_back_rounded_to_half_precision(toy):
    content = checkpoint(toy)
    numbers, start = np.frombuffer(base64.b64decode(content["weights"]), dtype="<f2"), 0
    tensors = parameters_by_name(toy.model)
    assert list(content["shapes"]) == list(tensors)
    for name, shape in content["shapes"].items():
        size = int(np.prod(shape))
        stored = torch.tensor(numbers[start : start + size].astype(np.float32)).reshape(shape)
        start += size
        # Half precision keeps eleven binary digits; below 2^-14 the gaps stay as they are there.
        torch.testing.assert_close(stored, tensors[name], rtol=2**-11, atol=2**-25)
    assert start == len(numbers)


def test_checkpoint_brings_words_languages_and_configuration(toy):
    content = checkpoint(toy)
    assert content["source"] == toy.source.vocabulary.tokens
    assert content["target"] == toy.target.vocabulary.tokens
    assert content["languages"] == {
        "source": {"code": "en", "name": "English"},
        "target": {"code": "fr", "name": "French"},
    }
    assert content["config"]["heads"] == toy.model.config.heads
    for name, number in content["special"].items():
        assert content["target"][number] == f"<{name.lower()}>"


def test_learned_positions_are_refused():
    with pytest.raises(ValueError, match=r"learned ones: train one with positions='sinusoidal'"):
        checkpoint(small_translator(positions="learned"))


def test_subwords_bring_the_scores_by_which_they_merge():
    pairs = [SentencePair("the cat, the cat and the hat", "le chat, le chat et le chapeau")]
    content = checkpoint(small_translator(pairs, subwords=40))
    assert content["source"] == content["target"]
    score = dict(zip(content["source"], content["scores"], strict=True))
    assert score["at"] > score["▁c"] > score["▁cat"]  # in the order in which they were learned


def test_words_bring_no_scores(toy):
    assert checkpoint(toy)["scores"] is None


@pytest.mark.parametrize(
    ("source", "target", "strange"),
    [
        ("The cat", "le chat", "The"),
        ("the cat .", "le chat", "."),
        ("the cat", "le chat !", "!"),
        ("i don't sleep", "je dors", "'t"),
    ],
)
def test_words_that_the_page_cannot_read_are_refused(source, target, strange):
    checkpoint(small_translator())
    with pytest.raises(ValueError, match="in small letters without punctuation") as caught:
        checkpoint(small_translator([SentencePair(source, target)]))
    assert f"knows {strange!r}:" in str(caught.value)


def test_weight_beyond_half_precision_is_refused():
    translator = small_translator()
    with torch.no_grad():
        translator.model.output.weight[-1, -1] = 70_000
    with pytest.raises(ValueError, match=r"ends at 65504"):
        checkpoint(translator)
