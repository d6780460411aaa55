import json
import pickle
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch

from transformer_course.model import TransformerConfig, capture_attention
from transformer_course.translation.checkpoints import (
    CheckpointError,
    read_tensors,
    write_tensors,
)
from transformer_course.translation.corpora.batches import collate
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.vocabulary import BOS, EOS, PAD, SPECIAL_TOKENS
from transformer_course.translation.translator import CONFIG_FILE, MODEL_FILE, Translator

NewTranslator = Callable[..., Translator]
CUT_SHORT = [0, 7, 100, 0.5, 0.99]  # bytes, or a share of them


@pytest.fixture(scope="session")
def saved(new_translator: NewTranslator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    new_translator().save(folder)
    return folder


@pytest.fixture
def checkpoint(saved: Path, tmp_path: Path) -> Path:
    """Copy a checkpoint that the test may damage."""
    return Path(shutil.copytree(saved, tmp_path / "checkpoint"))


def change_config(checkpoint: Path, part: str | None, content: Any) -> None:
    """Put other content in place of a part of config.json, or of all of it."""
    path = checkpoint / CONFIG_FILE
    config = json.loads(path.read_text(encoding="utf-8"))
    if part is None:
        config = content
    elif isinstance(content, dict):
        config[part] |= content
    else:
        config[part] = content
    path.write_text(json.dumps(config), encoding="utf-8")


def test_vocabularies_come_from_the_pairs(
    translator: Translator, pairs: list[SentencePair]
) -> None:
    words = {word for pair in pairs for word in pair.target.split()}
    assert set(translator.target.vocabulary.tokens) == {*SPECIAL_TOKENS, *words}
    assert translator.model.config.target_vocab == len(words) + 4
    assert (translator.source.language, translator.target.language) == ("en", "fr")


def test_rare_words_become_unknown(pairs: list[SentencePair]) -> None:
    translator = Translator.from_pairs(pairs, ("en", "fr"), min_frequency=13, d_model=16)
    assert "the" in translator.source.vocabulary  # seen 16 times
    assert "cat" not in translator.source.vocabulary  # seen 12 times


def test_seed_determines_the_weights_and_nothing_else_moves(new_translator: NewTranslator) -> None:
    before = torch.get_rng_state()
    first, again, other = (new_translator(seed=seed).model.state_dict() for seed in (0, 0, 1))
    name = "encoder.layers.0.self_attention.query_projection.weight"
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not torch.equal(first[name], other[name])
    assert torch.equal(torch.get_rng_state(), before)


def test_each_sentence_is_translated_as_if_alone(
    translator: Translator, pairs: list[SentencePair]
) -> None:
    sentences = [pair.source for pair in pairs[:6]] + ["cat", "the the the the the the the", "cat"]
    together = translator.translate(sentences, batch_size=2)
    assert together == [translator.translate([sentence])[0] for sentence in sentences]
    assert len(set(together)) > 1


def test_a_single_text_and_no_batch_are_refused(translator: Translator) -> None:
    with pytest.raises(ValueError, match="a list of sentences is wanted"):
        translator.translate("the cat sleeps")
    with pytest.raises(ValueError, match="batch_size must be a whole number of at least 1"):
        translator.translate(["the cat sleeps"], batch_size=-1)
    with pytest.raises(ValueError, match="beam must be a whole number of at least 1"):
        translator.translate([""], beam=0)
    with pytest.raises(ValueError, match="batch_size must be a whole number of at least 1"):
        next(translator.cross_attention([], batch_size=0))


def test_blank_sentences_stay_blank(translator: Translator) -> None:
    first, blank, white, last = translator.translate(["the cat sleeps", "", " \t", "my dog eats"])
    assert (blank, white) == ("", "")
    assert [first, last] == translator.translate(["the cat sleeps", "my dog eats"])
    assert translator.translate([]) == []


def test_sentence_of_unknown_words_is_translated(translator: Translator) -> None:
    assert isinstance(translator.translate(["zebras yodel"])[0], str)


def test_translating_leaves_the_training_flag_and_the_random_state(translator: Translator) -> None:
    translator.model.train()
    before = torch.get_rng_state()
    translator.translate(["the cat sleeps"])
    assert translator.model.training
    assert torch.equal(torch.get_rng_state(), before)


def test_sentence_may_be_as_long_as_the_model_reads_but_no_longer(
    new_translator: NewTranslator, pairs: list[SentencePair]
) -> None:
    translator = new_translator(max_len=8)
    translator.translate(["the cat sleeps", "cat " * 7])  # and the end token
    message = "begins with 'cat cat .*has 8 tokens.* at most 7 at once"
    with pytest.raises(ValueError, match=message):
        translator.translate(["the cat sleeps", "cat " * 8])
    with pytest.raises(ValueError, match=message):
        translator.encode_pairs([SentencePair("cat " * 8, "le chat")])
    with pytest.raises(ValueError, match="begins with 'chat chat"):
        translator.encode_pairs([SentencePair("the cat", "chat " * 8)])
    faults = translator.faults(["cat " * 8, "", "cat " * 7, "cat " * 9])
    assert [fault.split(";")[0] for fault in faults.values()] == ["has 8 tokens", "has 9 tokens"]
    assert list(faults) == [0, 3]


def test_cross_attention_is_that_of_the_model(
    translator: Translator, pairs: list[SentencePair]
) -> None:
    uneven = [pairs[0], SentencePair("the cat", "le chat dort"), SentencePair("dog", "chien")]
    source, target_in, _ = collate(translator.encode_pairs(uneven), BOS, EOS, PAD)
    translator.model.eval()
    with torch.no_grad(), capture_attention(translator.model) as maps:
        translator.model(source, target_in)
    translator.model.train()
    found = list(translator.cross_attention(uneven, batch_size=2))
    assert [tuple(weights.shape) for weights in found] == [(2, 2, 4, 4), (2, 2, 4, 3), (2, 2, 2, 2)]
    for row, weights in enumerate(found):
        for layer in range(2):
            expected = maps[f"decoder.layers.{layer}.cross_attention"][row]
            expected = expected[:, : weights.shape[2], : weights.shape[3]]
            torch.testing.assert_close(weights[layer], expected)
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
    assert translator.model.training


def test_attention_map_names_rows_and_columns(translator: Translator) -> None:
    weights, rows, columns = translator.attention_map("the cat", "le chat dort")
    assert rows == ["le", "chat", "dort", "<eos>"]
    assert columns == ["the", "cat", "<eos>"]
    assert weights.shape == (2, 2, 4, 3)


def test_attention_map_takes_the_translators_own_words(translator: Translator) -> None:
    own = translator.translate(["the cat"])[0]
    weights, rows, _ = translator.attention_map("the cat")
    assert rows == [*translator.target.tokens(own), "<eos>"]
    assert torch.equal(weights, translator.attention_map("the cat", own)[0])


@pytest.mark.parametrize(
    ("tying", "positions", "norm_first"),
    [
        ("two_way", "sinusoidal", False),
        ("none", "learned", True),
        ("three_way", "sinusoidal", True),
    ],
)
def test_checkpoint_comes_back_to_the_bit(
    pairs: list[SentencePair], tmp_path: Path, tying: str, positions: str, norm_first: bool
) -> None:
    same_words = [SentencePair(pair.source, pair.source) for pair in pairs]
    saved = Translator.from_pairs(
        same_words,
        ("en", "en"),
        d_model=16,
        heads=2,
        max_len=12,
        tying=tying,
        positions=positions,
        norm_first=norm_first,
    )
    saved.save(tmp_path)
    before = torch.get_rng_state()
    loaded = Translator.load(str(tmp_path))
    assert torch.equal(torch.get_rng_state(), before)
    assert loaded.model.config == saved.model.config
    assert not loaded.model.training
    assert loaded.source.vocabulary.tokens == saved.source.vocabulary.tokens
    theirs = saved.model.state_dict()
    for name, tensor in loaded.model.state_dict().items():
        assert torch.equal(tensor, theirs[name]), name
    output, target = loaded.model.output.weight, loaded.model.target_embeddings.table.weight
    assert (output is target) == (tying != "none")
    assert (loaded.model.source_embeddings.table.weight is target) == (tying == "three_way")
    sentences = [pair.source for pair in pairs[:5]]
    assert loaded.translate(sentences) == saved.translate(sentences)


def test_shared_tables_are_stored_once(checkpoint: Path, translator: Translator) -> None:
    parameters = sum(parameter.numel() for parameter in translator.model.parameters())
    header = 20_000
    assert (checkpoint / MODEL_FILE).stat().st_size < 4 * parameters + header


@pytest.mark.parametrize("missing", [CONFIG_FILE, MODEL_FILE])
def test_missing_file_is_named(checkpoint: Path, missing: str) -> None:
    (checkpoint / missing).unlink()
    with pytest.raises(CheckpointError, match=f"no {missing} in"):
        Translator.load(checkpoint)


@pytest.mark.parametrize("kept", CUT_SHORT)
@pytest.mark.parametrize("name", [CONFIG_FILE, MODEL_FILE])
def test_file_cut_short_is_refused(checkpoint: Path, name: str, kept: float) -> None:
    whole = (checkpoint / name).read_bytes()
    size = kept if isinstance(kept, int) else int(kept * len(whole))
    (checkpoint / name).write_bytes(whole[:size])
    with pytest.raises(CheckpointError, match=rf"{name}.*(damaged|does not describe)"):
        Translator.load(checkpoint)


@pytest.mark.parametrize(
    "change",
    [
        {"d_model": 32},
        {"d_ff": 25},
        {"encoder_layers": 2},
        {"decoder_layers": 1},
        {"tying": "none"},
        {"positions": "learned"},
        {"norm_first": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_weights_of_another_configuration_are_refused(
    checkpoint: Path, change: dict[str, Any]
) -> None:
    change_config(checkpoint, "model", change)
    with pytest.raises(CheckpointError, match=r"model\.safetensors belongs to another config"):
        Translator.load(checkpoint)


@pytest.mark.parametrize(
    ("part", "content"),
    [
        (None, None),
        (None, []),
        (None, "config"),
        (None, {"model": {}}),
        ("model", 5),
        ("model", {"d_model": "16"}),
        ("model", {"d_model": 16.0}),
        ("model", {"dropout": "a"}),
        ("model", {"dropout": None}),
        ("model", {"positions": []}),
        ("model", {"tying": {}}),
        ("model", {"unheard_of": 1}),
        ("model", {"heads": 3}),
        ("model", {"heads": 0}),
        ("model", {"pad_id": 1}),
        ("model", {"source_vocab": 6}),
        ("source", 5),
        ("source", {"language": 5}),
        ("source", {"language": []}),
        ("source", {"language": "qq"}),
        ("source", {"tokens": 5}),
        ("source", {"tokens": None}),
        ("source", {"tokens": "abcdefgh"}),
        ("target", {"tokens": [*SPECIAL_TOKENS, *range(11)]}),
        ("target", {"tokens": [*SPECIAL_TOKENS, *([["a"]] * 11)]}),
        ("target", {"tokens": [*SPECIAL_TOKENS, "le"]}),
    ],
    ids=repr,
)
@pytest.mark.usefixtures("unchecked_signatures")
def test_odd_configuration_is_refused(checkpoint: Path, part: str | None, content: Any) -> None:
    change_config(checkpoint, part, content)
    is_object = part is not None or isinstance(content, dict)
    said = "does not describe a translator" if is_object else "is damaged .it must hold a JSON obj"
    with pytest.raises(CheckpointError, match=rf"config\.json {said}"):
        Translator.load(checkpoint)


@pytest.mark.parametrize("name", [field.name for field in fields(TransformerConfig)])
def test_configuration_without_a_part_is_refused(checkpoint: Path, name: str) -> None:
    """With other heads the weights fit as well, and translate into something else."""
    config = json.loads((checkpoint / CONFIG_FILE).read_text(encoding="utf-8"))
    del config["model"][name]
    change_config(checkpoint, None, config)
    with pytest.raises(CheckpointError, match=rf"config\.json does not.* \({name} is missing\)"):
        Translator.load(checkpoint)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf"), 1e300])
def test_weights_that_are_not_finite_are_refused(checkpoint: Path, number: float) -> None:
    path = checkpoint / MODEL_FILE
    tensors, _ = read_tensors(path)
    name = "output.bias" if "output.bias" in tensors else min(tensors)
    tensors[name] = tensors[name].double()  # 1e300 is finite there, and infinite in the model
    tensors[name].view(-1)[2] = number
    write_tensors(path, tensors, {})
    with pytest.raises(
        CheckpointError, match=rf"model\.safetensors holds .* not finite, in {name}"
    ):
        Translator.load(checkpoint)


@pytest.mark.parametrize(
    "change",
    [
        {name: size}
        for name in (
            "source_vocab",
            "target_vocab",
            "d_model",
            "d_ff",
            "encoder_layers",
            "decoder_layers",
            "max_len",
        )
        for size in (1_000_000, 10**9, 10**30)
    ]
    + [{"d_model": 1600, "d_ff": 1600, "heads": 1600}, {"heads": 10**30}],
    ids=repr,
)
def test_absurd_sizes_cost_neither_memory_nor_time(
    checkpoint: Path, change: dict[str, int], full_memory: AbstractContextManager[None]
) -> None:
    change_config(checkpoint, "model", change)
    start = time.perf_counter()
    with full_memory, pytest.raises(CheckpointError):
        Translator.load(checkpoint)
    assert time.perf_counter() - start < 5


def test_pickle_in_place_of_the_weights_is_never_unpickled(
    checkpoint: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"

    class Hostile:
        def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
            return (Path.mkdir, (marker,))

    (checkpoint / MODEL_FILE).write_bytes(pickle.dumps({"weight": Hostile()}))
    with pytest.raises(CheckpointError, match="not a safetensors file"):
        Translator.load(checkpoint)
    assert not marker.exists()


def test_full_disk_leaves_the_old_checkpoint(
    checkpoint: Path,
    new_translator: NewTranslator,
    full_disk: Callable[[int], AbstractContextManager[None]],
) -> None:
    before = Translator.load(checkpoint).model.state_dict()
    with full_disk(5_000), pytest.raises(OSError, match="too large"):
        new_translator(seed=1).save(checkpoint)
    assert sorted(path.name for path in checkpoint.iterdir()) == [CONFIG_FILE, MODEL_FILE]
    after = Translator.load(checkpoint).model.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
