"""One update of the weights."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_course.checker.cases import Case
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own


class _SmallNetwork(nn.Module):
    """A stand-in for the Transformer: scores from the token just read and the source's mean."""

    def __init__(self) -> None:
        super().__init__()
        self.source = nn.Embedding(8, 4)
        self.target = nn.Embedding(8, 4)
        self.output = nn.Linear(4, 8)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.output(self.target(target) + self.source(source).mean(dim=1, keepdim=True))


def _two_steps(code: Callable, *batch_and_smoothing: Tensor | float) -> dict:
    """Train a small model by two steps; return both losses and the sum of each parameter."""
    *batch, smoothing = batch_and_smoothing
    torch.manual_seed(0)
    network = _SmallNetwork().double()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.5)
    losses = [code(network, optimizer, *batch, 0, smoothing) for _ in range(2)]
    with torch.no_grad():
        weights = [
            (p * torch.arange(p.numel()).view_as(p).cos()).sum() for p in network.parameters()
        ]
    return {"losses": losses, "weights": torch.stack(weights)}


_PADDED = (
    torch.tensor([[4, 5, 6, 2], [5, 2, 0, 0]]),
    torch.tensor([[1, 6, 7, 5], [1, 4, 0, 0]]),
    torch.tensor([[6, 7, 5, 2], [4, 2, 0, 0]]),
)
_WHOLE = torch.tensor([[4, 3, 2]]), torch.tensor([[1, 6]]), torch.tensor([[6, 2]])


@exercise(
    cases=[
        Case(
            (*_PADDED, 0.0),
            observe=_two_steps,
            looks_at="the losses of two steps on one batch, and the weights after them",
        ),
        Case(
            (*_WHOLE, 0.0),
            observe=_two_steps,
            looks_at="the same on a batch without padding",
        ),
        Case(
            (*_PADDED, 0.1),
            observe=_two_steps,
            looks_at="the same on the first batch with `smoothing=0.1`",
        ),
    ],
    hints=[
        "Ask of each line: what goes in, and what comes out? Which of the two targets may the "
        "decoder read, and which must it predict?",
        "Which tokens should the loss leave out? And what does `backward()` do with gradients "
        "that are already there?",
        "The decoder reads `target_in` and predicts `target_out`; the loss is "
        "`own.smoothed_cross_entropy(logits.flatten(0, 1), target_out.flatten(), smoothing, pad)`; "
        "`zero_grad()` comes before `backward()`, and `step()` after it.",
    ],
)
def training_step(network, optimizer, source, target_in, target_out, pad, smoothing=0.0) -> float:
    """Update the weights once on a batch; return its loss per real token as a number."""
    logits = network(source, target_in)
    loss = own.smoothed_cross_entropy(logits.flatten(0, 1), target_out.flatten(), smoothing, pad)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


training_step.mistake(
    "the decoder reads what it must predict",
    edits=[("network(source, target_in)", "network(source, target_out)")],
    observed="`target_out` goes into the model and is compared with what comes out: each answer "
    "stands in front of the question, so the loss says nothing.",
    change="Feed `target_in`.",
)
training_step.mistake(
    "the model is taught to repeat its input",
    edits=[("target_out.flatten()", "target_in.flatten()")],
    observed="The loss compares with `target_in`, which the decoder has just read.",
    change="Compare with `target_out`, which is one token ahead.",
)
training_step.mistake(
    "padding counts like a word",
    edits=[(", pad)", ", pad=-1)")],
    observed="The loss changes with the amount of padding: predicting padding is rewarded.",
    change="Give `pad` to `own.smoothed_cross_entropy`, or `ignore_index=pad` to `cross_entropy`.",
)
training_step.mistake(
    "the loss is a sum, not a mean",
    edits=[(", pad)", ", pad) * (target_out != pad).sum()")],
    observed="The loss, and with it the step, grows with the number of tokens in the batch.",
    change="Use the mean over the real tokens, which is what `own.smoothed_cross_entropy` returns.",
)
training_step.mistake(
    "the softmax is taken twice",
    edits=[("logits.flatten", "logits.softmax(dim=-1).flatten")],
    observed="The loss starts near ln(vocab) and cannot fall to 0: the loss function takes a "
    "softmax itself.",
    change="Give it the logits.",
)
training_step.mistake(
    "old gradients are never cleared",
    edits=[("    optimizer.zero_grad()\n", "")],
    observed="The first step is right, the second uses the sum of both gradients.",
    change="Call `optimizer.zero_grad()` before `loss.backward()`.",
)
training_step.mistake(
    "the weights never change",
    edits=[
        (
            "    optimizer.zero_grad()\n    loss.backward()\n",
            "    loss.backward()\n    optimizer.zero_grad()\n",
        )
    ],
    observed="The weights after two steps are those from the beginning: a step without fresh "
    "gradients, or no step at all.",
    change="In this order: `optimizer.zero_grad()`, `loss.backward()`, `optimizer.step()`.",
)
training_step.mistake(
    "the step comes before the gradient",
    edits=[
        (
            "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n",
            "    optimizer.step()\n    optimizer.zero_grad()\n    loss.backward()\n",
        )
    ],
    observed="The first call moves nothing and the second one uses the first one's gradient: "
    "each step is one batch late.",
    change="Call `loss.backward()` before `optimizer.step()`.",
)
training_step.mistake(
    "the labels are never smoothed",
    edits=[("smoothing, pad)", "0.0, pad)")],
    observed="With `smoothing=0.1` the loss is the plain one.",
    change="Pass `smoothing` on to the loss.",
)
training_step.mistake(
    "the labels are always smoothed",
    edits=[("smoothing, pad)", "0.1, pad)")],
    observed="Without smoothing the loss is higher than wanted: it has a floor.",
    change="Pass the argument `smoothing` on to the loss, not a number of your own.",
)
training_step.mistake(
    "it is the broken step, with all its bugs",
    edits=[
        ("network(source, target_in)", "network(source, target_out)"),
        (", pad)", ", pad=-1)"),
        ("    optimizer.zero_grad()\n", ""),
    ],
    observed="The results are those of `broken_training_step`.",
    change="Look at its first, second and third line: what may the decoder read, which tokens "
    "count, and what happens to the gradients of the step before?",
)
