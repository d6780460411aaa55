"""The learner's file in a notebook."""

import sys

import pytest

from tests.own.notebooks import Notebook
from transformer_course.exercises import catalogues
from transformer_course.hosted import HOSTED
from transformer_course.own import file
from transformer_course.own.file import NAME
from transformer_course.own.location import RECORDS, own_file
from transformer_course.own.sections import template, yours
from transformer_course.own.session import begin

SOFTMAX = catalogues()["start_here"]["softmax"]
MINE = "def softmax(scores):\n    return (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in HOSTED:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_file_is_temporary_where_nobody_works(folder) -> None:
    assert own_file().parent != folder
    begin()
    assert not list(folder.iterdir())


@pytest.mark.parametrize("hosted", HOSTED)
def test_file_is_here_where_somebody_works(folder, monkeypatch, hosted) -> None:
    (folder / RECORDS).mkdir()
    assert own_file() == folder / NAME
    (folder / RECORDS).rmdir()
    monkeypatch.setenv(hosted, "1")
    assert own_file() == folder / NAME


def test_right_answer_is_said_to_be_in_the_translator(folder) -> None:
    (folder / RECORDS).mkdir()
    notebook = Notebook(begin())
    notebook.run(MINE)
    assert "`softmax` is in your translator: 1 of" in repr(SOFTMAX.check(notebook["softmax"]))
    assert yours((folder / NAME).read_text(encoding="utf-8")) == ["softmax"]


def test_wrong_answer_is_not(folder) -> None:
    notebook = Notebook(begin())
    notebook.run(MINE.replace("-1", "0"))
    assert "your translator" not in repr(SOFTMAX.check(notebook["softmax"]))


def test_next_day_begins_with_what_is_yours(folder) -> None:
    (folder / RECORDS).mkdir()
    notebook = Notebook(begin())
    notebook.run(MINE)
    SOFTMAX.check(notebook["softmax"])
    del sys.modules["my_transformer"]
    own = begin()
    assert own is sys.modules["my_transformer"]
    assert own.softmax.__code__.co_filename == str(folder / NAME)
    assert begin() is own


def test_file_that_does_not_run_is_told(folder, capsys) -> None:
    (folder / NAME).write_text("def", encoding="utf-8")
    begin()
    assert f"{NAME} has no section for" in capsys.readouterr().out
    assert (folder / NAME).read_text(encoding="utf-8") == template()


def test_folder_that_cannot_be_written(folder, monkeypatch, capsys) -> None:
    (folder / RECORDS).mkdir()

    def refuse_here(path, text) -> None:
        if path.parent == folder:
            raise PermissionError(13, "Permission denied", str(path))
        path.write_text(text, encoding="utf-8")

    monkeypatch.setattr("transformer_course.own.file.write_text", refuse_here)
    own = begin()
    assert "(Permission denied): what you solve now is kept until you close" in (
        capsys.readouterr().out
    )
    assert own.softmax


def test_file_that_another_notebook_holds_is_not_waited_for_in_vain(
    folder, monkeypatch, capsys
) -> None:
    (folder / RECORDS).mkdir()
    monkeypatch.setattr(file, "LOCK_SECONDS", 0)
    with file.locked(folder / NAME):
        begin()
    assert "lock" in capsys.readouterr().out
