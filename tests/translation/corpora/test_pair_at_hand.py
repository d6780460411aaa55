"""The two files for whoever has none."""

from pathlib import Path

import pytest

from tests.real_texts import MULTI30K, needs_multi30k
from transformer_course.translation.corpora import pair_at_hand
from transformer_course.translation.corpora.corpus import Corpus, SentencePair
from transformer_course.translation.corpora.pair_at_hand import (
    PAIRS,
    write_captions,
    write_toy_sentences,
)
from transformer_course.translation.corpora.text_files import read_lines
from transformer_course.translation.corpora.toy_language import translate_by_rule


def test_captions_are_joined_by_their_english(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = {"en-de": ["ein Hund", "eine Katze"], "en-fr": ["un chien", "un chat"]}

    def corpus(pair: str) -> Corpus:
        pairs = [SentencePair(f"caption {n}", text) for n, text in enumerate(sides[pair])]
        return Corpus("multi30k", *pair.split("-"), {"train": pairs})

    monkeypatch.setattr(pair_at_hand, "multi30k_corpus", corpus)
    files = write_captions(tmp_path / "new")
    assert [path.name for path in files] == ["captions.de", "captions.fr"]
    assert read_lines(*files) == (sides["en-de"], sides["en-fr"])
    sides["en-fr"].pop()
    with pytest.raises(ValueError, match="zip"):
        write_captions(tmp_path)


@needs_multi30k
def test_published_captions_have_the_same_english(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSFORMER_COURSE_DATA", str(MULTI30K))
    english = [
        [pair.source for pair in pair_at_hand.multi30k_corpus(pair).split("train")[:PAIRS]]
        for pair in ("en-de", "en-fr")
    ]
    assert english[0] == english[1]
    german, french = read_lines(*write_captions(tmp_path))
    assert len({*zip(german, french, strict=True)}) == PAIRS


def test_toy_sentences_are_translations(tmp_path: Path) -> None:
    files = write_toy_sentences(tmp_path)
    assert [path.name for path in files] == ["toy.fr", "toy.en"]
    french, english = read_lines(*files)
    assert len(french) == PAIRS
    assert [translate_by_rule(line).target for line in english[:100]] == french[:100]
