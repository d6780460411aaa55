"""Make all experiments on a subject, one by one, in the time that there is."""

import inspect
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from torch.nn.parameter import UninitializedParameter

from transformer_course.checker.global_state import untouched_globals
from transformer_course.checker.time_limits import TimeLimitReached, time_limit
from transformer_course.examine import experiments  # noqa: F401 - adds them
from transformer_course.examine.bench import (
    Bench,
    BrokenOff,
    ExaminationError,
    NotExamined,
    in_a_line,
)
from transformer_course.examine.experiment import EXPERIMENTS, Experiment, Outcome, failing
from transformer_course.examine.lesson import lesson
from transformer_course.examine.subject import Subject

SECONDS = 60.0
GRACE = 5.0
"""Seconds by which an experiment that has begun may take longer."""


@dataclass
class Observations:
    """What came out of the experiments.

    Attributes
    ----------
    outcomes
        By the experiment's name.
    left_out
        Why the others were not made, in words that end a sentence.
    seconds
        How long it took.
    curve
        Steps, and the loss of the dozen pairs after them.
    broken_off
        Names of those left out that can be made: there was no time, or they raised an error.
    """

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    curve: list[tuple[int, float]] = field(default_factory=list)
    broken_off: list[str] = field(default_factory=list)

    @property
    def words(self) -> dict[str, str]:
        """The outcome of each experiment, in a word."""
        return {name: outcome.word for name, outcome in self.outcomes.items()}

    @property
    def failing(self) -> dict[str, str]:
        """The outcomes that no right model may have."""
        return failing(self.words)

    def break_off(self, name: str, reason: str) -> None:
        """Leave out an experiment that can be made."""
        self.left_out[name] = reason
        self.broken_off.append(name)


def observe(
    subject: Subject,
    seconds: float = SECONDS,
    tick: Callable[[float], None] = lambda share: None,
) -> Observations:
    """Make all experiments.

    Raises
    ------
    ExaminationError
        If the model has no weights, or some that are no numbers, or cannot be called.
    """
    began, observed = time.monotonic(), Observations(left_out=dict(_unseen(subject)))
    _check_weights(subject)
    bench = Bench(subject, seconds)
    with untouched_globals(), bench.untouched():
        bench.shake()
        _try_out(bench)
        for number, each in enumerate(EXPERIMENTS.values()):
            tick(number / len(EXPERIMENTS))
            _make(each, bench, observed)
        tick(1.0)
        observed.curve = _curve(bench, observed)
    observed.seconds = time.monotonic() - began
    return observed


def _check_weights(subject: Subject) -> None:
    weights = dict(subject.network.named_parameters())
    if not weights:
        raise ExaminationError(
            "the network has no parameters: give the torch.nn.Module whose weights are trained."
        )
    for name, weight in weights.items():
        if isinstance(weight, UninitializedParameter):
            raise ExaminationError(f"`{name}` has no shape yet: call the model once before.")
        if weight.is_meta:
            raise ExaminationError(f"`{name}` is on `meta`, without numbers: fill it before.")
        if weight.requires_grad and not bool(weight.detach().isfinite().all()):
            raise ExaminationError(
                f"`{name}` holds NaN or infinity, and every score follows from it. Was it never "
                f"filled, or did a training go wrong? Begin with weights from before that."
            )


def _unseen(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield what no experiment can judge."""
    if subject.unseen:
        yield "your own call of the model", subject.unseen
    if frozen := [n for n, w in subject.network.named_parameters() if not w.requires_grad]:
        yield (
            "weights with `requires_grad=False`",
            f"there are {len(frozen)}, such as `{frozen[0]}`; are they meant to stay as they are?",
        )


def _curve(bench: Bench, observed: Observations) -> list[tuple[int, float]]:
    return bench.once(lesson).curve if "learning" in observed.outcomes else []


def _make(each: Experiment, bench: Bench, observed: Observations) -> None:
    missing = [name for name in each.needs if not _is_given(bench.subject, name)]
    if missing:
        observed.left_out[each.name] = f"{_listed(missing)} is not given"
    elif bench.seconds_left <= 0:
        observed.break_off(each.name, "there was no time left")
    else:
        try:
            with time_limit(bench.seconds_left + GRACE):
                observed.outcomes[each.name] = each.run(bench)
        except BrokenOff as reason:
            observed.break_off(each.name, str(reason))
        except NotExamined as reason:
            observed.left_out[each.name] = str(reason)
        except (ExaminationError, KeyboardInterrupt):
            raise
        except TimeLimitReached:
            observed.break_off(each.name, "it did not end in time")
        except BaseException as error:
            observed.break_off(each.name, f"it raises {in_a_line(error)}")


def _is_given(subject: Subject, name: str) -> bool:
    given = getattr(subject, name)
    return given is not None and (not isinstance(given, list | tuple) or bool(given))


def _listed(names: list[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)


def _try_out(bench: Bench) -> None:
    """Call the model once."""
    try:
        with time_limit(bench.seconds_left + GRACE):
            bench.wake()
            bench.usual_scores  # noqa: B018 - made here, so that its errors are told apart
    except (ExaminationError, KeyboardInterrupt):
        raise
    except TimeLimitReached:
        raise ExaminationError(
            f"one call of the model does not end within {bench.seconds_left + GRACE:.0f} seconds."
        ) from None
    except BaseException as error:
        raise ExaminationError(
            f"the model raises {in_a_line(error)} when it is called with source and target ids. "
            f"{_advice(bench.subject, error)}"
        ) from error


def _advice(subject: Subject, error: BaseException) -> str:
    """Show the lambda that a network needs whose forward takes more than two tensors."""
    if isinstance(error, IndexError):
        sizes = f"source_vocab={subject.source_vocab} and target_vocab={subject.target_vocab}"
        return f"Look whether its tables have a row for each id: {sizes} are given."
    if "to_padded_tensor" in str(error):
        return (
            "A sentence is hidden whole: torch's `src_key_padding_mask` is True where padding is, "
            "not where words are."
        )
    if subject.scores is not subject.network:
        return "Look at `scores`, which calls it."
    try:
        wanted = [
            each.name
            for each in inspect.signature(subject.network.forward).parameters.values()
            if each.kind is each.POSITIONAL_OR_KEYWORD and each.default is each.empty
        ][2:]
    except ValueError:
        wanted = []
    more = "".join(f", {name}=..." for name in wanted) or ", ..."
    return (
        "If it needs more than those, or wants the length first, say how to call it: "
        f"`scores=lambda source, target: network(source, target{more})`, or "
        "`network(source.T, target.T).transpose(0, 1)`."
    )
