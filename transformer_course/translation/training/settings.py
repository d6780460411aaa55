"""What a training run is told."""

import math
from dataclasses import dataclass

from transformer_course.checks import check_choice, check_positive, check_share, check_whole
from transformer_course.translation.training.precision import PRECISIONS

SCHEDULES = ("cosine", "noam")
COUNTS = ("steps", "batch_tokens", "accumulate", "evaluate_every", "dev_sentences", "patience")


@dataclass(frozen=True)
class TrainingSettings:
    """How to train.

    Parameters
    ----------
    steps
        Updates of the weights.
    minutes
        If given, the run ends after this many minutes of training instead, and the learning rate
        follows the clock. Such a run cannot be repeated to the bit.
    batch_tokens
        Most target tokens per batch, padding included; several processes share a batch that is that
        many times as large, each with its part of the sentences.
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
        Updates between two evaluations on the dev split, and how many of its sentences are taken.
        With ``minutes`` it is evaluated at least after each minute of training.
    patience
        If given, the run stops after this many evaluations without a lower dev loss, and the
        weights of the lowest are kept.
    precision
        ``"float32"``; ``"bfloat16"``, for graphics cards; or ``"auto"``. See
        :func:`~transformer_course.translation.choose_precision`.
    fast
        Whether to take the loss of :func:`~transformer_course.translation.cpu_loss`
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
            if name != "patience" or self.patience is not None:
                check_whole(name, getattr(self, name))
        if self.threads is not None:
            check_whole("threads", self.threads)
        for name in ("minutes", "learning_rate", "clip_norm"):
            if name != "minutes" or self.minutes is not None:
                check_positive(name, getattr(self, name))
        if not 0 < self.warmup < 1:
            raise ValueError(f"warmup must be between 0 and 1; got {self.warmup}.")
        for name in ("smoothing", "average"):
            check_share(name, getattr(self, name))
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay must be finite, 0 or more; got {self.weight_decay}.")
        if not isinstance(self.seed, int) or not 0 <= self.seed < 2**32:
            raise ValueError(f"seed must be between 0 and {2**32 - 1}, and whole; got {self.seed}.")
        check_choice("precision", self.precision, PRECISIONS)
        check_choice("schedule", self.schedule, SCHEDULES)
        if self.schedule == "noam" and self.minutes is not None:
            raise ValueError("the schedule 'noam' counts steps: give steps, not minutes.")
