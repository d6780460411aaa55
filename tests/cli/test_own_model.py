"""The learner's my_transformer.py on the command line: check, export, train."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run, forget_the_end
from transformer_course.own.file import NAME
from transformer_course.own.sections import parts, template, with_section

Fails = Callable[..., str]
SOFTMAX = "def softmax(scores):\n    return (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()"


def file_with(folder: Path, **answers: str) -> Path:
    text = template()
    for name, body in answers.items():
        text = with_section(text, name, body, "yours, 2026-11-23")
    path = folder / NAME
    path.write_text(text, encoding="utf-8")
    return path


def test_check_lists_every_part_and_no_section_of_ones_own(run: Run, tmp_path: Path) -> None:
    path = file_with(tmp_path, softmax=SOFTMAX)
    helper = "# --- attention: my_helper (yours) ---\ndef my_helper(): return 3\n"
    text = path.read_text(encoding="utf-8") + helper
    path.write_text(text, encoding="utf-8-sig")  # a byte order mark is no mistake
    status, output, error = run("check", path)
    assert (status, error) == (0, "")
    lines = output.splitlines()
    assert [line.split()[1] for line in lines] == list(parts())
    assert [line.split()[1] for line in lines if line.endswith("Right")] == ["softmax"]
    assert sum(line.endswith("given") for line in lines) == len(parts()) - 1


def test_check_names_what_is_wrong(run: Run, tmp_path: Path) -> None:
    wrong = SOFTMAX.replace("dim=-1", "dim=0")
    status, output, _ = run("check", file_with(tmp_path, softmax=wrong))
    assert status == 1
    assert ("Not yet" in output and "along the wrong axis" in output.replace("\n", " ")) or (
        "axis" in output
    )
    assert "Together the parts go wrong" in output


def test_file_that_lost_a_part_cannot_be_checked(fails: Fails, tmp_path: Path) -> None:
    path = file_with(tmp_path)
    path.write_text(template().replace("# --- start_here: softmax", "# softmax"), encoding="utf-8")
    assert "has no section for softmax" in fails("check", path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lambda text: text.replace("PAD, BOS", "PAD BOS"), "does not run: SyntaxError"),
        (lambda text: text + "\nraise SystemExit(3)\n", "ends Python when it is imported"),
        (lambda text: text + "\nimport os\nos._exit(0)\n", "(exit status 0)"),
        (lambda text: text + "\nwhile True:\n    pass\n", "does not end within 1 seconds"),
        (lambda text: text.replace("softmax = given.softmax", "sftmx = 1"), "go wrong"),
    ],
    ids=["no Python", "exit", "exit at once", "endless", "part missing"],
)
@pytest.mark.parametrize("command", ["check", "train"])
def test_file_that_does_not_run(
    run: Run, tmp_path: Path, content: Callable, said: str, command: str, monkeypatch
) -> None:
    monkeypatch.setattr("transformer_course.own.modules.TIME_LIMIT", 1.0)
    monkeypatch.setattr("transformer_course.own.file.TIME_LIMIT", 1.0)
    path = file_with(tmp_path)
    path.write_text(content(path.read_text(encoding="utf-8")), encoding="utf-8")
    output = tmp_path / "run"
    arguments = {"check": (path,), "train": ("--model", path, "--output", output)}[command]
    status, printed, error = run(command, *arguments)
    assert status in (1, 2)
    assert said in printed + error
    assert not output.exists()


def test_step_that_never_ends_is_refused(fails: Fails, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("transformer_course.own.whole.CHECK_LIMIT", 1.0)
    endless = "def softmax(scores):\n    while True:\n        pass"
    path = file_with(tmp_path, softmax=endless)
    said = fails("train", "--model", path, "--output", tmp_path / "run")
    assert "they do not end within 1 seconds" in said


def test_missing_file_is_said(fails: Fails, tmp_path: Path) -> None:
    assert "nowhere.py: No such file" in fails("check", tmp_path / "nowhere.py")
    path = tmp_path / "latin.py"
    path.write_bytes("# é".encode("latin-1"))
    assert "latin.py is not UTF-8 text" in fails("check", path)
    assert "latin.py is not UTF-8 text" in fails("export", tmp_path / "new.py", "--model", path)


def test_export_writes_a_file_that_needs_torch_alone(
    run: Run, fails: Fails, tmp_path: Path
) -> None:
    path, home = file_with(tmp_path, softmax=SOFTMAX), tmp_path / "my translator.py"
    status, output, _ = run("export", home, "--model", path)
    assert status == 0 and f"needs only torch; python '{home}' SOURCE TARGET" in output
    text = home.read_text(encoding="utf-8")
    assert "transformer_course" not in text and "yours, 2026-11-23" in text
    assert "exists already" in fails("export", home, "--model", path)
    other = tmp_path / "other.py"
    other.write_text("print(1)", encoding="utf-8")
    assert "has no section for softmax" in fails("export", tmp_path / "new.py", "--model", other)
    assert home.read_text(encoding="utf-8") == text


def result(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))["result"]


def test_model_with_a_choice_of_its_own_is_trained(run: Run, tmp_path: Path) -> None:
    path = file_with(tmp_path, softmax=SOFTMAX)
    text = path.read_text(encoding="utf-8")
    more = text.replace(
        "    max_len: int = 256\n", "    max_len: int = 256\n    loudness: int = 3\n"
    )
    assert more != text
    path.write_text(more, encoding="utf-8")
    assert run("train", "--model", path, "--output", tmp_path / "out")[0] == 0


def test_parameters_that_the_own_model_lacks_are_named(fails: Fails, tmp_path: Path) -> None:
    arguments = ("--model", file_with(tmp_path, softmax=SOFTMAX), "--output", tmp_path / "out")
    said = fails("train", *arguments, "--set", "model.positions=learned")
    assert "yours has no place for it: train without --model" in said


def test_training_by_own_model_equals_the_courses(run: Run, tmp_path: Path, monkeypatch) -> None:
    path = file_with(tmp_path, softmax=SOFTMAX)
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    status, _, error = run("train", "--model", path, "--output", mine)
    assert status == 0
    assert f"training runs the code in {path}" in error
    run("train", "--output", theirs)
    assert (mine / NAME).read_text(encoding="utf-8") == path.read_text(encoding="utf-8")
    one, other = result(mine), result(theirs)
    assert one["train_loss"] == pytest.approx(other["train_loss"], rel=0.05)  # dropout differs
    assert run("translate", mine, "the cat sleeps")[0] == 0


def test_resumed_run_uses_its_own_copy(run: Run, fails: Fails, tmp_path: Path) -> None:
    path = file_with(tmp_path)
    folder = tmp_path / "mine"
    run("train", "--model", path, "--output", folder)
    path.unlink()
    forget_the_end(folder)
    assert "leave out --model" in fails(
        "train", "--resume", "--output", folder, "--model", folder / NAME
    )
    _, _, error = run("train", "--resume", "--output", folder)
    assert f"training runs the code in {folder / NAME}" in error
