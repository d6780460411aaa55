import gzip
from pathlib import Path

import pytest

from transformer_course.translation.corpus import SentencePair
from transformer_course.translation.text_files import (
    files_corpus,
    language_of,
    read_lines,
    read_pairs,
)

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
    assert read_lines(text) == LINES


def test_gzip_is_read(text: Path) -> None:
    packed = text.with_name("train.fr.gz")
    packed.write_bytes(gzip.compress(text.read_bytes()))
    assert read_lines(packed) == LINES


def test_windows_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "train.fr"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(LINES).encode())
    assert read_lines(path) == LINES


def test_only_line_feeds_end_a_line(tmp_path: Path) -> None:
    """Else one file could get more lines than its translation."""
    path = tmp_path / "train.fr"
    path.write_text("un\u2028deux\x0btrois\x85quatre\rcinq\nsix\n", encoding="utf-8", newline="\n")
    assert len(read_lines(path)) == 2


@pytest.mark.parametrize("path", ["missing.fr", "missing.fr.gz", "."])
def test_unreadable_files_are_named(tmp_path: Path, path: str) -> None:
    with pytest.raises(OSError, match=r"No such file|Is a directory"):
        read_lines(tmp_path / path)


def test_other_encodings_are_refused(text: Path) -> None:
    text.write_text("\n".join(LINES), encoding="utf-16")
    with pytest.raises(ValueError, match=r"train\.fr is not UTF-8 text .*convert it"):
        read_lines(text)


@pytest.mark.parametrize("damage", ["cut", "changed", "no gzip"])
def test_damaged_gzip_is_refused(tmp_path: Path, damage: str) -> None:
    whole = gzip.compress("\n".join(LINES * 100).encode())
    middle = len(whole) // 2
    path = tmp_path / "train.fr.gz"
    path.write_bytes(
        {
            "cut": whole[:middle],
            "changed": whole[:middle] + b"\xff" * 20 + whole[middle + 20 :],
            "no gzip": b"\n".join([b"le chat dort"] * 10),
        }[damage]
    )
    with pytest.raises(ValueError, match=r"train\.fr\.gz is a damaged gzip file .*copy it again"):
        read_lines(path)


@pytest.mark.parametrize(
    ("name", "language"), [("train.en", "en"), ("a.b.fr", "fr"), ("train.de.gz", "de")]
)
def test_language_is_the_suffix(name: str, language: str) -> None:
    assert language_of(Path("folder") / name) == language


@pytest.mark.parametrize("name", ["train", "train.txt", "train.gz", "en", "train.e1", ".en"])
def test_name_without_a_language_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="two-letter code"):
        language_of(Path(name))


def test_pairs_with_a_blank_side_are_left_out(tmp_path: Path) -> None:
    paths = write_pair(tmp_path, ["a", "b", " ", "d"], ["w", "", "y", "z"])
    assert read_pairs(*paths) == [SentencePair("a", "w"), SentencePair("d", "z")]


def test_unequal_numbers_of_lines_are_refused(tmp_path: Path) -> None:
    paths = write_pair(tmp_path, ["a", "b"], ["w"])
    with pytest.raises(ValueError, match=r"train\.en has 2 lines, .*train\.fr has 1"):
        read_pairs(*paths)


@pytest.mark.parametrize("lines", [[], ["", " "]])
def test_files_without_a_pair_are_refused(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(ValueError, match="no sentence pair"):
        read_pairs(*write_pair(tmp_path, lines, lines))


@pytest.mark.parametrize(("sentences", "dev"), [(2, 1), (9, 1), (200, 20), (6000, 500)])
def test_corpus_puts_a_tenth_aside(tmp_path: Path, sentences: int, dev: int) -> None:
    lines = [str(number) for number in range(sentences)]
    corpus = files_corpus(*write_pair(tmp_path, lines, lines))
    assert (corpus.source_language, corpus.target_language) == ("en", "fr")
    assert len(corpus.split("dev")) == dev
    together = corpus.split("train") + corpus.split("dev")
    assert sorted(int(pair.source) for pair in together) == list(range(sentences))
    assert all(pair.source == pair.target for pair in together)


def test_seed_determines_the_dev_split(tmp_path: Path) -> None:
    lines = [str(number) for number in range(100)]
    paths = write_pair(tmp_path, lines, lines)
    first, again, other = (files_corpus(*paths, seed=seed).split("dev") for seed in (0, 0, 1))
    assert first == again
    assert first != other
    assert first != [SentencePair(line, line) for line in lines[:10]]


def test_single_pair_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one sentence pair only"):
        files_corpus(*write_pair(tmp_path, ["a"], ["b"]))
