"""The training command under torchrun: several processes, which may die and are started again."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch

from tests.cli.conftest import PAIRS, Run, assert_same_weights
from transformer_course.translation.training import runs
from transformer_course.translation.training.data_parallel import World
from transformer_course.translation.training.trainer import Trainer

# The command with a small model, and a checkpoint every few steps.
COMMAND = """
import os
import sys
from datetime import timedelta
from transformer_course import cli
from transformer_course.translation.training import data_parallel
from transformer_course.translation.training.recipes import RECIPES, Recipe
from transformer_course.translation.training.trainer import TrainingSettings

data_parallel.SILENCE = timedelta(seconds=int(os.environ["SILENCE"]))
RECIPES["files"] = Recipe(
    sizes={"d_model": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 24,
           "max_len": 16},
    training=TrainingSettings(
        steps=40, batch_tokens=24, evaluate_every=4, dev_sentences=2, average=0.9
    ),
)
sys.exit(cli.main())
"""
Start = Callable[..., subprocess.Popen]


# What a restarted process does


def test_same_command_goes_on_when_torchrun_starts_it_again(
    run: Run, tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(Trainer, "_evaluate", _die_after(Trainer._evaluate, evaluations=2))
        run("train", "--corpus", "toy", "--output", folder)
    status, _, error = run("train", "--corpus", "toy", "--output", folder)
    assert status == 0
    assert "goes on at step 2" in error
    assert_same_weights(folder, trained)


def _die_after(evaluate: Callable[[Trainer], None], evaluations: int) -> object:
    def evaluate_or_die(trainer: Trainer) -> None:
        if len(trainer.history) + 1 == evaluations:
            raise SystemExit
        evaluate(trainer)

    return evaluate_or_die


def test_another_command_does_not_go_on(
    run: Run, fails: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    assert run("train", "--steps", "2", "--output", folder)[0] == 0
    for name, steps in (("TORCHELASTIC_RUN_ID", "3"), ("NO_TORCHRUN", "2")):
        with monkeypatch.context() as patch:
            patch.setenv(name, "none")
            assert "is not empty" in fails("train", "--steps", steps, "--output", folder)


# Processes


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Return a function that starts a launcher with the command; all end with these tests."""
    if sys.platform != "linux" or not torch.distributed.is_available():
        pytest.skip("it finds processes in /proc, and needs torch.distributed")
    folder = tmp_path_factory.mktemp("torchrun")
    script, *texts = (folder / name for name in ("command.py", "train.en", "train.fr"))
    script.write_text(COMMAND)
    for path, side in zip(texts, ("source", "target"), strict=True):
        path.write_text("".join(f"{getattr(pair, side)}\n" for pair in PAIRS), encoding="utf-8")
    files = ["--corpus", "files", "--source", texts[0], "--target", texts[1]]
    usual = {
        "OMP_NUM_THREADS": "1",
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        "SILENCE": "300",
    }
    with ExitStack() as ending:

        def launch(output: Path, *launcher: str, **environment: str) -> subprocess.Popen:
            command = [sys.executable, "-m", "torch.distributed.run", *launcher]
            process = subprocess.Popen(
                [str(part) for part in [*command, script, "train", *files, "--output", output]],
                env=os.environ | usual | environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            ending.callback(_end, process)
            return process

        yield launch


def _end(launcher: subprocess.Popen) -> None:
    for process in [launcher.pid, *workers(launcher)] if launcher.poll() is None else []:
        os.kill(process, signal.SIGKILL)
    launcher.wait()
    launcher.stdout.close()


def workers(launcher: subprocess.Popen) -> list[int]:
    """Return the numbers of the processes that a launcher started, by their rank on it."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            rank = re.search(rb"\0LOCAL_RANK=(\d+)\0", (folder / "environ").read_bytes())
        except OSError:  # it has ended
            continue
        if parent == launcher.pid and rank:
            found[int(rank[1])] = int(folder.name)
    return [found[rank] for rank in sorted(found)]


def wait_for_rows(folder: Path, *launchers: subprocess.Popen) -> None:
    """Wait until the run has written two rows of metrics."""
    path = folder / "metrics.csv"
    while not path.exists() or len(path.read_text().splitlines()) < 3:
        for launcher in launchers:
            assert launcher.poll() is None, launcher.communicate()[0]
        time.sleep(0.01)


def output_of(launcher: subprocess.Popen, status: int = 0) -> str:
    """Wait for its end; return all that it and its processes wrote."""
    output = launcher.communicate()[0]
    assert launcher.returncode == status, output
    return output


TWO = ("--standalone", "--nproc-per-node", "2", "--max-restarts", "2")


@pytest.fixture(scope="module")
def straight(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train by two processes of which none dies."""
    folder = tmp_path_factory.mktemp("runs") / "straight"
    output = output_of(start(folder, *TWO))
    assert output.count(f"{folder}: ") == 1, "each process reported"
    assert "goes on" not in output
    return folder


@pytest.mark.exhaustive
@pytest.mark.parametrize(("rank", "number"), [(0, "KILL"), (1, "KILL"), (1, "TERM"), (1, "STOP")])
def test_dead_process_is_started_again_and_the_result_is_the_same(
    start: Start, tmp_path: Path, straight: Path, rank: int, number: str
) -> None:
    """Killed, told to end, or silent for too long."""
    folder = tmp_path / "out"
    silence = "20" if number == "STOP" else "300"
    launcher = start(folder, *TWO, SILENCE=silence)
    wait_for_rows(folder, launcher)
    os.kill(workers(launcher)[rank], getattr(signal, f"SIG{number}"))
    assert re.search(r"goes on at step (\d+)", output_of(launcher))
    assert_same_weights(folder, straight)


def on_two_machines() -> tuple[str, ...]:
    """Return the options of a launcher that meets another one on the loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{free.getsockname()[1]}"
    meeting = ("--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint, "--rdzv-id", "run")
    one_each = ("--nnodes", "2", "--nproc-per-node", "1", "--local-addr", "127.0.0.1")
    return (*one_each, *meeting, "--max-restarts", "2")


@pytest.mark.exhaustive
@pytest.mark.parametrize("loss", ["nothing", "a process", "a machine"])
def test_two_machines(start: Start, tmp_path: Path, straight: Path, loss: str) -> None:
    """A lost machine's place is taken by another one; it must not be the one where all meet."""
    folder, options = tmp_path / "out", on_two_machines()
    host = start(folder, *options)
    time.sleep(2)  # the first one is where they meet
    other = start(folder, *options)
    if loss != "nothing":
        wait_for_rows(folder, host, other)
        if loss == "a machine":
            other.kill()
        os.kill(workers(other)[0], signal.SIGKILL)
    if loss == "a machine":
        other = start(folder, *options)
    outputs = output_of(host) + output_of(other)
    assert ("goes on at step" in outputs) == (loss != "nothing")
    assert_same_weights(folder, straight)


@pytest.mark.exhaustive
def test_machines_without_a_common_folder_cannot_go_on(start: Start, tmp_path: Path) -> None:
    folders, options = [tmp_path / "one", tmp_path / "other"], on_two_machines()
    launchers = [start(folder, *options) for folder in folders]
    while not any((folder / "metrics.csv").exists() for folder in folders):
        time.sleep(0.01)
    os.kill(workers(launchers[0])[0], signal.SIGKILL)
    for launcher in launchers:
        assert "the output folder is not the same everywhere" in output_of(launcher, status=1)


@pytest.mark.exhaustive
def test_launcher_that_is_told_to_end_leaves_what_was_learned(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    launcher = start(folder, *TWO)
    wait_for_rows(folder, launcher)
    launcher.terminate()
    output = output_of(launcher, status=1)
    step = int(re.search(r"Stopped at step (\d+)", output)[1])
    trainer = runs.Run.read(folder).trainer(folder, world=World(2))
    trainer.resume(folder)
    assert trainer.step == step


@pytest.mark.exhaustive
def test_restart_that_could_fail_is_refused_at_the_start(start: Start, tmp_path: Path) -> None:
    launcher = start(tmp_path / "out", *TWO, TORCH_DISABLE_SHARE_RDZV_TCP_STORE="0")
    assert "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1" in output_of(launcher, status=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.exhaustive
def test_folder_of_another_run_is_not_taken_by_a_restart(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "precious").touch()
    output = output_of(start(folder, *TWO), status=1)
    assert output.count("is not empty: name a new folder") == 3
    assert [path.name for path in folder.iterdir()] == ["precious"]
