"""The card of two sides of a question, and the notes of each look at a test split."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from transformer_course import cli
from transformer_course.publish.card import BLANKS, FILL_IN, Told, unfilled
from transformer_course.translation import toy_corpus
from transformer_course.translation.checkpoints import read_json
from transformer_course.translation.training.looks import LOOKS_FILE, looks_in
from transformer_course.translation.training.runs import RUN_FILE

Fails = Callable[..., str]


@pytest.fixture(scope="module")
def runs(small_recipes: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two seeds of each of two sides; its runs get notes."""
    folder = tmp_path_factory.mktemp("sides")
    for side, dropout in (("a", "0.1"), ("b", "0.3")):
        for seed in ("0", "1"):
            arguments = ["--seed", seed, "--set", f"model.dropout={dropout}"]
            output = str(folder / f"{side}-{seed}")
            assert cli.main(["train", *arguments, "--output", output]) == 0
    return folder


def sides(runs: Path) -> list[str | Path]:
    return [runs / "a-1", runs / "a-0", "--beside", runs / "b-0", runs / "b-1"]


def test_card_has_figures_and_blanks(run: Run, runs: Path, tmp_path: Path) -> None:
    card = tmp_path / "card.md"
    status, output, error = run("card", card, *sides(runs))
    assert (status, error) == (0, "")
    assert "the rest is yours" in output
    text = card.read_text(encoding="utf-8")
    assert text.startswith("# English into French: a-0\n")
    assert [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")] == [
        "| run",
        "| a-0",
        "| a-1",
        "| b-0",
        "| b-1",
    ]
    assert "The sides differ in model.dropout: 0.1 or 0.3." in text
    assert text.count(FILL_IN) == len(BLANKS)
    assert unfilled(text) == [*BLANKS]
    for number, folder in enumerate(sorted(runs.iterdir())):
        command = read_json(folder / RUN_FILE)["command"]
        assert command in text, number


def test_single_seeds_are_not_exchanged(run: Run, runs: Path, tmp_path: Path) -> None:
    cards = [tmp_path / "card.md", tmp_path / "single.md"]
    assert run("card", cards[0], *sides(runs))[0] == 0
    assert run("card", cards[1], runs / "a-0", "--beside", runs / "b-0")[0] == 0
    two, one = (card.read_text(encoding="utf-8") for card in cards)
    assert "Exchanging the seeds: p = " in two
    assert "Exchanging the seeds" not in one
    assert "With a single seed a side" in one


def test_card_looks_once_at_each_test_split(run: Run, runs: Path, tmp_path: Path) -> None:
    cards = [tmp_path / "card.md", tmp_path / "again.md"]
    for card in cards:
        assert run("card", card, *sides(runs))[0] == 0
    assert [len(looks_in(folder)) for folder in sorted(runs.iterdir())] == [1, 1, 1, 1]
    assert cards[0].read_text(encoding="utf-8") == cards[1].read_text(encoding="utf-8")


def test_a_look_before_the_end_does_not_count(run: Run, runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a-0"
    shutil.copytree(runs / "a-0", folder)
    (folder / LOOKS_FILE).unlink(missing_ok=True)
    assert run("evaluate", folder)[0] == 0
    path = folder / RUN_FILE
    stored = read_json(path)
    path.write_text(json.dumps(stored | {"ended": "2999-01-01T00:00:00+00:00"}), encoding="utf-8")
    assert Told.read(folder).look is None


def test_words_are_not_overwritten(run: Run, fails: Fails, runs: Path, tmp_path: Path) -> None:
    card = tmp_path / "card.md"
    card.write_text("mine", encoding="utf-8")
    assert "is there already, perhaps with your words" in fails("card", card, *sides(runs))
    nowhere = tmp_path / "nowhere" / "card.md"
    assert "there is no folder" in fails("card", nowhere, *sides(runs))
    assert card.read_text(encoding="utf-8") == "mine"


def test_sides_have_to_be_two(fails: Fails, runs: Path, tmp_path: Path) -> None:
    card, a, b = tmp_path / "card.md", runs / "a-0", runs / "b-0"
    assert "must end in .md" in fails("card", tmp_path / "card.html", a, "--beside", b)
    assert "differ by more than their seeds" in fails("card", card, a, b, "--beside", b)
    assert "have the same seed" in fails("card", card, a, a, "--beside", b)
    assert "no question to answer" in fails("card", card, a, "--beside", runs / "a-1")
    assert not card.exists()


def test_other_test_splits_are_refused_before_anything_is_looked_at(
    run: Run, fails: Fails, runs: Path, tmp_path: Path
) -> None:
    pairs = toy_corpus().split("train")[:300]
    files = [tmp_path / "my.en", tmp_path / "my.fr"]
    for side, file in zip(("source", "target"), files, strict=True):
        file.write_text("".join(f"{getattr(p, side)}\n" for p in pairs), encoding="utf-8")
    mine = tmp_path / "mine"
    given = ["--corpus", "files", "--source", files[0], "--target", files[1]]
    assert run("train", *given, "--settings", "toy", "--output", mine)[0] == 0
    said = fails("card", tmp_path / "card.md", mine, "--beside", runs / "a-0")
    assert "different test splits" in said
    assert not (mine / LOOKS_FILE).exists()


def test_run_that_has_not_ended_has_no_card(
    run: Run, fails: Fails, runs: Path, tmp_path: Path
) -> None:
    assert "there is no run.json" in fails("card", tmp_path / "card.md", tmp_path, "--beside", runs)


def test_report_and_evaluate_note_their_looks(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "toy"
    assert run("train", "--output", folder)[0] == 0
    assert not (folder / LOOKS_FILE).exists()
    assert run("evaluate", folder, "--split", "dev")[0] == 0
    assert not (folder / LOOKS_FILE).exists()
    assert run("evaluate", folder, "--beam", "2")[0] == 0
    assert run("report", folder, tmp_path / "report.html")[0] == 0
    looks = looks_in(folder)
    assert [(look.by, look.beam) for look in looks] == [("evaluate", 2), ("report", 1)]
    assert read_json(folder / RUN_FILE)["ended"] <= looks[0].at


def test_a_sentence_of_ones_own_fills_a_blank() -> None:
    card = "".join(f"## {heading}\n\nIt is of five words.\n\n" for heading in BLANKS)
    assert unfilled(card) == []
    assert unfilled(card.replace("of five words", "good")) == [*BLANKS]
    first = next(iter(BLANKS))
    assert unfilled(card.replace(f"## {first}\n", "")) == [first]
    assert unfilled(card + FILL_IN) == [[*BLANKS][-1]]
