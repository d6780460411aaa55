"""The progress file belongs to the learner and never stands in the way."""

import json
import threading
from datetime import datetime

import pytest

from transformer_course.exercises import progress


def files(folder):
    return [file.name for file in folder.iterdir()]


def test_nothing_is_solved_at_first(progress_home):
    assert progress.solved() == {}
    assert not progress_home.exists()


def test_solved_exercises_are_remembered_with_their_time():
    assert progress.record("lesson.one")
    first = progress.solved()
    assert progress.record("lesson.two")
    assert progress.record("lesson.one")
    assert progress.solved()["lesson.one"] == first["lesson.one"]
    assert sorted(progress.solved()) == ["lesson.one", "lesson.two"]
    assert datetime.fromisoformat(first["lesson.one"]).tzinfo is not None


def test_file_is_readable_json(progress_home):
    progress.record("lesson.one")
    assert list(json.loads((progress_home / "progress.json").read_text())["solved"]) == [
        "lesson.one"
    ]
    assert files(progress_home) == ["progress.json"]


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"solved": 3}', '{"solved": null}', "\x00\xff", '{"other": {}}']
)
def test_damaged_file_is_kept_beside_the_new_one(progress_home, damage):
    progress_home.mkdir()
    (progress_home / "progress.json").write_bytes(damage.encode("latin-1"))
    assert progress.solved() == {}
    assert progress.record("lesson.one")
    assert list(progress.solved()) == ["lesson.one"]
    kept = progress_home / "progress.damaged.json"
    assert kept.read_bytes() == damage.encode("latin-1")


def test_a_place_that_cannot_be_written(progress_home):
    progress_home.write_text("a file where the folder should be")
    assert not progress.record("lesson.one")
    assert progress.solved() == {}


def test_a_failing_write_leaves_the_earlier_file(progress_home, monkeypatch):
    progress.record("lesson.one")

    def full(self, target):
        raise OSError("no space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    assert not progress.record("lesson.two")
    assert list(progress.solved()) == ["lesson.one"]
    assert files(progress_home) == ["progress.json"]


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
    assert progress.progress_file() == tmp_path / ".transformer_course" / "progress.json"


def test_writers_at_the_same_time_never_leave_a_damaged_file(progress_home):
    def write(writer):
        for number in range(20):
            progress.record(f"{writer}.{number}")

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert progress.solved()
    assert files(progress_home) == ["progress.json"]
