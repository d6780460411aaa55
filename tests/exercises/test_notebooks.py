"""Each published solution, put into its notebook in place of the stub, satisfies the notebook.

A stub is the cell tagged ``exercise`` whose metadata names the exercise; its check is the cell
that calls ``exercise.<name>.check(``. Beside them, only the cells tagged ``install`` and ``setup``
are run.
"""

import ast
import os
from pathlib import Path

import nbclient
import nbformat
import pytest
from nbformat.v4 import new_notebook

from transformer_course.exercises import catalogues

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CATALOGUES = catalogues()
SAMPLE = ("attention",)  # a kernel for each lesson takes minutes
each_lesson = pytest.mark.parametrize("lesson", CATALOGUES)
each_exercise = pytest.mark.parametrize(
    ("lesson", "name"),
    [(lesson, name) for lesson, exercises in CATALOGUES.items() for name in exercises],
)


def read(lesson):
    (path,) = NOTEBOOKS.glob(f"[0-9][0-9]_{lesson}.ipynb")
    return nbformat.read(path, as_version=4)


def tagged(notebook, tag):
    return [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]


def stubs(notebook):
    return {cell.metadata["exercise"]: cell for cell in tagged(notebook, "exercise")}


def check_cell(notebook, name):
    (cell,) = (
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and f"exercise.{name}.check({name})" in cell.source
    )
    return cell


def plain_text(cell):
    (output,) = (output for output in cell.outputs if "data" in output)
    return output["data"]["text/plain"]


def run(cells):
    notebook = new_notebook(cells=[cell.copy() for cell in cells])
    client = nbclient.NotebookClient(
        notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": NOTEBOOKS}}
    )
    return client.execute(env={**os.environ, "OMP_NUM_THREADS": "1"}).cells


def prepared(notebook):
    """Return the cells that come before all exercises."""
    return tagged(notebook, "install") + tagged(notebook, "setup")


def test_every_notebook_with_exercises_has_a_catalogue():
    for path in NOTEBOOKS.glob("*.ipynb"):
        if stubs(nbformat.read(path, as_version=4)):
            assert path.stem[3:] in CATALOGUES


@each_lesson
def test_notebook_and_catalogue_hold_the_same_exercises(lesson):
    """In the same order, so that a catalogue reads like its lesson."""
    assert list(stubs(read(lesson))) == list(CATALOGUES[lesson])


@each_exercise
def test_stub_has_the_names_of_the_solution(lesson, name):
    def names(source):
        (definition,) = ast.parse(source).body
        functions = [n for n in ast.walk(definition) if isinstance(n, ast.FunctionDef)]
        methods = {f.name: [a.arg for a in f.args.args] for f in functions}
        return definition.name, methods

    stub_name, stub = names(stubs(read(lesson))[name].source)
    solution_name, solution = names(CATALOGUES[lesson][name].solution().code)
    assert stub_name == solution_name == name
    assert stub == {function: solution[function] for function in stub}


@each_lesson
def test_untouched_stubs_get_a_neutral_note(lesson):
    notebook = read(lesson)
    for name in CATALOGUES[lesson]:
        assert plain_text(check_cell(notebook, name)).startswith(f"Not attempted: {name}\n")


@pytest.mark.parametrize(
    "lesson",
    [
        lesson if lesson in SAMPLE else pytest.param(lesson, marks=pytest.mark.exhaustive)
        for lesson in CATALOGUES
    ],
)
def test_published_solutions_pass_the_notebooks_own_checks(lesson):
    notebook = read(lesson)
    cells = prepared(notebook)
    assert len(cells) > 1
    for name, stub in stubs(notebook).items():
        solved = stub.copy()
        solved.source = CATALOGUES[lesson][name].solution().code
        cells += [solved, check_cell(notebook, name)]
    executed = run(cells)
    said = [plain_text(cell) for cell in executed if ".check(" in cell.source]
    assert [words.splitlines()[0] for words in said] == [
        f"Right: {name}" for name in CATALOGUES[lesson]
    ]


@pytest.mark.exhaustive
def test_a_kernel_survives_bad_answers():
    """It keeps the source of its cells, so that a line can be quoted, and it has signals."""
    notebook = read("positional_encoding")
    answers = {
        "wavelengths": "def wavelengths(d_model):\n    size = d_model // 0\n    return size",
        "shift_matrix": "def shift_matrix(offset, d_model):\n    while True:\n        pass",
    }
    cells = prepared(notebook)
    for name, answer in answers.items():
        stub = stubs(notebook)[name].copy()
        stub.source = answer
        cells += [stub, check_cell(notebook, name)]
    crash, loop = (plain_text(cell) for cell in run(cells) if ".check(" in cell.source)
    assert "It stopped with ZeroDivisionError" in crash
    assert "Your line 2:\n    size = d_model // 0" in crash
    assert "It did not end within 5 seconds" in loop
    assert "Your line 2:\n    while True:" in loop or "Your line 3:\n    pass" in loop
