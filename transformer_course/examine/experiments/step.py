"""What the loss counts, and what one training step does."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer_course.examine.bench import Bench, NotExamined
from transformer_course.examine.experiment import Outcome, experiment
from transformer_course.examine.experiments.gradients import gradients_by_name, parameter_names
from transformer_course.examine.subject import Pair
from transformer_course.model.transformer import evaluating

SURE = 30.0
"""The logit of a token of which a model is sure."""
TOO_FAR, HARDLY = 1.2, 1e-5
"""Shares of its size by which a matrix moves in three steps; a warm-up begins low.

Matrices that begin as small as GPT's move by 0.6 at a rate of 0.006, and learn.
"""
ACROSS = 0.05
"""Cosine of a change and a gradient below which neither helps the other."""
EQUALLY, MOST = 0.1, 0.9
"""Shares by which distances may differ, and of weights, that count as equally far and as each."""
EXACTLY = 1e-3
"""Share by which a mean that is computed in another way may differ."""
STEPS = 3
"""Steps after which weights must have moved: with a warm-up the first may be of size 0."""


# The loss


def _loss_of(bench: Bench, logits: Tensor, target_out: Tensor) -> float:
    """Return the subject's loss of scores of the kind that it is used to."""
    if bench.kind == "probabilities":
        scores = logits.softmax(-1)
    else:
        scores = logits.log_softmax(-1) if bench.kind == "log-probabilities" else logits
    with evaluating(bench.network):
        value = bench.loss(scores.to(bench.device), target_out.to(bench.device))
    return float(value)


def _logits(bench: Bench, rows: int, length: int) -> Tensor:
    chance = torch.Generator().manual_seed(3)
    return torch.randn(rows, length, bench.subject.target_vocab, generator=chance)


def _moves(bench: Bench, logits: Tensor, target_out: Tensor, place: tuple[int, int]) -> float:
    """Return by how much the loss moves with the scores of one position, in its own size."""
    changed = logits.clone()
    changed[place] = changed[place].flip(-1) * 3
    before, after = (_loss_of(bench, each, target_out) for each in (logits, changed))
    return abs(after - before) / max(abs(before), 1e-9)


@experiment(
    "padding in the loss",
    "Does the loss count positions of padding?",
    fine="no",
    wrong="yes",
    needs="loss",
)
def padding_in_the_loss(bench: Bench) -> Outcome:
    """Change the scores where padding is wanted."""
    target_out = bench.right_batch(bench.pairs)[2]
    row = int(target_out[:, -1].ne(bench.subject.pad).int().argmin())  # one that is padded
    moved = _moves(bench, _logits(bench, *target_out.shape), target_out, (row, -1))
    return Outcome("yes" if moved > 1e-6 else "no", {"share by which the loss moves": moved})


@experiment(
    "words in the loss",
    "Does the loss count every word, and the end?",
    fine="yes",
    wrong="not the end | not all",
    needs="loss",
)
def words_in_the_loss(bench: Bench) -> Outcome:
    """Change the scores of each position in turn."""
    target_out = bench.right_batch(bench.pairs)[2][:1]
    logits = _logits(bench, *target_out.shape)
    moved = [
        _moves(bench, logits, target_out, (0, position)) for position in range(len(target_out[0]))
    ]
    numbers = {"share by which the loss moves, for each position": moved}
    counted = [each > 1e-6 for each in moved]
    if all(counted):
        return Outcome("yes", numbers)
    return Outcome("not the end" if all(counted[:-1]) else "not all", numbers)


@experiment(
    "mean",
    "Over what is the loss a mean?",
    fine="tokens",
    wrong="sentences | positions with padding | nothing, it is a sum",
    needs="loss",
)
def mean(bench: Bench) -> Outcome:
    """Compare the loss of three sentences with the loss of each."""
    if padding_in_the_loss(bench).word == "yes":
        raise NotExamined("the loss counts padding")
    target_out = bench.right_batch(bench.pairs)[2]
    logits = _logits(bench, *target_out.shape)
    real = [len(target) + 1 for _, target in bench.pairs]
    each = [
        _loss_of(bench, logits[[row], :length], target_out[[row], :length])
        for row, length in enumerate(real)
    ]
    both = _loss_of(bench, logits, target_out)
    whole = sum(loss * length for loss, length in zip(each, real, strict=True))
    candidates = {
        "tokens": whole / sum(real),
        "sentences": sum(each) / len(each),
        "positions with padding": whole / target_out.numel(),
        "nothing, it is a sum": sum(each),
    }
    numbers = {"loss of all": both, "of each": each, "words of each": real}
    close = min(candidates, key=lambda word: abs(candidates[word] - both))
    if abs(candidates[close] - both) > EXACTLY * abs(both):
        raise NotExamined("the loss of several sentences is no mean of theirs, and no sum")
    return Outcome(close, numbers)


@experiment(
    "sure and wrong",
    "Is the loss large where the model is sure of a wrong word?",
    fine="yes",
    wrong="no",
    needs="loss",
)
def sure_and_wrong(bench: Bench) -> Outcome:
    """Give a wrong word a logit of 30."""
    right, wrong = bench.once(_losses_where_sure)
    word = "yes" if wrong > 0.4 * SURE else "no"
    return Outcome(word, {"loss": wrong, "where it is sure and right": right})


@experiment(
    "sure and right",
    "Is the loss small where the model is sure of the right word?",
    fine="yes",
    wrong="no",
    needs="loss",
)
def sure_and_right(bench: Bench) -> Outcome:
    """Give the right word a logit of 30."""
    right, wrong = bench.once(_losses_where_sure)
    word = "yes" if right < 0.5 * abs(wrong) else "no"
    return Outcome(word, {"loss": right, "where it is sure and wrong": wrong})


def _losses_where_sure(bench: Bench) -> tuple[float, float]:
    """Return the loss where the model is sure of the right words, and of wrong ones."""
    # Two sentences without padding: in one alone no loss can take words of another.
    shortest = min(len(target) for _, target in bench.pairs) + 1
    target_out = bench.right_batch(bench.pairs)[2][:2, :shortest]

    def loss(words: Tensor) -> float:
        logits = torch.zeros(*words.shape, bench.subject.target_vocab)
        return _loss_of(bench, logits.scatter(-1, words[..., None], SURE), target_out)

    return loss(target_out), loss(bench.other_target_words(target_out))


# A step


def _batch(bench: Bench, pairs: Sequence[Pair]) -> tuple[Tensor, ...]:
    return tuple(each.to(bench.device) for each in bench.collate(pairs))


@dataclass
class _Steps:
    """What three steps did: each weight with its value before, and those that have a gradient."""

    pairs: list[tuple[nn.Parameter, Tensor, Tensor]]

    @property
    def moved(self) -> list[nn.Parameter]:
        """The weights that are another after the steps."""
        return [weight for weight, before, after in self.pairs if not torch.equal(before, after)]

    @property
    def largest_share(self) -> float:
        """How far a matrix has moved at most, as a share of its size."""
        shares = [
            float((after - before).norm() / before.norm())
            for _, before, after in self.pairs
            if before.dim() > 1 and before.norm() > 0
        ]
        return max(shares, default=0.0)


def _three_steps(bench: Bench) -> _Steps:
    return _steps_on(bench, bench.pairs)


def _steps_on(bench: Bench, pairs: Sequence[Pair]) -> _Steps:
    weights = bench.trained
    before = [weight.detach().clone() for weight in weights]
    with bench.untouched():
        for _ in range(STEPS):
            bench.step(*_batch(bench, pairs))
        after = [weight.detach().clone() for weight in weights]
    return _Steps([*zip(weights, before, after, strict=True)])


@experiment(
    "weights that move",
    "Which weights move in three training steps?",
    fine="all that have a gradient",
    wrong="none | some stay still",
    needs="training_step",
)
def weights_that_move(bench: Bench) -> Outcome:
    """Compare the weights before and after."""
    steps = bench.once(_three_steps)
    if steps.moved and steps.largest_share < HARDLY:
        raise NotExamined("steps are so small that rounding takes some of them away")
    moved = {id(weight) for weight in steps.moved}
    reached = bench.once(_reached)
    still = [w for w, _, _ in steps.pairs if id(w) in reached and id(w) not in moved]
    if moved and still:  # with dropout another expert of a mixture may have done the work
        moved |= {id(weight) for weight in _steps_on(bench, bench.many_pairs).moved}
        still = [weight for weight in still if id(weight) not in moved]
    numbers = {"weights": len(steps.pairs), "that moved": len(moved)}
    if not moved:
        return Outcome("none", numbers)
    if still:
        names = parameter_names(bench.network, still)
        return Outcome("some stay still", numbers | {"they stay still": names})
    return Outcome("all that have a gradient", numbers)


@experiment(
    "size of a step",
    "How far do weights move in three training steps?",
    fine="usual | hardly",
    wrong="very far",
    needs="training_step",
)
def size_of_a_step(bench: Bench) -> Outcome:
    """Divide the change of the matrix that moves most by its size."""
    share = bench.once(_three_steps).largest_share
    numbers = {"share of its size by which a matrix moved at most": share}
    if share > TOO_FAR:
        return Outcome("very far", numbers)
    return Outcome("hardly" if share < HARDLY else "usual", numbers)


@experiment(
    "direction of a step",
    "Do weights move against the gradient of the loss?",
    fine="downhill | across",
    wrong="uphill",
    needs="training_step",
    follows=True,
)
def direction_of_a_step(bench: Bench) -> Outcome:
    """Compare what three steps changed with a gradient of ours."""
    steps, gradients = bench.once(_three_steps), bench.once(_right_gradients)
    if not steps.moved:
        raise NotExamined("no weight moves")
    along = sizes = other = 0.0
    for weight, before, after in steps.pairs:
        if (gradient := gradients.get(id(weight))) is not None:
            along += float(((after - before) * gradient).sum())
            sizes += float((after - before).square().sum())
            other += float(gradient.square().sum())
    cosine = along / max((sizes * other) ** 0.5, 1e-30)
    numbers = {"cosine of change and gradient": cosine}
    if abs(cosine) < ACROSS:
        return Outcome("across", numbers)
    return Outcome("uphill" if cosine > 0 else "downhill", numbers)


def _right_gradients(bench: Bench) -> dict[int, Tensor]:
    """Return our gradient for each weight that has one, by the weight's identity."""
    weights, found = dict(bench.network.named_parameters()), bench.once(gradients_by_name)
    return {id(weights[name]): each for name, each in found.items() if each is not None}


def _reached(bench: Bench) -> set[int]:
    """Return the identities of the weights whose gradient is not 0."""
    found = bench.once(_right_gradients)
    return {key for key, gradient in found.items() if bool(gradient.abs().max() > 1e-6)}


@experiment(
    "old gradients",
    "Does a step begin without the gradients of the step before?",
    fine="yes",
    wrong="no",
    needs="training_step",
)
def old_gradients(bench: Bench) -> Outcome:
    """Leave a gradient of our own before a step, then its opposite; compare what is there after."""
    moved = [weight for weight in bench.once(_three_steps).moved if weight.requires_grad]
    if not moved:
        raise NotExamined("no weight moves")
    weight = max(moved, key=Tensor.numel)
    left = torch.randn(weight.shape, generator=torch.Generator().manual_seed(4)).to(weight)
    left /= left.norm()
    one, other = (_gradient_after_a_step(bench, weight, sign * left) for sign in (1, -1))
    if one is None or other is None:
        return Outcome("yes")
    difference = float((one - other).norm() / (one.norm() + other.norm()).clamp_min(1e-12))
    word = "no" if difference > 0.01 else "yes"
    return Outcome(word, {"share by which the gradients differ": difference})


def _gradient_after_a_step(bench: Bench, weight: nn.Parameter, left: Tensor) -> Tensor | None:
    """Return a weight's gradient after a step before which ``left`` was there.

    None if the step leaves none, or just that: it keeps its gradients elsewhere.
    """
    with bench.untouched():
        torch.manual_seed(5)  # the same dropout each time
        weight.grad = left.clone()
        bench.step(*_batch(bench, bench.pairs))
        unused = weight.grad is None or torch.equal(weight.grad, left)
        return None if unused else weight.grad.clone()


@experiment(
    "shrinking",
    "Does a step do more than make all weights smaller?",
    fine="yes",
    wrong="no",
    needs="training_step",
)
def shrinking(bench: Bench) -> Outcome:
    """Measure how much of all movement is towards 0."""
    weight, direction = bench.once(_a_direction)
    # By distance: AdamW shrinks all weights too, and those without a gradient do nothing else.
    towards_zero = direction.abs()[direction * weight.detach().cpu() < 0].sum()
    share = float(towards_zero / direction.abs().sum())
    return Outcome("no" if share > MOST else "yes", {"share of all movement towards 0": share})


@experiment(
    "memory of a step",
    "Does a step depend on the steps before it?",
    fine="yes | no, it follows the gradient",
    wrong="no, and each weight moves equally far",
    needs="training_step",
)
def memory_of_a_step(bench: Bench) -> Outcome:
    """Take the same step after steps on other pairs; Adam's first step moves all equally far."""
    if shrinking(bench).word == "no":
        raise NotExamined("a step makes all weights smaller, whatever came before it")
    weight, first = bench.once(_a_direction)
    second = _direction_after(bench, weight, [bench.other_pairs[1:]])
    difference = float((first - second).norm())
    distances = first[first != 0].abs()
    equal = (distances / distances.median() - 1).abs() < EQUALLY
    share = float(equal.float().mean())
    numbers = {
        "share by which the step differs": difference,
        "share of weights that move equally far": share,
    }
    if difference > 0.01:
        return Outcome("yes", numbers)
    moves_equally = share > MOST
    word = (
        "no, and each weight moves equally far" if moves_equally else "no, it follows the gradient"
    )
    return Outcome(word, numbers)


def _a_direction(bench: Bench) -> tuple[nn.Parameter, Tensor]:
    """Return the largest matrix that moves, and in which direction a step moves it."""
    steps = bench.once(_three_steps)
    if steps.largest_share < HARDLY:
        raise NotExamined("steps are so small that rounding takes some of them away")
    if steps.largest_share > TOO_FAR:
        raise NotExamined("steps go so far that nothing is left of the weights")
    weight = max((each for each in steps.moved if each.dim() > 1), key=Tensor.numel)
    return weight, _direction_after(bench, weight, [bench.other_pairs, bench.other_pairs[:1]])


def _direction_after(bench: Bench, weight: nn.Parameter, before: list[list[Pair]]) -> Tensor:
    """Return in which direction a step moves a weight, after steps on other pairs are undone."""
    for pairs in before:
        with bench.untouched():
            bench.step(*_batch(bench, pairs))
    value = weight.detach().clone()
    with bench.untouched():
        torch.manual_seed(5)  # the same dropout each time
        bench.step(*_batch(bench, bench.pairs))
        moved = weight.detach() - value
    return (moved / moved.norm().clamp_min(1e-30)).cpu()
