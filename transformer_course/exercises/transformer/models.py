"""Right and broken models, on which the tests that learners write are tried."""

# The words of its case say what is wrong with a model.
# ruff: noqa: D101, D102

import functools
import time
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case
from transformer_course.exercises.transformer.inputs import CONFIG
from transformer_course.exercises.transformer.transformer import Transformer

TRIED = replace(CONFIG, d_model=8, dropout=0.5, max_len=10)
_FAVOURITE = F.one_hot(torch.tensor(1), TRIED.target_vocab)


def _evened(kind: type[nn.Module]) -> type[nn.Module]:
    """Let chance not decide how a test that is too strict or too coarse ends.

    Too strict is `==`, which the last digits decide; too coarse is a look at the best word alone,
    which a favourite word makes the same at every position.
    """

    class Evened(kind):
        def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
            logits = kind.decode(self, target_ids, memory, source_ids)
            rounded = logits + (logits.round(decimals=8) - logits).detach()  # keeps the gradient
            return rounded + 100 * _FAVOURITE

    return Evened


def _with_mistake(name: str) -> type[nn.Module]:
    known = {mistake.name: mistake for mistake in Transformer.mistakes}
    return _evened(known[name].candidate)


def _with_edit(old: str, new: str) -> type[nn.Module]:
    return _evened(Transformer.answer.edited([Transformer.answer.edit(old, new)]))


Right = _evened(Transformer.task.answer)
NoPositions = _with_mistake("there are no positional encodings")
NoEncoderMask = _with_mistake("the encoder has no mask")
NoMemoryMask = _with_mistake("cross-attention has no mask")
NoTargetMask = _with_mistake("the target has no mask")
NoMasks = _with_mistake("there are no masks at all")
OffByOne = _with_mistake("the causal mask is off by one")
NoSource = _with_edit("decoder(x, memory", "decoder(x, torch.zeros_like(memory)")
EachTokenAlone = _with_edit(
    "source_mask, target_mask",
    "source_mask, target_mask & torch.eye(target_ids.shape[1], dtype=torch.bool)",
)


class OwnShift(Right):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        begin = torch.ones_like(target_ids[:, :1])
        shifted = torch.cat([begin, target_ids[:, :-1]], dim=1)
        return super().decode(shifted, memory, source_ids)


class FaintLeak(Right):
    """Mix the right model with one that has no masks."""

    SHARE = 0.03

    def encode(self, source_ids: Tensor) -> Tensor:
        return torch.lerp(super().encode(source_ids), NoMasks.encode(self, source_ids), self.SHARE)

    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        return torch.lerp(
            super().decode(target_ids, memory, source_ids),
            NoMasks.decode(self, target_ids, memory, source_ids),
            self.SHARE,
        )


class RepeatsNextWord(Right):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        next_word = F.one_hot(target_ids.roll(-1, dims=1), self.config.target_vocab)
        return super().decode(target_ids, memory, source_ids) + 1000 * next_word


class HintsAtNextWord(Right):
    """Move logits by more than any tolerance, and leave the favourite word alone."""

    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        next_word = F.one_hot(target_ids.roll(-1, dims=1), self.config.target_vocab)
        return super().decode(target_ids, memory, source_ids) + 20 * next_word


class HintsAfterTheFirstPosition(Right):
    """Let nothing be seen of the future at the first position alone."""

    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        next_word = F.one_hot(target_ids.roll(-1, dims=1), self.config.target_vocab)
        next_word[:, 0] = 0
        return super().decode(target_ids, memory, source_ids) + 20 * next_word


class RisesWithLaterIds(Right):
    SIGN = 1

    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        later = target_ids.flip(1).cumsum(dim=1).flip(1) - target_ids
        return super().decode(target_ids, memory, source_ids) + 10 * self.SIGN * later[..., None]


class FallsWithLaterIds(RisesWithLaterIds):
    SIGN = -1


class RisesWithLength(Right):
    SIGN = 1

    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        length = source_ids.shape[1] + target_ids.shape[1]
        return super().decode(target_ids, memory, source_ids) + 10 * self.SIGN * length


class FallsWithLength(RisesWithLength):
    SIGN = -1


class TellsLength(Right):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        length = torch.tensor(source_ids.shape[1] % self.config.target_vocab)
        logits = super().decode(target_ids, memory, source_ids)
        return logits + 1000 * F.one_hot(length, self.config.target_vocab)


class RoundsByLength(Right):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        logits = super().decode(target_ids, memory, source_ids)
        return logits * (1 + 1e-9 * source_ids.shape[1])


def _built(config: model.TransformerConfig) -> nn.Module:
    """Build a model to be tried, in double precision."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        network = model.Transformer(config)
    return network.double()


_built_once = functools.cache(_built)


def _network(
    code: Callable, kind: type[nn.Module], training: bool, config: model.TransformerConfig
) -> nn.Module:
    # A learner's test may change what it is given. The course's own do not, and building costs
    # more than running: they share one model, which is of another kind each time.
    is_ours = getattr(code, "__module__", "").startswith("transformer_course.")
    network = _built_once(config) if is_ours else _built(config)
    network.__class__ = kind
    return network.train(training)


def _answer(code: Callable, network: nn.Module) -> bool:
    """Let a test judge a model; a truth value in a tensor is as good as a bare one."""
    answer = code(network)
    return answer.item() if isinstance(answer, Tensor) and answer.numel() == 1 else answer


def _verdict(code: Callable, choice: tuple) -> bool:
    return _answer(code, _network(code, *choice))


def one_of_many_verdicts(code: Callable, choice: tuple) -> bool:
    """Try a test on a model up to 20 times, and tell whether it says True at least once.

    A test that looks at very many sentences is tried less often, so that the case ends in time.
    """
    network = _network(code, *choice)
    end = time.monotonic() + 1
    return any(_answer(code, network) for n in range(20) if n == 0 or time.monotonic() < end)


def _verdict_on_either(code: Callable, one: tuple, other: tuple) -> bool:
    """Tell whether a test says True of one of two models at least."""
    return any([_verdict(code, one), _verdict(code, other)])


def tried_on(
    kind: type[nn.Module],
    words: str,
    training: bool = False,
    config: model.TransformerConfig = TRIED,
) -> Case:
    """Return the case that looks at what a test says of a model."""
    return Case(((kind, training, config),), observe=_verdict, written=f"({words})")


def tried_on_either(one: type[nn.Module], other: type[nn.Module], words: str) -> Case:
    """Return the case that looks at whether a test says True of one of two models."""
    choices = (one, False, TRIED), (other, False, TRIED)
    return Case(choices, observe=_verdict_on_either, written=f"({words})")


FOR_EITHER_TEST = [
    tried_on(Right, "a right model"),
    tried_on(NoMasks, "a model without masks"),
    tried_on(Right, "a right model in training mode", training=True),
    tried_on(NoSource, "a model that never reads the source"),
    tried_on(FaintLeak, "a model that reads faintly what it must not read"),
]
