"""One update of the weights."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_course.checker.cases import Case
from transformer_course.checker.exercise import exercise


class _SmallNetwork(nn.Module):
    """A stand-in for the Transformer: scores from the token just read and the source's mean."""

    def __init__(self) -> None:
        super().__init__()
        self.source = nn.Embedding(8, 4)
        self.target = nn.Embedding(8, 4)
        self.output = nn.Linear(4, 8)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.output(self.target(target) + self.source(source).mean(dim=1, keepdim=True))


def _two_steps(code: Callable, source: Tensor, target_in: Tensor, target_out: Tensor) -> dict:
    """Train a small model by two steps; return both losses and the sum of each parameter."""
    torch.manual_seed(0)
    network = _SmallNetwork().double()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.5)
    losses = [code(network, optimizer, source, target_in, target_out, 0) for _ in range(2)]
    with torch.no_grad():
        weights = [
            (p * torch.arange(p.numel()).view_as(p).cos()).sum() for p in network.parameters()
        ]
    return {"losses": losses, "weights": torch.stack(weights)}


@exercise(
    cases=[
        Case(
            (
                torch.tensor([[4, 5, 6, 2], [5, 2, 0, 0]]),
                torch.tensor([[1, 6, 7, 5], [1, 4, 0, 0]]),
                torch.tensor([[6, 7, 5, 2], [4, 2, 0, 0]]),
            ),
            observe=_two_steps,
            looks_at="the losses of two steps on one batch, and the weights after them",
        ),
        Case(
            (
                torch.tensor([[4, 3, 2]]),
                torch.tensor([[1, 6]]),
                torch.tensor([[6, 2]]),
            ),
            observe=_two_steps,
            looks_at="the same on a batch without padding",
        ),
    ],
    hints=[
        "Ask of each line: what goes in, and what comes out? Which of the two targets may the "
        "decoder read, and which must it predict?",
        "Which tokens should the loss leave out? And what does `backward()` do with gradients "
        "that are already there?",
        "The decoder reads `target_in` and predicts `target_out`; `ignore_index=pad` leaves "
        "padding out; `zero_grad()` comes before `backward()`, and `step()` after it.",
    ],
)
def training_step(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    source: Tensor,
    target_in: Tensor,
    target_out: Tensor,
    pad: int,
) -> float:
    """Update the weights once on a batch; return its loss per real token as a number."""
    logits = network(source, target_in)
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), target_out, ignore_index=pad)
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
    edits=[("target_out, ignore", "target_in, ignore")],
    observed="The loss compares with `target_in`, which the decoder has just read.",
    change="Compare with `target_out`, which is one token ahead.",
)
training_step.mistake(
    "padding counts like a word",
    edits=[(", ignore_index=pad", "")],
    observed="The loss changes with the amount of padding: predicting padding is rewarded.",
    change="Give `ignore_index=pad` to `cross_entropy`.",
)
training_step.mistake(
    "the loss is a sum, not a mean",
    edits=[("ignore_index=pad", 'ignore_index=pad, reduction="sum"')],
    observed="The loss, and with it the step, grows with the number of tokens in the batch.",
    change="Use the mean over the real tokens, which is what `cross_entropy` does by itself.",
)
training_step.mistake(
    "the softmax is taken twice",
    edits=[("logits.transpose", "logits.softmax(dim=-1).transpose")],
    observed="The loss starts near ln(vocab) and cannot fall to 0: `cross_entropy` takes a "
    "softmax itself.",
    change="Give the logits to `cross_entropy`.",
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
    "the labels are smoothed",
    edits=[("ignore_index=pad", "ignore_index=pad, label_smoothing=0.1")],
    observed="The loss is higher than wanted: it has a floor.",
    change="Leave `label_smoothing` out; here the plain loss is asked for.",
)
training_step.mistake(
    "it is the broken step, with all its bugs",
    edits=[
        ("network(source, target_in)", "network(source, target_out)"),
        (", ignore_index=pad", ""),
        ("    optimizer.zero_grad()\n", ""),
    ],
    observed="The results are those of `broken_training_step`.",
    change="Look at its first, second and third line: what may the decoder read, which tokens "
    "count, and what happens to the gradients of the step before?",
)
