"""Capstones as they are handed in: complete, incomplete, and by somebody who means harm."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from transformer_course import grading
from transformer_course.cli import main
from transformer_course.grading import Limits, Row
from transformer_course.publish.card import BLANKS, FILL_IN, Told, figures
from transformer_course.translation.training.looks import LOOKS_FILE
from transformer_course.translation.training.recipes import shipped_recipe
from transformer_course.translation.training.runs import RUN_FILE, Run

LIMITS = Limits(seconds=60, memory=3)
ENDED, LOOKED = "2026-11-27T10:00:00+00:00", "2026-11-27T12:00:00+00:00"
ALL = ["card", "report", "three_seeds", "test_once", "paired_test"]


def write_run(folder: Path, pieces: int, seed: int, *, ended: str = ENDED) -> None:
    """Write what a run leaves in its folder, without weights."""
    folder.mkdir(parents=True)
    recipe = shipped_recipe("little").changed(
        {"text": {"subwords": pieces}, "training": {"seed": seed}}
    )
    result = {"step": 1800, "dev_bleu": 15.0 + seed, "seconds": 100.0}
    run = Run("files", recipe, source=Path("my.de"), target=Path("my.fr"))
    run.write(folder, result=result, ended=ended, train_pairs=2600, parameters=10**6)
    right = 6 + seed + (pieces == 1500)
    look = {
        "at": LOOKED,
        "by": "card",
        "beam": 1,
        "languages": ["de", "fr"],
        "test": "the same",
        "signature": "nrefs:1",
        "counts": [[right, right - 2, right - 4, n % 2, 10, 9, 8, 7, 10, 10] for n in range(20)],
    }
    (folder / LOOKS_FILE).write_text(json.dumps(look) + "\n", encoding="utf-8")


def hand_in(folder: Path) -> Path:
    """Write a capstone that has everything."""
    sides = [[folder / f"{pieces}-{seed}" for seed in range(3)] for pieces in (1500, 6000)]
    for side, pieces in zip(sides, (1500, 6000), strict=True):
        for seed, run in enumerate(side):
            write_run(run, pieces, seed)
    lines = figures(*([Told.read(run) for run in side] for side in sides))
    said = [f"## {heading}\n\nThis I say in my own words.\n" for heading in BLANKS]
    card = "\n".join(["# German into French", "", "## The figures", "", *lines, "", *said])
    (folder / "card.md").write_text(card, encoding="utf-8")
    (folder / "report.html").write_text("<h2>How good it is</h2> 1500-0", encoding="utf-8")
    return folder


def graded(folder: Path) -> dict[str, Row]:
    rows = grading.grade(folder, grading.submissions(folder), LIMITS, processes=1)
    return {row.submission: row for row in rows}


def findings(row: Row) -> dict[str, str]:
    """Return what is wrong, by what is looked at."""
    assert row.problem == "" and [*row.exercises] == ALL
    return {n: e["finding"] for n, e in row.exercises.items() if e["verdict"] != "Right"}


@pytest.fixture
def group(tmp_path: Path) -> Path:
    folder = tmp_path / "class"
    folder.mkdir()
    return folder


def test_complete_capstone_is_right_and_is_one_row(
    group: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_in(group / "ada")
    monkeypatch.chdir(tmp_path)
    table = tmp_path / "marks.csv"
    assert main(["grade", group.name, "--csv", str(table), "--processes", "1"]) == 0
    _, line = table.read_text(encoding="utf-8-sig").splitlines()
    assert line.startswith("ada,your_own_text,5,5,")


def cut(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Return what changes the text of a file."""

    def change(folder: Path) -> None:
        path = folder / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    return change


def no_report(folder: Path) -> None:
    (folder / "report.html").unlink()


def two_seeds(folder: Path) -> None:
    for path in (folder / "6000-2").iterdir():
        path.unlink()


def one_after_the_look(folder: Path) -> None:
    cut(f"1500-1/{RUN_FILE}", ENDED, "2026-11-27T13:00:00+00:00")(folder)


def one_between_two_looks(folder: Path) -> None:
    one_after_the_look(folder)
    cut(f"1500-1/{LOOKS_FILE}", LOOKED, "2026-11-27T14:00:00+00:00")(folder)


def a_third_side(folder: Path) -> None:
    for seed in range(3):
        write_run(folder / f"3000-{seed}", 3000, seed)


def forty_one_runs(folder: Path) -> None:
    for seed in range(3, 38):
        write_run(folder / f"1500-{seed}", 1500, seed)


def nobody_looked(folder: Path) -> None:
    for path in folder.rglob(LOOKS_FILE):
        path.unlink()


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (
            cut("card.md", "This I say in my own words.", f"{FILL_IN}]"),
            {"card": "6 of 6 blanks are not filled: Where the text comes from,"},
        ),
        (
            cut("card.md", "## My answer", "## An answer"),
            {"card": "1 of 6 blanks are not filled: My answer."},
        ),
        (no_report, {"report": "there is no report.html"}),
        (
            cut("report.html", "1500-0", "another"),
            {"report": "report.html is no report on one of the runs"},
        ),
        (
            two_seeds,
            {
                "three_seeds": "two sides with 3 seeds each are wanted; seeds of each side: 3, 2.",
                "paired_test": "two sides with 3 seeds each",
            },
        ),
        (
            cut(f"6000-2/{RUN_FILE}", '"seed": 2', '"seed": 1'),
            dict.fromkeys(
                ["three_seeds", "paired_test"],
                "two sides with 3 seeds each are wanted; seeds of each side: 3, 2.",
            ),
        ),
        (
            a_third_side,
            dict.fromkeys(
                ["three_seeds", "paired_test"],
                "two sides with 3 seeds each are wanted; seeds of each side: 3, 3, 3.",
            ),
        ),
        (
            forty_one_runs,
            dict.fromkeys(
                ["report", "three_seeds", "test_once", "paired_test"],
                "there are more than 40 runs: hand in those of the card.",
            ),
        ),
        (
            one_after_the_look,
            {
                "test_once": "the test split was looked at before the last training ended: 1500-1",
                "paired_test": "the test split of 1500-1 has not been looked at since its training",
            },
        ),
        (
            one_between_two_looks,
            {"test_once": "the test split was looked at before the last training ended: 1500-1"},
        ),
        (
            nobody_looked,
            {
                "test_once": "nobody has looked at the test split",
                "paired_test": "the test split of 1500-0 has not been looked at",
            },
        ),
        (
            cut("card.md", "p = ", "p < "),
            {"paired_test": "the runs say, and the card does not: Paired bootstrap"},
        ),
        (
            cut(f"6000-0/{LOOKS_FILE}", "the same", "another"),
            {"paired_test": "the runs were judged on different test splits"},
        ),
    ],
)
def test_what_is_missing_is_said(
    group: Path, change: Callable[[Path], None], wrong: dict[str, str]
) -> None:
    change(hand_in(group / "ada"))
    found = findings(graded(group)["ada"])
    assert found.keys() == wrong.keys()
    assert all(found[name].startswith(words) for name, words in wrong.items())


def test_sides_may_be_in_either_order(group: Path) -> None:
    folder = hand_in(group / "ada")
    for seed in range(3):  # now what the card names first comes last
        (folder / f"1500-{seed}").rename(folder / f"z-{seed}")
        cut("card.md", f"1500-{seed}", f"z-{seed}")(folder)
    cut("report.html", "1500-0", "z-0")(folder)
    assert findings(graded(group)["ada"]) == {}


def test_capstone_may_be_deeper_and_beside_a_notebook(group: Path) -> None:
    folder = hand_in(group / "ada" / "my-course" / "own-text")
    (folder / "card.md").rename(folder / "Ada_Lovelace_card.md")
    (group / "ada" / "13.ipynb").write_text("{}", encoding="utf-8")
    rows = graded(group)
    assert rows.keys() == {"ada/13.ipynb", "ada/my-course/own-text"}
    assert findings(rows["ada/my-course/own-text"]) == {}


def test_card_without_its_folder_is_no_submission(group: Path) -> None:
    (group / "card.md").write_text("# Card", encoding="utf-8")
    assert "not a notebook" in graded(group)["card.md"].problem


# Somebody means harm: the row says what is wrong, and the others are graded


def link_to_a_secret(folder: Path) -> None:
    secret = folder.parent.parent / "secret"
    secret.write_text("secret", encoding="utf-8")
    (folder / "card.md").unlink()
    (folder / "card.md").symlink_to(secret)


def deep(folder: Path) -> None:
    (folder / "1500-0" / RUN_FILE).write_text("[" * 10**6, encoding="utf-8")


def sizes_that_are_none(folder: Path) -> None:
    path = folder / "1500-0" / RUN_FILE
    stored = json.loads(path.read_text(encoding="utf-8"))
    stored["recipe"]["sizes"] = ["__import__('os').abort()"]
    path.write_text(json.dumps(stored), encoding="utf-8")


def large(folder: Path) -> None:
    with (folder / "1500-0" / LOOKS_FILE).open("wb") as file:
        file.truncate(2**30)


def endless_counts(folder: Path) -> None:
    cut(f"1500-0/{LOOKS_FILE}", "[[", f"[[{'9' * 5000}, ")(folder)


def weights_that_are_a_program(folder: Path) -> None:
    for name in ("model.safetensors", "model.pt", "conftest.py", "sitecustomize.py"):
        (folder / "1500-0" / name).write_text("raise SystemExit('run')", encoding="utf-8")


@pytest.mark.parametrize(
    ("harm", "wrong"),
    [
        (deep, {"report", "three_seeds", "test_once", "paired_test"}),
        (sizes_that_are_none, {"three_seeds", "paired_test"}),
        (large, {"report", "three_seeds", "test_once", "paired_test"}),
        (endless_counts, {"report", "three_seeds", "test_once", "paired_test"}),
        (weights_that_are_a_program, set()),
    ],
)
def test_strange_files_are_named_and_nothing_is_run(
    group: Path, harm: Callable[[Path], None], wrong: set[str]
) -> None:
    harm(hand_in(group / "mallory"))
    hand_in(group / "zoe")
    rows = graded(group)
    assert findings(rows["mallory"]).keys() == wrong
    assert findings(rows["zoe"]) == {}


def test_links_are_not_followed(group: Path) -> None:
    link_to_a_secret(hand_in(group / "mallory"))
    row = graded(group)["mallory"]
    assert row.problem == "this folder holds no notebook, no my_transformer.py and no card.md"


def test_hidden_files_of_a_zip_are_not_handed_in(tmp_path: Path) -> None:
    anna = hand_in(tmp_path / "group" / "anna")
    for place in ("anna/._card.md", "anna/.old/card.md", "__MACOSX/anna/._card.md"):
        path = tmp_path / "group" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\x00\x05\x16\x07\xff")
    for table in ("marks.csv", "rows.jsonl"):
        (tmp_path / "group" / table).write_text("what an earlier grading wrote", encoding="utf-8")
    assert grading.submissions(tmp_path / "group") == [anna]
    assert graded(tmp_path / "group")["anna"].solved == len(ALL)
