"""The decoder with a cache, which reads each token once.

With one token per row there is little to compute: reading the weights takes most of the time, and
calling many small functions the rest. So projections of the same vector are packed into one, laid
out for this use, and the caches grow in place. ``benchmarks/decoding_speed.py`` measures it.

Source: Shazeer (2019), "Fast Transformer Decoding", on incremental multi-head attention, for
decoding step by step with stored keys and values.
"""

from collections.abc import Callable
from functools import partial
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.model import FeedForward, MultiHeadAttention, Transformer, merge_heads
from transformer_course.model.layers import DecoderLayer
from transformer_course.translation.decoding.prefix_scorers import (
    PrefixScorer,
    UncachedDecoder,
    check_dropout_is_off,
    mask_where_padded,
    position,
)

KeysAndValues = tuple[Float[Tensor, "rows heads _ d_k"], Float[Tensor, "rows heads _ d_k"]]
Projection = Callable[[Tensor], Tensor]
BLOCK = 4  # positions that a cache grows by
BUCKET = 25  # sentences encoded at once


class CachedDecoder:
    """Read only the newest token of each row; of the earlier ones, keep keys and values.

    Nothing else of the past is ever looked at, and the past does not change: the causal mask let
    no position see a later one. Each layer has a cache of its own. The numbers are those of
    :class:`UncachedDecoder`, as long as no token is padding. Use it inside
    :func:`~transformer_course.model.evaluating`; :func:`decoder_for` knows where it does not fit.

    Parameters
    ----------
    model
        The translator.
    source_ids
        Source sentences, padded.

    Raises
    ------
    ValueError
        If the model is in training mode, a sentence is longer than it can read, or an attention
        of its decoder is a class of its own.
    """

    def __init__(self, model: Transformer, source_ids: Int[Tensor, "batch source"]) -> None:
        check_dropout_is_off(model)
        if not _has_usual_parts(model):
            raise ValueError(
                "the cache keeps the keys and values of MultiHeadAttention alone and adds a "
                "position's own encoding, and a part of this decoder is of another class; decode "
                "with UncachedDecoder."
            )
        self.model = model
        self.source_mask = mask_where_padded(source_ids, model.config.pad_id)
        memory = encode_by_length(model, source_ids)
        self.layers = [CachedLayer(layer, memory) for layer in model.decoder.layers]
        self.output = packed(model.output)
        self.sentences = Sentences(torch.arange(len(source_ids), device=source_ids.device))
        self.length = 0

    def step(self, tokens: Int[Tensor, "rows"]) -> Float[Tensor, "rows vocab"]:
        """Pass the new token of each row through all layers; raise ValueError beyond max_len."""
        new = tokens[:, None].to(self.model.output.weight.device)
        # The new token comes after all that were read: its position is the cache's length.
        x = self.model.target_embeddings(new) + position(self.model, self.length)
        for layer in self.layers:
            x = layer.step(x, self.sentences, self.source_mask)
        self.length += 1
        return self.output(self.model.decoder.norm(x))[:, 0]

    def reorder(self, parents: Int[Tensor, "new_rows"]) -> None:
        """Copy the parents' rows of every cache; forget the source of sentences without a row."""
        parents = parents.to(self.sentences.of_row.device)
        for layer in self.layers:
            layer.reorder(parents)
        of_row = self.sentences.of_row[parents]
        if of_row.equal(self.sentences.of_row):  # hypotheses changed places within their sentence
            return
        left, of_row = of_row.unique(return_inverse=True)
        if len(left) < self.sentences.count:
            for layer in self.layers:
                layer.keep_sources(left)
            if self.source_mask is not None:
                self.source_mask = self.source_mask[left]
        self.sentences = Sentences(of_row)


def decoder_for(model: Transformer, source_ids: Int[Tensor, "batch source"]) -> PrefixScorer:
    """Return the decoder with a cache; the one without where a part is of another class."""
    make = CachedDecoder if _has_usual_parts(model) else UncachedDecoder
    return make(model, source_ids)


def _has_usual_parts(model: Transformer) -> bool:
    if not hasattr(model.target_positions, "encoding"):
        return False
    layers = model.decoder.layers
    attentions = [a for layer in layers for a in (layer.self_attention, layer.cross_attention)]
    return all(type(attention) is MultiHeadAttention for attention in attentions)


class Sentences:
    """Which sentence each row translates.

    To cross-attention the rows of a sentence are like positions of one target: they look at the
    same source, and not at each other. So they stand side by side there, and its keys and values
    are kept, and read, once for all of them.

    Parameters
    ----------
    of_row
        For each row the number of its sentence, from 0; no number is left out.
    """

    def __init__(self, of_row: Int[Tensor, "rows"]) -> None:
        rows_of_each = of_row.bincount()
        self.of_row, self.count = of_row, len(rows_of_each)
        self.most = int(rows_of_each.max()) if self.count else 0
        by_sentence = of_row.argsort(stable=True)
        first = rows_of_each.cumsum(dim=0) - rows_of_each
        self.place = of_row * self.most - first[of_row]
        self.place[by_sentence] += torch.arange(len(of_row), device=of_row.device)
        every_place = torch.arange(self.count * self.most, device=of_row.device)
        self.in_order = self.place.equal(every_place)

    def side_by_side(
        self, x: Float[Tensor, "rows 1 d_model"]
    ) -> Float[Tensor, "sentences most d_model"]:
        """Put the rows of each sentence side by side; zeros where it has fewer than another."""
        if not self.in_order:
            places = x.new_zeros(self.count * self.most, *x.shape[1:])
            x = places.index_copy_(0, self.place, x)
        return x.view(self.count, self.most, x.shape[2])

    def in_rows(
        self, x: Float[Tensor, "sentences most d_model"]
    ) -> Float[Tensor, "rows 1 d_model"]:
        """Undo :meth:`side_by_side`."""
        x = x.reshape(self.count * self.most, 1, x.shape[2])
        return x if self.in_order else x[self.place]


class CachedLayer:
    """Do what a decoder layer does, for the newest position alone."""

    def __init__(
        self, layer: DecoderLayer, memory: Float[Tensor, "sentences source d_model"]
    ) -> None:
        own = layer.self_attention
        self.layer = layer
        # The source stays as it is: its keys and values are computed once, for each sentence.
        self.source = layer.cross_attention.keys_and_values(memory)
        # Those of the target grow by one position with each step. There is room for none so far:
        # (rows, key or value, heads, positions, d_k).
        self.cache = memory.new_empty(len(memory), 2, own.heads, 0, memory.shape[2] // own.heads)
        self.length = 0
        self.project = packed(own.query_projection, own.key_projection, own.value_projection)
        self.feed_forward = _packed_feed_forward(layer.feed_forward)

    @property
    def target(self) -> KeysAndValues:
        """The keys and values of the target so far."""
        key, value = self.cache[:, :, :, : self.length].unbind(dim=1)
        return key, value

    def step(
        self,
        x: Float[Tensor, "rows 1 d_model"],
        sentences: Sentences,
        source_mask: Bool[Tensor, "sentences 1 1 source"] | None,
    ) -> Float[Tensor, "rows 1 d_model"]:
        """Look at the target so far, then at the source, then work on the position alone."""

        def look_at_source(x: Tensor) -> Tensor:
            query = sentences.side_by_side(x)
            found = layer.cross_attention.look_up(query, *self.source, source_mask)
            return sentences.in_rows(found)

        layer = self.layer
        x = layer.add_norm_self_attention(x, self._look_at_target)
        x = layer.add_norm_cross_attention(x, look_at_source)
        return layer.add_norm_feed_forward(x, self.feed_forward)

    def _look_at_target(self, x: Tensor) -> Tensor:
        attention = self.layer.self_attention
        new = self.project(x).view(len(x), 3, attention.heads, 1, -1)  # query, key and value
        self._append(new[:, 1:])
        # The newest position may see all the others, so no causal mask is needed.
        gathered = attention.attend(new[:, 0], *self.target, None)
        return attention.output_projection(merge_heads(gathered))

    def _append(self, new: Float[Tensor, "rows 2 heads 1 d_k"]) -> None:
        """Write the new key and value into the next free place; make room if there is none."""
        if self.length == self.cache.shape[3]:
            rows, _, heads, room, d_k = self.cache.shape
            larger = self.cache.new_empty(rows, 2, heads, room + BLOCK, d_k)
            larger[:, :, :, :room] = self.cache
            self.cache = larger
        self.length += 1
        self.cache[:, :, :, self.length - 1 : self.length] = new

    def reorder(self, parents: Int[Tensor, "new_rows"]) -> None:
        """Copy the parents' rows."""
        self.cache = self.cache.index_select(0, parents)

    def keep_sources(self, left: Int[Tensor, "sentences"]) -> None:
        """Forget the source of all sentences but these."""
        key, value = self.source
        self.source = key[left], value[left]


def encode_by_length(
    model: Transformer, source_ids: Int[Tensor, "batch source"]
) -> Float[Tensor, "batch source d_model"]:
    """Encode short sentences together, and long ones: a padded position costs as much as a word.

    At padded positions, where nothing may look, the numbers are not those of ``model.encode``.
    """
    if len(source_ids) <= BUCKET:
        return model.encode(source_ids)
    places = torch.arange(1, source_ids.shape[1] + 1, device=source_ids.device)
    ends = ((source_ids != model.config.pad_id) * places).amax(dim=1)
    memory = model.output.weight.new_zeros(*source_ids.shape, model.config.d_model)
    for rows in ends.argsort().split(BUCKET):
        longest = max(1, int(ends[rows].max()))
        memory[rows, :longest] = model.encode(source_ids[rows, :longest])
    return memory


def _packed_feed_forward(network: nn.Module) -> Projection:
    """Pack the paper's network; another one in its place is called as it is."""
    if type(network) is not FeedForward:
        return network
    expand = packed(network.expand)
    return lambda x: network.contract(expand(x).relu())


_kept: WeakKeyDictionary[nn.Linear, tuple[list[object], Projection]] = WeakKeyDictionary()


def packed(*layers: nn.Linear) -> Projection:
    """Return one projection that does the work of several, its weights stored column by column.

    A product with few vectors reads them faster that way. Copying takes as long as a token or two,
    so the copy is kept until a weight changes. What changes a few numbers alone through ``.data``,
    which PyTorch does not count, goes unseen: change them under ``torch.no_grad()`` instead.
    """
    state = [fact for layer in layers for w in layer.parameters() for fact in _state(w)]
    if layers[0] not in _kept or _kept[layers[0]][0] != state:
        _kept[layers[0]] = state, _by_columns(layers)
    return _kept[layers[0]][1]


def _state(weight: nn.Parameter) -> tuple[object, ...]:
    """Return what differs after a change of the weight."""
    # PyTorch counts changes, but neither a fused optimizer's nor those through `.data`, and none
    # in inference mode. Those steps change every number, so a few of them tell.
    count = None if weight.is_inference() else weight._version
    few = weight.detach().flatten()[:: weight.numel() // 16 + 1].tolist()
    return weight.data_ptr(), weight.dtype, count, *few


@torch.inference_mode(False)
@torch.no_grad()
def _by_columns(layers: tuple[nn.Linear, ...]) -> Projection:
    weight = torch.cat([layer.weight for layer in layers]).t().contiguous().t()
    biases = [layer.bias for layer in layers if layer.bias is not None]
    return partial(F.linear, weight=weight, bias=torch.cat(biases) if biases else None)
