"""What a search over translations talks to: rows of prefixes that grow by one token at a time.

Source: Shazeer (2019), "Fast Transformer Decoding", on incremental multi-head attention, for
decoding step by step with stored keys and values.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.model import Transformer, padding_mask
from transformer_course.model.layers import DecoderLayer


@runtime_checkable
class Decoder(Protocol):
    """Rows that each hold a prefix of a translation; at first each sentence has one, empty."""

    def step(self, tokens: Int[Tensor, "rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each row's prefix; return the logits of the token after it."""
        ...

    def reorder(self, parents: Int[Tensor, "new_rows"]) -> None:
        """Let row ``i`` hold the prefix of what was row ``parents[i]``.

        There may be more or fewer rows than before; a row that is nobody's parent is forgotten.
        """
        ...


class PrefixDecoder:
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

    Use it inside :func:`~transformer_course.model.transformer.inference_mode`.

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


KeysAndValues = tuple[Float[Tensor, "rows heads _ d_k"], Float[Tensor, "rows heads _ d_k"]]


class CachedDecoder:
    """Read only the newest token of each row; of the earlier ones, keep keys and values.

    Nothing else of the past is ever looked at, and the past does not change: the causal mask let
    no position see a later one. Each layer has a cache of its own. The numbers are those of
    :class:`UncachedDecoder`, as long as no token is padding. Use it inside
    :func:`~transformer_course.model.transformer.inference_mode`.

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
        self.source_mask = mask_where_padded(source_ids, model.config.pad_id)
        memory = model.encode(source_ids)
        layers = model.decoder.layers
        # The source stays as it is: its keys and values are computed once.
        self.source = [layer.cross_attention.keys_and_values(memory) for layer in layers]
        # Those of the target grow by one position with each step; so far there is none.
        nothing = memory[:, :0]
        self.target = [layer.self_attention.keys_and_values(nothing) for layer in layers]
        self.positions = position_table(model)
        self.length = 0

    def step(self, tokens: Int[Tensor, "rows"]) -> Float[Tensor, "rows vocab"]:
        """Pass the new token of each row through all layers; raise ValueError beyond max_len."""
        new = tokens[:, None].to(self.model.output.weight.device)
        # The new token stands behind all that were read: its position is the cache's length.
        x = self.model.target_embeddings(new) + position(self.positions, self.length)
        for number, layer in enumerate(self.model.decoder.layers):
            x = self._through(layer, number, x)
        self.length += 1
        return self.model.output(self.model.decoder.norm(x))[:, 0]

    def _through(
        self, layer: DecoderLayer, number: int, x: Float[Tensor, "rows 1 d_model"]
    ) -> Float[Tensor, "rows 1 d_model"]:
        """Do what ``layer`` does, for one position."""

        def look_at_target(x: Tensor) -> Tensor:
            new = layer.self_attention.keys_and_values(x)
            key, value = self.target[number] = append(self.target[number], new)
            # The newest position may see all the others, so no causal mask is needed.
            return layer.self_attention.look_up(x, key, value)

        def look_at_source(x: Tensor) -> Tensor:
            return layer.cross_attention.look_up(x, *self.source[number], self.source_mask)

        x = layer.add_norm_self_attention(x, look_at_target)
        x = layer.add_norm_cross_attention(x, look_at_source)
        return layer.add_norm_feed_forward(x, layer.feed_forward)

    def reorder(self, parents: Int[Tensor, "new_rows"]) -> None:
        """Copy the parents' rows of every cache."""
        pick = partial(torch.index_select, dim=0, index=parents.to(self.target[0][0].device))
        self.target = [(pick(key), pick(value)) for key, value in self.target]
        self.source = [(pick(key), pick(value)) for key, value in self.source]
        if self.source_mask is not None:
            self.source_mask = pick(self.source_mask)


def append(old: KeysAndValues, new: KeysAndValues) -> KeysAndValues:
    """Put the new positions behind the old ones."""
    return torch.cat([old[0], new[0]], dim=2), torch.cat([old[1], new[1]], dim=2)


def position_table(model: Transformer) -> Float[Tensor, "max_len d_model"]:
    """Return the encodings of all target positions, sinusoidal or learned."""
    encoding = model.target_positions.encoding
    return encoding.weight if isinstance(encoding, nn.Embedding) else encoding


def position(table: Float[Tensor, "max_len d_model"], number: int) -> Float[Tensor, "d_model"]:
    """Return the encoding of one position; raise ValueError if the model knows no such one."""
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
            "inside `with inference_mode(model):`."
        )
