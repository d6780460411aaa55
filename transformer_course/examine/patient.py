"""A right subject of which one thing at a time can be broken: what faults are tried on."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from transformer_course.examine import reference
from transformer_course.examine.subject import Pair, Subject
from transformer_course.model.transformer import evaluating

Mask = Callable[[Tensor, Tensor], Tensor]
"""From source and target ids, True where a query (row) may see a key: (batch, 1, query, key)."""


class NoSuchOrgan(Exception):  # noqa: N818 - no error, but a reason
    """The model has nothing of the kind that a fault breaks."""


@dataclass
class Organs:
    """Where in a network things are, so that a fault can be put there.

    Attributes
    ----------
    encoder
        The stack whose output is the memory.
    layers
        For each stack, the module and the name under which its layers are.
    positions
        For encoder and decoder, the module that adds positions to vectors.
    attentions
        Modules with an attribute ``attend(query, key, value, mask)``, by their kind: ``encoder``,
        ``decoder``, ``cross``.
    """

    encoder: nn.Module
    layers: dict[str, tuple[nn.Module, str]]
    positions: dict[str, nn.Module] = field(default_factory=dict)
    attentions: dict[str, list[nn.Module]] = field(default_factory=dict)


class Patient:
    """A right subject, made of parts that a fault replaces.

    Parameters
    ----------
    network, organs
        The model, and where in it things are.
    call
        ``call(source, target, masks)``, which returns scores; ``masks`` has a mask for ``encoder``,
        ``decoder`` and ``cross``.
    vocabularies
        How many ids source and target have.
    pad, bos, eos
        Ids.
    """

    UNKNOWN = 3

    def __init__(
        self,
        network: nn.Module,
        organs: Organs,
        call: Callable[[Tensor, Tensor, dict[str, Tensor]], Tensor],
        vocabularies: tuple[int, int],
        pad: int,
        bos: int,
        eos: int,
    ) -> None:
        self.network, self.organs, self.call = network, organs, call
        self.vocabularies, self.pad, self.bos, self.eos = vocabularies, pad, bos, eos
        self.masks: dict[str, Mask] = {
            "encoder": lambda source, target: self.real(source, self.pad)[:, None, None, :],
            "decoder": lambda source, target: causal(target)[None, None],
            "cross": lambda source, target: self.real(source, self.pad)[:, None, None, :],
        }
        self.hides_target_padding = False
        self.after_scores: list[Callable[[Tensor], Tensor]] = []
        self.weights: Callable[[], Any] = lambda: self.network.parameters()
        self.rate, self.decay = 3e-3, 0.0
        self.zeroes = True
        self.sign = 1.0
        self.train, self.test = _texts(vocabularies, self.special)

    @property
    def special(self) -> set[int]:
        """Ids that are no words."""
        return {self.pad, self.bos, self.eos, self.UNKNOWN}

    @staticmethod
    def real(ids: Tensor, pad: int) -> Tensor:
        """Where a batch of ids is no padding; a sentence of nothing else sees all of it."""
        real = ids != pad
        return real | ~real.any(dim=1, keepdim=True)

    def scores(self, source: Tensor, target: Tensor) -> Tensor:
        """Call the network with the masks that the patient has."""
        masks = {kind: mask(source, target) for kind, mask in self.masks.items()}
        if self.hides_target_padding:
            seen = masks["decoder"] & (target != self.pad)[:, None, None, :]
            masks["decoder"] = seen | ~seen.any(dim=-1, keepdim=True)
        said = self.call(source, target, masks)
        for change in self.after_scores:
            said = change(said)
        return said

    def collate(self, pairs: list[Pair]) -> tuple[Tensor, Tensor, Tensor]:
        """Return a right batch."""
        return reference.collate(pairs, self.pad, self.bos, self.eos, self.pad)

    def loss(self, scores: Tensor, target_out: Tensor) -> Tensor:
        """Return the right loss."""
        return reference.loss(scores, target_out, self.pad)

    def make_step(self) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        """Return what takes a right step; its optimiser is made at once."""
        weights = [weight for weight in self.weights() if weight.requires_grad]
        optimizer = torch.optim.Adam(
            weights, self.rate, (0.9, 0.98), weight_decay=self.decay, fused=True
        )

        def step(source: Tensor, target_in: Tensor, target_out: Tensor) -> Tensor:
            self.network.train()
            if self.zeroes:
                optimizer.zero_grad()
            loss = self.loss(self.scores(source, target_in), target_out)
            (self.sign * loss).backward()
            optimizer.step()
            return loss.detach()

        return step

    def source_of(self, sentences: list[list[int]]) -> Tensor:
        """Return sources as the training has them."""
        return reference.padded([[*sentence, self.eos] for sentence in sentences], self.pad)

    @contextmanager
    def translating(self) -> Iterator[None]:
        """Be in the mode that translating asks for."""
        with evaluating(self.network):
            yield

    def greedy(self, scores: Callable, source: Tensor) -> list[list[int]]:
        """Search rightly."""
        return reference.greedy(scores, source, self.bos, self.eos, 12)

    def translate(self, sentences: list[list[int]]) -> list[list[int]]:
        """Translate by a greedy search."""
        with self.translating():
            return self.greedy(self.scores, self.source_of(sentences))

    def beam(self, sentences: list[list[int]]) -> list[list[int]]:
        """Translate by a search with a beam."""
        with self.translating():
            return [
                reference.beam_search(
                    self.scores, self.source_of([each]), self.bos, self.eos, 12, 4, "logits"
                )
                for each in sentences
            ]

    def subject(self) -> Subject:
        """Return the patient as what an examination is given."""
        return Subject(
            self.network,
            source_vocab=self.vocabularies[0],
            target_vocab=self.vocabularies[1],
            pad=self.pad,
            bos=self.bos,
            eos=self.eos,
            unknown=self.UNKNOWN,
            scores=self.scores,
            collate=lambda pairs: self.collate(pairs),
            loss=lambda scores, target_out: self.loss(scores, target_out),
            training_step=self.make_step(),
            translate=lambda sentences: self.translate(sentences),
            beam=lambda sentences: self.beam(sentences),
            train=self.train,
            test=self.test,
        )

    # Where faults are put

    def on_memory(self, change: Callable[[Tensor], Tensor]) -> None:
        """Change what the encoder returns."""

        def hook(module: nn.Module, inputs: Any, output: Any) -> Any:
            if isinstance(output, Tensor):
                return change(output)
            output.last_hidden_state = change(output.last_hidden_state)
            return output

        self.organs.encoder.register_forward_hook(hook)

    def on_positions(self, side: str, forward: Callable[[nn.Module, Tensor], Tensor]) -> None:
        """Replace what adds positions in encoder or decoder by ``forward(module, vectors)``."""
        if side not in self.organs.positions:
            raise NoSuchOrgan
        module = self.organs.positions[side]
        right = type(module).forward
        module.forward = lambda x: forward(lambda y: right(module, y), x)

    def on_attention(self, kind: str, make: Callable[[Callable], Callable]) -> None:
        """Replace how attention is computed, from ``make(the right function)``."""
        if kind not in self.organs.attentions:
            raise NoSuchOrgan
        for module in self.organs.attentions[kind]:
            module.attend = make(module.attend)


def causal(target: Tensor) -> Tensor:
    """Where a target's position may look: at itself and before."""
    length = target.shape[1]
    return torch.ones(length, length, dtype=torch.bool, device=target.device).tril()


def _texts(vocabularies: tuple[int, int], special: set[int]) -> tuple[list[Pair], list[Pair]]:
    """Make a text word by word, frequent words more often, some words twice."""
    chance = random.Random(0)
    sources = [word for word in range(vocabularies[0]) if word not in special]
    targets = [word for word in range(vocabularies[1]) if word not in special]

    def pair() -> Pair:
        numbers = [int(chance.paretovariate(1.0)) for _ in range(chance.randint(3, 9))]
        source = [sources[number % len(sources)] for number in numbers]
        following = [number + 5 for number in numbers for _ in range(1 + number % 3 // 2)]
        return source, [targets[number % len(targets)] for number in following]

    pairs: dict[tuple, Pair] = {}
    while len(pairs) < 360:
        source, target = pair()
        pairs[tuple(source)] = source, target
    every = [*pairs.values()]
    return every[:300], every[300:]
