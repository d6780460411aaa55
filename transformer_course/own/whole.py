"""Whether a learner's file computes what the course's parts compute together.

Everything is done in double precision: in single precision Adam enlarges rounding errors where
a gradient, such as that of a key's bias, is zero.
"""

import time
from functools import cache
from types import ModuleType

import torch
from torch import Tensor, nn

from transformer_course.checker.global_state import untouched_globals
from transformer_course.checker.originals import original_functions
from transformer_course.checker.time_limits import CHECK_LIMIT, TimeLimitReached, time_limit
from transformer_course.own.modules import module_of
from transformer_course.own.sections import TEMPLATE, template

STEPS = 10
SIZES = {"d_model": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 16}
TOLERANCE = 1e-5
PAIRS = [([4, 5, 6, 7], [4, 5]), ([8, 4], [6, 7, 5, 4]), ([9], [8])]


@cache
def course() -> ModuleType:
    """Return the file with every part given."""
    return module_of(template(), "my_transformer_of_the_course", str(TEMPLATE))


def fault(whole: ModuleType) -> str | None:
    """Say where a file differs from one whose parts are all the course's; None if nowhere.

    Whatever the learner's parts raise is reported too, as is that they never end.
    """
    wanted = _wanted()  # before the clock of the learner's parts runs
    try:
        with untouched_globals(), original_functions(), time_limit(CHECK_LIMIT):
            seen = _observations(whole)
    except KeyboardInterrupt:
        raise
    except TimeLimitReached:
        return endless()
    except BaseException as error:
        return f"they stop with {type(error).__name__}: {error}"
    return next((name for name in wanted if not _alike(wanted[name], seen.get(name))), None)


def endless() -> str:
    """Say of parts that they never end: nothing else can be asked of them."""
    return f"they do not end within {CHECK_LIMIT:.0f} seconds"


@cache
def _wanted() -> dict[str, Tensor]:
    with untouched_globals():
        return _observations(course())


def _alike(wanted: Tensor, seen: Tensor | None) -> bool:
    if seen is None:  # a weight of another name, or one that no gradient reaches
        return False
    # What is 0 but for rounding, such as a key bias's gradient, asks for an absolute tolerance.
    return wanted.shape == seen.shape and torch.allclose(wanted, seen, atol=TOLERANCE)


def _observations(whole: ModuleType) -> dict[str, Tensor]:
    """Return what a file computes with weights and sentences that are always the same."""
    source, target_in, target_out = whole.collate(PAIRS, whole.BOS, whole.EOS, whole.PAD)
    real = target_out != whole.PAD
    network = _network(whole).eval()
    state, dtype = torch.get_rng_state(), torch.get_default_dtype()
    logits = network(source, target_in)
    loss = whole.smoothed_cross_entropy(logits.flatten(0, 1), target_out.flatten(), 0.1, whole.PAD)
    loss.backward()
    kept = state.equal(torch.get_rng_state()) and dtype == torch.get_default_dtype()
    norm_after = _network(whole, norm_first=False).eval()(source, target_in)
    gradients = {f"the gradient of {name}": w.grad for name, w in network.named_parameters()}
    return {
        "it changes torch's settings or random numbers": torch.tensor(kept),
        "the logits": logits[real].detach(),
        "the logits where the norm comes after the sum": norm_after[real].detach(),
        **gradients,
        "the losses of ten training steps": torch.tensor(_losses(whole)),
        "a translation": whole.greedy(network, source, whole.BOS, whole.EOS, 6),
    }


def _network(whole: ModuleType, **choices: bool) -> nn.Module:
    network = whole.Transformer(whole.TransformerConfig(10, 9, **SIZES, **choices)).double()
    generator = torch.Generator().manual_seed(10)  # one sentence goes on, two end at once
    with torch.no_grad():
        for _, weight in sorted(network.named_parameters()):
            weight.copy_(torch.randn(weight.shape, generator=generator, dtype=weight.dtype) / 2)
    return network


def _losses(whole: ModuleType) -> list[float]:
    network, batch = _network(whole), whole.collate(PAIRS, whole.BOS, whole.EOS, whole.PAD)
    optimizer = whole.Adam(network.parameters(), 0.0)
    losses = []
    for step in range(1, STEPS + 1):
        optimizer.rate = whole.noam(step, 8, 4)
        losses.append(whole.training_step(network, optimizer, *batch, whole.PAD, 0.1))
    return losses


def slowness(whole: ModuleType) -> float:
    """Return how many times longer than the course's a file takes for ten training steps."""
    with untouched_globals(), original_functions(), time_limit(CHECK_LIMIT):
        return _seconds(whole) / _seconds(course())


def _seconds(whole: ModuleType) -> float:
    start = time.perf_counter()
    _losses(whole)
    return time.perf_counter() - start
