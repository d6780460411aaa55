"""What an experiment can ask for, by the names of its parameters."""

import inspect
import random
from collections.abc import Callable
from functools import cached_property
from itertools import islice
from typing import Any

from torch import Tensor, nn

from transformer_course.cases.program import Batch, Program, System, Text, ids_of, words_of
from transformer_course.model import evaluating
from transformer_course.translation import BOS, EOS, PAD, collate

SENTENCES = 32
"""In a batch, and in what is translated for an experiment."""
BATCHES = 20
"""Of a training, from which the known sentences are drawn."""
MOST = 300
"""Steps for an experiment that trains."""


class Supplies:
    """What a translator has, each thing made when an experiment asks for it.

    Attributes
    ----------
    program
        The translator's program, trained.
    """

    pad = PAD
    most = MOST

    def __init__(self, program: Program) -> None:
        self.program = program

    def for_(self, experiment: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments that an experiment asks for, but those that are given.

        Raises
        ------
        ValueError
            If it asks for something that there is not.
        """
        wanted = {
            name
            for name, parameter in inspect.signature(experiment).parameters.items()
            if parameter.default is parameter.empty or name in given
        }
        there = set(supplied())
        if unknown := sorted(wanted - there - given.keys()):
            raise ValueError(
                f"an experiment cannot ask for {', '.join(unknown)}: there is "
                f"{', '.join(sorted(there))}."
            )
        supplies = {name: getattr(self, name) for name in wanted - given.keys()}
        if "step" in wanted and "network" in wanted:  # the step has to be that of the network
            fresh = self.fresh
            supplies |= {"network": fresh.network, "step": fresh.step}
        return supplies | given

    @cached_property
    def trained(self) -> System:
        """The translator after its training, saved and loaded."""
        return self.program.trained()

    @property
    def fresh(self) -> System:
        """The translator before its training."""
        return self.program.fresh()

    # What experiments ask for

    @property
    def scores(self) -> Callable[[Tensor, Tensor], Tensor]:
        """From source ids and target ids, logits; in evaluation mode."""
        system = self.trained

        def scores(source: Tensor, target: Tensor) -> Tensor:
            with evaluating(system.network):
                return system.scores(source, target)

        return scores

    @property
    def translate(self) -> Callable[[list[list[int]]], list[list[int]]]:
        """From ids to ids, by its own search."""
        return self.trained.translate

    @property
    def say(self) -> Callable[[list[str]], list[str]]:
        """From sentences to sentences."""
        return self.trained.say

    @cached_property
    def known(self) -> Text:
        """Sentences that its training was fed, with their translations as it was fed them."""
        system = self.fresh  # the ids are those of the training, whatever was loaded since
        rows = {
            (_words(source, system.source), _words(target, system.target))
            for batch in islice(self.program.batches(), BATCHES)
            for source, target in zip(*batch[:2], strict=True)
        }
        return random.Random(0).sample(sorted(rows), min(SENTENCES, len(rows)))

    @cached_property
    def new(self) -> Text:
        """Sentences that it has never read."""
        return self.program.text("test")

    @property
    def pairs(self) -> list[tuple[list[int], list[int]]]:
        """The known sentences as ids."""
        return ids_of(self.trained, self.known)

    @property
    def batch(self) -> Batch:
        """The known sentences as source, target in and target out."""
        return collate(self.pairs, BOS, EOS, PAD)

    @property
    def exchanged_batch(self) -> Batch:
        """The known sentences, each with the target of another one: nobody can predict that."""
        sources, targets = zip(*self.pairs, strict=True)
        exchanged = [*zip(sources, targets[1:] + targets[:1], strict=True)]
        return collate(exchanged, BOS, EOS, PAD)

    @property
    def fed(self) -> list[tuple[str, str, str]]:
        """What its training is fed: source, target in and target out of two batches, in words."""
        system = self.fresh
        vocabularies = system.source, system.target, system.target
        return [
            tuple(
                words_of(row.tolist(), words) for row, words in zip(rows, vocabularies, strict=True)
            )
            for batch in islice(self.program.batches(), 2)
            for rows in zip(*(side[:3] for side in batch), strict=True)
        ]

    @property
    def longer(self) -> Callable[[], Callable[[list[str]], list[str]]]:
        """Train it for twice as many steps, and return its search, from sentences to sentences."""

        def longer() -> Callable[[list[str]], list[str]]:
            with self.program.weights_kept():
                self.program.train(2)
                return self.program.trained().say

        return longer

    @property
    def network(self) -> nn.Module:
        """The model; before its training, if the experiment asks for ``step`` too."""
        return self.trained.network

    @property
    def step(self) -> Callable[..., float]:
        """One step of its training on a batch; it returns the loss."""
        return self.fresh.step


def _words(ids: Tensor, vocabulary: dict[str, int]) -> str:
    return words_of(
        [number for number in ids.tolist() if number not in (PAD, BOS, EOS)], vocabulary
    )


def supplied() -> list[str]:
    """Return the names of what an experiment can ask for."""
    inner = {"for_", "program", "trained", "fresh"}
    return [name for name in vars(Supplies) if name[0] != "_" and name not in inner]
