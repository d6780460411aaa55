"""A part of WMT14 English-French, on which the paper's French model was trained.

Of its 36 million pairs, these are from the two million of Europarl, the proceedings of the European
Parliament. Dev and test are from there too: a score on them says nothing about newstest2014, the
test set of the paper.

Source: Bojar et al. (2014), "Findings of the 2014 Workshop on Statistical Machine Translation";
Koehn (2005), "Europarl: A Parallel Corpus for Statistical Machine Translation".
"""

import random
from collections import deque
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TypeVar

from transformer_course.translation.corpora.corpus import (
    Corpus,
    SentencePair,
    counted,
    languages_of_pair,
)
from transformer_course.translation.corpora.downloads import data_folder, download, find_file
from transformer_course.translation.corpora.splits import REPEATED, complete
from transformer_course.translation.corpora.text_files import (
    BLANK,
    PairStream,
    iterate_lines,
    iterate_member_lines,
)

Item = TypeVar("Item")

PAIRS = ("en-fr", "fr-en")
MOST_HELD_OUT = 500
TEXT = "europarl-v7.fr-en"
ARCHIVE = "training-parallel-europarl-v7.tgz"  # 657,632,379 bytes, all languages of Europarl
MIRRORS = ("https://www.statmt.org/wmt13", "http://www.statmt.org/wmt13")
# statmt.org publishes no checksum. This one is from TensorFlow Datasets (the file
# url_checksums/wmt14_translate.txt), and others who downloaded the archive found it too.
SHA256 = "0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7"


def wmt14_corpus(
    pair: str = "en-fr", folder: Path | None = None, pairs: int = 100_000, seed: int | None = None
) -> Corpus:
    """Take sentence pairs of Europarl, one line at a time; download the archive if need be.

    A tenth of the pairs, but 500 at most, is the dev split, as many the test split, each of another
    source sentence. Other pairs with one of these ("The debate is closed.") are left out and
    counted.

    Parameters
    ----------
    pair
        ``"en-fr"`` or ``"fr-en"``.
    folder
        See :func:`~transformer_course.translation.data_folder`. In it or in its subfolder
        ``wmt14`` may lie ``europarl-v7.fr-en.en`` and ``europarl-v7.fr-en.fr``, plain or with
        ``.gz``, or the archive ``training-parallel-europarl-v7.tgz``; else the archive is
        downloaded to the subfolder. To read it out of the archive takes about a minute each time;
        unpacked and put beside it, the two files are read in seconds.
    pairs
        How many to take. Where there are fewer, all are taken and the missing ones counted.
    seed
        Draws the pairs at random from the whole text; None takes the first.

    Raises
    ------
    ValueError
        If the pair or the folder is unknown, or the text is damaged, misaligned or too short.
    OSError
        If a file cannot be downloaded, written or read.
    """
    languages = languages_of_pair(pair, PAIRS)
    _check_enough(pairs)
    stream = _open(data_folder(folder), languages)
    if seed is None:
        chosen, blank = _first(stream, pairs)
    else:
        chosen, blank = reservoir_sample(stream, pairs, seed), stream.blank
    _check_enough(len(chosen))
    held_out = max(1, min(MOST_HELD_OUT, len(chosen) // 10))
    splits, repeated = complete(chosen, {}, seed or 0, held_out)
    left_out = {
        BLANK: blank,
        "asked for, but the text has no more": pairs - len(chosen),
        REPEATED: repeated,
    }
    return Corpus("wmt14", *languages, splits, counted(left_out))


def reservoir_sample(items: Iterable[Item], size: int, seed: int) -> list[Item]:
    """Draw ``size`` items in one pass, each with the same chance, and hold no more than these.

    Where there are fewer, all are returned. Source: Vitter (1985), "Random Sampling with a
    Reservoir", algorithm R.
    """
    generator = random.Random(seed)
    kept: list[Item] = []
    for seen, item in enumerate(items):
        if seen < size:
            kept.append(item)
        elif (place := generator.randrange(seen + 1)) < size:
            kept[place] = item
    return kept


def _check_enough(pairs: int) -> None:
    if pairs < 3:
        raise ValueError(f"train, dev and test need three sentence pairs or more; got {pairs}.")


def _first(stream: PairStream, size: int) -> tuple[list[SentencePair], int]:
    """Return the first pairs and how many blank ones are between them."""
    pairs = iter(stream)
    first, blank = list(islice(pairs, size)), stream.blank
    # Read to the end: only there does it show whether a line is missing, and every pair wrong that
    # follows it.
    deque(pairs, maxlen=0)
    return first, blank


def _open(folder: Path, languages: tuple[str, str]) -> PairStream:
    names = [f"{TEXT}.{language}" for language in languages]
    texts = [find_file(folder, "wmt14", name, f"{name}.gz") for name in names]
    for text, missing in zip(texts, reversed(names), strict=True):
        if text is not None and texts.count(None) == 1:
            raise ValueError(f"{text} is alone: put {missing} beside it, plain or with .gz.")
    if None in texts:
        archive = _archive(folder)
        lines = [iterate_member_lines(archive, name) for name in names]
        return PairStream(*lines, tuple(f"{name} in {archive}" for name in names))
    return PairStream(*map(iterate_lines, texts), tuple(map(str, texts)))


def _archive(folder: Path) -> Path:
    found = find_file(folder, "wmt14", ARCHIVE)
    if found is None:
        found = folder / "wmt14" / ARCHIVE
        download(found, SHA256, MIRRORS)
    return found
