"""Lesson 6: embeddings and the whole encoder-decoder model.

Sources: Vaswani et al. (2017), "Attention Is All You Need", sections 3.1, 3.4 and table 3;
Press and Wolf (2017), "Using the Output Embedding to Improve Language Models".
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.checks import check_choice, check_share, check_whole
from transformer_course.model.attention import padding_mask, target_mask
from transformer_course.model.layers import Decoder, Encoder
from transformer_course.model.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
)

POSITIONS = {"sinusoidal": SinusoidalPositionalEncoding, "learned": LearnedPositionalEncoding}
TYINGS = ("three_way", "two_way", "none")
SIZES = (
    "source_vocab",
    "target_vocab",
    "d_model",
    "heads",
    "encoder_layers",
    "decoder_layers",
    "d_ff",
    "max_len",
)


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes and choices of a :class:`Transformer`; the defaults are the paper's base model.

    Parameters
    ----------
    source_vocab, target_vocab
        Number of token types of either language.
    d_model, heads, encoder_layers, decoder_layers, d_ff, dropout
        As in table 3 of the paper.
    max_len
        Longest sentence, in tokens.
    pad_id
        Id of the padding token, in both languages.
    norm_first
        False for post-norm (the paper), True for pre-norm.
    positions
        ``"sinusoidal"`` or ``"learned"`` (section 3.5).
    tying
        Which tables are shared: ``"three_way"`` source, target and output (section 3.4, needs one
        vocabulary for both languages), ``"two_way"`` target and output, ``"none"``.

    Raises
    ------
    ValueError
        If a size or choice makes no sense; the message says which.
    """

    source_vocab: int = 37000
    target_vocab: int = 37000
    d_model: int = 512
    heads: int = 8
    encoder_layers: int = 6
    decoder_layers: int = 6
    d_ff: int = 2048
    dropout: float = 0.1
    max_len: int = 5000
    pad_id: int = 0
    norm_first: bool = False
    positions: str = "sinusoidal"
    tying: str = "three_way"

    def __post_init__(self) -> None:
        for name in SIZES:
            check_whole(name, getattr(self, name))
        check_share("dropout", self.dropout)
        check_choice("positions", self.positions, POSITIONS)
        check_choice("tying", self.tying, TYINGS)
        vocab = min(self.source_vocab, self.target_vocab)
        if not isinstance(self.pad_id, int) or not 0 <= self.pad_id < vocab:
            raise ValueError(
                f"pad_id must be in both vocabularies, of {self.source_vocab} and "
                f"{self.target_vocab} tokens; got {self.pad_id}."
            )
        if self.tying == "three_way" and self.source_vocab != self.target_vocab:
            raise ValueError(
                f"three-way tying needs one vocabulary for both languages; got source_vocab="
                f"{self.source_vocab}, target_vocab={self.target_vocab}. Use tying='two_way'."
            )


class Embeddings(nn.Module):
    """Look up a vector for each token and multiply it by sqrt(d_model) (section 3.4).

    The table starts as N(0, 1 / d_model): small enough to score logits with when the output
    layer shares it, and of variance 1 after the multiplication. The padding row starts at zero.
    """

    def __init__(self, vocab: int, d_model: int, pad_id: int) -> None:
        super().__init__()
        self.table = nn.Embedding(vocab, d_model, padding_idx=pad_id)
        nn.init.normal_(self.table.weight, std=d_model**-0.5)
        with torch.no_grad():
            self.table.weight[pad_id].zero_()
        self.scale = math.sqrt(d_model)

    def forward(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length d_model"]:
        """Return the scaled vectors.

        Raises
        ------
        IndexError
            If an id is negative or not below the vocabulary's size.
        """
        try:
            return self.table(ids) * self.scale
        except IndexError:
            raise IndexError(
                f"token ids must be between 0 and {self.table.num_embeddings - 1}, because the "
                f"vocabulary has {self.table.num_embeddings} entries; got ids from {ids.min()} to "
                f"{ids.max()}. Encode the text with the vocabulary the model was built for."
            ) from None


def _check_ids(ids: Tensor, name: str) -> None:
    if ids.numel() == 0:
        raise ValueError(
            f"{name} is empty, shape {tuple(ids.shape)}: give at least one sentence and one token "
            f"each; an empty sentence still has its end token."
        )
    if ids.dim() != 2 or ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"{name} must be integers (torch.long) of shape (batch, length); got {ids.dtype} of "
            f"shape {tuple(ids.shape)}. A single sentence needs a batch axis: `ids[None, :]`."
        )


def _check_same_sentences(target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> None:
    if memory.shape[:2] != source_ids.shape or len(target_ids) != len(source_ids):
        raise ValueError(
            f"target_ids {tuple(target_ids.shape)}, memory {tuple(memory.shape)} and source_ids "
            f"{tuple(source_ids.shape)} must belong to the same sentences: equal first axes, and "
            f"one vector of memory per source token. Pass the source_ids that were encoded."
        )


class Transformer(nn.Module):
    """The encoder-decoder Transformer (figure 1).

    Masks are built inside, from the token ids, so that nobody can forget them.

    Parameters
    ----------
    config
        Sizes and choices; see :class:`TransformerConfig`.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        layer = (config.d_model, config.heads, config.d_ff, config.dropout, config.norm_first)
        positions = POSITIONS[config.positions]
        self.encoder = Encoder(config.encoder_layers, *layer)
        self.decoder = Decoder(config.decoder_layers, *layer)
        self.source_positions = positions(config.d_model, config.max_len, config.dropout)
        self.target_positions = positions(config.d_model, config.max_len, config.dropout)
        initialise_linear_layers(self)
        self.source_embeddings = Embeddings(config.source_vocab, config.d_model, config.pad_id)
        self.target_embeddings = Embeddings(config.target_vocab, config.d_model, config.pad_id)
        self.output = nn.Linear(config.d_model, config.target_vocab, bias=False)
        if config.tying != "none":
            self.output.weight = self.target_embeddings.table.weight
        if config.tying == "three_way":
            self.source_embeddings.table.weight = self.target_embeddings.table.weight

    def encode(
        self, source_ids: Int[Tensor, "batch source"]
    ) -> Float[Tensor, "batch source d_model"]:
        """Turn source ids into the memory that the decoder reads.

        Raises
        ------
        ValueError, IndexError
            If the ids are no (batch, length) integers, too long, or outside the vocabulary.
        """
        _check_ids(source_ids, "source_ids")
        x = self.source_positions(self.source_embeddings(source_ids))
        return self.encoder(x, padding_mask(source_ids, self.config.pad_id))

    def hidden_states(
        self,
        target_ids: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"],
        source_ids: Int[Tensor, "batch source"],
    ) -> Float[Tensor, "batch target d_model"]:
        """Turn each prefix of the target into the vector that the output layer scores.

        ``source_ids`` say which positions of the memory are padding.

        Raises
        ------
        ValueError, IndexError
            As :meth:`encode`, or if memory and ids do not belong to the same sentences.
        """
        _check_ids(target_ids, "target_ids")
        _check_same_sentences(target_ids, memory, source_ids)
        x = self.target_positions(self.target_embeddings(target_ids))
        source_mask = padding_mask(source_ids, self.config.pad_id)
        return self.decoder(x, memory, source_mask, target_mask(target_ids, self.config.pad_id))

    def decode(
        self,
        target_ids: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"],
        source_ids: Int[Tensor, "batch source"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Score every next token after each prefix of the target.

        Logits come back: a softmax would turn them into probabilities. Errors are those of
        :meth:`hidden_states`.
        """
        return self.output(self.hidden_states(target_ids, memory, source_ids))

    def forward(
        self, source_ids: Int[Tensor, "batch source"], target_ids: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """Encode the source and decode the target: training's single pass."""
        return self.decode(target_ids, self.encode(source_ids), source_ids)


def initialise_linear_layers(model: nn.Module) -> None:
    """Give each matrix Xavier's scale and each bias zero, so that signals keep their variance."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Switch dropout and gradients off inside the block; put each module's mode back after it."""
    with keeping_modes(model) as modes, torch.no_grad():
        if any(training for _, training in modes):  # to look is faster than to set
            model.eval()
        yield


@contextmanager
def keeping_modes(model: nn.Module) -> Iterator[list[tuple[nn.Module, bool]]]:
    """Put the mode of each module back after the block: parts may be in eval mode on purpose.

    What is yielded are the modules, each with whether it is training.
    """
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield modes
    finally:
        for module, mode in modes:
            if module.training != mode:
                module.training = mode
