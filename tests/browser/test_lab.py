"""JupyterLab: a chart that moves, an exercise answered wrongly and rightly, the map's links."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.jupyterlab import IS_IN_FRONT, KERNEL_IS_READY, learners_lab
from tools.sources import ROOT
from transformer_course.checker.feedback import Verdict
from transformer_course.exercises.positional_encoding import sinusoidal_encoding
from transformer_course.syllabus import LESSONS
from transformer_course.workspace.copies import lesson_copy
from transformer_course.workspace.home import PAGE
from transformer_course.workspace.update import DEFAULT

LESSON = "01_positional_encoding.ipynb"
SECONDS_TO_START = 60
PATIENCE = 30_000  # milliseconds for a check
EXERCISE = sinusoidal_encoding
MISTAKE = next(mistake.name for mistake in EXERCISE.mistakes if "swapped" in mistake.name)
WRONG_ANSWER = """
def sinusoidal_encoding(length, d_model):
    angle = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angle.cos(), angle.sin()], dim=-1).flatten(1)
"""

EXECUTION_COUNTS = """() =>
    [...jupyterapp.shell.currentWidget.content.model.cells]
    .filter(cell => cell.type === "code").map(cell => cell.executionCount)"""


def wait_for(page: Path) -> None:
    """Wait for the home page, which a process of its own writes while JupyterLab starts."""
    deadline = time.monotonic() + SECONDS_TO_START
    while not page.exists():
        assert time.monotonic() < deadline, f"no {page.name} within {SECONDS_TO_START} s"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start JupyterLab as a learner does; return the address of lesson 1."""
    home = tmp_path_factory.mktemp("lab")
    with learners_lab(home, home) as (address, token):
        wait_for(home / DEFAULT / PAGE)
        yield f"{address}lab/tree/{LESSON}{token}"


class Lesson:
    """Lesson 1, open in JupyterLab."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.cells = lesson_copy(ROOT / "notebooks" / LESSON)["cells"]

    def run_all(self) -> None:
        """Run every cell, and wait for the last one."""
        self.page.wait_for_function(KERNEL_IS_READY)
        self.page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")

    def cell(self, number: int) -> Locator:
        """Return a cell of the page, counted from 0 as in the file."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    def stub(self, exercise: str) -> Locator:
        """Return the cell where the learner answers an exercise."""
        numbers = (n for n, cell in enumerate(self.cells) if is_stub(cell["metadata"], exercise))
        return self.cell(next(numbers))

    def check(self, exercise: str) -> Locator:
        """Return the cell that checks an exercise."""
        call = f"{exercise}.check("
        numbers = (n for n, cell in enumerate(self.cells) if call in "".join(cell["source"]))
        return self.cell(next(numbers))

    def answer(self, exercise: str, code: str) -> Locator:
        """Type an answer over the stub, run it and its check; return the check's output."""
        self.stub(exercise).locator(".cm-content").click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(code)
        self.page.keyboard.press("Shift+Enter")
        check = self.check(exercise)
        check.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        return check.locator(".jp-OutputArea-output")


def is_stub(metadata: dict[str, Any], exercise: str) -> bool:
    """Say whether a cell with this metadata is the stub of an exercise."""
    return metadata.get("exercise") == exercise and "exercise" in metadata["tags"]


@pytest.fixture(scope="module")
def lesson(browser: Browser, lab: str) -> Iterator[Lesson]:
    """Open lesson 1 and run all its cells."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.goto(lab)
        opened = Lesson(page)
        opened.run_all()
        yield opened


def test_every_cell_runs_without_an_error(lesson: Lesson) -> None:
    counts = lesson.page.evaluate(EXECUTION_COUNTS)
    assert counts == list(range(1, len(counts) + 1))
    assert lesson.page.locator("[data-mime-type='application/vnd.jupyter.error']").count() == 0


def test_a_slider_changes_its_chart(lesson: Lesson) -> None:
    chart = lesson.page.locator(".vega-embed:has(input[type=range])").first
    canvas = chart.locator("canvas").element_handle()
    before = canvas.evaluate("canvas => canvas.toDataURL()")
    chart.locator("input[type=range]").press("End")
    changed = "([canvas, before]) => canvas.toDataURL() !== before"
    lesson.page.wait_for_function(changed, arg=[canvas, before])


def test_a_wrong_answer_is_recognised_and_a_right_one_accepted(lesson: Lesson) -> None:
    feedback = lesson.answer(EXERCISE.name, WRONG_ANSWER)
    expect(feedback).to_contain_text(MISTAKE, ignore_case=True, timeout=PATIENCE)
    feedback = lesson.answer(EXERCISE.name, EXERCISE.solution().code)
    praise = f"{Verdict.RIGHT.value}: {EXERCISE.name}"
    expect(feedback).to_contain_text(praise, timeout=PATIENCE)


def test_a_link_leads_from_the_set_up_to_the_next_exercise(lesson: Lesson) -> None:
    link = lesson.page.locator(".jp-OutputArea a[href^='#Exercise']").first
    heading = lesson.page.locator(f"h3:has-text('{link.text_content().split()[-1]}')")
    link.click()
    expect(heading).to_be_in_viewport()


@pytest.mark.exhaustive
def test_a_check_before_the_set_up_says_so(browser: Browser, lab: str) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        other = "04_feed_forward.ipynb"
        page.goto(lab.replace(LESSON, other))
        page.wait_for_function(IS_IN_FRONT, arg=other, timeout=PATIENCE)
        page.wait_for_function(KERNEL_IS_READY, timeout=PATIENCE)
        # Lessons that were open before stay open, behind this one.
        in_front = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        check = in_front.locator(".jp-CodeCell:has-text('.check(')").first
        check.locator(".cm-content").press("Shift+Enter")
        expect(check).to_contain_text("Run the cells above first", timeout=PATIENCE)


@pytest.mark.exhaustive
def test_the_map_of_the_home_page_opens_a_lesson_by_keyboard(browser: Browser, lab: str) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(lab.replace(LESSON, PAGE))
        link = page.locator(f"figure.course-map a:has-text('{LESSONS[Path(LESSON).stem]}')").first
        # Until JupyterLab has taken over, a link leads to the file itself.
        expect(link).to_have_attribute("href", re.compile("/files/"), timeout=PATIENCE)
        link.press("Enter")
        tab = page.locator(f".lm-TabBar-tabLabel:has-text('{LESSON}')")
        expect(tab).to_be_visible(timeout=PATIENCE)
