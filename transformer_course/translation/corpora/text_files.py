"""Two text files, line by line translations of each other."""

import codecs
import gzip
import random
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import IO

import numpy as np

from transformer_course.translation.corpora.corpus import Corpus, SentencePair, counted
from transformer_course.translation.corpora.languages import language_of
from transformer_course.translation.corpora.splits import REPEATED, complete
from transformer_course.translation.corpora.vocabulary import composed

BLANK = "a side is blank"
PLACES = 10
"""Lines too many up to which each may stand at a place of its own."""
TOO_LONG = 2000
"""Characters of a side above which a pair of one's own text is left out: no sentence is so long."""
GZIP, NUL = b"\x1f\x8b", "\0"


def iterate_lines(path: Path) -> Iterator[str]:
    """Read one line after the other of a UTF-8 text file, without blanks around it.

    The file may be packed by gzip, whatever its name.

    Raises
    ------
    OSError
        If the file is missing or cannot be read.
    ValueError
        If it is not UTF-8 text, has no line feeds, or is a gzip file that was cut short.
    """
    with path.open("rb") as file:
        packed = file.read(len(GZIP)) == GZIP
    with _clear_errors(str(path)), (gzip.open if packed else open)(path, "rb") as file:
        yield from decoded_lines(file, str(path))


def iterate_member_lines(archive: Path, name: str) -> Iterator[str]:
    """Read the lines of one text file out of a ``.tar.gz`` archive, without unpacking it.

    Parameters
    ----------
    archive
        The archive; it is read from its beginning to the end of the text file.
    name
        The text file's name in the archive, without its folder.

    Raises
    ------
    OSError, ValueError
        As :func:`iterate_lines`; also if the archive has no such file.
    """
    with (
        _clear_errors(f"{archive} ({name})"),
        tarfile.open(archive, "r:gz") as members,
    ):
        for member in members:
            if Path(member.name).name == name and member.isfile():
                yield from decoded_lines(members.extractfile(member), f"{archive} ({name})")
                return
        raise ValueError(f"{archive} holds no file {name}; it is another archive, or cut short.")


def decoded_lines(file: IO[bytes], name: str) -> Iterator[str]:
    """Yield the lines of UTF-8 text, :func:`composed` and without blanks at either end.

    Raises
    ------
    ValueError
        If it is another text; it says what, in which line of ``name``.
    """
    number, line = 0, ""
    for number, raw in enumerate(file, start=1):
        try:
            line = composed(raw.decode("utf-8")).strip()
        except UnicodeDecodeError as error:
            raise ValueError(_not_utf8(name, number, raw, error)) from None
        if NUL in line:
            raise ValueError(
                f"{name} has a NUL character in line {number:,}, as UTF-16 text has, or a damaged "
                f"file: convert it to UTF-8, or mend the line."
            )
        yield line
    if number == 1 and "\r" in line:
        raise ValueError(
            f"{name} ends its lines by carriage returns alone: convert them to line feeds."
        )


def _not_utf8(name: str, number: int, raw: bytes, error: UnicodeDecodeError) -> str:
    """Say where a text stops being UTF-8, and what it may be."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)):
        return f"{name} is UTF-16 or UTF-32 text; convert it to UTF-8."
    before = raw[max(0, error.start - 20) : error.start].decode("utf-8", "replace")
    place = f"behind {before!r}" if before else "at its beginning"
    return (
        f"{name} is not UTF-8 text in line {number:,}, {place} (byte "
        f"0x{raw[error.start]:02x}): convert it to UTF-8, or mend the line."
    )


@contextmanager
def _clear_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error, tarfile.TarError) as error:
        raise ValueError(f"{name} is a damaged gzip file ({error}); copy it again.") from None


class PairStream:
    """The sentence pairs of two aligned texts, one after the other, never all at once.

    Pairs with a blank side are left out; ``blank`` counts those that have come by. Like the lines
    of an open file, the pairs come once.

    Parameters
    ----------
    sources, targets
        The lines of the two texts.
    names
        What to call the two texts in an error.
    """

    def __init__(
        self, sources: Iterable[str], targets: Iterable[str], names: tuple[str, str]
    ) -> None:
        self._lines = (sources, targets)
        self._names = names
        self.blank = 0

    def __iter__(self) -> Iterator[SentencePair]:
        """Yield the pairs; raise ValueError at the end if one text has more lines."""
        both = only_source = only_target = 0
        for source, target in zip_longest(*self._lines):
            if target is None:
                only_source += 1
            elif source is None:
                only_target += 1
            else:
                both += 1
                if source and target:
                    yield SentencePair(source, target)
                else:
                    self.blank += 1
        if only_source or only_target:
            raise ValueError(unequal(*self._names, both + only_source, both + only_target))


def read_pairs(source: Path, target: Path) -> tuple[list[SentencePair], int]:
    """Read two aligned files; leave pairs with a blank side out, and return how many.

    Raises
    ------
    OSError, ValueError
        As :func:`read_lines`, or if no pair is left.
    """
    lines = [*zip(*read_lines(source, target), strict=True)]
    pairs = [SentencePair(*pair) for pair in lines if all(pair)]
    if not pairs:
        raise ValueError(
            f"{source} and {target} hold no sentence pair: no line has text on both sides."
        )
    return pairs, len(lines) - len(pairs)


def read_lines(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """Read two aligned files.

    Raises
    ------
    OSError, ValueError
        If a file cannot be read, both are the same one, or the numbers of lines differ.
    """
    if source.exists() and target.exists() and source.samefile(target):
        raise ValueError(f"{source} is the source and the target: name the translation too.")
    sources, targets = [*iterate_lines(source)], [*iterate_lines(target)]
    if len(sources) != len(targets):
        words = unequal(str(source), str(target), len(sources), len(targets))
        if sources and targets:
            words += f" They seem to part at line {parting(sources, targets):,}."
        raise ValueError(words)
    return sources, targets


def unequal(source: str, target: str, source_lines: int, target_lines: int) -> str:
    """Say that two texts have different numbers of lines."""
    return (
        f"{source} has {source_lines:,} lines, {target} has {target_lines:,}: line n of one must "
        f"be the translation of line n of the other."
    )


def parting(sources: Sequence[str], targets: Sequence[str]) -> int:
    """Return the line from which one of two texts has lines too many, as their lengths tell.

    Of all ways to pass over that many lines of the longer text, at a few places, the one is taken
    in which the lengths of the others fit best; its first place is returned.
    """
    lengths = [np.log1p([len(line) for line in lines]) for lines in (sources, targets)]
    longer, shorter = sorted(lengths, key=len, reverse=True)
    more, usual = len(longer) - len(shorter), longer.mean() - shorter.mean()
    passed = [*range(more + 1)] if more <= PLACES else [0, more]
    first = np.arange(len(shorter) + 1)  # with nothing passed over yet, the place is still to come
    for step, over in enumerate(passed):
        misfit = abs(longer[over : over + len(shorter)] - shorter - usual)
        until = np.concatenate([[0], np.cumsum(misfit)])
        if step == 0:
            best = until
            continue
        # The best line to begin to pass over as many, of all up to each line.
        gain = best - until
        begins = np.maximum.accumulate(
            np.where(gain <= np.minimum.accumulate(gain), np.arange(len(gain)), 0)
        )
        best, first = until + gain[begins], first[begins]
    return int(first[-1]) + 1


def files_corpus(
    source: Path,
    target: Path,
    dev: tuple[Path, Path] | None = None,
    test: tuple[Path, Path] | None = None,
    seed: int = 0,
) -> Corpus:
    """Make a corpus of two aligned files, with splits train, dev and test.

    Pairs with a side that is blank or has over 2,000 characters are left out and counted, as are
    training pairs whose source sentence is in dev or test.

    Parameters
    ----------
    source, target
        The two files.
    dev, test
        Two files of the same languages each; by default they are held out of the text, see
        :func:`~transformer_course.translation.corpora.splits.complete`.
    seed
        Determines what is held out.

    Raises
    ------
    OSError, ValueError
        As :func:`read_pairs` and :func:`language_of`; also if the files hold too little text, or
        those of a split are of other languages.
    """
    languages = language_of(source), language_of(target)
    pairs, blank, too_long = _short_pairs(source, target)
    given = {}
    for name, files in (("dev", dev), ("test", test)):
        if files:
            _check_languages(name, files, languages)
            given[name], blank_there, too_long_there = _short_pairs(*files)
            blank, too_long = blank + blank_there, too_long + too_long_there
    try:
        splits, repeated = complete(pairs, given, seed)
    except ValueError as error:
        raise ValueError(f"{source} and {target}: {error}") from None
    left_out = {
        BLANK: blank,
        f"a side has over {TOO_LONG:,} characters": too_long,
        REPEATED: repeated,
    }
    return Corpus("files", *languages, splits, counted(left_out))


def _short_pairs(source: Path, target: Path) -> tuple[list[SentencePair], int, int]:
    """Return the pairs of two files that are not too long, how many are blank, and too long."""
    pairs, blank = read_pairs(source, target)
    short = [pair for pair in pairs if max(len(pair.source), len(pair.target)) <= TOO_LONG]
    if not short:
        raise ValueError(
            f"{source} and {target}: all {len(pairs):,} pairs have over {TOO_LONG:,} characters on "
            f"a side: put one sentence on each line."
        )
    return short, blank, len(pairs) - len(short)


def _check_languages(split: str, files: tuple[Path, Path], languages: tuple[str, str]) -> None:
    found = tuple(map(language_of, files))
    if found != languages:
        raise ValueError(
            f"--{split} {files[0]} {files[1]} is {found[0]} and {found[1]}, the text is "
            f"{languages[0]} and {languages[1]}: name the file of the source first."
        )


def files_divided_by_line(source: Path, target: Path) -> Corpus:
    """Make the corpus of runs that began before test splits were held out.

    A random tenth of the lines, 500 at most, is the dev split; there is no test split.
    """
    pairs, blank = read_pairs(source, target)
    random.Random(0).shuffle(pairs)
    dev_sentences = max(1, min(500, len(pairs) // 10))
    splits = {"train": pairs[dev_sentences:], "dev": pairs[:dev_sentences]}
    return Corpus(
        "files", language_of(source), language_of(target), splits, counted({BLANK: blank})
    )
