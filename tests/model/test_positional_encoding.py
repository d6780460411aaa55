import math
from collections.abc import Callable

import pytest
import torch

from transformer_course.model import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
    angular_frequencies,
    shift_matrix,
    sinusoidal_encoding,
    wavelengths,
)

from .small import noise

both_encodings = pytest.mark.parametrize(
    "encoding_class", [SinusoidalPositionalEncoding, LearnedPositionalEncoding]
)


@pytest.mark.parametrize("d_model", [2, 6, 20])
def test_sinusoidal_encoding_follows_the_formula(d_model: int) -> None:
    encoding = sinusoidal_encoding(9, d_model)
    assert encoding.shape == (9, d_model)
    for position in range(9):
        for i in range(d_model // 2):
            angle = position / 10000 ** (2 * i / d_model)
            assert encoding[position, 2 * i] == pytest.approx(math.sin(angle), abs=1e-6)
            assert encoding[position, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-6)


def test_first_position_is_zeros_and_ones() -> None:
    assert sinusoidal_encoding(1, 6).tolist() == [[0, 1, 0, 1, 0, 1]]


def test_late_positions_keep_their_digits() -> None:
    # In single precision the angle 99 999 alone would be off by 4e-3.
    assert sinusoidal_encoding(100_000, 2)[-1, 0] == pytest.approx(math.sin(99_999), abs=1e-7)


def test_no_positions_give_no_rows() -> None:
    assert sinusoidal_encoding(0, 4).shape == (0, 4)


@pytest.mark.parametrize(("d_model", "longest"), [(512, 60_611), (20, 25_014)])
def test_wavelengths_grow_from_two_pi(d_model: int, longest: int) -> None:
    lengths = wavelengths(d_model)
    assert lengths.shape == (d_model // 2,)
    assert lengths[0] == pytest.approx(2 * math.pi)
    assert (lengths.diff() > 0).all()
    assert lengths[-1] == pytest.approx(longest, abs=0.5)
    assert lengths[-1] == pytest.approx(2 * math.pi * 10000 ** ((d_model - 2) / d_model))


def test_each_frequency_turns_the_circle_once_per_wavelength() -> None:
    turns = angular_frequencies(20) * wavelengths(20)
    torch.testing.assert_close(turns, torch.full_like(turns, 2 * math.pi))


def test_every_position_has_the_same_norm() -> None:
    encoding = sinusoidal_encoding(1000, 20)
    torch.testing.assert_close(encoding.square().sum(dim=1), torch.full((1000,), 10.0))


@pytest.mark.parametrize("offset", [-7, 0, 1, 5, 100])
def test_shift_matrix_moves_every_position_alike(offset: int) -> None:
    encoding = sinusoidal_encoding(200, 20)
    start = torch.arange(10, 90)
    torch.testing.assert_close(
        encoding[start] @ shift_matrix(offset, 20).T, encoding[start + offset], rtol=0, atol=1e-5
    )


def test_shift_matrix_rotates_pairs_and_mixes_nothing_else() -> None:
    matrix = shift_matrix(3, 20)
    torch.testing.assert_close(matrix @ matrix.T, torch.eye(20), rtol=0, atol=1e-6)
    pairs = torch.block_diag(*[torch.ones(2, 2)] * 10).bool()
    assert (matrix[~pairs] == 0).all()


@both_encodings
def test_module_adds_one_vector_per_position(encoding_class: type) -> None:
    module = encoding_class(6, max_len=10).eval()
    x = noise(3, 7, 6, dtype=torch.float32)
    added = module(x) - x
    every_sentence_alike = added[:1].expand(3, -1, -1)
    torch.testing.assert_close(added, every_sentence_alike, rtol=0, atol=1e-6)
    torch.testing.assert_close(module(x[:, :4]), module(x)[:, :4])


def test_sinusoidal_module_adds_the_sinusoidal_encoding() -> None:
    module = SinusoidalPositionalEncoding(6, max_len=10).eval()
    torch.testing.assert_close(module(torch.zeros(1, 7, 6))[0], sinusoidal_encoding(7, 6))


def test_learned_module_adds_its_weight() -> None:
    module = LearnedPositionalEncoding(6, max_len=10).eval()
    torch.testing.assert_close(module(torch.zeros(1, 7, 6))[0], module.encoding.weight[:7])


def test_sinusoidal_module_trains_and_stores_nothing() -> None:
    module = SinusoidalPositionalEncoding(6)
    assert list(module.parameters()) == []
    assert module.state_dict() == {}
    assert [name for name, _ in module.named_buffers()] == ["encoding"]  # moves with the model


def test_learned_module_trains_one_vector_per_position() -> None:
    module = LearnedPositionalEncoding(6, max_len=10)
    module(torch.zeros(2, 4, 6)).sum().backward()
    assert module.encoding.weight.shape == (10, 6)
    reached = module.encoding.weight.grad.any(dim=1)
    assert reached.tolist() == [True] * 4 + [False] * 6


def test_learned_vectors_start_small_beside_the_words() -> None:
    torch.manual_seed(0)
    weight = LearnedPositionalEncoding(64, max_len=500).encoding.weight
    assert weight.std().item() == pytest.approx(64**-0.5, rel=0.05)


@both_encodings
def test_dropout_is_applied_to_the_sum_in_training_only(encoding_class: type) -> None:
    torch.manual_seed(0)
    module = encoding_class(6, max_len=10, dropout=0.5)
    x = noise(3, 7, 6, dtype=torch.float32)
    trained, summed = module(x), module.eval()(x)
    dropped = trained == 0
    assert 0.2 < dropped.float().mean() < 0.8
    torch.testing.assert_close(trained[~dropped], 2 * summed[~dropped])


@pytest.mark.parametrize(("d_model", "even"), [(7, 8), (1, 2), (0, 2), (-2, 2)])
@pytest.mark.parametrize(
    "build",
    [
        lambda d_model: sinusoidal_encoding(4, d_model),
        lambda d_model: shift_matrix(1, d_model),
        wavelengths,
        angular_frequencies,
        SinusoidalPositionalEncoding,
    ],
    ids=["encoding", "shift_matrix", "wavelengths", "frequencies", "module"],
)
def test_odd_or_empty_d_model_is_refused(
    build: Callable[[int], object], d_model: int, even: int
) -> None:
    with pytest.raises(ValueError, match=rf"positive even number.*got {d_model}\. Use {even}\."):
        build(d_model)


def test_negative_length_is_refused() -> None:
    with pytest.raises(ValueError, match="length must be zero or more positions; got -1"):
        sinusoidal_encoding(-1, 4)


@both_encodings
@pytest.mark.parametrize("max_len", [0, -3])
def test_max_len_below_one_is_refused(encoding_class: type, max_len: int) -> None:
    with pytest.raises(ValueError, match=rf"at least 1 position; got {max_len}\. Set it to"):
        encoding_class(4, max_len=max_len)


@both_encodings
def test_longest_sequence_fits_and_a_longer_one_is_refused(encoding_class: type) -> None:
    module = encoding_class(4, max_len=3)
    assert module(torch.zeros(1, 3, 4)).shape == (1, 3, 4)
    message = "4 positions, .* max_len=3. Shorten the sequence or build it with max_len=4"
    with pytest.raises(ValueError, match=message):
        module(torch.zeros(1, 4, 4))
