from pathlib import Path

import pytest

from transformer_course.translation.corpora.languages import language_name, language_of


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("train.en", "en"),
        ("a.b.fr", "fr"),
        ("train.de.gz", "de"),
        ("train.haw", "haw"),
        ("train.zh-Hant", "zh"),
        ("train.PT-br.gz", "pt"),
    ],
)
def test_language_is_the_suffix(name: str, language: str) -> None:
    assert language_of(Path("folder") / name) == language


@pytest.mark.parametrize(
    "name", ["train", "train.txt", "train.TXT", "train.gz", "en", "train.e1", ".en", "train.text"]
)
def test_name_without_a_language_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="end with the code of its language"):
        language_of(Path(name))


@pytest.mark.parametrize("name", ["train.csv", "both.tsv", "both.CSV"])
def test_a_table_is_to_become_two_files(name: str) -> None:
    with pytest.raises(ValueError, match="into two files"):
        language_of(Path(name))


@pytest.mark.parametrize(("code", "name"), [("fr", "French"), ("haw", "Hawaiian"), ("qaa", "qaa")])
def test_languages_have_english_names(code: str, name: str) -> None:
    assert language_name(code) == name
