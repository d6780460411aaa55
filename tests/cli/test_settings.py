"""What can be chosen for a training, by a file, one by one, or by going on from another run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import RECIPE, Run, forget_the_end, weights_of
from transformer_course.translation.training import runs
from transformer_course.translation.translator import Translator

SMALL = """
[model]
d_model = 16
heads = 2
encoder_layers = 1
decoder_layers = 1
d_ff = 24
max_len = 64
[text]
subwords = 40
[training]
steps = 3
batch_tokens = 32
evaluate_every = 2
"""


@pytest.fixture
def files(texts: tuple[Path, Path]) -> tuple[str, ...]:
    return "--corpus", "files", "--source", str(texts[0]), "--target", str(texts[1])


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / "my.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def test_printed_settings_can_be_trained_with(
    run: Run, tmp_path: Path, files: tuple[str, ...]
) -> None:
    status, printed, _ = run("settings", "toy")
    assert status == 0
    assert "# attention heads; they divide d_model\nheads = 4" in printed
    path = tmp_path / "my.toml"
    path.write_text(printed, encoding="utf-8")
    folder = tmp_path / "out"
    few = ("--set", "training.steps=1", "--set", "model.d_model=32")
    assert run("train", *files, "--settings", path, *few, "--output", folder)[0] == 0
    recipe = runs.Run.read(folder).recipe
    assert (recipe.training.steps, recipe.sizes["d_model"], recipe.sizes["d_ff"]) == (1, 32, 256)


def test_unknown_names_are_refused(fails: Callable[..., str], tmp_path: Path) -> None:
    assert "no settings 'huge' ship with the course; use base, " in fails("settings", "huge")
    train = ("train", "--output", tmp_path / "out")
    assert "did you mean training.steps?" in fails(*train, "--set", "training.step=3")
    assert "missing.toml: No such file" in fails(*train, "--settings", tmp_path / "missing.toml")
    assert "no file litle, and no settings of that name ship" in fails(
        *train, "--settings", "litle"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--minutes", "0"), "--minutes must be positive and finite; got 0.0"),
        (("--minutes", "nan"), "--minutes must be positive and finite; got nan"),
        (("--set", "text.min_frequency=-3"), "min_frequency must be a whole number of at least 1"),
        (("--set", "text.most_words=-1"), "most_words must be a whole number of at least 1"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(
    fails: Callable[..., str], tmp_path: Path, given: tuple[str, str], said: str
) -> None:
    assert said in fails("train", *given, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_resumed_run_keeps_its_settings(
    run: Run, fails: Callable[..., str], tmp_path: Path, settings: Path, files: tuple[str, ...]
) -> None:
    folder = tmp_path / "out"
    assert run("train", *files, "--settings", settings, "--output", folder)[0] == 0
    forget_the_end(folder)
    others = ("--settings", settings, "--set", "training.steps=5", "--from", folder)
    message = fails("train", "--resume", "--output", folder, *others)
    assert "leave out --settings, --from, --set" in message


def test_training_goes_on_from_another_run(
    run: Run, tmp_path: Path, settings: Path, files: tuple[str, ...]
) -> None:
    """With weights and sub-words of the first, on other lines, in another language."""
    first, second = tmp_path / "first", tmp_path / "second"
    assert run("train", *files, "--settings", settings, "--output", first)[0] == 0
    other = tmp_path / "other.de"
    other.write_text(Path(files[5]).read_text(encoding="utf-8"), encoding="utf-8")
    begin = ("--from", first, "--set", "training.learning_rate=1e-9", "--set", "model.dropout=0.3")
    status, _, error = run("train", *files[:5], other, *begin, "--output", second)
    assert status == 0, error
    one, two = Translator.load(first), Translator.load(second)
    assert (two.target.language, two.source.pieces) == ("de", one.source.pieces)
    assert two.model.config.dropout == 0.3
    others = weights_of(second)
    for name, tensor in weights_of(first).items():
        assert tensor.allclose(others[name], atol=1e-6), name
    stored = json.loads((second / "run.json").read_text())
    assert stored["start"] == str(first)
    assert stored["recipe"]["training"]["steps"] == 3
    forget_the_end(second)
    assert run("train", "--resume", "--output", second)[0] == 0


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("model.d_model=32", "have d_model = 16, and 32 was asked for"),
        ("text.subwords=60", "--from goes on with the tokens of"),
        ("text.min_frequency=50", "--from goes on with the tokens of"),
    ],
)
def test_other_sizes_do_not_go_on(
    run: Run,
    fails: Callable[..., str],
    tmp_path: Path,
    settings: Path,
    files: tuple[str, ...],
    change: str,
    complaint: str,
) -> None:
    folder = tmp_path / "out"
    assert run("train", *files, "--settings", settings, "--output", folder)[0] == 0
    begin = ("--from", folder, "--set", change, "--output", tmp_path / "new")
    assert complaint in fails("train", *files, *begin)
    assert not (tmp_path / "new").exists()


def test_words_do_not_go_on_in_another_language(
    run: Run, fails: Callable[..., str], tmp_path: Path, trained: Path, files: tuple[str, ...]
) -> None:
    other = tmp_path / "other.de"
    other.write_text(Path(files[5]).read_text(encoding="utf-8"), encoding="utf-8")
    begin = ("--from", trained, "--output", tmp_path / "new")
    assert "know words of 'fr', and the text is 'de'" in fails("train", *files[:5], other, *begin)
    assert RECIPE.subwords is None


def test_missing_run_to_go_on_from_is_named(fails: Callable[..., str], tmp_path: Path) -> None:
    begin = ("--from", tmp_path / "nowhere", "--output", tmp_path / "out")
    assert "no run.json in" in fails("train", *begin)
