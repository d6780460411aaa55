"""How the learning rate rises and falls.

Sources: Vaswani et al. (2017), "Attention Is All You Need", equation 3; Loshchilov and Hutter
(2017), "SGDR", for the cosine.
"""

import math


def noam(step: int, d_model: int, warmup: int) -> float:
    """Return the paper's learning rate at a step: linear warm-up, then falling as 1/sqrt(step).

    Raises
    ------
    ValueError
        If ``step`` or ``warmup`` is below 1: steps count from 1.
    """
    if step < 1 or warmup < 1:
        raise ValueError(f"steps count from 1; got step={step}, warmup={warmup}.")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def warmup_cosine(progress: float, peak: float, warmup: float) -> float:
    """Return the learning rate at a share of the run: linear to ``peak``, then half a cosine to 0.

    Parameters
    ----------
    progress
        Share of the run that is done, 0 to 1.
    peak
        The highest learning rate.
    warmup
        Share of the run spent rising, 0 to below 1.

    Raises
    ------
    ValueError
        If a share is outside its range.
    """
    if not (0 <= progress <= 1 and 0 <= warmup < 1):
        raise ValueError(f"shares of the run are wanted; got {progress=}, {warmup=}.")
    if progress < warmup:
        return peak * progress / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * (progress - warmup) / (1 - warmup)))
