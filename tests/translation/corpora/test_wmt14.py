import gzip
import tarfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.real_texts import EUROPARL, needs_europarl
from transformer_course.translation.corpora import wmt14
from transformer_course.translation.corpora.corpus import Corpus, SentencePair
from transformer_course.translation.corpora.wmt14 import ARCHIVE, reservoir_sample, wmt14_corpus

NAMES = ("europarl-v7.fr-en.en", "europarl-v7.fr-en.fr")


def write_texts(folder: Path, english: Sequence[str], french: Sequence[str]) -> Path:
    for name, lines in zip(NAMES, (english, french), strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def write_numbers(folder: Path, size: int) -> Path:
    """Write the texts "e0", "e1", ... and "f0", "f1", ..."""
    return write_texts(folder, *([f"{side}{n}" for n in range(size)] for side in "ef"))


def pack(folder: Path) -> None:
    for name in NAMES:
        path = folder / name
        (folder / f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()


def archive(folder: Path) -> None:
    """Put the texts into an archive, among others, as they lie in the original one."""
    others = ("europarl-v7.de-en.de", "europarl-v7.de-en.en")
    with tarfile.open(folder / ARCHIVE, "w:gz") as tar:
        for name in (*others, *NAMES):
            text = folder / name
            text.touch()
            tar.add(text, arcname=f"training/{name}")
            text.unlink()


def move_to_the_subfolder(folder: Path) -> None:
    (folder / "wmt14").mkdir()
    for name in NAMES:
        (folder / name).rename(folder / "wmt14" / name)


def all_pairs(corpus: Corpus) -> list[SentencePair]:
    return [pair for pairs in corpus.splits.values() for pair in pairs]


def numbers(corpus: Corpus) -> set[int]:
    for pair in all_pairs(corpus):
        assert pair == SentencePair(f"e{pair.source[1:]}", f"f{pair.source[1:]}")
    return {int(pair.source[1:]) for pair in all_pairs(corpus)}


# Where the text is found


@pytest.mark.parametrize("store", [lambda _: None, pack, archive, move_to_the_subfolder])
@pytest.mark.parametrize("seed", [None, 1])
def test_same_corpus_from_every_form_of_the_text(
    tmp_path: Path, store: Callable[[Path], None], seed: int | None
) -> None:
    plain = wmt14_corpus("en-fr", write_numbers(tmp_path, 200), 50, seed)
    store(tmp_path)
    assert wmt14_corpus("en-fr", tmp_path, 50, seed) == plain


def test_pair_can_be_reversed(tmp_path: Path) -> None:
    folder = write_numbers(tmp_path, 30)
    there, back = (wmt14_corpus(pair, folder, 30) for pair in ("en-fr", "fr-en"))
    assert (back.source_language, back.target_language) == ("fr", "en")
    assert [(p.target, p.source) for p in all_pairs(back)] == [
        (p.source, p.target) for p in all_pairs(there)
    ]


def test_other_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="use one of en-fr, fr-en"):
        wmt14_corpus("en-de", write_numbers(tmp_path, 30), 30)


@pytest.mark.parametrize("missing", NAMES)
def test_half_a_text_is_refused_before_anything_is_downloaded(tmp_path: Path, missing: str) -> None:
    (write_numbers(tmp_path, 30) / missing).unlink()
    with pytest.raises(ValueError, match=f"is alone: put {missing} beside it"):
        wmt14_corpus("en-fr", tmp_path, 30)


def test_archive_is_downloaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def deliver(path: Path, sha256: str, mirrors: Sequence[str]) -> None:
        calls.append((path, sha256, mirrors))
        path.parent.mkdir()
        archive(write_numbers(path.parent, 30))

    monkeypatch.setattr(wmt14, "download", deliver)
    for _ in range(2):
        assert numbers(wmt14_corpus("en-fr", tmp_path, 30)) == set(range(30))
    assert calls == [(tmp_path / "wmt14" / ARCHIVE, wmt14.SHA256, wmt14.MIRRORS)]


# What is taken


def test_first_pairs_are_taken(tmp_path: Path) -> None:
    corpus = wmt14_corpus("en-fr", write_numbers(tmp_path, 200), 50)
    assert numbers(corpus) == set(range(50))
    assert corpus.left_out == {}
    assert wmt14_corpus("en-fr", tmp_path, 50) == corpus


def test_seed_draws_from_the_whole_text(tmp_path: Path) -> None:
    folder = write_numbers(tmp_path, 200)
    first, again, other = (wmt14_corpus("en-fr", folder, 50, seed) for seed in (1, 1, 2))
    assert first == again
    assert len(numbers(first)) == 50
    assert numbers(first) != numbers(other)
    assert max(numbers(first)) >= 150


def test_every_item_has_the_same_chance() -> None:
    draws = 2000
    counts = Counter(item for seed in range(draws) for item in reservoir_sample(range(10), 3, seed))
    expected, deviation = draws * 0.3, (draws * 0.3 * 0.7) ** 0.5
    for item in range(10):
        assert abs(counts[item] - expected) < 4 * deviation


def test_sample_of_few_items_is_all_of_them() -> None:
    assert sorted(reservoir_sample(range(5), 9, seed=0)) == list(range(5))


@pytest.mark.parametrize("seed", [None, 0])
def test_fewer_pairs_than_asked_for_are_counted(tmp_path: Path, seed: int | None) -> None:
    corpus = wmt14_corpus("en-fr", write_numbers(tmp_path, 30), 100, seed)
    assert numbers(corpus) == set(range(30))
    assert corpus.left_out == {"asked for, but the text has no more": 70}


@pytest.mark.parametrize(("seed", "blank"), [(None, 1), (0, 2)])
def test_blank_pairs_are_left_out_and_counted(tmp_path: Path, seed: int | None, blank: int) -> None:
    """The first pairs count the blank ones among them, a sample those of the whole text."""
    english, french = ([f"{side}{n}" for n in range(40)] for side in "ef")
    english[3] = french[30] = ""
    corpus = wmt14_corpus("en-fr", write_texts(tmp_path, english, french), 20, seed)
    assert len(numbers(corpus)) == 20
    assert corpus.left_out == {"a side is blank": blank}


@pytest.mark.parametrize(("size", "held_out"), [(3, 1), (39, 3), (6000, 500)])
def test_dev_and_test_are_a_tenth_each(tmp_path: Path, size: int, held_out: int) -> None:
    corpus = wmt14_corpus("en-fr", write_numbers(tmp_path, size), size)
    sizes = {name: len(pairs) for name, pairs in corpus.splits.items()}
    assert sizes == {"train": size - 2 * held_out, "dev": held_out, "test": held_out}
    assert numbers(corpus) == set(range(size))


def test_training_has_no_sentence_of_dev_or_test(tmp_path: Path) -> None:
    english = [f"e{n % 25}" for n in range(100)]  # every sentence stands there four times
    corpus = wmt14_corpus("en-fr", write_texts(tmp_path, english, ["f"] * 100), 100)
    sources = {name: {pair.source for pair in pairs} for name, pairs in corpus.splits.items()}
    assert sources["train"]
    assert not sources["train"] & (sources["dev"] | sources["test"])
    assert not sources["dev"] & sources["test"]
    left_out = corpus.left_out["the source is in dev or test"]
    assert left_out + len(all_pairs(corpus)) == 100


# Bad input


@pytest.mark.parametrize("size", [0, 2])
def test_too_short_texts_are_refused(tmp_path: Path, size: int) -> None:
    with pytest.raises(ValueError, match=f"three sentence pairs or more; got {size}"):
        wmt14_corpus("en-fr", write_numbers(tmp_path, size), 10)


@pytest.mark.parametrize("pairs", [-1, 0, 2])
def test_too_few_pairs_are_refused_before_anything_is_downloaded(
    tmp_path: Path, pairs: int
) -> None:
    with pytest.raises(ValueError, match=f"three sentence pairs or more; got {pairs}"):
        wmt14_corpus("en-fr", tmp_path, pairs)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seed", [None, 0])
def test_missing_line_is_found_behind_the_pairs_taken(tmp_path: Path, seed: int | None) -> None:
    english, french = ([f"{side}{n}" for n in range(100)] for side in "ef")
    write_texts(tmp_path, english, french[:40] + french[41:])
    with pytest.raises(ValueError, match=r"\.en has 100 lines, .*\.fr has 99"):
        wmt14_corpus("en-fr", tmp_path, 10, seed)


def test_archive_cut_short_is_refused(tmp_path: Path) -> None:
    archive(write_numbers(tmp_path, 10_000))
    path = tmp_path / ARCHIVE
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ValueError, match=f"{ARCHIVE} .* is a damaged gzip file"):
        wmt14_corpus("en-fr", tmp_path, 10)


@needs_europarl
@pytest.mark.parametrize("seed", [None, 0])
def test_sample_of_europarl_is_read(seed: int | None) -> None:
    corpus = wmt14_corpus("en-fr", EUROPARL, 3000, seed)
    assert len(all_pairs(corpus)) + corpus.left_out["the source is in dev or test"] == (
        3000 - corpus.left_out["a side is blank"]
    )
    assert SentencePair("Resumption of the session", "Reprise de la session") in all_pairs(corpus)
