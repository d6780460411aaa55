"""The disk fills up in the middle of a training: nothing half-made is left, and the way on works.

Every write of a run is tried, the first of each file and the later ones.
"""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.conftest import Run, assert_same_weights, forget_the_end
from tests.cli.test_own_model import file_with
from tests.cli.test_settings import SMALL
from transformer_course import cli
from transformer_course.files import TEMPORARY
from transformer_course.own.file import NAME
from transformer_course.translation.training import runs
from transformer_course.translation.training.runs import LOCK_FILE

CHECKPOINT = ["training.safetensors", "subwords.model", "config.json", "model.safetensors"]
LOOK = [*CHECKPOINT, "metrics.csv", "curves.png"]
WRITES = ["run.json", *CHECKPOINT, *LOOK, *LOOK, "run.json"]
"""What a run of two looks at the dev split writes, in this order."""


class Disk:
    """Notes what is written into a folder, and fills up in the middle of one of the files."""

    def __init__(self, folder: Path, full_at: int | None = None) -> None:
        self.folder = folder
        self.full_at = full_at
        self.written: list[str] = []

    def fsync(self, descriptor: int) -> None:
        """Stand in for :func:`os.fsync`, which comes before a file gets its name."""
        inode = os.fstat(descriptor)
        [path] = [each for each in self.folder.iterdir() if os.path.samestat(each.stat(), inode)]
        self.written.append(path.name.removeprefix(".").rsplit(".", 3)[0])
        if len(self.written) - 1 == self.full_at:
            os.ftruncate(descriptor, inode.st_size // 2)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as the system says it


@contextmanager
def disk(folder: Path, full_at: int | None = None) -> Iterator[Disk]:
    with pytest.MonkeyPatch.context() as patch:
        there = Disk(folder, full_at)
        patch.setattr(os, "fsync", there.fsync)
        yield there


@pytest.fixture(scope="module")
def train(small_recipes: None, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command of a run on sub-words, but for its folder."""
    settings = tmp_path_factory.mktemp("settings") / "my.toml"
    settings.write_text(SMALL, encoding="utf-8")
    return ["train", "--settings", str(settings), "--plot", "--output"]


@pytest.fixture(scope="module")
def straight(train: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run for which there was room, only to be read."""
    folder = tmp_path_factory.mktemp("straight")
    with disk(folder) as there:
        assert cli.main([*train, str(folder)]) == 0
    assert there.written == WRITES
    return folder


def fills_up(run: Run, train: list[str], folder: Path, number: int) -> str:
    """Let the disk fill up at one of the writes; return the error, which is one line."""
    with disk(folder, number):
        status, output, error = run(*train, folder)
    assert (status, output) == (2, "")
    assert not [path for path in folder.iterdir() if TEMPORARY.fullmatch(path.name)]
    return error.splitlines()[-1]


def assert_same_run(folder: Path, other: Path) -> None:
    """Compare all that two runs leave, but for the time that they took."""
    assert {path.name for path in folder.iterdir()} == {path.name for path in other.iterdir()}
    for name in ("subwords.model", "config.json", "model.safetensors", "curves.png"):
        assert (folder / name).read_bytes() == (other / name).read_bytes(), name
    metrics, others = (pd.read_csv(each / "metrics.csv") for each in (folder, other))
    pd.testing.assert_frame_equal(metrics.assign(seconds=0), others.assign(seconds=0))
    assert result_of(folder) == result_of(other)


def result_of(folder: Path) -> dict[str, float]:
    stored = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return stored["result"] | {"seconds": 0, "doubt_below": stored["doubt_below"]}


@pytest.mark.parametrize("number", range(len(WRITES)), ids=lambda n: f"{n}: {WRITES[n]}")
def test_run_goes_on_wherever_the_disk_filled_up(
    run: Run, train: list[str], straight: Path, tmp_path: Path, number: int
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    error = fills_up(run, train, folder, number)
    said = f"transformer-course: {folder / WRITES[number]}: No space left on device: make room, "
    if number < WRITES.index("training.safetensors"):  # there is no run yet
        assert error == f"{said}then give the command again."
        command = [*train, folder]
    else:
        assert error == f"{said}then `transformer-course train --resume --output {folder}` goes on."
        command = ["train", "--plot", "--resume", "--output", folder]
    assert run(*command)[0] == 0
    assert_same_run(folder, straight)


@pytest.mark.parametrize("number", [0, 1, 2], ids=lambda n: [NAME, *WRITES][n])
def test_run_by_an_own_model_goes_on_with_it(run: Run, tmp_path: Path, number: int) -> None:
    mine, folder = file_with(tmp_path), tmp_path / "out"
    folder.mkdir()
    train = ["train", "--model", str(mine), "--steps", "1", "--output"]
    error = fills_up(run, train, folder, number)
    begun = number == 2
    assert f"{folder / [NAME, *WRITES][number]}: No space left" in error
    assert {path.name for path in folder.iterdir()} - {LOCK_FILE} == (
        {NAME, "run.json"} if begun else set()
    )
    command = ["train", "--resume", "--output"] if begun else train
    status, _, words = run(*command, folder)
    assert status == 0
    assert f"training runs the code in {folder / NAME if begun else mine}" in words
    assert (folder / NAME).read_text(encoding="utf-8") == mine.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_run_from_another_one_goes_on(run: Run, trained: Path, tmp_path: Path, name: str) -> None:
    """Its own translator takes the place of the other one only when all of it is there."""
    train = ["train", "--from", str(trained), "--steps", "2", "--output"]
    straight, folder = tmp_path / "straight", tmp_path / "out"
    assert run(*train, straight)[0] == 0
    folder.mkdir()
    with_words = [each for each in WRITES if each != "subwords.model"]
    assert "--resume" in fills_up(run, train, folder, with_words.index(name))
    assert run("train", "--resume", "--output", folder)[0] == 0
    assert_same_weights(folder, straight)


@pytest.mark.parametrize("call", ["mkdir", "open"])
def test_folder_or_lock_for_which_there_is_no_room(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    folder = tmp_path / "out"
    place = {"mkdir": folder, "open": folder / LOCK_FILE}[call]
    usual = getattr(os, call)

    def full(path: str | Path, *arguments: object, **options: object) -> object:
        if Path(path) == place:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return usual(path, *arguments, **options)

    train = ["train", "--steps", "1", "--output", folder]
    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        status, _, error = run(*train)
    assert status == 2
    assert error == (
        f"transformer-course: {place}: No space left on device: make room, then give the command "
        f"again.\n"
    )
    assert run(*train)[0] == 0


def test_full_folder_for_temporary_files_is_no_fault_of_the_input(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries ask for such a folder; Python looks for one by writing a file."""
    missing = str(tmp_path / "missing")
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [missing])
    monkeypatch.setattr(runs.Run, "load_corpus", lambda _run: tempfile.gettempdir())
    status, _, error = run("train", "--output", tmp_path / "out")
    assert status == 2
    assert error == (
        f"transformer-course: No usable temporary directory found in {[missing]}: make room, then "
        f"give the command again.\n"
    )


def test_disk_that_is_still_full_is_said_again(run: Run, trained: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "out"))
    forget_the_end(folder)
    resume = ["train", "--resume", "--output"]
    assert f"--resume --output {folder}` goes on." in fills_up(run, resume, folder, 0)
    assert run(*resume, folder)[0] == 0
    assert_same_weights(folder, trained)
