"""Lesson 3: several attentions side by side.

Source: Vaswani et al. (2017), "Attention Is All You Need", section 3.2.2.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import torch
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
        key, value = self.keys_and_values(memory)  # (batch, heads, key, d_k)
        return self.look_up(query, key, value, mask)

    def queries(
        self, query: Float[Tensor, "batch query d_model"]
    ) -> Float[Tensor, "batch heads query d_k"]:
        """Return what each position of ``query`` looks for, split into heads."""
        return split_heads(self.query_projection(query), self.heads)

    def keys_and_values(
        self, memory: Float[Tensor, "batch key d_model"]
    ) -> tuple[Float[Tensor, "batch heads key d_k"], Float[Tensor, "batch heads key d_v"]]:
        """Return what each position of ``memory`` offers to a look-up, split into heads."""
        key = split_heads(self.key_projection(memory), self.heads)
        value = split_heads(self.value_projection(memory), self.heads)
        return key, value

    def look_up(
        self,
        query: Float[Tensor, "batch query d_model"],
        key: Float[Tensor, "batch heads key d_k"],
        value: Float[Tensor, "batch heads key d_v"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Do the same with keys and values that are known already, as in decoding (lesson 8)."""
        q = self.queries(query)  # (batch, heads, query, d_k)
        return self.output_projection(merge_heads(self.attend(q, key, value, mask)))


@contextmanager
def capture_attention(
    model: nn.Module,
) -> Iterator[dict[str, Float[Tensor, "batch heads query key"]]]:
    """Hand out the attention weights of every multi-head attention inside ``model``.

    Within the block each module computes by the textbook path, which has weights to show. A module
    that looks up otherwise than the paper, as those in ``variants`` may, stays as it is and is left
    out: its weights are others. The dictionary maps a module's path, such as
    ``decoder.layers.0.cross_attention`` (``""`` for ``model`` itself), to the weights of its latest
    call, shaped (batch, heads, query, key) and detached.

    Examples
    --------
    >>> with capture_attention(model) as maps:            # doctest: +SKIP
    ...     model(source_ids, target_ids)
    >>> maps["encoder.layers.0.self_attention"].shape      # doctest: +SKIP
    """
    maps: dict[str, Tensor] = {}
    attentions = [
        (name, module, module.attend)
        for name, module in _attentions(model).items()
        if _looks_up_as_usual(module)
    ]
    try:
        for name, module, _ in attentions:
            module.attend = partial(_attend_and_record, maps, name)
        yield maps
    finally:
        for _, module, usual in attentions:
            module.attend = usual


def _attend_and_record(
    maps: dict[str, Tensor],
    name: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
) -> Tensor:
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    maps[name] = weights.detach()
    return output


def _looks_up_as_usual(module: MultiHeadAttention) -> bool:
    """Whether it attends as the paper says, perhaps in a block of :func:`capture_attention`."""
    look_up = getattr(module.attend, "func", module.attend)
    return look_up in (fused_attention, _attend_and_record)


@contextmanager
def silenced_heads(model: nn.Module, heads: Iterable[tuple[str, int]]) -> Iterator[None]:
    """Let some heads of ``model`` say nothing: zeros take the place of what they gathered.

    Parameters
    ----------
    model
        A Transformer, or a part of one.
    heads
        Pairs of a module's path, as in :func:`capture_attention`, and the number of a head in it,
        counted from 0.

    Raises
    ------
    ValueError
        If ``model`` has no such head.

    Examples
    --------
    >>> with silenced_heads(model, [("decoder.layers.1.cross_attention", 3)]):  # doctest: +SKIP
    ...     model(source_ids, target_ids)
    """
    attentions = _attentions(model)
    with ExitStack() as hooks:
        for path, head in heads:
            _check_head(attentions, path, head)
            silence = partial(_silence, attentions[path].heads, head)
            # Before the heads are mixed; `attend` is left to capture_attention.
            mixing = attentions[path].output_projection
            hooks.callback(mixing.register_forward_pre_hook(silence).remove)
        yield


def _attentions(model: nn.Module) -> dict[str, MultiHeadAttention]:
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention)
    }


def _check_head(attentions: dict[str, MultiHeadAttention], path: str, head: int) -> None:
    if path not in attentions:
        raise ValueError(f"no attention at {path!r}; there is: {', '.join(attentions)}.")
    if head not in range(attentions[path].heads):
        raise ValueError(
            f"{path} has {attentions[path].heads} heads, counted from 0; got head {head}."
        )


def _silence(heads: int, head: int, _: nn.Module, inputs: tuple[Tensor]) -> Tensor:
    (merged,) = inputs
    silent = torch.tensor([head], device=merged.device)
    return merge_heads(split_heads(merged, heads).index_fill(1, silent, 0.0))
