"""The doctor finds what is wrong, says what to do, and changes nothing."""

import pytest

from transformer_course import cli, doctor
from transformer_course.translation.checkpoints import CheckpointError


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(folder))
    return folder


def finding(subject: str) -> doctor.Finding:
    (found,) = (found for found in doctor.examine() if found.subject == subject)
    return found


def test_this_machine_is_well_and_nothing_is_written(home, capsys):
    assert cli.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(doctor.examine())
    assert all(line.startswith("ok  ") for line in lines)
    assert not home.exists()


def test_advice_stands_below_what_was_found(monkeypatch, capsys):
    ill = doctor.Finding("memory", "none", "Buy some.")
    monkeypatch.setattr(doctor, "examine", lambda: [doctor.Finding("Python", "3.11"), ill])
    assert cli.main(["doctor"]) == 1
    assert capsys.readouterr().out == "ok  Python: 3.11\n!!  memory: none\n    Buy some.\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [("Linux", "is tested"), ("Windows", "not tried it yet; grading needs"), ("Plan 9", "nobody")],
)
def test_it_says_what_was_tried_on_such_a_system(monkeypatch, name, words):
    monkeypatch.setattr(doctor.platform, "system", lambda: name)
    assert words in finding("system").found
    assert not finding("system").advice


@pytest.mark.parametrize(
    ("requirement", "found"),
    [
        ("torch>=99", "torch is 2."),
        ("no-such-library>=1", "no-such-library is missing"),
        ("torch>=2.6", "all there"),
        ("no-such-library; extra == 'lab'", "all there"),
    ],
)
def test_libraries(monkeypatch, requirement, found):
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: [requirement])
    assert found in finding("libraries").found
    assert bool(finding("libraries").advice) == ("all there" not in found)


def test_it_says_how_to_open_the_lessons(monkeypatch):
    assert "`transformer-course lab` opens" in finding("JupyterLab").found

    def missing(name):
        raise doctor.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "_libraries", lambda: doctor.Finding("libraries", "all there"))
    monkeypatch.setattr(doctor.metadata, "version", missing)
    assert "pip install" in finding("JupyterLab").found
    assert not finding("JupyterLab").advice


@pytest.mark.parametrize(
    ("size", "found", "advised"),
    [(2 * 2**30, "2.0 GiB", True), (8 * 2**30, "8.0 GiB", False), (None, "not tell", False)],
)
def test_memory(monkeypatch, size, found, advised):
    monkeypatch.setattr(doctor, "memory_size", lambda: size)
    assert found in finding("memory").found
    assert bool(finding("memory").advice) == advised


def test_memory_is_that_of_this_machine():
    size = doctor.memory_size()
    assert size is None or 2**28 < size < 2**50


def test_a_damaged_translator_is_told(monkeypatch):
    def damaged(folder):
        raise CheckpointError("model.safetensors is cut short.")

    monkeypatch.setattr(doctor.Translator, "load", damaged)
    assert finding("toy translator").advice
    assert "cut short" in finding("toy translator").found


def test_the_place_of_the_progress_is_named_without_the_users_name(monkeypatch, home):
    assert str(home) not in finding("progress").found
    assert "$TRANSFORMER_COURSE_HOME/progress.jsonl" in finding("progress").found
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", "")
    monkeypatch.setenv("HOME", str(home))
    assert "~/.transformer_course/progress.jsonl" in finding("progress").found


@pytest.mark.parametrize("blocked", ["home", "progress.jsonl"])
def test_progress_that_cannot_be_written_is_told(home, blocked):
    if blocked == "home":
        home.write_text("a file where the folder should be")
    else:
        (home / blocked).mkdir(parents=True)
    assert "TRANSFORMER_COURSE_HOME" in finding("progress").advice


def test_no_home_folder_is_told(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("TRANSFORMER_COURSE_HOME")
    monkeypatch.setattr("pathlib.Path.home", homeless)
    assert "no home folder" in finding("progress").found
