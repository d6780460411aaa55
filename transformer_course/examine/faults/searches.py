"""Searches that begin, go on or end wrongly."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor

from transformer_course.examine import reference
from transformer_course.examine.patient import NoSuchOrgan, Patient

STEPS, WIDTH = 12, 4


def _likeliest(scores: Tensor) -> Tensor:
    return scores[:, -1].argmax(-1)


def _greedy(
    patient: Patient,
    following: Callable[[Tensor], Tensor] = _likeliest,
    begin: int | None = None,
    fed: Callable[[Tensor], Tensor] = lambda said: said,
    stops: Callable[[Tensor], bool] = lambda last: False,
) -> None:
    """Search otherwise: by another next token, another begin, other tokens fed in, or a stop."""

    def greedy(scores: Callable, source: Tensor) -> list[list[int]]:
        said = torch.full((len(source), 1), patient.bos if begin is None else begin)
        for _ in range(STEPS):
            said = torch.cat([said, following(scores(source, fed(said)))[:, None]], dim=1)
            if stops(said[:, -1]):
                break
        return [reference.up_to(row, patient.eos) for row in said[:, 1:].tolist()]

    patient.greedy = greedy


def in_train_mode(patient: Patient) -> None:
    """Translate with dropout on."""
    patient.translating = nullcontext


def average_stays(patient: Patient) -> None:
    """Put an average of the weights in their place before translating, and leave it there."""
    average = [weight.detach().clone() for weight in patient.network.parameters()]

    @contextmanager
    def with_the_average() -> Iterator[None]:
        with torch.no_grad(), right():
            for weight, mean in zip(patient.network.parameters(), average, strict=True):
                mean.lerp_(weight, 0.99)
                weight.copy_(mean)
            yield

    right, patient.translating = patient.translating, with_the_average


def first_position(patient: Patient) -> None:
    """Take the next token from the scores of the first position."""
    _greedy(patient, lambda scores: scores[:, 0].argmax(-1))


def feeds_the_begin_token_only(patient: Patient) -> None:
    """Never feed in what was said."""
    _greedy(patient, fed=lambda said: said[:, :1])


def begins_with_padding(patient: Patient) -> None:
    """Begin with the padding token."""
    if patient.pad == patient.bos:
        raise NoSuchOrgan
    _greedy(patient, begin=patient.pad)


def begins_with_the_end(patient: Patient) -> None:
    """Begin with the end token."""
    if patient.eos == patient.bos:
        raise NoSuchOrgan
    _greedy(patient, begin=patient.eos)


def never_ends(patient: Patient) -> None:
    """Never say the end token."""

    def following(scores: Tensor) -> Tensor:
        last = scores[:, -1].clone()
        last[:, patient.eos] = -1e9
        return last.argmax(-1)

    _greedy(patient, following)


def goes_on_behind_the_end(patient: Patient) -> None:
    """Take the end token for a word."""

    def greedy(scores: Callable, source: Tensor) -> list[list[int]]:
        said = torch.full((len(source), 1), patient.bos)
        for _ in range(STEPS):
            said = torch.cat([said, _likeliest(scores(source, said))[:, None]], dim=1)
        return said[:, 1:].tolist()

    patient.greedy = greedy


def samples(patient: Patient) -> None:
    """Draw the next token by chance."""

    def following(scores: Tensor) -> Tensor:
        return torch.multinomial((scores[:, -1] / 2).softmax(-1), 1)[:, 0]

    _greedy(patient, following)


def only_the_last_token(patient: Patient) -> None:
    """Feed in the last token only, without a cache of those before."""
    _greedy(patient, fed=lambda said: said[:, -1:])


def first_and_last_token(patient: Patient) -> None:
    """Feed in the begin token and the last one, as if a cache kept no more."""
    _greedy(
        patient,
        fed=lambda said: said if said.shape[1] < 2 else torch.stack([said[:, 0], said[:, -1]], 1),
    )


def translations_in_another_order(patient: Patient) -> None:
    """Sort the sentences by length and return the translations in that order."""
    right = patient.translate
    patient.translate = lambda sentences: right(sorted(sentences, key=len, reverse=True))


def both_searches_in_another_order(patient: Patient) -> None:
    """Sort the sentences by length, for the greedy search and for the beam."""
    translations_in_another_order(patient)
    right = patient.beam
    patient.beam = lambda sentences: right(sorted(sentences, key=len, reverse=True))


def stops_too_early(patient: Patient) -> None:
    """Take two steps only."""
    patient.greedy = lambda scores, source: reference.greedy(
        scores, source, patient.bos, patient.eos, 2
    )


def stops_with_the_first(patient: Patient) -> None:
    """Stop the whole batch when one sentence has ended."""
    _greedy(patient, stops=lambda last: bool((last == patient.eos).any()))


def source_without_the_end(patient: Patient) -> None:
    """Leave the end token of sources away when translating."""
    patient.source_of = lambda sentences: reference.padded(sentences, patient.pad)


def source_backwards(patient: Patient) -> None:
    """Read sources backwards when translating."""
    patient.source_of = lambda sentences: reference.padded(
        [[*sentence[::-1], patient.eos] for sentence in sentences], patient.pad
    )


def source_with_other_ids(patient: Patient) -> None:
    """Translate with a vocabulary that was made anew."""
    words = [i for i in range(patient.vocabularies[0]) if i not in patient.special]
    other = dict(zip(words, [*words[7:], *words[:7]], strict=True))
    patient.source_of = lambda sentences: reference.padded(
        [[*(other.get(word, word) for word in s), patient.eos] for s in sentences], patient.pad
    )


def beam_of_one(patient: Patient) -> None:
    """Keep one beginning only."""
    _beam(patient, lambda total, value: total + value, width=1)


def beam_not_summed(patient: Patient) -> None:
    """Rank beginnings by the probability of their last token alone."""
    _beam(patient, lambda total, value: value)


def beam_of_the_least_likely(patient: Patient) -> None:
    """Rank by minus the log-probability: the least likely of what is kept wins."""
    _beam(patient, lambda total, value: total - value)


def beam_of_the_shortest(patient: Patient) -> None:
    """Take the first beginning that ends, however unlikely it is."""
    _beam(patient, lambda total, value: total + value, enough=1)


def beam_returns_the_worst(patient: Patient) -> None:
    """Sort what has ended the wrong way round, and take the first."""
    _beam(patient, lambda total, value: total + value, taken=min)


def beam_returns_the_worst_by_length(patient: Patient) -> None:
    """Sort what has ended the wrong way round, by the mean of its tokens."""

    def taken(ended: list[tuple[float, list[int]]]) -> tuple[float, list[int]]:
        return min(ended, key=lambda each: each[0] / len(each[1]))

    _beam(patient, lambda total, value: total + value, taken=taken)


def beam_repeats_the_batch(patient: Patient) -> None:
    """Repeat the batch of sources, as if the rows of one sentence did not stand together."""

    def reads(sources: Tensor, sentence: int, fed: Tensor) -> tuple[Tensor, Tensor]:
        rows = WIDTH * sentence + torch.arange(len(fed))
        return sources[rows % len(sources)], fed

    _beam_in_a_batch(patient, reads)


def beam_goes_on_with_the_first(patient: Patient) -> None:
    """Take what was said from the rows of the first sentence, as from a cache without an offset."""

    def reads(sources: Tensor, sentence: int, fed: Tensor) -> tuple[Tensor, Tensor]:
        if sentence:
            (first,) = reference.greedy(
                patient.scores, sources[:1], patient.bos, patient.eos, fed.shape[1]
            )
            said = fed[:, 1:-1]
            first = torch.tensor([*first, *[patient.eos] * said.shape[1]][: said.shape[1]])
            fed = torch.cat([fed[:, :1], first.expand_as(said).to(fed), fed[:, -1:]], dim=1)
        return sources[[sentence]].expand(len(fed), -1), fed

    _beam_in_a_batch(patient, reads)


def _beam_in_a_batch(
    patient: Patient, reads: Callable[[Tensor, int, Tensor], tuple[Tensor, Tensor]]
) -> None:
    """Let the hypotheses of a sentence read something else of the batch than their own rows."""

    def search(sources: Tensor, sentence: int) -> list[int]:
        def scores(source: Tensor, fed: Tensor) -> Tensor:
            return patient.scores(*reads(sources, sentence, fed))

        return reference.beam_search(
            scores, sources[[sentence]], patient.bos, patient.eos, STEPS, WIDTH, "logits"
        )

    def beam(sentences: list[list[int]]) -> list[list[int]]:
        with patient.translating():
            sources = patient.source_of(sentences)
            return [search(sources, sentence) for sentence in range(len(sentences))]

    patient.beam = beam


def _beam(
    patient: Patient,
    add: Callable[[float, float], float],
    width: int = WIDTH,
    enough: float = math.inf,
    taken: Callable[..., tuple[float, list[int]]] = max,
) -> None:
    def search(sentence: list[int]) -> list[int]:
        source = patient.source_of([sentence])
        beams: list[tuple[float, list[int]]] = [(0.0, [patient.bos])]
        ended: list[tuple[float, list[int]]] = []
        for _ in range(STEPS):
            grown = []
            for total, tokens in beams:
                said = patient.scores(source, torch.tensor([tokens]))[0, -1].log_softmax(-1)
                best = said.topk(WIDTH)
                for value, token in zip(best.values.tolist(), best.indices.tolist(), strict=True):
                    grown.append((add(total, value), [*tokens, token]))
            grown = sorted(grown, reverse=True)[:width]
            ended += [each for each in grown if each[1][-1] == patient.eos]
            beams = [each for each in grown if each[1][-1] != patient.eos]
            if not beams or len(ended) >= enough:
                break
        return taken(ended or beams)[1][1:]

    def beam(sentences: list[list[int]]) -> list[list[int]]:
        with patient.translating():
            return [search(sentence) for sentence in sentences]

    patient.beam = beam
