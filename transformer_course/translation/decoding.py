"""From scores to sentences: choosing the next token, again and again.

Sources: Fan et al. (2018), "Hierarchical Neural Story Generation", for top-k sampling; Holtzman et
al. (2020), "The Curious Case of Neural Text Degeneration", for the nucleus; Wu et al. (2016),
"Google's Neural Machine Translation System", section 7, for length normalisation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_course.model import Transformer, inference_mode
from transformer_course.translation.cached_decoder import CachedDecoder, Decoder

MakeDecoder = Callable[[Transformer, Tensor], Decoder]
LengthPenalty = Callable[[int], float]


def greedy(
    model: Transformer,
    source_ids: Int[Tensor, "batch source"],
    bos: int,
    eos: int,
    max_length: int | None = None,
    *,
    decoder: MakeDecoder = CachedDecoder,
) -> Int[Tensor, "batch target"]:
    """Take the most probable next token until every sentence has ended.

    Parameters
    ----------
    model
        The translator.
    source_ids
        Source sentences, padded.
    bos, eos
        Ids of the begin and the end token.
    max_length
        Most tokens to produce; by default 50 more than the sentence has (section 6.1 of Vaswani
        et al., 2017), and never more than the model can read back behind ``bos``.
    decoder
        Called with the model and the source; makes what reads the prefixes, with a cache or
        without.

    Returns
    -------
    ids
        The tokens after ``bos``, the end token included; a sentence that ends before others is
        filled with padding. Padding itself is never chosen.

    Raises
    ------
    ValueError
        If a sentence is longer than the model can read, or ``max_length`` is below 1.
    """
    return _extend(model, source_ids, bos, eos, max_length, decoder, _most_probable)


def sample(
    model: Transformer,
    source_ids: Int[Tensor, "batch source"],
    bos: int,
    eos: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    max_length: int | None = None,
    *,
    decoder: MakeDecoder = CachedDecoder,
) -> Int[Tensor, "batch target"]:
    """Draw each next token at random from :func:`next_token_probabilities`.

    Each sentence draws from random numbers of its own, so what it says does not depend on what
    the others of its batch say, though it does on how many they are.

    Parameters
    ----------
    model, source_ids, bos, eos, max_length, decoder
        As for :func:`greedy`.
    generator
        Determines the draws.
    temperature, top_k, top_p
        As for :func:`next_token_probabilities`.

    Returns
    -------
    ids
        As :func:`greedy`.

    Raises
    ------
    ValueError
        As :func:`greedy` and :func:`next_token_probabilities`.
    """
    _check_sampling(temperature, top_k, top_p)
    sentences = len(source_ids)

    def draw(logits: Tensor, rows: Tensor) -> Tensor:
        # One number for every sentence, ended or not: no end changes the draws of the others.
        uniform = torch.rand(sentences, generator=generator, device=generator.device)
        probabilities = next_token_probabilities(logits, temperature, top_k, top_p)
        return _token_at(probabilities, uniform.to(rows.device)[rows])

    return _extend(model, source_ids, bos, eos, max_length, decoder, draw)


def next_token_probabilities(
    logits: Float[Tensor, "*rows vocab"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Float[Tensor, "*rows vocab"]:
    """Turn logits into the probabilities that a sampler draws from; they sum to 1.

    Parameters
    ----------
    logits
        Scores of every next token.
    temperature
        Divides the logits first: below 1 sharpens the distribution, above 1 flattens it.
    top_k
        Keep the ``top_k`` most probable tokens only (Fan et al., 2018).
    top_p
        Of these, keep the fewest most probable tokens that together have at least probability
        ``top_p``: the nucleus (Holtzman et al., 2020).

    Raises
    ------
    ValueError
        If ``temperature`` is not positive, ``top_k`` is below 1, or ``top_p`` is outside (0, 1].
    """
    _check_sampling(temperature, top_k, top_p)
    probabilities = (logits / temperature).softmax(dim=-1)
    if top_k is None and top_p in (None, 1):
        return probabilities
    # Stable, so that of equally probable tokens the first is kept, as argmax does.
    ranked, order = probabilities.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        ranked[..., top_k:] = 0.0
        ranked = ranked / ranked.sum(dim=-1, keepdim=True)
    if top_p is not None:
        before = ranked.cumsum(dim=-1) - ranked  # what the more probable tokens have together
        ranked = ranked.masked_fill(before >= top_p, 0.0)
        ranked = ranked / ranked.sum(dim=-1, keepdim=True)
    return torch.zeros_like(ranked).scatter(-1, order, ranked)


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
    decoder: MakeDecoder = CachedDecoder,
) -> list[list[Hypothesis]]:
    """Search for the translations with the best score; see :func:`search`.

    Parameters
    ----------
    model, source_ids, bos, eos, max_length, decoder
        As for :func:`greedy`.
    beam, length_penalty, n_best
        As for :func:`search`.

    Returns
    -------
    hypotheses
        For each sentence its ``n_best`` hypotheses, the best first.

    Raises
    ------
    ValueError
        As :func:`greedy` and :func:`search`.
    """
    with inference_mode(model), torch.inference_mode():
        rows = decoder(model, source_ids)
        limits = _limits(model, source_ids, max_length).tolist()
        pad = model.config.pad_id
        return search(rows, bos, eos, limits, beam, length_penalty, n_best, pad)


def search(
    decoder: Decoder,
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
        If ``beam`` is below 1 or larger than the vocabulary, ``n_best`` below 1 or larger than
        ``beam``, or a limit below 1.
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
    log_probabilities = logits.log_softmax(dim=-1)
    if pad is not None:
        log_probabilities[:, pad] = -torch.inf
    best = log_probabilities.topk(beam, dim=-1)
    if best.values[:, 0].isnan().any():
        raise ValueError("the scores of the next tokens are not numbers; are the weights finite?")
    rows = zip(best.values.tolist(), best.indices.tolist(), strict=True)
    return [list(zip(values, tokens, strict=True)) for values, tokens in rows]


def sequence_log_probability(
    model: Transformer,
    source_ids: Int[Tensor, "batch source"],
    target_in: Int[Tensor, "batch target"],
    target_out: Int[Tensor, "batch target"],
) -> Float[Tensor, "batch"]:
    """Log-probability that the model gives to whole translations, in nats: forced decoding.

    Parameters
    ----------
    model
        The translator.
    source_ids, target_in, target_out
        A batch as from :func:`~transformer_course.translation.batches.collate`; padding does not
        count.

    Raises
    ------
    ValueError
        If ``target_in`` and ``target_out`` differ in shape, or the model cannot read the ids.
    """
    if target_in.shape != target_out.shape:
        raise ValueError(
            f"target_in and target_out must have the same shape; got {tuple(target_in.shape)} and "
            f"{tuple(target_out.shape)}. Both come from the same call of collate."
        )
    with inference_mode(model):
        log_probabilities = model(source_ids, target_in).log_softmax(dim=-1)
    chosen = log_probabilities.gather(-1, target_out[..., None]).squeeze(-1)
    return chosen.masked_fill(target_out == model.config.pad_id, 0.0).sum(dim=-1)


def _extend(
    model: Transformer,
    source_ids: Int[Tensor, "batch source"],
    bos: int,
    eos: int,
    max_length: int | None,
    make_decoder: MakeDecoder,
    choose: Callable[[Tensor, Tensor], Tensor],
) -> Int[Tensor, "batch target"]:
    """Append one chosen token after the other to each sentence, until all have ended.

    ``choose`` is called with logits and with the numbers of the sentences that they belong to.
    """
    pad = model.config.pad_id
    with inference_mode(model), torch.inference_mode():
        decoder = make_decoder(model, source_ids)
        limits = _limits(model, source_ids, max_length)
        output = source_ids.new_full((len(source_ids), int(limits.max())), pad)
        rows = torch.arange(len(source_ids), device=source_ids.device)  # sentences not yet ended
        tokens = torch.full_like(rows, bos)
        length = 0
        while len(rows):
            logits = decoder.step(tokens)
            logits[:, pad] = -torch.inf
            tokens = choose(logits, rows)
            output[rows, length] = tokens
            length += 1
            ended = (tokens == eos) | (limits == length)
            if ended.any():  # what has ended leaves the batch
                (going_on,) = (~ended).nonzero(as_tuple=True)
                rows, tokens, limits = rows[going_on], tokens[going_on], limits[going_on]
                decoder.reorder(going_on)
    return output[:, :length].clone()  # outside, so that it is a usual tensor


def _most_probable(
    logits: Float[Tensor, "rows vocab"], _: Int[Tensor, "rows"]
) -> Int[Tensor, "rows"]:
    return logits.argmax(dim=-1)


def _token_at(
    probabilities: Float[Tensor, "rows vocab"], uniform: Float[Tensor, "rows"]
) -> Int[Tensor, "rows"]:
    """Lay the tokens' probabilities end to end; return the one on which each number falls."""
    ends = probabilities.double().cumsum(dim=-1)
    place = uniform.double()[:, None] * ends[:, -1:]  # the last end is 1, but for rounding
    return torch.searchsorted(ends, place, right=True).squeeze(1)


def _limits(
    model: Transformer, source_ids: Int[Tensor, "batch source"], max_length: int | None
) -> Int[Tensor, "batch"]:
    """Return how many tokens may be produced for each sentence."""
    if max_length is None:
        limits = (source_ids != model.config.pad_id).sum(dim=1) + 50
    elif max_length >= 1:
        limits = torch.full_like(source_ids[:, 0], max_length)
    else:
        raise ValueError(
            f"max_length must be at least 1 token; got {max_length}. Leave it out for 50 more "
            f"than the source has."
        )
    return limits.clamp(max=max(1, model.config.max_len - 1))


def _check_sampling(temperature: float, top_k: int | None, top_p: float | None) -> None:
    if not temperature > 0:
        raise ValueError(
            f"temperature must be positive; got {temperature}. For the most probable token at "
            f"each step use greedy."
        )
    if top_k is not None and top_k < 1:
        raise ValueError(
            f"top_k must be at least 1 token; got {top_k}. Leave it out to keep all tokens."
        )
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(
            f"top_p is a probability above 0 and at most 1; got {top_p}. Common is 0.9."
        )


def _check_search(beam: int, n_best: int, limits: Sequence[int]) -> None:
    if beam < 1:
        raise ValueError(f"beam must be at least 1 hypothesis; got {beam}. Beam 1 is greedy.")
    if not 1 <= n_best <= beam:
        raise ValueError(
            f"n_best must be between 1 and the beam, {beam}; got {n_best}. Use a wider beam for "
            f"more hypotheses."
        )
    if min(limits, default=1) < 1:
        raise ValueError(f"each limit must be at least 1 token; got {min(limits)}.")
