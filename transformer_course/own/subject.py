"""A learner's whole file as a subject: the parts together, and the lines around them."""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from transformer_course.examine import Examination, ExaminationError, Subject, examine
from transformer_course.own import check
from transformer_course.own.location import NAME

WORDS = 24
"""Ids of each language, the four special ones included."""
SIZES = {"d_model": 32, "heads": 4, "encoder_layers": 2, "decoder_layers": 2, "d_ff": 64}
STEPS, WARM_UP = 1000, 40
"""Of a training that is never finished: a dozen pairs are learned before its rate falls."""


ENOUGH = 0.5
"""Share of dev sentences that a translator of the toy language says rightly after its training."""
SECONDS = 30.0
"""For the examination of a small model, which takes four."""


def examined(whole: ModuleType) -> Examination:
    """Examine a learner's file.

    Raises
    ------
    ExaminationError
        If its model cannot be called.
    """
    return examine(lambda: subject_of(whole), SECONDS, name=NAME)


def finding(whole: ModuleType) -> str:
    """Return what an examination of a learner's file found; nothing if all is well."""
    try:
        found = examined(whole)
    except ExaminationError as error:
        return str(error)
    return str(found) if found.observed.failing else ""


def reason(whole: ModuleType) -> str:
    """Say in a sentence or two what is wrong between the parts, if it has a name; else nothing."""
    try:
        faults = examined(whole).faults
    except ExaminationError as error:
        return f" {error}"
    return "".join(f" It is {fault.name}. {fault.change}" for fault in faults)


def advice(trainer: Any) -> Examination | None:
    """Examine a learner's file if a training with its `Trainer` plainly failed.

    It did where it went to its end and then says fewer than half of the dev sentences rightly.
    """
    last = trainer.history[-1] if trainer.history else {}
    finished = trainer.step >= trainer.steps
    if not finished or last.get("dev_exact_match", 1.0) >= ENOUGH:
        return None
    return examined(sys.modules[type(trainer).__module__])


def is_own(place: str) -> bool:
    """Whether a path is that of a learner's file."""
    return Path(place).name == NAME


def load(path: Path) -> tuple[str, Callable[[], Subject]]:
    """Return the name of a learner's file, and what makes a subject of it.

    Raises
    ------
    FileError, OSError
        As :func:`transformer_course.own.check.load`.
    """
    module = check.load(path)
    return str(path), lambda: subject_of(module)


def subject_of(whole: ModuleType) -> Subject:
    """Return a subject of a learner's file: its `Trainer` trains, its `Translator` translates."""
    known = {f"w{number}": number for number in range(4, WORDS)}
    special = {"<pad>": whole.PAD, "<bos>": whole.BOS, "<eos>": whole.EOS, "<unk>": whole.UNK}
    torch.manual_seed(0)
    config = whole.TransformerConfig(WORDS, WORDS, **SIZES)
    translator = whole.Translator(whole.Transformer(config), special | known, special | known)
    trainer = whole.Trainer(translator, [("w4", "w5")] * 2, [], steps=STEPS, warmup=WARM_UP)

    def text(ids: list[int]) -> str:
        return " ".join(f"w{number}" for number in ids)

    def ids(said: str) -> list[int]:
        return [known.get(word, whole.UNK) for word in said.split()]

    return Subject(
        translator.network,
        source_vocab=WORDS,
        target_vocab=WORDS,
        pad=whole.PAD,
        bos=whole.BOS,
        eos=whole.EOS,
        unknown=whole.UNK,
        collate=lambda pairs: whole.collate(pairs, whole.BOS, whole.EOS, whole.PAD),
        loss=lambda scores, target_out: whole.smoothed_cross_entropy(
            scores.flatten(0, 1), target_out.flatten(), 0.0, whole.PAD
        ),
        training_step=lambda *batch: one_step(trainer, batch),
        translate=lambda sentences: [ids(s) for s in translator.translate([*map(text, sentences)])],
        beam=lambda sentences: [
            ids(translator.search(text(sentence), beam=4, alpha=0.0)) for sentence in sentences
        ],
    )


class _StepTaken(Exception):  # noqa: N818 - no error: it ends a training after one step
    pass


def one_step(trainer: Any, batch: tuple[Tensor, ...]) -> float:
    """Let a learner's `Trainer` take one step on a batch."""
    batches = iter([batch])

    def next_batch() -> tuple[Tensor, ...]:
        try:
            return next(batches)
        except StopIteration:
            raise _StepTaken from None

    trainer.next_batch, trainer.look = next_batch, lambda watch: None
    with contextlib.suppress(_StepTaken):
        trainer.train()
    return trainer.losses[-1]
