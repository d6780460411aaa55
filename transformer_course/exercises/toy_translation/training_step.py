"""One update of the weights."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_course.checker.cases import Case, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.exercises.toy_translation.smoothed_cross_entropy import (
    smoothed_cross_entropy,
)

_WEIGHTS = [
    vectors(*shape, seed=seed).double() for seed, shape in enumerate([(8, 4), (8, 4), (4, 8)])
]


class _SmallNetwork(nn.Module):
    """A stand-in for the Transformer: scores from the token just read and the source's mean."""

    def __init__(self) -> None:
        super().__init__()
        # Made in a moment, unlike layers: a check makes hundreds of networks.
        self.source, self.target, self.output = (
            nn.Parameter(weights.clone()) for weights in _WEIGHTS
        )

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        mean = self.source[source].mean(dim=1, keepdim=True)
        return (self.target[target] + mean) @ self.output


def _two_steps(code: Callable, make_network: type, make_optimizer: type, *batch: Tensor) -> dict:
    """Train a small model by two steps; return both losses and the sum of each parameter."""
    network = make_network()
    optimizer = make_optimizer(network.parameters(), lr=0.5)
    losses = [code(network, optimizer, *batch) for _ in range(2)]
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
_OTHER_PAD = tuple(torch.where(ids == 0, 3, torch.where(ids == 4, 0, ids)) for ids in _PADDED)


def _case(batch: tuple[Tensor, ...], pad: int, smoothing: float, looks_at: str) -> Case:
    return Case(
        (_SmallNetwork, torch.optim.SGD, *batch, pad, smoothing),
        observe=_two_steps,
        looks_at=looks_at,
        written=f"(network, optimizer, source, target_in, target_out, {pad}, {smoothing})",
    )


@exercise(
    cases=[
        _case(_PADDED, 0, 0.0, "the losses of two steps on one batch, and the weights after them"),
        _case(_WHOLE, 0, 0.0, "the same on a batch without padding"),
        _case(_PADDED, 0, 0.1, "the same on the first batch with `smoothing=0.1`"),
        _case(_OTHER_PAD, 3, 0.0, "the same where padding is 3, and 0 is a word"),
    ],
    parts={"own.smoothed_cross_entropy": smoothed_cross_entropy},
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


_LOSS = "own.smoothed_cross_entropy(logits.flatten(0, 1), target_out.flatten(), smoothing, pad)"

training_step.mistake(
    "the decoder reads what it must predict",
    edits=[("network(source, target_in)", "network(source, target_out)")],
    observed="`target_out` goes into the model and is compared with what comes out: each answer is "
    "right in front of the question, so the loss says nothing.",
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
    "0 is left out instead of `pad`",
    edits=[("smoothing, pad)", "smoothing, 0)")],
    observed="With `pad=3` padding counts, and the word of id 0 does not.",
    change="Use the argument `pad`.",
)
training_step.mistake(
    "the sum leaves padding out, the count does not",
    edits=[
        (
            "return own.masked_mean(per_token, targets != pad)",
            "return (per_token * (targets != pad)).mean()",
        )
    ],
    observed="The sum is divided by all places of the batch, so padding makes the loss smaller.",
    change="Divide by the number of real tokens.",
)
training_step.mistake(
    "the loss is divided by the number of sentences",
    edits=[
        ("loss.backward()", "loss *= (target_out != pad).sum() / len(source)\n    loss.backward()")
    ],
    observed="The loss grows with the length of the sentences.",
    change="Divide by the number of real tokens, as `own.smoothed_cross_entropy` does.",
)
training_step.mistake(
    "the returned loss is a sum",
    edits=[("loss.item()", "loss.item() * int((target_out != pad).sum())")],
    observed="The weights are right, and the first loss is the wanted one times the number of "
    "real tokens.",
    change="Return the mean itself, `loss.item()`.",
)
training_step.mistake(
    "`smoothing` and `pad` have changed places",
    edits=[("target_out.flatten(), smoothing, pad)", "target_out.flatten(), pad, smoothing)")],
    observed="With `pad=0` and no smoothing both are 0 and all is right; otherwise it is not.",
    change="`own.smoothed_cross_entropy` takes `(logits, targets, smoothing, pad)`.",
)
training_step.mistake(
    "the targets are shifted once more",
    edits=[
        ("network(source, target_in)", "network(source, target_in[:, :-1])"),
        ("target_out.flatten()", "target_out[:, 1:].flatten()"),
    ],
    observed="You drop the last token that goes in and the first that comes out: two tokens lie "
    "between what is read and what is predicted.",
    change="Use both as they are: `collate` has shifted them already.",
)
for _these, _those, _old, _new in [
    ("logits", "targets", "logits.flatten(0, 1)", "logits.transpose(0, 1).flatten(0, 1)"),
    ("targets", "logits", "target_out.flatten()", "target_out.T.flatten()"),
]:
    training_step.mistake(
        f"the {_these} are flattened in another order than the {_those}",
        edits=[(_old, _new)],
        observed="With a single sentence everything is right. With two, logits are compared with "
        "targets at other places.",
        change="Flatten both sentence by sentence: `logits.flatten(0, 1)` and "
        "`target_out.flatten()`.",
    )
training_step.mistake(
    "the words of the logits are on the wrong axis",
    edits=[
        (
            _LOSS,
            "nn.functional.cross_entropy(logits, target_out, ignore_index=pad)",
        )
    ],
    observed="torch's `cross_entropy` looks for the words on the second axis; your logits have "
    "them on the third.",
    change="Flatten the logits to (tokens, vocab) and the targets to (tokens).",
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
    "the weights do not change",
    edits=[
        (
            "    optimizer.zero_grad()\n    loss.backward()\n",
            "    loss.backward()\n    optimizer.zero_grad()\n",
        )
    ],
    observed="The weights after two steps are those from the beginning: there was no step, or no "
    "gradient when it came.",
    change="Call `optimizer.zero_grad()`, `loss.backward()`, `optimizer.step()` in this order, "
    "with a loss computed from the network's logits without `no_grad`, `detach` or a new tensor.",
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


def _sentence_by_sentence(
    network, optimizer, source, target_in, target_out, pad, smoothing=0.0
) -> float:
    sentences = zip(source.split(1), target_in.split(1), target_out.split(1), strict=True)
    step = training_step.task.answer
    losses = [step(network, optimizer, *sentence, pad, smoothing) for sentence in sentences]
    return sum(losses) / len(losses)


training_step.mistake(
    "each sentence is a step of its own",
    body=_sentence_by_sentence,
    observed="The weights change once for each sentence, and the loss is the mean of the "
    "sentences' means. With a single sentence everything is right.",
    change="Give the whole batch to the network and call `optimizer.step()` once.",
)
training_step.mistake(
    "it is the mean of each sentence's mean",
    edits=[
        (
            _LOSS,
            "sum(map(lambda *row: own.smoothed_cross_entropy(*row, smoothing, pad), "
            "logits, target_out)) / len(logits)",
        )
    ],
    observed="A word in a short sentence weighs more than one in a long sentence. With a single "
    "sentence everything is right.",
    change="Flatten the whole batch and take one mean over all its real tokens.",
)
training_step.mistake(
    "source and target have changed places",
    edits=[("network(source, target_in)", "network(target_in, source)")],
    observed="The encoder gets the target, the decoder the source.",
    change="Call `network(source, target_in)`.",
)
training_step.mistake(
    "the gradients are clipped",
    edits=[
        (
            "    optimizer.step()",
            "    nn.utils.clip_grad_norm_(network.parameters(), 1.0)\n    optimizer.step()",
        )
    ],
    observed="The first loss is right. The step is shorter than wanted, as if the gradients had "
    "been made smaller first.",
    change="Leave the gradients as they are; here the step is the plain one.",
)


def _unflattened(network, optimizer, source, target_in, target_out, pad, smoothing=0.0) -> float:
    loss = own.smoothed_cross_entropy(network(source, target_in), target_out, smoothing, pad)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


training_step.mistake(
    "logits and targets are not flattened",
    body=_unflattened,
    observed="`own.smoothed_cross_entropy` gets logits with three axes and targets with two, and "
    "compares logits with targets of other sentences.",
    change="Give it `logits.flatten(0, 1)` and `target_out.flatten()`.",
)
training_step.mistake(
    "the end token is never predicted",
    edits=[
        ("logits.flatten(0, 1)", "logits[:, :-1].flatten(0, 1)"),
        ("target_out.flatten()", "target_in[:, 1:].flatten()"),
    ],
    observed="You compare with `target_in` shifted by one, which holds the words and no `eos`.",
    change="Compare all logits with `target_out`, whose rows end with `eos`.",
)
training_step.mistake(
    "the loss is that of the changed weights",
    edits=[
        (
            "    optimizer.step()",
            f"    optimizer.step()\n    logits = network(source, target_in)\n    loss = {_LOSS}",
        )
    ],
    observed="The weights are right. The first loss is what should come second: you compute it "
    "again after the step.",
    change="Return the loss that `backward()` was called on.",
)
for _optimizer, _made in {
    "Adam": "torch.optim.Adam(network.parameters(), lr=1e-3)",
    "SGD": "torch.optim.SGD(network.parameters(), lr=0.01)",
}.items():
    training_step.mistake(
        f"a new optimizer, {_optimizer}, takes the place of the given one",
        edits=[('as a number."""', f'as a number."""\n    optimizer = {_made}')],
        observed="The first loss is right, and the step has another length: it is not that of the "
        "optimizer that is given, and what it remembers is lost after each call.",
        change="Use the argument `optimizer`.",
    )
training_step.mistake(
    "the returned loss is divided by the number of tokens once more",
    edits=[("loss.item()", "loss.item() / int((target_out != pad).sum())")],
    observed="The weights are right, and the first loss is the wanted one divided by the number "
    "of real tokens.",
    change="Return the mean itself, `loss.item()`.",
)
training_step.mistake(
    "the returned loss is multiplied by the number of places",
    edits=[("loss.item()", "loss.item() * target_out.numel()")],
    observed="The weights are right, and the first loss is the wanted one times the number of "
    "tokens, padding included.",
    change="Return the mean itself, `loss.item()`.",
)
