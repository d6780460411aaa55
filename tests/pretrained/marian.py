"""Marian models of Hugging Face's making, with random weights, in a folder as it publishes them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from transformer_course.pretrained import MarianTokenizer, load_marian, reference, small_marian
from transformer_course.translation import SentencePair

ENDS = ("</s>", "<pad>")

# Sizes are all different, so that no axis can be taken for another: d_k is 6.
SIZES = {
    "d_model": 24,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
    "max_position_embeddings": 64,
}


@dataclass
class Theirs:
    """Hugging Face's model and tokeniser, and the folder that they were written to."""

    model: Any
    tokenizer: Any
    folder: Path

    def batch(self, pairs: list[SentencePair]) -> dict[str, Tensor]:
        """Return what their model is called with for pairs of sentences."""
        rows = self.tokenizer(
            [pair.source for pair in pairs],
            text_target=[pair.target for pair in pairs],
            return_tensors="pt",
            padding=True,
        )
        target = self.model.prepare_decoder_input_ids_from_labels(rows.pop("labels"))
        return {**rows, "decoder_input_ids": target}

    def greedy(self, sentences: list[str], **settings: Any) -> list[str]:
        """Translate."""
        rows = self.tokenizer(sentences, return_tensors="pt", padding=True)
        pad = self.model.config.pad_token_id
        said = self.model.generate(**rows, do_sample=False, bad_words_ids=[[pad]], **settings)
        return self.tokenizer.batch_decode(said, skip_special_tokens=True)


def shipped() -> Theirs:
    """Load what ships into Hugging Face's model."""
    transformers = pytest.importorskip("transformers")
    folder = small_marian()
    model = transformers.MarianMTModel.from_pretrained(folder).eval()
    return Theirs(model, _tokenizer(folder), folder)


def new_marian(folder: Path, **settings: Any) -> Theirs:
    """Build a model with random weights and publish it in a folder, with tokens of the toy.

    No weight is as it was at the beginning: zeros would hide a mistake.
    """
    transformers = pytest.importorskip("transformers")
    _write_tokens(folder, shared=settings.get("share_encoder_decoder_embeddings", True))
    vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    pad = vocabulary["<pad>"]
    config = transformers.MarianConfig(
        **{
            "vocab_size": len(vocabulary),
            "activation_function": "swish",
            "scale_embedding": True,
            "pad_token_id": pad,
            "decoder_start_token_id": pad,
            "eos_token_id": 0,
            "forced_eos_token_id": None,
            **SIZES,
            **settings,
        }
    )
    torch.manual_seed(0)
    model = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        for name, numbers in model.state_dict().items():
            if "embed_positions" not in name:
                numbers += 0.3 * torch.randn_like(numbers)
    model.save_pretrained(folder)
    return Theirs(model, _tokenizer(folder), folder)


def _tokenizer(folder: Path) -> Any:
    import transformers

    separate = (folder / "target_vocab.json").exists()
    return transformers.MarianTokenizer(
        *(str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")),
        target_vocab_file=str(folder / "target_vocab.json") if separate else None,
        separate_vocabs=separate,
    )


def _write_tokens(folder: Path, shared: bool) -> None:
    for name in ("source.spm", "target.spm", "vocab.json"):
        (folder / name).write_bytes((small_marian() / name).read_bytes())
    if not shared:
        ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        end, unknown, *pieces, pad = ids
        # The special tokens have the same ids in both, as Marian needs it.
        turned = [end, unknown, *reversed(pieces), pad]
        numbered = {token: number for number, token in enumerate(turned)}
        (folder / "target_vocab.json").write_text(json.dumps(numbered), encoding="utf-8")


def pairs(count: int) -> list[SentencePair]:
    """Return up to a hundred sentences, with what Hugging Face's code makes of them."""
    found, small = reference(), load_marian(small_marian())
    ids = json.loads((small_marian() / "vocab.json").read_text(encoding="utf-8"))
    tokens = list(ids)

    def texts(rows: Tensor, side: MarianTokenizer) -> list[str]:
        return [
            side.decode(side.vocabulary.encode(tokens[n] for n in row if tokens[n] not in ENDS))
            for row in rows[:count].tolist()
        ]

    sources = texts(found.sentences, small.source)
    return list(map(SentencePair, sources, texts(found.translations, small.target)))
