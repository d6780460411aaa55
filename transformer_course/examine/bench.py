"""The bench on which a subject is examined: what the experiments share, made once.

Nothing stays changed: weights, buffers, gradients, the mode and random numbers are put back.
"""

import contextlib
import site
import sysconfig
import textwrap
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from transformer_course.examine import reference
from transformer_course.examine.subject import Pair, Subject
from transformer_course.model.transformer import evaluating, keeping_modes

T = TypeVar("T")

BATCH, SOURCE, TARGET = 3, 5, 7
MANY = 32
SHAKE = 0.1
"""By which share of its own a weight is changed, as a standard deviation."""
LOUD = 0.5
"""The length that rows of a matrix have at least, on average, where effects are measured."""
IGNORED = -100
"""What losses of torch pass over, and labels of Hugging Face have in the place of padding."""
LONGEST = 500
"""Characters of an error that are shown."""
QUIET = 1e-3
"""A tensor of numbers all below this is as good as 0 at its start, such as a factor of a branch."""
LIBRARIES = (
    "<",
    sysconfig.get_path("stdlib"),
    *site.getsitepackages(),
    str(Path(__file__).parents[1]),
)
"""How names of files begin that are no code of the subject's."""
EFFECT = 1e-5
"""The smallest effect, as a share of the scores' spread: what is below is rounding."""


class ExaminationError(ValueError):
    """A subject cannot be examined; the words say why and what to give."""


class NotExamined(Exception):  # noqa: N818 - no error, but a reason
    """Why an experiment cannot be made here, in words that end a sentence."""


class BrokenOff(NotExamined):
    """Why an experiment that can be made was not, such as a lack of time."""


def in_a_line(error: BaseException) -> str:
    """Return the kind and the words of an error, of very many the first, and where it arose."""
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return textwrap.shorten(words, LONGEST, placeholder=" ...") + _place(error)


def _place(error: BaseException) -> str:
    """Say which line of the subject's own code came last; nothing if there is none."""
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(LIBRARIES)
    ]
    if not own:
        return ""
    in_a_cell = "ipykernel_" in own[-1].filename
    file = "a cell" if in_a_cell else Path(own[-1].filename).name
    return f" ({file}, line {own[-1].lineno}, in `{own[-1].name}`)"


class Bench:
    """A subject, and sentences and scores of it that several experiments look at.

    Parameters
    ----------
    subject
        Whom it is about.
    seconds
        How long all may take.
    """

    def __init__(self, subject: Subject, seconds: float) -> None:
        self.subject = subject
        self._made: dict[Callable, Any] = {}
        self.network = subject.network
        self.ends = time.monotonic() + seconds
        self.device = next((p.device for p in self.network.parameters()), torch.device("cpu"))

    @property
    def seconds_left(self) -> float:
        """How long what is left may take."""
        return self.ends - time.monotonic()

    # Sentences

    @cached_property
    def source_words(self) -> list[int]:
        """Ids of a source that are ordinary words; where there are few, all but padding."""
        subject = self.subject
        special = {subject.source_pad, subject.bos, subject.eos, subject.pad}
        return _words(subject.source_vocab, special, subject.source_pad)

    @cached_property
    def target_words(self) -> list[int]:
        """Ids of a target that are ordinary words; where there are few, all but padding."""
        subject = self.subject
        special = {subject.pad, subject.bos, subject.eos}
        return _words(subject.target_vocab, special, subject.pad)

    @cached_property
    def sources(self) -> Tensor:
        """Sources (batch, source) without padding."""
        return _drawn(self.source_words, BATCH, SOURCE, seed=1)

    @cached_property
    def targets(self) -> Tensor:
        """Targets (batch, target) without padding, the first token included."""
        targets = _drawn(self.target_words, BATCH, TARGET, seed=2)
        targets[:, 0] = self.subject.bos
        return targets

    @cached_property
    def ragged(self) -> tuple[Tensor, Tensor]:
        """Sources and targets of which each is one token shorter than the one before."""
        sources, targets = self.sources.clone(), self.targets.clone()
        for row in range(BATCH):
            sources[row, SOURCE - row :] = self.subject.source_pad
            targets[row, TARGET - row :] = self.subject.pad
        return sources, targets

    def other_source_words(self, ids: Tensor) -> Tensor:
        """Return other words in the place of each."""
        return _other(ids, self.source_words)

    def other_target_words(self, ids: Tensor) -> Tensor:
        """Return other words in the place of each."""
        return _other(ids, self.target_words)

    # Scores

    def scores(self, source: Tensor, target: Tensor) -> Tensor:
        """Return what the model says in eval mode, on the CPU.

        Random numbers are the same in every call: so a model that draws some in eval mode, which
        one experiment finds, does not hide from the others what moves its scores.
        """
        with evaluating(self.network), self._kept_random_numbers():
            self._seed(0)
            return self.scores_as_it_is(source, target).detach().float().cpu()

    def scores_as_it_is(self, source: Tensor, target: Tensor) -> Tensor:
        """Return what the model says in the mode in which it is."""
        scores = self.subject.scores(source.to(self.device), target.to(self.device))
        wanted = (*target.shape, self.subject.target_vocab)
        if not isinstance(scores, Tensor) or scores.shape != wanted:
            came = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
            shifted = came == (wanted[0], wanted[1] - 1, wanted[2])
            cut = " Does the network cut off the last token itself?" if shifted else ""
            raise ExaminationError(
                f"scores must have the shape (batch, target, target_vocab) = {wanted}; got {came}. "
                f"Give `scores=lambda source, target: ...` that returns them so.{cut}"
            )
        return scores

    @cached_property
    def usual_scores(self) -> Tensor:
        """What the model says of the usual sentences, aloud."""
        with self.aloud():
            return self.scores(self.sources, self.targets)

    @cached_property
    def is_steady(self) -> bool:
        """Whether two calls in eval mode return the same."""
        with evaluating(self.network):
            first, second = (self.scores_as_it_is(self.sources, self.targets) for _ in range(2))
        return bool(self.effect(first.float().cpu(), second.float().cpu()).max() <= EFFECT)

    @cached_property
    def kind(self) -> str:
        """What scores are: logits, log-probabilities or probabilities.

        Weights are not made loud for it: in the middle of a step, that would spoil the gradient.
        """
        scores = self.scores(self.sources, self.targets)
        if bool((scores >= 0).all()) and _near(scores.sum(-1), 1):
            return "probabilities"
        return "log-probabilities" if _near(scores.logsumexp(-1), 0) else "logits"

    @cached_property
    def spread(self) -> float:
        """How far scores differ between tokens and positions: effects are measured in it."""
        finite = self.usual_scores[self.usual_scores.isfinite()]
        return float(finite.std()) if finite.numel() > 1 else 0.0

    def effect(self, changed: Tensor, usual: Tensor) -> Tensor:
        """Return how far scores of each position moved, as a share of their spread."""
        distance = (changed.nan_to_num() - usual.nan_to_num()).abs().amax(dim=-1)
        return distance / max(self.spread, 1e-30)

    # Batches, steps and searches: the subject's, or the right ones in their place

    def right_batch(self, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the batch that pairs should become; sources end as the subject's do."""
        s = self.subject
        return reference.collate(pairs, s.pad, s.bos, s.eos, s.source_pad, self.around_sources)

    @cached_property
    def around_sources(self) -> Pair:
        """What the subject puts before and behind the words of a source."""
        usual = [], [self.subject.eos]
        if self.subject.collate is None:
            return usual
        [source, *_], (words, _) = self.collated[0].tolist(), self.pairs[0]
        if (place := place_of(words, source)) is None:
            return usual
        while len(source) > place + len(words) and source[-1] == self.subject.source_pad:
            source.pop()
        return source[:place], source[place + len(words) :]

    @cached_property
    def pairs(self) -> list[Pair]:
        """Three pairs of words: sorted by the length of one side, they come in another order."""
        source, target = self.sources.tolist(), self.targets[:, 1:].tolist()
        return [
            (source[0][:4], target[0]),
            (source[1], target[1][:2]),
            (source[2][:3], target[2][:4]),
        ]

    @cached_property
    def many_pairs(self) -> list[Pair]:
        """Pairs with so many words that each expert of a mixture gets some."""
        source = _drawn(self.source_words, MANY, SOURCE, seed=3)
        target = _drawn(self.target_words, MANY, TARGET - 1, seed=4)
        return [*zip(source.tolist(), target.tolist(), strict=True)]

    @cached_property
    def other_pairs(self) -> list[Pair]:
        """Three pairs of other words."""
        source, target = (
            self.other_source_words(self.sources).tolist(),
            self.other_target_words(self.targets[:, 1:]).tolist(),
        )
        return [*zip(source, target, strict=True)]

    @cached_property
    def collated(self) -> tuple[Tensor, Tensor, Tensor]:
        """What the subject makes of these pairs; in their order, if it sorts them together."""
        batch = self.collate(self.pairs)
        rows = [_row_with(batch[0], words) for words, _ in self.pairs]
        if len(set(rows)) < len(rows) or None in rows:
            return batch
        source, target_in, target_out = (each[rows] for each in batch)
        return source, target_in, target_out

    def collate(self, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the subject's batch, or a right one where it brings no ``collate``."""
        if self.subject.collate is None:
            return self.right_batch(pairs)
        batch = self.subject.collate([(list(source), list(target)) for source, target in pairs])
        if (
            not isinstance(batch, tuple | list)
            or len(batch) != 3
            or not all(isinstance(each, Tensor) and each.dim() == 2 for each in batch)
        ):
            raise ExaminationError(
                "`collate` has to return three tensors (batch, length): source, target in, "
                "target out."
            )
        source, target_in, target_out = (each.cpu() for each in batch)
        return source, target_in, target_out.where(target_out != IGNORED, self.subject.pad)

    @cached_property
    def ignores(self) -> bool:
        """Whether the subject pads target out with ``IGNORED``."""
        try:
            _, _, target_out = self.subject.collate(self.pairs)
            return bool((target_out == IGNORED).any())
        except Exception:  # without a ``collate`` that works, nothing is known
            return False

    def loss(self, scores: Tensor, target_out: Tensor) -> Tensor:
        """Return the subject's loss."""
        return self.subject.loss(scores, self._as_theirs(target_out))

    def step(self, source: Tensor, target_in: Tensor, target_out: Tensor) -> Any:
        """Take the subject's training step, or a right one by its loss if it brings none."""
        if self.subject.training_step is None:
            return self.own_steps.step(source, target_in, target_out)
        return self.subject.training_step(source, target_in, self._as_theirs(target_out))

    def _as_theirs(self, target_out: Tensor) -> Tensor:
        """Return target out with padding as the subject's ``collate`` has it."""
        padding = target_out == self.subject.pad
        return target_out.masked_fill(padding, IGNORED) if self.ignores else target_out

    def right_loss(self, scores: Tensor, target_out: Tensor) -> Tensor:
        """Return the cross-entropy of words that are not padding."""
        return reference.loss(scores, target_out.to(scores.device), self.subject.pad, self.kind)

    @cached_property
    def own_steps(self) -> "reference.Trainer":
        """Return what trains the network rightly, by the subject's loss if it brings one."""
        return reference.Trainer(
            self.network, self.scores_as_it_is, self.loss if self.subject.loss else self.right_loss
        )

    def greedy(self, source: Tensor, steps: int) -> list[list[int]]:
        """Return translations by a right greedy search."""
        subject = self.subject
        return reference.greedy(self.scores, source, subject.bos, subject.eos, steps)

    def once(self, make: Callable[["Bench"], T]) -> T:
        """Return what a function makes of the bench, made at the first call and kept.

        An error is kept as well: what took long must not be tried anew by each experiment.
        """
        if make not in self._made:
            try:
                self._made[make] = make(self), None
            except Exception as error:
                self._made[make] = None, error
        made, error = self._made[make]
        if error:
            raise error
        return made

    # The network's state

    @property
    def trained(self) -> list[nn.Parameter]:
        """The weights that a step may move."""
        return [weight for weight in self.network.parameters() if weight.requires_grad]

    def shake(self) -> None:
        """Change all weights by about a tenth of their own, so that none hides a fault.

        Gains of 1, with which norms begin, do: a second norm, over other axes than the one before
        it, changes nothing then. What is 0 stays 0, which may be right, or a fault itself. What is
        not trained stays: it may be a mask, or a table of positions.
        """
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for weight in self.trained:
                noise = torch.randn(weight.shape, generator=generator).to(weight)
                weight.mul_(1 + SHAKE * noise)

    def wake(self) -> None:
        """Draw what begins with 0, or with almost 0, and would move in a step, at random.

        A branch that ends so hides what it reads (as in Bachlechner et al., 2021, section 3, and in
        Touvron et al., 2021, section 2). What no step would move stays: that is a fault.
        """
        generator = torch.Generator().manual_seed(1)
        while waking := self._silent_that_would_move():
            with torch.no_grad():
                for weight in waking:
                    noise = torch.randn(weight.shape, generator=generator).to(weight)
                    weight.copy_(noise / weight.shape[-1] ** 0.5 if weight.dim() else noise)

    def _silent_that_would_move(self) -> list[nn.Parameter]:
        silent = [weight for weight in self.trained if _is_silent(weight)]
        if not silent:  # as in most models: not even a call is made
            return []
        scores = self.scores_as_it_is(self.sources, self.targets)
        if not scores.requires_grad:
            return []
        loss = reference.loss(scores, self.targets.to(scores.device), self.subject.pad)
        gradients = torch.autograd.grad(loss, silent, allow_unused=True)
        return [w for w, g in zip(silent, gradients, strict=True) if g is not None and g.any()]

    @contextlib.contextmanager
    def aloud(self) -> Iterator[None]:
        """Enlarge matrices of very small weights for a while, so that effects are above rounding.

        With weights of 0.02, as in many models at their start, what passes two attentions moves the
        scores by less than a millionth. What depends on what is the same for any weights.
        """
        lengths = {
            weight: float(weight.detach().square().sum(dim=1).mean().sqrt())
            for weight in self.trained
            if weight.dim() == 2
        }
        quiet = {weight: length for weight, length in lengths.items() if 0 < length < LOUD}
        before = {weight: weight.detach().clone() for weight in quiet}
        with torch.no_grad():
            for weight, length in quiet.items():
                weight.mul_(LOUD / length)
        try:
            yield
        finally:
            with torch.no_grad():
                for weight, value in before.items():
                    weight.copy_(value)

    @contextlib.contextmanager
    def untouched(self) -> Iterator[None]:
        """Put the network back as it was."""
        network = self.network
        tensors = [*network.parameters(), *network.buffers()]
        before = [tensor.detach().clone() for tensor in tensors]
        gradients = [
            None if parameter.grad is None else parameter.grad.detach().clone()
            for parameter in network.parameters()
        ]
        try:
            with self._kept_random_numbers(), keeping_modes(network):
                yield
        finally:
            with torch.no_grad():
                for tensor, value in zip(tensors, before, strict=True):
                    tensor.copy_(value)
            for parameter, gradient in zip(network.parameters(), gradients, strict=True):
                parameter.grad = gradient

    def _seed(self, number: int) -> None:
        # torch.manual_seed notes who called it, for accelerators that are not there too: slowly.
        on_cpu = self.device.type == "cpu"
        seed = torch.default_generator.manual_seed if on_cpu else torch.manual_seed
        seed(number)

    def _kept_random_numbers(self) -> contextlib.AbstractContextManager[None]:
        """Put torch's random numbers back, those of a graphics card too."""
        return torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else [])


def _is_silent(weight: nn.Parameter) -> bool:
    """Whether a weight is almost 0, or 0 and no bias: these begin with 0."""
    loudest = float(weight.detach().abs().max()) if weight.numel() else 0.0
    may_be_zero = weight.dim() > 1 or weight.numel() == 1
    return loudest < QUIET and (loudest > 0 or may_be_zero)


def _words(vocab: int, special: set[int], padding: int) -> list[int]:
    ids = range(min(vocab, 2000))  # enough to draw from
    words = [number for number in ids if number not in special]
    return words if len(words) > 1 else [number for number in ids if number != padding]


def _drawn(words: list[int], rows: int, length: int, seed: int) -> Tensor:
    chance = torch.Generator().manual_seed(seed)
    return torch.tensor(words)[torch.randint(len(words), (rows, length), generator=chance)]


def _other(ids: Tensor, words: list[int]) -> Tensor:
    following = dict(zip(words, [*words[1:], words[0]], strict=True))
    return torch.tensor([[following.get(i, words[0]) for i in row] for row in ids.tolist()])


def _row_with(ids: Tensor, words: Sequence[int]) -> int | None:
    """Return the number of the row that has some words, one behind the other."""
    for number, row in enumerate(ids.tolist()):
        if place_of(words, row) is not None:
            return number
    return None


def place_of(words: Sequence[int], row: Sequence[int]) -> int | None:
    """Return where in a row some words begin, one behind the other; None if they do not."""
    words, row = list(words), list(row)
    starts = range(len(row) - len(words) + 1)
    return next((start for start in starts if row[start : start + len(words)] == words), None)


def _near(tensor: Tensor, value: float) -> bool:
    return bool(((tensor - value).abs() < 1e-3).all())
