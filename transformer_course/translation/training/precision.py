"""Which kind of number to train in: 32 bits, or 16 where a graphics card has instructions for them.

Sources: Micikevicius et al. (2018), "Mixed Precision Training"; Kalamkar et al. (2019), "A Study of
BFLOAT16 for Deep Learning Training", which needs no scaling of the loss.
"""

import torch

from transformer_course.checks import check_choice

PRECISIONS = ("auto", "float32", "bfloat16")


def choose_precision(wanted: str, device: torch.device) -> torch.dtype:
    """Return the type of numbers to compute in.

    ``"auto"`` is bfloat16 on a graphics card that has instructions for it, else float32.

    Raises
    ------
    ValueError
        If ``wanted`` is none of :data:`PRECISIONS`, or bfloat16 on a processor.
    """
    check_choice("precision", wanted, PRECISIONS)
    if wanted == "bfloat16" and device.type == "cpu":
        raise ValueError(
            "bfloat16 is for graphics cards, and this run computes on a processor, where the "
            "course's training in float32 is faster. Use precision float32, or auto."
        )
    if wanted == "auto" and device.type == "cuda":
        # Where the instructions are missing, torch can emulate them, slowly.
        has_them = torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if has_them else torch.float32
    return torch.bfloat16 if wanted == "bfloat16" else torch.float32


def mixed_precision(device: torch.device, precision: torch.dtype) -> torch.autocast:
    """Return a context in which matrix products are computed in bfloat16, if that is chosen."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == torch.bfloat16)
