"""Which weights a training step leaves as they are."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from transformer_course.checker.cases import Case, Property, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.when_it_does_not_work.systems import BOS, batch_of

_BATCH = batch_of([([4, 5, 6], [7, 8]), ([5, 6], [8])])


class _Linear(nn.Module):
    """A weight and a bias, which begins with 0, as many do."""

    def __init__(self, outputs: int, seed: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(vectors(outputs, 3, seed=seed))
        self.bias = nn.Parameter(torch.zeros(outputs))


class _Network(nn.Module):
    """The names of a small translator, with a buffer; it computes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(vectors(4, 3))
        self.register_buffer("positions", vectors(5, 3, seed=1))
        self.encoder = _Linear(3, seed=2)
        self.decoder = _Linear(3, seed=3)
        self.output = _Linear(4, seed=4)


class _TiedNetwork(_Network):
    """A network whose output uses the table of its embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.output.weight = self.table


def _frozen_in_part() -> nn.Module:
    """Return a network with a weight that wants no gradient."""
    network = _Network()
    network.encoder.weight.requires_grad_(False)
    return network


Move = Callable[[nn.Parameter], Tensor]
"""What is added to a parameter."""


def _by(amount: float) -> Move:
    return lambda weight: torch.full_like(weight, amount)


def _in_one_number(place: int, amount: float) -> Move:
    """Return what moves one number of a parameter, and leaves all others."""

    def move(weight: nn.Parameter) -> Tensor:
        moved = torch.zeros_like(weight)
        moved.view(-1)[place] = amount
        return moved

    return move


def _up_and_down(weight: nn.Parameter) -> Tensor:
    """Move the first number and the last by as much, so that their sum stays."""
    return _in_one_number(0, 0.5)(weight) + _in_one_number(-1, -0.5)(weight)


def _to_the_other_sign(weight: nn.Parameter) -> Tensor:
    return -2 * weight.detach()


class _Step:
    """A step that moves the parameters of a network, each as ``moves`` says, or by 0.1.

    Parameters
    ----------
    network
        What is trained.
    moves
        By the beginnings of names, for parameters that do not move like the others.
    later
        The same for all steps after the first.
    anew
        Whether parameters get new numbers in another place of the memory.
    cut_off
        The beginnings of names, for parameters that get no gradient.
    """

    def __init__(
        self,
        network: nn.Module,
        moves: Mapping[str, Move],
        later: Mapping[str, Move] | None = None,
        anew: bool = False,
        cut_off: tuple[str, ...] = (),
    ) -> None:
        self.network = network
        self.moves = moves
        self.later = moves if later is None else later
        self.anew = anew
        self.cut_off = cut_off

    def __call__(self, source: Tensor, target_in: Tensor, target_out: Tensor) -> float:
        if not bool((target_in[:, 0] == BOS).all()):
            raise ValueError("step wants source, target_in and target_out, in this order")
        with torch.no_grad():
            for name, weight in self.network.named_parameters():
                if not name.startswith(self.cut_off):
                    weight.grad = torch.ones_like(weight)
                self._move(weight, self._how(name)(weight))
        self.moves = self.later
        return 2.5

    def _how(self, name: str) -> Move:
        return next((move for of, move in self.moves.items() if name.startswith(of)), _by(0.1))

    def _move(self, weight: nn.Parameter, by: Tensor) -> None:
        if self.anew:
            weight.data = weight.data + by
        else:
            weight += by


_STAYS = _by(0.0)


def _trained(
    words: str, moves: Mapping[str, Move], kind: Callable[[], nn.Module] = _Network, **options: Any
) -> Case:
    network = kind()
    step = _Step(network, moves, **options)
    return Case((network, step, _BATCH), written=f"(network, step, batch)  # {words}")


def _names_parameters(value: list[str], case: Case) -> bool:
    return set(value) <= {name for name, _ in case.inputs[0].named_parameters()}


@exercise(
    cases=[
        _trained("all weights move", {}),
        _trained("the encoder is frozen", {"encoder": _STAYS}),
        _trained("nothing moves at all", {"": _STAYS}),
        _trained("the weights get new numbers in another place", {"decoder": _STAYS}, anew=True),
        _trained("tied tables move", {"encoder.weight": _STAYS}, kind=_TiedNetwork),
        _trained("tied tables stay", {"table": _STAYS}, kind=_TiedNetwork),
        _trained("a bias moves by 1e-9", {"decoder.bias": _by(1e-9), "output": _STAYS}),
        _trained(
            "a single number of most weights moves",
            {
                "table": _in_one_number(-1, 0.5),
                "encoder": _in_one_number(0, 0.5),
                "output": _in_one_number(0, -0.5),
                "decoder.bias": _STAYS,
            },
        ),
        _trained("the sum of the table stays", {"table": _up_and_down, "encoder": _STAYS}),
        _trained("the table changes its sign", {"table": _to_the_other_sign, "output": _STAYS}),
        _trained(
            "decay moves what has no gradient, and the decoder, which has one, stays",
            {"encoder": _by(-0.01), "decoder": _STAYS},
            kind=_frozen_in_part,
            cut_off=("encoder",),
        ),
        _trained(
            "what has no gradient stays",
            {"encoder": _STAYS},
            kind=_frozen_in_part,
            cut_off=("encoder",),
        ),
        _trained(
            "the second step moves what the first leaves",
            {"encoder": _STAYS},
            later={"decoder": _STAYS},
        ),
        _trained(
            "the second step takes the first one back",
            {"encoder": _STAYS},
            later={"encoder": _STAYS, "": _by(-0.1)},
        ),
    ],
    properties=[
        Property("all names are those of parameters", _names_parameters),
        Property(
            "no name comes twice",
            lambda value, case: len(set(value)) == len(value),
        ),
    ],
    hints=[
        "Three acts: note what the weights are, take one step, compare. What must you do so that "
        "your note does not move with the weights?",
        "`dict(network.named_parameters())` holds the parameters themselves, and a step changes "
        "them in place: keep `weight.detach().clone()` of each.",
        "`before = {name: weight.detach().clone() for name, weight in "
        "network.named_parameters()}`; `step(*batch)`; then the names for which "
        "`torch.equal(weight, before[name])`.",
    ],
)
def still_weights(network: nn.Module, step: Callable, batch: tuple) -> list[str]:
    """Return the names of the parameters that a step leaves exactly as they are."""
    before = {name: weight.detach().clone() for name, weight in network.named_parameters()}
    step(*batch)
    still = []
    for name, weight in network.named_parameters():
        if torch.equal(weight, before[name]):
            still.append(name)
    return still
