"""The whole model."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, Property, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.exercises.attention.target_mask import target_mask
from transformer_course.exercises.transformer.inputs import CONFIG

_WORDS = torch.tensor([[1, 5, 2]]), torch.tensor([[4, 3]])
# In the second pair of sentences padding comes last, as usual; in the third pair first.
_ENDS = torch.tensor([[6, 1, 5, 2], [7, 3, 0, 0], [2, 2, 4, 0]])
_SHORT = torch.tensor([[1, 5, 2], [4, 3, 0], [2, 6, 7]])
_SAME_LENGTH = torch.tensor([[1, 7, 3, 3], [5, 2, 6, 0], [4, 0, 0, 0]])
_FIRST = torch.tensor([[0, 1, 5], [0, 0, 2]])
_OTHER_PADDING = torch.tensor([[6, 0, 2, 3, 3]]), torch.tensor([[4, 0, 1, 2]])
_DEEPER = replace(CONFIG, encoder_layers=2, decoder_layers=2)
# Not 4: with sqrt(4) = 2, twice a vector and a scaled one are the same.
_UNLIKE = replace(CONFIG, d_model=6, source_vocab=8, target_vocab=5, pad_id=3, tying="two_way")
_PRE_NORM = replace(CONFIG, norm_first=True, tying="three_way")
_STRANGE_MEMORY = vectors(3, 4, 4)


def _encoded(network: nn.Module, source_ids: Tensor) -> Tensor:
    return network.encode(source_ids)


def _decoded(network: nn.Module, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
    network.encode(source_ids.flip(0))  # what it keeps of that must not count
    return network.decode(target_ids, memory, source_ids)


def _second(network: nn.Module, source_ids: Tensor, target_ids: Tensor) -> Tensor:
    network(source_ids.flip(0), target_ids)
    return network(source_ids, target_ids)


def _untrained(network: nn.Module, source_ids: Tensor, target_ids: Tensor) -> list[str]:
    """Name the parameters that get no gradient."""
    loss = network(source_ids, target_ids).square().sum()
    gradients = torch.autograd.grad(loss, [*network.parameters()], allow_unused=True)
    names = (name for name, _ in network.named_parameters())
    return sorted(name for name, gradient in zip(names, gradients, strict=True) if gradient is None)


@exercise(
    parts={
        "own.target_mask": target_mask,  # with its own parts, both masks
    },
    cases=[
        Case(_WORDS, construct=(CONFIG,), written="(config)(source_ids, target_ids)"),
        Case(
            (_ENDS, _SHORT),
            construct=(_DEEPER,),
            written="(config)(source_ids, target_ids)  # two layers, padding",
        ),
        Case(
            (_SAME_LENGTH, _SAME_LENGTH.flip(0)),
            construct=(_PRE_NORM,),
            written="(config)(source_ids, target_ids)  # one length, norm_first, three-way tying",
        ),
        Case(
            (_ENDS[:2], _FIRST),
            construct=(CONFIG,),
            written="(config)(source_ids, target_ids)  # targets padded in front",
        ),
        Case(
            _OTHER_PADDING,
            construct=(_UNLIKE,),
            written="(config)(source_ids, target_ids)  # pad_id=3, two vocabularies, two-way tying",
        ),
        Case(
            (_ENDS,),
            construct=(CONFIG,),
            observe=_encoded,
            looks_at="the memory",
            written="(config).encode(source_ids)",
        ),
        Case(
            (_SHORT, _STRANGE_MEMORY, _ENDS),
            construct=(CONFIG,),
            observe=_decoded,
            looks_at="the logits, after another source was encoded",
            written="(config).decode(target_ids, memory, source_ids)",
        ),
        Case(
            (_ENDS, _SHORT),
            construct=(CONFIG,),
            observe=_second,
            looks_at="the logits of a second source",
            written="(config)(source_ids, target_ids)",
        ),
        Case(
            (_ENDS, _SHORT),
            construct=(CONFIG,),
            observe=_untrained,
            looks_at="the parameters that get no gradient: none",
            written="(config)(source_ids, target_ids)",
        ),
    ],
    properties=[
        Property(
            "logits are not probabilities: rows do not sum to 1",
            lambda value, case: not torch.allclose(value.sum(-1), torch.ones(value.shape[:-1])),
        ),
    ],
    hints=[
        "Follow a sentence through figure 1 of the paper. On either side it passes three parts "
        "that `__init__` has made; which are they, and in what order?",
        "Source: embeddings, positions, encoder with the source's padding mask. Target: "
        "embeddings, positions, decoder, scores. The decoder takes its arguments in the order "
        "`x, memory, source_mask, target_mask`.",
        "`own.padding_mask(source_ids, self.config.pad_id)` is the mask for the encoder and for "
        "the decoder's look at the memory; `own.target_mask(target_ids, self.config.pad_id)` is "
        "the decoder's other one. `own.output_logits(vectors, self.output.weight)` scores what "
        "comes out. `forward` is `self.decode(target_ids, self.encode(source_ids), source_ids)`.",
    ],
)
class Transformer(nn.Module):
    """Score the next token after each prefix of a target, given a source (figure 1)."""

    def __init__(self, config: model.TransformerConfig) -> None:
        super().__init__()
        self.config = config
        vocabs = config.source_vocab, config.target_vocab
        d_model, pad_id = config.d_model, config.pad_id
        sizes = d_model, config.heads, config.d_ff, config.dropout, config.norm_first
        self.source_embeddings = own.Embeddings(vocabs[0], d_model, pad_id)
        self.target_embeddings = own.Embeddings(vocabs[1], d_model, pad_id)
        places = d_model, config.max_len, config.dropout
        self.source_positions = own.SinusoidalPositionalEncoding(*places)
        self.target_positions = own.SinusoidalPositionalEncoding(*places)
        self.encoder = own.Encoder(config.encoder_layers, *sizes)
        self.decoder = own.Decoder(config.decoder_layers, *sizes)
        self.output = nn.Linear(d_model, vocabs[1], bias=False)
        if config.tying == "two_way":
            self.output.weight = self.target_embeddings.table.weight
        if config.tying == "three_way":
            own.tie(self)

    def encode(self, source_ids: Tensor) -> Tensor:
        """Return the memory, of shape (batch, source, d_model)."""
        x = self.source_positions(self.source_embeddings(source_ids))
        source_mask = own.padding_mask(source_ids, self.config.pad_id)
        return self.encoder(x, source_mask)

    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        """Return logits of shape (batch, target, target_vocab)."""
        x = self.target_positions(self.target_embeddings(target_ids))
        source_mask = own.padding_mask(source_ids, self.config.pad_id)
        target_mask = own.target_mask(target_ids, self.config.pad_id)
        vectors = self.decoder(x, memory, source_mask, target_mask)
        return own.output_logits(vectors, self.output.weight)

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """Encode the source, then decode the target."""
        return self.decode(target_ids, self.encode(source_ids), source_ids)
