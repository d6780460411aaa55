"""How many positions each pair of the encoding takes for a turn."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise


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
    frequency = 1 / 10000.0 ** (2 * i / d_model)
    return 2 * math.pi / frequency


wavelengths.mistake(
    "2 pi is missing",
    edits=[("2 * math.pi / frequency", "1 / frequency")],
    observed="Your first wavelength is 1; a sine whose angle is the position takes 6.283 "
    "positions for a turn.",
    change="A full turn is 2 pi: `2 * math.pi / frequency`.",
)
wavelengths.mistake(
    "the angular frequency is returned",
    edits=[("2 * math.pi / frequency", "frequency")],
    observed="Your numbers fall from 1: that is the angle in radians that each pair grows by in "
    "one position.",
    change="Divide 2 pi by what you return.",
)
wavelengths.mistake(
    "2 pi is multiplied by the frequency instead of divided",
    edits=[("2 * math.pi / frequency", "2 * math.pi * frequency")],
    observed="Your numbers fall from 6.283; the slower a pair turns, the longer its wavelength.",
    change="Divide 2 pi by the frequency: `2 * math.pi / frequency`; or give the exponent a plus.",
)
wavelengths.mistake(
    "a full turn is taken as pi",
    edits=[("2 * math.pi / frequency", "math.pi / frequency")],
    observed="Your first wavelength is 3.142: half a turn.",
    change="A full turn is 2 pi: `2 * math.pi / frequency`.",
)
wavelengths.mistake(
    "a full turn is taken as 360 degrees",
    edits=[("2 * math.pi / frequency", "360 / frequency")],
    observed="Your first wavelength is 360; sine and cosine take radians.",
    change="A full turn is 2 pi: `2 * math.pi / frequency`.",
)
wavelengths.mistake(
    "turns for each position instead of positions for each turn",
    edits=[("2 * math.pi / frequency", "frequency / (2 * math.pi)")],
    observed="Your first number is 0.159 = 1 / 6.283.",
    change="Return one divided by what you return.",
)
wavelengths.mistake(
    "each wavelength appears twice",
    edits=[("torch.arange(d_model // 2)", "torch.arange(d_model // 2).repeat_interleave(2)")],
    observed="You return d_model numbers, equal two by two.",
    change="Return one for each pair: the sine and the cosine share it.",
)
wavelengths.mistake(
    "i counts dimensions instead of pairs",
    edits=[("torch.arange(d_model // 2)", "torch.arange(d_model)")],
    observed="You return d_model numbers, and they reach beyond 2 pi * 10000.",
    change="Let `i` run over the pairs: 0 .. d_model / 2 - 1.",
)
wavelengths.mistake(
    "there is a wavelength for each dimension",
    edits=[("torch.arange(d_model // 2)", "torch.arange(d_model) / 2")],
    observed="You return d_model numbers, all different.",
    change="Return one for each pair: the exponents are 0, 2 / d_model, 4 / d_model and so on.",
)
wavelengths.mistake(
    "the last wavelength stays 0",
    edits=[("return 2", "frequency[-1] = math.inf\n    return 2")],
    observed="All numbers but the last may be right; a loop that ends early leaves it at 0.",
    change="There are d_model / 2 pairs: `range(d_model // 2)` goes up to the last one.",
)
wavelengths.mistake(
    "the last pair is missing",
    edits=[("torch.arange(d_model // 2)", "torch.arange(d_model // 2 - 1)")],
    observed="You return one number too few.",
    change="There are d_model / 2 pairs: 0 .. d_model / 2 - 1, the last one included.",
)
wavelengths.mistake(
    "the first pair is missing",
    edits=[("torch.arange(d_model // 2)", "torch.arange(1, d_model // 2)")],
    observed="You return one number too few, and the wavelength 6.283 is not among them.",
    change="Count pairs from 0, so that the first exponent is 0.",
)
wavelengths.mistake(
    "the longest wavelength comes first",
    edits=[("torch.arange(d_model // 2)", "torch.arange(d_model // 2).flip(0)")],
    observed="Your numbers fall to 6.283; pair 0, the fastest, should come first.",
    change="Reverse the order.",
)
wavelengths.mistake(
    "the fractions are cut off",
    edits=[("return 2", "return (2"), ("math.pi / frequency", "math.pi / frequency).long()")],
    observed="Your first wavelength is 6, not 6.283: the tensor that you fill holds whole numbers.",
    change="Fill a tensor of floating-point numbers, such as `torch.zeros(d_model // 2)`.",
)
wavelengths.mistake(
    "the 2 of the exponent 2i / d_model is missing",
    edits=[("(2 * i", "(i")],
    observed="The wavelengths grow only half as fast from pair to pair; the longest is near "
    "2 pi * 100 instead of 2 pi * 10000.",
    change="Use the exponent `2 * i / d_model`, where i counts pairs.",
)
wavelengths.mistake(
    "the exponent is doubled twice",
    edits=[("(2 * i", "(4 * i")],
    observed="The wavelengths grow twice as fast from pair to pair as they should.",
    change="If i steps by 2 (`torch.arange(0, d_model, 2)`), the exponent is `i / d_model`.",
)
wavelengths.mistake(
    "pairs are counted from 1",
    edits=[("(2 * i", "(2 * (i + 1)")],
    observed="The fastest pair has a wavelength longer than 2 pi.",
    change="Count pairs from 0, so that the first exponent is 0.",
)
wavelengths.mistake(
    "the exponents reach 1",
    edits=[("i / d_model)", "i / (d_model - 2))")],
    observed="The longest wavelength is exactly 2 pi * 10000; the paper's stays below.",
    change="Divide by `d_model`, not by `d_model - 2`; other programs do that, the paper does not.",
)
wavelengths.mistake(
    "all pairs have the frequency of the first",
    edits=[("i / d_model", "i // d_model")],
    observed="All pairs have the wavelength 2 pi.",
    change="Pair i needs the exponent `2 * i / d_model`, with `/`: `//` rounds it down to 0.",
)
wavelengths.mistake(
    "the logarithm of 10000 is missing",
    edits=[
        ("1 / 10000.0", "torch.exp(-10000.0"),
        ("** (2", "* (2"),
        ("/ d_model)\n", "/ d_model))\n"),
    ],
    observed="All pairs but the first stand still: their frequency is 0.",
    change="Write `torch.exp(-exponent * math.log(10000))`.",
    unless=r"\blog\(",
)
wavelengths.mistake(
    "the logarithm has base 10",
    edits=[
        ("1 / 10000.0", "torch.exp(-math.log10(10000.0"),
        (" ** (2", ") * (2"),
        ("/ d_model)\n", "/ d_model))\n"),
    ],
    observed="The longest wavelength is near 2 pi * 55: exp and log10 do not undo each other.",
    change="Use the natural logarithm, `math.log(10000)`.",
)
wavelengths.mistake(
    "the base is 1000",
    edits=[("10000.0", "1000.0")],
    observed="The wavelengths grow too slowly; the longest is near 2 pi * 1000.",
    change="Use 10000, with four zeros.",
)
wavelengths.mistake(
    "the base is 100000",
    edits=[("10000.0", "100000.0")],
    observed="The wavelengths grow too fast; the longest is near 2 pi * 100000.",
    change="Use 10000, with four zeros.",
)
wavelengths.mistake(
    "the exponent is (2i + 1) / d_model",
    edits=[("(2 * i /", "((2 * i + 1) /")],
    observed="The fastest pair has a wavelength longer than 2 pi: its exponent is not 0.",
    change="Both dimensions of pair i, 2i and 2i + 1, share the exponent 2i / d_model.",
)
wavelengths.mistake(
    "the power is divided by d_model instead of the exponent",
    edits=[("10000.0 ** (2 * i / d_model)", "(10000.0 ** (2 * i) / d_model)")],
    observed="A power binds more tightly than a division, so the exponents are 0, 2, 4 and so on.",
    change="Put the exponent into parentheses: `10000 ** (2 * i / d_model)`.",
)
wavelengths.mistake(
    "the exponent has no parentheses",
    edits=[("10000.0 ** (2 * i / d_model)", "(10000.0 ** 2 * i / d_model)")],
    observed="You compute 10000 ** 2, times i, divided by d_model: the first wavelength is 0.",
    change="Put the exponent into parentheses: `10000 ** (2 * i / d_model)`.",
)
wavelengths.mistake(
    "the width is always taken as 512",
    edits=[("/ d_model)", "/ 512)")],
    observed="The exponents fit a width of 512 only.",
    change="Use the argument: `2 * i / d_model`.",
)
wavelengths.mistake(
    "divided by 2 pi instead of multiplied",
    edits=[("2 * math.pi / frequency", "1 / (2 * math.pi * frequency)")],
    observed="Your first wavelength is 0.159 = 1 / 6.283, and the others grow as they should.",
    change="A full turn is 2 pi: `2 * math.pi / frequency`.",
)
wavelengths.mistake(
    "the logarithm has base 2",
    edits=[
        ("1 / 10000.0", "torch.exp(-math.log2(10000.0"),
        (" ** (2", ") * (2"),
        ("/ d_model)\n", "/ d_model))\n"),
    ],
    observed="The wavelengths grow too fast: exp and log2 do not undo each other.",
    change="Use the natural logarithm, `math.log(10000)`.",
)
wavelengths.mistake(
    "the wavelengths grow by equal steps, not by equal factors",
    edits=[("10000.0 ** (2 * i / d_model)", "torch.linspace(1, 10000, d_model // 2)")],
    observed="Your first wavelength is 6.283 and your last one 62832, with equal steps between.",
    change="Each is the one before times the same factor: `10000 ** (2 * i / d_model)`.",
)
wavelengths.mistake(
    "the wavelengths are rounded to whole numbers",
    edits=[("return 2", "return (2"), ("math.pi / frequency", "math.pi / frequency).round()")],
    observed="Your first wavelength is 6, not 6.283.",
    change="Leave them as they are: a wavelength need not be a whole number.",
)
