"""The commands that an assistant gives: one answer, and how far the learner is."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from transformer_course.tutor import command, judge

RIGHT = "def causal_mask(length):\n    return torch.ones(length, length).tril().bool()\n"
ARGUMENTS = ("--exercise", "causal_mask")


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    path = tmp_path / "answer.py"
    path.write_text(RIGHT, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "found_out", judge.judged)


@pytest.mark.parametrize(
    ("text", "status", "verdict"),
    [
        (RIGHT, 0, "right"),
        (RIGHT.replace("tril", "triu"), 1, "wrong"),
        ("def causal_mask(length):\n    ...", 1, "not attempted"),
        ("causal_mask(", 2, "not judged"),
    ],
)
def test_status_says_how_it_went(
    run: Run, answer: Path, text: str, status: int, verdict: str
) -> None:
    answer.write_text(text, encoding="utf-8")
    found, output, error = run("check", answer, *ARGUMENTS, "--json")
    assert (found, error) == (status, "")
    assert json.loads(output)["verdict"] == verdict
    found, output, error = run("check", answer, *ARGUMENTS)
    assert found == status
    if status == 2:
        assert error.startswith("transformer-course: ") and error.count("\n") == 1
    else:
        assert output.startswith(f"causal_mask: {verdict}")


def test_json_is_for_one_answer(run: Run, answer: Path) -> None:
    status, _, error = run("check", answer, "--json")
    assert status == 2 and "name it with --exercise" in error


def test_progress_is_printed_in_words_and_in_json(run: Run, answer: Path) -> None:
    run("check", answer, *ARGUMENTS)
    status, output, _ = run("progress")
    assert status == 0 and "x causal_mask" in output
    status, output, _ = run("progress", "--json")
    assert status == 0 and json.loads(output)["solved"] == 1


def test_help_says_what_the_status_means(capsys, run: Run) -> None:
    with pytest.raises(SystemExit):
        run("check", "--help")
    said = " ".join(capsys.readouterr().out.split())
    assert "Exit status: 0 right, 1 not right yet, 2 could not be judged." in said
