import argparse
import json
from pathlib import Path

import pytest

from benchmarks.tables import compare, in_turn, options, table, write_tables


def test_table_shows_three_figures() -> None:
    rows = [
        {"": "ours", "speed": 1234.5678, "times": 2.0},
        {"": "theirs", "speed": 7, "times": None},
    ]
    assert table(rows) == (
        "|  | speed | times |\n| --- | ---: | ---: |\n| ours | 1,235 | 2.00 |\n| theirs | 7 |  |"
    )


def test_ratios_are_taken_round_by_round() -> None:
    """The second round was slow for all."""
    seconds = {"ours": [1.0, 30.0, 2.0], "theirs": [3.0, 60.0, 5.0]}
    found = compare(seconds, work=[120, 120, 140], baselines=["theirs", "absent"])
    assert found["ours"]["per_second"] == 70
    assert found["ours"]["times"] == {"theirs": 2.5}
    assert found["theirs"]["times"] == {"theirs": 1.0}


def test_everyone_is_first_once() -> None:
    rounds = [in_turn("abc", number) for number in range(3)]
    assert [order[0] for order in rounds] == ["a", "b", "c"]
    assert all(sorted(order) == ["a", "b", "c"] for order in rounds)


def test_both_files_say_how_to_measure_again(tmp_path: Path) -> None:
    arguments = options("…", rounds=3).parse_args(["--threads", "2", "--output", str(tmp_path)])
    assert isinstance(arguments, argparse.Namespace)
    write_tables("scaling", arguments, {"figure": 1.5}, "Title", ["## Part", "text"])
    stored = json.loads((tmp_path / "scaling.json").read_text(encoding="utf-8"))
    assert stored["command"] == "python -m benchmarks.scaling --rounds 3 --threads 2"
    assert stored["figure"] == 1.5
    assert {"date", "machine", "processor", "versions"} <= stored.keys()
    written = (tmp_path / "scaling.md").read_text(encoding="utf-8")
    assert written.startswith("# Title\n\n`python -m benchmarks.scaling --rounds 3")
    assert written.endswith("## Part\n\ntext\n")


def test_command_names_the_options_of_one_benchmark_too(tmp_path: Path) -> None:
    parser = options("…", rounds=3)
    parser.add_argument("--sizes", nargs="+", default=["small", "base"])
    arguments = parser.parse_args(["--threads", "2", "--output", str(tmp_path)])
    write_tables("training_speed", arguments, {}, "Title", [])
    stored = json.loads((tmp_path / "training_speed.json").read_text(encoding="utf-8"))
    expected = "python -m benchmarks.training_speed --rounds 3 --threads 2 --sizes small base"
    assert stored["command"] == expected


@pytest.mark.parametrize("count", ["0", "-1", "many"])
@pytest.mark.parametrize("option", ["--rounds", "--threads"])
def test_impossible_counts_are_refused(
    option: str, count: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        options("…", rounds=3).parse_args([option, count])
    assert "must be a whole number of at least 1" in capsys.readouterr().err
