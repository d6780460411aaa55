"""The progress file belongs to the learner and never stands in the way."""

import json
import subprocess
import sys
from datetime import datetime

import pytest

from transformer_course.checker import progress

NAME = "progress.jsonl"
BROKEN_LINES = ["{", "[]", "3", "null", "\x00\xff", '{"exercise": "lesson.two"}', '"exercise"']


def files(folder):
    return [file.name for file in folder.iterdir()]


def line(exercise, time="2026-01-01T00:00:00+00:00", **more):
    return json.dumps({"exercise": exercise, "solved": time, **more}) + "\n"


def test_nothing_is_solved_at_first(progress_home):
    assert progress.solved() == {}
    assert not progress_home.exists()


def test_solved_exercises_are_remembered_with_their_time(progress_home):
    assert progress.record("lesson.one")
    first = progress.solved()
    assert progress.record("lesson.two")
    assert progress.record("lesson.one")
    assert progress.solved()["lesson.one"] == first["lesson.one"]
    assert sorted(progress.solved()) == ["lesson.one", "lesson.two"]
    assert datetime.fromisoformat(first["lesson.one"]).tzinfo is not None
    assert len((progress_home / NAME).read_text().splitlines()) == 2


@pytest.mark.parametrize("broken", BROKEN_LINES)
def test_damaged_lines_spoil_no_others(progress_home, broken):
    progress_home.mkdir()
    damaged = f"{line('lesson.one')}{broken}".encode("latin-1")
    (progress_home / NAME).write_bytes(damaged)
    assert list(progress.solved()) == ["lesson.one"]
    assert progress.record("lesson.three")
    assert sorted(progress.solved()) == ["lesson.one", "lesson.three"]
    assert (progress_home / NAME).read_bytes().startswith(damaged)


def test_files_of_two_machines_count_together_and_the_earlier_time_holds(progress_home):
    progress_home.mkdir()
    early, late = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"
    (progress_home / NAME).write_text(line("lesson.one", late) + line("lesson.two", late))
    (progress_home / "progress-laptop.jsonl").write_text(line("lesson.one", early))
    assert progress.solved() == {"lesson.one": early, "lesson.two": late}


def test_a_copy_at_the_end_of_the_other_file_counts_too(progress_home):
    progress_home.mkdir()
    (progress_home / NAME).write_text(line("lesson.one") + line("lesson.one") + line("lesson.two"))
    assert sorted(progress.solved()) == ["lesson.one", "lesson.two"]


def test_a_copy_that_cannot_be_read_hides_no_other(progress_home):
    (progress_home / "progress-first.jsonl").mkdir(parents=True)
    (progress_home / NAME).write_text(line("lesson.one"))
    assert list(progress.solved()) == ["lesson.one"]


def test_entries_of_other_versions_of_the_course_stay(progress_home):
    progress_home.mkdir()
    other = line("lesson.renamed_since", stars=3)
    (progress_home / NAME).write_text(other)
    assert progress.record("lesson.one")
    assert (progress_home / NAME).read_text().startswith(other)
    assert sorted(progress.solved()) == ["lesson.one", "lesson.renamed_since"]


def test_a_place_that_cannot_be_written(progress_home):
    progress_home.write_text("a file where the folder should be")
    assert not progress.record("lesson.one")
    assert progress.solved() == {}


def test_a_folder_where_the_file_should_be(progress_home):
    (progress_home / NAME).mkdir(parents=True)
    assert not progress.record("lesson.one")
    assert progress.solved() == {}


def test_no_home_folder(monkeypatch):
    monkeypatch.delenv("TRANSFORMER_COURSE_HOME")

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("pathlib.Path.home", homeless)
    assert progress.solved() == {}
    assert not progress.record("lesson.one")


def test_default_place_is_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("TRANSFORMER_COURSE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert progress.progress_file() == tmp_path / ".transformer_course" / NAME


def test_two_notebooks_that_write_at_once_lose_nothing(progress_home):
    code = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('progress', {progress.__file__!r})\n"
        "progress = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(progress)\n"
        "for number in range(100):\n"
        "    assert progress.record(f'{sys.argv[1]}.{number}')\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, name]) for name in "abc"]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    assert len(progress.solved()) == 300
    assert files(progress_home) == [NAME]
