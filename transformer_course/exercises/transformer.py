"""Lesson 6: the exercises on tables of vectors, the whole model, and how to test it."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course import model
from transformer_course.exercises.cases import Case, Property, vectors
from transformer_course.exercises.exercise import exercise, shared_mistake
from transformer_course.model import invariance

# --- output_logits ---------------------------------------------------------------------------


@exercise(
    reference=F.linear,
    cases=[
        Case((vectors(1, 2, 4), vectors(3, 4, seed=1))),
        Case((vectors(2, 3, 4), vectors(4, 4, seed=1))),
        Case((vectors(2, 5, 9), vectors(7, 9, seed=1))),
        Case((vectors(3, 2, 6).double(), vectors(5, 6, seed=1).double())),
    ],
    hints=[
        "The score of a token is the dot product of the vector with the token's row. Which two "
        "axes must meet so that all dot products are taken at once?",
        "The rows of the table must stand as columns: `table.T` has shape (d_model, vocab).",
        "`vectors @ table.T`. Nothing else: no factor and no softmax.",
    ],
)
def output_logits(vectors: Tensor, table: Tensor) -> Tensor:
    """Score each token after each position: the dot product with the token's row."""
    return vectors @ table.T


class _Logits:
    """Scoring tokens in steps, so that a mistake replaces one."""

    def factor(self, d_model: int) -> float:
        return 1.0

    def vectors(self, vectors: Tensor) -> Tensor:
        return vectors

    def columns(self, table: Tensor) -> Tensor:
        return table.T

    def result(self, scores: Tensor) -> Tensor:
        return scores

    def __call__(self, vectors: Tensor, table: Tensor) -> Tensor:
        factor = self.factor(table.shape[1])
        return self.result(self.vectors(vectors) @ self.columns(table) * factor)


@output_logits.mistake(
    "the factor sqrt(d_model) is used here too",
    observed="With d_model = 4 your scores are twice as high as wanted. The factor is for vectors "
    "on their way in; here it would only make the softmax sharper.",
    change="Leave the factor out.",
)
class _FactorOnOutput(_Logits):
    def factor(self, d_model: int) -> float:
        return d_model**0.5


@output_logits.mistake(
    "the scores are divided by sqrt(d_model)",
    observed="With d_model = 4 your scores are half as high as wanted. Attention divides its "
    "scores; the output layer does not.",
    change="Leave the division out.",
)
class _DividedLikeAttention(_Logits):
    def factor(self, d_model: int) -> float:
        return d_model**-0.5


@output_logits.mistake(
    "probabilities come back instead of logits",
    observed="Every row sums to 1. The loss takes a softmax itself; with two of them it could not "
    "fall to 0.",
    change="Leave the softmax out.",
)
class _ProbabilitiesOut(_Logits):
    def result(self, scores: Tensor) -> Tensor:
        return scores.softmax(dim=-1)


@output_logits.mistake(
    "log-probabilities come back instead of logits",
    observed="No score is above 0, and the exponentials of a row sum to 1.",
    change="Leave `log_softmax` out: the loss takes it itself.",
)
class _LogProbabilitiesOut(_Logits):
    def result(self, scores: Tensor) -> Tensor:
        return scores.log_softmax(dim=-1)


@output_logits.mistake(
    "the best token comes back instead of all scores",
    observed="There is one number for each position; `vocab` numbers are wanted.",
    change="Leave `argmax` out.",
)
class _BestToken(_Logits):
    def result(self, scores: Tensor) -> Tensor:
        return scores.argmax(dim=-1)


@output_logits.mistake(
    "only the last position is scored",
    observed="The axis of the positions is gone. In training, every position predicts a token.",
    change="Score all positions: `vectors`, not `vectors[:, -1]`.",
)
class _LastPositionOnly(_Logits):
    def vectors(self, vectors: Tensor) -> Tensor:
        return vectors[:, -1]


@output_logits.mistake(
    "tokens and positions have changed places",
    observed="Your result has shape (batch, vocab, length): the axes are swapped.",
    change="The vectors come first: `vectors @ table.T`.",
)
class _TokensFirst(_Logits):
    def result(self, scores: Tensor) -> Tensor:
        return scores.transpose(1, 2)


@output_logits.mistake(
    "the table lies on its side",
    observed="It runs only where the table has as many rows as columns, and there each score is "
    "the dot product with a column of the table.",
    change="Use `table.T`, so that each token's row meets the vector.",
)
class _TableNotTransposed(_Logits):
    def columns(self, table: Tensor) -> Tensor:
        return table


@output_logits.mistake(
    "the rows of the table are brought to length 1",
    observed="Two rows of the same direction get the same score, however long they are, though the "
    "length of a row is trained like its direction.",
    change="Use the rows as they are.",
)
class _RowsOfLengthOne(_Logits):
    def columns(self, table: Tensor) -> Tensor:
        return F.normalize(table, dim=-1).T


@output_logits.mistake(
    "it is the cosine instead of the dot product",
    observed="No score is above 1 or below -1, so no token can ever get a probability near 1.",
    change="Do not normalise: take the dot product of the vectors and rows as they are.",
)
class _Cosine(_RowsOfLengthOne):
    def vectors(self, vectors: Tensor) -> Tensor:
        return F.normalize(vectors, dim=-1)


# --- tie -------------------------------------------------------------------------------------

_CONFIG = model.TransformerConfig(
    source_vocab=8,
    target_vocab=8,
    d_model=4,
    heads=2,
    encoder_layers=1,
    decoder_layers=1,
    d_ff=6,
    max_len=12,
    tying="none",
)


def _tables(network: nn.Module) -> dict[str, nn.Parameter]:
    return {
        "source": network.source_embeddings.table.weight,
        "target": network.target_embeddings.table.weight,
        "output": network.output.weight,
    }


def _tied(code: Callable, config: model.TransformerConfig) -> dict[str, bool | int | str]:
    """Tie a new model, and look at what has become of its three tables."""
    network = model.Transformer(config)
    before = {name: table.detach().clone() for name, table in _tables(network).items()}
    code(network)
    tables = _tables(network)
    return {
        "source and target share one parameter": tables["source"] is tables["target"],
        "target and output share one parameter": tables["target"] is tables["output"],
        "trained numbers in the three tables": sum(p.numel() for p in {*tables.values()}),
        "what stays": _origin(tables["output"], before),
        "equal after a training step": _equal_after_a_step(network),
    }


def _origin(table: Tensor, before: dict[str, Tensor]) -> str:
    names = [name for name, other in before.items() if torch.equal(table, other)]
    if not names:
        return "none of the three tables"
    return "the output's table" if names == ["output"] else "a table of embeddings"


def _equal_after_a_step(network: nn.Module) -> bool:
    ids = torch.tensor([[1, 2, 3]])
    network.eval()(ids, ids).square().sum().backward()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter -= 0.1 * parameter.grad
    source, target, output = _tables(network).values()
    return torch.equal(source, target) and torch.equal(target, output)


class _Ties:
    """Tying in steps, so that a mistake replaces one."""

    def stays(self, network: nn.Module) -> nn.Parameter:
        return network.target_embeddings.table.weight

    def shared(self, weight: nn.Parameter) -> nn.Parameter:
        return weight

    def tie_source(self, network: nn.Module, weight: nn.Parameter) -> None:
        network.source_embeddings.table.weight = weight

    def tie_target(self, network: nn.Module, weight: nn.Parameter) -> None:
        network.target_embeddings.table.weight = weight

    def tie_output(self, network: nn.Module, weight: nn.Parameter) -> None:
        network.output.weight = weight

    def __call__(self, network: nn.Module) -> None:
        weight = self.stays(network)
        for tie_one in (self.tie_source, self.tie_target, self.tie_output):
            tie_one(network, self.shared(weight))


_LOOKS_AT_TABLES = "the three tables, before and after a training step"


@exercise(
    reference=_Ties(),
    cases=[
        Case((_CONFIG,), observe=_tied, looks_at=_LOOKS_AT_TABLES, written="(network)"),
        Case(
            (replace(_CONFIG, source_vocab=5, target_vocab=5, d_model=6, pad_id=4),),
            observe=_tied,
            looks_at=_LOOKS_AT_TABLES,
            written="(network)  # other sizes",
        ),
    ],
    hints=[
        "An `nn.Parameter` is an object, and two modules can hold the same one. Which three "
        "modules of the network hold a table?",
        "They are `network.source_embeddings.table`, `network.target_embeddings.table` and "
        "`network.output`, and each calls its parameter `weight`.",
        "`network.output.weight = network.target_embeddings.table.weight`, and the same for the "
        "source.",
    ],
)
def tie(network: nn.Module) -> None:
    """Let both embeddings and the output layer share the target's table."""
    weight = network.target_embeddings.table.weight
    network.source_embeddings.table.weight = weight
    network.output.weight = weight


@tie.mistake(
    "the network stays as it was",
    observed="Afterwards it still has three tables, each with numbers of its own. A new name for "
    "a weight, or a new network, changes nothing in the one you were given.",
    change="Assign to the attribute of the module: `network.output.weight = ...`.",
)
class _NothingTied(_Ties):
    def __call__(self, network: nn.Module) -> None:
        pass


@tie.mistake(
    "the source has a table of its own",
    observed="Target and output share one parameter; the source's embeddings do not. That is "
    "two-way tying, for two vocabularies.",
    change="Give the same parameter to `network.source_embeddings.table.weight`.",
)
class _TwoWay(_Ties):
    def tie_source(self, network: nn.Module, weight: nn.Parameter) -> None:
        pass


@tie.mistake(
    "the output has a table of its own",
    observed="Both embeddings share one parameter; the output layer does not.",
    change="Give the same parameter to `network.output.weight`.",
)
class _OutputApart(_Ties):
    def tie_output(self, network: nn.Module, weight: nn.Parameter) -> None:
        pass


@tie.mistake(
    "the target has a table of its own",
    observed="Source and output share one parameter; the target's embeddings do not.",
    change="Give the same parameter to `network.target_embeddings.table.weight`.",
)
class _TargetApart(_Ties):
    def __call__(self, network: nn.Module) -> None:
        weight = network.source_embeddings.table.weight
        self.tie_output(network, self.shared(weight))


@tie.mistake(
    "the tables are copies",
    observed="Each of the three has a parameter of its own, and they drift apart with the first "
    "training step. Copying numbers, or assigning to `.data`, does not make them one.",
    change="Do not clone or copy: assign the parameter itself.",
)
class _Copies(_Ties):
    def shared(self, weight: nn.Parameter) -> nn.Parameter:
        return nn.Parameter(weight.detach().clone())


@tie.mistake(
    "the numbers are shared, the parameters are not",
    observed="Three parameters look at the same memory. Each is counted, and Adam would keep "
    "running means for each and move the numbers three times in a step. `.data` and "
    "`nn.Parameter(...)` do that.",
    change="Assign the parameter itself: `one.weight = other.weight`.",
)
class _SharedData(_Ties):
    def shared(self, weight: nn.Parameter) -> nn.Parameter:
        return nn.Parameter(weight.data)


@tie.mistake(
    "the output's table stays",
    observed="The padding's row is not zero any more, and the numbers are 0.58 times as large as "
    "embeddings should be at the start: `nn.Linear` has an initialisation of its own.",
    change="Keep the table of the embeddings, and give it to the output layer.",
)
class _OutputStays(_Ties):
    def stays(self, network: nn.Module) -> nn.Parameter:
        return network.output.weight


@tie.mistake(
    "the shared table is a new one",
    observed="None of the three tables stays. With numbers from N(0, 1), the paper's base model "
    "with 1000 tokens starts at a loss near 70; with those of its embeddings, near 7.5.",
    change="Keep the target's table, which is initialised for both uses.",
)
class _NewTable(_Ties):
    def stays(self, network: nn.Module) -> nn.Parameter:
        return nn.Parameter(torch.randn_like(super().stays(network)))


@tie.mistake(
    "the output gets the table on its side",
    observed="`nn.Linear(d_model, vocab)` keeps its weight as (vocab, d_model), just like the "
    "embeddings; yours is (d_model, vocab), and the model no longer runs.",
    change="Leave the transposition out.",
)
class _Transposed(_Ties):
    def tie_output(self, network: nn.Module, weight: nn.Parameter) -> None:
        network.output.weight = nn.Parameter(weight.T)


# --- Transformer -----------------------------------------------------------------------------


@functools.cache
def _layers(config: model.TransformerConfig) -> model.Transformer:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        return model.Transformer(config)


class _BuiltOnce(model.Transformer):
    """The right answer; its layers, which cost more to build than to run, are built once."""

    def __init__(
        self, config: model.TransformerConfig, layers: model.Transformer | None = None
    ) -> None:
        nn.Module.__init__(self)
        self.config = config
        self._modules.update((layers or _layers(config))._modules)


def _encoded(network: nn.Module, source_ids: Tensor) -> Tensor:
    return network.encode(source_ids)


def _decoded(network: nn.Module, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
    return network.decode(target_ids, memory, source_ids)


def _untrained(network: nn.Module, source_ids: Tensor, target_ids: Tensor) -> list[str]:
    """Name the parameters that get no gradient."""
    loss = network(source_ids, target_ids).square().sum()
    gradients = torch.autograd.grad(loss, [*network.parameters()], allow_unused=True)
    names = (name for name, _ in network.named_parameters())
    return [name for name, gradient in zip(names, gradients, strict=True) if gradient is None]


_WORDS = torch.tensor([[1, 5, 2]]), torch.tensor([[4, 3]])
# In the second pair of sentences padding comes last, as usual; in the third pair first.
_ENDS = torch.tensor([[6, 1, 5, 2], [7, 3, 0, 0], [2, 2, 4, 0]])
_SHORT = torch.tensor([[1, 5, 2], [4, 3, 0], [2, 6, 7]])
_SAME_LENGTH = torch.tensor([[1, 7, 3, 3], [5, 2, 6, 0], [4, 0, 0, 0]])
_FIRST = torch.tensor([[0, 1, 5], [0, 0, 2]])
_OTHER_PADDING = torch.tensor([[6, 0, 2, 3, 3]]), torch.tensor([[4, 0, 1, 2]])
_DEEPER = replace(_CONFIG, encoder_layers=2, decoder_layers=2)
_UNLIKE = replace(_CONFIG, source_vocab=8, target_vocab=5, pad_id=3)
_STRANGE_MEMORY = vectors(3, 4, 4)


@exercise(
    reference=_BuiltOnce,
    cases=[
        Case(_WORDS, construct=(_CONFIG,), written="(config)(source_ids, target_ids)"),
        Case(
            (_ENDS, _SHORT),
            construct=(_DEEPER,),
            written="(config)(source_ids, target_ids)  # two layers, padding",
        ),
        Case(
            (_SAME_LENGTH, _SAME_LENGTH.flip(0)),
            construct=(_CONFIG,),
            written="(config)(source_ids, target_ids)  # padding, one length",
        ),
        Case(
            (_ENDS[:2], _FIRST),
            construct=(_CONFIG,),
            written="(config)(source_ids, target_ids)  # targets padded in front",
        ),
        Case(
            _OTHER_PADDING,
            construct=(_UNLIKE,),
            written="(config)(source_ids, target_ids)  # pad_id=3, two vocabularies",
        ),
        Case(
            (_ENDS,),
            construct=(_CONFIG,),
            observe=_encoded,
            looks_at="the memory",
            written="(config).encode(source_ids)",
        ),
        Case(
            (_SHORT, _STRANGE_MEMORY, _ENDS),
            construct=(_CONFIG,),
            observe=_decoded,
            looks_at="the logits",
            written="(config).decode(target_ids, memory, source_ids)",
        ),
        Case(
            (_ENDS, _SHORT),
            construct=(_CONFIG,),
            observe=_untrained,
            looks_at="the parameters that get no gradient: none",
            written="(config)(source_ids, target_ids)",
        ),
    ],
    properties=[
        Property(
            "logits are no probabilities: rows do not sum to 1",
            lambda value, case: not torch.allclose(value.sum(-1), torch.ones(value.shape[:-1])),
        ),
    ],
    hints=[
        "Follow a sentence through figure 1 of the paper. On either side it passes three parts "
        "that `__init__` has made; which are they, and in what order?",
        "Source: embeddings, positions, encoder with the source's padding mask. Target: "
        "embeddings, positions, decoder, output. The decoder takes its arguments in the order "
        "`x, memory, source_mask, target_mask`.",
        "`model.padding_mask(source_ids, self.config.pad_id)` is the mask for the encoder and for "
        "the decoder's look at the memory; `model.target_mask(target_ids, self.config.pad_id)` is "
        "the decoder's other one. `forward` is `self.decode(target_ids, self.encode(source_ids), "
        "source_ids)`.",
    ],
)
class Transformer(nn.Module):
    """Score the next token after each prefix of a target, given a source (figure 1)."""

    def __init__(self, config: model.TransformerConfig) -> None:
        super().__init__()
        self.config = config
        vocabs = config.source_vocab, config.target_vocab
        d_model, pad_id = config.d_model, config.pad_id
        sizes = d_model, config.heads, config.d_ff, config.dropout
        self.source_embeddings = model.Embeddings(vocabs[0], d_model, pad_id)
        self.target_embeddings = model.Embeddings(vocabs[1], d_model, pad_id)
        self.source_positions = model.SinusoidalPositionalEncoding(
            d_model, config.max_len, config.dropout
        )
        self.target_positions = model.SinusoidalPositionalEncoding(
            d_model, config.max_len, config.dropout
        )
        self.encoder = model.Encoder(config.encoder_layers, *sizes)
        self.decoder = model.Decoder(config.decoder_layers, *sizes)
        self.output = nn.Linear(d_model, vocabs[1], bias=False)

    def encode(self, source_ids: Tensor) -> Tensor:
        """Return the memory, of shape (batch, source, d_model)."""
        x = self.source_positions(self.source_embeddings(source_ids))
        return self.encoder(x, model.padding_mask(source_ids, self.config.pad_id))

    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        """Return logits of shape (batch, target, target_vocab)."""
        x = self.target_positions(self.target_embeddings(target_ids))
        source_mask = model.padding_mask(source_ids, self.config.pad_id)
        target_mask = model.target_mask(target_ids, self.config.pad_id)
        return self.output(self.decoder(x, memory, source_mask, target_mask))

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """Encode the source, then decode the target."""
        return self.decode(target_ids, self.encode(source_ids), source_ids)


Mask = Tensor | None


class _Steps(_BuiltOnce):
    """The model in steps, so that a mistake replaces one."""

    def source_vectors(self, ids: Tensor) -> Tensor:
        return self.source_positions(self.source_embeddings(ids))

    def target_vectors(self, ids: Tensor) -> Tensor:
        return self.target_positions(self.target_embeddings(ids))

    def words(self, ids: Tensor) -> Tensor:
        return model.padding_mask(ids, self.config.pad_id)

    def encoder_mask(self, source_ids: Tensor) -> Mask:
        return self.words(source_ids)

    def decoder_masks(self, source_ids: Tensor, target_ids: Tensor) -> tuple[Mask, Mask]:
        causal = model.causal_mask(target_ids.shape[1])
        return self.words(source_ids), self.words(target_ids) & causal

    def score(self, x: Tensor) -> Tensor:
        return self.output(x)

    def encode(self, source_ids: Tensor) -> Tensor:
        return self.encoder(self.source_vectors(source_ids), self.encoder_mask(source_ids))

    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        x = self.target_vectors(target_ids)
        x = self.decoder(x, memory, *self.decoder_masks(source_ids, target_ids))
        return self.score(x)

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        return self.decode(target_ids, self.encode(source_ids), source_ids)


# Vectors


@Transformer.mistake(
    "the source has no positional encoding",
    observed="The encoder cannot tell the order of the source: swap two words of it, and the "
    "logits stay the same.",
    change="Pass the source's embeddings through `self.source_positions`.",
)
class _NoSourcePositions(_Steps):
    def source_vectors(self, ids: Tensor) -> Tensor:
        return self.source_embeddings(ids)


@Transformer.mistake(
    "the target has no positional encoding",
    observed="A target of one word, repeated, gets the same logits at every position.",
    change="Pass the target's embeddings through `self.target_positions`.",
)
class _NoTargetPositions(_Steps):
    def target_vectors(self, ids: Tensor) -> Tensor:
        return self.target_embeddings(ids)


@Transformer.mistake(
    "there are no positional encodings",
    observed="On neither side do the vectors carry a position: swapped words of the source change "
    "nothing, and a repeated word of the target gets the same logits everywhere.",
    change="Pass the embeddings of either side through its positions.",
)
class _NoPositions(_NoSourcePositions, _NoTargetPositions):
    pass


@Transformer.mistake(
    "the embeddings are scaled twice",
    observed="With d_model = 4 the words are twice as long as wanted, beside positional encodings "
    "of the right size.",
    change="Leave the factor out: `model.Embeddings` multiplies by sqrt(d_model) itself.",
)
class _ScaledTwice(_Steps):
    def source_vectors(self, ids: Tensor) -> Tensor:
        return self.source_positions(self.source_embeddings(ids) * self.config.d_model**0.5)

    def target_vectors(self, ids: Tensor) -> Tensor:
        return self.target_positions(self.target_embeddings(ids) * self.config.d_model**0.5)


@Transformer.mistake(
    "target ids are looked up in the source's table",
    observed="The same id is another word in either vocabulary, and the target gets the vectors of "
    "the source's words. The target's table gets no gradient.",
    change="Use `self.target_embeddings` in `decode`.",
)
class _SourceTable(_Steps):
    def target_vectors(self, ids: Tensor) -> Tensor:
        return self.target_positions(self.source_embeddings(ids))


# Masks


@Transformer.mistake(
    "the encoder has no mask",
    observed="Words of the source attend to its padding, so a sentence gets another memory in "
    "another batch.",
    change="Call `self.encoder(x, source_mask)` with "
    "`model.padding_mask(source_ids, self.config.pad_id)`.",
)
class _NoEncoderMask(_Steps):
    def encoder_mask(self, source_ids: Tensor) -> Mask:
        return None


@Transformer.mistake(
    "cross-attention has no mask",
    observed="The decoder attends to the source's padding: appending padding to the source changes "
    "the logits, though not the memory of its words.",
    change="Hand the decoder the padding mask of `source_ids` as `source_mask`.",
)
class _NoMemoryMask(_Steps):
    def decoder_masks(self, source_ids: Tensor, target_ids: Tensor) -> tuple[Mask, Mask]:
        return None, super().decoder_masks(source_ids, target_ids)[1]


@Transformer.mistake(
    "the source's padding is never masked",
    observed="Encoder and decoder both attend to the source's padding.",
    change="Give `model.padding_mask(source_ids, self.config.pad_id)` to both.",
)
class _NoSourceMask(_NoEncoderMask, _NoMemoryMask):
    pass


@Transformer.mistake(
    "there is no causal mask",
    observed="The logits at the first position change with the last token of the target: the "
    "decoder reads the words that it must predict.",
    change="Use `model.target_mask`, which allows only what padding and causal mask both allow.",
)
class _NoCausalMask(_Steps):
    def decoder_masks(self, source_ids: Tensor, target_ids: Tensor) -> tuple[Mask, Mask]:
        return self.words(source_ids), self.words(target_ids)


@Transformer.mistake(
    "the target's padding is not masked",
    observed="With padding at the end the words notice nothing, because the causal mask hides it. "
    "With padding in front, every word attends to it.",
    change="Use `model.target_mask`, which holds both masks.",
)
class _OnlyCausalMask(_Steps):
    def decoder_masks(self, source_ids: Tensor, target_ids: Tensor) -> tuple[Mask, Mask]:
        return self.words(source_ids), model.causal_mask(target_ids.shape[1])


@Transformer.mistake(
    "the target has no mask",
    observed="Every position of the target sees every other, later words and padding included.",
    change="Hand the decoder `model.target_mask(target_ids, self.config.pad_id)`.",
)
class _NoTargetMask(_Steps):
    def decoder_masks(self, source_ids: Tensor, target_ids: Tensor) -> tuple[Mask, Mask]:
        return self.words(source_ids), None


@Transformer.mistake(
    "there are no masks at all",
    observed="Padding and later words are read like any others.",
    change="Make both masks from the ids, with `model.padding_mask` and `model.target_mask`.",
)
class _NoMasks(_NoEncoderMask):
    def decoder_masks(self, source_ids: Tensor, target_ids: Tensor) -> tuple[Mask, Mask]:
        return None, None


@Transformer.mistake(
    "the causal mask is off by one",
    observed="Each position of the target sees one word too many: the one that it must predict.",
    change="A position sees itself and earlier ones: `tril()` without an argument, or "
    "`model.causal_mask`.",
)
class _OffByOne(_Steps):
    def decoder_masks(self, source_ids: Tensor, target_ids: Tensor) -> tuple[Mask, Mask]:
        length = target_ids.shape[1]
        one_too_many = torch.ones(length, length, dtype=torch.bool).tril(1)
        return self.words(source_ids), self.words(target_ids) & one_too_many


@Transformer.mistake(
    "the source has a causal mask too",
    observed="The first word of the source sees no other. The whole source is known before the "
    "first word is written, so nothing needs to be hidden there.",
    change="Give the encoder the padding mask alone.",
)
class _CausalSource(_Steps):
    def encoder_mask(self, source_ids: Tensor) -> Mask:
        return model.target_mask(source_ids, self.config.pad_id)


@Transformer.mistake(
    "the decoder's masks have changed places",
    observed="Cross-attention gets the mask of the target. It runs only where source and target "
    "have one length, and there the words of the target see their own future.",
    change="The order is `self.decoder(x, memory, source_mask, target_mask)`.",
)
class _SwappedMasks(_Steps):
    def decoder_masks(self, source_ids: Tensor, target_ids: Tensor) -> tuple[Mask, Mask]:
        return super().decoder_masks(source_ids, target_ids)[::-1]


@Transformer.mistake(
    "the memory is masked by the target's padding",
    observed="The decoder looks for padding in the wrong sentence. It runs only where source and "
    "target have one length.",
    change="Make `source_mask` from `source_ids`: that is why `decode` gets them.",
)
class _MaskOfTheTarget(_Steps):
    def decoder_masks(self, source_ids: Tensor, target_ids: Tensor) -> tuple[Mask, Mask]:
        return self.words(target_ids), super().decoder_masks(source_ids, target_ids)[1]


@Transformer.mistake(
    "0 is taken for the padding",
    observed="With `pad_id=3` a word is hidden and the padding is read.",
    change="Use `self.config.pad_id`.",
)
class _ZeroAsPadding(_Steps):
    def words(self, ids: Tensor) -> Tensor:
        return model.padding_mask(ids, 0)


# What passes from part to part


@Transformer.mistake(
    "the encoder is skipped",
    observed="The decoder reads the source's embeddings: `encode` returns them as they are, and "
    "the encoder's parameters get no gradient.",
    change="Pass them through `self.encoder`.",
)
class _NoEncoder(_Steps):
    def encode(self, source_ids: Tensor) -> Tensor:
        return self.source_vectors(source_ids)


@Transformer.mistake(
    "the decoder reads the target's vectors instead of the memory",
    observed="Source and target of different lengths make it stop: the mask of the source does not "
    "fit. With equal lengths the words of the source have no effect.",
    change="The decoder's second argument is the memory: `self.decoder(x, memory, ...)`.",
)
class _ReadsItself(_Steps):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        return super().decode(target_ids, self.target_vectors(target_ids), source_ids)


@Transformer.mistake(
    "`decode` does not use the memory that it is given",
    observed="`decode` gives the same logits for any memory: it encodes the source again. When "
    "translating, that would run the encoder once for each word.",
    change="Give `memory`, the argument, to the decoder.",
)
class _EncodesAgain(_Steps):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        return super().decode(target_ids, self.encode(source_ids), source_ids)


@Transformer.mistake(
    "no gradient reaches the encoder",
    observed="The logits are right, but the encoder's parameters and the source's table get no "
    "gradient: `detach()` or `torch.no_grad()` cuts it off, and they would never be trained.",
    change="Hand the memory on as it is.",
)
class _Detached(_Steps):
    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        return self.decode(target_ids, self.encode(source_ids).detach(), source_ids)


@Transformer.mistake(
    "the last token of the target is dropped",
    observed="There is one row of logits too few. The shift by one is made once, when batches are "
    "made; here it would be made twice.",
    change="Decode all of `target_ids`.",
)
class _ShiftInside(_Steps):
    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        return super().forward(source_ids, target_ids[:, :-1])


@Transformer.mistake(
    "source and target have changed places",
    observed="There is a row of logits for each token of the source; for each token of the target "
    "one is wanted.",
    change="Encode `source_ids` and decode `target_ids`.",
)
class _SwappedSides(_Steps):
    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        return super().forward(target_ids, source_ids)


# What comes out


@Transformer.mistake(
    "probabilities come back instead of logits",
    observed="Every row sums to 1. The loss takes a softmax itself: with 10 tokens, two of them "
    "would keep it above 1.46, however long the training.",
    change="Return `self.output(x)` without a softmax.",
)
class _Probabilities(_Steps):
    def score(self, x: Tensor) -> Tensor:
        return super().score(x).softmax(dim=-1)


@Transformer.mistake(
    "log-probabilities come back instead of logits",
    observed="No logit is above 0, and the exponentials of a row sum to 1.",
    change="Return `self.output(x)`; the loss takes `log_softmax` itself.",
)
class _LogProbabilities(_Steps):
    def score(self, x: Tensor) -> Tensor:
        return super().score(x).log_softmax(dim=-1)


@Transformer.mistake(
    "the output layer is missing",
    observed="The last axis has d_model numbers instead of one for each token of the vocabulary.",
    change="Pass what the decoder returns through `self.output`.",
)
class _NoOutput(_Steps):
    def score(self, x: Tensor) -> Tensor:
        return x


# --- parameter_count -------------------------------------------------------------------------


def _counted(config: model.TransformerConfig) -> int:
    return model.parameter_summary(model.Transformer(config))["total"]


_SIZES = replace(_CONFIG, d_ff=10, decoder_layers=2)


@exercise(
    reference=_counted,
    cases=[
        Case((_SIZES,), written="(config)  # post-norm, not tied"),
        Case((replace(_SIZES, norm_first=True),), written="(config)  # pre-norm, not tied"),
        Case(
            (replace(_SIZES, source_vocab=9, target_vocab=5, encoder_layers=3),),
            written="(config)  # two vocabularies, not tied",
        ),
        Case(
            (replace(_SIZES, source_vocab=9, target_vocab=5, tying="two_way"),),
            written="(config)  # two-way tying",
        ),
        Case((replace(_SIZES, tying="three_way"),), written="(config)  # three-way tying"),
    ],
    hints=[
        "Count one attention, one feed-forward network and one norm first. How many of each has "
        "an encoder layer, and how many a decoder layer?",
        "Attention: four matrices of d_model x d_model and four biases. Feed-forward: two matrices "
        "of d_model x d_ff and their biases. Norm: gain and bias. An encoder layer has 1, 1 and 2 "
        "of them, a decoder layer 2, 1 and 3. Pre-norm adds a norm behind either stack.",
        "Tables have vocab x d_model numbers. Untied there are three: one of the source, two of "
        "the target (embeddings and output). Two-way tying leaves one of each, three-way tying one "
        "in all. Sinusoidal positions and the output layer's bias count nothing.",
    ],
)
def parameter_count(config: model.TransformerConfig) -> int:
    """Count the trained numbers of a Transformer with sinusoidal positions."""
    d_model, d_ff = config.d_model, config.d_ff
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder = config.encoder_layers * (attention + feed_forward + 2 * norm)
    decoder = config.decoder_layers * (2 * attention + feed_forward + 3 * norm)
    final_norms = 2 * norm if config.norm_first else 0
    rows = {
        "none": config.source_vocab + 2 * config.target_vocab,
        "two_way": config.source_vocab + config.target_vocab,
        "three_way": config.target_vocab,
    }
    return encoder + decoder + final_norms + rows[config.tying] * d_model


class _Counts:
    """Counting in steps, so that a mistake replaces one."""

    def attention(self, config: model.TransformerConfig) -> int:
        return 4 * (config.d_model**2 + config.d_model)

    def feed_forward(self, config: model.TransformerConfig) -> int:
        return 2 * config.d_model * config.d_ff + config.d_ff + config.d_model

    def norm(self, config: model.TransformerConfig) -> int:
        return 2 * config.d_model

    def parts_of_encoder_layer(self) -> tuple[int, int, int]:
        return 1, 1, 2

    def parts_of_decoder_layer(self) -> tuple[int, int, int]:
        return 2, 1, 3

    def final_norms(self, config: model.TransformerConfig) -> int:
        return 2 if config.norm_first else 0

    def rows(self, config: model.TransformerConfig) -> int:
        if config.tying == "none":
            return config.source_vocab + 2 * config.target_vocab
        if config.tying == "two_way":
            return config.source_vocab + config.target_vocab
        return config.target_vocab

    def layers(self, config: model.TransformerConfig) -> tuple[int, int]:
        return config.encoder_layers, config.decoder_layers

    def anything_else(self, config: model.TransformerConfig) -> int:
        return 0

    def __call__(self, config: model.TransformerConfig) -> int:
        total = self.final_norms(config) * self.norm(config)
        total += self.rows(config) * config.d_model + self.anything_else(config)
        stacks = (self.parts_of_encoder_layer(), self.parts_of_decoder_layer())
        for layers, parts in zip(self.layers(config), stacks, strict=True):
            sizes = self.attention(config), self.feed_forward(config), self.norm(config)
            total += layers * sum(n * size for n, size in zip(parts, sizes, strict=True))
        return total


@parameter_count.mistake(
    "tied tables are counted separately",
    observed="Tying makes no difference to your count. A table that two parts share is trained "
    "once.",
    change="Look at `config.tying`: three tables, two, or one.",
)
class _TyingIgnored(_Counts):
    def rows(self, config: model.TransformerConfig) -> int:
        return config.source_vocab + 2 * config.target_vocab


@parameter_count.mistake(
    "the output layer is left out",
    observed="Without tying the output layer has a table of its own: target_vocab x d_model "
    "numbers are missing.",
    change="Without tying, count the target's vocabulary twice.",
)
class _OutputForgotten(_Counts):
    def rows(self, config: model.TransformerConfig) -> int:
        if config.tying == "three_way":
            return config.target_vocab
        return config.source_vocab + config.target_vocab


@parameter_count.mistake(
    "all tables are left out",
    observed="Your count does not depend on the vocabularies. In the base model the one table is "
    "18,944,000 of 63,082,496 numbers.",
    change="Add vocab x d_model for each table that is not shared.",
)
class _NoTables(_Counts):
    def rows(self, config: model.TransformerConfig) -> int:
        return 0


@parameter_count.mistake(
    "the output layer has a bias",
    observed="Your count is too high by one number for each token of the target.",
    change="Leave it out: a table shared with embeddings has no place for a bias.",
)
class _OutputBias(_Counts):
    def anything_else(self, config: model.TransformerConfig) -> int:
        return config.target_vocab


@parameter_count.mistake(
    "the positional encodings are counted",
    observed="Your count grows with `max_len`. Sinusoids are computed, not trained.",
    change="Leave them out.",
)
class _PositionsCounted(_Counts):
    def anything_else(self, config: model.TransformerConfig) -> int:
        return 2 * config.max_len * config.d_model


@parameter_count.mistake(
    "attention has no biases",
    observed="Each of the four projections is an `nn.Linear` with a bias: 4 x d_model numbers are "
    "missing in each attention.",
    change="Count d_model x d_model + d_model for a projection.",
)
class _NoAttentionBias(_Counts):
    def attention(self, config: model.TransformerConfig) -> int:
        return 4 * config.d_model**2


@parameter_count.mistake(
    "attention has three matrices",
    observed="The output projection, which mixes the heads, is missing.",
    change="Count four: for queries, keys, values and the output.",
)
class _ThreeMatrices(_Counts):
    def attention(self, config: model.TransformerConfig) -> int:
        return 3 * (config.d_model**2 + config.d_model)


@parameter_count.mistake(
    "each head has matrices of the full width",
    observed="Your count grows with `heads`. Each head has d_model / heads columns of a matrix, so "
    "all heads together have one matrix.",
    change="Leave `heads` out of the count.",
)
class _HeadsCounted(_Counts):
    def attention(self, config: model.TransformerConfig) -> int:
        return (3 * config.heads + 1) * (config.d_model**2 + config.d_model)


@parameter_count.mistake(
    "the feed-forward network has no biases",
    observed="d_ff + d_model numbers are missing in each layer.",
    change="Count the biases of both its layers.",
)
class _NoFeedForwardBias(_Counts):
    def feed_forward(self, config: model.TransformerConfig) -> int:
        return 2 * config.d_model * config.d_ff


@parameter_count.mistake(
    "the feed-forward network has one matrix",
    observed="It expands but never contracts: a matrix and its bias are missing in each layer.",
    change="Count d_model x d_ff + d_ff and d_ff x d_model + d_model.",
)
class _OneMatrix(_Counts):
    def feed_forward(self, config: model.TransformerConfig) -> int:
        return config.d_model * config.d_ff + config.d_ff


@parameter_count.mistake(
    "norms have no parameters",
    observed="The gains and biases of the norms are missing.",
    change="Count 2 x d_model for each norm.",
)
class _NoNorms(_Counts):
    def norm(self, config: model.TransformerConfig) -> int:
        return 0


@parameter_count.mistake(
    "a norm has only a gain",
    observed="d_model numbers are missing for each norm.",
    change="Count gain and bias: 2 x d_model.",
)
class _OnlyGains(_Counts):
    def norm(self, config: model.TransformerConfig) -> int:
        return config.d_model


@parameter_count.mistake(
    "a decoder layer has one attention",
    observed="The cross-attention of each decoder layer is missing.",
    change="A decoder layer has two: self-attention and cross-attention.",
)
class _OneAttention(_Counts):
    def parts_of_decoder_layer(self) -> tuple[int, int, int]:
        return 1, 1, 3


@parameter_count.mistake(
    "a decoder layer has two norms",
    observed="2 x d_model numbers are missing in each decoder layer.",
    change="Each of its three sub-layers has a norm.",
)
class _TwoNorms(_Counts):
    def parts_of_decoder_layer(self) -> tuple[int, int, int]:
        return 2, 1, 2


@parameter_count.mistake(
    "a decoder layer is counted like an encoder layer",
    observed="In each decoder layer the cross-attention and its norm are missing.",
    change="A decoder layer has two attentions, a feed-forward network and three norms.",
)
class _LikeEncoderLayer(_Counts):
    def parts_of_decoder_layer(self) -> tuple[int, int, int]:
        return 1, 1, 2


@parameter_count.mistake(
    "the final norms of pre-norm are left out",
    observed="With `norm_first` either stack ends with one more norm: 4 x d_model numbers are "
    "missing.",
    change="Add two norms where `config.norm_first` is True.",
)
class _NoFinalNorms(_Counts):
    def final_norms(self, config: model.TransformerConfig) -> int:
        return 0


@parameter_count.mistake(
    "post-norm has final norms too",
    observed="Your count is too high by 4 x d_model without `norm_first`. There, each layer ends "
    "with a norm already.",
    change="Add the two norms only where `config.norm_first` is True.",
)
class _AlwaysFinalNorms(_Counts):
    def final_norms(self, config: model.TransformerConfig) -> int:
        return 2


@parameter_count.mistake(
    "the decoder has as many layers as the encoder",
    observed="With 1 encoder layer and 2 decoder layers, one decoder layer is missing.",
    change="Use `config.decoder_layers` for the decoder.",
)
class _AsManyLayers(_Counts):
    def layers(self, config: model.TransformerConfig) -> tuple[int, int]:
        return config.encoder_layers, config.encoder_layers


# --- sees_no_future and ignores_padding: the models they are tried on ------------------------


class _OwnShift(_Steps):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        begin = torch.ones_like(target_ids[:, :1])
        shifted = torch.cat([begin, target_ids[:, :-1]], dim=1)
        return super().decode(shifted, memory, source_ids)


class _NoSource(_Steps):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        return super().decode(target_ids, torch.zeros_like(memory), source_ids)


class _EachTokenAlone(_Steps):
    def decoder_masks(self, source_ids: Tensor, target_ids: Tensor) -> tuple[Mask, Mask]:
        itself = torch.eye(target_ids.shape[1], dtype=torch.bool)
        return self.words(source_ids), self.words(target_ids) & itself


class _FaintLeak(_Steps):
    """Mix the right model with one that has no masks."""

    SHARE = 0.03

    def without_masks(self) -> _NoMasks:
        return _NoMasks(self.config, self)

    def encode(self, source_ids: Tensor) -> Tensor:
        return torch.lerp(
            super().encode(source_ids), self.without_masks().encode(source_ids), self.SHARE
        )

    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        return torch.lerp(
            super().decode(target_ids, memory, source_ids),
            self.without_masks().decode(target_ids, memory, source_ids),
            self.SHARE,
        )


class _RepeatsNextWord(_Steps):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        next_word = F.one_hot(target_ids.roll(-1, dims=1), self.config.target_vocab)
        return super().decode(target_ids, memory, source_ids) + 1000 * next_word


class _TellsLength(_Steps):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        length = torch.tensor(source_ids.shape[1] % self.config.target_vocab)
        logits = super().decode(target_ids, memory, source_ids)
        return logits + 1000 * F.one_hot(length, self.config.target_vocab)


class _RoundsByLength(_Steps):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        logits = super().decode(target_ids, memory, source_ids)
        return logits * (1 + 1e-9 * source_ids.shape[1])


_TRIED = replace(_CONFIG, d_model=8, dropout=0.5)
_FAVOURITE = F.one_hot(torch.tensor(1), _TRIED.target_vocab)


class _EvenOut(nn.Module):
    """Let chance not decide how a test that is too strict or too coarse ends.

    Too strict is `==`, which the last digits decide; too coarse is a look at the best word alone,
    which a favourite word makes the same at every position.
    """

    def forward(self, logits: Tensor) -> Tensor:
        rounded = logits + (logits.round(decimals=8) - logits).detach()  # keeps the gradient
        return rounded + 100 * _FAVOURITE


def _network(
    code: Callable, kind: type[_Steps], training: bool, config: model.TransformerConfig
) -> nn.Module:
    """Build a model to be tried, in double precision."""
    # A learner's test may change what it is given. Ours do not, so they may share the layers.
    layers = _layers(config) if isinstance(code, _Test) else _layers.__wrapped__(config)
    network = kind(config, layers)
    network.output = nn.Sequential(network.output, _EvenOut())
    return network.double().train(training)


def _answer(code: Callable, network: nn.Module) -> bool:
    """Let a test judge a model; a truth value in a tensor is as good as a bare one."""
    answer = code(network)
    return answer.item() if isinstance(answer, Tensor) and answer.numel() == 1 else answer


def _verdict(code: Callable, *choice: Any) -> bool:
    return _answer(code, _network(code, *choice))


def _one_of_many_verdicts(code: Callable, *choice: Any) -> bool:
    network = _network(code, *choice)
    return any(_answer(code, network) for _ in range(20))


def _model(
    kind: type[_Steps],
    words: str,
    training: bool = False,
    config: model.TransformerConfig = _TRIED,
) -> Case:
    return Case((kind, training, config), observe=_verdict, written=f"({words})")


_BOTH = [
    _model(_Steps, "a right model"),
    _model(_NoMasks, "a model without masks"),
    _model(_Steps, "a right model in training mode", training=True),
    _model(_NoSource, "a model that never reads the source"),
    _model(_FaintLeak, "a model that reads faintly what it must not read"),
]


class _Test:
    """A test of a model in steps, so that a mistake replaces one."""

    def prepare(self, network: nn.Module) -> None:
        network.eval()

    def sentences(self) -> tuple[Tensor, Tensor]:
        return torch.tensor([[4, 5, 6]]), torch.tensor([[7, 6, 5, 4, 7]])

    def change(self, source: Tensor, target: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def run(self, network: nn.Module, source: Tensor, target: Tensor) -> Tensor:
        return network(source, target)

    def compared(self, logits: Tensor) -> Tensor:
        raise NotImplementedError

    def same(self, before: Tensor, after: Tensor) -> bool:
        return torch.allclose(before, after, atol=1e-5)

    def conclusion(self, same: bool) -> bool:
        return same

    def __call__(self, network: nn.Module) -> bool:
        self.prepare(network)
        source, target = self.sentences()
        before = self.run(network, source, target)
        after = self.run(network, *self.change(source, target, network.config.pad_id))
        return self.conclusion(self.same(self.compared(before), self.compared(after)))


# --- sees_no_future --------------------------------------------------------------------------


@exercise(
    reference=invariance.sees_no_future,
    cases=[
        *_BOTH,
        _model(_OwnShift, "a right model that begins the target with a token of its own"),
        _model(_EachTokenAlone, "a model in which target tokens do not see one another"),
        _model(_OffByOne, "a model that sees one word too many"),
        _model(_RepeatsNextWord, "a model that repeats the next word"),
        replace(
            _model(_NoMasks, "a model without masks"),
            observe=_one_of_many_verdicts,
            looks_at="tried 20 times: no answer is True",
        ),
    ],
    hints=[
        "Two targets that begin alike and end differently: what do you know about the logits of "
        "their common beginning?",
        "Switch dropout off with `network.eval()`, run the network on both targets with the same "
        "source, and compare only positions before the first difference.",
        "With targets `[[1, 2, 3, 4, 5]]` and `[[1, 2, 3, 6, 7]]` compare `logits[:, :3]` by "
        "`torch.allclose(..., atol=1e-5)`.",
    ],
)
def sees_no_future(network: nn.Module) -> bool:
    """Tell whether later target tokens leave the logits of earlier positions alone."""
    network.eval()
    source = torch.tensor([[1, 2, 3]])
    one = network(source, torch.tensor([[1, 2, 3, 4, 5]]))
    other = network(source, torch.tensor([[1, 2, 3, 6, 7]]))
    return torch.allclose(one[:, :3], other[:, :3], atol=1e-5)


class _FutureTest(_Test):
    def change(self, source: Tensor, target: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
        return source, torch.cat([target[:, :-1], target[:, -1:] - 3], dim=1)

    def compared(self, logits: Tensor) -> Tensor:
        return logits[:, :-1]


@sees_no_future.mistake(
    "the position that was changed is compared too",
    observed="A right model fails. A token may well move the logits at its own position, since it "
    "is what they are made of.",
    change="Compare only positions before the first token that you change.",
)
class _ComparesChanged(_FutureTest):
    def compared(self, logits: Tensor) -> Tensor:
        return logits


@sees_no_future.mistake(
    "an earlier token is changed",
    observed="A right model fails, because later positions may read earlier tokens. Only a model "
    "in which tokens do not see one another passes.",
    change="Change a later token, and look at earlier positions.",
)
class _ChangesThePast(_FutureTest):
    def change(self, source: Tensor, target: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
        return source, torch.cat([target[:, :1] - 3, target[:, 1:]], dim=1)

    def compared(self, logits: Tensor) -> Tensor:
        return logits[:, 1:]


@sees_no_future.mistake(
    "the source is changed",
    observed="A right model fails, because every position may read the whole source. Only a model "
    "that never reads the source passes.",
    change="Leave the source as it is, and change the target.",
)
class _ChangesSource(_FutureTest):
    def change(self, source: Tensor, target: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
        return source.flip(1), target


@sees_no_future.mistake(
    "only the first position is compared",
    observed="A model that sees one word too many passes: its first position sees the second "
    "token, and no later one.",
    change="Compare all positions before the changed token.",
)
class _FirstPosition(_FutureTest):
    def compared(self, logits: Tensor) -> Tensor:
        return logits[:, :1]


@sees_no_future.mistake(
    "now and then nothing is changed",
    observed="A model without masks fails nearly always, but not in each of 20 trials: a token "
    "drawn at random is sometimes the one that stood there.",
    change="Make sure that the token is another one: `changed[:, -1] = target[:, -1] % 7 + 1`.",
)
class _RandomToken(_FutureTest):
    def change(self, source: Tensor, target: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
        return source, torch.cat([target[:, :-1], torch.randint(1, 8, (1, 1))], dim=1)


# --- ignores_padding -------------------------------------------------------------------------


@exercise(
    reference=invariance.ignores_padding,
    cases=[
        *_BOTH,
        _model(_Steps, "a right model with pad_id=3", config=replace(_TRIED, pad_id=3)),
        _model(_RoundsByLength, "a right model whose rounding depends on the length"),
        _model(_NoPositions, "a model without positional encodings"),
        _model(_NoEncoderMask, "a model without a mask in the encoder"),
        _model(_NoMemoryMask, "a model without a mask in cross-attention"),
        _model(_NoTargetMask, "a model without masks for the target"),
        _model(_TellsLength, "a model that counts the source, padding included"),
    ],
    hints=[
        "The same sentences with and without padding at their ends: what should be equal?",
        "`F.pad(ids, (0, 2), value=pad_id)` appends two tokens of padding. Pad source and target, "
        "and compare the logits of the tokens that both targets have.",
        "`network.eval()`; `before = network(source, target)`; `after` from both padded with "
        "`network.config.pad_id`; then `torch.allclose(before, after[:, :length], atol=1e-5)`.",
    ],
)
def ignores_padding(network: nn.Module) -> bool:
    """Tell whether padding behind source and target leaves the logits of words alone."""
    network.eval()
    source, target = torch.tensor([[4, 5, 6]]), torch.tensor([[6, 7]])
    pad_id = network.config.pad_id
    before = network(source, target)
    after = network(F.pad(source, (0, 2), value=pad_id), F.pad(target, (0, 2), value=pad_id))
    return torch.allclose(before, after[:, :2], atol=1e-5)


class _PaddingTest(_Test):
    def change(self, source: Tensor, target: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
        return self.pad(source, pad_id), self.pad(target, pad_id)

    def pad(self, ids: Tensor, pad_id: int) -> Tensor:
        return F.pad(ids, (0, 2), value=pad_id)

    def compared(self, logits: Tensor) -> Tensor:
        return logits[:, : self.sentences()[1].shape[1]]


@ignores_padding.mistake(
    "0 is taken for the padding",
    observed="A right model with `pad_id=3` fails: there, 0 is a word, and words may be read.",
    change="Use `network.config.pad_id`.",
)
class _PadsWithZero(_PaddingTest):
    def pad(self, ids: Tensor, pad_id: int) -> Tensor:
        return super().pad(ids, 0)


@ignores_padding.mistake(
    "the padding stands in front",
    observed="A right model fails: padding in front moves the words to other positions, which are "
    "read. A model without positional encodings passes.",
    change="Append the padding behind the words.",
)
class _PadsInFront(_PaddingTest):
    def pad(self, ids: Tensor, pad_id: int) -> Tensor:
        return F.pad(ids, (2, 0), value=pad_id)

    def compared(self, logits: Tensor) -> Tensor:
        return logits[:, -self.sentences()[1].shape[1] :]


@ignores_padding.mistake(
    "the words of the source change too",
    observed="A right model fails, and a model that never reads the source passes: more than "
    "padding is changed there, such as a word that gives way to it.",
    change="Keep all words, and append tokens of `network.config.pad_id` behind them.",
)
class _ReplacesWords(_PaddingTest):
    def change(self, source: Tensor, target: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
        return torch.cat([source[:, :-1], torch.full((1, 1), pad_id)], dim=1), target


@ignores_padding.mistake(
    "the target is never padded",
    observed="A model without masks for the target passes: its words attend to the target's "
    "padding, and you gave it none.",
    change="Pad the target too, and compare the logits of its words.",
)
class _OnlySource(_PaddingTest):
    def change(self, source: Tensor, target: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
        return self.pad(source, pad_id), target


@ignores_padding.mistake(
    "the source is never padded",
    observed="A model without a mask in the encoder passes, and so does one without a mask in "
    "cross-attention.",
    change="Pad the source too.",
)
class _OnlyTarget(_PaddingTest):
    def change(self, source: Tensor, target: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
        return source, self.pad(target, pad_id)


@ignores_padding.mistake(
    "only the memory is compared",
    observed="A model without a mask in cross-attention passes: its memory is right, and its "
    "decoder reads the padding.",
    change="Compare the logits, which is what the whole model makes of it.",
)
class _OnlyMemory(_PaddingTest):
    def run(self, network: nn.Module, source: Tensor, target: Tensor) -> Tensor:
        return network.encode(source)

    def compared(self, logits: Tensor) -> Tensor:
        return logits[:, : self.sentences()[0].shape[1]]


@ignores_padding.mistake(
    "rounding counts as a difference",
    observed="A right model whose last digits depend on the length fails: sums of another length "
    "are added in another order.",
    change="Allow for rounding: `torch.allclose(before, after, atol=1e-5)`.",
)
class _Exact(_PaddingTest):
    def same(self, before: Tensor, after: Tensor) -> bool:
        return torch.equal(before, after)


# Mistakes of either test


_TESTS = {sees_no_future: _FutureTest, ignores_padding: _PaddingTest}


@shared_mistake(
    _TESTS,
    "dropout stays on",
    observed="A right model in training mode fails: dropout draws new numbers in each run, so no "
    "two runs agree.",
    change="Call `network.eval()` first.",
)
class _InTrainingMode:
    def prepare(self, network: nn.Module) -> None:
        pass


@shared_mistake(
    _TESTS,
    "the answer is the wrong way round",
    observed="Right models get False and broken ones True.",
    change="Return True where nothing changes.",
)
class _Opposite:
    def conclusion(self, same: bool) -> bool:
        return not same


@shared_mistake(
    _TESTS,
    "every model passes",
    observed="Even a model without masks passes. Do the two inputs really differ? A shape says "
    "nothing, and `changed = ids` followed by `changed[:, -1] = 6` changes `ids` too.",
    change="Compare logits of two different inputs; make the second from `ids.clone()`.",
)
class _AlwaysTrue:
    def same(self, before: Tensor, after: Tensor) -> bool:
        return True


@shared_mistake(
    _TESTS,
    "no model passes",
    observed="Even a right model fails, and so do all others: what you compare is meant to differ.",
    change="Compare only logits which the change must not reach.",
)
class _AlwaysFalse:
    def same(self, before: Tensor, after: Tensor) -> bool:
        return False


@shared_mistake(
    _TESTS,
    "the tolerance is too wide",
    observed="A model passes whose logits move by 0.01 to 0.02. Rounding moves them by less than "
    "0.00001, in single precision too.",
    change="Use a tolerance such as `atol=1e-5`.",
)
class _WideTolerance:
    def same(self, before: Tensor, after: Tensor) -> bool:
        return torch.allclose(before, after, atol=0.1)


@shared_mistake(
    _TESTS,
    "only the best words are compared",
    observed="The models tried here have a favourite word: they put it first everywhere, whatever "
    "they read. Only a model whose best word changes fails.",
    change="Compare the logits themselves, not their `argmax`.",
)
class _BestWords:
    def same(self, before: Tensor, after: Tensor) -> bool:
        return torch.equal(before.argmax(dim=-1), after.argmax(dim=-1))
