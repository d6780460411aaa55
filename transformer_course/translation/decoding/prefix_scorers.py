"""What a search over translations talks to: rows of prefixes that grow by one token at a time."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.model import Transformer, padding_mask


@runtime_checkable
class PrefixScorer(Protocol):
    """Rows that each hold a prefix of a translation; at first each sentence has one, empty."""

    def step(self, tokens: Int[Tensor, "rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each row's prefix; return the logits of the token after it."""
        ...

    def reorder(self, parents: Int[Tensor, "new_rows"]) -> None:
        """Let row ``i`` hold the prefix of what was row ``parents[i]``.

        There may be more or fewer rows than before; a row that is nobody's parent is forgotten.
        """
        ...


def log_probabilities(logits: Float[Tensor, "*rows vocab"]) -> Float[Tensor, "*rows vocab"]:
    """Return the logarithms of the softmax, in 32 bits at least: in 16 sums are off by tenths."""
    return logits.log_softmax(dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))


class FunctionScorer:
    """Ask a function for the logits after each prefix: a toy whose probabilities are known.

    Parameters
    ----------
    logits
        Called with a prefix, a tuple of ids without the begin token; returns one number for each
        token of the vocabulary. Log-probabilities will do: softmax leaves them as they are.
    sentences
        Rows to begin with; all of them follow the same function.
    """

    def __init__(
        self, logits: Callable[[tuple[int, ...]], Sequence[float]], sentences: int = 1
    ) -> None:
        self.logits = logits
        self.prefixes: list[tuple[int, ...]] = [() for _ in range(sentences)]

    def step(self, tokens: Int[Tensor, "rows"]) -> Float[Tensor, "rows vocab"]:
        """Append the tokens and ask the function, row by row."""
        pairs = zip(self.prefixes, tokens.tolist(), strict=True)
        self.prefixes = [(*prefix, token) for prefix, token in pairs]
        rows = [self.logits(prefix[1:]) for prefix in self.prefixes]
        return torch.tensor(rows, dtype=torch.float64)

    def reorder(self, parents: Int[Tensor, "new_rows"]) -> None:
        """Copy the parents' prefixes."""
        self.prefixes = [self.prefixes[parent] for parent in parents.tolist()]


class UncachedDecoder:
    """Read the whole prefix of each row again at every step.

    Use it inside :func:`~transformer_course.model.transformer.evaluating`.

    Parameters
    ----------
    model
        The translator.
    source_ids
        Source sentences, padded.

    Raises
    ------
    ValueError
        If the model is in training mode, or a sentence is longer than it can read.
    """

    def __init__(self, model: Transformer, source_ids: Int[Tensor, "batch source"]) -> None:
        check_dropout_is_off(model)
        self.model = model
        self.source_ids = source_ids
        self.memory = model.encode(source_ids)
        self.prefixes = source_ids.new_zeros(len(source_ids), 0)

    def step(self, tokens: Int[Tensor, "rows"]) -> Float[Tensor, "rows vocab"]:
        """Decode the prefixes from their first token to the new one; only the last row counts."""
        new = tokens[:, None].to(self.prefixes)
        self.prefixes = torch.cat([self.prefixes, new], dim=1)
        return self.model.decode(self.prefixes, self.memory, self.source_ids)[:, -1]

    def reorder(self, parents: Int[Tensor, "new_rows"]) -> None:
        """Copy the parents' prefixes, and what belongs to their sentences."""
        parents = parents.to(self.prefixes.device)
        self.prefixes = self.prefixes[parents]
        self.source_ids, self.memory = self.source_ids[parents], self.memory[parents]


def position(model: Transformer, number: int) -> Float[Tensor, "d_model"]:
    """Return the encoding of one target position; raise ValueError beyond the model's last."""
    encoding = model.target_positions.encoding
    table = encoding.weight if isinstance(encoding, nn.Embedding) else encoding
    if number >= len(table):
        raise ValueError(
            f"the model reads at most max_len={len(table)} target tokens; got one more. Stop "
            f"earlier, for example with max_length={len(table) - 1}."
        )
    return table[number]


def mask_where_padded(
    source_ids: Int[Tensor, "batch source"], pad_id: int
) -> Bool[Tensor, "batch 1 1 source"] | None:
    """Return the padding mask, or None where there is no padding and so nothing to hide."""
    mask = padding_mask(source_ids, pad_id)
    return None if mask.all() else mask


def check_dropout_is_off(model: Transformer) -> None:
    """Raise ValueError if the model is in training mode."""
    if model.training:
        raise ValueError(
            "the model is in training mode, where dropout changes its scores at random. Decode "
            "inside `with evaluating(model):`."
        )
