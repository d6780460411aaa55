"""Write the lessons for a class: without outputs, and without the cells that hold solutions.

``python -m tools.student FOLDER`` writes a copy of each notebook into ``FOLDER``; a copy that is
there already is written again.
"""

import argparse
from pathlib import Path

from transformer_course.files import write_text
from transformer_course.syllabus import lessons_folder
from transformer_course.workspace.copies import lesson_copy, notebook_text


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the copies go")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for lesson in sorted(lessons_folder().glob("*.ipynb")):
        write_text(folder / lesson.name, notebook_text(lesson_copy(lesson, solutions=False)))
        print(folder / lesson.name)


if __name__ == "__main__":
    main()
