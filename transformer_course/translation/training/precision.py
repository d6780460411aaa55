"""Which kind of number to train in: 32 bits, or 16 where the machine is faster with them.

Sources: Micikevicius et al. (2018), "Mixed Precision Training"; Kalamkar et al. (2019), "A Study of
BFLOAT16 for Deep Learning Training", which needs no scaling of the loss.
"""

import time

import torch

PRECISIONS = ("auto", "float32", "bfloat16")
SIZE, TRIES = 512, 5


def choose_precision(wanted: str, device: torch.device) -> torch.dtype:
    """Return the type of numbers to compute in; ``"auto"`` takes bfloat16 where it is faster.

    Raises
    ------
    ValueError
        If ``wanted`` is none of :data:`PRECISIONS`.
    """
    if wanted not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}; got {wanted!r}.")
    if wanted == "bfloat16" or (wanted == "auto" and _bfloat16_is_faster(device)):
        return torch.bfloat16
    return torch.float32


def _bfloat16_is_faster(device: torch.device) -> bool:
    # A processor without instructions for it computes it too, about ten times slower: only a
    # trial tells.
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported()
    return _seconds(torch.bfloat16, device) < _seconds(torch.float32, device)


def _seconds(dtype: torch.dtype, device: torch.device) -> float:
    """Time one matrix product: the best of some tries."""
    matrix = torch.ones(SIZE, SIZE, dtype=dtype, device=device)
    times = []
    for _ in range(TRIES):
        start = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - start)
    return min(times)
