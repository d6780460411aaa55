"""How good a translator is."""

import math
import time
from collections.abc import Sequence
from statistics import fmean

from transformer_course.translation.corpora.batches import length_batches
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.vocabulary import WordTokenizer
from transformer_course.translation.decoding.forced import sequence_log_probability
from transformer_course.translation.evaluation.metrics import Scores, exact_match, scores
from transformer_course.translation.translator import Translator


def perplexity(
    translator: Translator, pairs: Sequence[SentencePair], batch_tokens: int = 4096
) -> float:
    """Return among how many next tokens the translator hesitates, on average.

    The exponential of the mean negative log-probability of the right token, while the right ones
    before it are fed in. The mean is over the *tokens* of the translator's own vocabulary, words or
    sub-words, and the end tokens: two translators can be compared only if they cut the text alike.

    Parameters
    ----------
    translator
        The translator.
    pairs
        Sources, and the targets to predict.
    batch_tokens
        Most target tokens in a batch.

    Raises
    ------
    ValueError
        If there are no pairs, or a sentence is longer than the model can read.
    """
    _check_pairs(pairs)
    encoded = translator.encode_pairs(pairs)
    log_probability = 0.0
    for numbers in length_batches(encoded, batch_tokens):
        batch = translator.batch([encoded[number] for number in numbers])
        sentences = sequence_log_probability(
            translator.model, batch.source, batch.target_in, batch.target_out
        )
        log_probability += sentences.sum().item()
    tokens = sum(len(target) + 1 for _, target in encoded)
    return math.exp(-log_probability / tokens)


def alignment_accuracy(translator: Translator, pairs: Sequence[SentencePair]) -> float:
    """Share of target words whose most attended source word is one of the gold alignment.

    The attention is the cross-attention's mean over all heads of all layers, while the right
    target is fed in; the end token is not a word. Target words without a gold link are left out.

    Raises
    ------
    ValueError
        If the translator reads or writes sub-words: gold alignments are of words. If no pair has
        links.
    """
    if not _knows_words(translator):
        raise ValueError("gold alignments are of words, and this translator cuts sub-words.")
    hits = []
    for pair, weights in zip(pairs, translator.cross_attention(pairs), strict=True):
        words = weights.mean(dim=(0, 1))[:, :-1]
        attended = words.argmax(dim=-1).tolist()
        linked = {target for _, target in pair.alignment}
        hits += [(attended[target], target) in pair.alignment for target in linked]
    if not hits:
        raise ValueError("no pair has a gold link: give each its `alignment`.")
    return fmean(hits)


def evaluate(translator: Translator, pairs: Sequence[SentencePair], beam: int = 1) -> Scores:
    """Return the scores of :func:`translate_and_evaluate` alone."""
    return translate_and_evaluate(translator, pairs, beam)[0]


def translate_and_evaluate(
    translator: Translator, pairs: Sequence[SentencePair], beam: int = 1
) -> tuple[Scores, list[str]]:
    """Translate the sources and compare with the targets.

    Parameters
    ----------
    translator
        The translator.
    pairs
        Sources and references.
    beam
        Hypotheses kept at each step; 1 is greedy decoding.

    Returns
    -------
    scores
        Those of :func:`scores`; ``seconds``, the time that translating took; ``exact_match``
        (0 to 1) and, where the pairs carry gold alignments and tokens are words,
        ``alignment_accuracy`` (0 to 1).
    translations
        Of the sources, in their order.

    Raises
    ------
    ValueError
        If there are no pairs, ``beam`` is below 1, or a source has more tokens than the model has
        positions.
    """
    _check_pairs(pairs)
    start = time.perf_counter()
    translations = translator.translate([pair.source for pair in pairs], beam=beam)
    seconds = time.perf_counter() - start
    references = [pair.target for pair in pairs]
    result = scores(translations, references, translator.target.language)
    result |= {"seconds": seconds, "exact_match": exact_match(translations, references)}
    if any(pair.alignment for pair in pairs) and _knows_words(translator):
        result["alignment_accuracy"] = alignment_accuracy(translator, pairs)
    return result, translations


def _knows_words(translator: Translator) -> bool:
    sides = translator.source, translator.target
    return all(isinstance(side, WordTokenizer) for side in sides)


def _check_pairs(pairs: Sequence[SentencePair]) -> None:
    if not pairs:
        raise ValueError("there is nothing to evaluate: give at least one sentence pair.")
