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


@dataclass(frozen=True)
class World:
    """The processes that train together: how many, and which of them this one is."""

    size: int = 1
    rank: int = 0

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes and reports."""
        return self.rank == 0

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes."""
        if self.size == 1:
            return
        # One long message takes less time than many short ones.
        joint = torch.cat([tensor.flatten() for tensor in tensors])
        dist.all_reduce(joint)
        parts = joint.split([tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))

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
    """Join the processes that ``torchrun`` started; without it this process is alone."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield World()
        return
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield World(size, dist.get_rank())
    finally:
        dist.destroy_process_group()
