"""A Transformer that a test can afford: tiny, in double precision, and sentences for it."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from transformer_course.model import Transformer, TransformerConfig

VOCAB = 13
PAD = 0
# Sizes are all different, so that no axis can be taken for another: d_k is 6.
SMALL = TransformerConfig(
    source_vocab=VOCAB,
    target_vocab=VOCAB,
    d_model=24,
    heads=4,
    encoder_layers=2,
    decoder_layers=2,
    d_ff=32,
    dropout=0.0,
    max_len=12,
    pad_id=PAD,
)

both_norm_orders = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])


def new_model(seed: int = 0, **settings: Any) -> Transformer:
    """Build the small model, with other settings where given, as training would start it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Transformer(replace(SMALL, **settings))


def small_model(seed: int = 0, **settings: Any) -> Transformer:
    """Build the small model in double precision and eval mode, as if it had been trained."""
    model = new_model(seed, **settings).double().eval()
    randomise(model, seed)
    return model


def randomise(module: nn.Module, seed: int = 0) -> None:
    """Move every parameter: a bias of zero or a gain of one would hide a mistake."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            step = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter += 0.2 * step.to(parameter.dtype)


def noise(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """Draw standard normal numbers."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def random_ids(batch: int, length: int, seed: int = 0) -> Tensor:
    """Draw token ids of shape (batch, length), none of them padding."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(PAD + 1, VOCAB, (batch, length), generator=generator)


def ragged_ids(batch: int, length: int, seed: int = 0) -> Tensor:
    """Draw sentences of which each is one token shorter than the one before, padded."""
    ids = random_ids(batch, length, seed)
    for row in range(batch):
        ids[row, length - row :] = PAD
    return ids
