"""How good the translations are.

Sources: Papineni et al. (2002), "BLEU: a Method for Automatic Evaluation of Machine Translation";
Post (2018), "A Call for Clarity in Reporting BLEU Scores", for sacreBLEU and its signature;
Popović (2015), "chrF: character n-gram F-score for automatic MT evaluation"; Koehn (2004),
"Statistical Significance Tests for Machine Translation Evaluation", for the paired bootstrap.
"""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any, SupportsInt

import numpy as np
import sacrebleu
from jaxtyping import Float, Int
from sacrebleu.metrics import BLEU, CHRF, TER

from transformer_course.checks import check_whole
from transformer_course.translation.corpora.languages import WITHOUT_BLANKS
from transformer_course.translation.evaluation.bleu import bleu_from_scratch, check_equal_numbers

Scores = dict[str, int | float | str]
CUT_BY_SACREBLEU = ("ja", "ko", "zh")


def exact_match(translations: Sequence[str], references: Sequence[str]) -> float:
    """Share of translations that equal their reference, character by character.

    Raises
    ------
    ValueError
        If there are no translations or the numbers differ.
    """
    check_equal_numbers(translations, references)
    return fmean(a == b for a, b in zip(translations, references, strict=True))


def bleu(translations: Sequence[str], references: Sequence[str], language: str = "en") -> float:
    """BLEU of a whole test set, 0 to 100, by sacreBLEU's defaults (13a tokens, cased).

    Parameters
    ----------
    translations, references
        Plain text, as a reader would see it.
    language
        Code of the language of both; see :func:`bleu_metric`.

    Raises
    ------
    ValueError
        If there are no translations or the numbers differ.
    """
    check_equal_numbers(translations, references)
    return bleu_metric(language).corpus_score(list(translations), [list(references)]).score


def bleu_metric(language: str, **options: Any) -> BLEU:
    """Return sacreBLEU's metric with the tokens that it takes for a language.

    Chinese, Japanese and Korean have words without blanks between them, and 13a would take a whole
    sentence for one. sacreBLEU cuts Japanese and Korean by programs of their own; where these are
    not installed (``pip install "sacrebleu[ja]"``, ``"sacrebleu[ko]"``), and for other languages
    without blanks, each character counts as a word. The metric's signature says which it was.
    """
    if language not in (*WITHOUT_BLANKS, *CUT_BY_SACREBLEU):
        return BLEU(**options)
    if language in CUT_BY_SACREBLEU:
        with contextlib.suppress(ImportError, RuntimeError):  # its program is not installed
            return BLEU(trg_lang=language, **options)
    return BLEU(tokenize="char", **options)


def bleu_signature(language: str) -> str:
    """Return how :func:`bleu` makes its figure, with one reference for each sentence."""
    metric = bleu_metric(language)
    metric.corpus_score(["-"], [["-"]])  # before it no number of references is known
    return str(metric.get_signature())


def bleu_tokenized_lowercase(
    translations: Sequence[str], references: Sequence[str], language: str
) -> float:
    """BLEU, 0 to 100, as older papers report it: lower-cased, Moses' tokens, nothing smoothed.

    Both sides are lower-cased, their punctuation is made alike, then they are cut: the order of
    Multi30k's own tokenised files. No capital letter can be wrong, and other rules cut the words:
    never compare this figure with :func:`bleu` of another system.

    Parameters
    ----------
    translations, references
        Plain text, as a reader would see it.
    language
        Code, such as ``"fr"``: languages cut differently at apostrophes and at the
        full stops of abbreviations. A language without rules of its own gets the general ones.

    Raises
    ------
    ValueError
        If there are no translations or the numbers differ.
    """
    check_equal_numbers(translations, references)
    return 100 * bleu_from_scratch(
        [moses_words(text, language) for text in translations],
        [moses_words(text, language) for text in references],
    )


def moses_words(text: str, language: str) -> list[str]:
    """Cut a text into lower-cased words and punctuation marks by Moses' rules for the language.

    Quotation marks and the like are made alike first.
    """
    normalizer, tokenizer = _moses(language)
    return tokenizer.tokenize(normalizer.normalize(text.lower()), escape=False)


@cache
def _moses(language: str) -> tuple[Any, Any]:
    """Return a normaliser and a tokeniser."""
    # Here, because it takes half a second.
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    return MosesPunctNormalizer(lang=language), MosesTokenizer(lang=language)


def scores(translations: Sequence[str], references: Sequence[str], language: str) -> Scores:
    """Compare the translations of a whole test set with their references.

    Parameters
    ----------
    translations, references
        Plain text, as a reader would see it.
    language
        Code of the language of both.

    Returns
    -------
    scores
        ``sacrebleu``, 0 to 100, as :func:`bleu`; ``signature``, the settings and the version of
        sacreBLEU that made it, without which no two BLEUs can be compared;
        ``bleu_tokenized_lowercase``, 0 to 100; ``chrf``, 0 to 100, the same idea with sequences of
        one to six characters; ``sentences``, their number.

    Raises
    ------
    ValueError
        If there are no translations or the numbers differ.
    """
    return {
        "sacrebleu": bleu(translations, references, language),
        "signature": bleu_signature(language),
        "bleu_tokenized_lowercase": bleu_tokenized_lowercase(translations, references, language),
        "chrf": sacrebleu.corpus_chrf(list(translations), [list(references)]).score,
        "sentences": len(translations),
    }


@dataclass(frozen=True)
class Interval:
    """A score of a test set, and how far the choice of its sentences moves it.

    Attributes
    ----------
    name
        ``"BLEU"``, ``"chrF2"`` or ``"TER"``.
    score
        Of the whole test set; for TER, edits for 100 words, less is better.
    margin
        In 95 % of test sets drawn from this one the score is at most so far away; None where a
        drawn test set has a score of exactly 0, at which sacreBLEU 2.6 stops.
    signature
        sacreBLEU's, without which no two scores can be compared.
    """

    name: str
    score: float
    margin: float | None
    signature: str


def scores_with_intervals(
    translations: Sequence[str], references: Sequence[str], language: str, samples: int = 1000
) -> list[Interval]:
    """Score a test set by BLEU, chrF and TER, with sacreBLEU's intervals by the bootstrap.

    Raises
    ------
    ValueError
        If there are no translations, the numbers differ, or ``samples`` is below 1.
    """
    check_equal_numbers(translations, references)
    check_whole("samples", samples)
    texts = list(translations), [list(references)]
    found = []
    for metric in (bleu_metric(language), CHRF(), TER()):
        try:
            score = metric.corpus_score(*texts, n_bootstrap=samples)
            margin = float(score._ci)
        except TypeError:  # it takes no mean of numbers of two types
            score, margin = metric.corpus_score(*texts), None
        signature = str(metric.get_signature())
        found.append(Interval(score.name, float(score.score), margin, signature))
    return found


def paired_bootstrap(
    system: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[str],
    samples: int = 1000,
    seed: int = 0,
    language: str = "en",
) -> dict[str, float | int | tuple[float, float]]:
    """Ask whether two sets of translations differ by more than the choice of sentences.

    Test sets of the same size are drawn from this one, sentence by sentence with replacement, and
    both systems are scored on each of them (Koehn, 2004).

    Parameters
    ----------
    system, baseline
        Translations of the same sources by two systems.
    references
        The translation to compare with, for each source.
    samples
        Test sets to draw.
    seed
        Determines the draws.
    language
        Code of the translations' language; see :func:`bleu_metric`.

    Returns
    -------
    result
        ``system`` and ``baseline``, the BLEUs of the whole test set as :func:`bleu`;
        ``difference``; ``confidence_interval``, the bounds between which 95 % of the samples'
        differences lie; ``p_value``, two-sided: the share of samples whose difference is at least
        as far from the samples' mean as ``difference`` is from 0, one such sample added, since no
        finite number of draws proves a chance of 0; ``samples``.

    Raises
    ------
    ValueError
        If there are no translations, the numbers differ, or ``samples`` is below 1.
    """
    counts = [sentence_counts(texts, references, language) for texts in (system, baseline)]
    return compare_counts(counts[:1], counts[1:], samples, seed)


def compare_counts(
    system: Sequence[Int[np.ndarray, "sentences 10"]],
    baseline: Sequence[Int[np.ndarray, "sentences 10"]],
    samples: int = 1000,
    seed: int = 0,
) -> dict[str, float | int | tuple[float, float]]:
    """Compare two sides as :func:`paired_bootstrap` does, each by the mean BLEU of its runs.

    Parameters
    ----------
    system, baseline
        What :func:`sentence_counts` returned, for each run of a side; all on the same sources.
    samples, seed
        As for :func:`paired_bootstrap`.

    Returns
    -------
    result
        As for :func:`paired_bootstrap`, with means over the runs of a side.

    Raises
    ------
    ValueError
        If ``samples`` is below 1, or a side has no run.
    """
    check_whole("samples", samples)
    if not (system and baseline):
        raise ValueError("a side has no run: there is nothing to compare.")
    sentences = len(system[0])
    draws = drawn_test_sets(sentences, samples, seed)  # the same for all runs
    whole = np.ones((1, sentences), dtype=int)
    scores = [_mean_bleu(runs, whole).item() for runs in (system, baseline)]
    differences = _mean_bleu(system, draws) - _mean_bleu(baseline, draws)
    difference = scores[0] - scores[1]
    low, high = np.percentile(differences, [2.5, 97.5]).tolist()
    return {
        "system": scores[0],
        "baseline": scores[1],
        "difference": difference,
        "confidence_interval": (low, high),
        "p_value": _p_value(differences, difference),
        "samples": samples,
    }


def drawn_test_sets(
    sentences: int, samples: int, seed: int
) -> Int[np.ndarray, "samples sentences"]:
    """Return how often each sentence is in each drawn test set of the same size."""
    shares = np.full(sentences, 1 / sentences)
    return np.random.default_rng(seed).multinomial(sentences, shares, size=samples)


def _mean_bleu(
    runs: Sequence[Int[np.ndarray, "sentences 10"]], draws: Int[np.ndarray, "sets sentences"]
) -> Float[np.ndarray, "sets"]:
    return np.mean([[bleu_of_counts(c) for c in draws @ counts] for counts in runs], axis=0)


def _p_value(differences: Float[np.ndarray, "sets"], difference: float) -> float:
    """Return how often a difference as large would come if the systems were equally good.

    The draws scatter around the difference that was found; moved to scatter around 0, they show
    what chance alone does. sacreBLEU moves the absolute values instead, so that its p is about
    half of this one.
    """
    by_chance = np.abs(differences - differences.mean()) >= abs(difference)
    return (int(by_chance.sum()) + 1) / (len(differences) + 1)


def sentence_counts(
    translations: Sequence[str], references: Sequence[str], language: str = "en"
) -> Int[np.ndarray, "sentences 10"]:
    """Count what BLEU needs of each sentence: 4 matches, 4 totals, 2 lengths.

    Parameters
    ----------
    translations, references, language
        As for :func:`bleu`.

    Raises
    ------
    ValueError
        If there are no translations or the numbers differ.
    """
    check_equal_numbers(translations, references)
    metric = bleu_metric(language, effective_order=True)  # the counts are those of BLEU() too
    found = (
        metric.sentence_score(translation, [reference])
        for translation, reference in zip(translations, references, strict=True)
    )
    return np.array([[*s.counts, *s.totals, s.sys_len, s.ref_len] for s in found])


def bleu_of_counts(counts: Iterable[SupportsInt]) -> float:
    """Return sacreBLEU's figure for a test set: the rows of :func:`sentence_counts`, added up."""
    c = [int(number) for number in counts]
    return BLEU.compute_bleu(c[:4], c[4:8], c[8], c[9], "exp").score
