"""What a check must leave as it was, whatever the answer does."""

import gc
import random
import signal
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from transformer_course.checker.originals import ORIGINALS


def settings():
    return {
        "random numbers of torch": torch.get_rng_state().tolist(),
        "random numbers of Python": random.getstate(),
        "random numbers of NumPy": np.random.get_state()[1].tolist(),
        "dtype": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "threads": torch.get_num_threads(),
        "gradients": torch.is_grad_enabled(),
        "warnings": warnings.filters[:],
        "output": (sys.stdout, sys.stderr),
        "alarm": signal.getsignal(signal.SIGALRM),
        "working folder": Path.cwd(),
        "recursion limit": sys.getrecursionlimit(),
        "print options of torch": repr(torch.tensor([1 / 3, 1e9])),
        "print options of NumPy": np.get_printoptions(),
        "deterministic algorithms": torch.get_deterministic_debug_mode(),
        "anomaly mode": (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        "tracing": (sys.gettrace(), sys.getprofile()),
        "collection of garbage": (gc.isenabled(), gc.get_threshold()),
    }


def functions():
    return [(name, id(f)) for namespace in ORIGINALS for name, f in vars(namespace).items()]


@pytest.fixture
def nothing_is_left_behind():
    """Fail a test that leaves settings or functions changed."""
    before, functions_before = settings(), functions()
    yield
    after = settings()
    assert [name for name in after if after[name] != before[name]] == []
    assert set(functions()) ^ set(functions_before) == set()
