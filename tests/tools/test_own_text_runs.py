"""The runs of lesson 13, with small models on a little of the toy language."""

import sys
from pathlib import Path

import pytest

from tools import own_text_runs
from transformer_course.translation.checkpoints import read_json
from transformer_course.translation.corpora.pair_at_hand import write_toy_sentences
from transformer_course.translation.training.looks import looks_in
from transformer_course.translation.training.runs import RUN_FILE

SMALL = """
like = "little"
[model]
d_model = 16
heads = 2
d_ff = 24
[training]
steps = 4
evaluate_every = 2
dev_sentences = 2
"""


def few_sentences(folder: Path) -> tuple[Path, Path]:
    files = write_toy_sentences(folder)
    for path in files:
        lines = path.read_text(encoding="utf-8").splitlines()[:120]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return files


@pytest.fixture
def main(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return the command, with two small runs."""
    settings = tmp_path / "small.toml"
    settings.write_text(SMALL, encoding="utf-8")
    small = {"SETTINGS": str(settings), "PIECES": (60, 80), "SEEDS": (0,)}
    small |= {"OWN_TEXT": tmp_path / "own-text.json", "write_captions": few_sentences}
    for name, value in small.items():
        monkeypatch.setattr(own_text_runs, name, value)
    monkeypatch.setattr(sys, "argv", ["own_text_runs", "--work", str(tmp_path / "work")])
    return own_text_runs.main


def test_runs_are_trained_once_and_looked_at_last(main, tmp_path, capsys):
    main()
    folders = [tmp_path / "work" / "60-0", tmp_path / "work" / "80-0"]
    first_look = min(look.at for folder in folders for look in looks_in(folder))
    assert all(read_json(folder / RUN_FILE)["ended"] <= first_look for folder in folders)
    recorded = read_json(tmp_path / "own-text.json")
    assert [(run["pieces"], run["seed"]) for run in recorded["runs"]] == [(60, 0), (80, 0)]
    assert recorded["pairs"] == {"dev": 12, "test": 12, "train": 96}
    assert [row["step"] for row in recorded["runs"][0]["curve"]] == [2, 4]
    assert len(recorded["runs"][0]["counts"]) == 12
    capsys.readouterr()
    main()
    assert capsys.readouterr().out.count("already there") == 2
    assert [len(looks_in(folder)) for folder in folders] == [1, 1]
    assert read_json(tmp_path / "own-text.json")["runs"] == recorded["runs"]


def test_a_run_that_was_stopped_goes_on(main, tmp_path, capsys):
    main()
    path = tmp_path / "work" / "60-0" / RUN_FILE
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"finished": true', '"finished": false'), encoding="utf-8")
    capsys.readouterr()
    main()
    assert capsys.readouterr().out.count("already there") == 1
    assert read_json(path)["finished"]


def test_runs_on_different_machines_are_not_put_together(main, tmp_path):
    main()
    path = tmp_path / "work" / "60-0" / RUN_FILE
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(read_json(path)["machine"], "another"), encoding="utf-8")
    with pytest.raises(ValueError, match="were not trained alike"):
        main()
