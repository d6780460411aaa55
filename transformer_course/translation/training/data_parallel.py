"""Several processes that train one model, each on its part of every batch.

``torchrun --nproc-per-node 2 -m transformer_course.cli train …`` starts them. Each computes the
gradients of its part, all add them up, and all take the same step: the result is that of one
process with batches of the joint size.

Source: Li et al. (2020), "PyTorch Distributed: Experiences on Accelerating Data Parallel Training".
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

CPU = torch.device("cpu")


@dataclass(frozen=True)
class World:
    """The processes that train together: how many, which of them this one is, where it computes."""

    size: int = 1
    rank: int = 0
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
        dist.all_reduce(joint)
        parts = joint.split([tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))

    def any_says(self, yes: bool) -> bool:
        """Say in all processes whether any of them says yes: they must decide alike."""
        votes = torch.tensor([float(yes)])
        self.add_up([votes])
        return votes.item() > 0

    @contextmanager
    def first_alone(self) -> Iterator[None]:
        """Let the first process through the block before the others, for what it may download."""
        if not self.is_first:
            dist.barrier()
        yield
        if self.is_first and self.size > 1:
            dist.barrier()


@contextmanager
def join_world() -> Iterator[World]:
    """Join the processes that ``torchrun`` started; without it this process is alone.

    Where there are graphics cards, each process takes one.
    """
    size, device = int(os.environ.get("WORLD_SIZE", "1")), _own_device()
    if size == 1:
        yield World(device=device)
        return
    dist.init_process_group("gloo" if device.type == "cpu" else "nccl")
    try:
        yield World(size, dist.get_rank(), device)
    finally:
        dist.destroy_process_group()


def _own_device() -> torch.device:
    if not torch.cuda.is_available():
        return CPU
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.set_device(device)
    return device
