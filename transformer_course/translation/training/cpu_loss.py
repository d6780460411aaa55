"""The same training step, in less time on a CPU.

Three things that a processor with few cores spends needless time on, each replaced by a faster
one that computes the same, but for dropout's probability, which is rounded to 1/256. Tests hold
them equal to the plain ones; ``benchmarks/training_speed.py`` measures what they give.
"""

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.model import (
    MultiHeadAttention,
    Transformer,
    fused_attention,
    scaled_dot_product_attention,
)

# Up to here the plain matrix products are faster than the fused kernel, which works in blocks.
SHORT_ROW = 24
# Rows of logits at a time: enough for full speed, and never the memory of all of them.
ROWS_AT_ONCE = 1024


def cpu_loss(
    model: Transformer,
    source: Int[Tensor, "batch source"],
    target_in: Int[Tensor, "batch target"],
    target_out: Int[Tensor, "batch target"],
    smoothing: float,
) -> Float[Tensor, ""]:
    """Return the mean smoothed cross-entropy per target token that is not padding.

    It equals ``F.cross_entropy`` of ``model(source, target_in)`` with ``label_smoothing``; only
    the elements that dropout zeroes are others.

    Raises
    ------
    ValueError
        If the output layer has a bias, which this does not know.
    """
    if model.output.bias is not None:
        raise ValueError("cpu_loss knows no bias of the output layer; use F.cross_entropy.")
    with fast_layers(model):
        hidden = model.hidden_states(target_in, model.encode(source), source)
    return OutputCrossEntropy.apply(
        hidden.flatten(0, 1),
        model.output.weight,
        target_out.flatten(),
        smoothing,
        model.config.pad_id,
    )


@contextmanager
def fast_layers(model: nn.Module) -> Iterator[None]:
    """Let the attentions and dropouts of ``model`` compute in the faster way inside the block.

    An attention with a look-up of its own, such as a rotary one, keeps it.
    """
    with ExitStack() as after:
        for module in model.modules():
            if isinstance(module, MultiHeadAttention) and module.attend is fused_attention:
                after.callback(setattr, module, "attend", module.attend)
                module.attend = short_row_attention
            if isinstance(module, nn.Dropout):
                after.callback(delattr, module, "forward")
                module.forward = partial(_dropout, module)
        yield


def short_row_attention(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "*batch query d_v"]:
    """Attend by the textbook's matrix products where rows are short, else by the fused kernel."""
    if key.shape[-2] > SHORT_ROW:
        return fused_attention(query, key, value, mask)
    output, _ = scaled_dot_product_attention(query, key, value, mask)
    return output


def _dropout(module: nn.Dropout, x: Tensor) -> Tensor:
    return byte_dropout(x, module.p) if module.training else x


def byte_dropout(x: Float[Tensor, "*shape"], probability: float) -> Float[Tensor, "*shape"]:
    """Zero elements with a probability that is rounded to 1/256, and scale up the rest.

    One random 64-bit number decides about eight elements; torch's own dropout draws a
    floating-point number for each.
    """
    dropped = min(255, round(256 * probability))
    words = torch.empty(math.ceil(x.numel() / 8), dtype=torch.int64, device=x.device)
    # Without these bounds torch leaves the sign bit zero, and every eighth byte below 128.
    words.random_(torch.iinfo(torch.int64).min, None)
    kept = words.view(torch.uint8)[: x.numel()].view(x.shape) >= dropped
    return x * kept.to(x.dtype).mul_(256 / (256 - dropped))


class OutputCrossEntropy(torch.autograd.Function):
    """Output layer and smoothed cross-entropy in one, with both gradients found on the way.

    The logits' gradient is ``softmax(logits) - smoothed target``. It takes the place of the
    logits as soon as these are known, instead of being written beside them in a second pass.
    """

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx,
        hidden: Float[Tensor, "tokens d_model"],
        table: Float[Tensor, "vocab d_model"],
        targets: Int[Tensor, "tokens"],
        smoothing: float,
        pad: int,
    ) -> Float[Tensor, ""]:
        """Return the mean loss over the targets that are not ``pad``."""
        real = (targets != pad).nonzero().squeeze(1)
        tokens, everywhere = max(1, len(real)), smoothing / len(table)
        loss, table_sum = hidden.new_zeros(()), table.sum(dim=0)
        hidden_gradient, table_gradient = torch.zeros_like(hidden), torch.zeros_like(table)
        for rows in real.split(ROWS_AT_ONCE):
            x, right = hidden[rows], targets[rows, None]
            logits = x @ table.T
            right_logits, mean_logits = logits.gather(1, right), x @ (table_sum / len(table))
            probabilities = torch.log_softmax(logits, dim=1, out=logits)
            log_total = right_logits - probabilities.gather(1, right)
            loss += (log_total - (1 - smoothing) * right_logits).sum()
            loss -= smoothing * mean_logits.sum()
            gradient = probabilities.exp_()
            gradient.scatter_add_(1, right, gradient.new_full(right.shape, smoothing - 1))
            # Each place also lacks the smoothing's share, one number for all: taken off the
            # products, which are smaller.
            hidden_gradient[rows] = gradient @ table - everywhere * table_sum
            table_gradient.addmm_(gradient.T, x).sub_(everywhere * x.sum(dim=0))
        ctx.save_for_backward(hidden_gradient / tokens, table_gradient / tokens)
        return loss / tokens

    @staticmethod
    def backward(
        ctx: torch.autograd.function.FunctionCtx, grad_output: Float[Tensor, ""]
    ) -> tuple[Tensor | None, ...]:
        """Scale the gradients found before."""
        hidden_gradient, table_gradient = ctx.saved_tensors
        return grad_output * hidden_gradient, grad_output * table_gradient, None, None, None
