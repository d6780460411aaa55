"""The cached decoder once more, in fewer and cheaper calls.

With one token per row there is little to compute: reading the weights from memory takes most of
the time, and calling many small functions the rest. So the weights are packed and laid out for
this use once per model; a layer is a few tensor operations instead of a dozen modules; caches grow
in blocks; the hypotheses of a sentence share the keys and values of its source. The numbers are
those of :class:`~transformer_course.translation.CachedDecoder`: read that one first.
"""

from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.model import Transformer, merge_heads
from transformer_course.model.layers import DecoderLayer, LayerNorm
from transformer_course.translation.decoding.prefix_scorers import (
    check_dropout_is_off,
    mask_where_padded,
    position,
    position_table,
)

Source = tuple[
    Float[Tensor, "sentences heads source d_k"], Float[Tensor, "sentences heads source d_k"]
]
BLOCK = 16  # positions that a cache grows by
BUCKET = 25  # sentences encoded at once


class FastDecoding:
    """Makes fast decoders for a model; hand it to any search as its ``decoder``.

    Parameters
    ----------
    model
        The translator. Some of its weights are copied, the others shared: after further training
        make a new one, for this one is then neither the old model nor the new.

    Examples
    --------
    >>> fast = FastDecoding(model)                           # doctest: +SKIP
    >>> greedy(model, source_ids, BOS, EOS, decoder=fast)    # doctest: +SKIP
    """

    def __init__(self, model: Transformer) -> None:
        self.model = model
        self.embeddings = model.target_embeddings.table.weight
        self.scale = model.target_embeddings.scale
        self.positions = position_table(model)
        self.norm = model.decoder.norm
        with torch.no_grad():
            self.layers = [FastLayer(layer) for layer in model.decoder.layers]
            self.output_weight = _by_columns(model.output.weight)

    def __call__(
        self, model: Transformer, source_ids: Int[Tensor, "batch source"]
    ) -> "FastDecoder":
        """Make a decoder for these sentences.

        Raises
        ------
        ValueError
            If ``model`` is another one, or as :class:`FastDecoder`.
        """
        if model is not self.model:
            raise ValueError(
                "this FastDecoding holds the weights of another model. Make one for this model: "
                "`FastDecoding(model)`."
            )
        return FastDecoder(self, source_ids)


class FastDecoder:
    """Does what :class:`~transformer_course.translation.CachedDecoder` does.

    Parameters
    ----------
    fast
        The model and its weights, laid out for decoding.
    source_ids
        Source sentences, padded.

    Raises
    ------
    ValueError
        If the model is in training mode, or a sentence is longer than it can read.
    """

    def __init__(self, fast: FastDecoding, source_ids: Int[Tensor, "batch source"]) -> None:
        config, layers = fast.model.config, fast.model.decoder.layers
        check_dropout_is_off(fast.model)
        self.fast = fast
        self.source_mask = mask_where_padded(source_ids, config.pad_id)
        memory = encode_by_length(fast.model, source_ids)
        self.source = [layer.cross_attention.keys_and_values(memory) for layer in layers]
        # Each layer's keys and values in one tensor: (rows, key or value, heads, room, d_k).
        nothing = len(memory), 2, config.heads, 0, config.d_model // config.heads
        self.target = [memory.new_empty(nothing) for _ in layers]
        self.rows = Rows(torch.arange(len(memory), device=memory.device))
        self.length = 0

    def step(self, tokens: Int[Tensor, "rows"]) -> Float[Tensor, "rows vocab"]:
        """Pass the new token of each row through all layers; raise ValueError beyond max_len."""
        fast = self.fast
        x = F.embedding(tokens.to(fast.embeddings.device), fast.embeddings) * fast.scale
        x = x + position(fast.positions, self.length)
        if self.length == self.target[0].shape[3]:
            self.target = [F.pad(cache, (0, 0, 0, BLOCK)) for cache in self.target]
        for layer, cache, source in zip(fast.layers, self.target, self.source, strict=True):
            x = layer(x, cache, self.length, source, self.source_mask, self.rows)
        self.length += 1
        return F.linear(fast.norm(x), fast.output_weight)

    def reorder(self, parents: Int[Tensor, "new_rows"]) -> None:
        """Copy the parents' rows of the target's caches, and the sentences that are left."""
        parents = parents.to(self.rows.sentence.device)
        self.target = [cache.index_select(0, parents) for cache in self.target]
        kept = self.rows.reorder(parents)
        if kept is not None:
            self.source = [
                (key.index_select(0, kept), value.index_select(0, kept))
                for key, value in self.source
            ]
            if self.source_mask is not None:
                self.source_mask = self.source_mask.index_select(0, kept)


def encode_by_length(
    model: Transformer, source_ids: Int[Tensor, "batch source"]
) -> Float[Tensor, "batch source d_model"]:
    """Encode short sentences together, and long ones: a padded position costs as much as a word.

    Behind the ends of sentences, where nothing may look, the numbers are others than those of
    ``model.encode``.
    """
    batch, positions = source_ids.shape
    if batch <= BUCKET:
        return model.encode(source_ids)
    places = torch.arange(1, positions + 1, device=source_ids.device)
    ends = ((source_ids != model.config.pad_id) * places).amax(dim=1)
    memory = model.output.weight.new_zeros(batch, positions, model.config.d_model)
    for rows in ends.argsort().split(BUCKET):
        longest = max(1, int(ends[rows].max()))
        memory[rows, :longest] = model.encode(source_ids[rows, :longest])
    return memory


class Rows:
    """Knows which sentence each row belongs to; the rows of a sentence stand one below the other.

    Parameters
    ----------
    sentence
        The number of each row's sentence, counted from 0 without gaps.
    """

    def __init__(self, sentence: Int[Tensor, "rows"]) -> None:
        self._set(sentence)

    def _set(self, sentence: Int[Tensor, "rows"]) -> None:
        counts = sentence.bincount()
        self.sentence, self.sentences = sentence, len(counts)
        self.most = max(counts.tolist(), default=1)  # rows of one sentence
        first = counts.cumsum(dim=0) - counts
        number = torch.arange(len(sentence), device=sentence.device) - first[sentence]
        self.place = sentence * self.most + number

    def reorder(self, parents: Int[Tensor, "new_rows"]) -> Int[Tensor, "kept"] | None:
        """Replace the rows by those of their parents.

        Returns
        -------
        kept
            The old numbers of the sentences that are left, None if they are as they were.
        """
        sentence = self.sentence[parents]
        if sentence.equal(self.sentence):  # as after most steps of a beam search
            return None
        kept, renumbered = sentence.unique_consecutive(return_inverse=True)
        unchanged = kept.equal(torch.arange(self.sentences, device=kept.device))
        self._set(renumbered)
        return None if unchanged else kept

    def beside(
        self, x: Float[Tensor, "rows d_model"], heads: int
    ) -> Float[Tensor, "sentences heads most d_k"]:
        """Put the vectors of a sentence side by side, as queries to one memory, split in heads."""
        if self.most == 1:
            return x.view(self.sentences, heads, 1, -1)
        grid = x.new_zeros(self.sentences * self.most, x.shape[1])
        grid.index_copy_(0, self.place, x)
        return grid.view(self.sentences, self.most, heads, -1).transpose(1, 2)

    def below(
        self, x: Float[Tensor, "sentences heads most d_k"]
    ) -> Float[Tensor, "rows 1 d_model"]:
        """Merge the heads and put the vectors of a sentence one below the other again."""
        if self.most == 1:
            return x.reshape(self.sentences, 1, -1)
        return merge_heads(x).flatten(0, 1).index_select(0, self.place)[:, None]


class FastLayer:
    """A decoder layer that reads one new token per row.

    Attention and output projections are called through the layer's own modules: heads that are
    captured or silenced there are captured or silenced here too.

    Parameters
    ----------
    layer
        The layer whose weights to copy.
    """

    def __init__(self, layer: DecoderLayer) -> None:
        own, cross, feed_forward = layer.self_attention, layer.cross_attention, layer.feed_forward
        self.own, self.cross, self.heads = own, cross, own.heads
        self.mix_own, self.mix_cross = own.output_projection, cross.output_projection
        self.query_key_value = _packed(
            own.query_projection, own.key_projection, own.value_projection
        )
        self.query = _packed(cross.query_projection)
        self.expand = _packed(feed_forward.expand)
        self.contract = feed_forward.contract.weight, feed_forward.contract.bias
        self.norm_first = layer.add_norm_feed_forward.norm_first
        self.norms = [
            _norm_settings(add_norm.norm)
            for add_norm in (
                layer.add_norm_self_attention,
                layer.add_norm_cross_attention,
                layer.add_norm_feed_forward,
            )
        ]

    def __call__(
        self,
        x: Float[Tensor, "rows d_model"],
        cache: Float[Tensor, "rows 2 heads room d_k"],
        length: int,
        source: Source,
        source_mask: Bool[Tensor, "sentences 1 1 source"] | None,
        rows: Rows,
    ) -> Float[Tensor, "rows d_model"]:
        """Do what the layer does; write the new keys and values into place ``length``."""
        look_at_target = partial(self._look_at_target, cache, length)
        look_at_source = partial(self._look_at_source, source, source_mask, rows)
        sublayers = look_at_target, look_at_source, self._feed_forward
        for sublayer, norm in zip(sublayers, self.norms, strict=True):
            if self.norm_first:
                x = x + sublayer(F.layer_norm(x, *norm))
            else:
                x = F.layer_norm(x + sublayer(x), *norm)
        return x

    def _look_at_target(self, cache: Tensor, length: int, x: Tensor) -> Tensor:
        rows, d_model = x.shape
        new = F.linear(x, *self.query_key_value).view(rows, 3, self.heads, 1, -1)
        cache[:, :, :, length : length + 1] = new[:, 1:]
        key, value = cache[:, :, :, : length + 1].unbind(dim=1)
        gathered = self.own.attend(new[:, 0], key, value, None)
        return self.mix_own(gathered.reshape(rows, 1, d_model))[:, 0]

    def _look_at_source(
        self, source: Source, source_mask: Tensor | None, rows: Rows, x: Tensor
    ) -> Tensor:
        query = rows.beside(F.linear(x, *self.query), self.heads)
        return self.mix_cross(rows.below(self.cross.attend(query, *source, source_mask)))[:, 0]

    def _feed_forward(self, x: Tensor) -> Tensor:
        return F.linear(F.linear(x, *self.expand).relu_(), *self.contract)


def _norm_settings(norm: LayerNorm) -> tuple[torch.Size, Tensor, Tensor, float]:
    return norm.gain.shape, norm.gain, norm.bias, norm.eps


def _packed(*layers: nn.Linear) -> tuple[Tensor, Tensor]:
    """Return the weight and bias of one linear layer that does the work of several."""
    weight = torch.cat([layer.weight for layer in layers])
    return _by_columns(weight), torch.cat([layer.bias for layer in layers])


def _by_columns(weight: Float[Tensor, "outputs inputs"]) -> Float[Tensor, "outputs inputs"]:
    """Store a matrix column by column: a product with few vectors reads it faster so."""
    return weight.t().contiguous().t()
