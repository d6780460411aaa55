import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from transformer_course import cli
from transformer_course.translation.checkpoints import read_tensors, write_tensors
from transformer_course.translation.translator import Translator

SCRIPT = Path(sys.executable).with_name("transformer-course")


@pytest.mark.parametrize("command", ["evaluate", "translate"])
def test_missing_checkpoint(fails: Callable[..., str], tmp_path: Path, command: str) -> None:
    assert "not a checkpoint folder" in fails(command, tmp_path / "nowhere")
    assert "not a checkpoint folder" in fails(command, tmp_path)
    (tmp_path / "my.en").write_text("the cat")
    assert "not a checkpoint folder" in fails(command, tmp_path / "my.en")


@pytest.mark.parametrize("damaged", ["config.json", "model.safetensors"])
def test_damaged_checkpoint(
    fails: Callable[..., str], trained: Path, tmp_path: Path, damaged: str
) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "out"))
    whole = (folder / damaged).read_bytes()
    (folder / damaged).write_bytes(whole[: len(whole) // 2])
    assert f"{damaged} is damaged" in fails("translate", folder, "the cat")


@pytest.mark.parametrize("command", [("translate", "the cat"), ("evaluate",)])
def test_weights_that_are_not_finite(
    fails: Callable[..., str], trained: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "out"))
    tensors, _ = read_tensors(folder / "model.safetensors")
    next(iter(tensors.values())).view(-1)[0] = float("nan")
    write_tensors(folder / "model.safetensors", tensors, {})
    error = fails(command[0], folder, *command[1:])
    assert f"{folder / 'model.safetensors'} holds numbers that are not finite" in error


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a checkpoint folder"):
        cli.main(["--debug", "translate", str(tmp_path), "the cat"])


@pytest.mark.parametrize("arguments", [[], ["dance"], ["train"], ["train", "--steps", "many"]])
def test_usage_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)
    assert "usage: transformer-course" in capsys.readouterr().err


def test_error_of_several_lines_is_printed_in_one(
    fails: Callable[..., str], trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_self: Translator, _sentences: list[str], beam: int) -> list[str]:
        raise ValueError("first line\n    second line")

    monkeypatch.setattr(Translator, "translate", fail)
    assert fails("translate", trained, "a") == "transformer-course: first line second line\n"


def test_installed_command_fails_in_one_sentence(tmp_path: Path) -> None:
    command = [SCRIPT, "translate", tmp_path / "nowhere", "the cat"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "not a checkpoint folder" in done.stderr


def test_installed_command_translates_for_a_reader_that_leaves(trained: Path) -> None:
    """Like ``| head -1``: the pipe breaks, and nobody hears of it."""
    command = [SCRIPT, "translate", trained]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        process.stdin.write(b"the cat sleeps\n" * 3)
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=120) == 0


def test_ctrl_c_while_arguments_are_read_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("transformer_course.translation.translator.shipped_checkpoint", interrupt)
    assert cli.main(["translate", "toy", "the cat"]) == 130
    assert capsys.readouterr().err == "transformer-course: interrupted.\n"
