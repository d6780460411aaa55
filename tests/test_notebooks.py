"""The notebooks are what their sources say, and the tools that make them so."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tools import notebooks, sources, stamp
from transformer_course.syllabus import LESSONS

LESSON = """\
# 99. A lesson

After it you can add. The sentence goes
on in a second line.

Another paragraph.

+++ {"tags": ["links"]}

old links

```{code-cell}
:tags: [install]

old_setup()
```
"""

lessons = pytest.mark.parametrize(
    "source", sources.lesson_sources(), ids=lambda source: source.stem
)


def write_lesson(folder: Path, *code: str, tags: str = "") -> Path:
    """Write a lesson's source whose last cells hold ``code``."""
    cells = "".join(f"\n```{{code-cell}}\n:tags: [{tags}]\n\n{cell}\n```\n" for cell in code)
    source = folder / "text" / "99_lesson.md"
    source.parent.mkdir()
    source.write_text(LESSON + cells, encoding="utf-8")
    return source


# The lessons


def test_every_notebook_has_a_source_and_a_place_in_the_syllabus():
    stems = {path.stem for path in (stamp.ROOT / "notebooks").glob("*.ipynb")}
    assert stems == {source.stem for source in sources.lesson_sources()}
    assert stems <= LESSONS.keys()


@lessons
def test_notebook_and_source_are_in_sync(source):
    assert notebooks.difference(source) == ""


@lessons
def test_stored_outputs_are_fit_to_publish(source):
    notebook = sources.read_notebook(sources.notebook_of(source))
    assert list(notebooks.complaints(notebook)) == []


@lessons
def test_measured_outputs_are_not_compared(source):
    for cell in sources.read_source(source).cells:
        tags = set(cell.metadata.get("tags", []))
        assert "measured" not in tags or "nbval-ignore-output" in tags


@lessons
def test_every_cell_was_run_in_order(source):
    cells = sources.read_notebook(sources.notebook_of(source)).cells
    counts = [cell.execution_count for cell in cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))


def test_stamps_are_in_step():
    stale = [path.name for path, text in stamp.stamped_files().items() if path.read_text() != text]
    assert stale == []


# Stamping


def test_fork_changes_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(stamp, "repository", lambda: "https://github.com/owner/name")
    notebook = sources.read_source(write_lesson(tmp_path))
    stamp.stamp_cells(notebook, "99_lesson")
    text = sources.source_text(notebook)
    assert text.count("owner/name") == 3
    assert "old" not in text
    setup = next(cell for cell in notebook.cells if "install" in cell.metadata.get("tags", []))
    assert setup.source.startswith("# @title Set-up: run me\n")
    assert setup.metadata["jupyter"]["source_hidden"]
    readme = stamp.stamped_readme("git clone https://github.com/a/b c\n")
    assert readme == "git clone https://github.com/owner/name c\n"


def test_title_and_promise_come_from_the_first_cell(tmp_path):
    notebook = sources.read_source(write_lesson(tmp_path))
    assert stamp.title_and_promise(notebook) == (
        "A lesson",
        "After it you can add. The sentence goes on in a second line.",
    )


def test_lesson_without_set_up_cell_is_refused(tmp_path):
    notebook = sources.read_source(write_lesson(tmp_path))
    del notebook.cells[2]
    with pytest.raises(ValueError, match=r"99_lesson has 0 cells tagged install"):
        stamp.stamp_cells(notebook, "99_lesson")


@pytest.mark.parametrize(
    ("pip_status", "said"),
    [
        pytest.param(0, "", marks=pytest.mark.exhaustive),
        (1, "On Kaggle, turn the internet on (Settings)"),
    ],
)
def test_set_up_cell_where_the_package_is_missing(tmp_path, pip_status, said):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/call"\nexit {pip_status}\n')
    python.chmod(0o755)
    session = (
        "import sys\n"
        "import importlib.util as util\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "find_spec = util.find_spec\n"
        "util.find_spec = lambda name: None if name == 'transformer_course' else find_spec(name)\n"
        f"sys.executable = {str(python)!r}\n"
        f"InteractiveShell.instance().run_cell({stamp.setup_cell('02_attention')!r})\n"
    )
    result = subprocess.run([sys.executable, "-c", session], capture_output=True, text=True)
    assert (tmp_path / "call").read_text() == f"-m pip install -q git+{stamp.repository()}\n"
    assert said in result.stdout
    # It goes on after pip: here the package is there all the time.
    assert result.stdout.splitlines()[-1].startswith("Ready. Attention: ")
    assert ("Not installed" in result.stdout) == bool(said)


# Building


@pytest.mark.exhaustive
def test_build_is_the_same_to_the_byte(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(tmp_path / "home"))
    code = (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
        "import altair as alt\nalt.Chart(alt.Data(values=[])).mark_point()",
        "import inspect\nprint(inspect.getsourcefile(lambda: None))",
        "from transformer_course.checker import progress\nprogress.record('lesson.exercise')",
    )
    source = write_lesson(tmp_path, *code)
    assert notebooks.build(source) == []
    first = sources.notebook_of(source).read_bytes()
    sources.notebook_of(source).unlink()
    assert notebooks.build(source) == []
    assert sources.notebook_of(source).read_bytes() == first
    assert b"image/png" in first
    assert notebooks.difference(source) == ""
    # The author's own progress is out of the kernel's reach.
    assert not (tmp_path / "home").exists()


@pytest.mark.exhaustive
def test_measured_outputs_stay_while_their_source_is_the_same(tmp_path):
    code = "import time\nprint(time.monotonic_ns())"
    source = write_lesson(tmp_path, code, tags="measured")

    def printed() -> str:
        return sources.read_notebook(sources.notebook_of(source)).cells[-1].outputs[0].text

    assert notebooks.build(source) == []
    first = printed()
    assert notebooks.build(source) == []
    assert printed() == first
    assert notebooks.build(source, measure=True) == []
    second = printed()
    assert second != first
    source.write_text(source.read_text().replace("print(", "print(2 *"), encoding="utf-8")
    assert notebooks.build(source) == []
    assert printed() != second


def output(kind: str, **content: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_output(kind, **content)


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (output("error", ename="ValueError", evalue="no"), "cell 1 ('f()') raised ValueError: no"),
        (output("stream", name="stderr", text="UserWarning"), "to stderr: UserWarning"),
        (output("stream", text="<X at 0x7f12ab34>"), "shows a memory address"),
        (
            output("execute_result", data={"text/plain": "<X at 0x7f12ab34>"}),
            "shows a memory address",
        ),
    ],
)
def test_outputs_that_are_not_published(bad, complaint):
    cell = nbformat.v4.new_code_cell("f()", outputs=[bad])
    (found,) = notebooks.complaints(nbformat.v4.new_notebook(cells=[cell]))
    assert complaint in found


def test_wanted_error_is_published():
    raised = output("error", ename="ValueError", evalue="no")
    cell = nbformat.v4.new_code_cell("f()", outputs=[raised])
    cell.metadata["tags"] = ["raises-exception"]
    assert list(notebooks.complaints(nbformat.v4.new_notebook(cells=[cell]))) == []


def test_bad_lesson_is_not_written(tmp_path, monkeypatch):
    def execute(notebook, folder):
        notebook.cells[-1].outputs = [output("stream", name="stderr", text="careful")]

    monkeypatch.setattr(notebooks, "execute", execute)
    source = write_lesson(tmp_path, "careless()")
    (complaint,) = notebooks.build(source)
    assert "careful" in complaint
    assert not sources.notebook_of(source).exists()


# In sync or not


def test_difference_does_not_depend_on_modification_times(tmp_path):
    source = write_lesson(tmp_path, "1 + 1")
    notebook = sources.read_source(source)
    sources.notebook_of(source).write_text(sources.notebook_text(notebook), encoding="utf-8")
    for newer in (source, sources.notebook_of(source)):
        os.utime(newer, (2**31, 2**31))
        source.write_text(sources.source_text(notebook), encoding="utf-8")
        assert notebooks.difference(source) == ""
        source.write_text(sources.source_text(notebook).replace("1 + 1", "1 + 2"), encoding="utf-8")
        assert "-1 + 2\n+1 + 1\n" in notebooks.difference(source)


def test_missing_notebook_is_a_difference(tmp_path):
    assert "99_lesson.ipynb is missing" in notebooks.difference(write_lesson(tmp_path))


def test_ids_depend_on_content_only(tmp_path):
    source = write_lesson(tmp_path, "1 + 1", "1 + 1")
    one, two = (sources.notebook_text(sources.read_source(source)) for _ in range(2))
    assert one == two
    ids = [cell.id for cell in nbformat.reads(one, as_version=4).cells]
    assert len(set(ids)) == len(ids) == 5
