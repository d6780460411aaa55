"""Lesson 6: what a Transformer costs, in trained numbers and in memory."""

from transformer_course.model import Transformer


def parameter_summary(model: Transformer) -> dict[str, int]:
    """Count the trained numbers of each part; a table that parts share counts once, at the first.

    The last entry, ``total``, is their sum.
    """
    seen: set[int] = set()
    counts: dict[str, int] = {}
    for part, module in model.named_children():
        new = [p for p in module.parameters() if id(p) not in seen]
        seen.update(id(p) for p in new)
        counts[part] = sum(p.numel() for p in new)
    return counts | {"total": sum(counts.values())}


def memory_summary(model: Transformer, batch: int, source: int, target: int) -> dict[str, int]:
    """Bytes that one training step needs at the least, by purpose.

    Adam keeps two running means per parameter (Kingma and Ba, 2015). Attention weights are those
    of the textbook path, which stores (batch, heads, query, key) for each attention; the fused
    kernel never does.

    Parameters
    ----------
    model
        The model to be trained.
    batch, source, target
        Sentences per batch and tokens per sentence.
    """
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    config, size = model.config, model.output.weight.element_size()
    pairs = config.encoder_layers * source**2
    pairs += config.decoder_layers * (target**2 + target * source)
    return {
        "weights": weights,
        "gradients": weights,
        "Adam's running means": 2 * weights,
        "attention weights (textbook path)": batch * config.heads * pairs * size,
        "logits": batch * target * config.target_vocab * size,
    }
