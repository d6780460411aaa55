import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from transformer_course.translation import translator
from transformer_course.translation.checkpoints import CheckpointError
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.training.recipes import RECIPES, Recipe
from transformer_course.translation.training.runs import (
    RUN_FILE,
    Run,
    check_is_new,
    sole_training,
    steps_trained,
)
from transformer_course.translation.training.trainer import TrainingSettings

RECIPE = Recipe(
    sizes={"d_model": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 24},
    training=TrainingSettings(steps=3, evaluate_every=2, dev_sentences=2),
    min_frequency=2,
)


@pytest.fixture
def run(tmp_path: Path, pairs: list[SentencePair], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a run over two text files, given by relative paths."""
    monkeypatch.chdir(tmp_path)
    source, target = Path("train.en"), Path("train.fr")
    source.write_text("".join(f"{pair.source}\n" for pair in pairs), encoding="utf-8")
    target.write_text("".join(f"{pair.target}\n" for pair in pairs), encoding="utf-8")
    return Run("files", RECIPE, source, target, command="transformer-course train")


def test_run_comes_back_wherever_it_is_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.write(tmp_path, result={"step": 3})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    read = Run.read(tmp_path)
    assert read == replace(run, source=tmp_path / "train.en", target=tmp_path / "train.fr")
    assert read.load_corpus().split("train")


def test_run_with_splits_of_its_own_comes_back(run: Run, tmp_path: Path) -> None:
    given = replace(run, dev=(run.source, run.target), test=(run.source, run.target))
    given.write(tmp_path)
    absolute = tmp_path / "train.en", tmp_path / "train.fr"
    read = Run.read(tmp_path)
    assert (read.dev, read.test, read.by_line) == (absolute, absolute, False)


def test_run_of_an_earlier_version_keeps_its_splits(run: Run, tmp_path: Path) -> None:
    run.write(tmp_path)
    stored = json.loads((tmp_path / RUN_FILE).read_text(encoding="utf-8"))
    for name in ("dev", "test", "by_line"):
        del stored[name]
    (tmp_path / RUN_FILE).write_text(json.dumps(stored), encoding="utf-8")
    assert Run.read(tmp_path).load_corpus().splits.keys() == {"train", "dev"}
    Run.read(tmp_path).write(tmp_path)
    assert Run.read(tmp_path).by_line


def test_file_says_how_the_run_was_made(run: Run, tmp_path: Path) -> None:
    run.write(tmp_path, result={"step": 3})
    stored = json.loads((tmp_path / RUN_FILE).read_text(encoding="utf-8"))
    assert stored["recipe"]["training"]["steps"] == 3
    assert stored["versions"]["torch"] == str(torch.__version__)
    assert stored["command"] == "transformer-course train"
    assert stored["result"] == {"step": 3}
    assert {"date", "machine"} <= stored.keys()


def test_steps_are_known_when_a_run_has_ended(run: Run, tmp_path: Path) -> None:
    run.write(tmp_path)
    assert steps_trained(tmp_path) is None
    run.write(tmp_path, result={"step": 3})
    assert steps_trained(tmp_path) == 3


def test_toy_run_comes_back(tmp_path: Path) -> None:
    run = Run("toy", RECIPES["toy"])
    run.write(tmp_path)
    assert Run.read(tmp_path) == run


def test_trainer_follows_the_recipe(run: Run, tmp_path: Path) -> None:
    trainer = run.trainer(tmp_path)
    config = trainer.model.config
    assert {name: getattr(config, name) for name in RECIPE.sizes} == RECIPE.sizes
    assert trainer.settings == RECIPE.training
    assert (trainer.translator.source.language, trainer.translator.target.language) == ("en", "fr")
    assert [row["step"] for row in trainer.train()] == [2, 3]
    assert (tmp_path / "model.safetensors").is_file()


def test_vocabulary_leaves_out_rare_words(run: Run, tmp_path: Path) -> None:
    rare = replace(run, recipe=replace(RECIPE, min_frequency=13)).trainer(tmp_path)
    assert "the" in rare.translator.source.vocabulary  # in 16 sentences
    assert "cat" not in rare.translator.source.vocabulary  # in 12


def test_vocabulary_has_never_seen_the_dev_split(run: Run, tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(20)]
    run.source.write_text("\n".join(words))
    run.target.write_text("\n".join(words))
    recipe = replace(RECIPE, min_frequency=1)
    vocabulary = replace(run, recipe=recipe).trainer(tmp_path).translator.source.vocabulary
    corpus = run.load_corpus()
    assert {pair.source for pair in corpus.split("train")} == set(vocabulary.tokens[4:])
    assert not any(pair.source in vocabulary for pair in corpus.split("dev"))


def test_seed_determines_the_first_weights(run: Run, tmp_path: Path) -> None:
    def first_weights(seed: int) -> torch.Tensor:
        recipe = replace(RECIPE, training=replace(RECIPE.training, seed=seed))
        trainer = replace(run, recipe=recipe).trainer(tmp_path)
        return trainer.model.source_embeddings.table.weight

    assert torch.equal(first_weights(0), first_weights(0))
    assert not torch.equal(first_weights(0), first_weights(1))


@pytest.mark.parametrize(
    ("corpus", "source", "target", "complaint"),
    [
        ("wmt99", None, None, "no corpus 'wmt99'"),
        ("files", None, None, "needs --source"),
        ("files", Path("a.en"), None, "needs --source"),
        ("files", None, Path("a.fr"), "needs --source"),
        ("toy", Path("a.en"), Path("a.fr"), "takes no --source"),
        ("toy", Path("a.en"), None, "takes no --source"),
    ],
)
def test_runs_that_make_no_sense_are_refused(
    corpus: str, source: Path | None, target: Path | None, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        Run(corpus, RECIPE, source, target)


def change(path: list[str], value: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that changes one place of the stored run."""

    def changed(stored: dict[str, Any]) -> dict[str, Any]:
        place = stored
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value
        return stored

    return changed


@pytest.mark.parametrize(
    "damage",
    [
        lambda stored: [],
        lambda stored: None,
        lambda stored: {},
        lambda stored: stored | {"recipe": 5},
        lambda stored: stored | {"corpus": []},
        lambda stored: stored | {"corpus": "wmt99"},
        lambda stored: stored | {"source": 5},
        lambda stored: stored | {"source": None},
        change(["recipe", "training", "steps"], 0),
        change(["recipe", "training", "steps"], "many"),
        change(["recipe", "training", "unheard_of"], 1),
        change(["recipe", "unheard_of"], 1),
    ],
)
@pytest.mark.usefixtures("unchecked_signatures")
def test_damaged_run_is_refused(
    run: Run, tmp_path: Path, damage: Callable[[dict[str, Any]], Any]
) -> None:
    run.write(tmp_path)
    path = tmp_path / RUN_FILE
    damaged = damage(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(damaged))
    is_object = isinstance(damaged, dict)
    said = (
        "does not describe a training run" if is_object else "is damaged .it must hold a JSON obj"
    )
    with pytest.raises(CheckpointError, match=rf"run\.json {said}"):
        Run.read(tmp_path)


def test_missing_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no run\.json in"):
        Run.read(tmp_path)


def test_stored_subwords_are_taken(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of sentencepiece may learn others from the same text."""
    with_subwords = replace(run, recipe=replace(RECIPE, subwords=40))
    output = tmp_path / "out"
    output.mkdir()
    first = with_subwords.trainer(output)
    first.train()
    monkeypatch.setattr(translator, "learn_subwords", lambda *_: pytest.fail("learned anew"))
    again = with_subwords.trainer(output)
    assert again.translator.source.pieces == first.translator.source.pieces
    (output / "subwords.model").write_bytes(b"damaged")
    with pytest.raises(CheckpointError, match=r"subwords\.model cannot be read.*Restore it"):
        with_subwords.trainer(output)


def test_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "new"
    for _ in range(2):  # what is left of the first is nothing to lose
        check_is_new(folder)
        with sole_training(folder):
            assert folder.is_dir()


def test_second_training_is_kept_out_and_a_later_one_is_not(tmp_path: Path) -> None:
    with (
        sole_training(tmp_path),
        pytest.raises(ValueError, match="another training writes to"),
        sole_training(tmp_path),
    ):
        pass
    with sole_training(tmp_path):
        pass


def test_what_killed_writers_left_is_swept_under_the_lock(tmp_path: Path) -> None:
    left = tmp_path / ".run.json.17.4711.tmp"
    left.touch()
    check_is_new(tmp_path)
    with sole_training(tmp_path):
        left.touch()
        with pytest.raises(ValueError, match="another training"), sole_training(tmp_path):
            pass
        assert left.exists()  # it may be that of the training that holds the folder
    with sole_training(tmp_path):
        assert not left.exists()


def test_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".hidden").touch()
    with pytest.raises(ValueError, match="not empty: name a new folder, or add --resume"):
        check_is_new(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".hidden"]


def test_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="is a file; name a new folder"):
        check_is_new(tmp_path / "file")
    with pytest.raises(NotADirectoryError), sole_training(tmp_path / "file" / "below"):
        pass
