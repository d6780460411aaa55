"""The training loop: batches in, a better translator out.

Sources: Vaswani et al. (2017), "Attention Is All You Need", section 5; Kingma and Ba (2015),
"Adam"; Loshchilov and Hutter (2019), "Decoupled Weight Decay Regularization".
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm import tqdm

from transformer_course.files import atomic_write
from transformer_course.model import evaluating
from transformer_course.translation.checkpoints import CheckpointError, read_tensors, write_tensors
from transformer_course.translation.corpora.batches import (
    Batch,
    EncodedPair,
    length_batches,
    padding_waste,
)
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.vocabulary import PAD
from transformer_course.translation.evaluation.metrics import bleu, exact_match
from transformer_course.translation.training.averaging import WeightAverage
from transformer_course.translation.training.data_parallel import World
from transformer_course.translation.training.fast_loss import fast_loss, keep_freed_memory
from transformer_course.translation.training.interrupts import deferred_interrupt
from transformer_course.translation.training.precision import PRECISIONS, choose_precision
from transformer_course.translation.training.schedule import noam, warmup_cosine
from transformer_course.translation.translator import (
    Translator,
    load_own_tensors,
    own_tensors,
)

TRAINING_FILE = "training.safetensors"
METRICS_FILE = "metrics.csv"
COUNTS = ("steps", "batch_tokens", "accumulate", "evaluate_every", "dev_sentences", "patience")
Row = dict[str, int | float]


@dataclass(frozen=True)
class TrainingSettings:
    """How to train.

    Parameters
    ----------
    steps
        Updates of the weights.
    minutes
        If given, the run ends after so many minutes of training instead, and the learning rate
        follows the clock. Such a run cannot be repeated to the bit.
    batch_tokens
        Most target tokens per batch, padding included; several processes share a batch that is as
        many times as large, each its part of the sentences.
    accumulate
        Batches whose gradients are added up before the weights change: a large batch on a small
        machine.
    learning_rate
        The highest learning rate (for ``"noam"`` the factor on the paper's formula).
    warmup
        Share of the run during which the learning rate rises.
    schedule
        ``"cosine"`` or ``"noam"`` (equation 3 of the paper).
    smoothing
        Label smoothing (section 5.4).
    weight_decay
        AdamW's decay of the weights; 0 makes it Adam.
    clip_norm
        Longest gradient; longer ones are shortened to it.
    average
        Decay of the moving average of the weights, which is then what translates; 0 for none. See
        :class:`~transformer_course.translation.WeightAverage`.
    evaluate_every, dev_sentences
        Updates between two looks at the dev split, and how many of its sentences are looked at.
    patience
        If given, the run stops after so many looks without a lower dev loss, and the weights of
        the lowest are kept.
    precision
        ``"float32"``, ``"bfloat16"``, or ``"auto"``: whichever this machine computes faster.
    fast
        Whether to take the loss of :func:`~transformer_course.translation.fast_loss`
        where it applies: in 32 bits on a CPU.
    seed
        Determines the order of the sentences and dropout.
    threads
        Processor threads to train with; None for torch's own choice. Small models take one: on a
        busy machine several threads wait for one another at each small tensor.

    Raises
    ------
    ValueError
        If a setting makes no sense; the message says which.
    """

    steps: int = 500
    minutes: float | None = None
    batch_tokens: int = 512
    accumulate: int = 1
    learning_rate: float = 6e-3
    warmup: float = 0.15
    schedule: str = "cosine"
    smoothing: float = 0.1
    weight_decay: float = 0.0
    clip_norm: float = 1.0
    average: float = 0.0
    evaluate_every: int = 50
    dev_sentences: int = 200
    patience: int | None = None
    precision: str = "float32"
    fast: bool = False
    seed: int = 0
    threads: int | None = 1

    def __post_init__(self) -> None:
        for name in COUNTS:
            count = getattr(self, name)
            if name == "patience" and count is None:
                continue
            if not isinstance(count, int) or count < 1:
                raise ValueError(f"{name} must be a whole number of at least 1; got {count!r}.")
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads must be at least 1, or None; got {self.threads}.")
        for name in ("minutes", "learning_rate", "clip_norm"):
            size = getattr(self, name)
            if size is not None and not 0 < size < math.inf:
                raise ValueError(f"{name} must be positive and finite; got {size}.")
        if not 0 < self.warmup < 1:
            raise ValueError(f"warmup must be between 0 and 1; got {self.warmup}.")
        for name in ("smoothing", "average"):
            share = getattr(self, name)
            if not 0 <= share < 1:
                raise ValueError(f"{name} must be in [0, 1); got {share}.")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay must be finite, 0 or more; got {self.weight_decay}.")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed must be between 0 and {2**32 - 1}; got {self.seed}.")
        if self.precision not in PRECISIONS:
            raise ValueError(
                f"precision must be one of {', '.join(PRECISIONS)}; got {self.precision!r}."
            )
        if self.schedule not in ("cosine", "noam"):
            raise ValueError(f"schedule must be 'cosine' or 'noam'; got {self.schedule!r}.")
        if self.schedule == "noam" and self.minutes is not None:
            raise ValueError("the schedule 'noam' counts steps: give steps, not minutes.")


class Trainer:
    """Trains a translator, watches it on the dev split, and can stop and go on.

    Parameters
    ----------
    translator
        What to train; its model is changed in place.
    train, dev
        Sentence pairs to learn from, and to look at while learning.
    settings
        How to train.
    output
        An existing folder for checkpoints and ``metrics.csv``; without it nothing is written.
    watch
        Called with all rows of :attr:`history` so far whenever one is added.
    world
        The processes that train together; by default this one alone.

    Attributes
    ----------
    history
        One row per look at the dev split: ``step``, ``seconds`` of training, ``learning_rate``,
        ``train_loss`` (smoothed, mean since the row before), ``dev_loss`` (not smoothed), both in
        nats per token, ``dev_exact_match`` (0 to 1) and ``dev_bleu`` (0 to 100), greedy.
    """

    def __init__(
        self,
        translator: Translator,
        train: list[SentencePair],
        dev: list[SentencePair],
        settings: TrainingSettings,
        output: Path | None = None,
        watch: Callable[[list[Row]], None] | None = None,
        world: World | None = None,
    ) -> None:
        if not train or not dev:
            raise ValueError(f"training needs sentences; got {len(train)} train, {len(dev)} dev.")
        self.translator = translator
        self.model = translator.model
        self.settings = settings
        self.world = world or World()
        self.output = output if self.world.is_first else None
        self.watch = watch
        self.history: list[Row] = []
        self.step = 0
        self.seconds = 0.0
        self._pairs = translator.encode_pairs(train)
        self._dev = dev[: settings.dev_sentences]
        dev_pairs = translator.encode_pairs(self._dev)
        self._dev_batches = [
            self._batch(dev_pairs, group)
            for group in length_batches(dev_pairs, settings.batch_tokens)
        ]
        self._losses: list[float] = []
        self._precision = self._agreed_precision()
        self._average = WeightAverage(self.model, settings.average) if settings.average else None
        self._best: dict[str, Tensor] = {}
        # The weights in training, while the model holds those that translate better.
        self._in_training: dict[str, Tensor] = {}
        self._optimizer = torch.optim.AdamW(
            self.model.parameters(),
            betas=(0.9, 0.98),
            eps=1e-9,
            weight_decay=settings.weight_decay,
            fused=True,
        )

    def train(self) -> list[Row]:
        """Train until the settings' end or Ctrl-C; return :attr:`history`.

        After Ctrl-C the translator keeps what it has learned, and :meth:`resume` can go on.

        Raises
        ------
        FloatingPointError
            If the loss or its gradient stops being finite; the last checkpoint is still good.
        """
        self._put_back()
        self._forget_the_stop()
        self.model.train()
        if self.settings.fast:
            keep_freed_memory()
        # disable=None shows it in a terminal only; in a notebook `watch` can draw a live picture.
        bar = tqdm(
            total=self._bar_total(),
            unit="step",
            desc="training",
            leave=False,
            disable=None if self.world.is_first else True,
        )
        with (
            bar,
            _forked_random_numbers(self.translator.device),
            _threads(self.settings.threads),
            deferred_interrupt() as interrupted,
        ):
            start = time.perf_counter()
            for batch in self._remaining_batches():
                # Dropout depends on seed and step alone, so that a resumed run repeats it.
                self._seed_dropout()
                self.update(batch)
                self._count_seconds(time.perf_counter() - start)
                bar.update()
                bar.set_postfix(loss=f"{self._losses[-1]:.3f}", refresh=False)
                if self.step % self.settings.evaluate_every == 0:
                    self._look()
                    self._put_back()
                if self.world.any_says(interrupted.is_set()):
                    bar.write(f"Stopped at step {self.step}; what was learned so far is kept.")
                    break
                start = time.perf_counter()
            if self._losses:
                self._look()
        self._hold(self._delivered())
        self.model.eval()
        return self.history

    def facts(self) -> dict[str, Any]:
        """Return what a reader of the result wants to know beside the settings."""
        groups = length_batches(self._pairs, self._tokens_per_update)
        batches = [self._batch(self._pairs, group) for group in groups]
        return {
            "train_pairs": len(self._pairs),
            "parameters": sum(weight.numel() for weight in self.model.parameters()),
            "precision": self._precision_name,
            "device": str(self.translator.device),
            "padding_waste": round(padding_waste(batches, PAD), 4),
        }

    @property
    def progress(self) -> float:
        """Share of the run that is done, 0 to 1."""
        if self.settings.minutes is not None:
            return min(1.0, self.seconds / (60 * self.settings.minutes))
        return self.step / self.settings.steps

    @property
    def _tokens_per_update(self) -> int:
        return self.settings.batch_tokens * self.settings.accumulate * self.world.size

    def _bar_total(self) -> int | None:
        return None if self.settings.minutes is not None else self.settings.steps - self.step

    @property
    def _precision_name(self) -> str:
        return str(self._precision).removeprefix("torch.")

    def _agreed_precision(self) -> torch.dtype:
        """Return the precision for all processes: 16 bits only if each of them wants it."""
        wanted = choose_precision(self.settings.precision, self.translator.device)
        return torch.float32 if self.world.any_says(wanted == torch.float32) else wanted

    def _count_seconds(self, seconds: float) -> None:
        """Add the time of one step: the mean over all processes, which must end together."""
        total = torch.tensor([seconds], dtype=torch.float64)
        self.world.add_up([total])
        self.seconds += total.item() / self.world.size

    def _seed(self, number: int) -> int:
        """Derive the seed of one epoch or of one step."""
        return 1_000_003 * self.settings.seed + number

    def _seed_dropout(self) -> None:
        device = self.translator.device
        generator = (
            torch.default_generator
            if device.type == "cpu"
            else torch.cuda.default_generators[device.index]
        )
        generator.manual_seed(self._seed(self.step) + (self.world.rank << 40))

    def _batch(self, pairs: list[EncodedPair], numbers: list[int]) -> Batch:
        return self.translator.batch([pairs[number] for number in numbers])

    def _remaining_batches(self) -> Iterator[Batch]:
        """Yield batches, epoch after epoch, from where :attr:`step` stands until the end."""
        skip = self.step
        for epoch in itertools.count():
            generator = torch.Generator().manual_seed(self._seed(epoch))
            groups = length_batches(self._pairs, self._tokens_per_update, generator)
            for group in groups[skip:]:
                if self.progress >= 1 or self._has_lost_patience():
                    return
                yield self._batch(self._pairs, group)
            skip = max(0, skip - len(groups))

    def _learning_rate(self) -> float:
        settings = self.settings
        if settings.schedule == "noam":
            warmup = max(1, round(settings.warmup * settings.steps))
            factor = settings.learning_rate
            return factor * noam(self.step + 1, self.model.config.d_model, warmup)
        # The middle of the step: its beginning would waste the first step, its end the last one.
        half_a_step = 0.5 / settings.steps if settings.minutes is None else 0.0
        return warmup_cosine(self.progress + half_a_step, settings.learning_rate, settings.warmup)

    def update(self, batch: Batch) -> None:
        """Take one step: loss, gradient, new weights; see :class:`TrainingSettings`.

        Raises
        ------
        FloatingPointError
            If the loss or its gradient is not finite; the weights are then left as they were.
        """
        self._optimizer.zero_grad()
        loss = self._add_gradients(batch)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm)
        if not (math.isfinite(loss) and math.isfinite(norm.item())):
            raise FloatingPointError(
                f"at step {self.step + 1} the loss became {loss}, its gradient's length "
                f"{norm.item()}. The weights are those of the step before; try a lower learning "
                f"rate than {self.settings.learning_rate}."
            )
        for group in self._optimizer.param_groups:
            group["lr"] = self._learning_rate()
        self._optimizer.step()
        self._losses.append(loss)
        self.step += 1
        if self._average:
            self._average.update(self.step)

    def _add_gradients(self, batch: Batch) -> float:
        """Add up the gradients of all parts of the batch, of all processes; return the loss."""
        parts = batch.parts(self.settings.accumulate * self.world.size)
        tokens = (batch.target_out != PAD).sum()
        total = torch.zeros((), device=self.translator.device)
        for part in parts[self.world.rank :: self.world.size]:
            share = (part.target_out != PAD).sum() / tokens
            loss = share * self._loss(part, self.settings.smoothing)
            loss.backward()
            total += loss.detach()
        weights = list(self.model.parameters())
        for weight in weights:
            if weight.grad is None:  # this process had no sentence of a small batch
                weight.grad = torch.zeros_like(weight)
        self.world.add_up([total, *(weight.grad for weight in weights)])
        return total.item()

    def _loss(self, batch: Batch, smoothing: float, reduction: str = "mean") -> Tensor:
        device, in_32_bits = self.translator.device, self._precision == torch.float32
        if self.settings.fast and in_32_bits and device.type == "cpu" and reduction == "mean":
            return fast_loss(self.model, batch.source, batch.target_in, batch.target_out, smoothing)
        # torch's kernel for translation.loss.smoothed_cross_entropy; tests hold them equal.
        with torch.autocast(device.type, torch.bfloat16, enabled=not in_32_bits):
            return F.cross_entropy(
                self.model(batch.source, batch.target_in).flatten(0, 1),
                batch.target_out.flatten(),
                ignore_index=PAD,
                label_smoothing=smoothing,
                reduction=reduction,
            )

    def _looks_since_best(self) -> int:
        losses = [row["dev_loss"] for row in self.history]
        return len(losses) - 1 - losses.index(min(losses)) if losses else 0

    def _has_lost_patience(self) -> bool:
        patience = self.settings.patience
        return patience is not None and self._looks_since_best() >= patience

    def _delivered(self) -> dict[str, Tensor]:
        """Return the weights that the translator is to have; empty for those in training."""
        return self._best or self._averaged()

    def _hold(self, tensors: dict[str, Tensor]) -> None:
        """Let the model hold these weights, if there are any; those in training are kept aside."""
        if not tensors:
            return
        if not self._in_training:
            self._in_training = _copies(own_tensors(self.model))
        self._fill_in(tensors)

    def _put_back(self) -> None:
        """Let the model hold the weights in training again."""
        self._fill_in(self._in_training)
        self._in_training = {}

    @torch.no_grad()
    def _fill_in(self, tensors: dict[str, Tensor]) -> None:
        weights = own_tensors(self.model)
        for name, tensor in tensors.items():
            weights[name].copy_(tensor)

    def _look(self) -> None:
        """Add a row to the history, write a checkpoint, hand the history to the watcher."""
        train_loss = fmean(self._losses)
        self._hold(self._averaged())
        with evaluating(self.model):
            losses = [self._loss(batch, 0.0, "sum").item() for batch in self._dev_batches]
        tokens = sum(int((batch.target_out != PAD).sum()) for batch in self._dev_batches)
        translations = self.translator.translate([pair.source for pair in self._dev])
        references = [pair.target for pair in self._dev]
        self.history.append(
            {
                "step": self.step,
                "seconds": round(self.seconds, 2),
                "learning_rate": self._optimizer.param_groups[0]["lr"],
                "train_loss": train_loss,
                "dev_loss": sum(losses) / tokens,
                "dev_exact_match": exact_match(translations, references),
                "dev_bleu": bleu(translations, references),
            }
        )
        if not self._stopped_between_looks():
            self._keep_the_best()
            self._losses = []
        if self.output:
            self.save(self.output)
        if self.watch:
            self.watch(self.history)

    def _stopped_between_looks(self) -> bool:
        return self.step % self.settings.evaluate_every != 0 and self.progress < 1

    def _forget_the_stop(self) -> None:
        """Take back the row that Ctrl-C added: a straight run has none there."""
        if self.history and self.step == self.history[-1]["step"] and self._stopped_between_looks():
            self.history.pop()

    def _keep_the_best(self) -> None:
        if self.settings.patience is None:
            return
        if self._looks_since_best() == 0:
            self._best = _copies(own_tensors(self.model))
        self._hold(self._best)

    def save(self, folder: Path) -> None:
        """Write the translator, the metrics and all that :meth:`resume` needs, atomically.

        Raises
        ------
        OSError
            If the folder cannot be written or the disk is full; older files stay whole.
        """
        tensors = {f"model.{name}": t for name, t in self._weights_in_training().items()}
        tensors |= {f"average.{name}": t for name, t in self._averaged().items()}
        tensors |= {f"best.{name}": t for name, t in self._best.items()}
        for number, moments in self._optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": t for name, t in moments.items()}
        progress = {
            "step": self.step,
            "seconds": self.seconds,
            "history": self.history,
            "losses": self._losses,
            "precision": self._precision_name,
        }
        # One file holds all of it, so that weights and moments are always of the same step.
        write_tensors(folder / TRAINING_FILE, tensors, progress | {"run": self._identity()})
        self.translator.save(folder)
        with atomic_write(folder / METRICS_FILE) as temporary:
            pd.DataFrame(self.history).to_csv(temporary, index=False)

    def resume(self, folder: Path) -> None:
        """Go back to where a run stopped; on CPU the rest of it is the same to the bit.

        Raises
        ------
        CheckpointError
            If the folder holds no training state, a damaged one, or one of other settings.
        """
        path = folder / TRAINING_FILE
        tensors, progress = read_tensors(path)
        if progress.get("run") != self._identity():
            raise CheckpointError(
                f"{path} belongs to a run with other settings or sizes; resume it with those of "
                f"the run that wrote it."
            )
        load_own_tensors(self.model, _below("model.", tensors), path)
        self._in_training = {}
        self._best = _below("best.", tensors)
        state = self._optimizer.state_dict()
        try:
            for name, tensor in _below("optimizer.", tensors).items():
                number, key = name.split(".")
                state["state"].setdefault(int(number), {})[key] = tensor
            self._optimizer.load_state_dict(state)
            if self._average:
                self._average.load(_below("average.", tensors))
            self.step, self.seconds = progress["step"], progress["seconds"]
            self.history, self._losses = progress["history"], progress["losses"]
            # The machine may be another one, or busier: what was chosen at first stays.
            self._precision = choose_precision(progress["precision"], self.translator.device)
        except (KeyError, ValueError) as error:
            raise CheckpointError(f"{path} is damaged ({error}); train again.") from None

    def _weights_in_training(self) -> dict[str, Tensor]:
        return self._in_training or own_tensors(self.model)

    def _averaged(self) -> dict[str, Tensor]:
        return self._average.tensors if self._average else {}

    def _identity(self) -> dict[str, Any]:
        """Return what must be equal for one run to go on with what another wrote."""
        processes = {"processes": self.world.size}
        return asdict(self.settings) | asdict(self.model.config) | processes


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Pick the entries whose name begins with the prefix, and take it off."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def _copies(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def _forked_random_numbers(device: torch.device) -> AbstractContextManager[None]:
    """Leave torch's random numbers after the block as they were before it."""
    return torch.random.fork_rng(devices=[] if device.type == "cpu" else [device])


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Let torch use this many threads inside the block; None changes nothing."""
    usual = torch.get_num_threads()
    torch.set_num_threads(count or usual)
    try:
        yield
    finally:
        torch.set_num_threads(usual)
