"""Greedy decoding, of a batch of sentences at once."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.decoding.inputs import BOS, EOS

# An interpreter's logits, by source word and token just read: made once, because the first check
# translates hundreds of times.
_IDS = torch.arange(10)
_SAID = torch.where(_IDS[:, None] == EOS, EOS, 3 + (3 * _IDS[:, None] + _IDS) % 5)
_LOGITS = -(torch.arange(10.0) - _SAID[..., None]).abs()


class _Interpreter(nn.Module):
    """A stand-in for the Transformer with a rule for its next token, which counts calls.

    After t tokens it says a word made from the source's word t and the token just read, so that
    another beginning, a shorter prefix or another position give another sentence. Where the source
    ends it says ``eos``; asked for more, it goes on with words.
    """

    def __init__(self, pad: int) -> None:
        super().__init__()
        self.config = SimpleNamespace(pad_id=pad, max_len=50)
        self.calls_of_encode = 0
        self.dropout_was_on = self.gradients_were_on = False

    def encode(self, source_ids: Int[Tensor, "batch source"]) -> Float[Tensor, "batch source 1"]:
        self.calls_of_encode += 1
        return source_ids[..., None].double()

    def decode(
        self,
        target_ids: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source 1"],
        source_ids: Int[Tensor, "batch source"],
    ) -> Float[Tensor, "batch target vocab"]:
        self.dropout_was_on |= self.training
        self.gradients_were_on |= torch.is_grad_enabled()
        places = torch.arange(target_ids.shape[1]).clamp(max=memory.shape[1] - 1)
        words = memory[:, places, 0].long()
        return _LOGITS[words, target_ids.long()]

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        return self.decode(target_ids, self.encode(source_ids), source_ids)


def _translated(code: Callable, config: SimpleNamespace, *arguments: Any) -> dict:
    """Translate with the interpreter, which begins in training mode, as every module does."""
    return {"tokens": code(_Interpreter(config.pad_id), *arguments)}


def _how(code: Callable, config: SimpleNamespace, *arguments: Any) -> dict:
    """Look at how the network is called."""
    network = _Interpreter(config.pad_id)
    code(network, *arguments)
    return {
        "calls of encode": network.calls_of_encode,
        "dropout on": network.dropout_was_on,
        "gradients on": network.gradients_were_on,
    }


def _greedy_case(
    rows: list[list[int]], pad: int, max_length: int, observe: Callable = _translated
) -> Case:
    batch = f"source_ids of shape [{len(rows)}, {len(rows[0])}]"
    return Case(
        (SimpleNamespace(pad_id=pad), torch.tensor(rows), BOS, EOS, max_length),
        observe=observe,
        looks_at="how the network is called" if observe is _how else "",
        written=f"(network, {batch}, bos={BOS}, eos={EOS}, max_length={max_length})",
    )


def _begins_with_a_word(value: dict, case: Case) -> bool:
    return bool((value["tokens"][:, 0] != BOS).all())


def _nothing_after_the_end(value: dict, case: Case) -> bool:
    pad = case.inputs[0].pad_id
    ended = (value["tokens"] == EOS).int().cumsum(dim=1) - (value["tokens"] == EOS).int() > 0
    return bool((value["tokens"][ended] == pad).all())


@exercise(
    cases=[
        _greedy_case([[4, 6, 2]], pad=0, max_length=5),
        _greedy_case([[4, 6, 2, 0, 0], [5, 4, 3, 8, 2], [7, 2, 0, 0, 0]], pad=0, max_length=9),
        _greedy_case([[9, 4, 3, 6, 2], [4, 5, 2, 8, 8]], pad=8, max_length=7),
        _greedy_case([[5, 8, 4, 4, 6, 2], [3, 2, 0, 0, 0, 0]], pad=0, max_length=3),
        _greedy_case([[3, 4, 2], [7, 7, 2]], pad=0, max_length=6),
        _greedy_case([[3, 4, 2], [7, 7, 2]], pad=0, max_length=6, observe=_how),
    ],
    properties=[
        Property("the begin token is not in the result", _begins_with_a_word),
        Property("after its end a row holds only padding", _nothing_after_the_end),
    ],
    hints=[
        "Play decoder on paper with two sentences, one shorter. What do you read at the start, "
        "what do you append, and what happens to the short row while the long one goes on?",
        "Keep two things beside the target: the memory, made once before the loop, and a boolean "
        "per row that says whether it has ended. The scores for the next token are at the last "
        "position, `[:, -1]`.",
        "In the loop: `token = logits.argmax(dim=-1).masked_fill(ended, network.config.pad_id)`, "
        "append it with `torch.cat`, then `ended = ended | (token == eos)`, and leave the loop if "
        "`ended.all()`. `with model.evaluating(network):` goes around all of it.",
    ],
)
def greedy(network: nn.Module, source_ids: Tensor, bos: int, eos: int, max_length: int) -> Tensor:
    """Return the most probable tokens [B, at most max_length], ended rows filled with padding."""
    target = source_ids.new_full((len(source_ids), 1), bos)
    ended = torch.zeros(len(source_ids), dtype=torch.bool)
    with model.evaluating(network):
        memory = network.encode(source_ids)
        for _ in range(max_length):
            logits = network.decode(target, memory, source_ids)[:, -1]
            token = logits.argmax(dim=-1).masked_fill(ended, network.config.pad_id)
            target = torch.cat([target, token[:, None]], dim=1)
            ended = ended | (token == eos)
            if ended.all():
                break
    return target[:, 1:]
