"""The home page of a workspace: the map with what is the learner's, what is next, how far they are.

It is Markdown, because JupyterLab shows that with links that open lessons and without a kernel.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from transformer_course.cases import journal
from transformer_course.cases.catalogue import Case
from transformer_course.files import write_text
from transformer_course.own import file, sections
from transformer_course.own.location import NAME
from transformer_course.plots.course_map import Address, course_map
from transformer_course.workspace.outline import Standing, standings
from transformer_course.workspace.series import series

PAGE = "Home.md"
CASES = "12_when_it_does_not_work"
SOLVED, UNSOLVED = "\u25cf", "\u25cb"


def write(folder: Path) -> None:
    """Write the home page of a workspace, and ``my_transformer.py`` where it is not there yet.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    own = folder / NAME
    if note := file.repair(own):
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
    rows = "".join(_row(each, address(each.lesson)) for each in lessons)
    return f"""# Your Transformer

{_next(lessons, address)}

You have solved {solved} of {total} exercises, and {len(yours)} of the {len(sections.parts())} parts
of [{NAME}]({NAME}) are yours.

{course_map(address, yours).html}

<table style="margin:14px">
{_cells("th", "", "Lesson", "Solved", "Next")}{rows}</table>

{_cases(journal.standings(), address)}

*The course rewrites this page at each start and in the first cell of each lesson. Close and open it
to see what is new.*
"""


def _next(lessons: Sequence[Standing], address: Address) -> str:
    """Say what to do next."""
    first = next((each for each in lessons if each.next), None)
    if first is None:
        return "**You have solved everything.** Train it, and give somebody a translator."
    link = f"[{first.title}]({address(first.lesson)})"
    return f"**Next:** {link}, {first.next.title}, {first.next.minutes} minutes."


def _row(lesson: Standing, address: str) -> str:
    """Return a lesson's row; the link opens the lesson at its top, where it is run from."""
    marks = SOLVED * lesson.solved + UNSOLVED * (lesson.total - lesson.solved)
    up_next = f"{lesson.next.title}, {lesson.next.minutes} minutes" if lesson.next else "done"
    number = str(int(lesson.lesson.partition("_")[0]))
    link = f'<a href="{address}">{escape(lesson.title)}</a>'
    return _cells("td", number, link, marks, up_next)


def _cases(standings: Sequence[tuple[Case, int, bool]], address: Address) -> str:
    """Return the scoreboard of the broken translators: a row for each level."""
    levels = sorted({case.level for case, _, _ in standings})
    rows = ""
    for level in levels:
        here = [each for each in standings if each[0].level == level]
        done = [(case.par, spent) for case, spent, solved in here if solved]
        marks = SOLVED * len(done) + UNSOLVED * (len(here) - len(done))
        par, spent = (str(sum(numbers)) for numbers in zip(*done, strict=True)) if done else "  "
        rows += _cells("td", str(level), marks, spent, par)
    heading = _cells("th", "Level", "Mended", "Experiments", "Par")
    return f"""Translators that you mended in [lesson 12]({address(CASES)}):

<table style="margin:14px">
{heading}{rows}</table>"""


def _cells(tag: str, *cells: str) -> str:
    row = "".join(f'<{tag} style="text-align:left">{cell}</{tag}>' for cell in cells)
    return f"<tr>{row}</tr>\n"


if __name__ == "__main__":
    write(Path.cwd())
