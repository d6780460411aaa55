"""The lessons let nobody read for long: words of prose between two things to do, and on the way."""

from itertools import pairwise

import pytest

from tools.rhythm import TASKS, rhythm
from tools.sources import lesson_sources, notebook_of, read_notebook, read_source

STRETCH, CODE_STRETCH, FIRST_CODE = 500, 1200, 700
WAY_TO_A_TRANSLATOR = 20_000  # lessons 0 to 7 together
WAY_BEHIND = 3_500  # each lesson after them
LESSONS = lesson_sources()


def to_a_translator(source):
    return source.stem < "08"


@pytest.mark.parametrize("source", LESSONS, ids=lambda source: source.stem)
def test_nobody_reads_for_long(source):
    lesson = rhythm(source)
    assert lesson.stretch <= STRETCH
    assert lesson.code_stretch <= CODE_STRETCH
    assert lesson.first_code <= FIRST_CODE
    assert to_a_translator(source) or lesson.way <= WAY_BEHIND


def test_the_way_is_short():
    ways = [rhythm(source) for source in lesson_sources() if to_a_translator(source)]
    assert sum(lesson.way for lesson in ways) <= WAY_TO_A_TRANSLATOR
    assert sum(lesson.exercises for lesson in ways) >= 25


@pytest.mark.parametrize("source", LESSONS, ids=lambda source: source.stem)
def test_predictions_are_answered_by_a_run_alone(source):
    """Behind a prediction comes the cell that tests it, and nothing that tells its outcome."""
    cells = [(cell, cell.metadata.get("tags", [])) for cell in read_source(source).cells]
    code = [tags for cell, tags in cells if cell.cell_type == "code"]
    for (cell, tags), (following, tags_there) in pairwise(cells):
        if "predict" in tags:
            assert "predict(" in cell.source and "..." in cell.source
            assert {"outcome", "nbval-ignore-output"} <= set(tags_there), cell.source
            assert "turned_out(" in following.source
    last = [tags for cell, tags in cells if cell.source == "predictions()"]
    assert last == [["outcome", "nbval-ignore-output"]]  # it lists the outcomes, too
    assert sum("predict" in tags for tags in code) == sum("outcome" in tags for tags in code) - 1
    for cell in read_notebook(notebook_of(source)).cells:
        if "outcome" in cell.metadata.get("tags", []):
            assert not cell.outputs
            assert "\nassert " not in cell.source or cell.metadata["jupyter"]["source_hidden"]


def test_words_are_counted(tmp_path):
    path = tmp_path / "lesson.md"
    path.write_text(
        "# A title\n\nOne [link](https://there.is/one), `code` and $x^2$.\n\n| a | table |\n\n"
        "<details><summary>Answer</summary>\n\nIt is folded.\n\n</details>\n\n"
        "```{code-cell}\n:tags: [exercise]\n\nnot = prose\n```\n\n"
        "Two words.\n\n## Questions\n\nWhy?\n\n## Further\n\nAnd more.\n\n## References\n\n- One\n",
        encoding="utf-8",
    )
    lesson = rhythm(path)
    assert (lesson.first_code, lesson.stretch, lesson.exercises, lesson.tasks) == (8, 8, 1, 1)
    assert (lesson.way, lesson.further) == (8 + 2 + 2, 1 + 2)


def test_each_task_is_known():
    known = TASKS | {"solution", "setup", "install", "links", "measured", "outcome"}
    known |= {"nbval-ignore-output", "raises-exception", "hide-input", "remove-cell"}
    for source in lesson_sources():
        for cell in read_source(source).cells:
            assert set(cell.metadata.get("tags", [])) <= known
