"""Scripts from right to left, combining marks and lines without blanks go through it all."""

import html
import json
import unicodedata
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from transformer_course.translation.translator import Translator

SCRIPTS = {
    "ar": ["القِطّة", "الكلب", "المَلِك", "تنام", "يأكُل", "يُغنّي"],
    "he": ["הַחָתוּל", "הַכֶּלֶב", "הַמֶּלֶךְ", "יָשֵׁן", "אוֹכֵל", "שָׁר"],
    "hi": ["बिल्ली", "कुत्ता", "राजा", "सोती है", "खाता है", "गाता है"],
    "th": ["แมว", "สุนัข", "กษัตริย์", "นอนหลับ", "กินข้าว", "ร้องเพลง"],
    "vi": [unicodedata.normalize("NFD", w) for w in ("con mèo", "chó", "vua", "ngủ", "ăn", "hát")],
}
ENGLISH = ["the cat", "the dog", "the king", "sleeps", "eats", "sings"]


def sentences(words: list[str]) -> list[str]:
    return [f"{who} {what} {n}" for who in words[:3] for what in words[3:] for n in range(1, 5)]


@pytest.mark.parametrize("language", SCRIPTS)
def test_marks_and_directions_survive(run: Run, tmp_path: Path, language: str) -> None:
    lines = sentences(SCRIPTS[language])
    files = tmp_path / "my.en", tmp_path / f"my.{language}"
    for path, text in zip(files, (sentences(ENGLISH), lines), strict=True):
        path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    few = ("--set", "text.subwords=60", "--set", "model.max_len=64", "--steps", "2")
    folder, page, report = (tmp_path / name for name in ("run", "page.html", "report.html"))
    files = ("--source", files[1], "--target", files[0])
    assert run("train", *files, *few, "--output", folder)[0] == 0

    vocabulary = Translator.load(folder).source
    for line in lines:
        said = vocabulary.decode(vocabulary.encode(line))
        assert unicodedata.normalize("NFKC", said) == unicodedata.normalize("NFKC", line)
    assert run("translate", folder, *lines[:2])[0] == 0

    assert run("report", folder, report)[0] == 0
    held_out = set(json.loads((folder / "run.json").read_text(encoding="utf-8")))
    assert held_out
    shown = report.read_text(encoding="utf-8")
    composed = (unicodedata.normalize("NFC", line) for line in lines)
    assert sum(f'<td dir="auto">{html.escape(line)}</td>' in shown for line in composed) >= 1
    assert run("publish", folder, page)[0] == 0
    assert 'dir="auto"' in page.read_text(encoding="utf-8")
