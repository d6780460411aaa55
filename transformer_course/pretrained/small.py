"""A small Marian that ships, trained by Hugging Face's code, and what that code says about it."""

from dataclasses import dataclass
from pathlib import Path

from jaxtyping import Float, Int
from safetensors.torch import load_file
from torch import Tensor


def small_marian() -> Path:
    """Return the folder of a small translator of the toy language, in Marian's published files.

    ``tools/marian_checkpoint.py`` made it with Hugging Face's ``transformers`` alone.
    """
    return Path(__file__).parent / "small"


@dataclass(frozen=True)
class Reference:
    """What Hugging Face's Marian computes with the weights in :func:`small_marian`.

    All ids are Marian's. The first three belong together; ``translations`` are the greedy ones of
    ``sentences``, the first of the toy corpus's test split.
    """

    source_ids: Int[Tensor, "batch source"]
    target_ids: Int[Tensor, "batch target"]
    logits: Float[Tensor, "batch target vocab"]
    sentences: Int[Tensor, "sentences source"]
    translations: Int[Tensor, "sentences length"]


def reference() -> Reference:
    """Read what the original implementation computed."""
    return Reference(**load_file(small_marian() / "reference.safetensors"))
