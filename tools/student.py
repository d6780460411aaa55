"""Write the lessons for a class: without the cells that hold solutions.

``python -m tools.student FOLDER`` writes a copy of each notebook into ``FOLDER``; a copy that is
there already is written again. Everything else stays, outputs included.
"""

import argparse
from pathlib import Path

import nbformat

# Not from tools.sources, which needs jupytext: a teacher has only what `make lab` installs.
NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def student_copy(lesson: Path) -> str:
    """Return the content of a lesson's notebook without its solutions."""
    notebook = nbformat.read(lesson, as_version=4)
    notebook.cells = [c for c in notebook.cells if "solution" not in c.metadata.get("tags", [])]
    return nbformat.writes(notebook) + "\n"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the copies go")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for lesson in sorted(NOTEBOOKS.glob("*.ipynb")):
        (folder / lesson.name).write_text(student_copy(lesson), encoding="utf-8")
        print(folder / lesson.name)


if __name__ == "__main__":
    main()
