"""The cases in which an answer is compared with the reference, and what holds in all of them."""

import contextlib
import itertools
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course.checker.originals import original_functions


def vectors(*shape: int, seed: int = 0) -> Tensor:
    """Return normal random numbers, the same ones every time."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def result(code: Callable, *inputs: Any) -> Any:
    """Observe what a call returns."""
    return code(*inputs)


def in_double_precision(module: nn.Module, *inputs: Tensor) -> Any:
    """Observe what a module returns in float64."""
    return module.double()(*(x.double() if x.is_floating_point() else x for x in inputs))


def gradients(code: Callable, *inputs: Any) -> Tensor:
    """Observe the gradients of the arguments and, after them, of a module's parameters.

    They are those of a sum that weighs each number of the result differently. They come as one
    tensor because some are 0 but for rounding, such as that of the keys' bias, and rounding can
    be told only beside larger numbers. A result without a graph gives zeros.
    """
    given = [
        x.clone().requires_grad_() if isinstance(x, Tensor) and x.is_floating_point() else x
        for x in inputs
    ]
    leaves = [x for x in given if isinstance(x, Tensor) and x.requires_grad]
    if isinstance(code, nn.Module):
        leaves += [parameter for _, parameter in sorted(code.named_parameters())]
    output = code(*(x.clone() if isinstance(x, Tensor) else x for x in given))
    # Whatever the code has set or replaced.
    with original_functions(), torch.enable_grad(), torch.device("cpu"):
        output = output.to_dense().clone()
        if output.is_meta or not output.requires_grad:
            return torch.cat([torch.zeros_like(leaf).flatten() for leaf in leaves])
        weighed = output * torch.arange(output.numel()).cos().view_as(output)
        found = torch.autograd.grad(
            weighed.sum(), leaves, allow_unused=True, materialize_grads=True
        )
        return torch.cat([gradient.flatten() for gradient in found])


def calls(names: Collection[str], code: Callable, *inputs: Any) -> tuple[Any, bool]:
    """Return what a call returns, and whether it uses one of torch's functions of these names."""
    used = []

    def noting(function: Callable) -> Callable:
        def noted(*args: Any, **options: Any) -> Any:
            used.append(function)
            return function(*args, **options)

        return noted

    with contextlib.ExitStack() as stack:
        for namespace, name in itertools.product((torch, torch.special, F, Tensor), names):
            if function := getattr(namespace, name, None):
                stack.enter_context(mock.patch.object(namespace, name, noting(function)))
        return code(*inputs), bool(used)


@dataclass(frozen=True)
class Case:
    """One configuration in which a function, or a module built for it, is called.

    Attributes
    ----------
    inputs
        Arguments of the call.
    construct
        Arguments of the module's constructor; None for a function.
    observe
        ``observe(function_or_module, *inputs)`` returns what is compared: a tensor, a number, or
        a list, tuple or dict of those.
    looks_at
        What ``observe`` looks at, in words; empty for the result of a call.
    inject
        Whether the module gets the reference's parameters; False keeps its own initial ones.
    training
        Whether the module is in training mode.
    written
        The call as it is shown, after the name; empty writes the arguments as code.
    """

    inputs: tuple = ()
    construct: tuple | None = None
    observe: Callable[..., Any] = result
    looks_at: str = ""
    inject: bool = True
    training: bool = False
    written: str = ""


@dataclass(frozen=True)
class Property:
    """Something that holds for every right result.

    Attributes
    ----------
    statement
        What holds, in a few words.
    holds
        ``holds(value, case)`` tells whether it does. It is asked about results of the right type
        and shape, in the cases that look at the result of a call.
    """

    statement: str
    holds: Callable[[Any, Case], bool]
