"""What is in two files: lines for a terminal, a page for people."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def strange(tmp_path: Path, texts: tuple[Path, Path]) -> tuple[Path, Path]:
    """Return two files with a blank line and a script of its own."""
    with texts[0].open("a", encoding="utf-8") as source:
        source.write("the cat <sleeps>\nthe dog\n")
    with texts[1].open("a", encoding="utf-8") as target:
        target.write("\nकुत्ता\n")
    return texts


def test_text_says_what_is_there_and_what_to_mend(run: Run, strange: tuple[Path, Path]) -> None:
    status, output, error = run("text", *strange)
    assert (status, error) == (0, "")
    assert output.startswith("17 sentence pairs in 18 lines.\ntrain.en: 53 words, ")
    assert "1 (5.6%) found: a side is blank: line 17\n    Nothing: training" in output
    assert "1 (5.6%) found: another script than the rest of the file: line 18" in output
    assert "reach these BLEU: " in output
    assert "You have 17. Expect single words" in output
    assert "What to mend first: another script" in output


def test_page_shows_the_lines(run: Run, strange: tuple[Path, Path], tmp_path: Path) -> None:
    page = tmp_path / "text.html"
    assert run("text", *strange, "--output", page)[0] == 0
    html = page.read_text(encoding="utf-8")
    assert "<title>A text in English and French</title>" in html
    assert '<td dir="auto">the cat &lt;sleeps&gt;</td>' in html
    assert '<td dir="auto">कुत्ता</td>' in html
    assert not re.search(r"https?://|<script", html)
    pictures = re.findall(r'<img alt="([^.]+)\. ([^"]+)" src="data:image/png', html)
    assert [title for title, _ in pictures] == [
        "How long the sentences are",
        "More text, more BLEU: captions, English into French",
    ]
    assert pictures[1][1].endswith("marked: your 17 pairs.")


def test_right_text_has_nothing_strange(run: Run, texts: tuple[Path, Path], tmp_path: Path) -> None:
    lines = run("text", *texts, "--output", tmp_path / "text.html")[1]
    assert "Nothing strange was found." in lines
    assert "What to mend first" not in lines
    assert "Nothing strange was found." in (tmp_path / "text.html").read_text(encoding="utf-8")


def test_text_that_cannot_be_read_is_named(
    fails: Callable[..., str], texts: tuple[Path, Path], tmp_path: Path
) -> None:
    source, target = texts
    assert "is the source and the target" in fails("text", source, source)
    assert "missing.fr: No such file" in fails("text", source, tmp_path / "missing.fr")
    assert "must end in .html" in fails("text", source, target, "--output", tmp_path / "text")
    target.write_text("le chat dort\n", encoding="utf-8")
    assert "has 16 lines, " in fails("text", source, target)


def test_characters_are_counted_where_no_blanks_help(run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "my.en", tmp_path / "my.zh"
    source.write_text("the cat sleeps\n" * 3, encoding="utf-8")
    target.write_text("猫在睡觉。\n" * 3, encoding="utf-8")
    output = run("text", source, target)[1]
    assert "my.zh: 12 words, 4 different ones" in output
    assert "Chinese sets no blanks between words" in output


def test_a_page_needs_no_ten_pairs(run: Run, texts: tuple[Path, Path], tmp_path: Path) -> None:
    for path in texts:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:3]), encoding="utf-8")
    page = tmp_path / "text.html"
    assert run("text", *texts, "--output", page)[0] == 0
    assert "<h2>Pairs drawn at random</h2>" in page.read_text(encoding="utf-8")
