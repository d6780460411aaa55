"""Where translations fail: a table of the sentences with what may explain it.

Source: Popović (2015), "chrF: character n-gram F-score for automatic MT evaluation", for the score
of a sentence.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import pandas as pd
from sacrebleu.metrics import CHRF

from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.languages import WITHOUT_BLANKS
from transformer_course.translation.corpora.vocabulary import UNK
from transformer_course.translation.evaluation.bleu import check_equal_numbers, ngrams
from transformer_course.translation.evaluation.metrics import bleu, moses_words
from transformer_course.translation.translator import Translator


def words_of(text: str, language: str) -> list[str]:
    """Cut a sentence into its words, lower-cased, without punctuation.

    Lower-cased, since "Two" at the head of a sentence is the same word as "two". Where a language
    has no blanks between words, each character counts as one.
    """
    words = text.lower() if language in WITHOUT_BLANKS else moses_words(text, language)
    return [word for word in words if any(letter.isalnum() for letter in word)]


def beginnings(sentences: Iterable[str], language: str) -> Counter[str]:
    """Count the first two words of some sentences, as :func:`words_of` cuts them."""
    return Counter(" ".join(words_of(sentence, language)[:2]) for sentence in sentences)


def count_words(sentences: Iterable[str], language: str) -> Counter[str]:
    """Count the words of some sentences, as :func:`words_of` cuts them."""
    return Counter(word for sentence in sentences for word in words_of(sentence, language))


def unseen_words(words: Iterable[str], counts: Mapping[str, int]) -> list[str]:
    """Return the words that do not occur in the training split."""
    return [word for word in words if counts.get(word, 0) == 0]


def rare_words(words: Iterable[str], counts: Mapping[str, int], fewer_than: int) -> list[str]:
    """Return the words that occur in the training split, but fewer times than this."""
    return [word for word in words if 0 < counts.get(word, 0) < fewer_than]


def length_ratio(words: Sequence[str], reference: Sequence[str]) -> float:
    """Return the length as a share of the reference's: well below 1, something was left out.

    A reference without words counts as one word.
    """
    return len(words) / max(1, len(reference))


def repetitions(words: Sequence[str], n: int = 2) -> dict[tuple[str, ...], int]:
    """Return the n-grams that occur more than once, with how often they do.

    An n-gram of one and the same word, such as "the the", counts from its first time.
    """
    return {
        ngram: count
        for ngram, count in ngrams(words, n).items()
        if count > 1 or len(set(ngram)) == 1
    }


def repetition(words: Sequence[str], reference: Sequence[str]) -> str:
    """Return the longest n-gram, of two words or more, that repeats as it should not.

    What the reference has as often is not a mistake. Of equally long n-grams the first counts;
    without any the text is empty. A short one need not be a mistake either: a good translation of
    a long sentence may well say "of the" twice.
    """
    longest = ""
    for n in range(2, len(words) + 1):
        repeated = repetitions(words, n)
        if not repeated:  # then nothing longer repeats either
            break
        allowed = ngrams(reference, n)
        wrong = [ngram for ngram, count in repeated.items() if count > allowed[ngram]]
        if wrong:
            longest = " ".join(wrong[0])
    return longest


def sentence_chrf(translation: str, reference: str) -> float:
    """Score one sentence, 0 to 100, by the characters that it shares with its reference.

    Not by BLEU: a short sentence often has no four words in a row in common with its reference, and
    then the smoothing decides. chrF takes sequences of one to six characters, so that a right word
    with a wrong ending is partly right.
    """
    return CHRF().sentence_score(translation, [reference]).score


def failure_table(
    translator: Translator,
    pairs: Sequence[SentencePair],
    translations: Sequence[str],
    counts: Mapping[str, int],
    rare: int = 5,
) -> pd.DataFrame:
    """Put next to each translation what may explain its failure.

    Parameters
    ----------
    translator
        Whose translations they are: its vocabulary decides which pieces are unknown.
    pairs
        Sources and references.
    translations
        What the translator made of the sources, in their order.
    counts
        How often each source word occurs in the training split, by :func:`count_words`.
    rare
        A word seen fewer times than this in training is rare.

    Returns
    -------
    table
        A row for each sentence: ``source``, ``reference``, ``translation``; ``chrf``, 0 to 100, by
        :func:`sentence_chrf`; ``source_words``; ``length_ratio``, words of the translation for each
        word of the reference; ``unseen_words``, source words that training never showed;
        ``rare_words``, those it showed, but fewer than ``rare`` times; ``unknown_pieces``, source
        tokens that the vocabulary lacks; ``repetition``, by :func:`repetition`.

    Raises
    ------
    ValueError
        If there are no translations or the numbers differ.
    """
    check_equal_numbers(translations, pairs)
    source_language, target_language = translator.source.language, translator.target.language
    rows = []
    for pair, translation in zip(pairs, translations, strict=True):
        source = words_of(pair.source, source_language)
        reference = words_of(pair.target, target_language)
        words = words_of(translation, target_language)
        rows.append(
            {
                "source": pair.source,
                "reference": pair.target,
                "translation": translation,
                "chrf": sentence_chrf(translation, pair.target),
                "source_words": len(source),
                "length_ratio": length_ratio(words, reference),
                "unseen_words": len(unseen_words(source, counts)),
                "rare_words": len(rare_words(source, counts, rare)),
                "unknown_pieces": translator.source.encode(pair.source).count(UNK),
                "repetition": repetition(words, reference),
            }
        )
    return pd.DataFrame(rows)


def summary_by(
    table: pd.DataFrame,
    column: str,
    bins: Sequence[int | float] | None = None,
    language: str = "en",
) -> pd.DataFrame:
    """Summarise a :func:`failure_table` for each bin of one of its columns.

    Parameters
    ----------
    table
        A failure table, or some of its rows.
    column
        The column to sort the rows by.
    bins
        Where one bin ends and the next begins, rising: ``[5, 10]`` makes the bins "up to 5",
        "over 5, up to 10" and "over 10". Of counts, ``[0, 1]`` makes "none", "1" and "over 1".
        Without bins each value of the column gets its own.
    language
        Code of the language of the translations, for :func:`bleu`.

    Returns
    -------
    summary
        A row for each bin that holds a sentence, in rising order: ``sentences``; ``sacrebleu``, of
        the bin's sentences pooled; ``chrf`` and ``length_ratio``, their means; ``repeating``, the
        share of sentences with a ``repetition``.

    Raises
    ------
    ValueError
        If the table has no such column, no rows, or the bins are empty, do not rise or cut a column
        that holds no numbers.
    """
    if column not in table:
        raise ValueError(f"the table has no column {column!r}; use one of {', '.join(table)}.")
    if table.empty:
        raise ValueError("the table has no rows to summarise; filter it less.")
    keys = table[column] if bins is None else _binned(table[column], bins)
    groups = table.groupby(keys, observed=True, dropna=False)
    summaries = {name: _summary(rows, language) for name, rows in groups}
    return pd.DataFrame([*summaries.values()], index=pd.Index([*summaries], name=column))


def _summary(rows: pd.DataFrame, language: str) -> dict[str, int | float]:
    return {
        "sentences": len(rows),
        "sacrebleu": bleu(rows["translation"].tolist(), rows["reference"].tolist(), language),
        "chrf": rows["chrf"].mean(),
        "length_ratio": rows["length_ratio"].mean(),
        "repeating": (rows["repetition"] != "").mean(),
    }


def _binned(values: pd.Series, edges: Sequence[int | float]) -> pd.Series:
    """Put the name of its bin in place of each value; the outer bins are open."""
    if not pd.api.types.is_numeric_dtype(values):
        raise ValueError(f"bins cut numbers only; {values.name!r} holds text: leave bins out.")
    rising = all(low < high for low, high in pairwise([-math.inf, *edges, math.inf]))
    if len(edges) == 0 or not rising:
        raise ValueError(f"bins must be one or more numbers, finite and rising; got {list(edges)}.")
    counts = pd.api.types.is_integer_dtype(values) and bool(values.min() >= 0)
    names = ["none" if counts and edges[0] == 0 else f"up to {edges[0]:g}"]
    names += [_name(low, high, counts) for low, high in pairwise(edges)]
    names += [f"over {edges[-1]:g}"]
    return pd.cut(values, [-math.inf, *edges, math.inf], labels=names)


def _name(low: int | float, high: int | float, counts: bool) -> str:
    """Return the name of a bin, which is its number where only one count falls into it."""
    whole = low == int(low) and high == low + 1
    return f"{high:g}" if counts and whole else f"over {low:g}, up to {high:g}"
