"""BLEU from scratch: the share of word sequences that a translation has in common with another.

Source: Papineni et al. (2002), "BLEU: a Method for Automatic Evaluation of Machine Translation",
section 2.
"""

import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean


def ngrams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """Count the n-grams, the sequences of ``n`` words that are side by side.

    Raises
    ------
    ValueError
        If ``n`` is below 1.
    """
    if n < 1:
        raise ValueError(f"an n-gram has at least 1 word; got n = {n}.")
    return Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))


def clipped_counts(candidate: list[str], reference: list[str], n: int) -> tuple[int, int]:
    """Return how many n-grams of the candidate the reference has too, and how many there are.

    An n-gram counts at most as often as it stands in the reference (section 2.1): saying "the"
    seven times is not seven times right.

    Parameters
    ----------
    candidate, reference
        The words of a translation, and of the translation that a person made.
    n
        Words in an n-gram.

    Returns
    -------
    matches, total
        The n-grams in common and all n-grams of the candidate.
    """
    said, wanted = ngrams(candidate, n), ngrams(reference, n)
    matches = said & wanted  # for each n-gram the smaller of the two counts
    return matches.total(), said.total()


def brevity_penalty(candidate_length: int, reference_length: int) -> float:
    """Return the factor, 0 to 1, that candidates shorter than their references pay (section 2.2).

    Precision asks what share of the candidate is right; a single sure word would do. Long
    candidates need no penalty: each wrong word in them lowers precision.

    Parameters
    ----------
    candidate_length, reference_length
        Words of all candidates together and of all references together.
    """
    if candidate_length >= reference_length:
        return 1.0
    if candidate_length == 0:
        return 0.0
    return math.exp(1 - reference_length / candidate_length)


def bleu_from_scratch(
    candidates: Sequence[list[str]], references: Sequence[list[str]], max_n: int = 4
) -> float:
    """Return the BLEU of a whole test set, 0 to 1 (section 2.3).

    The counts of all sentences are pooled before any share is taken; the mean of the sentences'
    BLEUs is another figure. Without a single match of some length BLEU is 0: nothing is smoothed.

    Parameters
    ----------
    candidates, references
        The words of each translation, and of the one translation by a person to compare it with.
    max_n
        Words in the longest n-grams.

    Raises
    ------
    ValueError
        If there are no candidates, the numbers differ, or ``max_n`` is below 1.
    TypeError
        If a sentence is text that has not been cut into words.
    """
    check_equal_numbers(candidates, references)
    _check_words([*candidates, *references])
    if max_n < 1:
        raise ValueError(f"BLEU needs n-grams of at least 1 word; got max_n = {max_n}.")
    precisions = [_precision(candidates, references, n) for n in range(1, max_n + 1)]
    if min(precisions) == 0:
        return 0.0
    penalty = brevity_penalty(sum(map(len, candidates)), sum(map(len, references)))
    return penalty * math.exp(fmean(math.log(precision) for precision in precisions))


def _precision(candidates: Sequence[list[str]], references: Sequence[list[str]], n: int) -> float:
    """Share of the candidates' n-grams, all sentences together, that their references have."""
    pairs = zip(candidates, references, strict=True)
    counts = [clipped_counts(candidate, reference, n) for candidate, reference in pairs]
    matches, total = (sum(column) for column in zip(*counts, strict=True))
    return matches / total if total else 0.0


def check_equal_numbers(translations: Sequence[object], references: Sequence[object]) -> None:
    """Raise ValueError unless each of one or more translations has its reference."""
    if isinstance(translations, str) or isinstance(references, str):
        raise ValueError("lists of sentences are wanted; put a single one into brackets.")
    numbers = f"got {len(translations)} translations and {len(references)} references"
    if len(translations) != len(references):
        raise ValueError(f"each translation needs one reference: {numbers}.")
    if not translations:
        raise ValueError(f"there is nothing to score: {numbers}; give at least one of each.")


def _check_words(sentences: Sequence[object]) -> None:
    for sentence in sentences:
        if isinstance(sentence, str):  # its letters would pass for words
            raise TypeError(
                f"a sentence must be a list of words; got the text {sentence[:40]!r}. Cut it into "
                f"words first."
            )
