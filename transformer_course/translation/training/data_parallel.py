"""Several processes that train one model, each on its part of every batch.

``torchrun --nproc-per-node 2 -m transformer_course train …`` starts them. Each computes the
gradients of its part, all add them up, and all take the same step: the result is that of one
process with batches of the joint size.

Source: Li et al. (2020), "PyTorch Distributed: Experiences on Accelerating Data Parallel Training".
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

Fact = TypeVar("Fact")

CPU = torch.device("cpu")
SILENCE = timedelta(minutes=10)
"""How long to wait for a process that does not answer; one that ends is noticed at once."""


@dataclass(frozen=True)
class World:
    """The processes that train together: how many, which of them this one is, where it computes.

    Parameters
    ----------
    size
        How many there are, on all machines.
    rank
        The number of this one among all of them, from 0.
    local_rank
        Its number among those on its machine, from 0.
    device
        Where it computes.
    """

    size: int = 1
    rank: int = 0
    local_rank: int = 0
    device: torch.device = CPU

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes and reports."""
        return self.rank == 0

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes."""
        if self.size == 1:
            return
        # One long message takes less time than many short ones.
        joint = torch.cat([tensor.flatten() for tensor in tensors]).to(self.device)
        with _lost_peers_named():
            dist.all_reduce(joint)
        parts = joint.split([tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))

    def any_says(self, yes: bool) -> bool:
        """Say in all processes whether any of them says yes: they must decide alike."""
        votes = torch.tensor([float(yes)])
        self.add_up([votes])
        return votes.item() > 0

    def gather(self, fact: Fact) -> list[Fact]:
        """Return in all processes the fact that each of them gave, by rank."""
        facts = [fact] * self.size
        if self.size > 1:
            with _lost_peers_named():
                dist.all_gather_object(facts, fact)
        return facts

    @contextmanager
    def first_alone(self) -> Iterator[None]:
        """Let the first process through the block before the others, for what it may download.

        Then comes the first one of each other machine, which may have a disk of its own.
        """
        turn = 0 if self.is_first else 1 if self.local_rank == 0 else 2
        self._barriers(turn)
        yield
        self._barriers(2 - turn)

    def _barriers(self, count: int) -> None:
        """Wait so many times until all processes have come as far."""
        if self.size == 1:
            return
        with _lost_peers_named():
            for _ in range(count):
                dist.barrier()


@contextmanager
def join_world() -> Iterator[World]:
    """Join the processes that ``torchrun`` started; without it this process is alone.

    Where there are graphics cards, each process takes one.

    Raises
    ------
    ValueError
        If there are more processes than graphics cards, or ``torchrun`` is to restart processes,
        but would give them the addresses of dead ones.
    """
    size, device = int(os.environ.get("WORLD_SIZE", "1")), _own_device()
    if size == 1:
        yield World(device=device)
        return
    _check_restarts()
    dist.init_process_group("gloo" if device.type == "cpu" else "nccl", timeout=SILENCE)
    try:
        yield World(size, dist.get_rank(), _local_rank(), device)
    finally:
        dist.destroy_process_group()


def started_by_torchrun() -> bool:
    """Say whether ``torchrun`` started this process, and may start it again."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def _check_restarts() -> None:
    """Raise ValueError where a restart would fail, now and not in the middle of the run.

    torchrun keeps the processes' addresses. Restarted ones may read those of their predecessors:
    https://github.com/pytorch/pytorch/issues/135712.
    """
    restarts = int(os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0"))
    if restarts and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        raise ValueError(
            "with --max-restarts, torchrun needs TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 in its "
            "environment: without it, restarted processes may call those that are dead."
        )


def _own_device() -> torch.device:
    if not torch.cuda.is_available():
        return CPU
    cards = torch.cuda.device_count()
    if _local_rank() >= cards:
        raise ValueError(
            f"each process needs a graphics card of its own, and there are {cards}: start at most "
            f"{cards} with --nproc-per-node."
        )
    device = torch.device("cuda", _local_rank())
    torch.cuda.set_device(device)
    return device


def _local_rank() -> int:
    return int(os.environ.get("LOCAL_RANK", "0"))


@contextmanager
def _lost_peers_named() -> Iterator[None]:
    """Turn what the backends say about a process that is gone into a sentence."""
    try:
        yield
    except RuntimeError as error:
        raise ConnectionError(
            f"another process of this training ended, or did not answer for "
            f"{SILENCE.total_seconds() / 60:g} minutes; what it wrote last says more ({error})."
        ) from error
