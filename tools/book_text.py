"""What pages of the book say and what stands elsewhere: in the lessons, catalogues and settings.

A page of ``book/`` names it as ``{{ name }}``; the names are the keys of ``TEXTS``.
"""

import re
from collections.abc import Iterator, Sequence

from tools import front_page
from tools import measured as results
from tools.live_translator import live_translator, mirrors
from tools.sources import lesson_sources, read_source
from tools.stamp import repository, title_and_promise
from transformer_course import plots
from transformer_course.exercises import catalogues

PLACEHOLDER = re.compile(r"\{\{ (\w+) \}\}")
TIME = re.compile(r"^\*Time: (.*?)[.,] ", re.MULTILINE)
QUESTIONS = "## Questions\n"


def filled(text: str) -> str:
    """Return a page's text with every placeholder replaced.

    Raises
    ------
    KeyError
        If a page asks for something that is not in ``TEXTS``.
    """
    return PLACEHOLDER.sub(lambda match: TEXTS[match[1]](), text)


def course_map() -> str:
    """Return the map of the model as HTML; its parts lead to the pages of the lessons."""
    return plots.course_map(lambda lesson: f"../notebooks/{lesson}.html").html


def lessons() -> str:
    """Return the lessons as a Markdown definition list of links and promises."""
    entries = []
    for source in lesson_sources():
        _, promise = title_and_promise(read_source(source))
        entries.append(f"{_link(source.stem)}\n: {promise}\n")
    return "\n".join(entries)


def questions() -> str:
    """Return the questions of all lessons with their folded answers, lesson by lesson."""
    sections = []
    for source in lesson_sources():
        cells = read_source(source).cells
        title = cells[0].source.partition("\n")[0]
        asked = next(cell.source for cell in cells if cell.source.startswith(QUESTIONS))
        # Its first paragraph says what to do; the page says that once for all.
        _, _, text = asked.removeprefix(QUESTIONS).strip().partition("\n\n")
        sections.append(f"#{title}\n\nThe lesson: {_link(source.stem)}\n\n{text}")
    return "\n\n".join(sections)


def measured() -> str:
    """Return a table of what was measured, by which command and when."""
    return _table(results.HEAD, results.rows())


def recipes() -> str:
    """Return a table of what single changes of a recipe gave."""
    return _table(results.RECIPES_HEAD, results.recipes())


def timing() -> str:
    """Return a table of the lessons: time, exercises, and mistakes that the checks know."""
    known = catalogues()
    rows = []
    for source in lesson_sources():
        exercises = known[source.stem.partition("_")[2]].values()
        time = TIME.search(read_source(source).cells[0].source)[1]
        mistakes = sum(len(exercise.mistakes) for exercise in exercises)
        rows.append((_link(source.stem), time, len(exercises), mistakes))
    return _table(("lesson", "time", "exercises", "known mistakes"), rows)


def mistakes() -> str:
    """Return, folded, a table of the mistakes that the checks of each lesson know by name."""
    parts = []
    for lesson, exercises in _in_order(catalogues()):
        rows = [
            (f"`{name}`", len(exercise.mistakes), "; ".join(m.name for m in exercise.mistakes))
            for name, exercise in exercises.items()
        ]
        table = _table(("exercise", "number", "mistakes"), rows)
        parts.append(f"<details><summary>{lesson}</summary>\n\n{table}\n\n</details>")
    return "\n\n".join(parts)


def _in_order(by_lesson: dict) -> Iterator[tuple[str, dict]]:
    for source in lesson_sources():
        title, _ = title_and_promise(read_source(source))
        yield title, by_lesson[source.stem.partition("_")[2]]


def _link(lesson: str) -> str:
    return f"[](../notebooks/{lesson}.ipynb)"


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


TEXTS = {
    "repository": repository,
    "begin": front_page.begin,
    "answer_and_card": front_page.answer_and_card,
    "way": front_page.way,
    "course_map": course_map,
    "lessons": lessons,
    "questions": questions,
    "measured": measured,
    "recipes": recipes,
    "timing": timing,
    "mistakes": mistakes,
    "live_translator": live_translator,
    "mirrors": mirrors,
}
