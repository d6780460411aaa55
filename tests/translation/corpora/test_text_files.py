import gzip
import io
import random
import tarfile
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.splits import REPEATED
from transformer_course.translation.corpora.text_files import (
    BLANK,
    PairStream,
    files_corpus,
    files_divided_by_line,
    iterate_lines,
    iterate_member_lines,
    parting,
    read_pairs,
)

DEV_OF_FORTY_LINES = ["0", "27", "12", "21"]
LINES = ["L'homme n'aime pas l'œuf.", "", "Le café est fermé."]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "train.fr"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def write_pair(folder: Path, source: list[str], target: list[str]) -> tuple[Path, Path]:
    paths = folder / "train.en", folder / "train.fr"
    for path, lines in zip(paths, (source, target), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return paths


def test_lines_are_read(text: Path) -> None:
    assert list(iterate_lines(text)) == LINES


def test_gzip_is_read(text: Path) -> None:
    packed = text.with_name("train.fr.gz")
    packed.write_bytes(gzip.compress(text.read_bytes()))
    assert list(iterate_lines(packed)) == LINES


def test_windows_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "train.fr"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(LINES).encode())
    assert list(iterate_lines(path)) == LINES


def test_only_line_feeds_end_a_line(tmp_path: Path) -> None:
    """Else one file could get more lines than its translation."""
    path = tmp_path / "train.fr"
    path.write_text("un\u2028deux\x0btrois\x85quatre\rcinq\nsix\n", encoding="utf-8", newline="\n")
    assert len(list(iterate_lines(path))) == 2


@pytest.mark.parametrize("path", ["missing.fr", "missing.fr.gz", "."])
def test_unreadable_files_are_named(tmp_path: Path, path: str) -> None:
    with pytest.raises(OSError, match=r"No such file|Is a directory"):
        list(iterate_lines(tmp_path / path))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_other_encodings_are_refused(text: Path, encoding: str) -> None:
    text.write_text("\n".join(LINES), encoding=encoding)
    with pytest.raises(ValueError, match=r"train\.fr is UTF-16 or UTF-32 text; convert it"):
        list(iterate_lines(text))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"le chat\n\xe9t\xe9\n", r"not UTF-8 text in line 2, at its beginning \(byte 0xe9\)"),
        (b"le chat\nun caf\xe9 noir\n", r"not UTF-8 text in line 2, behind 'un caf' \(byte 0xe9\)"),
        ("le chat\ndort\n".encode("utf-16-le"), "a NUL character in line 1, as UTF-16 text has"),
        (b"le chat\ndo\x00rt\n", "a NUL character in line 2"),
        (b"le chat\rdort\r", "ends its lines by carriage returns alone"),
    ],
)
def test_other_texts_are_refused_with_line_and_remedy(
    text: Path, content: bytes, complaint: str
) -> None:
    text.write_bytes(content)
    with pytest.raises(ValueError, match=rf"train\.fr.*{complaint}.*(convert|mend)"):
        list(iterate_lines(text))


def test_text_is_read_as_what_it_is_whatever_its_name(tmp_path: Path) -> None:
    content = "\n".join(LINES).encode()
    plain, packed = tmp_path / "plain.fr.gz", tmp_path / "packed.fr"
    plain.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    assert list(iterate_lines(plain)) == list(iterate_lines(packed)) == LINES


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_damaged_gzip_is_refused(tmp_path: Path, damage: str) -> None:
    whole = gzip.compress("\n".join(LINES * 100).encode())
    middle = len(whole) // 2
    path = tmp_path / "train.fr.gz"
    path.write_bytes(
        {
            "cut": whole[:middle],
            "changed": whole[:middle] + b"\xff" * 20 + whole[middle + 20 :],
        }[damage]
    )
    with pytest.raises(ValueError, match=r"train\.fr\.gz is a damaged gzip file .*copy it again"):
        list(iterate_lines(path))


def archive_of(folder: Path, texts: dict[str, str], kind: int = tarfile.REGTYPE) -> Path:
    path = folder / "texts.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in texts.items():
            member = tarfile.TarInfo(name)
            member.type, member.size = kind, len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def test_text_is_read_out_of_an_archive(tmp_path: Path, text: Path) -> None:
    texts = {"training/a.en": "cat\n", "training/train.fr": text.read_text("utf-8"), "b.fr": "x\n"}
    archive = archive_of(tmp_path, texts)
    assert list(iterate_member_lines(archive, "train.fr")) == LINES
    assert list(iterate_member_lines(archive, "a.en")) == ["cat"]


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.DIRTYPE])
def test_archive_without_the_text_is_refused(tmp_path: Path, kind: int) -> None:
    name = "train.en" if kind == tarfile.REGTYPE else "train.fr"
    archive = archive_of(tmp_path, {name: ""}, kind)
    with pytest.raises(ValueError, match=r"texts\.tgz holds no file train\.fr"):
        list(iterate_member_lines(archive, "train.fr"))


@pytest.mark.parametrize("damage", ["cut", "no gzip", "no tar"])
def test_damaged_archive_is_refused(tmp_path: Path, damage: str) -> None:
    text = "".join(f"{number**9}\n" for number in range(10_000))
    archive = archive_of(tmp_path, {"train.fr": text})
    whole = archive.read_bytes()
    archive.write_bytes(
        {
            "cut": whole[: len(whole) // 2],
            "no gzip": text.encode(),
            "no tar": gzip.compress(text.encode()),
        }[damage]
    )
    with pytest.raises(ValueError, match=r"texts\.tgz \(train\.fr\) is a damaged gzip .*copy it"):
        list(iterate_member_lines(archive, "train.fr"))


def test_other_encodings_in_an_archive_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "texts.tgz"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("train.fr")
        content = "café".encode("latin-1")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    with pytest.raises(ValueError, match=r"train\.fr\) is not UTF-8 text .*convert it"):
        list(iterate_member_lines(path, "train.fr"))


LONG_TEXT = "".join(f"this is sentence {number}\n" for number in range(100_000))


def from_a_file(folder: Path) -> Iterator[str]:
    path = folder / "train.en"
    path.write_text(LONG_TEXT)
    return iterate_lines(path)


def from_a_packed_file(folder: Path) -> Iterator[str]:
    path = folder / "train.en.gz"
    path.write_bytes(gzip.compress(LONG_TEXT.encode()))
    return iterate_lines(path)


def from_an_archive(folder: Path) -> Iterator[str]:
    return iterate_member_lines(archive_of(folder, {"train.en": LONG_TEXT}), "train.en")


@pytest.mark.parametrize("source", [from_a_file, from_a_packed_file, from_an_archive])
def test_text_is_never_whole_in_memory(
    tmp_path: Path, source: Callable[[Path], Iterator[str]]
) -> None:
    lines = source(tmp_path)
    tracemalloc.start()
    try:
        assert sum(len(line) + 1 for line in lines) == len(LONG_TEXT)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < len(LONG_TEXT) / 5


def test_pairs_with_a_blank_side_are_left_out_and_counted(tmp_path: Path) -> None:
    paths = write_pair(tmp_path, ["a", "b", " ", "d", "e"], ["w", "", "y", "z", "v"])
    pairs = [SentencePair("a", "w"), SentencePair("d", "z"), SentencePair("e", "v")]
    assert read_pairs(*paths) == (pairs, 2)
    assert files_corpus(*paths).left_out == {"a side is blank": 2}


def test_blank_pairs_are_counted_as_they_come_by() -> None:
    stream = PairStream(["a", "", "c", ""], ["w", "x", "y", "z"], ("train.en", "train.fr"))
    pairs = iter(stream)
    assert next(pairs) == SentencePair("a", "w")
    assert stream.blank == 0
    assert list(pairs) == [SentencePair("c", "y")]
    assert stream.blank == 2


@pytest.mark.parametrize("longer", [0, 1])
def test_missing_line_shows_at_the_end_of_a_stream(longer: int) -> None:
    texts = [["a", "b"], ["w", "x"]]
    texts[longer] += ["c", "d", "e"]
    pairs = iter(PairStream(*texts, ("train.en", "train.fr")))
    assert len(list(islice(pairs, 2))) == 2
    words = ("train.en has 5 lines, train.fr has 2", "train.en has 2 lines, train.fr has 5")
    with pytest.raises(ValueError, match=words[longer]):
        next(pairs)


def test_unequal_numbers_of_lines_are_refused(tmp_path: Path) -> None:
    paths = write_pair(tmp_path, ["a", "b"], ["w"])
    with pytest.raises(ValueError, match=r"train\.en has 2 lines, .*train\.fr has 1"):
        read_pairs(*paths)


@pytest.mark.parametrize("lines", [[], ["", " "]])
def test_files_without_a_pair_are_refused(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(ValueError, match="no sentence pair"):
        read_pairs(*write_pair(tmp_path, lines, lines))


def test_corpus_has_dev_and_test(tmp_path: Path) -> None:
    lines = [str(number) for number in range(100)]
    corpus = files_corpus(*write_pair(tmp_path, lines, lines))
    assert (corpus.source_language, corpus.target_language) == ("en", "fr")
    assert {name: len(split) for name, split in corpus.splits.items()} == {
        "train": 80,
        "dev": 10,
        "test": 10,
    }
    assert corpus.left_out == {}


def test_dev_and_test_can_be_given(tmp_path: Path) -> None:
    """Blank lines and repeated sources are counted wherever they are."""
    for name, source, target in (
        ("text", ["a", "b", "c", "d"], ["w", "x", "y", "z"]),
        ("dev", ["d", ""], ["other", "z"]),
        ("test", ["e"], ["v"]),
    ):
        (tmp_path / name).mkdir()
        write_pair(tmp_path / name, source, target)
    dev, test, text = (
        (tmp_path / name / "train.en", tmp_path / name / "train.fr")
        for name in ("dev", "test", "text")
    )
    corpus = files_corpus(*text, dev=dev, test=test)
    assert corpus.split("dev") == [SentencePair("d", "other")]
    assert corpus.split("test") == [SentencePair("e", "v")]
    assert {pair.source for pair in corpus.split("train")} == {"a", "b", "c"}
    assert corpus.left_out == {BLANK: 1, REPEATED: 1}
    assert len(files_corpus(*text, dev=dev).split("test")) == 1


def test_given_files_of_other_languages_are_refused(tmp_path: Path) -> None:
    text = write_pair(tmp_path, ["a", "b", "c"], ["x", "y", "z"])
    with pytest.raises(ValueError, match=r"--dev .* is fr and en, the text is en and fr"):
        files_corpus(*text, dev=text[::-1])


def test_text_all_of_which_is_given_for_dev_is_refused(tmp_path: Path) -> None:
    text = write_pair(tmp_path, ["a", "b", "c"], ["x", "y", "z"])
    with pytest.raises(ValueError, match=r"train\.fr: nothing is left for test and train"):
        files_corpus(*text, dev=text)


def test_seed_determines_what_is_held_out(tmp_path: Path) -> None:
    lines = [str(number) for number in range(100)]
    paths = write_pair(tmp_path, lines, lines)
    first, again, other = (files_corpus(*paths, seed=seed).split("dev") for seed in (0, 0, 1))
    assert first == again
    assert first != other
    assert first != [SentencePair(line, line) for line in lines[:10]]


@pytest.mark.parametrize("lines", [["a"], ["a", "b"], ["a", "a", "a", "b", "b"]])
def test_too_few_sentences_are_refused(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(ValueError, match="three different source sentences"):
        files_corpus(*write_pair(tmp_path, lines, lines))


def test_earlier_runs_keep_their_division(tmp_path: Path) -> None:
    """Recorded with the version before: the lines in which a run goes on must be the same."""
    lines = [str(number) for number in range(40)]
    corpus = files_divided_by_line(*write_pair(tmp_path, lines, lines))
    assert corpus.splits.keys() == {"train", "dev"}
    assert [pair.source for pair in corpus.split("dev")] == DEV_OF_FORTY_LINES


def test_one_file_is_no_pair(tmp_path: Path) -> None:
    source, target = write_pair(tmp_path, ["a"], ["b"])
    target.unlink()
    target.symlink_to(source)
    for other in (source, target):
        with pytest.raises(ValueError, match=r"is the source and the target"):
            read_pairs(source, other)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("side", [0, 1])
def test_place_where_two_texts_part_is_found(seed: int, side: int) -> None:
    """One or three lines are missing; the place that is found is at most five lines away."""
    chance = random.Random(seed)
    lengths = [chance.randrange(10, 200) for _ in range(300)]
    texts = [["x" * round(n * chance.uniform(0.9, 1.3)) for n in lengths] for _ in range(2)]
    place, missing = chance.randrange(20, 280), chance.choice([1, 3])
    del texts[side][place : place + missing]
    assert abs(parting(*texts) - (place + 1)) <= 5


@pytest.mark.parametrize("seed", range(20))
def test_first_of_several_places_is_found(seed: int) -> None:
    chance = random.Random(seed)
    lengths = [chance.randrange(10, 200) for _ in range(600)]
    texts = [["x" * round(n * chance.uniform(0.9, 1.3)) for n in lengths] for _ in range(2)]
    places = [chance.randrange(20, 180), chance.randrange(220, 380), chance.randrange(420, 580)]
    for place in reversed(places):
        del texts[0][place]
    assert abs(parting(*texts) - (places[0] + 1)) <= 5


def test_unequal_files_are_refused_with_the_place(tmp_path: Path) -> None:
    source = [letter * number for letter in "abc" for number in range(1, 20)]
    paths = write_pair(tmp_path, source, source[:30] + source[31:])
    with pytest.raises(ValueError, match=r"has 57 lines, .* has 56: .* seem to part at line 31"):
        read_pairs(*paths)


def test_an_empty_file_beside_another_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has 2 lines, .* has 0: line n of one must [^.]*\.$"):
        read_pairs(*write_pair(tmp_path, ["a", "b"], []))


def test_files_without_a_sentence_that_is_short_enough_are_refused(tmp_path: Path) -> None:
    long = ["x" * 2001] * 4
    with pytest.raises(ValueError, match="all 4 pairs have over 2,000 characters on a side: put"):
        files_corpus(*write_pair(tmp_path, long, [*"abcd"]))


def test_lines_that_are_no_sentences_are_left_out(tmp_path: Path) -> None:
    lines = [*"abcdefgh", "x" * 1_000_000]
    corpus = files_corpus(*write_pair(tmp_path, lines, [*"ijklmnop", "short"]))
    assert corpus.left_out == {"a side has over 2,000 characters": 1}
    assert sum(map(len, corpus.splits.values())) == 8


def test_lines_that_are_no_sentences_are_left_out_of_given_splits(tmp_path: Path) -> None:
    for name in ("text", "dev"):
        (tmp_path / name).mkdir()
    text = write_pair(tmp_path / "text", [*"abcdef"], [*"ghijkl"])
    dev = write_pair(tmp_path / "dev", ["m", "n"], ["o", "x" * 2001])
    corpus = files_corpus(*text, dev=dev)
    assert corpus.split("dev") == [SentencePair("m", "o")]
    assert corpus.left_out == {"a side has over 2,000 characters": 1}
