"""Marian's published files: what config.json says and what the weights are, checked."""

from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from transformer_course.checks import check_choice
from transformer_course.model import TransformerConfig
from transformer_course.translation.checkpoints import CheckpointError, json_object
from transformer_course.translation.corpora.vocabulary import PAD
from transformer_course.translation.translator import LONGEST_MAX_LEN

CONFIG_FILE = "config.json"
WEIGHT_FILES = ("model.safetensors", "pytorch_model.bin")  # the first that is there is read
DAMAGED = (
    SafetensorError,
    UnpicklingError,
    RuntimeError,
    AttributeError,
    EOFError,
    ValueError,
    AssertionError,
)
"""What reading damaged weights raises; also an OSError that names no file."""
ACTIVATIONS = ("swish", "relu")
SPECIAL_IDS = ("pad_token_id", "decoder_start_token_id", "eos_token_id")
# What a config.json may leave out, or say otherwise of models that compute something else.
AS_PUBLISHED = {
    "scale_embedding": (True, False),
    "tie_word_embeddings": (True, True),
    "static_position_embeddings": (True, True),
    "normalize_before": (False, False),
    "normalize_embedding": (False, False),
    "add_final_layer_norm": (False, False),
}
"""The setting that all translators of the OPUS-MT project have, and what is meant by none."""


@dataclass(frozen=True)
class Layout:
    """What a config.json says.

    Attributes
    ----------
    sizes
        The arguments of a :class:`TransformerConfig` other than the vocabularies.
    vocabularies
        Number of tokens of source and target.
    activation
        ``"swish"`` or ``"relu"``.
    shared
        Whether both languages share one vocabulary and one table.
    pad, begin, end
        Ids of the padding, of the token that translations begin behind, and of the end token.
    """

    sizes: dict[str, Any]
    vocabularies: tuple[int, int]
    activation: str
    shared: bool
    pad: int
    begin: int
    end: int

    def config(self, source_vocab: int, target_vocab: int) -> TransformerConfig:
        """Describe the model, for tables of so many rows."""
        return TransformerConfig(
            source_vocab,
            target_vocab,
            tying="three_way" if self.shared else "two_way",
            **self.sizes,
        )


def read_layout(folder: Path) -> Layout:
    """Read config.json.

    Raises
    ------
    CheckpointError
        If it is missing or damaged, or describes a model that ours cannot become.
    """
    stored = read_json(folder / CONFIG_FILE)
    try:
        layout = _layout(stored)
        layout.config(*layout.vocabularies)
    except KeyError as error:
        raise CheckpointError(f"{folder / CONFIG_FILE} does not say {error}.") from None
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{folder / CONFIG_FILE} cannot be used: {error}") from None
    return layout


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; raise CheckpointError if it is missing or damaged."""
    text = _existing(path).read_bytes()
    try:
        return json_object(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged ({error}); download it again.") from None


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise CheckpointError(
            f"there is no {path.name} in {path.parent}: a published Marian model has config.json, "
            f"{' or '.join(WEIGHT_FILES)}, source.spm, target.spm and vocab.json."
        )
    return path


def read_bytes(path: Path) -> bytes:
    """Read a file; raise CheckpointError if it is missing."""
    return _existing(path).read_bytes()


def _layout(stored: dict[str, Any]) -> Layout:
    if stored.get("model_type") != "marian":
        raise ValueError(
            f"its model_type is {stored.get('model_type')!r}, and 'marian' is wanted. Other "
            f"families arrange their weights differently."
        )
    for name, (wanted, unsaid) in AS_PUBLISHED.items():
        if stored.get(name, unsaid) is not wanted:
            raise ValueError(f"{name} must be {wanted}; other models are not known here.")
    check_choice("activation_function", stored["activation_function"], ACTIVATIONS)
    if stored["max_position_embeddings"] > LONGEST_MAX_LEN:  # no stored number vouches for it
        raise ValueError(f"max_position_embeddings may be {LONGEST_MAX_LEN} at most.")
    shared = stored.get("share_encoder_decoder_embeddings", True)
    source = stored["vocab_size"]
    target = source if shared else stored["decoder_vocab_size"]
    pad, begin, end = (_id(stored, name, min(source, target)) for name in SPECIAL_IDS)
    return Layout(
        sizes={
            "d_model": stored["d_model"],
            "heads": _same(stored, "attention_heads"),
            "encoder_layers": stored["encoder_layers"],
            "decoder_layers": stored["decoder_layers"],
            "d_ff": _same(stored, "ffn_dim"),
            "dropout": stored.get("dropout", 0.0),
            "max_len": stored["max_position_embeddings"],
            "pad_id": PAD,
        },
        vocabularies=(source, target),
        activation=stored["activation_function"],
        shared=shared,
        pad=pad,
        begin=begin,
        end=end,
    )


def _id(stored: dict[str, Any], name: str, tokens: int) -> int:
    if stored[name] not in range(tokens):
        raise ValueError(f"{name} must be between 0 and {tokens - 1}; got {stored[name]}.")
    return stored[name]


def _same(stored: dict[str, Any], name: str) -> int:
    encoder, decoder = stored[f"encoder_{name}"], stored[f"decoder_{name}"]
    if encoder != decoder:
        raise ValueError(
            f"encoder_{name} is {encoder} and decoder_{name} is {decoder}; here both must be equal."
        )
    return encoder


def read_weights(folder: Path) -> tuple[Path, dict[str, Tensor]]:
    """Read all tensors in single precision, and say from which file.

    A ``.bin`` file is a pickle, which may hold any code: nothing but tensors is let in.

    Raises
    ------
    CheckpointError
        If no file of weights is there, or it is damaged or holds something else than tensors.
    """
    there = (folder / name for name in WEIGHT_FILES if (folder / name).is_file())
    path = _existing(next(there, folder / WEIGHT_FILES[0]))
    try:
        if path.suffix == ".safetensors":
            tensors = load_file(path)
        else:
            tensors = torch.load(path, map_location="cpu", weights_only=True)
        return path, {name: tensor.float() for name, tensor in tensors.items()}
    except (*DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        raise CheckpointError(
            f"{path} is damaged, or holds something else than tensors "
            f"({(str(error) or type(error).__name__).splitlines()[0]}); download it again."
        ) from None
