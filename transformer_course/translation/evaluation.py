"""How good the translations are.

Sources: Papineni et al. (2002), "BLEU", computed by sacreBLEU (Post, 2018).
"""

from collections.abc import Sequence
from statistics import fmean

import sacrebleu

from transformer_course.translation.corpus import SentencePair
from transformer_course.translation.translator import Translator


def exact_match(translations: Sequence[str], references: Sequence[str]) -> float:
    """Share of translations that equal their reference, character by character."""
    return fmean(a == b for a, b in zip(translations, references, strict=True))


def bleu(translations: Sequence[str], references: Sequence[str]) -> float:
    """BLEU of a whole test set, 0 to 100, by sacreBLEU's defaults (13a tokens, cased)."""
    return sacrebleu.corpus_bleu(list(translations), [list(references)]).score


def alignment_accuracy(translator: Translator, pairs: Sequence[SentencePair]) -> float:
    """Share of target words whose most attended source word is one of the gold alignment.

    The attention is the cross-attention's mean over all heads of all layers, while the right
    target is fed in; the end token is no word. Target words without a gold link are left out; at
    least one pair must have links.
    """
    hits = []
    for pair, weights in zip(pairs, translator.cross_attention(pairs), strict=True):
        words = weights.mean(dim=(0, 1))[:, :-1]
        attended = words.argmax(dim=-1).tolist()
        linked = {target for _, target in pair.alignment}
        hits += [(attended[target], target) in pair.alignment for target in linked]
    return fmean(hits)


def evaluate(translator: Translator, pairs: Sequence[SentencePair]) -> dict[str, int | float]:
    """Translate the sources and compare with the targets.

    Returns
    -------
    scores
        ``sentences``, ``exact_match`` (0 to 1), ``bleu`` (0 to 100) and, where the pairs carry
        gold alignments, ``alignment_accuracy`` (0 to 1).

    Raises
    ------
    ValueError
        If there are no pairs.
    """
    if not pairs:
        raise ValueError("there is nothing to evaluate: give at least one sentence pair.")
    translations = translator.translate([pair.source for pair in pairs])
    references = [pair.target for pair in pairs]
    scores = {
        "sentences": len(pairs),
        "exact_match": exact_match(translations, references),
        "bleu": bleu(translations, references),
    }
    if any(pair.alignment for pair in pairs):
        scores["alignment_accuracy"] = alignment_accuracy(translator, pairs)
    return scores
