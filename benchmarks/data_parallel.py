"""What several processes on this machine gain, and what adding up the gradients costs them.

It starts itself again under ``torchrun``. In each round every contestant takes the same steps, one
contestant after the other; while the first process trains alone, the others wait and use no
processor.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks.peers import SIZES
from benchmarks.tables import count, in_turn, median_ratio, options, table, write_tables
from benchmarks.training_speed import random_pairs, tokens
from transformer_course.model import Transformer
from transformer_course.translation import BOS, EOS, PAD, SentencePair, Translator
from transformer_course.translation.corpora.batches import Batch, length_batches
from transformer_course.translation.training.data_parallel import (
    World,
    join_world,
    started_by_torchrun,
)
from transformer_course.translation.training.settings import TrainingSettings
from transformer_course.translation.training.trainer import Trainer

BATCH_TOKENS = 1024  # of each process
STEPS = 2  # of each contestant in a round
ALONE, THREADS, OURS, TORCH = "one process", "one process, all threads", "sum by hand", "torch's"


# torch's way


class LossModule(nn.Module):
    """A loss that DistributedDataParallel can wrap: it listens to what goes through ``forward``."""

    def __init__(self, model: nn.Module, loss: Callable[[Batch], Tensor]) -> None:
        super().__init__()
        self.model = model
        self.loss = loss

    def forward(self, batch: Batch) -> Tensor:
        """Return the loss of a batch."""
        return self.loss(batch)


class DistributedDataParallelTrainer(Trainer):
    """The course's trainer with torch's exchange of gradients, which goes on while they are found.

    A batch must have a sentence for each process.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.parallel = DistributedDataParallel(LossModule(self.model, self._loss))

    def _add_gradients(self, batch: Batch) -> float:
        size = self.world.size
        parts = batch.parts(self.settings.accumulate * size)[self.world.rank :: size]
        total_tokens = (batch.target_out != PAD).sum()
        total = torch.zeros(())
        for number, part in enumerate(parts, start=1):
            with nullcontext() if number == len(parts) else self.parallel.no_sync():
                # torch takes the mean over the processes, not the sum.
                share = size * (part.target_out != PAD).sum() / total_tokens
                loss = share * self.parallel(part)
                loss.backward()
            total += loss.detach() / size
        self.world.add_up([total])
        return total.item()


# Contestants


@dataclass(frozen=True)
class Contestant:
    """A way to train.

    Parameters
    ----------
    trainer
        Takes the steps.
    batches
        What it trains on; without end.
    threads
        Processor threads of each process.
    """

    trainer: Trainer
    batches: Iterator[Batch]
    threads: int

    def steps(self) -> int:
        """Take the steps of one round, and return the tokens that all processes saw."""
        torch.set_num_threads(self.threads)
        batches = list(islice(self.batches, STEPS))
        for batch in batches:
            self.trainer.update(batch)
        return sum(map(tokens, batches))


def batches(vocab: int, processes: int) -> Iterator[Batch]:
    """Yield batches of random ids that have the given number of processes' tokens."""
    pairs = random_pairs(4000, vocab, seed=0)
    generator = torch.Generator().manual_seed(0)
    for group in cycle(length_batches(pairs, BATCH_TOKENS * processes, generator)):
        yield Batch.from_pairs([pairs[number] for number in group], BOS, EOS, PAD)


def contestant(kind: type[Trainer], size: str, world: World, threads: int) -> Contestant:
    """Build one, with a model that is the same in all processes."""
    sentences = [SentencePair("one", "un"), SentencePair("two", "deux")]
    translator = Translator.from_pairs(sentences, ("en", "fr"), d_model=8, heads=2)
    torch.manual_seed(0)
    translator.model = Transformer(SIZES[size]).train()
    settings = TrainingSettings(batch_tokens=BATCH_TOKENS, learning_rate=1e-4, fast=True)
    trainer = kind(translator, sentences, sentences, settings, world=world)
    return Contestant(trainer, batches(SIZES[size].target_vocab, world.size), threads)


def contestants(size: str, world: World, threads: int) -> dict[str, Contestant]:
    """Build all; those of one process only in the first."""
    alone = (ALONE, 1), (THREADS, threads)
    kinds = (OURS, Trainer), (TORCH, DistributedDataParallelTrainer)
    found = {name: contestant(kind, size, world, 1) for name, kind in kinds}
    if world.is_first:
        found |= {name: contestant(Trainer, size, World(), number) for name, number in alone}
    return found


# Measuring


@dataclass(frozen=True)
class Turn:
    """What one contestant needed in one round: seconds on the clock and of all processors."""

    seconds: float
    processor_seconds: float
    tokens: int


def turn(world: World, which: Contestant | None) -> Turn:
    """Let a contestant take its steps; without one this process waits for those that have one."""
    world.gather(None)
    clock, processor = time.perf_counter(), time.process_time()
    seen = which.steps() if which else 0
    used = sum(world.gather(time.process_time() - processor))
    return Turn(time.perf_counter() - clock, used, seen)


def measure(size: str, world: World, rounds: int, threads: int) -> dict[str, list[Turn]]:
    """Return the turns of each contestant; a first round is not counted."""
    trained = contestants(size, world, threads)
    names = [ALONE, THREADS, OURS, TORCH]
    turns: dict[str, list[Turn]] = {name: [] for name in names}
    for number in range(rounds + 1):
        for name in in_turn(names, number):
            of_this = turn(world, trained.get(name))
            if number:
                turns[name].append(of_this)
    return turns


def exchange_seconds(size: str, world: World, rounds: int) -> float:
    """Return the seconds that adding up all gradients takes, all else being idle."""
    gradients = [torch.zeros_like(weight) for weight in Transformer(SIZES[size]).parameters()]
    seconds = []
    for _ in range(rounds):
        world.gather(None)
        start = time.perf_counter()
        world.add_up(gradients)
        seconds.append(time.perf_counter() - start)
    return median(seconds)


def summary(turns: dict[str, list[Turn]]) -> list[dict[str, Any]]:
    """Return a row for each contestant, compared with one process round by round."""

    def per_token(name: str, kind: str) -> list[float]:
        return [getattr(turn, kind) / turn.tokens for turn in turns[name]]

    return [
        {
            "": name,
            "tokens per second": 1 / median(per_token(name, "seconds")),
            "times one process": median_ratio(
                per_token(ALONE, "seconds"), per_token(name, "seconds")
            ),
            "processor seconds per token, times": median_ratio(
                per_token(name, "processor_seconds"), per_token(ALONE, "processor_seconds")
            ),
        }
        for name in turns
    ]


# Writing


def section(size: str, figures: dict[str, Any]) -> str:
    """Write the part of the Markdown file about one size."""
    return "\n\n".join(
        [
            f"## {size}",
            f"{figures['parameters']:,} parameters; adding up their gradients, "
            f"{4e-6 * figures['parameters']:.0f} MB, takes {1000 * figures['exchange']:.0f} ms "
            f"when nothing else is done.",
            table(figures["contestants"]),
        ]
    )


def notes(arguments: argparse.Namespace) -> str:
    """Say what the tables show."""
    return (
        f"The last two rows are {arguments.processes} processes of one thread each on one machine, "
        f"connected by its loopback (gloo); one process has one thread, or {arguments.threads}. "
        f"Each takes our fast training step in 32 bits on batches of {BATCH_TOKENS:,} target "
        f"positions for every process. *Sum by hand* is the course's `World.add_up`; *torch's* is "
        f"`DistributedDataParallel`. This was never run on graphics cards."
    )


def main() -> None:
    """Start the processes; in each: measure, and let the first one print and write."""
    parser = options(__doc__, rounds=7)
    parser.add_argument("--processes", type=count, default=2, help="how many train together")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    arguments = parser.parse_args()
    if not started_by_torchrun():
        launcher = ["-m", "torch.distributed.run", "--standalone"]
        number = ["--nproc-per-node", str(arguments.processes), "-m", "benchmarks.data_parallel"]
        command = [sys.executable, *launcher, *number, *sys.argv[1:]]
        command += ["--threads", str(arguments.threads)]  # torchrun would make it one
        sys.exit(subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}).returncode)
    results, sections = {}, [notes(arguments)]
    with join_world() as world:
        for size in arguments.sizes:
            rows = summary_in(size, world, arguments)
            if world.is_first:
                results[size] = rows
                sections.append(section(size, rows))
                print(sections[-1], flush=True)
        if world.is_first:
            write_tables(
                "data_parallel", arguments, results, "What several processes gain", sections
            )


def summary_in(size: str, world: World, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure one size."""
    exchange = exchange_seconds(size, world, arguments.rounds)
    turns = measure(size, world, arguments.rounds, arguments.threads)
    parameters = sum(weight.numel() for weight in Transformer(SIZES[size]).parameters())
    rows = summary(turns) if world.is_first else []
    return {"parameters": parameters, "exchange": exchange, "contestants": rows}


if __name__ == "__main__":
    main()
