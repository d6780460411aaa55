"""Two text files, line by line translations of each other."""

import gzip
import random
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase, TextIOWrapper
from itertools import zip_longest
from pathlib import Path

from transformer_course.translation.corpora.corpus import Corpus, SentencePair, counted
from transformer_course.translation.corpora.splits import REPEATED, complete

BLANK = "a side is blank"


def iterate_lines(path: Path) -> Iterator[str]:
    """Read one line after the other of a UTF-8 text file, gzip or not, without blanks around it.

    Raises
    ------
    OSError
        If the file is missing or cannot be read.
    ValueError
        If it is not UTF-8 text or a gzip file that was cut short.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    with _clear_errors(str(path)), opener(path, "rb") as file:
        yield from _decoded(file)


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
                yield from _decoded(members.extractfile(member))
                return
        raise ValueError(f"{archive} holds no file {name}; it is another archive, or cut short.")


def _decoded(file: BufferedIOBase) -> Iterator[str]:
    # "utf-8-sig": the byte order mark that Windows writes must not stick to the first word.
    with TextIOWrapper(file, encoding="utf-8-sig", newline="\n") as text:
        for line in text:
            yield line.strip()


@contextmanager
def _clear_errors(name: str) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 text ({error}); convert it to UTF-8.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error, tarfile.TarError) as error:
        raise ValueError(f"{name} is a damaged gzip file ({error}); copy it again.") from None


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
            raise ValueError(
                f"{self._names[0]} has {both + only_source} lines, {self._names[1]} has "
                f"{both + only_target}: line n of one must be the translation of line n of the "
                f"other."
            )


def read_pairs(source: Path, target: Path) -> tuple[list[SentencePair], int]:
    """Read two aligned files; leave pairs with a blank side out, and return how many.

    Raises
    ------
    OSError, ValueError
        If a file cannot be read, the numbers of lines differ, or no pair is left.
    """
    stream = PairStream(iterate_lines(source), iterate_lines(target), (str(source), str(target)))
    pairs = list(stream)
    if not pairs:
        raise ValueError(f"{source} and {target} hold no sentence pair: every line is blank.")
    return pairs, stream.blank


def files_corpus(
    source: Path,
    target: Path,
    dev: tuple[Path, Path] | None = None,
    test: tuple[Path, Path] | None = None,
    seed: int = 0,
) -> Corpus:
    """Make a corpus of two aligned files, with splits train, dev and test.

    Pairs with a blank side are left out and counted, as are training pairs whose source sentence is
    in dev or test.

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
    pairs, blank = read_pairs(source, target)
    given = {}
    for name, files in (("dev", dev), ("test", test)):
        if files:
            _check_languages(name, files, languages)
            given[name], blank_there = read_pairs(*files)
            blank += blank_there
    try:
        splits, repeated = complete(pairs, given, seed)
    except ValueError as error:
        raise ValueError(f"{source} and {target}: {error}") from None
    return Corpus("files", *languages, splits, counted({BLANK: blank, REPEATED: repeated}))


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
