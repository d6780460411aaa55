"""Our model, with Marian's weights, against the implementation that they were written by."""

import pytest
import torch
from torch import Tensor

from transformer_course.model import capture_attention, evaluating
from transformer_course.pretrained import load_marian, read_layout
from transformer_course.pretrained.tokens import our_order, read_ids
from transformer_course.translation import (
    BOS,
    EOS,
    PAD,
    Translator,
    greedy,
    pad_rows,
    toy_corpus,
)

from . import marian

SHARED, SEPARATE = {}, {"share_encoder_decoder_embeddings": False}
LAYOUTS = {
    "shared": SHARED,
    "separate": SEPARATE,
    "relu": {"activation_function": "relu"},
    "deep encoder": {"encoder_layers": 4, "decoder_layers": 1},
    "behind the end": {"decoder_start_token_id": 0},
    "begin token": {"decoder_start_token_id": 5},
}
each_layout = pytest.mark.parametrize("settings", LAYOUTS.values(), ids=LAYOUTS)


def both_logits(theirs: marian.Theirs, ours: Translator, count: int = 20) -> tuple[Tensor, Tensor]:
    """Return logits of real positions, in Marian's order; the begin token is ours alone."""
    pairs = marian.pairs(count)
    with torch.no_grad():
        wanted = theirs.model(**theirs.batch(pairs)).logits
    batch = ours.batch(ours.encode_pairs(pairs))
    with evaluating(ours.model):
        seen = ours.model(batch.source, batch.target_in)
    layout = read_layout(theirs.folder)
    order = our_order(read_ids(theirs.folder, layout)[1], layout)
    kept = [number for number in range(len(order)) if number != BOS]
    real = batch.target_out != PAD
    return seen[real][:, kept], wanted[real][:, [order[number] for number in kept]]


@each_layout
def test_logits_are_theirs(tmp_path, settings):
    theirs = marian.new_marian(tmp_path, **settings)
    ours = load_marian(tmp_path)
    seen, wanted = both_logits(theirs, ours)
    assert wanted.std() > 0.5
    torch.testing.assert_close(seen, wanted, rtol=0, atol=1e-5)
    theirs.model.double()
    ours.model.double()
    seen, wanted = both_logits(theirs, ours)
    torch.testing.assert_close(seen, wanted, rtol=0, atol=1e-12)


def test_random_weights_are_decoded_alike(tmp_path):
    theirs = marian.new_marian(tmp_path)
    ours = load_marian(tmp_path)
    sentences = [pair.source for pair in marian.pairs(20)]
    rows = pad_rows([[*ours.source.encode(sentence), EOS] for sentence in sentences], PAD)
    said = greedy(ours.model, rows, BOS, EOS, max_length=12).tolist()
    assert [ours.target.decode(row) for row in said] == theirs.greedy(sentences, max_new_tokens=12)


def test_old_weights_are_read(tmp_path):
    """Before safetensors, weights were pickled, with the tables that repeat others."""
    theirs = marian.new_marian(tmp_path)
    wanted = load_marian(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save(theirs.model.state_dict(), tmp_path / "pytorch_model.bin")
    assert "model.encoder.embed_positions.weight" in theirs.model.state_dict()
    seen = load_marian(tmp_path)
    for one, other in zip(seen.model.parameters(), wanted.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_cross_attention_is_theirs(tmp_path):
    theirs = marian.new_marian(tmp_path)
    theirs.model.set_attn_implementation("eager")  # the other hands out no weights
    ours, pairs = load_marian(tmp_path), marian.pairs(5)
    with torch.no_grad():
        found = theirs.model(**theirs.batch(pairs), output_attentions=True).cross_attentions
    batch = ours.batch(ours.encode_pairs(pairs))
    with evaluating(ours.model), capture_attention(ours.model) as maps:
        ours.model(batch.source, batch.target_in)
    real = batch.target_out != PAD
    for layer, wanted in enumerate(found):
        seen = maps[f"decoder.layers.{layer}.cross_attention"]
        by_position = [weights.transpose(1, 2)[real] for weights in (seen, wanted)]
        torch.testing.assert_close(*by_position, rtol=0, atol=1e-5)


@pytest.mark.parametrize("settings", [SHARED, SEPARATE], ids=["shared", "separate"])
def test_tokens_are_theirs(tmp_path, settings):
    theirs, ours = marian.new_marian(tmp_path, **settings), load_marian(tmp_path)
    layout = read_layout(tmp_path)
    orders = [our_order(ids, layout) for ids in read_ids(tmp_path, layout)]
    texts = [text for pair in marian.pairs(20) for text in (pair.source, pair.target)]
    texts += ["the Zebra sleeps", "  two  blanks ", "ﬁne ½", "it is 5 o'clock."]
    for text in texts:
        wanted = theirs.tokenizer(text, text_target=text)
        seen = [side.encode(text) for side in (ours.source, ours.target)]
        assert [orders[0][number] for number in (*seen[0], EOS)] == wanted["input_ids"]
        assert [orders[1][number] for number in (*seen[1], EOS)] == wanted["labels"]
    for pair in marian.pairs(20):
        assert ours.target.decode([BOS, *ours.target.encode(pair.target), EOS]) == pair.target


@pytest.mark.exhaustive
def test_a_thousand_sentences_are_translated_alike():
    theirs, ours = marian.shipped(), load_marian(marian.small_marian())
    sentences = [pair.source for pair in toy_corpus().split("test")[:1000]]
    wanted = theirs.greedy(sentences, max_new_tokens=40)
    assert ours.translate(sentences) == wanted


@pytest.mark.exhaustive
def test_a_beam_finds_what_theirs_finds():
    """Ours gives up a hypothesis later than theirs, so that it may find a better one."""
    theirs, ours = marian.shipped(), load_marian(marian.small_marian())
    sentences = [pair.source for pair in toy_corpus().split("test")[:200]]
    wanted = theirs.greedy(sentences, num_beams=4, max_new_tokens=40, early_stopping="never")
    assert ours.translate(sentences, beam=4) == wanted
