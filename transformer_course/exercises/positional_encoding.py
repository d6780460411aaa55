"""Lesson 1: the exercises on positional encodings and embeddings, with their known mistakes."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course import model
from transformer_course.exercises.cases import Case, Property, vectors
from transformer_course.exercises.exercise import exercise, shared_mistake

# --- wavelengths -----------------------------------------------------------------------------


def _single_precision(code: Callable, *inputs: int) -> Tensor:
    """Call; the statement leaves open in which precision to compute."""
    result = code(*inputs)
    is_double = isinstance(result, Tensor) and result.dtype == torch.float64
    return result.float() if is_double else result


@exercise(
    reference=model.wavelengths,
    cases=[Case((d_model,), observe=_single_precision) for d_model in (4, 6, 10, 512)],
    properties=[
        Property(
            "the first wavelength is 2 pi = 6.283 positions",
            lambda value, case: math.isclose(value[0], 2 * math.pi, rel_tol=1e-4),
        ),
        Property(
            "each wavelength is longer than the one before, by the same factor",
            lambda value, case: torch.allclose(
                value[1:] / value[:-1], torch.tensor(10000 ** (2 / case.inputs[0])), rtol=1e-3
            ),
        ),
    ],
    hints=[
        "A sine is back where it began when its angle has grown by 2 pi. By how much does the "
        "angle of pair `i` grow in one position?",
        "The angle grows by `10000 ** (-2 * i / d_model)` in each position. How many positions "
        "make 2 pi?",
        "`i = torch.arange(d_model // 2)` numbers the pairs; divide 2 pi by the growth of each.",
    ],
)
def wavelengths(d_model: int) -> Tensor:
    """Return the wavelength of each pair in positions, shape (d_model / 2,)."""
    i = torch.arange(d_model // 2)
    frequency = 10000.0 ** (-2 * i / d_model)
    return 2 * math.pi / frequency


class _Frequencies:
    """The frequency of each pair in steps, so that a mistake replaces one."""

    def exponents(self, d_model: int) -> Tensor:
        return torch.arange(0, d_model, 2, dtype=torch.float64) / d_model

    def base(self) -> float:
        return 10000.0

    def frequencies(self, exponents: Tensor) -> Tensor:
        return self.base() ** -exponents


class _Wavelengths(_Frequencies):
    def turn(self, frequency: Tensor) -> Tensor:
        return 2 * math.pi / frequency

    def __call__(self, d_model: int) -> Tensor:
        return self.turn(self.frequencies(self.exponents(d_model)))


@wavelengths.mistake(
    "2 pi is missing",
    observed="Your first wavelength is 1; a sine whose angle is the position takes 6.283 "
    "positions for a turn.",
    change="A full turn is 2 pi: `2 * math.pi / frequency`.",
)
class _NoTwoPi(_Wavelengths):
    def turn(self, frequency: Tensor) -> Tensor:
        return 1 / frequency


@wavelengths.mistake(
    "the angular frequency is returned",
    observed="Your numbers fall from 1: that is the angle in radians that each pair grows by in "
    "one position.",
    change="Divide 2 pi by what you return.",
)
class _AngularFrequency(_Wavelengths):
    def turn(self, frequency: Tensor) -> Tensor:
        return frequency


@wavelengths.mistake(
    "turns for each position instead of positions for each turn",
    observed="Your first number is 0.159 = 1 / 6.283.",
    change="Return one divided by what you return.",
)
class _TurnsPerPosition(_Wavelengths):
    def turn(self, frequency: Tensor) -> Tensor:
        return frequency / (2 * math.pi)


@wavelengths.mistake(
    "each wavelength stands there twice",
    observed="You return d_model numbers, equal two by two.",
    change="Return one for each pair: the sine and the cosine share it.",
)
class _TwicePerPair(_Wavelengths):
    def turn(self, frequency: Tensor) -> Tensor:
        return (2 * math.pi / frequency).repeat_interleave(2)


@wavelengths.mistake(
    "i counts dimensions instead of pairs",
    observed="You return d_model numbers, and they reach beyond 2 pi * 10000.",
    change="Let `i` run over the pairs: 0 .. d_model / 2 - 1.",
)
class _AllDimensions(_Wavelengths):
    def exponents(self, d_model: int) -> Tensor:
        return 2 * torch.arange(d_model, dtype=torch.float64) / d_model


# --- sinusoidal_encoding ---------------------------------------------------------------------


@exercise(
    reference=model.sinusoidal_encoding,
    cases=[Case((2, 4)), Case((3, 4)), Case((4, 4)), Case((3, 6)), Case((2, 8)), Case((9, 4))],
    properties=[
        Property(
            "row 0 is 0, 1, 0, 1, ...",
            lambda value, case: torch.allclose(
                value[0].float(), torch.tensor([0.0, 1.0]).repeat(case.inputs[1] // 2)
            ),
        ),
        Property(
            "each row has length sqrt(d_model / 2)",
            lambda value, case: torch.allclose(
                value.float().norm(dim=1), torch.tensor(math.sqrt(case.inputs[1] / 2)), rtol=1e-4
            ),
        ),
        Property(
            "column 0 is the sine of the position",
            lambda value, case: torch.allclose(
                value[:, 0].float(), torch.arange(case.inputs[0]).sin(), atol=1e-4
            ),
        ),
    ],
    hints=[
        "Two vectors are enough: the positions 0, 1, ... and one frequency for each pair. Their "
        "outer product holds every angle.",
        "The frequency of pair `i` is `10000 ** (-2 * i / d_model)`, for i = 0 .. d_model / 2 - 1.",
        "With `angle` of shape (length, d_model / 2): `encoding[:, 0::2] = angle.sin()` and "
        "`encoding[:, 1::2] = angle.cos()`.",
    ],
)
def sinusoidal_encoding(length: int, d_model: int) -> Tensor:
    """Return the encoding of positions 0 .. length - 1, shape (length, d_model)."""
    position = torch.arange(length)[:, None]
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    angle = position * frequency
    encoding = torch.empty(length, d_model)
    encoding[:, 0::2] = angle.sin()
    encoding[:, 1::2] = angle.cos()
    return encoding


class _Encoding(_Frequencies):
    def positions(self, length: int) -> Tensor:
        return torch.arange(length, dtype=torch.float64)

    def cosine_exponents(self, d_model: int) -> Tensor:
        return self.exponents(d_model)

    def angles(self, position: Tensor, frequency: Tensor) -> Tensor:
        return position[:, None] * frequency

    def waves(self, even: Tensor, odd: Tensor) -> tuple[Tensor, Tensor]:
        return even.sin(), odd.cos()

    def columns(self, even: Tensor, odd: Tensor) -> Tensor:
        return torch.stack([even, odd], dim=-1).flatten(1)

    def orient(self, encoding: Tensor) -> Tensor:
        return encoding

    def __call__(self, length: int, d_model: int) -> Tensor:
        position = self.positions(length)
        even = self.angles(position, self.frequencies(self.exponents(d_model)))
        odd = self.angles(position, self.frequencies(self.cosine_exponents(d_model)))
        return self.orient(self.columns(*self.waves(even, odd))).float()


@sinusoidal_encoding.mistake(
    "sine and cosine are swapped",
    observed="Row 0 is 1, 0, 1, 0, ...: at position 0 the sine, 0, goes first.",
    change="Put the sine into the even columns (0, 2, ...) and the cosine into the odd ones.",
)
class _SwappedWaves(_Encoding):
    def waves(self, even: Tensor, odd: Tensor) -> tuple[Tensor, Tensor]:
        return even.cos(), odd.sin()


@sinusoidal_encoding.mistake(
    "there is a sine in every column",
    observed="Row 0 holds zeros only; it should be 0, 1, 0, 1, ....",
    change="Put the cosine into the odd columns (1, 3, ...).",
)
class _OnlySines(_Encoding):
    def waves(self, even: Tensor, odd: Tensor) -> tuple[Tensor, Tensor]:
        return even.sin(), odd.sin()


@sinusoidal_encoding.mistake(
    "all sines stand in the left half and all cosines in the right half",
    observed="Row 0 is 0 ... 0, 1 ... 1; it should be 0, 1, 0, 1, ....",
    change="Let sine and cosine take turns: pair `i` sits in columns 2i and 2i + 1.",
)
class _Halves(_Encoding):
    def columns(self, even: Tensor, odd: Tensor) -> Tensor:
        return torch.cat([even, odd], dim=-1)


@sinusoidal_encoding.mistake(
    "sine and cosine take turns from row to row",
    observed="Row 0 is all sines, row 1 all cosines: `[0::2]` picks rows.",
    change="Fill columns: `encoding[:, 0::2]` and `encoding[:, 1::2]`.",
)
class _AlternatingRows(_Encoding):
    def columns(self, even: Tensor, odd: Tensor) -> Tensor:
        even, odd = even.repeat_interleave(2, dim=1), odd.repeat_interleave(2, dim=1)
        return torch.where(torch.arange(len(even))[:, None] % 2 == 0, even, odd)


@sinusoidal_encoding.mistake(
    "positions are counted from 1",
    observed="The first row begins with 0.841, 0.540: that is position 1, not position 0.",
    change="Count from 0: `torch.arange(length)`.",
)
class _PositionsFromOne(_Encoding):
    def positions(self, length: int) -> Tensor:
        return torch.arange(1, length + 1, dtype=torch.float64)


@sinusoidal_encoding.mistake(
    "positions are divided by the length",
    observed="Row 1 depends on `length`: the same position gets another encoding in a longer "
    "sequence.",
    change="Use the position itself: 0, 1, 2, ....",
)
class _RelativePositions(_Encoding):
    def positions(self, length: int) -> Tensor:
        return torch.arange(length, dtype=torch.float64) / length


@sinusoidal_encoding.mistake(
    "angles are multiplied by 2 pi",
    observed="Columns 0 and 1 are 0 and 1 in every row: a whole turn for each position.",
    change="Leave 2 pi out: the angle is the position times the frequency, in radians.",
)
class _WholeTurns(_Encoding):
    def angles(self, position: Tensor, frequency: Tensor) -> Tensor:
        return 2 * math.pi * position[:, None] * frequency


@sinusoidal_encoding.mistake(
    "sine and cosine of a pair have different frequencies",
    observed="The squares of columns 0 and 1 do not add up to 1: column 1 turns more slowly.",
    change="Use the exponent 2i / d_model, i being the number of the pair, in both columns.",
)
class _TwoFrequenciesPerPair(_Encoding):
    def cosine_exponents(self, d_model: int) -> Tensor:
        return torch.arange(1, d_model, 2, dtype=torch.float64) / d_model


@sinusoidal_encoding.mistake(
    "i counts columns in the exponent 2i / d_model",
    observed="Sine and cosine of a pair have different frequencies, and the last wavelength is "
    "near 2 pi * 10000 ** 2.",
    change="Let i count pairs: columns 2i and 2i + 1 share the exponent 2i / d_model.",
)
class _ColumnAsPair(_Encoding):
    def exponents(self, d_model: int) -> Tensor:
        return 2 * torch.arange(0, d_model, 2, dtype=torch.float64) / d_model

    def cosine_exponents(self, d_model: int) -> Tensor:
        return 2 * torch.arange(1, d_model, 2, dtype=torch.float64) / d_model


@sinusoidal_encoding.mistake(
    "the encoding lies on its side",
    observed="Your result has shape (d_model, length).",
    change="Give each position a row: `position[:, None] * frequency`.",
)
class _Transposed(_Encoding):
    def orient(self, encoding: Tensor) -> Tensor:
        return encoding.T


# --- shift_matrix ----------------------------------------------------------------------------


def _moves_every_position(matrix: Tensor, case: Case) -> bool:
    offset, d_model = case.inputs
    encoding = model.sinusoidal_encoding(20, d_model)
    moved = encoding[5:15] @ matrix.float().T
    return torch.allclose(moved, encoding[5 + offset : 15 + offset], atol=1e-4)


@exercise(
    reference=model.shift_matrix,
    cases=[Case((2, 4)), Case((1, 4)), Case((-2, 6)), Case((0, 6)), Case((1, 8))],
    properties=[
        Property("it moves positions 5 to 14 by the offset", _moves_every_position),
        Property(
            "its transpose is its inverse, so that lengths stay the same",
            lambda value, case: torch.allclose(
                value.float() @ value.float().T, torch.eye(case.inputs[1]), atol=1e-4
            ),
        ),
        Property(
            "pairs do not mix: it is zero outside the 2 x 2 blocks on the diagonal",
            lambda value, case: (
                not value[torch.block_diag(*[torch.ones(2, 2)] * (case.inputs[1] // 2)) == 0].any()
            ),
        ),
    ],
    hints=[
        "Look at one pair: how do sin(a + b) and cos(a + b) follow from sin(a) and cos(a)?",
        "sin(a + b) = cos(b) sin(a) + sin(b) cos(a) and cos(a + b) = -sin(b) sin(a) + "
        "cos(b) cos(a). Pair `i` has b = offset * frequency_i.",
        "The block of a pair is `[[cos(b), sin(b)], [-sin(b), cos(b)]]`; `torch.block_diag` puts "
        "the blocks on the diagonal.",
    ],
)
def shift_matrix(offset: int, d_model: int) -> Tensor:
    """Return the matrix M with M @ encoding[p] = encoding[p + offset], for every p."""
    angle = offset * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    matrix = torch.zeros(d_model, d_model)
    for pair, (sin, cos) in enumerate(zip(angle.sin(), angle.cos(), strict=True)):
        column = 2 * pair
        matrix[column, column : column + 2] = torch.stack([cos, sin])
        matrix[column + 1, column : column + 2] = torch.stack([-sin, cos])
    return matrix


class _Shift(_Frequencies):
    def angles(self, offset: int, frequency: Tensor) -> Tensor:
        return offset * frequency

    def block(self, sin: Tensor, cos: Tensor) -> list[Tensor]:
        return [cos, sin, -sin, cos]

    def assemble(self, blocks: Tensor) -> Tensor:
        return torch.block_diag(*blocks)

    def finish(self, matrix: Tensor, offset: int) -> Tensor:
        return matrix

    def __call__(self, offset: int, d_model: int) -> Tensor:
        angle = self.angles(offset, self.frequencies(self.exponents(d_model)))
        block = torch.stack(self.block(angle.sin(), angle.cos()), dim=-1)
        return self.finish(self.assemble(block.reshape(-1, 2, 2)), offset).float()


@shift_matrix.mistake(
    "it moves backwards",
    observed="Your matrix takes position p to p - offset; it is the transpose of the right one.",
    change="Use the block `[[cos, sin], [-sin, cos]]`: the sine comes first in a pair.",
)
class _Backwards(_Shift):
    def block(self, sin: Tensor, cos: Tensor) -> list[Tensor]:
        return [cos, -sin, sin, cos]


@shift_matrix.mistake(
    "the minus sign is missing",
    observed="Both sines in your blocks have the same sign, so lengths change.",
    change="Put the minus before the lower left sine: cos(a + b) = cos b cos a - sin b sin a.",
)
class _NoMinus(_Shift):
    def block(self, sin: Tensor, cos: Tensor) -> list[Tensor]:
        return [cos, sin, sin, cos]


@shift_matrix.mistake(
    "the minus sign stands before a cosine",
    observed="Offset 0 should change nothing, but your matrix then flips every second dimension.",
    change="Put the minus before the lower left sine: `[[cos, sin], [-sin, cos]]`.",
)
class _Mirror(_Shift):
    def block(self, sin: Tensor, cos: Tensor) -> list[Tensor]:
        return [cos, sin, sin, -cos]


@shift_matrix.mistake(
    "sine and cosine are swapped in the blocks",
    observed="Offset 0 should give ones on the diagonal; yours gives zeros there.",
    change="Put the cosines on the diagonal: `[[cos, sin], [-sin, cos]]`.",
)
class _SwappedBlock(_Shift):
    def block(self, sin: Tensor, cos: Tensor) -> list[Tensor]:
        return [sin, cos, -cos, sin]


@shift_matrix.mistake(
    "the offset is not used",
    observed="Every offset gives the same matrix, that of offset 1.",
    change="Rotate pair `i` by `offset * frequency[i]`.",
)
class _NoOffset(_Shift):
    def angles(self, offset: int, frequency: Tensor) -> Tensor:
        return frequency


@shift_matrix.mistake(
    "the power is taken of each element, not of the matrix",
    observed="Offset 1 is right and offset 2 is not: its elements are the squares of those.",
    change="Use `torch.linalg.matrix_power`, or multiply the angle by the offset.",
)
class _ElementwisePower(_Shift):
    def angles(self, offset: int, frequency: Tensor) -> Tensor:
        return frequency

    def finish(self, matrix: Tensor, offset: int) -> Tensor:
        return matrix**offset


@shift_matrix.mistake(
    "the blocks are laid out in halves",
    observed="Your matrix is [[C, S], [-S, C]] with diagonal C and S: it fits an encoding with "
    "all sines first.",
    change="Put a 2 x 2 block on the diagonal for each pair: columns 2i and 2i + 1.",
)
class _HalvedBlocks(_Shift):
    def assemble(self, blocks: Tensor) -> Tensor:
        rows = [torch.cat([torch.diag(blocks[:, r, c]) for c in (0, 1)], dim=1) for r in (0, 1)]
        return torch.cat(rows)


@shift_matrix.mistake(
    "the blocks are not put together",
    observed="Your result has shape (d_model / 2, 2, 2).",
    change="Place them on the diagonal of one matrix: `torch.block_diag(*blocks)`.",
)
class _LooseBlocks(_Shift):
    def assemble(self, blocks: Tensor) -> Tensor:
        return blocks


@shift_matrix.mistake(
    "it moves dimensions instead of positions",
    observed="Your matrix holds zeros and ones only: it carries each dimension `offset` places on.",
    change="Keep each pair in place and rotate it by `offset * frequency[i]`.",
)
class _RolledDimensions(_Shift):
    def finish(self, matrix: Tensor, offset: int) -> Tensor:
        return torch.eye(len(matrix)).roll(offset, dims=0)


# --- mistakes in the frequencies, which the three exercises above share ----------------------


_ENCODINGS = {sinusoidal_encoding: _Encoding, shift_matrix: _Shift}
_FREQUENCIES = {wavelengths: _Wavelengths, **_ENCODINGS}


@shared_mistake(
    _FREQUENCIES,
    "the 2 of the exponent 2i / d_model is missing",
    observed="The wavelengths grow only half as fast from pair to pair; the longest is near "
    "2 pi * 100 instead of 2 pi * 10000.",
    change="Use the exponent `2 * i / d_model`, where i counts pairs.",
)
class _HalfExponent(_Frequencies):
    def exponents(self, d_model: int) -> Tensor:
        return torch.arange(d_model // 2, dtype=torch.float64) / d_model


@shared_mistake(
    _FREQUENCIES,
    "the exponent is doubled twice",
    observed="The wavelengths grow twice as fast from pair to pair as they should.",
    change="If i steps by 2 (`torch.arange(0, d_model, 2)`), the exponent is `i / d_model`.",
)
class _DoubledTwice(_Frequencies):
    def exponents(self, d_model: int) -> Tensor:
        return 2 * torch.arange(0, d_model, 2, dtype=torch.float64) / d_model


@shared_mistake(
    _FREQUENCIES,
    "pairs are counted from 1",
    observed="The fastest pair has a wavelength longer than 2 pi.",
    change="Count pairs from 0, so that the first exponent is 0.",
)
class _PairsFromOne(_Frequencies):
    def exponents(self, d_model: int) -> Tensor:
        return torch.arange(2, d_model + 2, 2, dtype=torch.float64) / d_model


@shared_mistake(
    _FREQUENCIES,
    "the exponents reach 1",
    observed="The longest wavelength is exactly 2 pi * 10000; the paper's stays below.",
    change="Divide by `d_model`, not by `d_model - 2`; other programs do that, the paper does not.",
)
class _ExponentsReachOne(_Frequencies):
    def exponents(self, d_model: int) -> Tensor:
        return torch.linspace(0, 1, d_model // 2, dtype=torch.float64)


@shared_mistake(
    _FREQUENCIES,
    "the exponent is rounded down to 0",
    observed="All pairs have the wavelength 2 pi.",
    change="Divide with `/`; `//` rounds every exponent down to 0.",
)
class _FlooredExponent(_Frequencies):
    def exponents(self, d_model: int) -> Tensor:
        return torch.zeros(d_model // 2, dtype=torch.float64)


@shared_mistake(
    _ENCODINGS,
    "multiplied by 10000 ** (2i / d_model) instead of divided",
    observed="Later pairs turn faster and faster, so neighbouring positions differ wildly.",
    change="Divide by it, or give the exponent a minus sign.",
)
class _Multiplied(_Frequencies):
    def frequencies(self, exponents: Tensor) -> Tensor:
        return self.base() ** exponents


@shared_mistake(
    _FREQUENCIES,
    "the logarithm of 10000 is missing",
    observed="All pairs but the first stand still: their frequency is 0.",
    change="Write `torch.exp(-exponent * math.log(10000))`.",
)
class _NoLogarithm(_Frequencies):
    def frequencies(self, exponents: Tensor) -> Tensor:
        return torch.exp(-exponents * self.base())


@shared_mistake(
    _FREQUENCIES,
    "the logarithm has base 10",
    observed="The longest wavelength is near 2 pi * 55: exp and log10 do not undo each other.",
    change="Use the natural logarithm, `math.log(10000)`.",
)
class _DecimalLogarithm(_Frequencies):
    def frequencies(self, exponents: Tensor) -> Tensor:
        return torch.exp(-exponents * math.log10(self.base()))


@shared_mistake(
    _FREQUENCIES,
    "the base is 1000",
    observed="The wavelengths grow too slowly; the longest is near 2 pi * 1000.",
    change="Use 10000, with four zeros.",
)
class _SmallBase(_Frequencies):
    def base(self) -> float:
        return 1000.0


# --- Embeddings ------------------------------------------------------------------------------


def _embedding_gradient(module: nn.Module, ids: Tensor) -> Tensor:
    """Return the gradient of the table for a loss that adds everything up."""
    table = dict(module.named_parameters()).get("table.weight")
    output = module(ids)
    if table is None or not output.requires_grad:
        return torch.zeros(0)
    return torch.autograd.grad(output.sum(), table)[0]


def _fresh_vectors(module: nn.Module, ids: Tensor) -> dict[str, float | bool]:
    """Look at initial vectors: their standard deviation to one digit, and the padding."""
    pad_id, words = ids[:1], ids[1:]
    with torch.no_grad():
        return {
            "standard deviation": round(module(words[None]).std().item(), 1),
            "padding is zero": not module(pad_id[None]).any(),
        }


def _equal_ids_equal_vectors(value: Tensor, case: Case) -> bool:
    (ids,) = case.inputs
    same = ids.flatten()[:, None] == ids.flatten()
    vectors = value.flatten(end_dim=1)
    return torch.allclose((vectors[:, None] - vectors)[same], torch.tensor(0.0), atol=1e-5)


_IDS = torch.tensor([[1, 5, 3, 3, 0], [4, 1, 1, 6, 2]])


@exercise(
    reference=model.Embeddings,
    cases=[
        Case((_IDS[:, :3],), construct=(7, 4, 3)),
        Case((_IDS,), construct=(7, 9, 3)),
        Case((_IDS[:1],), construct=(8, 6, 0)),
        Case(
            (_IDS,),
            construct=(7, 4, 3),
            observe=_embedding_gradient,
            looks_at="the gradient of `table.weight`, that of the padding row being zero",
        ),
        Case(
            (torch.arange(2, 1000),),
            construct=(1000, 64, 2),
            observe=_fresh_vectors,
            looks_at="a new module: standard deviation of the output 1.0, that of padding zero",
            inject=False,
        ),
    ],
    properties=[
        Property("equal ids get equal vectors", _equal_ids_equal_vectors),
        Property(
            "the vector of the padding is zero",
            lambda value, case: not value[case.inputs[0] == case.construct[2]].any(),
        ),
    ],
    hints=[
        "The look-up is `nn.Embedding`. Which of its arguments keeps the row of the padding at "
        "zero, and out of training?",
        "Initialise with `nn.init.normal_(self.table.weight, std=d_model**-0.5)`. What has this "
        "done to the padding row?",
        "Set `self.table.weight[pad_id]` to zero within `torch.no_grad()`, and return "
        "`self.table(ids) * math.sqrt(self.table.embedding_dim)`.",
    ],
)
class Embeddings(nn.Module):
    """Look up ids of shape (batch, length) in a table, times sqrt(d_model)."""

    def __init__(self, vocab: int, d_model: int, pad_id: int) -> None:
        super().__init__()
        self.table = nn.Embedding(vocab, d_model, padding_idx=pad_id)
        nn.init.normal_(self.table.weight, std=d_model**-0.5)
        with torch.no_grad():
            self.table.weight[pad_id] = 0

    def forward(self, ids: Tensor) -> Tensor:
        """Return vectors of shape (batch, length, d_model)."""
        return self.table(ids) * math.sqrt(self.table.embedding_dim)


class _EmbeddingSteps(nn.Module):
    """The embeddings in steps, so that a mistake replaces one."""

    def __init__(self, vocab: int, d_model: int, pad_id: int) -> None:
        super().__init__()
        self.table = self.make_table(vocab, d_model, pad_id)
        with torch.no_grad():
            self.initialise(d_model)
            self.clear(pad_id)

    def make_table(self, vocab: int, d_model: int, pad_id: int) -> nn.Embedding:
        return nn.Embedding(vocab, d_model, padding_idx=pad_id)

    def initialise(self, d_model: int) -> None:
        self.table.weight.normal_(std=d_model**-0.5)

    def clear(self, pad_id: int) -> None:
        self.table.weight[pad_id] = 0

    def factor(self) -> float:
        return math.sqrt(self.table.embedding_dim)

    def look_up(self, ids: Tensor) -> Tensor:
        return self.table(ids)

    def forward(self, ids: Tensor) -> Tensor:
        return self.look_up(ids) * self.factor()


@Embeddings.mistake(
    "the factor sqrt(d_model) is missing",
    observed="Your vectors are those of the table; with d_model = 4 they should be twice as long.",
    change="Multiply what is looked up by `math.sqrt(d_model)`.",
)
class _NoFactor(_EmbeddingSteps):
    def factor(self) -> float:
        return 1.0


@Embeddings.mistake(
    "multiplied by d_model: sqrt(d_model) twice, or no square root",
    observed="Your vectors are sqrt(d_model) times too long.",
    change="Multiply by `math.sqrt(d_model)`, once.",
)
class _FactorTwice(_EmbeddingSteps):
    def factor(self) -> float:
        return float(self.table.embedding_dim)


@Embeddings.mistake(
    "divided by sqrt(d_model) instead of multiplied",
    observed="Your vectors are d_model times too short.",
    change="Multiply by `math.sqrt(d_model)`; attention is where one divides by a root.",
)
class _DividedByFactor(_EmbeddingSteps):
    def factor(self) -> float:
        return 1 / math.sqrt(self.table.embedding_dim)


@Embeddings.mistake(
    "the root is that of the vocabulary's size",
    observed="The factor changes with the number of words, not with the width.",
    change="Multiply by `math.sqrt(d_model)`.",
)
class _RootOfVocabulary(_EmbeddingSteps):
    def factor(self) -> float:
        return math.sqrt(self.table.num_embeddings)


@Embeddings.mistake(
    "the table starts as N(0, 1)",
    observed="In a new module of width 64 the output has standard deviation 8, not 1.",
    change="Initialise with `std=d_model**-0.5`; `nn.Embedding` itself starts with std 1.",
)
class _StandardNormal(_EmbeddingSteps):
    def initialise(self, d_model: int) -> None:
        pass

    def clear(self, pad_id: int) -> None:
        pass  # `nn.Embedding` has done it, if it knows which row


@Embeddings.mistake(
    "the standard deviation is 1 / d_model",
    observed="In a new module of width 64 the output has standard deviation 0.1, not 1.",
    change="Use the root: `std=d_model**-0.5`; 1 / d_model is the variance.",
)
class _StdIsVariance(_EmbeddingSteps):
    def initialise(self, d_model: int) -> None:
        self.table.weight.normal_(std=1 / d_model)


@Embeddings.mistake(
    "the table starts with Xavier's bounds",
    observed="In a new module of 1000 words the output has standard deviation 0.3, not 1: those "
    "bounds shrink with the vocabulary.",
    change="Initialise with `nn.init.normal_(self.table.weight, std=d_model**-0.5)`.",
)
class _Xavier(_EmbeddingSteps):
    def initialise(self, d_model: int) -> None:
        nn.init.xavier_uniform_(self.table.weight)


@Embeddings.mistake(
    "the initialisation fills the padding row",
    observed="In a new module the vector of the padding is not zero.",
    change="Set row `pad_id` to zero after `nn.init.normal_`, within `torch.no_grad()`.",
)
class _PaddingFilled(_EmbeddingSteps):
    def clear(self, pad_id: int) -> None:
        pass


@Embeddings.mistake(
    "the padding row is trained",
    observed="The padding row gets a gradient, so it would not stay zero.",
    change="Give `nn.Embedding` the argument `padding_idx=pad_id`.",
)
class _PaddingTrained(_EmbeddingSteps):
    def make_table(self, vocab: int, d_model: int, pad_id: int) -> nn.Embedding:
        return nn.Embedding(vocab, d_model)


@Embeddings.mistake(
    "the padding is always id 0",
    observed="With another `pad_id`, row 0 gets no gradient and the padding row does.",
    change="Pass the argument on: `padding_idx=pad_id`.",
)
class _PaddingIsZero(_EmbeddingSteps):
    def make_table(self, vocab: int, d_model: int, pad_id: int) -> nn.Embedding:
        return nn.Embedding(vocab, d_model, padding_idx=0)


@Embeddings.mistake(
    "the sizes of the table are swapped",
    observed="`table.weight` has shape (d_model, vocab).",
    change="Rows are words: `nn.Embedding(vocab, d_model)`.",
)
class _SwappedTable(_EmbeddingSteps):
    def make_table(self, vocab: int, d_model: int, pad_id: int) -> nn.Embedding:
        return nn.Embedding(d_model, vocab, padding_idx=pad_id)


@Embeddings.mistake(
    "the table does not learn",
    observed="No gradient reaches `table.weight`.",
    change="Leave out `.data`, `.detach()`, `torch.no_grad()` and `requires_grad = False` in "
    "`forward`.",
)
class _DetachedTable(_EmbeddingSteps):
    def look_up(self, ids: Tensor) -> Tensor:
        return super().look_up(ids).detach()


@Embeddings.mistake(
    "the batch and the length are swapped",
    observed="Your output has shape (length, batch, d_model).",
    change="Keep the batch first, without a transpose.",
)
class _LengthFirst(_EmbeddingSteps):
    def look_up(self, ids: Tensor) -> Tensor:
        return super().look_up(ids).transpose(0, 1)


# --- SinusoidalPositionalEncoding and LearnedPositionalEncoding ------------------------------


def _spread(module: nn.Module, x: Tensor) -> dict[str, Tensor]:
    """Call in training mode until each element was dropped and kept; return the extremes.

    They say where the dropout acts and how strong it is, whatever random numbers it draws.
    """
    calls = torch.stack([module(x) for _ in range(64)]).detach()
    return {"smallest": calls.amin(dim=0), "largest": calls.amax(dim=0)}


def _has_buffer(module: nn.Module, x: Tensor) -> bool:
    return "encoding" in dict(module.named_buffers())


def _table_gradient(module: nn.Module, x: Tensor) -> Tensor:
    """Return the gradient of the position table for a loss that adds everything up."""
    table = dict(module.named_parameters()).get("encoding.weight")
    output = module(x)
    if table is None or not output.requires_grad:
        return torch.zeros(0)
    (gradient,) = torch.autograd.grad(output.sum(), table, allow_unused=True)
    return torch.zeros(0) if gradient is None else gradient


_CASES = [
    Case((vectors(2, 3, 4),), construct=(4, 5, 0.1)),
    Case((vectors(3, 5, 6),), construct=(6, 20, 0.1)),
    Case((vectors(2, 7, 4),), construct=(4, 7, 0.0)),
]
_TRAINING = Case(
    (vectors(2, 3, 4),),
    construct=(4, 5, 0.25),
    observe=_spread,
    looks_at="smallest and largest values of 64 calls in training mode, dropout 0.25",
    training=True,
)


def _order_matters(value: Tensor, case: Case) -> bool:
    added = value - case.inputs[0]
    return not torch.allclose(added[:, 0], added[:, 1])


def _same_for_all_sentences(value: Tensor, case: Case) -> bool:
    added = value - case.inputs[0]
    return torch.allclose(added[0], added[1], atol=1e-5)


_PROPERTIES = [
    Property("what is added differs from position to position", _order_matters),
    Property("what is added is the same for every sentence of the batch", _same_for_all_sentences),
]


@exercise(
    reference=model.SinusoidalPositionalEncoding,
    cases=[
        *_CASES,
        Case(
            (vectors(2, 3, 4),),
            construct=(4, 5, 0.1),
            observe=_has_buffer,
            looks_at="whether the module has a buffer named `encoding`",
        ),
        _TRAINING,
    ],
    properties=_PROPERTIES,
    hints=[
        "The table does not depend on the input: compute it once in `__init__`, for `max_len` "
        "positions. Which rows does a sequence of `x.shape[1]` positions need?",
        'Keep the table with `self.register_buffer("encoding", ...)`: it then moves with the '
        "module, but is not trained.",
        "The output is `self.dropout(x + self.encoding[: x.shape[1]])`; broadcasting adds the "
        "same rows to each sentence.",
    ],
)
class SinusoidalPositionalEncoding(nn.Module):
    """Add the sinusoidal encoding to x of shape (batch, length, d_model), then apply dropout."""

    def __init__(self, d_model: int, max_len: int, dropout: float) -> None:
        super().__init__()
        encoding = model.sinusoidal_encoding(max_len, d_model)
        self.register_buffer("encoding", encoding)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return a tensor of the shape of x."""
        return self.dropout(x + self.encoding[: x.shape[1]])


@exercise(
    reference=model.LearnedPositionalEncoding,
    cases=[
        *_CASES,
        Case(
            (vectors(2, 3, 4),),
            construct=(4, 5, 0.1),
            observe=_table_gradient,
            looks_at="the gradient of `encoding.weight`",
        ),
        _TRAINING,
    ],
    properties=_PROPERTIES,
    hints=[
        "A learned encoding is a table like that of the words: `nn.Embedding`. How many rows does "
        "it have, and how long is each?",
        "`nn.Embedding(max_len, d_model)` looks up ids. Which ids do the positions of a sequence "
        "have?",
        "`self.encoding(torch.arange(x.shape[1]))` gives one row for each position; add it to "
        "`x`, then apply the dropout.",
    ],
)
class LearnedPositionalEncoding(nn.Module):
    """Add a trained vector for each position to x, then apply dropout."""

    def __init__(self, d_model: int, max_len: int, dropout: float) -> None:
        super().__init__()
        self.encoding = nn.Embedding(max_len, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return a tensor of the shape of x."""
        position = torch.arange(x.shape[1], device=x.device)
        return self.dropout(x + self.encoding(position))


class _AddPositions(nn.Module):
    """What both modules do, in steps, so that a mistake replaces one."""

    def __init__(self, d_model: int, max_len: int, dropout: float) -> None:
        super().__init__()
        self.make_table(d_model, max_len)
        self.dropout = self.make_dropout(dropout)

    def make_dropout(self, dropout: float) -> nn.Module:
        return nn.Dropout(dropout)

    def rows(self, x: Tensor) -> Tensor:
        return self.table()[: x.shape[1]]

    def combine(self, x: Tensor, rows: Tensor) -> Tensor:
        return x + rows

    def add(self, x: Tensor, rows: Tensor) -> Tensor:
        return self.dropout(self.combine(x, rows))

    def forward(self, x: Tensor) -> Tensor:
        return self.add(x, self.rows(x))


class _Sinusoidal(_AddPositions):
    def make_table(self, d_model: int, max_len: int) -> None:
        self.keep(model.sinusoidal_encoding(max_len, d_model))

    def keep(self, encoding: Tensor) -> None:
        self.register_buffer("encoding", encoding)

    def table(self) -> Tensor:
        return self.encoding


class _Learned(_AddPositions):
    def make_table(self, d_model: int, max_len: int) -> None:
        self.encoding = nn.Embedding(max_len, d_model)

    def table(self) -> Tensor:
        return self.encoding.weight


@SinusoidalPositionalEncoding.mistake(
    "the table is a parameter",
    observed="`encoding` is among your module's parameters, so training would change it.",
    change='Keep it as a buffer: `self.register_buffer("encoding", ...)`.',
)
class _TableAsParameter(_Sinusoidal):
    def keep(self, encoding: Tensor) -> None:
        self.encoding = nn.Parameter(encoding)


@SinusoidalPositionalEncoding.mistake(
    "the table is not a buffer",
    observed="Your module has no buffer named `encoding`, so `.to(device)` would leave the table "
    "behind.",
    change='Keep it in `__init__`: `self.register_buffer("encoding", ...)`.',
)
class _TableAsAttribute(_Sinusoidal):
    def keep(self, encoding: Tensor) -> None:
        self.encoding = encoding


@LearnedPositionalEncoding.mistake(
    "the table does not learn",
    observed="No gradient reaches `encoding.weight`: its vectors would stay random for ever.",
    change="Leave out `.data`, `.detach()`, `torch.no_grad()` and `requires_grad = False`.",
)
class _FrozenTable(_Learned):
    def table(self) -> Tensor:
        return super().table().detach()


@LearnedPositionalEncoding.mistake(
    "position 0 is treated as padding",
    observed="The row of position 0 gets no gradient.",
    change="Leave `padding_idx` out: position 0 is the first word.",
)
class _PositionZeroAsPadding(_Learned):
    def make_table(self, d_model: int, max_len: int) -> None:
        self.encoding = nn.Embedding(max_len, d_model, padding_idx=0)

    def table(self) -> Tensor:
        return self.encoding(torch.arange(self.encoding.num_embeddings))


@LearnedPositionalEncoding.mistake(
    "the sizes of the table are swapped",
    observed="`encoding.weight` has shape (d_model, max_len).",
    change="Rows are positions: `nn.Embedding(max_len, d_model)`.",
)
class _SwappedSizes(_Learned):
    def make_table(self, d_model: int, max_len: int) -> None:
        self.encoding = nn.Embedding(d_model, max_len)


@LearnedPositionalEncoding.mistake(
    "x is looked up instead of the positions",
    observed="`nn.Embedding` wants whole numbers, and x holds vectors.",
    change="Look up positions: `self.encoding(torch.arange(x.shape[1]))`.",
)
class _LooksUpVectors(_Learned):
    def rows(self, x: Tensor) -> Tensor:
        return self.encoding(x)


@LearnedPositionalEncoding.mistake(
    "every position gets the row of position 0",
    observed="The same vector is added everywhere, so the order still does not matter.",
    change="Look up 0, 1, 2, ...: `torch.arange(x.shape[1])`.",
)
class _OnlyRowZero(_Learned):
    def rows(self, x: Tensor) -> Tensor:
        return self.encoding(torch.zeros(x.shape[1], dtype=torch.long))


_BOTH = {SinusoidalPositionalEncoding: _Sinusoidal, LearnedPositionalEncoding: _Learned}


@shared_mistake(
    _BOTH,
    "positions run along the batch axis",
    observed="All words of a sentence get the same vector; the sentences get different ones.",
    change="The batch comes first here: the length is `x.shape[1]`, and rows add to the last two "
    "axes without `unsqueeze(1)`.",
)
class _BatchAxis(_AddPositions):
    def rows(self, x: Tensor) -> Tensor:
        return self.table()[: x.shape[0], None]


@shared_mistake(
    _BOTH,
    "the number of rows is the batch size",
    observed="The shapes fit only when there are as many sentences as positions.",
    change="Take `x.shape[1]` rows, the length; `x.shape[0]` is the batch size.",
)
class _RowsOfBatchSize(_AddPositions):
    def rows(self, x: Tensor) -> Tensor:
        return self.table()[: x.shape[0]]


@shared_mistake(
    _BOTH,
    "the number of rows is the width",
    observed="The shapes fit only when d_model is the length or max_len.",
    change="Take `x.shape[1]` rows, the length; the last axis is d_model.",
)
class _RowsOfWidth(_AddPositions):
    def rows(self, x: Tensor) -> Tensor:
        return self.table()[: x.shape[-1]]


@shared_mistake(
    _BOTH,
    "the whole table is added",
    observed="The shapes fit only for a sequence of exactly `max_len` positions.",
    change="Take the first `x.shape[1]` rows.",
)
class _WholeTable(_AddPositions):
    def rows(self, x: Tensor) -> Tensor:
        return self.table()


@shared_mistake(
    _BOTH,
    "one row is picked instead of a slice",
    observed="The same vector is added to all positions, and a full sequence is out of range.",
    change="Mind the colon: `[: x.shape[1]]` takes the first rows, `[x.shape[1]]` a single one.",
)
class _SingleRow(_AddPositions):
    def rows(self, x: Tensor) -> Tensor:
        return self.table()[x.shape[1]]


@shared_mistake(
    _BOTH,
    "the first row is skipped",
    observed="The first word gets the vector of position 1.",
    change="Begin with row 0.",
)
class _SkipsFirstRow(_AddPositions):
    def rows(self, x: Tensor) -> Tensor:
        return self.table()[1 : x.shape[1] + 1]


@shared_mistake(
    _BOTH,
    "x itself is missing",
    observed="The output does not depend on the words.",
    change="Return the sum `x + ...`, not the rows alone.",
)
class _OnlyRows(_AddPositions):
    def combine(self, x: Tensor, rows: Tensor) -> Tensor:
        return rows


@shared_mistake(
    _BOTH,
    "the encoding is appended instead of added",
    observed="The last axis of your output is 2 * d_model wide.",
    change="Add the rows to x; that keeps the width.",
)
class _Concatenated(_AddPositions):
    def combine(self, x: Tensor, rows: Tensor) -> Tensor:
        return torch.cat([x, rows.expand_as(x)], dim=-1)


@shared_mistake(
    _BOTH,
    "the encoding is multiplied instead of added",
    observed="An x of zeros stays zero at every position.",
    change="Add the rows to x.",
)
class _Product(_AddPositions):
    def combine(self, x: Tensor, rows: Tensor) -> Tensor:
        return x * rows


@shared_mistake(
    _BOTH,
    "x is multiplied by sqrt(d_model)",
    observed="Your output is sqrt(d_model) * x plus the encoding.",
    change="Leave the factor out: it belongs to the embeddings, and must act once.",
)
class _ScaledInput(_AddPositions):
    def combine(self, x: Tensor, rows: Tensor) -> Tensor:
        return x * math.sqrt(x.shape[-1]) + rows


@shared_mistake(
    _BOTH,
    "there is no dropout",
    observed="In training mode nothing is ever dropped.",
    change="Return `self.dropout(x + ...)`.",
)
class _NoDropout(_AddPositions):
    def add(self, x: Tensor, rows: Tensor) -> Tensor:
        return self.combine(x, rows)


@shared_mistake(
    _BOTH,
    "dropout acts on x only",
    observed="In training mode the encoding always stays; only the words are dropped.",
    change="Apply it to the sum: `self.dropout(x + ...)`.",
)
class _DropoutOnInput(_AddPositions):
    def add(self, x: Tensor, rows: Tensor) -> Tensor:
        return self.combine(self.dropout(x), rows)


@shared_mistake(
    _BOTH,
    "dropout acts on the encoding only",
    observed="In training mode the words always stay; only the encoding is dropped.",
    change="Apply it to the sum: `self.dropout(x + ...)`.",
)
class _DropoutOnRows(_AddPositions):
    def add(self, x: Tensor, rows: Tensor) -> Tensor:
        return self.combine(x, self.dropout(rows.expand_as(x)))


@shared_mistake(
    _BOTH,
    "dropout acts on both before they are added",
    observed="In training mode an element can lose its word and keep its position.",
    change="Apply it once, to the sum: `self.dropout(x + ...)`.",
)
class _DropoutOnEach(_AddPositions):
    def add(self, x: Tensor, rows: Tensor) -> Tensor:
        return self.combine(self.dropout(x), self.dropout(rows.expand_as(x)))


@shared_mistake(
    _BOTH,
    "dropout stays on in eval mode",
    observed="After `.eval()` two calls with the same x differ.",
    change="Use `nn.Dropout`, or `F.dropout(..., training=self.training)`.",
)
class _DropoutAlwaysOn(_AddPositions):
    def add(self, x: Tensor, rows: Tensor) -> Tensor:
        return F.dropout(self.combine(x, rows), self.dropout.p)


@shared_mistake(
    _BOTH,
    "the probability of dropout is not used",
    observed="In training mode what is kept is multiplied by 2: `nn.Dropout()` drops one half.",
    change="Pass the argument on: `nn.Dropout(dropout)`.",
)
class _DefaultDropout(_AddPositions):
    def make_dropout(self, dropout: float) -> nn.Module:
        return nn.Dropout()
