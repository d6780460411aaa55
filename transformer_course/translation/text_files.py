"""Two text files, line by line translations of each other."""

import gzip
import random
import zlib
from pathlib import Path

from transformer_course.translation.corpus import Corpus, SentencePair

MOST_DEV_SENTENCES = 500


def read_lines(path: Path) -> list[str]:
    """Read the lines of a UTF-8 text file, gzip or not, without surrounding blanks.

    Raises
    ------
    OSError
        If the file is missing or cannot be read.
    ValueError
        If it is not UTF-8 text or a gzip file that was cut short.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        # "utf-8-sig": the byte order mark that Windows writes must not stick to the first word.
        with opener(path, "rt", encoding="utf-8-sig", newline="\n") as file:
            return [line.strip() for line in file]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text ({error}); convert it to UTF-8.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is a damaged gzip file ({error}); copy it again.") from None


def language_of(path: Path) -> str:
    """Return the language that a file's name ends with: ``train.en`` or ``train.en.gz`` is "en".

    Raises
    ------
    ValueError
        If the name does not end so.
    """
    suffix = Path(path.name.removesuffix(".gz")).suffix.removeprefix(".")
    if not (suffix.isalpha() and len(suffix) == 2):
        raise ValueError(
            f"the language of {path} is unknown: let its name end with a two-letter code, for "
            f"example train.en or train.en.gz."
        )
    return suffix


def read_pairs(source: Path, target: Path) -> list[SentencePair]:
    """Read two aligned files; pairs with a blank side are left out.

    Raises
    ------
    OSError, ValueError
        If a file cannot be read, the numbers of lines differ, or no pair is left.
    """
    sources, targets = read_lines(source), read_lines(target)
    if len(sources) != len(targets):
        raise ValueError(
            f"{source} has {len(sources)} lines, {target} has {len(targets)}: line n of one must "
            f"be the translation of line n of the other."
        )
    pairs = [SentencePair(s, t) for s, t in zip(sources, targets, strict=True) if s and t]
    if not pairs:
        raise ValueError(f"{source} and {target} hold no sentence pair: every line is blank.")
    return pairs


def files_corpus(source: Path, target: Path, seed: int = 0) -> Corpus:
    """Make a corpus of two aligned files, with a random tenth of them as its dev split.

    The dev split has 500 pairs at most.

    Raises
    ------
    OSError, ValueError
        As :func:`read_pairs` and :func:`language_of`; also if the files hold a single pair.
    """
    languages = language_of(source), language_of(target)
    pairs = read_pairs(source, target)
    if len(pairs) < 2:
        raise ValueError(f"{source} holds one sentence pair only; give more text.")
    random.Random(seed).shuffle(pairs)
    dev_sentences = max(1, min(MOST_DEV_SENTENCES, len(pairs) // 10))
    splits = {"train": pairs[dev_sentences:], "dev": pairs[:dev_sentences]}
    return Corpus("files", *languages, splits)
