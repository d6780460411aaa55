import json
import re
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.cli.conftest import RECIPE, SCORES, TOY, Run, assert_same_weights, forget_the_end
from transformer_course import cli
from transformer_course.translation.corpora import multi30k
from transformer_course.translation.corpora.registry import CORPORA, Kind
from transformer_course.translation.training import progress, runs
from transformer_course.translation.training.recipes import RECIPES, Recipe
from transformer_course.translation.training.trainer import Trainer, TrainingSettings
from transformer_course.translation.translator import Translator

FILES = {"config.json", "metrics.csv", "model.safetensors", "run.json", "training.safetensors"}


def names(folder: Path) -> set[str]:
    """Return the names of the files in a run's folder; Windows has no lock there afterwards."""
    return {path.name for path in folder.iterdir()} - {runs.LOCK_FILE}


def test_train_writes_a_checkpoint_and_says_how_it_went(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "toy"
    arguments = ["train", "--corpus", "toy", "--steps", "3", "--seed", "7", "--output", folder]
    status, output, error = run(*arguments)
    assert status == 0
    assert error.startswith("transformer-course: 12 sentence pairs, held out 2 for dev, ")
    assert error.endswith(f"transformer-course report {folder} report.html\n")
    assert "float32 on cpu" in error
    assert names(folder) == FILES
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
    for split in ([], ["--split", "dev"]):
        status, output, _ = run("evaluate", folder, *split)
        assert status == 0
        assert set(json.loads(output)) == SCORES


def test_train_on_files_with_a_dev_split_of_their_own(
    run: Run, tmp_path: Path, texts: tuple[Path, Path]
) -> None:
    held = tmp_path / "held.en", tmp_path / "held.fr"
    for path, line in zip(held, ("the cat sings", "le chat chante"), strict=True):
        path.write_text(f"{line}\n", encoding="utf-8")
    files = ("--corpus", "files", "--source", texts[0], "--target", texts[1], "--dev", *held)
    status, _, error = run("train", *files, "--steps", "1", "--output", tmp_path / "out")
    assert status == 0
    assert "left out: 1 the source is in dev or test" in error
    status, output, _ = run("evaluate", tmp_path / "out", "--split", "dev")
    assert json.loads(output)["sentences"] == 1


def test_minutes_replace_steps(run: Run, tmp_path: Path) -> None:
    start = time.perf_counter()
    status, output, _ = run("train", "--minutes", "0.005", "--output", tmp_path / "out")
    assert status == 0
    assert json.loads(output.split(": ", 1)[1])["seconds"] >= 0.3
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_training_is_resumed_to_the_bit(
    run: Run,
    tmp_path: Path,
    trained: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
) -> None:
    folder = tmp_path / "out"
    update = Trainer.update

    def update_and_interrupt(trainer: Trainer, batch: object) -> None:
        update(trainer, batch)
        if trainer.step == 3:
            signal.raise_signal(number)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "update", update_and_interrupt)
        status, output, said = run("train", "--corpus", "toy", "--output", folder)
    assert status == 130
    assert "Stopped at step 3" in output
    assert f"`transformer-course train --resume --output {folder}` goes on." in said
    assert "report" not in said  # that would look at the test split
    command = json.loads((folder / "run.json").read_text())["command"]

    assert run("train", "--resume", "--output", folder)[0] == 0
    assert_same_weights(folder, trained)
    steps = [row.split(",")[0] for row in (folder / "metrics.csv").read_text().splitlines()]
    assert steps == ["step", "2", "4", "6"]  # the row of the stop is gone
    stored = json.loads((folder / "run.json").read_text())
    assert stored["command"] == command
    assert stored["result"]["step"] == RECIPE.training.steps


@pytest.mark.parametrize(
    "more", [[], ["--minutes", "4"], ["--steps", "9"], ["--set", "training.steps=9"]]
)
def test_finished_run_says_how_it_goes_on(
    fails: Callable[..., str], trained: Path, more: list[str]
) -> None:
    said = fails("train", "--resume", "--output", trained, *more)
    way = f"`transformer-course train --from {trained} --minutes N --output NEW` goes on from it."
    assert said == f"transformer-course: the run in {trained} is finished; {way}\n"


def test_finished_run_goes_on_on_its_own_text(
    run: Run, tmp_path: Path, texts: tuple[Path, Path]
) -> None:
    """As the message says, without a word on its text; steps replace the minutes of the first."""
    first, second = tmp_path / "first", tmp_path / "second"
    files = ("--source", texts[0], "--target", texts[1])
    assert run("train", *files, "--minutes", "0.01", "--output", first)[0] == 0
    assert run("train", "--from", first, "--steps", "4", "--output", second)[0] == 0
    one, two = runs.Run.read(first), runs.Run.read(second)
    assert (two.corpus, two.source, two.target) == ("files", *texts)
    assert two.load_corpus().splits == one.load_corpus().splits
    assert (two.start, two.recipe.training.minutes) == (first, None)
    losses = [
        [float(line.split(",")[4]) for line in (folder / "metrics.csv").read_text().split()[1:]]
        for folder in (first, second)
    ]
    assert losses[1][0] < losses[0][0]


def test_it_goes_on_with_the_same_corpus_from_another_folder(
    run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CORPORA, "toy", Kind(lambda folder=None: TOY, {"data": "folder"}))
    arguments = ("--from", trained, "--data", tmp_path, "--output", tmp_path / "more")
    assert run("train", *arguments, "--steps", "1")[0] == 0
    begun = runs.Run.read(tmp_path / "more")
    assert (begun.corpus, begun.data) == ("toy", tmp_path)


def test_second_training_of_a_folder_is_refused(
    run: Run, fails: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    refusals = []
    update = Trainer.update

    def update_and_try_another(trainer: Trainer, batch: object) -> None:
        update(trainer, batch)
        with monkeypatch.context() as patch:
            patch.setattr(Trainer, "update", update)
            refusals.append(fails("train", "--resume", "--output", folder))

    monkeypatch.setattr(Trainer, "update", update_and_try_another)
    assert run("train", "--steps", "2", "--output", folder)[0] == 0
    assert len(refusals) == 2
    assert all("another training writes to" in refusal for refusal in refusals)


def test_two_trainings_into_one_new_folder(
    run: Run, fails: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both find it empty; while one still reads its text, the other trains to the end."""
    folder = tmp_path / "out"
    load_corpus = runs.Run.load_corpus

    def load_slowly(of: runs.Run) -> object:
        monkeypatch.setattr(runs.Run, "load_corpus", load_corpus)
        assert run("train", "--seed", "1", "--output", folder)[0] == 0
        return of.load_corpus()

    monkeypatch.setattr(runs.Run, "load_corpus", load_slowly)
    assert "is not empty" in fails("train", "--seed", "2", "--output", folder)
    assert runs.Run.read(folder).recipe.training.seed == 1


def test_text_that_changed_does_not_resume(
    run: Run, fails: Callable[..., str], tmp_path: Path, texts: tuple[Path, Path]
) -> None:
    """Lines in another order leave all sizes as they were; a word less does not."""
    source, target = texts
    folder = tmp_path / "out"
    files = ("--corpus", "files", "--source", source, "--target", target)
    assert run("train", *files, "--steps", "2", "--output", folder)[0] == 0
    forget_the_end(folder)
    lines = target.read_text(encoding="utf-8")
    for changed in ("".join(reversed(lines.splitlines(keepends=True))), lines.replace("dort", "")):
        target.write_text(changed, encoding="utf-8")
        assert "run on another text" in fails("train", "--resume", "--output", folder)
    target.write_text(lines, encoding="utf-8")
    held_out = runs.Run.read(folder).load_corpus().split("test")[0].target
    target.write_text(lines.replace(f"{held_out}\n", f"{held_out} bien\n"), encoding="utf-8")
    assert "with it what is held out" in fails("train", "--resume", "--output", folder)
    target.write_text(lines, encoding="utf-8")
    assert run("train", "--resume", "--output", folder)[0] == 0


def test_run_killed_before_its_first_checkpoint_begins_anew(
    run: Run, tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(_trainer: Trainer, _folder: Path) -> None:
        raise SystemExit

    folder = tmp_path / "out"
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(Trainer, "save", kill)
        run("train", "--output", folder)
    assert names(folder) == {"run.json"}
    assert run("train", "--resume", "--output", folder)[0] == 0
    assert_same_weights(folder, trained)


def test_what_killed_writers_left_is_swept(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    left = folder / ".run.json.17.4711.tmp"
    left.touch()
    assert run("train", "--steps", "1", "--output", folder)[0] == 0
    assert not left.exists()
    left.touch()
    forget_the_end(folder)
    assert run("train", "--resume", "--output", folder)[0] == 0
    assert names(folder) == FILES


def test_steps_and_minutes_exclude_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["train", "--steps", "5", "--minutes", "1", "--output", str(tmp_path / "out")]
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)
    assert "--minutes: not allowed with argument --steps" in capsys.readouterr().err


def test_failed_download_leaves_no_folders(
    fails: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setattr(multi30k, "MIRRORS", ["http://127.0.0.1:9"])  # nobody listens there
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "runs" / "out"
    train = ("train", "--corpus", "multi30k", "--data", data, "--output", folder)
    assert "train.en.gz could not be downloaded" in fails(*train)
    assert list(tmp_path.rglob("*")) == [data]


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


def test_mistake_in_the_texts_leaves_no_folder(
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
    assert not (tmp_path / "out").exists()
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
    assert "not a checkpoint folder" in fails("train", "--resume", "--output", path)
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
    with full_disk(10_000):
        error = fails("train", "--output", folder)
    assert "training.safetensors: File too large" in error
    assert names(folder) == {"run.json"}


def test_divergence_is_one_sentence(
    fails: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wild = TrainingSettings(steps=9, batch_tokens=32, learning_rate=1e30, dev_sentences=1)
    monkeypatch.setitem(RECIPES, "toy", Recipe(training=wild, sizes=RECIPE.sizes))
    assert "try a lower learning rate" in fails("train", "--output", tmp_path / "out")


def test_training_says_how_far_it_is_and_draws_it_if_asked(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    status, output, error = run("train", "--plot", "--output", folder)
    assert status == 0
    assert json.loads(output.split(": ", 1)[1])["step"] == 6  # all else goes to standard error
    lines = [line for line in error.splitlines() if line.startswith("step ")]
    assert [line.split(",")[0] for line in lines] == ["step 2 of 6", "step 4 of 6", "step 6 of 6"]
    assert re.search(
        r"left: loss \d.*, on dev \d.*, BLEU \d.*; 'the cat sleeps' is now '", lines[0]
    )
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert "doubt_below" in json.loads((folder / "run.json").read_text())


@pytest.mark.parametrize("too_short", ["", "It was too short."])
def test_training_that_was_too_short_says_so_and_how_it_goes_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, too_short: str
) -> None:
    folder = tmp_path / "out"
    monkeypatch.setattr(progress, "verdict", lambda history: too_short)
    status, _, error = run("train", "--output", folder)
    assert status == 0
    way = f"`transformer-course train --from {folder} --minutes N --output NEW` goes on from it."
    assert (f"transformer-course: {too_short} {way}" in error) == bool(too_short)


def test_what_may_be_wrong_with_the_text_is_said_before_a_training(
    run: Run, texts: tuple[Path, Path], tmp_path: Path
) -> None:
    exchanged = [
        path.rename(tmp_path / f"my.{code}") for path, code in zip(texts, ("fr", "en"), strict=True)
    ]
    files = ("--source", exchanged[1], "--target", exchanged[0], "--steps", "1", "--output")
    _, _, said = run("train", "--set", "text.subwords=500", *files, tmp_path / "new")
    assert "what is named English looks like French: are the two files exchanged?" in said
    assert "sub-words only; 500 were asked for" in said
    assert "sentence pairs are few: `--settings little`" in said
    files = ("--source", exchanged[0], "--target", exchanged[1], "--steps", "1", "--output")
    _, _, said = run("train", "--from", "multi30k-en-fr", *files, tmp_path / "more")
    assert "translates English into French, and the text is French and English" in said
