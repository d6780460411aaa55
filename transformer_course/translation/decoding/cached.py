"""The decoder with a cache: each token is read once.

Source: Shazeer (2019), "Fast Transformer Decoding", on incremental multi-head attention, for
decoding step by step with stored keys and values.
"""

from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_course.model import Transformer
from transformer_course.model.layers import DecoderLayer

KeysAndValues = tuple[Float[Tensor, "rows heads _ d_k"], Float[Tensor, "rows heads _ d_k"]]


class CachedDecoder:
    """Read only the newest token of each row; of the earlier ones, keep keys and values.

    Nothing else of the past is ever looked at, and the past does not change: the causal mask let
    no position see a later one. Each layer has a cache of its own. The numbers are those of
    :class:`UncachedDecoder`, as long as no token is padding. Use it inside
    :func:`~transformer_course.model.transformer.evaluating`.

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
