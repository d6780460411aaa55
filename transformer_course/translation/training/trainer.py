"""The training loop: batches in, a better translator out.

Sources: Vaswani et al. (2017), "Attention Is All You Need", section 5; Kingma and Ba (2015),
"Adam"; Loshchilov and Hutter (2019), "Decoupled Weight Decay Regularization".
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn
from tqdm import tqdm

from transformer_course.files import atomic_write
from transformer_course.model import Transformer
from transformer_course.translation.corpora.batches import (
    Batch,
    length_batches,
    padding_share,
)
from transformer_course.translation.corpora.corpus import SentencePair, fingerprint
from transformer_course.translation.corpora.vocabulary import PAD
from transformer_course.translation.training import state
from transformer_course.translation.training.data_parallel import World
from transformer_course.translation.training.dev_split import DevSplit
from transformer_course.translation.training.interrupts import deferred_interrupt
from transformer_course.translation.training.loss import training_loss
from transformer_course.translation.training.precision import choose_precision, mixed_precision
from transformer_course.translation.training.schedule import noam, warmup_cosine
from transformer_course.translation.training.settings import TrainingSettings
from transformer_course.translation.training.state import (
    METRICS_FILE,
    TRAINING_FILE,
    TrainingState,
    damage_said,
)
from transformer_course.translation.training.weights import HeldWeights
from transformer_course.translation.translator import Translator, load_parameters

Row = dict[str, int | float]
PROGRESS = ("step", "seconds", "history", "losses")
"""Attributes of a trainer that a checkpoint keeps."""
SECONDS_BETWEEN_LOOKS = 60.0
"""Seconds of training after which a run that the clock ends is evaluated again."""
MakeLoss = Callable[[Transformer], Callable[[Batch, float], Tensor]]


class Trainer:
    """Trains a translator, evaluates it on the dev split, and can stop and go on.

    Parameters
    ----------
    translator
        What to train; its model is changed in place.
    train, dev
        Sentence pairs to learn from, and to evaluate on while learning.
    settings
        How to train.
    output
        An existing folder for checkpoints and ``metrics.csv``; without it nothing is written.
    watch
        Called with all rows of :attr:`history` so far whenever one is added.
    world
        The processes that train together; by default this one alone.
    make_loss
        Makes from the model what computes the loss of a batch with a smoothing; by default the
        course's own.

    Attributes
    ----------
    history
        One row per evaluation: ``step``, ``seconds`` of training, ``learning_rate``,
        ``train_loss`` (smoothed, mean since the row before), ``dev_loss`` (not smoothed), both in
        nats per token, ``dev_exact_match`` (0 to 1) and ``dev_bleu`` (0 to 100), greedy.
    stopped
        Whether Ctrl-C or SIGTERM ended :meth:`train`.

    Raises
    ------
    ValueError
        If there are no sentences to learn from or to evaluate on, one has more tokens than the
        model has positions, the precision is none that there is, or ``smoothing`` would make the
        loss infinite.
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
        make_loss: MakeLoss | None = None,
    ) -> None:
        if not train or not dev:
            raise ValueError(f"training needs sentences; got {len(train)} train, {len(dev)} dev.")
        bias = translator.model.output.bias
        if settings.smoothing and bias is not None and not bias.isfinite().all():
            raise ValueError(
                "this translator never says some tokens: their bias is not finite, and smoothed "
                "targets would make the loss infinite. Set `smoothing` to 0."
            )
        self.translator = translator
        self.model = translator.model
        self.settings = settings
        self.world = world or World()
        self.output = output if self.world.is_first else None
        self.watch = watch
        self.history: list[Row] = []
        self.step = 0
        self.seconds = 0.0
        self.losses: list[float] = []  # since the last evaluation
        self.stopped = False
        self.pairs = translator.encode_text(train)
        self.dev = DevSplit(translator, dev[: settings.dev_sentences], settings.batch_tokens)
        self.text = fingerprint(itertools.chain(train, self.dev.pairs))
        self.precision = choose_precision(settings.precision, translator.device)
        self.weights = HeldWeights(self.model, settings.average)
        self.own_loss = make_loss(self.model) if make_loss else None
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            betas=(0.9, 0.98),
            eps=1e-9,
            weight_decay=settings.weight_decay,
            fused=True,
        )

    def train(self) -> list[Row]:
        """Train until the settings' end, Ctrl-C or SIGTERM; return :attr:`history`.

        A stopped translator keeps what it has learned, and :meth:`resume` can go on.

        Raises
        ------
        FloatingPointError
            If the loss or its gradient stops being finite; the last checkpoint is still good.
        ValueError
            If the processes that train together stand at different steps or have different texts.
        """
        self._check_that_all_agree()
        began_at = self.step
        self.weights.swap_out()
        self._forget_the_stop()
        if self.output and self.step == 0:  # a run killed before its first look can be resumed
            self.save(self.output)
        self.model.train()
        with (
            self._progress_bar() as bar,
            _kept_random_numbers(self.translator.device),
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
                bar.set_postfix(loss=f"{self.losses[-1]:.3f}", refresh=False)
                if self._is_due():
                    self._evaluate()
                    self.weights.swap_out()
                self.stopped = self.world.any_says(interrupted.is_set())
                if self.stopped:
                    self._say_that_it_stopped(bar)
                    break
                start = time.perf_counter()
            if self.losses:
                self._evaluate(for_the_stop=self.stopped and self.progress < 1)
        self.weights.swap_in(self.weights.best or self.weights.average)
        self.model.eval()
        if self.step == began_at:  # the disk may have filled up between the files of the last look
            self._hand_out()
        return self.history

    def _say_that_it_stopped(self, bar: tqdm) -> None:
        if self.world.is_first:
            bar.write(f"Stopped at step {self.step}; what was learned so far is kept.")

    def update(self, batch: Batch) -> None:
        """Take one step: loss, gradient, new weights; see :class:`TrainingSettings`.

        Raises
        ------
        FloatingPointError
            If the loss or its gradient is not finite; the weights are then left as they were.
        """
        self.optimizer.zero_grad()
        loss = self._add_gradients(batch)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm)
        if not (math.isfinite(loss) and math.isfinite(norm.item())):
            raise FloatingPointError(
                f"at step {self.step + 1} the loss became {loss}, its gradient's length "
                f"{norm.item()}. The weights are those of the step before; try a lower learning "
                f"rate than {self.settings.learning_rate}."
            )
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate()
        self.optimizer.step()
        self.losses.append(loss)
        self.step += 1
        self.weights.update_average(self.step)

    def save(self, folder: Path) -> None:
        """Write the translator, the metrics and all that :meth:`resume` needs, atomically.

        Raises
        ------
        OSError
            If the folder cannot be written or the disk is full; older files stay whole.
        """
        weights = self.weights
        training = TrainingState(
            weights.in_training,
            weights.average,
            weights.best,
            self.optimizer.state_dict()["state"],
            {name: getattr(self, name) for name in PROGRESS},
        )
        state.save(training, folder, self._origin())
        self.translator.save(folder)
        if self.history:
            with atomic_write(folder / METRICS_FILE) as temporary:
                pd.DataFrame(self.history).to_csv(temporary, index=False)

    def resume(self, folder: Path) -> None:
        """Go back to where a run stopped; on CPU the rest of it is the same to the bit.

        Raises
        ------
        CheckpointError
            If the folder holds no training state, a damaged one, or one of other settings or of
            another text.
        """
        training = state.load(folder, self._origin())
        load_parameters(self.model, training.model, folder / TRAINING_FILE)
        optimizer = self.optimizer.state_dict()
        with damage_said(folder):
            self.optimizer.load_state_dict(optimizer | {"state": training.optimizer})
            self.weights.load(training.average, training.best)
            for name in PROGRESS:
                setattr(self, name, training.progress[name])

    def facts(self) -> dict[str, Any]:
        """Return what a reader of the result wants to know beside the settings."""
        groups = length_batches(self.pairs, self._tokens_per_update)
        return {
            "train_pairs": len(self.pairs),
            "parameters": sum(weight.numel() for weight in self.model.parameters()),
            "precision": str(self.precision).removeprefix("torch."),
            "device": str(self.translator.device),
            "padding_waste": round(padding_share(self.pairs, groups), 4),
        }

    def _origin(self) -> dict[str, Any]:
        """Return what must be equal for one run to go on with what another wrote."""
        processes = {"processes": self.world.size}
        run = asdict(self.settings) | asdict(self.model.config) | processes
        return {"run": run, "text": self.text}

    @property
    def progress(self) -> float:
        """Share of the run that is done, 0 to 1."""
        if self.settings.minutes is not None:
            return min(1.0, self.seconds / (60 * self.settings.minutes))
        return self.step / self.settings.steps

    # Batches

    @property
    def _tokens_per_update(self) -> int:
        return self.settings.batch_tokens * self.settings.accumulate * self.world.size

    def _batch(self, numbers: list[int]) -> Batch:
        return self.translator.batch([self.pairs[number] for number in numbers])

    def _remaining_batches(self) -> Iterator[Batch]:
        """Yield batches, epoch after epoch, from where :attr:`step` stands until the end."""
        skip = self.step
        for epoch in itertools.count():
            generator = torch.Generator().manual_seed(self._seed(epoch))
            groups = length_batches(self.pairs, self._tokens_per_update, generator)
            for group in groups[skip:]:
                if self.progress >= 1 or self._has_lost_patience():
                    return
                yield self._batch(group)
            skip = max(0, skip - len(groups))

    # One step

    def _add_gradients(self, batch: Batch) -> float:
        """Add up the gradients of all parts of the batch, of all processes; return the loss."""
        parts = batch.parts(self.settings.accumulate * self.world.size)
        tokens = (batch.target_out != PAD).sum()
        total = torch.zeros((), device=self.translator.device)
        for part in parts[self.world.rank :: self.world.size]:
            share = (part.target_out != PAD).sum() / tokens
            loss = share * self._loss(part)
            loss.backward()
            total += loss.detach()
        weights = list(self.model.parameters())
        for weight in weights:
            if weight.grad is None:  # this process had no sentence of a small batch
                weight.grad = torch.zeros_like(weight)
        self.world.add_up([total, *(weight.grad for weight in weights)])
        return total.item()

    def _loss(self, batch: Batch) -> Tensor:
        settings = self.settings
        if self.own_loss:
            with mixed_precision(self.translator.device, self.precision):
                return self.own_loss(batch, settings.smoothing)
        return training_loss(self.model, batch, settings.smoothing, self.precision, settings.fast)

    def _learning_rate(self) -> float:
        settings = self.settings
        if settings.schedule == "noam":
            warmup = max(1, round(settings.warmup * settings.steps))
            factor = settings.learning_rate
            return factor * noam(self.step + 1, self.model.config.d_model, warmup)
        # The middle of the step: its beginning would waste the first step, its end the last one.
        half_a_step = 0.5 / settings.steps if settings.minutes is None else 0.0
        return warmup_cosine(self.progress + half_a_step, settings.learning_rate, settings.warmup)

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
        # On a CPU torch takes the lower 32 bits only, in which multiples of this are far apart.
        generator.manual_seed(self._seed(self.step) + 2_654_435_769 * self.world.rank)

    def _check_that_all_agree(self) -> None:
        """Raise ValueError if another process would take other steps than this one."""
        steps, texts = zip(*self.world.gather((self.step, self.text)), strict=True)
        if len(set(steps)) > 1:
            raise ValueError(
                f"the processes stand at the steps {', '.join(map(str, steps))}: the output folder "
                f"is not the same everywhere. Share it between the machines, or copy it to each."
            )
        if len(set(texts)) > 1:
            raise ValueError("the processes have different texts: give each the same files.")

    def _count_seconds(self, seconds: float) -> None:
        """Add the time of one step: the mean over all processes, which must end together."""
        total = torch.tensor([seconds], dtype=torch.float64)
        self.world.add_up([total])
        self.seconds += total.item() / self.world.size

    def _progress_bar(self) -> tqdm:
        timed = self.settings.minutes is not None
        # disable=None shows it in a terminal only; in a notebook `watch` can draw a live picture.
        return tqdm(
            total=None if timed else self.settings.steps - self.step,
            unit="step",
            desc="training",
            leave=False,
            disable=None if self.world.is_first else True,
        )

    # Evaluation

    def _is_due(self) -> bool:
        """Whether the dev split is to be looked at: slow machines take few steps a minute."""
        if self.step % self.settings.evaluate_every == 0:
            return True
        looked = self.history[-1]["seconds"] if self.history else 0.0
        return self.settings.minutes is not None and self.seconds >= looked + SECONDS_BETWEEN_LOOKS

    def _evaluate(self, *, for_the_stop: bool = False) -> None:
        """Add a row to the history, and hand out what was learned."""
        self.weights.swap_in(self.weights.average)
        row = {
            "step": self.step,
            "seconds": round(self.seconds, 2),
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "train_loss": fmean(self.losses),
            **self.dev.evaluate(),
        }
        # The first one's: processors of two kinds may round differently, and all must lose
        # patience at the same step.
        self.history.append(self.world.gather(row)[0])
        if not for_the_stop:  # which a straight run would not have looked at
            self._keep_the_best()
            self.losses = []
        self.weights.swap_in(self.weights.best)
        self._hand_out()

    def _hand_out(self) -> None:
        """Write a checkpoint, hand the history to the watcher."""
        if self.output:
            self.save(self.output)
        if self.watch:
            self.watch(self.history)

    def _keep_the_best(self) -> None:
        if self.settings.patience is not None and self._evaluations_since_best() == 0:
            self.weights.keep_as_best()

    def _evaluations_since_best(self) -> int:
        losses = [row["dev_loss"] for row in self.history]
        return len(losses) - 1 - losses.index(min(losses)) if losses else 0

    def _has_lost_patience(self) -> bool:
        patience = self.settings.patience
        return patience is not None and self._evaluations_since_best() >= patience

    def _forget_the_stop(self) -> None:
        """Take back the row that Ctrl-C added: a straight run has none there."""
        looked_there = self.history and self.step == self.history[-1]["step"]
        if looked_there and self.losses:
            self.history.pop()


@contextmanager
def _kept_random_numbers(device: torch.device) -> Iterator[None]:
    """Leave torch's random numbers after the block as they were before it."""
    with torch.random.fork_rng(devices=[] if device.type == "cpu" else [device]):
        yield


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Let torch use this many threads inside the block; None changes nothing."""
    usual = torch.get_num_threads()
    torch.set_num_threads(count or usual)
    try:
        yield
    finally:
        torch.set_num_threads(usual)
