"""Processes that end in the middle of their training."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from transformer_course.translation.training import runs
from transformer_course.translation.translator import Translator

# The command, with a small model and a checkpoint every few steps.
FREQUENT_CHECKPOINTS = """
import sys
from dataclasses import replace
from transformer_course import cli
from transformer_course.translation.training.recipes import RECIPES

usual = RECIPES["files"]
RECIPES["files"] = replace(
    usual,
    training=replace(usual.training, evaluate_every=5),
    sizes=usual.sizes | {"d_model": 16, "d_ff": 24, "max_len": 40},
)
sys.exit(cli.main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no signals to a process")
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.exhaustive)]
)
def test_interrupted_process_leaves_a_checkpoint_that_resumes(
    tmp_path: Path, texts: tuple[Path, Path], number: signal.Signals
) -> None:
    folder = tmp_path / "out"
    source, target = texts
    command = [sys.executable, "-c", FREQUENT_CHECKPOINTS, "train", "--corpus", "files"]
    command += ["--source", source, "--target", target, "--minutes", "5", "--output", folder]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while not rows(folder) and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(number)
        output, error = process.communicate(timeout=120)
    assert process.returncode == 130, error
    step = json.loads(output.splitlines()[-1].split(": ", 1)[1])["step"]
    assert f"Stopped at step {step}" in output
    trainer = runs.Run.read(folder).trainer(folder)
    trainer.resume(folder)
    assert trainer.step == step


def test_training_goes_on_when_nobody_reads_what_it_says(
    tmp_path: Path, texts: tuple[Path, Path]
) -> None:
    folder = tmp_path / "out"
    command = [sys.executable, "-c", FREQUENT_CHECKPOINTS, "train", "--corpus", "files"]
    command += ["--source", texts[0], "--target", texts[1], "--steps", "10", "--output", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        process.stdout.close()
        assert process.wait(timeout=120) == 0
    assert runs.is_finished(folder)


def test_killed_process_leaves_a_whole_checkpoint(tmp_path: Path, texts: tuple[Path, Path]) -> None:
    """Killed at any moment, also while it writes: what lies there is whole and resumes.

    The lock of the killed process is no hindrance; that of the one that runs is.
    """
    folder = tmp_path / "out"
    source, target = texts
    command = [sys.executable, "-c", FREQUENT_CHECKPOINTS, "train"]
    new = ["--corpus", "files", "--source", source, "--target", target, "--minutes", "5"]
    steps = []
    for arguments, looks in ((new, 1), (["--resume"], 4)):
        with subprocess.Popen([*command, *arguments, "--output", folder]) as process:
            deadline = time.monotonic() + 120
            while len(rows(folder)) < looks and time.monotonic() < deadline:
                time.sleep(0.01)
            with pytest.raises(ValueError, match="another training"), runs.sole_training(folder):
                pass
            process.kill()
        steps.append(int(rows(folder)[-1].split(",")[0]))
        Translator.load(folder)
    assert 0 < steps[0] < steps[1]


def rows(folder: Path) -> list[str]:
    """Return the rows of the metrics, without their head."""
    path = folder / "metrics.csv"
    return path.read_text().splitlines()[1:] if path.exists() else []
