"""Which weights a loss reaches, and whose they are."""

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from transformer_course.examine.bench import EFFECT, Bench, NotExamined
from transformer_course.examine.experiment import Outcome, experiment
from transformer_course.examine.subject import Pair
from transformer_course.model.transformer import evaluating

NAMES_SHOWN = 4
ROUTERS = 16
"""How often other weights are drawn to see whether a part has work after all."""


@experiment(
    "first loss",
    "How large is the loss of random sentences, beside ln of the vocabulary?",
    fine="about ln V | above | far above | below",
    wrong="",
)
def first_loss(bench: Bench) -> Outcome:
    """Compare with the loss of a model that knows nothing, which is ln V."""
    source, target_in, target_out = bench.right_batch(bench.pairs)
    loss = float(bench.right_loss(bench.scores(source, target_in), target_out))
    usual = math.log(bench.subject.target_vocab)
    numbers = {"loss": loss, "ln V": usual}
    if loss > 3 * usual:
        return Outcome("far above", numbers)
    if loss > usual + 1:
        return Outcome("above", numbers)
    return Outcome("below" if loss < usual - 1 else "about ln V", numbers)


@experiment(
    "gradients",
    "Does the loss have a gradient for every weight?",
    fine="for all",
    wrong="some are cut off | some are not used | for none",
)
def gradients(bench: Bench) -> Outcome:
    """Compute the gradients of a loss; change the weights that get none."""
    with bench.untouched():
        found = bench.once(gradients_by_name)
        without = [name for name, gradient in found.items() if gradient is None]
        if 0 < len(without) < len(found):
            without = _never_reached(bench, without)
        if not without:
            return Outcome("for all")
        numbers = {"weights without": len(without), "of": len(found), "such as": _some(without)}
        if len(without) == len(found):
            return Outcome("for none", numbers)
        moves = _moves_scores(bench, without)
    return Outcome("some are cut off" if moves else "some are not used", numbers)


@experiment(
    "registered",
    "Are all tensors that get a gradient parameters of the network?",
    fine="yes",
    wrong="no",
)
def registered(bench: Bench) -> Outcome:
    """Follow the loss back to where its gradient arrives."""
    with bench.untouched():
        loss = _loss(bench, bench.pairs)
        known = {id(parameter) for parameter in bench.network.parameters()}
        unknown = [leaf for leaf in _leaves(loss) if id(leaf) not in known]
    if not unknown:
        return Outcome("yes")
    numbers = sum(leaf.numel() for leaf in unknown)
    return Outcome("no", {"tensors that are no parameters": len(unknown), "numbers": numbers})


@experiment(
    "layers",
    "Are the layers of a stack different objects?",
    fine="yes",
    wrong="no",
)
def layers(bench: Bench) -> Outcome:
    """Look for a module that has several names."""
    names: dict[int, list[str]] = {}
    for name, module in bench.network.named_modules(remove_duplicate=False):
        if sum(1 for _ in module.children()) > 1 and any(True for _ in module.parameters()):
            names.setdefault(id(module), []).append(name)
    repeated = [same for same in names.values() if len(same) > 1]
    if not repeated:
        return Outcome("yes")
    return Outcome("no", {"one object": " and ".join(max(repeated, key=len)[:NAMES_SHOWN])})


def gradients_by_name(bench: Bench) -> dict[str, Tensor | None]:
    """Return the gradient of a right loss for each parameter that wants one."""
    return _gradients_on(bench, bench.pairs)


def _never_reached(bench: Bench, names: list[str]) -> list[str]:
    """Return the weights that get no gradient from more words either, whatever the weights are.

    A mixture of experts leaves some without work, others with each router; what is cut off or not
    used stays so. The network is changed.
    """
    chance = torch.Generator().manual_seed(0)
    weights = bench.trained
    beginnings = [weight.detach().clone() for weight in weights]
    for _ in range(ROUTERS):
        found = _gradients_on(bench, bench.many_pairs)
        names = [name for name in names if found[name] is None]
        if not names:
            break
        _stir(weights, beginnings, chance)
    return names


def _stir(weights: Iterable[Tensor], beginnings: Iterable[Tensor], chance: torch.Generator) -> None:
    """Move weights from where they begin, some twice as far as they differ from each other."""
    with torch.no_grad():
        for weight, beginning in zip(weights, beginnings, strict=True):
            noise = torch.randn(weight.shape, generator=chance).to(weight)
            weight.copy_(beginning + 2 * (beginning.std(correction=0) + 0.1) * noise)


def _gradients_on(bench: Bench, pairs: Sequence[Pair]) -> dict[str, Tensor | None]:
    weights = {n: p for n, p in bench.network.named_parameters() if p.requires_grad}
    if not weights:
        raise NotExamined("no parameter wants a gradient: all are frozen")
    loss = _loss(bench, pairs)
    if not loss.requires_grad:
        return dict.fromkeys(weights)
    gradients = torch.autograd.grad(loss, [*weights.values()], allow_unused=True)
    # Of an embedding that asks so, a gradient is sparse.
    dense = (each.to_dense() if each is not None and each.is_sparse else each for each in gradients)
    return dict(zip(weights, dense, strict=True))


def _loss(bench: Bench, pairs: Sequence[Pair]) -> Tensor:
    source, target_in, target_out = bench.right_batch(pairs)
    with evaluating(bench.network), torch.enable_grad():
        return bench.right_loss(bench.scores_as_it_is(source, target_in), target_out)


def _moves_scores(bench: Bench, names: Iterable[str]) -> bool:
    parameters = dict(bench.network.named_parameters())
    weights = [parameters[name] for name in names]
    source, target_in, _ = bench.right_batch(bench.many_pairs)
    usual = bench.scores(source, target_in)
    _stir(weights, weights, torch.Generator().manual_seed(1))
    moved = bench.effect(bench.scores(source, target_in), usual)
    return bool(moved.max() > EFFECT)


def _leaves(loss: Tensor) -> list[Tensor]:
    """Return the tensors at which the gradient of a loss ends."""
    found, seen, waiting = [], set(), [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.append(node.variable)
        waiting += [following for following, _ in node.next_functions]
    return found


def _some(names: list[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def parameter_names(network: nn.Module, wanted: Iterable[nn.Parameter]) -> str:
    """Name some parameters, a few of many."""
    ids = {id(each) for each in wanted}
    return _some([name for name, each in network.named_parameters() if id(each) in ids])
