"""Keep what is global, such as settings and random numbers, as it was before code under test."""

import contextlib
import gc
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch._tensor_str import PRINT_OPTS

from transformer_course.checker.exits import no_exit


def _working_folder() -> Path | None:
    with contextlib.suppress(OSError):  # somebody may have removed it
        return Path.cwd()
    return None


def _go_to(folder: Path | None) -> None:
    with contextlib.suppress(OSError):
        os.chdir(folder or "")


# What is read before the learner's code runs and, if it has changed afterwards, set back.
SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (sys.getprofile, sys.setprofile),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (gc.isenabled, lambda enabled: gc.enable() if enabled else gc.disable()),
    (gc.get_threshold, lambda thresholds: gc.set_threshold(*thresholds)),
    (_working_folder, _go_to),
    (np.get_printoptions, lambda options: np.set_printoptions(**options)),
    (lambda: dict(vars(PRINT_OPTS)), lambda options: torch.set_printoptions(**options)),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_default_device, lambda d: torch.set_default_device(None if d.type == "cpu" else d)),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda modes: torch.set_anomaly_enabled(*modes),
    ),
)


@contextlib.contextmanager
def untouched_globals() -> Iterator[None]:
    """Give the body fixed global settings, and put back afterwards what was there before."""
    settings, device = [ask() for ask, _ in SETTINGS], torch.get_default_device()
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()
    torch.set_default_dtype(torch.float32)
    try:
        # The context of a device slows every call of torch down.
        on_cpu = contextlib.nullcontext() if device.type == "cpu" else torch.device("cpu")
        with warnings.catch_warnings(), on_cpu, torch.enable_grad(), no_exit():
            warnings.simplefilter("ignore")
            yield
    finally:
        for (ask, put_back), before in zip(SETTINGS, settings, strict=True):
            if ask() != before:
                put_back(before)
        for put_back, state in zip(SET_STATES, states, strict=True):
            put_back(state)


SET_STATES = (torch.set_rng_state, random.setstate, np.random.set_state)


def seed(number: int) -> None:
    """Seed all random numbers before a call of code under test."""
    # The inputs were drawn from small seeds: from one of these, `randn_like(x)` would be x itself.
    first = 2017 + number
    torch.default_generator.manual_seed(first)  # code under test runs on the CPU
    random.seed(first)
    np.random.seed(first)
