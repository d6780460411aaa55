"""From scores to sentences: choosing the next token, again and again."""

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_course.model import Transformer, inference_mode


def greedy(
    model: Transformer,
    source_ids: Int[Tensor, "batch source"],
    bos: int,
    eos: int,
    max_length: int | None = None,
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

    Returns
    -------
    ids
        The tokens after ``bos``; a sentence that ends before others is filled with padding.
    """
    pad = model.config.pad_id
    if max_length is None:
        limits = (source_ids != pad).sum(dim=1) + 50
    else:
        limits = torch.full_like(source_ids[:, 0], max_length)
    limits = limits.clamp(max=model.config.max_len - 1)
    with inference_mode(model):
        memory = model.encode(source_ids)
        target = source_ids.new_full((len(source_ids), 1), bos)
        ended = torch.zeros(len(source_ids), dtype=torch.bool, device=source_ids.device)
        for length in range(1, int(limits.max()) + 1):
            logits = model.decode(target, memory, source_ids)[:, -1]
            next_token = logits.argmax(dim=-1).masked_fill(ended, pad)
            target = torch.cat([target, next_token[:, None]], dim=1)
            ended |= (next_token == eos) | (length >= limits)
            if ended.all():
                break
    return target[:, 1:]
