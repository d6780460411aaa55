"""A folder of working copies: laid out, updated, and never at the learner's cost."""

import json
import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell

from tests.workspace.conftest import ATTENTION, edit, exercise, sources
from tools.sources import lesson_sources
from transformer_course.own.location import RECORDS
from transformer_course.workspace import update

NEW = "02_attention (new).ipynb"
ANSWER = "def causal_mask(x):\n    return x.tril()"
STUB = 2  # where the first exercise's stub is
SIMILAR, MORE = new_markdown_cell("A new paragraph."), new_markdown_cell("And another.")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.ipynb")}


@pytest.fixture
def answered(publish, folder: Path) -> Path:
    """Return a lesson in which the learner has answered the first of two exercises."""
    publish(*exercise("causal_mask"), *exercise("target_mask"))
    update.update(folder)
    edit(folder / ATTENTION, STUB, ANSWER)
    return folder / ATTENTION


# Laying out


def test_the_courses_own_lessons_are_laid_out_without_outputs(folder):
    lines = update.update(folder)
    names = [f"{source.stem}.ipynb" for source in lesson_sources()]
    laid_out = [*names, "AGENTS.md", "CLAUDE.md"]
    assert lines == [f"{name}: laid out." for name in laid_out]
    assert sorted(contents(folder)) == names
    for path in folder.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert not any(cell.get("outputs") for cell in notebook.cells)
        assert not any(cell.get("execution_count") for cell in notebook.cells)
        for cell in notebook.cells:
            tells = "outcome" in cell.metadata.get("tags", []) and "\nassert " in cell.source
            assert not tells or cell.metadata["jupyter"]["source_hidden"]


def test_a_second_time_nothing_happens(folder):
    update.update(folder)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert update.update(folder) == []
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_what_the_learner_deletes_comes_back(publish, folder):
    publish(*exercise("causal_mask"))
    update.update(folder)
    (folder / ATTENTION).unlink()
    assert update.update(folder) == [f"{ATTENTION}: laid out."]


def test_the_published_notebooks_are_not_touched(publish, folder, tmp_path):
    publish(*exercise("causal_mask"))
    before = contents(tmp_path / "lessons")
    update.update(folder)
    assert contents(tmp_path / "lessons") == before


# New versions


def test_a_lesson_that_was_only_run_is_replaced(publish, folder):
    publish(*exercise("causal_mask"))
    update.update(folder)
    ran = json.loads((folder / ATTENTION).read_text(encoding="utf-8"))
    ran["cells"][STUB] |= {"execution_count": 3, "metadata": ran["cells"][STUB]["metadata"]}
    ran["cells"][STUB + 1]["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": ["Not attempted"]}
    ]
    ran["metadata"]["language_info"] = {"name": "python", "version": "3.13"}
    # JupyterLab adds an empty cell when the last one is run.
    ran["cells"].append({"cell_type": "code", "id": "x", "metadata": {}, "source": []})
    (folder / ATTENTION).write_text(json.dumps(ran), encoding="utf-8")
    publish(*exercise("causal_mask"), SIMILAR)
    assert update.update(folder) == [f"{ATTENTION}: replaced by the new version."]
    assert sources(folder / ATTENTION)[-1] == SIMILAR.source
    assert list(contents(folder)) == [ATTENTION]


def test_an_edited_lesson_stays_and_the_new_version_has_its_answers(answered, publish, folder):
    before = answered.read_bytes()
    publish(SIMILAR, *exercise("causal_mask"), *exercise("target_mask", "    ...  # a better stub"))
    (line,) = update.update(folder)
    assert line.startswith(f"{ATTENTION}: yours, so it stays")
    assert NEW in line
    assert answered.read_bytes() == before
    new = sources(folder / NEW)
    assert new[1] == SIMILAR.source
    assert ANSWER in new
    assert "def target_mask(x):\n    ...  # a better stub" in new
    assert update.update(folder) == []


@pytest.mark.parametrize("note", ["a thought", "# A lesson, and a thought"])
def test_any_edited_text_counts(publish, folder, note):
    publish(*exercise("causal_mask"))
    update.update(folder)
    edit(folder / ATTENTION, 0, note)
    publish(*exercise("causal_mask"), SIMILAR)
    update.update(folder)
    assert sources(folder / ATTENTION)[0] == note
    assert (folder / NEW).exists()


def test_a_moved_exercise_takes_its_answer_along(answered, publish, folder):
    publish(*exercise("target_mask"), SIMILAR, *exercise("causal_mask"))
    update.update(folder)
    new = sources(folder / NEW)
    assert new.index(ANSWER) == new.index("exercise.causal_mask.check(causal_mask)") - 1


def test_a_renamed_exercise_takes_its_answer_along(answered, publish, folder, monkeypatch):
    monkeypatch.setitem(update.RENAMED, "causal_mask", "look_back_mask")
    publish(*exercise("look_back_mask"), *exercise("target_mask"))
    update.update(folder)
    assert sources(folder / NEW)[STUB] == ANSWER.replace("causal_mask", "look_back_mask")


def test_the_answer_of_a_removed_exercise_is_kept_at_the_end(answered, publish, folder):
    publish(*exercise("target_mask"))
    update.update(folder)
    *_, sentence, kept = sources(folder / NEW)
    assert sentence == update.KEPT
    assert kept == ANSWER
    nbformat.validate(nbformat.read(folder / NEW, as_version=4))
    # Also by the version after that.
    publish(*exercise("target_mask"), SIMILAR)
    update.update(folder)
    assert sources(folder / NEW)[-2:] == [update.KEPT, ANSWER]


def test_a_cell_that_was_split_is_put_together(answered, publish, folder):
    notebook = json.loads(answered.read_text(encoding="utf-8"))
    half = notebook["cells"][STUB] | {"id": "half", "source": "CONSTANT = 1"}
    notebook["cells"].insert(STUB, half)
    answered.write_text(json.dumps(notebook), encoding="utf-8")
    publish(SIMILAR, *exercise("causal_mask"))
    update.update(folder)
    assert f"CONSTANT = 1\n\n\n{ANSWER}" in sources(folder / NEW)


def test_a_new_version_that_was_edited_is_never_overwritten(answered, publish, folder):
    publish(SIMILAR, *exercise("causal_mask"))
    update.update(folder)
    better = ANSWER + "  # better"
    edit(folder / NEW, STUB + 1, better)
    before = contents(folder)
    publish(SIMILAR, MORE, *exercise("causal_mask"))
    (line,) = update.update(folder)
    third = "02_attention (new 2).ipynb"
    assert line.startswith(f"{NEW}: yours, so it stays") and third in line
    assert {name: text for name, text in contents(folder).items() if name in before} == before
    assert better in sources(folder / third)


def test_a_new_version_that_nobody_edited_is_replaced_by_the_next(answered, publish, folder):
    publish(SIMILAR, *exercise("causal_mask"))
    update.update(folder)
    # The learner went on with the old file.
    better = ANSWER + "  # better"
    edit(answered, STUB, better)
    publish(SIMILAR, MORE, *exercise("causal_mask"))
    assert update.update(folder) == [f"{NEW}: replaced by the new version."]
    assert better in sources(folder / NEW)
    assert sorted(contents(folder)) == [NEW, ATTENTION]


def test_a_new_version_put_in_place_of_the_old_one_is_the_learners(answered, publish, folder):
    publish(SIMILAR, *exercise("causal_mask"))
    update.update(folder)
    (folder / NEW).replace(answered)
    assert update.update(folder) == []


# Bad input


@pytest.mark.parametrize("cut", [0, 1, 300])
def test_a_damaged_notebook_stays_and_a_fresh_lesson_lies_beside_it(publish, folder, cut):
    publish(*exercise("causal_mask"))
    update.update(folder)
    whole = (folder / ATTENTION).read_bytes()
    (folder / ATTENTION).write_bytes(whole[:cut])
    (line,) = update.update(folder)
    assert line.startswith(f"{ATTENTION}: damaged, so it stays")
    assert (folder / ATTENTION).read_bytes() == whole[:cut]
    assert (folder / NEW).read_bytes() == whole
    assert update.update(folder) == []


def test_answers_are_not_lost_behind_a_damaged_newest_version(answered, publish, folder):
    publish(SIMILAR, *exercise("causal_mask"), *exercise("target_mask"))
    update.update(folder)
    (folder / NEW).write_bytes((folder / NEW).read_bytes()[:300])
    (line,) = update.update(folder)
    assert "damaged, so it stays" in line and "with your earlier answers" in line
    fresh = folder / line.partition("answers is in ")[2].removesuffix(".")
    assert ANSWER in sources(fresh)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"cells": []}',
        '{"cells": [{}], "metadata": {}}',
        '{"cells": 3, "metadata": 4}',
        "\x00",
    ],
)
def test_json_that_is_no_notebook_is_damaged(publish, folder, text):
    publish(*exercise("causal_mask"))
    update.update(folder)
    (folder / ATTENTION).write_text(text, encoding="utf-8")
    (line,) = update.update(folder)
    assert "damaged" in line
    assert (folder / ATTENTION).read_text(encoding="utf-8") == text


def test_a_folder_with_files_of_its_own_is_refused(folder):
    folder.mkdir()
    (folder / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match=r"holds files of its own, such as thesis\.tex"):
        update.update(folder)
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]


def test_an_empty_folder_is_taken(publish, folder):
    publish(*exercise("causal_mask"))
    folder.mkdir()
    (folder / ".DS_Store").touch()
    assert update.update(folder)
    assert (folder / RECORDS).is_dir()


def test_a_file_instead_of_a_folder_is_refused(folder):
    folder.write_text("a file")
    with pytest.raises(ValueError, match="is a file"):
        update.update(folder)


def test_a_read_only_folder_is_told(publish, folder, read_only_folders):
    publish(*exercise("causal_mask"))
    folder.mkdir()
    folder.chmod(0o555)
    with pytest.raises(OSError, match="ermission"):
        update.update(folder)


def test_a_full_disk_leaves_the_old_version(publish, folder, full_disk):
    publish(*exercise("causal_mask"))
    update.update(folder)
    before = contents(folder)
    publish(*exercise("causal_mask"), SIMILAR)
    with full_disk(100), pytest.raises(OSError, match="large"):
        update.update(folder)
    assert contents(folder) == before
    assert update.update(folder) == [f"{ATTENTION}: replaced by the new version."]


# Which folder


def test_the_present_folder_is_used_if_it_is_a_workspace(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert update.workspace(None) == folder
    (folder / RECORDS).mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert update.workspace(None) == folder
    assert update.workspace(Path("other")) == folder / "other"


def test_a_workspace_may_be_moved(answered, publish, folder, tmp_path):
    shutil.move(folder, tmp_path / "elsewhere")
    publish(SIMILAR, *exercise("causal_mask"))
    update.update(tmp_path / "elsewhere")
    assert ANSWER in sources(tmp_path / "elsewhere" / NEW)
