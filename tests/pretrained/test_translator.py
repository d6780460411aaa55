"""A folder of published files, whole or not: without the library that wrote it."""

import json
import pickle
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from transformer_course.pretrained import (
    load_marian,
    marian_model,
    read_layout,
    reference,
    small_marian,
)
from transformer_course.pretrained.tokens import our_order, read_ids
from transformer_course.translation import (
    BOS,
    EOS,
    PAD,
    SentencePair,
    Translator,
    UncachedDecoder,
    greedy,
    pad_rows,
)
from transformer_course.translation.checkpoints import CheckpointError
from transformer_course.translation.training.loss import training_loss

from . import marian

WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def small() -> Translator:
    return load_marian(small_marian())


@pytest.fixture
def folder(tmp_path) -> Path:
    """Return a copy of the files that ship, to be damaged."""
    for name in ("config.json", WEIGHTS, "source.spm", "target.spm", "vocab.json"):
        shutil.copy(small_marian() / name, tmp_path)
    return tmp_path


def order() -> list[int]:
    layout = read_layout(small_marian())
    return our_order(read_ids(small_marian(), layout)[0], layout)


def in_our_ids(ids: torch.Tensor) -> torch.Tensor:
    """Number tokens as we do; of the padding and the begin token, which Marian has as one, the
    padding comes out."""
    ours = {theirs: number for number, theirs in reversed([*enumerate(order())])}
    return ids.clone().apply_(ours.__getitem__)


# What the original implementation computed


def test_logits_are_the_reference(small):
    wanted = reference()
    source, target = (in_our_ids(ids) for ids in (wanted.source_ids, wanted.target_ids))
    real = target != PAD
    real[:, 0] = True
    target[:, 0] = BOS
    with torch.no_grad():
        logits = small.model(source, target)
    kept = [number for number in range(len(order())) if number != BOS]
    seen, expected = logits[..., kept], wanted.logits[..., [order()[number] for number in kept]]
    torch.testing.assert_close(seen[real], expected[real], rtol=0, atol=1e-5)
    assert logits[..., BOS].eq(-torch.inf).all()


def test_a_hundred_translations_are_the_reference(small):
    pairs = marian.pairs(100)
    assert small.translate([pair.source for pair in pairs]) == [pair.target for pair in pairs]
    assert pairs[0].target == "je ne cours pas"


def test_decoding_with_and_without_a_cache_is_the_same(small):
    rows = pad_rows([[*small.source.encode(s), EOS] for s in ("the cat sleeps", "he sings")], PAD)
    cached = greedy(small.model, rows, BOS, EOS)
    assert torch.equal(cached, greedy(small.model, rows, BOS, EOS, decoder=UncachedDecoder))


def test_attention_is_shown_with_pieces(small):
    weights, rows, columns = small.attention_map("the small cat sleeps")
    assert weights.shape == (2, 4, len(rows), len(columns))
    assert columns[0] == "▁the" and columns[-1] == rows[-1] == "<eos>"


def test_training_on_a_cpu_knows_the_output_bias(small):
    """A loss without it would train another model."""
    pairs = [SentencePair("the cat sleeps", "le chat dort")]
    batch = small.batch(small.encode_pairs(pairs))
    losses = [training_loss(small.model, batch, 0.0, torch.float32, fast) for fast in (True, False)]
    torch.testing.assert_close(*losses)


# What a folder may lack


def change_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    content = json.loads(path.read_text(encoding="utf-8")) | changes
    kept = {name: value for name, value in content.items() if value is not ...}
    path.write_text(json.dumps(kept), encoding="utf-8")


def change_weights(folder: Path, **changes: torch.Tensor | None) -> None:
    tensors = load_file(folder / WEIGHTS) | changes
    kept = {name: tensor.contiguous() for name, tensor in tensors.items() if tensor is not None}
    save_file(kept, folder / WEIGHTS)


def fault(folder: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        load_marian(folder)
    return str(caught.value)


@pytest.mark.parametrize("name", ["config.json", WEIGHTS, "source.spm", "target.spm", "vocab.json"])
def test_missing_file(folder, name):
    (folder / name).unlink()
    assert f"there is no {name} in {folder}" in fault(folder)


@pytest.mark.parametrize("name", ["config.json", WEIGHTS, "source.spm", "target.spm", "vocab.json"])
def test_damaged_file(folder, name):
    (folder / name).write_bytes(b"\x00damaged" * 9)
    said = fault(folder)
    assert name in said
    assert "download it again" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "bart"}, "its model_type is 'bart', and 'marian' is wanted"),
        ({"activation_function": "gelu"}, "must be one of ['swish', 'relu']; got 'gelu'"),
        ({"activation_function": ...}, "config.json does not say 'activation_function'"),
        ({"scale_embedding": False}, "scale_embedding must be True"),
        ({"normalize_before": True}, "normalize_before must be False"),
        ({"decoder_attention_heads": 8}, "encoder_attention_heads is 4 and decoder"),
        ({"d_model": 66}, "d_model must be divisible by heads"),
        ({"eos_token_id": 328}, "eos_token_id must be between 0 and 327; got 328"),
        ({"decoder_start_token_id": None}, "decoder_start_token_id must be between 0 and 327"),
        ({"d_model": "64"}, "d_model must be a whole number"),
        ({"decoder_layers": 3}, "has no model.decoder.layers.2.encoder_attn.k_proj.bias"),
        ({"decoder_layers": 1}, "has model.decoder.layers.1.encoder_attn.k_proj.bias, for which"),
        ({"max_position_embeddings": 10**12}, "may be 100000 at most"),
        ({"encoder_layers": 10**9}, "holds fewer tensors than config.json asks for layers"),
        ({"share_encoder_decoder_embeddings": False}, "does not say 'decoder_vocab_size'"),
        ({"vocab_size": 329}, "must number 329 tokens from 0 on"),
        ({"encoder_ffn_dim": 128, "decoder_ffn_dim": 128}, "config.json asks for (128, 64)"),
    ],
)
def test_config_of_another_model(folder, changes, said):
    if changes.get("share_encoder_decoder_embeddings") is False:
        changes = changes | {"decoder_vocab_size": ...}
    change_config(folder, **changes)
    assert said in fault(folder)


def test_separate_vocabularies_need_a_second_list(folder):
    change_config(folder, share_encoder_decoder_embeddings=False)
    assert "there is no target_vocab.json" in fault(folder)
    shutil.copy(folder / "vocab.json", folder / "target_vocab.json")
    assert "has no model.decoder.embed_tokens.weight" in fault(folder)


def test_weights_of_another_model(folder):
    change_weights(folder, **{"model.encoder.layernorm_embedding.weight": torch.ones(64)})
    assert "has model.encoder.layernorm_embedding.weight, for which" in fault(folder)


def test_learned_positions_are_refused(folder):
    change_weights(folder, **{"model.encoder.embed_positions.weight": torch.ones(128, 64)})
    assert "embed_positions.weight is not what config.json makes of it" in fault(folder)


def test_numbers_that_are_not_finite(folder):
    change_weights(folder, final_logits_bias=load_file(folder / WEIGHTS)["final_logits_bias"] / 0)
    assert "not finite, in final_logits_bias" in fault(folder)


def test_vocabulary_with_gaps(folder):
    ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    (folder / "vocab.json").write_text(json.dumps(ids | {"<pad>": 9999}), encoding="utf-8")
    assert "must number" in fault(folder)


class Malicious:
    def __reduce__(self) -> tuple:
        return print, ("any code could run here",)


def test_a_pickle_runs_no_code(folder, capsys):
    (folder / WEIGHTS).unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"": Malicious()}, protocol=2))
    assert "holds something else than tensors" in fault(folder)
    assert capsys.readouterr().out == ""


def test_an_empty_pickle_is_said_to_be_damaged(folder):
    (folder / WEIGHTS).unlink()
    (folder / "pytorch_model.bin").write_bytes(b"")
    assert "is damaged, or holds something else than tensors" in fault(folder)


def test_building_leaves_random_numbers_alone():
    torch.manual_seed(0)
    wanted = torch.rand(3)
    torch.manual_seed(0)
    marian_model(read_layout(small_marian()), 9, 9)
    assert torch.equal(torch.rand(3), wanted)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.99])
def test_a_pickle_that_is_cut_short_is_said_to_be_damaged(folder, share):
    path = folder / "pytorch_model.bin"
    torch.save(load_file(folder / WEIGHTS), path)
    (folder / WEIGHTS).unlink()
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    assert "is damaged, or holds something else than tensors" in fault(folder)
