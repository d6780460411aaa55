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


Transformer.mistake(
    "the source has no positional encoding",
    edits=[("self.source_positions(self.source_embeddings", "(self.source_embeddings")],
    observed="The encoder cannot tell the order of the source: swap two words of it, and the "
    "logits stay the same.",
    change="Pass the source's embeddings through `self.source_positions`.",
)
Transformer.mistake(
    "the target has no positional encoding",
    edits=[("self.target_positions(self.target_embeddings", "(self.target_embeddings")],
    observed="A target of one word, repeated, gets the same logits at every position.",
    change="Pass the target's embeddings through `self.target_positions`.",
)
Transformer.mistake(
    "there are no positional encodings",
    edits=[
        ("self.source_positions(self.source_embeddings", "(self.source_embeddings"),
        ("self.target_positions(self.target_embeddings", "(self.target_embeddings"),
    ],
    observed="On neither side do the vectors carry a position: swapped words of the source change "
    "nothing, and a repeated word of the target gets the same logits everywhere.",
    change="Pass the embeddings of either side through its positions.",
)
Transformer.mistake(
    "there is no causal mask",
    edits=[("own.target_mask(target_ids", "own.padding_mask(target_ids")],
    observed="The logits at the first position change with the last token of the target: the "
    "decoder reads the words that it must predict.",
    change="Use `own.target_mask`, which allows only what padding and causal mask both allow.",
)
Transformer.mistake(
    "probabilities come back instead of logits",
    edits=[("self.output.weight)", "self.output.weight).softmax(dim=-1)")],
    observed="Every row sums to 1. The loss takes a softmax itself: with 10 tokens, two of them "
    "would keep it above 1.46, however long the training.",
    change="Return what `own.output_logits` returns, without a softmax.",
)
Transformer.mistake(
    "log-probabilities come back instead of logits",
    edits=[("self.output.weight)", "self.output.weight).log_softmax(dim=-1)")],
    observed="No logit is above 0, and the exponentials of a row sum to 1.",
    change="Return what `own.output_logits` returns; the loss takes `log_softmax` itself.",
)
Transformer.mistake(
    "the encoder has no mask",
    edits=[("self.encoder(x, source_mask)", "self.encoder(x, None)")],
    observed="Words of the source attend to its padding, so a sentence gets another memory in "
    "another batch.",
    change="Call `self.encoder(x, source_mask)` with "
    "`own.padding_mask(source_ids, self.config.pad_id)`.",
)
Transformer.mistake(
    "cross-attention has no mask",
    edits=[("memory, source_mask, target_mask", "memory, None, target_mask")],
    observed="The decoder attends to the source's padding: appending padding to the source changes "
    "the logits, though not the memory of its words.",
    change="Hand the decoder the padding mask of `source_ids` as `source_mask`.",
)
Transformer.mistake(
    "the embeddings are scaled twice",
    edits=[
        ("embeddings(source_ids))", "embeddings(source_ids) * self.config.d_model**0.5)"),
        ("embeddings(target_ids))", "embeddings(target_ids) * self.config.d_model**0.5)"),
    ],
    observed="With d_model = 4 the words are twice as long as wanted, beside positional encodings "
    "of the right size.",
    change="Leave the factor out: `own.Embeddings` multiplies by sqrt(d_model) itself.",
)
Transformer.mistake(
    "the target's embeddings are scaled twice",
    edits=[("embeddings(target_ids))", "embeddings(target_ids) * self.config.d_model**0.5)")],
    observed="With d_model = 4 the words of the target are twice as long as wanted; the source is "
    "right.",
    change="Leave the factor out: `own.Embeddings` multiplies by sqrt(d_model) itself.",
)
Transformer.mistake(
    "the source's embeddings are scaled twice",
    edits=[("embeddings(source_ids))", "embeddings(source_ids) * self.config.d_model**0.5)")],
    observed="With d_model = 4 the words of the source are twice as long as wanted; the target is "
    "right.",
    change="Leave the factor out: `own.Embeddings` multiplies by sqrt(d_model) itself.",
)
Transformer.mistake(
    "target ids are looked up in the source's table",
    edits=[("self.target_embeddings(target_ids)", "self.source_embeddings(target_ids)")],
    observed="The same id is another word in either vocabulary, and the target gets the vectors of "
    "the source's words. The target's table gets no gradient.",
    change="Use `self.target_embeddings` in `decode`.",
)

# Masks

Transformer.mistake(
    "the source's padding is never masked",
    edits=[
        ("self.encoder(x, source_mask)", "self.encoder(x, None)"),
        ("memory, source_mask, target_mask", "memory, None, target_mask"),
    ],
    observed="Encoder and decoder both attend to the source's padding.",
    change="Give `own.padding_mask(source_ids, self.config.pad_id)` to both.",
)
Transformer.mistake(
    "the target's padding is not masked",
    edits=[("source_mask, target_mask", "source_mask, own.causal_mask(target_ids.shape[1])")],
    observed="With padding at the end the words notice nothing, because the causal mask hides it. "
    "With padding in front, every word attends to it.",
    change="Use `own.target_mask`, which holds both masks.",
)
Transformer.mistake(
    "the target has no mask",
    edits=[("source_mask, target_mask", "source_mask, None")],
    observed="Every position of the target sees every other, later words and padding included.",
    change="Hand the decoder `own.target_mask(target_ids, self.config.pad_id)`.",
)
Transformer.mistake(
    "there are no masks at all",
    edits=[
        ("self.encoder(x, source_mask)", "self.encoder(x, None)"),
        ("source_mask, target_mask", "None, None"),
    ],
    observed="Padding and later words are read like any others.",
    change="Make both masks from the ids, with `own.padding_mask` and `own.target_mask`.",
)
Transformer.mistake(
    "the causal mask is off by one",
    edits=[
        ("own.target_mask(target_ids", "own.padding_mask(target_ids"),
        (
            "self.config.pad_id)\n        vectors",
            "self.config.pad_id)\n"
            "        one_too_many = torch.ones(2 * target_ids.shape[1:]).tril(1).bool()\n"
            "        target_mask = target_mask & one_too_many\n"
            "        vectors",
        ),
    ],
    observed="Each position of the target sees one word too many: the one that it must predict.",
    change="A position sees itself and earlier ones: `tril()` without an argument, or "
    "`own.causal_mask`.",
)
Transformer.mistake(
    "the source has a causal mask too",
    edits=[
        (
            "own.padding_mask(source_ids, self.config.pad_id)\n        return",
            "own.target_mask(source_ids, self.config.pad_id)\n        return",
        )
    ],
    observed="The first word of the source sees no other. The whole source is known before the "
    "first word is written, so nothing needs to be hidden there.",
    change="Give the encoder the padding mask alone.",
)
Transformer.mistake(
    "the decoder's masks have changed places",
    edits=[("source_mask, target_mask", "target_mask, source_mask")],
    observed="Cross-attention gets the mask of the target. It runs only where source and target "
    "have the same length, and there the words of the target see their own future.",
    change="The order is `self.decoder(x, memory, source_mask, target_mask)`.",
)
Transformer.mistake(
    "the memory is masked by the target's padding",
    edits=[
        (
            "own.padding_mask(source_ids, self.config.pad_id)\n        target_mask",
            "own.padding_mask(target_ids, self.config.pad_id)\n        target_mask",
        )
    ],
    observed="The decoder looks for padding in the wrong sentence. It runs only where source and "
    "target have the same length.",
    change="Make `source_mask` from `source_ids`: that is why `decode` gets them.",
)
Transformer.mistake(
    "0 is taken for the padding",
    edits=[
        ("self.config.pad_id)\n        return self.encoder", "0)\n        return self.encoder"),
        ("self.config.pad_id)\n        target_mask", "0)\n        target_mask"),
        ("self.config.pad_id)\n        vectors", "0)\n        vectors"),
    ],
    observed="With `pad_id=3` a word is hidden and the padding is read.",
    change="Use `self.config.pad_id`.",
)

# What passes from part to part

Transformer.mistake(
    "the encoder is skipped",
    edits=[("self.encoder(x, source_mask)", "x")],
    observed="The decoder reads the source's embeddings: `encode` returns them as they are, and "
    "the encoder's parameters get no gradient.",
    change="Pass them through `self.encoder`.",
)
Transformer.mistake(
    "the decoder reads the target's vectors instead of the memory",
    edits=[("self.decoder(x, memory", "self.decoder(x, x")],
    observed="Source and target of different lengths make it stop: the mask of the source does not "
    "fit. With equal lengths the words of the source have no effect.",
    change="The decoder's second argument is the memory: `self.decoder(x, memory, ...)`.",
)
Transformer.mistake(
    "`decode` does not use the memory that it is given",
    edits=[("self.decoder(x, memory", "self.decoder(x, self.encode(source_ids)")],
    observed="`decode` gives the same logits for any memory: it encodes the source again. When "
    "translating, that would run the encoder once for each word.",
    change="Give `memory`, the argument, to the decoder.",
)
Transformer.mistake(
    "no gradient reaches the encoder",
    edits=[("self.encode(source_ids)", "self.encode(source_ids).detach()")],
    observed="The logits are right, but the encoder's parameters and the source's table get no "
    "gradient: `detach()` or `torch.no_grad()` cuts it off, and they would never be trained.",
    change="Hand the memory on as it is.",
)
Transformer.mistake(
    "the last token of the target is dropped",
    edits=[("self.decode(target_ids,", "self.decode(target_ids[:, :-1],")],
    observed="There is one row of logits too few. The shift by one is made once, when batches are "
    "made; here it would be made twice.",
    change="Decode all of `target_ids`.",
)
Transformer.mistake(
    "source and target have changed places",
    edits=[
        (
            "self.decode(target_ids, self.encode(source_ids), source_ids)",
            "self.decode(source_ids, self.encode(target_ids), target_ids)",
        )
    ],
    observed="There is a row of logits for each token of the source; for each token of the target "
    "one is wanted.",
    change="Encode `source_ids` and decode `target_ids`.",
)

# What comes out

Transformer.mistake(
    "the output layer is missing",
    edits=[("own.output_logits(vectors, self.output.weight)", "vectors")],
    observed="The last axis has d_model numbers instead of one for each token of the vocabulary.",
    change="Return `own.output_logits(vectors, self.output.weight)`.",
)

# How it is built

Transformer.mistake(
    "norm_first is not passed on",
    edits=[("config.dropout, config.norm_first", "config.dropout")],
    observed="With `norm_first=True` the stacks stay post-norm, and their final norms are missing.",
    change="Give `config.norm_first` to encoder and decoder, after `config.dropout`.",
)
Transformer.mistake(
    "no tables are tied",
    edits=[
        ('if config.tying == "two_way"', "if False"),
        ('if config.tying == "three_way"', "if False"),
    ],
    observed="There are three tables, whatever `config.tying` says.",
    change='Call `own.tie(self)` for `"three_way"`; for `"two_way"`, give the output layer the '
    "weight of the target's embeddings.",
)
Transformer.mistake(
    "two-way tying ties the source's table too",
    edits=[('config.tying == "three_way"', 'config.tying != "none"')],
    observed='With `tying="two_way"` a single table is left; the source should keep its own, '
    "because its language may have other words.",
    change='Call `own.tie(self)` only where `config.tying == "three_way"`.',
)
