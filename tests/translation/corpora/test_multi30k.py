import gzip
import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.real_texts import MULTI30K, needs_multi30k
from transformer_course.translation.corpora import multi30k
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.multi30k import multi30k_corpus

SENTENCES = {"en": ["A cat.", "", "A dog."], "fr": ["Un chat.", "x", "Un chien."]}


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of small files, which the course takes for the published ones."""
    folder = tmp_path / "published"
    folder.mkdir()
    for stem in multi30k.SPLITS.values():
        for language, sentences in SENTENCES.items():
            path = folder / f"{stem}.{language}.gz"
            text = "".join(f"{sentence} {stem}\n" if sentence else "\n" for sentence in sentences)
            path.write_bytes(gzip.compress(text.encode()))
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            monkeypatch.setitem(multi30k.SHA256, path.name, digest)
    return folder


@pytest.mark.parametrize("subfolder", [".", "multi30k"])
def test_splits_are_read_from_the_folder_or_its_subfolder(
    published: Path, tmp_path: Path, subfolder: str
) -> None:
    data = tmp_path / "data"
    shutil.copytree(published, data / subfolder)
    corpus = multi30k_corpus("en-fr", data)
    assert (corpus.source_language, corpus.target_language) == ("en", "fr")
    assert {name: pairs[0] for name, pairs in corpus.splits.items()} == {
        "train": SentencePair("A cat. train", "Un chat. train"),
        "dev": SentencePair("A cat. val", "Un chat. val"),
        "test": SentencePair("A cat. test_2016_flickr", "Un chat. test_2016_flickr"),
    }
    assert corpus.left_out == {"a side is blank": 3}


def test_pair_can_be_reversed(published: Path) -> None:
    corpus = multi30k_corpus("fr-en", published)
    assert (corpus.source_language, corpus.target_language) == ("fr", "en")
    assert corpus.split("train")[1] == SentencePair("Un chien. train", "A dog. train")


@pytest.mark.parametrize("pair", ["en-es", "fr-de", "en_fr"])
def test_other_pairs_are_refused(published: Path, pair: str) -> None:
    with pytest.raises(ValueError, match="use one of en-fr, fr-en, en-de, de-en"):
        multi30k_corpus(pair, published)


def test_changed_file_is_refused(published: Path) -> None:
    path = published / "val.fr.gz"
    path.write_bytes(gzip.compress(b"Un chat. val\n\nUn chien. val\n"))
    with pytest.raises(ValueError, match=r"val\.fr\.gz is not the published file") as caught:
        multi30k_corpus("en-fr", published)
    assert multi30k.SHA256["val.fr.gz"] in str(caught.value)


def test_missing_files_are_downloaded_to_the_subfolder(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for = []

    def copy(path: Path, sha256: str, mirrors: Sequence[str]) -> None:
        asked_for.append((path, sha256, mirrors))
        path.parent.mkdir(exist_ok=True)
        shutil.copy(published / path.name, path)

    monkeypatch.setattr(multi30k, "download", copy)
    monkeypatch.setenv("TRANSFORMER_COURSE_DATA", str(tmp_path))
    corpus = multi30k_corpus("en-fr")
    assert multi30k_corpus("en-fr") == corpus == multi30k_corpus("en-fr", published)
    assert len(asked_for) == 6
    for path, sha256, mirrors in asked_for:
        assert path.parent == tmp_path / "multi30k"
        assert sha256 == multi30k.SHA256[path.name]
        assert mirrors == multi30k.MIRRORS


@needs_multi30k
@pytest.mark.parametrize("pair", multi30k.PAIRS)
def test_published_corpus_has_its_published_size(pair: str) -> None:
    corpus = multi30k_corpus(pair, MULTI30K)
    sizes = {name: len(pairs) for name, pairs in corpus.splits.items()}
    assert sizes == {"train": 29_000, "dev": 1_014, "test": 1_000}
    assert corpus.left_out == {}
