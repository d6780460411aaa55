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


greedy.mistake(
    "tokens follow the end of a sentence",
    edits=[(".masked_fill(ended, network.config.pad_id)", "")],
    observed="A short row goes on with words after `eos` while a longer one is still being "
    "translated.",
    change="Fill rows that have ended: `token.masked_fill(ended, network.config.pad_id)`.",
)
greedy.mistake(
    "the begin token is in the result",
    edits=[("target[:, 1:]", "target")],
    observed="Every row begins with `bos`.",
    change="Return `target[:, 1:]`.",
)
greedy.mistake(
    "dropout is on and gradients are recorded",
    edits=[("model.evaluating(network)", "torch.enable_grad()")],
    observed="The tokens are right here, where the network has no dropout. A real one would give "
    "another translation at every call, and keep each pass in memory.",
    change="Write `with model.evaluating(network):` around the loop.",
)
greedy.mistake(
    "dropout is on",
    edits=[("model.evaluating(network)", "torch.no_grad()")],
    observed="The network is in training mode while you decode, so that a real one gives another "
    "translation at every call.",
    change="Write `with model.evaluating(network):` around the loop, or call `network.eval()`.",
)
greedy.mistake(
    "`max_length` counts the begin token",
    edits=[("range(max_length)", "range(max_length - 1)")],
    observed="A sentence that is cut off has one token less than `max_length`.",
    change="Run the loop `max_length` times: it counts produced tokens.",
)
greedy.mistake(
    "the end token itself is replaced by padding",
    edits=[("token[:, None]", "token.masked_fill(token == eos, network.config.pad_id)[:, None]")],
    observed="No row shows whether it ended by itself or `max_length` cut it off.",
    change="Mark a row as ended only after its `eos` has been appended.",
)
greedy.mistake(
    "the source is encoded again for each token",
    edits=[("memory, source_ids)", "network.encode(source_ids), source_ids)")],
    observed="The tokens are right, but `encode` is called once more for each of them.",
    change="Call `network.encode` once, before the loop, and call `network.decode` in it.",
)
greedy.mistake(
    "the source is encoded again for each token, and only there",
    edits=[
        ("        memory = network.encode(source_ids)\n", ""),
        ("memory, source_ids)", "network.encode(source_ids), source_ids)"),
    ],
    observed="The tokens are right, but `encode` is called once for each of them.",
    change="Move `network.encode` in front of the loop; `network(source_ids, target)` encodes too.",
)
greedy.mistake(
    "the decoder reads only the newest token",
    edits=[("decode(target,", "decode(target[:, -1:],")],
    observed="The first word is right. From then on the network believes that it is at the first "
    "position: without a cache it needs the whole target so far.",
    change="Give `network.decode` all tokens, `bos` included.",
)
greedy.mistake(
    "ended rows are filled with 0",
    edits=[("network.config.pad_id", "0")],
    observed="With a network whose padding is 8, short rows end in 0, an ordinary token.",
    change="Fill with `network.config.pad_id`.",
)
greedy.mistake(
    "the next token is read at the first position",
    edits=[("source_ids)[:, -1]", "source_ids)[:, 0]")],
    observed="The first token comes out again and again: position 0 always scores the token after "
    "`bos`.",
    change="Read the last position, `logits[:, -1]`.",
)
greedy.mistake(
    "the end token stops nothing",
    edits=[("ended | (token == eos)", "ended")],
    observed="Every row has `max_length` tokens, with words after `eos`.",
    change="Remember which rows have produced `eos`, fill them with padding from then on, and stop "
    "when all have.",
)
greedy.mistake(
    "the loop goes on when all rows have ended",
    edits=[("ended.all()", "False")],
    observed="The result is right and then filled with padding up to `max_length`, with as many "
    "passes through the decoder for nothing.",
    change="Leave the loop when `ended.all()`.",
)
greedy.mistake(
    "the loop stops when the first row has ended",
    edits=[("ended.all()", "ended.any()")],
    observed="The longer sentences of a batch are cut off; one sentence alone is right.",
    change="Wait for all rows: `ended.all()`, not `ended.any()`.",
)
greedy.mistake(
    "only the first row's end counts",
    edits=[("ended.all()", "ended[0]")],
    observed="The loop stops when row 0 has ended: longer rows are cut off, and after shorter ones "
    "it goes on too long.",
    change="Ask all rows: `ended.all()`.",
)
greedy.mistake(
    "a row forgets that it has ended",
    edits=[("ended | (token == eos)", "(token == eos)")],
    observed="One place of padding follows `eos`, then the row goes on: `ended` knows only the "
    "newest token.",
    change="Keep what was known: `ended = ended | (token == eos)`.",
)
greedy.mistake(
    "all rows must end in the same step",
    edits=[
        ("ended | (token == eos)", "(token == eos)"),
        (".masked_fill(ended, network.config.pad_id)", ""),
    ],
    observed="Tokens follow the end of a short row, and where rows end in different steps the loop "
    "runs up to `max_length`: only the newest tokens are compared with `eos`.",
    change="Keep a boolean per row, `ended = ended | (token == eos)`, fill ended rows with padding "
    "and stop when `ended.all()`.",
)
greedy.mistake(
    "the loop ends only where all rows end in the same step",
    edits=[("if ended.all()", "if (token == eos).all()")],
    observed="Ended rows are padded rightly, but where rows end in different steps the loop runs "
    "up to `max_length`: only the newest tokens are compared with `eos`.",
    change="Ask what is known of all steps: `ended.all()`.",
)
greedy.mistake(
    "ended rows are filled with the end token",
    edits=[("network.config.pad_id", "eos")],
    observed="Short rows end in `eos`, `eos`, `eos`.",
    change="Fill with `network.config.pad_id`.",
)
greedy.mistake(
    "the target begins with padding",
    edits=[("1), bos)", "1), network.config.pad_id)")],
    observed="All words differ from those wanted: the network never saw a sentence begin with "
    "padding.",
    change="Begin with `bos`.",
)
greedy.mistake(
    "the target begins with the end token",
    edits=[("1), bos)", "1), eos)")],
    observed="All words differ from those wanted: the network learned to begin after `bos`.",
    change="Begin with `bos`.",
)
greedy.mistake(
    "gradients are recorded",
    edits=[("with model.evaluating(network)", "network.eval()\n    with torch.enable_grad()")],
    observed="The tokens are right, but each pass keeps its autograd graph in memory.",
    change="Write `with model.evaluating(network):` around the loop: it is `network.eval()` "
    "and `torch.no_grad()` in one.",
)
greedy.mistake(
    "the whole network is called for each token, as in training",
    edits=[
        ("model.evaluating(network)", "torch.enable_grad()"),
        ("        memory = network.encode(source_ids)\n", ""),
        ("memory, source_ids)", "network.encode(source_ids), source_ids)"),
    ],
    observed="The source is encoded once for each token, with dropout on and gradients recorded.",
    change="Write `with model.evaluating(network):` around all of it. Call `network.encode` "
    "once, before the loop, and `network.decode` in it.",
)
greedy.mistake(
    "one token more than `max_length`",
    edits=[("range(max_length)", "range(max_length + 1)")],
    observed="A sentence that is cut off has `max_length + 1` tokens.",
    change="Run the loop `max_length` times.",
)
greedy.mistake(
    "the last token is lost",
    edits=[("break", "return target[:, 1:-1]")],
    observed="When all rows have ended, the loop is left before their last token is appended: the "
    "longest row has no `eos`.",
    change="Append the token first, then ask whether all rows have ended.",
)
greedy.mistake(
    "the last column is always cut off",
    edits=[("target[:, 1:]", "target[:, 1:-1]")],
    observed="The longest row has no `eos`, and a sentence that is cut off has one token less than "
    "`max_length`.",
    change="Return `target[:, 1:]`: only `bos` is taken away.",
)
greedy.mistake(
    "`max_length` is not used",
    edits=[("range(max_length)", "range(network.config.max_len)")],
    observed="The sentence that should be cut off goes on to its end.",
    change="Run the loop at most `max_length` times.",
)
greedy.mistake(
    "the first sentence's tokens are given to all rows",
    edits=[("logits.argmax(dim=-1)", "logits[0].argmax().expand(len(logits))")],
    observed="A single sentence is right; in a batch all rows say what the first one says.",
    change="Take the best token of each row: `logits.argmax(dim=-1)`.",
)
greedy.mistake(
    "the least probable token is taken",
    edits=[("logits.argmax(dim=-1)", "logits.argmin(dim=-1)")],
    observed="All words differ from those wanted: each is the one with the lowest score.",
    change="Use `argmax`.",
)
