"""Beam search: following several beginnings of a translation, not one.

Source: Wu et al. (2016), "Google's Neural Machine Translation System", section 7, for length
normalisation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_course.checks import check_whole
from transformer_course.model import Transformer, evaluating
from transformer_course.translation.decoding.cached import decoder_for
from transformer_course.translation.decoding.next_token import (
    MakeDecoder,
    check_are_numbers,
    length_limits,
)
from transformer_course.translation.decoding.prefix_scorers import PrefixScorer, log_probabilities

LengthPenalty = Callable[[int], float]


def mean_length(length: int) -> float:
    """Divide by the number of tokens: the score is the mean log-probability."""
    return float(length)


def gnmt(alpha: int | float) -> LengthPenalty:
    """Divide by ``((5 + length) / 6) ** alpha`` (Wu et al., 2016, equation 14).

    ``alpha`` 0 does not normalise; the larger it is, the longer the winners.

    Raises
    ------
    ValueError
        If ``alpha`` is negative.
    """
    if not alpha >= 0:
        raise ValueError(
            f"alpha must be zero or more; got {alpha}. A negative length penalty would favour "
            f"short translations, which win too often without one. Common values are 0.6 and 1."
        )
    return lambda length: ((5 + length) / 6) ** alpha


@dataclass(frozen=True)
class Hypothesis:
    """A translation that a search found.

    Attributes
    ----------
    tokens
        Its tokens, without the begin and the end token.
    log_probability
        Sum of the log-probabilities of its tokens, end token included, in nats.
    score
        What hypotheses are ranked by: ``log_probability`` divided by the length penalty.
    """

    tokens: tuple[int, ...]
    log_probability: float
    score: float


def beam_search(
    model: Transformer,
    source_ids: Int[Tensor, "batch source"],
    bos: int,
    eos: int,
    beam: int = 5,
    length_penalty: LengthPenalty = mean_length,
    n_best: int = 1,
    max_length: int | None = None,
    *,
    decoder: MakeDecoder = decoder_for,
) -> list[list[Hypothesis]]:
    """Search for the translations of a batch with the best score, each sentence's best first.

    What goes in is explained at :func:`greedy`, what the search does with it at :func:`search`.
    """
    with evaluating(model), torch.inference_mode():
        rows = decoder(model, source_ids)
        limits = length_limits(model, source_ids, max_length).tolist()
        pad = model.config.pad_id
        return search(rows, bos, eos, limits, beam, length_penalty, n_best, pad)


def search(
    decoder: PrefixScorer,
    bos: int,
    eos: int,
    limits: Sequence[int],
    beam: int = 5,
    length_penalty: LengthPenalty = mean_length,
    n_best: int = 1,
    pad: int | None = None,
) -> list[list[Hypothesis]]:
    """Beam search, over anything that can step and reorder.

    At each step every live prefix is tried with every token. The ``beam`` most probable of all
    these are kept, whichever prefix they continue. Those that end are put aside. A prefix is given
    up once nothing that it could become would still be among the ``n_best``; the search ends when
    no prefix is left.

    Parameters
    ----------
    decoder
        Has one row for each sentence and has read nothing yet.
    bos, eos
        Ids of the begin and the end token.
    limits
        For each sentence the most tokens, end token included. A hypothesis that reaches its limit
        without an end counts as it stands.
    beam
        Hypotheses kept at each step.
    length_penalty
        What a log-probability is divided by, a function of the number of tokens, end token
        included: :func:`mean_length`, :func:`gnmt`, or another that never falls.
    n_best
        Hypotheses to return for each sentence, at most ``beam``.
    pad
        Id of a token that is never chosen.

    Returns
    -------
    hypotheses
        For each sentence its ``n_best`` hypotheses, the best first; fewer where fewer are
        possible.

    Raises
    ------
    ValueError
        If ``beam`` is no whole number of at least 1 or larger than the vocabulary, ``n_best``
        below 1 or larger than ``beam``, or a limit below 1.
    """
    _check_search(beam, n_best, limits)
    searches = [_Search(eos, limit, beam, length_penalty, n_best) for limit in limits]
    tokens = [bos for _ in limits]
    while tokens:
        best = _best_tokens(decoder.step(torch.tensor(tokens)), beam, pad)
        parents: list[int] = []
        first = 0  # row of the decoder where the sentence's live prefixes begin
        for sentence in searches:
            rows = range(first, first + len(sentence.live))
            parents += [rows[parent] for parent in sentence.extend([best[row] for row in rows])]
            first = rows.stop
        tokens = [prefix[-1] for sentence in searches for prefix, _ in sentence.live]
        if tokens and parents != list(range(first)):
            decoder.reorder(torch.tensor(parents))
    return [sentence.finished for sentence in searches]


@dataclass
class _Search:
    """The search for the translations of one sentence."""

    eos: int
    limit: int
    beam: int
    length_penalty: LengthPenalty
    n_best: int
    # Prefixes with their log-probabilities, the most probable first.
    live: list[tuple[tuple[int, ...], float]] = field(default_factory=lambda: [((), 0.0)])
    finished: list[Hypothesis] = field(default_factory=list)  # the n best, the best first

    def extend(self, best: list[list[tuple[float, int]]]) -> list[int]:
        """Continue the live prefixes by one token; return the new ones' parents among the old.

        ``best`` holds, for each live prefix, the log-probabilities of its best next tokens.
        """
        candidates = [
            (total + log_probability, parent, token)
            for parent, (_, total) in enumerate(self.live)
            for log_probability, token in best[parent]
        ]
        candidates.sort(key=lambda candidate: -candidate[0])
        longer = [
            (parent, (*self.live[parent][0], token), total)
            for total, parent, token in candidates[: self.beam]
            if total > -torch.inf  # an impossible token fills the list where there is no other
        ]
        ended = [self._has_ended(prefix) for _, prefix, _ in longer]
        for (_, prefix, total), end in zip(longer, ended, strict=True):
            if end:
                self._put_aside(prefix, total)
        live = [
            new for new, end in zip(longer, ended, strict=True) if not end and self._can_win(new[2])
        ]
        self.live = [(prefix, total) for _, prefix, total in live]
        return [parent for parent, _, _ in live]

    def _has_ended(self, prefix: tuple[int, ...]) -> bool:
        return prefix[-1] == self.eos or len(prefix) == self.limit

    def _put_aside(self, prefix: tuple[int, ...], total: float) -> None:
        words = prefix[:-1] if prefix[-1] == self.eos else prefix
        new = Hypothesis(words, total, total / self.length_penalty(len(prefix)))
        ranked = sorted([*self.finished, new], key=lambda hypothesis: -hypothesis.score)
        self.finished = ranked[: self.n_best]

    def _can_win(self, total: float) -> bool:
        """Say whether a live prefix could still become one of the n best.

        Each further token can only lower the log-probability, so the best that can happen is that
        all of them are certain, and as many as the limit allows: the penalty that divides is then
        the largest.
        """
        if len(self.finished) < self.n_best:
            return True
        return total / self.length_penalty(self.limit) > self.finished[-1].score


def _best_tokens(
    logits: Float[Tensor, "rows vocab"], beam: int, pad: int | None
) -> list[list[tuple[float, int]]]:
    """Return each row's ``beam`` best next tokens with their log-probabilities.

    The ``beam`` best continuations of a sentence are among these, since no row can have more of
    them than ``beam``.
    """
    if beam > logits.shape[1]:
        raise ValueError(
            f"beam must be at most the size of the vocabulary, {logits.shape[1]}, because the "
            f"first step has no more continuations; got {beam}."
        )
    scores = log_probabilities(logits)
    if pad is not None:
        scores[:, pad] = -torch.inf
    best = scores.topk(beam, dim=-1)
    check_are_numbers(best.values[:, 0])
    rows = zip(best.values.tolist(), best.indices.tolist(), strict=True)
    return [list(zip(values, tokens, strict=True)) for values, tokens in rows]


def _check_search(beam: int, n_best: int, limits: Sequence[int]) -> None:
    check_whole("beam", beam)
    if not 1 <= n_best <= beam:
        raise ValueError(
            f"n_best must be between 1 and the beam, {beam}; got {n_best}. Use a wider beam for "
            f"more hypotheses."
        )
    if min(limits, default=1) < 1:
        raise ValueError(f"each limit must be at least 1 token; got {min(limits)}.")
