import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from transformer_course import cli
from transformer_course.translation.corpora.corpus import Corpus, SentencePair
from transformer_course.translation.training import runs
from transformer_course.translation.training.recipes import RECIPES, Recipe
from transformer_course.translation.training.trainer import Trainer, TrainingSettings
from transformer_course.translation.translator import Translator

SCRIPT = Path(sys.executable).with_name("transformer-course")
RECIPE = Recipe(
    sizes={
        "d_model": 16,
        "heads": 2,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "d_ff": 24,
        "dropout": 0.1,
        "max_len": 12,
    },
    training=TrainingSettings(steps=6, batch_tokens=32, evaluate_every=2, dev_sentences=2),
)
SCORES = {
    "sacrebleu",
    "signature",
    "bleu_tokenized_lowercase",
    "chrf",
    "sentences",
    "seconds",
    "exact_match",
}
FILES = {"config.json", "metrics.csv", "model.safetensors", "run.json", "training.safetensors"}
PAIRS = [
    SentencePair(f"the {noun} {verb}", f"le {nom} {verbe}", alignment=((0, 0), (1, 1), (2, 2)))
    for (noun, nom), (verb, verbe) in product(
        {"cat": "chat", "dog": "chien", "king": "roi", "thief": "voleur"}.items(),
        {"sleeps": "dort", "eats": "mange", "sings": "chante", "dreams": "rêve"}.items(),
    )
]
TOY = Corpus(
    "toy",
    "en",
    "fr",
    {"train": PAIRS[4:], "dev": PAIRS[:2], "test": PAIRS[1:4], "test_combinations": PAIRS[2:4]},
)

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

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module", autouse=True)
def small_recipes() -> Iterator[None]:
    """Make both corpora and both models small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RECIPES, "toy", RECIPE)
        patch.setitem(RECIPES, "files", RECIPE)
        patch.setattr(runs, "toy_corpus", lambda: TOY)
        yield


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command: exit status, standard output, standard error."""

    def main(*arguments: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        status = cli.main([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return main


@pytest.fixture
def fails(run: Run) -> Callable[..., str]:
    """Return a function that runs a command which must fail, and gives its last line of words."""

    def main(*arguments: str | Path) -> str:
        status, output, error = run(*arguments)
        assert (status, output) == (2, "")
        lines = error.splitlines(keepends=True)
        assert all(line.startswith("transformer-course: ") for line in lines)
        return lines[-1]

    return main


@pytest.fixture(scope="module")
def trained(small_recipes: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trained toy checkpoint, only to be read."""
    folder = tmp_path_factory.mktemp("runs") / "toy"
    assert cli.main(["train", "--corpus", "toy", "--output", str(folder)]) == 0
    return folder


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "train.en", tmp_path / "train.fr"
    for path, side in zip(paths, ("source", "target"), strict=True):
        lines = [getattr(pair, side) for pair in PAIRS]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return Translator.load(folder).model.state_dict()


def assert_same_weights(folder: Path, other: Path) -> None:
    others = weights_of(other)
    for name, tensor in weights_of(folder).items():
        assert torch.equal(tensor, others[name]), name


# Training


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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into a read-only folder")
def test_output_that_cannot_be_written(fails: Callable[..., str], tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        assert "Permission denied" in fails("train", "--output", tmp_path / "out")
        assert "Permission denied" in fails("train", "--output", tmp_path)
    finally:
        tmp_path.chmod(0o755)
    assert list(tmp_path.iterdir()) == []


def test_full_disk_leaves_no_half_file(
    run: Run, fails: Callable[..., str], tmp_path: Path, trained: Path
) -> None:
    folder = tmp_path / "out"
    usual, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        error = fails("train", "--output", folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (usual, hard))
    assert "training.safetensors: File too large" in error
    assert [path.name for path in folder.iterdir()] == ["run.json"]


def test_divergence_is_one_sentence(
    fails: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wild = TrainingSettings(steps=9, batch_tokens=32, learning_rate=1e30, dev_sentences=1)
    monkeypatch.setitem(RECIPES, "toy", Recipe(training=wild, sizes=RECIPE.sizes))
    assert "try a lower learning rate" in fails("train", "--output", tmp_path / "out")


# Scores


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
        (["--source", "no-such.en", "--reference", "a.fr"], "no-such.en: No such file"),
    ],
)
def test_evaluate_refuses(
    fails: Callable[..., str], trained: Path, arguments: list[str], complaint: str
) -> None:
    assert complaint in fails("evaluate", trained, *arguments)


# Translations


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Return a function that puts bytes on standard input, in a terminal of another encoding."""

    def put(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="latin-1"))

    return put


def test_translate_prints_a_line_for_each_sentence(run: Run, trained: Path) -> None:
    status, output, error = run("translate", trained, "the cat sleeps", "", "the dog eats")
    assert (status, error) == (0, "")
    translations = Translator.load(trained).translate(["the cat sleeps", "", "the dog eats"])
    assert output.split("\n") == [*translations, ""]
    assert translations[1] == ""


def test_translate_reads_standard_input(
    run: Run, trained: Path, type_in: Callable[[bytes], None]
) -> None:
    type_in("the cat sleeps\r\n\n   \nthe café eats".encode())
    status, output, _ = run("translate", trained)
    assert status == 0
    expected = Translator.load(trained).translate(["the cat sleeps", "", "", "the café eats"])
    assert output.split("\n") == [*expected, ""]


def test_translate_keeps_order_and_number_of_lines(
    run: Run, trained: Path, type_in: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """10,000 lines in, 10,000 out, a few at a time; blank lines stay where they are."""
    most_at_once = []

    def number_them(_self: Translator, lines: list[str], beam: int) -> list[str]:
        most_at_once.append(len(lines))
        return [line.upper() for line in lines]

    monkeypatch.setattr(Translator, "translate", number_them)
    lines = [f"line {number}" if number % 7 else "" for number in range(10_000)]
    type_in("".join(f"{line}\n" for line in lines).encode())
    status, output, error = run("translate", trained)
    assert (status, error) == (0, "")
    assert output.split("\n") == [line.upper() for line in lines] + [""]
    assert max(most_at_once) == cli.LINES_AT_ONCE


@pytest.mark.parametrize("beam", ["0", "-3", "100000"])
def test_beams_that_make_no_sense(fails: Callable[..., str], trained: Path, beam: str) -> None:
    error = fails("translate", "--beam", beam, trained, "the cat")
    assert "beam must be at" in error
    assert f"got {beam}" in error


def test_beam_one_is_greedy(run: Run, trained: Path) -> None:
    greedy = run("translate", trained, "the king sings")
    assert greedy == run("translate", "--beam", "1", trained, "the king sings")
    assert run("translate", "--beam", "4", trained, "the king sings")[0] == 0


def test_nothing_in_nothing_out(run: Run, trained: Path, type_in: Callable[[bytes], None]) -> None:
    type_in(b"")
    assert run("translate", trained) == (0, "", "")


def test_unknown_words_are_translated(run: Run, trained: Path) -> None:
    status, output, _ = run("translate", trained, "zebras yodel")
    assert status == 0
    assert output.count("\n") == 1


def test_translate_refuses_other_encodings(
    fails: Callable[..., str], trained: Path, type_in: Callable[[bytes], None]
) -> None:
    type_in("le café".encode("latin-1"))
    assert "standard input is not UTF-8 text" in fails("translate", trained)


def test_translate_refuses_a_sentence_that_is_too_long(
    fails: Callable[..., str], trained: Path
) -> None:
    error = fails("translate", trained, "the cat sleeps", "cat " * 12)
    assert "begins with 'cat cat" in error
    assert "has 12 tokens; this translator reads at most 11 at once" in error


# Checkpoints that are none


@pytest.mark.parametrize("command", ["evaluate", "translate"])
def test_missing_checkpoint(fails: Callable[..., str], tmp_path: Path, command: str) -> None:
    assert "no checkpoint folder" in fails(command, tmp_path / "nowhere")
    assert "no checkpoint folder" in fails(command, tmp_path)


@pytest.mark.parametrize("damaged", ["config.json", "model.safetensors"])
def test_damaged_checkpoint(
    fails: Callable[..., str], trained: Path, tmp_path: Path, damaged: str
) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "out"))
    whole = (folder / damaged).read_bytes()
    (folder / damaged).write_bytes(whole[: len(whole) // 2])
    assert f"{damaged} is damaged" in fails("translate", folder, "the cat")


# The command itself


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no checkpoint folder"):
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
    assert "no checkpoint folder" in done.stderr


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


def test_interrupted_process_leaves_a_checkpoint_that_resumes(
    tmp_path: Path, texts: tuple[Path, Path]
) -> None:
    folder = tmp_path / "out"
    source, target = texts
    command = [sys.executable, "-c", FREQUENT_CHECKPOINTS, "train", "--corpus", "files"]
    command += ["--source", source, "--target", target, "--minutes", "5", "--output", folder]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while not (folder / "training.safetensors").exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    step = json.loads(output.splitlines()[-1].split(": ", 1)[1])["step"]
    assert f"Stopped at step {step}" in output
    trainer = runs.Run.read(folder).trainer(folder)
    trainer.resume(folder)
    assert trainer.step == step


def test_killed_process_leaves_a_whole_checkpoint(tmp_path: Path, texts: tuple[Path, Path]) -> None:
    """Killed at any moment, also while it writes: what lies there is whole and resumes."""
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
            process.kill()
        steps.append(int(rows(folder)[-1].split(",")[0]))
        Translator.load(folder)
    assert 0 < steps[0] < steps[1]


def rows(folder: Path) -> list[str]:
    """Return the rows of the metrics, without their head."""
    path = folder / "metrics.csv"
    return path.read_text().splitlines()[1:] if path.exists() else []
