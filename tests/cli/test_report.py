"""A page on how good one or several runs are."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from transformer_course.translation.translator import Translator


@pytest.fixture
def other(run: Run, trained: Path, tmp_path: Path) -> Path:
    """Return a run that differs from the trained one by its seed alone."""
    folder = tmp_path / "seed-1"
    assert run("train", "--seed", "1", "--output", folder)[0] == 0
    return folder


def test_report_is_one_file_without_network(run: Run, trained: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    status, output, _ = run("report", trained, page)
    assert status == 0
    assert "it needs no network" in output
    html = page.read_text(encoding="utf-8")
    assert len(html) < 3e6
    assert not re.search(r"https?://|<script|(src|href)=\"(?!data:)", html)
    assert "<title>English into French: toy</title>" in html
    for section in ("How good it is", "How it was learned", "Where it fails", "What it says"):
        assert f"<h2>{section}</h2>" in html
    assert html.count("<img alt=") >= 2
    assert "tok:13a" in html
    assert re.search(r'<img alt="The score by [^"]+by unseen words: 1 \d', html)
    assert "over 0" not in html and "up to 0" not in html
    assert "transformer-course train --corpus toy" in html


def test_runs_of_several_seeds_are_compared(
    run: Run, trained: Path, other: Path, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    assert run("report", trained, other, page, "--beam", "2")[0] == 0
    html = page.read_text(encoding="utf-8")
    assert "These runs differ by their seed alone" in html
    assert "Paired bootstrap, 1,000 test sets" in html
    assert "by a beam of 2" in html


def test_runs_that_cannot_be_compared_are_refused(
    run: Run,
    fails: Callable[..., str],
    trained: Path,
    tmp_path: Path,
    texts: tuple[Path, Path],
) -> None:
    folder, page = tmp_path / "files", tmp_path / "report.html"
    files = ("--corpus", "files", "--source", texts[0], "--target", texts[1])
    assert run("train", *files, "--steps", "1", "--output", folder)[0] == 0
    assert "have different test splits" in fails("report", trained, folder, page)
    assert "compares 4 runs at most" in fails("report", *[trained] * 5, page)
    assert "must end in .html" in fails("report", trained, tmp_path / "report")
    assert "no run.json in" in fails("report", tmp_path, page)
    assert not page.exists()


def test_run_that_ships_has_a_report(run: Run, tmp_path: Path) -> None:
    """It has no history, and its corpus here is another one."""
    page = tmp_path / "report.html"
    assert run("report", "toy", page)[0] == 0
    assert "How it was learned" not in page.read_text(encoding="utf-8")


def test_useless_translator_is_called_so(
    run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, page = Path(shutil.copytree(trained, tmp_path / "run")), tmp_path / "report.html"
    monkeypatch.setattr(
        Translator,
        "translate_with_scores",
        lambda _self, texts, beam: [("la lune dort", -1.0)] * len(texts),
    )
    rows = ["step,train_loss,dev_loss,dev_bleu", "1,6,6,0", "2,5,5,0.1", "3,4,4.5,0.1"]
    (folder / "metrics.csv").write_text("\n".join(rows), encoding="utf-8")
    assert run("report", folder, page)[0] == 0
    html = page.read_text(encoding="utf-8")
    assert re.search(r"the BLEU of run, \d\.\d, means: almost useless\.", html)
    assert "3 of its 3 translations begin with “la lune”, and 0 of those by people: it says" in html
    assert "The dev loss fell until the last look, by 0.38 in the last quarter" in html


def test_translations_that_begin_as_those_by_people_do_are_not_alike(
    run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "report.html"
    monkeypatch.setattr(
        Translator,
        "translate_with_scores",
        lambda _self, texts, beam: [("le chat dort", -1.0)] * len(texts),
    )
    assert run("report", trained, page)[0] == 0
    assert "translations begin with" not in page.read_text(encoding="utf-8")


def test_runs_of_one_name_are_told_apart(run: Run, trained: Path, tmp_path: Path) -> None:
    twin, page = tmp_path / "b" / trained.name, tmp_path / "report.html"
    shutil.copytree(trained, twin)
    assert run("report", trained, twin, page)[0] == 0
    html = page.read_text(encoding="utf-8")
    assert f"<title>English into French: {trained} and {twin}</title>" in html
