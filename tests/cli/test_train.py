import json
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.cli.conftest import RECIPE, SCORES, Run, assert_same_weights
from transformer_course.translation.training import runs
from transformer_course.translation.training.recipes import RECIPES, Recipe
from transformer_course.translation.training.trainer import Trainer, TrainingSettings
from transformer_course.translation.translator import Translator

FILES = {"config.json", "metrics.csv", "model.safetensors", "run.json", "training.safetensors"}


def test_train_writes_a_checkpoint_and_says_how_it_went(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "toy"
    arguments = ["train", "--corpus", "toy", "--steps", "3", "--seed", "7", "--output", folder]
    status, output, error = run(*arguments)
    assert status == 0
    assert error.startswith("transformer-course: 12 sentence pairs, ")
    assert "float32 on cpu" in error
    assert {path.name for path in folder.iterdir()} == FILES
    result = json.loads(output.removeprefix(f"{folder}: "))
    assert result["step"] == 3
    stored = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert stored["result"] == result
    assert stored["command"] == f"transformer-course {' '.join(map(str, arguments))}"
    assert stored["recipe"]["training"]["seed"] == 7


def test_toy_is_the_corpus_if_none_is_given(run: Run, tmp_path: Path) -> None:
    assert run("train", "--steps", "1", "--output", tmp_path / "out")[0] == 0
    assert runs.Run.read(tmp_path / "out").corpus == "toy"


def test_train_on_files(run: Run, tmp_path: Path, texts: tuple[Path, Path]) -> None:
    source, target = texts
    folder = tmp_path / "out"
    arguments = ("train", "--corpus", "files", "--source", source, "--target", target)
    assert run(*arguments, "--output", folder)[0] == 0
    translator = Translator.load(folder)
    assert (translator.source.language, translator.target.language) == ("en", "fr")
    status, output, _ = run("evaluate", folder, "--split", "dev")
    assert status == 0
    assert set(json.loads(output)) == SCORES


def test_minutes_replace_steps(run: Run, tmp_path: Path) -> None:
    start = time.perf_counter()
    status, output, _ = run("train", "--minutes", "0.005", "--output", tmp_path / "out")
    assert status == 0
    assert json.loads(output.split(": ", 1)[1])["seconds"] >= 0.3
    assert time.perf_counter() - start < 20


def test_interrupted_training_is_resumed_to_the_bit(
    run: Run, tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    update = Trainer.update

    def update_and_interrupt(trainer: Trainer, batch: object) -> None:
        update(trainer, batch)
        if trainer.step == 3:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "update", update_and_interrupt)
        status, output, _ = run("train", "--corpus", "toy", "--output", folder)
    assert status == 0
    assert "Stopped at step 3" in output
    command = json.loads((folder / "run.json").read_text())["command"]

    assert run("train", "--resume", "--output", folder)[0] == 0
    assert_same_weights(folder, trained)
    steps = [row.split(",")[0] for row in (folder / "metrics.csv").read_text().splitlines()]
    assert steps == ["step", "2", "4", "6"]  # the row of the stop is gone
    stored = json.loads((folder / "run.json").read_text())
    assert stored["command"] == command
    assert stored["result"]["step"] == RECIPE.training.steps


def test_second_interrupt_ends_the_command(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_trainer: Trainer, _batch: object) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Trainer, "update", interrupt)
    status, _, error = run("train", "--output", tmp_path / "out")
    assert status == 130
    assert error.endswith("transformer-course: interrupted.\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--corpus", "wmt99"], "no corpus 'wmt99'; use one of toy, files"),
        (["--corpus", "files"], "needs --source FILE and --target FILE"),
        (
            ["--corpus", "toy", "--source", "a.en"],
            "the corpus 'toy' takes no --source; it takes nothing about its text",
        ),
        (["--steps", "0"], "steps must be a whole number of at least 1; got 0"),
        (["--minutes", "nan"], "minutes must be positive and finite; got nan"),
        (["--minutes", "-1"], "minutes must be positive and finite; got -1"),
        (["--seed", "-1"], "seed must be between 0"),
        (["--seed", str(2**80)], "seed must be between 0"),
        (["--resume"], "there is no run.json in"),
        (["--resume", "--steps", "9", "--corpus", "toy"], "leave out --corpus, --steps"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_requests_that_make_no_sense(
    fails: Callable[..., str], tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    folder = tmp_path / "out"
    assert complaint in fails("train", "--output", folder, *arguments)
    assert not folder.exists()


def test_mistake_in_the_texts_leaves_a_folder_that_can_be_used_again(
    run: Run, fails: Callable[..., str], tmp_path: Path, texts: tuple[Path, Path]
) -> None:
    source, target = texts
    train = ("train", "--corpus", "files", "--steps", "1", "--output", tmp_path / "out")
    files = ("--source", source, "--target", target)
    lines = target.read_text(encoding="utf-8")

    assert "no-such.fr: No such file" in fails(*train, *files[:3], tmp_path / "no-such.fr")
    target.write_text("une ligne\n")
    assert "line n of one must be the translation" in fails(*train, *files)
    target.write_text(lines, encoding="latin-1")
    assert "train.fr is not UTF-8 text" in fails(*train, *files)
    target.write_text(lines.replace("dort", "dort " * 12), encoding="utf-8")
    assert "has 14 tokens; this translator reads at most 11 at once" in fails(*train, *files)
    target.write_text(lines, encoding="utf-8")
    assert run(*train, *files)[0] == 0


def test_folder_in_use_is_left_alone(
    fails: Callable[..., str], trained: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "out"))
    assert "is not empty: name a new folder, or add --resume" in fails("train", "--output", folder)
    assert_same_weights(folder, trained)


def test_output_that_is_a_file(fails: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("precious")
    assert "is a file; name a new folder" in fails("train", "--output", path)
    assert "Not a directory" in fails("train", "--output", path / "below")
    assert "Not a directory" in fails("train", "--resume", "--output", path)
    assert path.read_text() == "precious"


@pytest.mark.usefixtures("read_only_folders")
def test_output_that_cannot_be_written(fails: Callable[..., str], tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        assert "Permission denied" in fails("train", "--output", tmp_path / "out")
        assert "Permission denied" in fails("train", "--output", tmp_path)
    finally:
        tmp_path.chmod(0o755)
    assert list(tmp_path.iterdir()) == []


def test_full_disk_leaves_no_half_file(
    fails: Callable[..., str],
    tmp_path: Path,
    full_disk: Callable[[int], AbstractContextManager[None]],
) -> None:
    folder = tmp_path / "out"
    with full_disk(20_000):
        error = fails("train", "--output", folder)
    assert "training.safetensors: File too large" in error
    assert [path.name for path in folder.iterdir()] == ["run.json"]


def test_divergence_is_one_sentence(
    fails: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wild = TrainingSettings(steps=9, batch_tokens=32, learning_rate=1e30, dev_sentences=1)
    monkeypatch.setitem(RECIPES, "toy", Recipe(training=wild, sizes=RECIPE.sizes))
    assert "try a lower learning rate" in fails("train", "--output", tmp_path / "out")
