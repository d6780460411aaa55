"""Lesson 1: telling the model where in the sentence a token stands.

Source: Vaswani et al. (2017), "Attention Is All You Need", section 3.5.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn


def _check_even(d_model: int) -> None:
    if d_model < 2 or d_model % 2:
        raise ValueError(
            f"d_model must be a positive even number, because dimensions come in "
            f"(sine, cosine) pairs; got {d_model}. Use {max(2, d_model + 1)}."
        )


def _check_fits(length: int, max_len: int) -> None:
    if length > max_len:
        raise ValueError(
            f"the sequence has {length} positions, but the positional encoding was built for "
            f"max_len={max_len}. Shorten the sequence or build it with max_len={length}."
        )


def _check_max_len(max_len: int) -> None:
    if max_len < 1:
        raise ValueError(
            f"max_len must be at least 1 position; got {max_len}. Set it to the length of the "
            f"longest sequence."
        )


def angular_frequencies(d_model: int) -> Float[Tensor, "pairs"]:
    """Angular frequency of each (sine, cosine) pair, in radians per position.

    Pair ``i`` turns by ``10000 ** (-2 i / d_model)`` radians at each step: the first pair is the
    fastest, the last the slowest (section 3.5).

    Raises
    ------
    ValueError
        If ``d_model`` is odd or smaller than 2.
    """
    _check_even(d_model)
    pair = torch.arange(d_model // 2, dtype=torch.float64)
    return 10000.0 ** (-2 * pair / d_model)


def wavelengths(d_model: int) -> Float[Tensor, "pairs"]:
    """Return the number of positions after which each pair is back where it began."""
    return 2 * math.pi / angular_frequencies(d_model)


def sinusoidal_encoding(length: int, d_model: int) -> Float[Tensor, "length d_model"]:
    """Sinusoidal positional encoding of positions ``0 .. length - 1`` (section 3.5).

    Column ``2i`` holds ``sin(position * frequency_i)``, column ``2i + 1`` the cosine. Angles are
    computed in double precision, because late positions would lose digits otherwise.

    Raises
    ------
    ValueError
        If ``d_model`` is odd or smaller than 2, or ``length`` is negative.
    """
    if length < 0:
        raise ValueError(f"length must be zero or more positions; got {length}.")
    position = torch.arange(length, dtype=torch.float64)
    angle = position[:, None] * angular_frequencies(d_model)  # (length, pairs)
    encoding = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (length, pairs, 2)
    return encoding.flatten(start_dim=1).to(torch.get_default_dtype())


def shift_matrix(offset: int, d_model: int) -> Float[Tensor, "d_model d_model"]:
    """Matrix that moves a sinusoidal encoding by ``offset`` positions.

    ``shift_matrix(k, d_model) @ encoding[p]`` equals ``encoding[p + k]`` for every ``p``: each
    (sine, cosine) pair is rotated by ``k`` times its frequency, wherever it stands.

    Raises
    ------
    ValueError
        If ``d_model`` is odd or smaller than 2.
    """
    angle = offset * angular_frequencies(d_model)
    cos, sin = angle.cos(), angle.sin()
    rotations = torch.stack([cos, sin, -sin, cos], dim=-1).reshape(-1, 2, 2)
    return torch.block_diag(*rotations).to(torch.get_default_dtype())


class SinusoidalPositionalEncoding(nn.Module):
    """Add the sinusoidal encoding to a sequence of vectors, then apply dropout (section 5.4).

    Parameters
    ----------
    d_model
        Width of each vector, even.
    max_len
        Longest sequence, in positions.
    dropout
        Probability of zeroing an element of the sum during training.
    """

    encoding: Float[Tensor, "max_len d_model"]

    def __init__(self, d_model: int, max_len: int = 5000, dropout: float = 0.1) -> None:
        super().__init__()
        _check_max_len(max_len)
        # Not persistent: it is computed from two numbers, so a checkpoint need not carry it.
        self.register_buffer("encoding", sinusoidal_encoding(max_len, d_model), persistent=False)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Return ``dropout(x + encoding)``; raise ValueError if ``x`` is longer than max_len."""
        length = x.shape[1]
        _check_fits(length, max_len=len(self.encoding))
        return self.dropout(x + self.encoding[:length])


class LearnedPositionalEncoding(nn.Module):
    """Add one trained vector per position instead (Gehring et al., 2017; compared in section 3.5).

    Parameters are those of :class:`SinusoidalPositionalEncoding`. A position that training never
    reached keeps its random vector.
    """

    def __init__(self, d_model: int, max_len: int = 5000, dropout: float = 0.1) -> None:
        super().__init__()
        _check_max_len(max_len)
        self.encoding = nn.Embedding(max_len, d_model)
        # Small beside the scaled token embeddings, so that training starts from the words.
        nn.init.normal_(self.encoding.weight, std=d_model**-0.5)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Return ``dropout(x + encoding)``; raise ValueError if ``x`` is longer than max_len."""
        length = x.shape[1]
        _check_fits(length, max_len=self.encoding.num_embeddings)
        return self.dropout(x + self.encoding.weight[:length])
