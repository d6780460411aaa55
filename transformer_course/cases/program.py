"""How the two kinds of programs that a case can be are trained, asked and taken apart.

A program is a file of somebody's. Nothing is replaced in it: what it does with a batch, a step or a
sentence is what its own functions do.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transformer_course.cases import spoken_numbers
from transformer_course.examine import Subject
from transformer_course.files import atomic_write
from transformer_course.own.file import read
from transformer_course.own.modules import module_of
from transformer_course.own.subject import one_step, subject_of
from transformer_course.translation import BOS, EOS, PAD, UNK

Batch = tuple[Tensor, Tensor, Tensor]
Watch = Callable[[int, float], None]
Text = list[tuple[str, str]]
WEIGHTS = "weights.pt"


@dataclass
class System:
    """A translator, and what belongs to it.

    Attributes
    ----------
    network
        The model.
    source, target
        The ids of the words of its two languages.
    scores
        From source ids and target ids, logits.
    translate
        From sources as lists of ids, translations as lists of ids.
    say
        From sentences, their translations.
    step
        One step of training on a batch; it returns the loss.
    """

    network: nn.Module
    source: dict[str, int]
    target: dict[str, int]
    scores: Callable[[Tensor, Tensor], Tensor]
    translate: Callable[[list[list[int]]], list[list[int]]]
    say: Callable[[list[str]], list[str]]
    step: Callable[..., float]


class Program:
    """A program in a folder, with the text that it learns from beside it."""

    def __init__(self, file: Path) -> None:
        self.folder = file.parent
        self.module = module_of(read(file), f"case_{file.parent.name}", str(file))

    def train(self, times: float = 1, watch: Watch = lambda step, loss: None) -> None:
        """Train as the program does, or ``times`` as long, and save the weights.

        ``watch`` is called with a step and its loss now and then.
        """
        raise NotImplementedError

    def trained(self) -> System:
        """Return what was saved, as the program itself loads it."""
        raise NotImplementedError

    def fresh(self) -> System:
        """Return a system that has learned nothing yet."""
        raise NotImplementedError

    def batches(self) -> Iterator[Batch]:
        """Yield the batches of the program's training."""
        raise NotImplementedError

    @contextmanager
    def weights_kept(self) -> Iterator[None]:
        """Put the saved weights back afterwards."""
        saved = (self.folder / WEIGHTS).read_bytes()
        try:
            yield
        finally:
            with atomic_write(self.folder / WEIGHTS) as temporary:
                temporary.write_bytes(saved)

    def subject(self) -> Subject:
        """Return the program, untrained, as what is examined."""
        raise NotImplementedError

    def text(self, split: str) -> Text:
        """Return the pairs of a split as its files have them."""
        files = spoken_numbers.sides(self.folder, split)
        lines = zip(*(file.read_text(encoding="utf-8").split("\n") for file in files), strict=True)
        return [(source, target) for source, target in lines if source and target]


class WithTorch(Program):
    """A program around `nn.Transformer`: functions, and constants at the top of the file."""

    def train(self, times: float = 1, watch: Watch = lambda step, loss: None) -> None:
        """Train as :meth:`Program.train` says."""
        usual, self.module.STEPS = self.module.STEPS, round(self.module.STEPS * times)
        try:
            self.module.train(self.folder, watch)
        finally:
            self.module.STEPS = usual

    def trained(self) -> System:
        """Return what was saved."""
        return self._system(*self.module.load(self.folder))

    def fresh(self) -> System:
        """Return a system that has learned nothing yet."""
        _, source, target = self.module.prepare(self.folder)
        return self._fresh(source, target)

    def _fresh(self, source: dict[str, int], target: dict[str, int]) -> System:
        torch.manual_seed(0)
        return self._system(self.module.Translator(len(source), len(target)), source, target)

    def batches(self) -> Iterator[Batch]:
        """Yield the batches of the training."""
        pairs, _, _ = self.module.prepare(self.folder)
        return self.module.batches(pairs, 0)

    def subject(self) -> Subject:
        """Return what is examined."""
        module = self.module
        pairs, source, target = module.prepare(self.folder)
        fresh = self._fresh(source, target)
        return Subject(
            fresh.network,
            source_vocab=len(source),
            target_vocab=len(target),
            pad=PAD,
            bos=BOS,
            eos=EOS,
            unknown=UNK,
            collate=module.collate,
            loss=module.loss_of,
            training_step=fresh.step,
            translate=fresh.translate,
            train=pairs,
            test=ids_of(fresh, self.text("test")),
        )

    def _system(self, network: nn.Module, source: dict[str, int], target: dict) -> System:
        module = self.module
        return System(
            network,
            source,
            target,
            scores=network,
            translate=lambda sentences: module.translate_ids(network, sentences),
            say=lambda sentences: module.translate((network, source, target), sentences),
            step=module.make_step(network),
        )


class WithParts(Program):
    """A `my_transformer.py` in which all parts are written out."""

    WIDTH = 48
    STEPS, BATCH_TOKENS, LOOK_EVERY = 600, 400, 25
    SMALL = 8
    """Test sentences that are looked at while it trains."""

    def train(self, times: float = 1, watch: Watch = lambda step, loss: None) -> None:
        """Train as :meth:`Program.train` says."""
        trainer = self._trainer(round(self.STEPS * times), self.text("test")[: self.SMALL])
        trainer.train(lambda trainer: watch(trainer.step, trainer.history[-1]["train_loss"]))
        torch.save(trainer.translator.network.state_dict(), self.folder / WEIGHTS)

    def trained(self) -> System:
        """Return what was saved."""
        system = self.fresh()
        weights = torch.load(self.folder / WEIGHTS, weights_only=True)
        system.network.load_state_dict(weights)
        system.network.eval()
        return system

    def fresh(self) -> System:
        """Return a system that has learned nothing yet."""
        trainer = self._trainer(self.STEPS, [])
        translator = trainer.translator

        def translate(sentences: list[list[int]]) -> list[list[int]]:
            texts = [words_of(sentence, translator.source) for sentence in sentences]
            said = translator.translate(texts)
            return [_ids(sentence, translator.target) for sentence in said]

        return System(
            translator.network,
            translator.source,
            translator.target,
            scores=translator.network,
            translate=translate,
            say=translator.translate,
            step=lambda *batch: one_step(trainer, batch),
        )

    def subject(self) -> Subject:
        """Return what is examined."""
        return subject_of(self.module)

    def batches(self) -> Iterator[Batch]:
        """Yield the batches of the training."""
        trainer = self._trainer(self.STEPS, [])
        while True:
            yield trainer.next_batch()

    def _trainer(self, steps: int, dev: Text) -> Any:
        module, text = self.module, self.text("train")
        return module.Trainer(
            module.Translator.from_pairs(text, d_model=self.WIDTH),
            text,
            dev,
            steps=steps,
            batch_tokens=self.BATCH_TOKENS,
            look_every=self.LOOK_EVERY,
            smoothing=0.0,  # so that the loss of what is known goes to 0
        )


def ids_of(system: System, text: Text) -> list[tuple[list[int], list[int]]]:
    """Return pairs of sentences as the ids that a system has for their words."""
    return [(_ids(one, system.source), _ids(other, system.target)) for one, other in text]


def words_of(ids: Sequence[int], vocabulary: dict[str, int]) -> str:
    """Return the words of ids."""
    words = {number: word for word, number in vocabulary.items()}
    return " ".join(words.get(number, "<unk>") for number in ids)


def _ids(sentence: str, vocabulary: dict[str, int]) -> list[int]:
    return [vocabulary.get(word, UNK) for word in sentence.split()]
