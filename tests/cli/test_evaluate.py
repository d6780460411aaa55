import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import PAIRS, SCORES, TOY, Run
from transformer_course.translation.corpora.corpus import Corpus
from transformer_course.translation.corpora.registry import CORPORA, Kind


@pytest.mark.parametrize(("split", "sentences"), [("test", 3), ("test_combinations", 2)])
def test_evaluate_prints_json(run: Run, trained: Path, split: str, sentences: int) -> None:
    status, output, error = run("evaluate", trained, "--split", split)
    assert (status, error) == (0, "")
    scores = json.loads(output)
    assert set(scores) == SCORES | {"alignment_accuracy"}
    assert scores["sentences"] == sentences


def test_evaluate_takes_the_test_split_by_default(run: Run, trained: Path) -> None:
    def scores(*arguments: str) -> dict[str, Any]:
        return json.loads(run("evaluate", trained, *arguments)[1]) | {"seconds": 0}

    assert scores() == scores("--split", "test")


def test_data_may_have_moved(
    run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def captions(folder: Path | None = None) -> Corpus:
        seen.append(folder)
        return TOY

    monkeypatch.setitem(CORPORA, "toy", Kind(captions, {"data": "folder"}))
    assert run("evaluate", trained, "--data", tmp_path)[0] == 0
    page = tmp_path / "report.html"
    assert run("report", trained, page, "--data", tmp_path)[0] == 0
    assert {*seen} == {tmp_path}


def test_evaluate_takes_other_texts(run: Run, trained: Path, texts: tuple[Path, Path]) -> None:
    source, reference = texts
    status, output, _ = run("evaluate", trained, "--source", source, "--reference", reference)
    assert status == 0
    assert json.loads(output)["sentences"] == len(PAIRS)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--split", "tset"], "no split 'tset'; use one of train, dev, test, test_combinations"),
        (["--source", "a.en"], "give both files or neither"),
        (["--reference", "a.fr"], "give both files or neither"),
        (["--source", "a.en", "--reference", "a.fr", "--split", "test"], "leave out --split"),
        (["--source", "a.en", "--reference", "a.fr", "--data", "d"], "leave out --data"),
        (["--source", "no-such.en", "--reference", "a.fr"], "no-such.en: No such file"),
    ],
)
def test_evaluate_refuses(
    fails: Callable[..., str], trained: Path, arguments: list[str], complaint: str
) -> None:
    assert complaint in fails("evaluate", trained, *arguments)


def test_a_text_that_changed_or_is_gone_judges_nobody(
    run: Run,
    fails: Callable[..., str],
    texts: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, page = tmp_path / "run", tmp_path / "page.html"
    files = ("--source", texts[0], "--target", texts[1])
    assert run("train", *files, "--steps", "1", "--output", folder)[0] == 0
    assert run("evaluate", folder)[0] == 0
    before = [path.read_text(encoding="utf-8") for path in texts]
    for path, text in zip(texts, before, strict=True):
        path.write_text("a new sentence\n" + text, encoding="utf-8")
    for command in (("evaluate", folder), ("report", folder, page)):
        assert "has changed since it was trained" in fails(*command)
    again = ("train", "--from", folder, "--steps", "1", "--output", tmp_path / "more")
    monkeypatch.chdir(texts[0].parent)
    relative = ("--source", texts[0].name, "--target", texts[1].name)
    for named in ((), relative):
        assert "has changed since it was trained" in fails(*again, *named)
    texts[0].unlink()
    said = fails("evaluate", folder)
    assert f"the text of {folder} is not at {texts[0]} any more: put it back there" in said
    texts[0].write_text(before[0], encoding="utf-8")
    texts[1].write_text(before[1], encoding="utf-8")
    assert run("evaluate", folder)[0] == 0
