"""From scores to sentences: choosing the next token, again and again.

Sources: Fan et al. (2018), "Hierarchical Neural Story Generation", for top-k sampling; Holtzman et
al. (2020), "The Curious Case of Neural Text Degeneration", for the nucleus.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_course.model import Transformer, evaluating
from transformer_course.translation.decoding.cached import decoder_for
from transformer_course.translation.decoding.prefix_scorers import PrefixScorer

LEAST_TEMPERATURE = 1e-30  # float32 has hardly smaller numbers
MakeDecoder = Callable[[Transformer, Tensor], PrefixScorer]


def greedy(
    model: Transformer,
    source_ids: Int[Tensor, "batch source"],
    bos: int,
    eos: int,
    max_length: int | None = None,
    *,
    decoder: MakeDecoder = decoder_for,
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
        et al., 2017), and never more than the model can read back after ``bos``.
    decoder
        Called with the model and the source; makes what reads the prefixes. By default with a
        cache, if the model's attention has keys and values to keep.

    Returns
    -------
    ids
        The tokens after ``bos``, the end token included; a sentence that ends before others is
        filled with padding. Padding itself is never chosen.

    Raises
    ------
    ValueError
        If a sentence is longer than the model can read, ``max_length`` is below 1, or the scores
        of the next tokens are not numbers.
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
    decoder: MakeDecoder = decoder_for,
) -> Int[Tensor, "batch target"]:
    """Draw each next token at random from :func:`next_token_probabilities`.

    Otherwise it does what :func:`greedy` does. Each sentence draws from random numbers of its own,
    so what it says does not depend on what the others of its batch say, though it does on how many
    they are. ``generator`` determines the draws.
    """
    _check_sampling(temperature, top_k, top_p)
    sentences = len(source_ids)

    def draw(logits: Tensor, rows: Tensor) -> Tensor:
        # One number for every sentence, ended or not: no end changes the draws of the others.
        uniform = torch.rand(sentences, generator=generator, device=generator.device)
        probabilities = next_token_probabilities(logits, temperature, top_k, top_p)
        check_are_numbers(probabilities[:, 0])
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
        Divides the logits first: below 1 sharpens the distribution, above 1 flattens it. At
        least 1e-30.
    top_k
        Keep the ``top_k`` most probable tokens only (Fan et al., 2018).
    top_p
        Of these, keep the fewest most probable tokens that together have at least probability
        ``top_p``: the nucleus (Holtzman et al., 2020).

    Raises
    ------
    ValueError
        If ``temperature`` is too small or not finite, ``top_k`` is below 1, or ``top_p`` is
        outside (0, 1].
    """
    _check_sampling(temperature, top_k, top_p)
    exact = torch.promote_types(logits.dtype, torch.float32)
    # Less the largest one, so that none becomes too large when it is divided.
    below = logits.to(exact) - logits.amax(dim=-1, keepdim=True)
    probabilities = (below / temperature).softmax(dim=-1)
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
    with evaluating(model), torch.inference_mode():
        decoder = make_decoder(model, source_ids)
        limits = length_limits(model, source_ids, max_length)
        output = source_ids.new_full((len(source_ids), int(limits.max())), pad, dtype=torch.long)
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
    # On a processor faster than argmax; of equally probable tokens both take the first.
    scores, tokens = logits.max(dim=-1)
    check_are_numbers(scores)
    return tokens


def check_are_numbers(scores: Float[Tensor, "*rows"]) -> None:
    """Refuse scores of which one is NaN."""
    if scores.isnan().any():
        raise ValueError("the scores of the next tokens are not numbers; are the weights finite?")


def _token_at(
    probabilities: Float[Tensor, "rows vocab"], uniform: Float[Tensor, "rows"]
) -> Int[Tensor, "rows"]:
    """Lay the tokens' probabilities end to end; return the one on which each number falls."""
    ends = probabilities.double().cumsum(dim=-1)
    place = uniform.double()[:, None] * ends[:, -1:]  # the last end is 1, but for rounding
    return torch.searchsorted(ends, place, right=True).squeeze(1)


def length_limits(
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
    if not LEAST_TEMPERATURE <= temperature < math.inf:
        raise ValueError(
            f"temperature must be positive and finite; got {temperature}. For the most probable "
            f"token at each step use greedy."
        )
    if top_k is not None and top_k < 1:
        raise ValueError(
            f"top_k must be at least 1 token; got {top_k}. Leave it out to keep all tokens."
        )
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(
            f"top_p is a probability above 0 and at most 1; got {top_p}. Common is 0.9."
        )
