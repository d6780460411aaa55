"""Lesson 3: several attentions side by side.

Source: Vaswani et al. (2017), "Attention Is All You Need", section 3.2.2.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_course.model.attention import fused_attention, scaled_dot_product_attention


def split_heads(
    x: Float[Tensor, "batch length d_model"], heads: int
) -> Float[Tensor, "batch heads length d_k"]:
    """Cut each vector into ``heads`` pieces and move the heads beside the batch."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge_heads(
    x: Float[Tensor, "batch heads length d_k"],
) -> Float[Tensor, "batch length d_model"]:
    """Join the heads' pieces again; the inverse of :func:`split_heads`."""
    return x.transpose(1, 2).flatten(start_dim=2)


class MultiHeadAttention(nn.Module):
    """Project, split into heads, attend in each, merge, project (section 3.2.2).

    The same class serves as self-attention (memory is the query sequence itself), as masked
    self-attention (with a causal mask) and as cross-attention (memory is the encoder's output).

    Parameters
    ----------
    d_model
        Width of each vector.
    heads
        Number of heads; must divide ``d_model``. Each head works with ``d_model / heads`` features.
    """

    def __init__(self, d_model: int, heads: int) -> None:
        super().__init__()
        if heads < 1 or d_model < 1 or d_model % heads:
            raise ValueError(
                f"d_model must be divisible by heads, because each head gets d_model / heads "
                f"features; got d_model={d_model}, heads={heads}. Change one of them, for "
                f"example to d_model=512 with heads=8."
            )
        self.heads = heads
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.output_projection = nn.Linear(d_model, d_model)
        self.attend = fused_attention

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch key d_model"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Let each position of ``query`` gather what it needs from the positions of ``memory``."""
        q = split_heads(self.query_projection(query), self.heads)  # (batch, heads, query, d_k)
        k = split_heads(self.key_projection(memory), self.heads)  # (batch, heads, key, d_k)
        v = split_heads(self.value_projection(memory), self.heads)  # (batch, heads, key, d_k)
        return self.output_projection(merge_heads(self.attend(q, k, v, mask)))


@contextmanager
def capture_attention(
    model: nn.Module,
) -> Iterator[dict[str, Float[Tensor, "batch heads query key"]]]:
    """Hand out the attention weights of every multi-head attention inside ``model``.

    Within the block each module computes by the textbook path, which has weights to show. The
    dictionary maps a module's path, such as ``decoder.layers.0.cross_attention`` (``""`` for
    ``model`` itself), to the weights of its latest call, shaped (batch, heads, query, key) and
    detached.

    Examples
    --------
    >>> with capture_attention(model) as maps:            # doctest: +SKIP
    ...     model(source_ids, target_ids)
    >>> maps["encoder.layers.0.self_attention"].shape      # doctest: +SKIP
    """
    maps: dict[str, Tensor] = {}

    def attend_and_record(
        name: str, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Tensor:
        output, weights = scaled_dot_product_attention(query, key, value, mask)
        maps[name] = weights.detach()
        return output

    attentions = [
        (name, module, module.attend)
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention)
    ]
    try:
        for name, module, _ in attentions:
            module.attend = partial(attend_and_record, name)
        yield maps
    finally:
        for _, module, usual in attentions:
            module.attend = usual
