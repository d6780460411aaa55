"""The home page of a workspace: the map with what is the learner's, what is next, how far they are.

It is Markdown, because JupyterLab shows that with links that open lessons and without a kernel.
"""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from transformer_course.files import write_text
from transformer_course.own import file, sections
from transformer_course.own.location import NAME
from transformer_course.plots.course_map import Address, course_map
from transformer_course.workspace.outline import Standing, standings
from transformer_course.workspace.update import series

PAGE = "Home.md"
SOLVED, UNSOLVED = "\u25cf", "\u25cb"


def write(folder: Path) -> None:
    """Write the home page of a workspace, and ``my_transformer.py`` where it is not there yet.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    own = folder / NAME
    if note := file.mended(own):
        print(note)
    write_text(folder / PAGE, page(folder, list(standings()), file.yours(own)))


def page(folder: Path, lessons: Sequence[Standing], yours: Sequence[str]) -> str:
    """Return the page's text.

    Parameters
    ----------
    lessons
        How far the learner is in each lesson.
    yours
        The parts of ``my_transformer.py`` that the learner wrote.
    """

    def address(lesson: str) -> str:
        present = series(folder, lesson)
        return quote(present[-1].name if present else f"{lesson}.ipynb")

    solved, total = sum(each.solved for each in lessons), sum(each.total for each in lessons)
    unsolved = [each for each in lessons if each.next]
    if unsolved:
        first = unsolved[0]
        exercise = _link(first, address)
        up_next = f"**Next:** {first.title}, {exercise}, {first.next.minutes} minutes."
    else:
        up_next = "**You have solved everything.** Train it, and give somebody a translator."
    counts = (
        f"You have solved {solved} of {total} exercises, and {len(yours)} of the "
        f"{len(sections.parts())} parts of [{NAME}]({NAME}) are yours."
    )
    rows = "\n".join(_row(each, address) for each in lessons)
    return f"""# Your Transformer

{up_next}

{counts}

{course_map(address, yours).html}

| | Lesson | Solved | Next |
|---:|:---|:---|:---|
{rows}

*The course writes this page anew at each start and in each lesson's first cell.*
"""


def _link(lesson: Standing, address: Address) -> str:
    """Link to the next exercise of a lesson."""
    return f"[{lesson.next.title}]({address(lesson.lesson)}#{quote(lesson.next.anchor)})"


def _row(lesson: Standing, address: Address) -> str:
    number = int(lesson.lesson.partition("_")[0])
    title = f"[{lesson.title}]({address(lesson.lesson)})"
    marks = SOLVED * lesson.solved + UNSOLVED * (lesson.total - lesson.solved)
    up_next = f"{_link(lesson, address)}, {lesson.next.minutes} minutes" if lesson.next else "done"
    return f"| {number} | {title} | {marks} | {up_next} |"


if __name__ == "__main__":
    write(Path.cwd())
