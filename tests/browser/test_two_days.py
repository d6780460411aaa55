"""A learner's two days in a real browser: from an empty folder to a translator that is theirs.

Answers are typed into the stubs key by key, two wrong ones first; overnight the course is updated.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.jupyterlab import IS_IN_FRONT, KERNEL_IS_READY, learners_lab
from tools.sources import ROOT
from transformer_course.own.file import yours
from transformer_course.own.location import NAME
from transformer_course.own.sections import parts
from transformer_course.syllabus import LESSONS
from transformer_course.workspace import laid, update
from transformer_course.workspace.copies import notebook_text
from transformer_course.workspace.home import PAGE

PATIENCE = 120_000  # milliseconds for a cell
# Void, because a widget cannot be sent out of the page.
OPEN = "name => void jupyterapp.commands.execute('docmanager:open', { path: name })"
IS_SAVED = "() => !jupyterapp.shell.currentWidget.context.model.dirty"
IN_FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell"
ADD_A_CELL = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook-footer"

START, ATTENTION, HEADS, FEED_FORWARD, LAYERS, TRAINING = (
    list(LESSONS)[number] for number in (0, 2, 3, 4, 5, 7)
)
# The lines that are typed in place of each `...` of a stub.
NOT_DIVIDED = ["return scores.exp()"]
OVERFLOWS = ["shares = scores.exp()", "return shares / shares.sum(dim=-1, keepdim=True)"]
SOFTMAX = [
    "shares = (scores - scores.amax(dim=-1, keepdim=True)).exp()",
    "return shares / shares.sum(dim=-1, keepdim=True)",
]
ANSWERS = {
    "causal_mask": (ATTENTION, [["return torch.ones(length, length).tril() == 1"]]),
    "split_heads": (
        HEADS,
        [["pieces = x.unflatten(-1, (heads, -1))", "return pieces.transpose(1, 2)"]],
    ),
    "FeedForward": (
        FEED_FORWARD,
        [
            ["self.expand = nn.Linear(d_model, d_ff)", "self.contract = nn.Linear(d_ff, d_model)"],
            ["return self.contract(self.expand(x).clamp(min=0))"],
        ],
    ),
    "add_norm": (
        LAYERS,
        [["return x + sublayer(norm(x)) if norm_first else norm(x + sublayer(x))"]],
    ),
}
FIVE = ["softmax", *ANSWERS]
MOVED, RENAMED, REMOVED, NEW_NAME = "causal_mask", "split_heads", "add_norm", "cut_into_heads"

TRAIN_AND_TRANSLATE = """\
from transformer_course import translation
pairs = [(p.source, p.target) for p in translation.toy_corpus().split("train")[:500]]
mine = own.Translator.from_pairs(pairs, d_model=32)
trainer = own.Trainer(mine, pairs, pairs[:5], steps=20, look_every=10)
trainer.train()
print(trainer.step, "steps;", len(trainer.history), "looks;", "said:", mine.translate(["the cat"]))
"""


def git(folder: Path, *arguments: str) -> str:
    """Run git in a checkout, and return what it says."""
    somebody = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    command = ["git", *somebody, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout of the course, as `git clone` makes it."""
    folder = tmp_path / "transformer-course"
    passing = shutil.ignore_patterns("__pycache__", "text")
    for name in ("transformer_course", "notebooks"):
        shutil.copytree(ROOT / name, folder / name, ignore=passing)
    shutil.copy(ROOT / ".gitignore", folder)
    git(folder, "init")
    commit(folder)
    return folder


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "-m", "A version of the course")


# A newer version


def publish_a_newer_version(checkout: Path) -> None:
    """Move an exercise, rename one and remove one, as `git pull` would bring it."""
    with changed(checkout, ATTENTION) as cells:
        cells += taken_out(cells, MOVED)
    with changed(checkout, HEADS) as cells:
        for cell in cells:
            if is_about(cell, RENAMED):
                rename(cell)
    with changed(checkout, LAYERS) as cells:
        taken_out(cells, REMOVED)
    table = checkout / "transformer_course" / "workspace" / "update.py"
    text = table.read_text(encoding="utf-8")
    empty = "RENAMED: dict[str, str] = {}"
    assert empty in text
    renamed = {RENAMED: NEW_NAME}
    table.write_text(text.replace(empty, f"RENAMED = {renamed}"), encoding="utf-8")
    commit(checkout)


@contextmanager
def changed(checkout: Path, lesson: str) -> Iterator[list[dict[str, Any]]]:
    """Give the cells of a published lesson, and write them back."""
    path = checkout / "notebooks" / f"{lesson}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    yield notebook["cells"]
    path.write_text(notebook_text(notebook), encoding="utf-8")


def is_about(cell: dict[str, Any], exercise: str) -> bool:
    """Say whether a cell is the heading, the stub or the check of an exercise."""
    signs = (rf"^### Exercise \d+: `{exercise}`", rf"^exercise\.{exercise}\.check\(")
    is_named = cell["metadata"].get("exercise") == exercise
    return is_named or any(re.search(sign, laid.source(cell), re.MULTILINE) for sign in signs)


def taken_out(cells: list[dict[str, Any]], exercise: str) -> list[dict[str, Any]]:
    """Take what is about an exercise out of a lesson, and return it."""
    found = [cell for cell in cells if is_about(cell, exercise)]
    cells[:] = [cell for cell in cells if cell not in found]
    return found


def rename(cell: dict[str, Any]) -> None:
    """Give the learner's function its new name; what checks it keeps the old one."""
    cell["source"] = re.sub(rf"(?<!exercise\.)\b{RENAMED}\b", NEW_NAME, laid.source(cell))
    if "exercise" in cell["metadata"]:
        cell["metadata"]["exercise"] = NEW_NAME


# The learner


class Learner:
    """Somebody at the keyboard, with a lesson open in JupyterLab."""

    def __init__(self, page: Page, folder: Path, address: str, token: str) -> None:
        self.page = page
        self.folder = folder
        self.address = address
        self.token = token

    def come(self) -> None:
        """Open what the course opens."""
        self.page.goto(f"{self.address}{self.token}")
        self.page.wait_for_function(KERNEL_IS_READY)

    def open(self, name: str) -> None:
        """Open a file, as from the list of files."""
        self.page.evaluate(OPEN, name)
        self.page.wait_for_function(IS_IN_FRONT, arg=name)

    def is_in(self) -> str:
        """Return the name of the notebook in front."""
        return self.page.evaluate("jupyterapp.shell.currentWidget.title.label")

    def cells(self) -> list[dict[str, Any]]:
        """Return the cells of the notebook in front, as they are saved."""
        return laid.read(self.folder / self.is_in())["cells"]

    def set_up(self) -> Locator:
        """Run the two cells that set a lesson up; return the first one."""
        self.page.wait_for_function(KERNEL_IS_READY)
        install, setup = (self.where("tags", tag) for tag in ("install", "setup"))
        for cell in (install, setup):
            self.run(cell)
        return install

    def where(self, key: str, value: str) -> Locator:
        """Return the first cell with something in its metadata."""
        found = (n for n, c in enumerate(self.cells()) if value in c["metadata"].get(key, ""))
        return self.page.locator(IN_FRONT).nth(next(found))

    def stub(self, exercise: str) -> Locator:
        """Return the cell where an exercise is answered."""
        return self.where("exercise", exercise)

    def check(self, exercise: str) -> Locator:
        """Return the cell that checks an exercise."""
        call = f"exercise.{exercise}.check("
        found = (n for n, c in enumerate(self.cells()) if laid.source(c).startswith(call))
        return self.page.locator(IN_FRONT).nth(next(found))

    def run(self, cell: Locator) -> None:
        """Click into a cell, or on the line that a folded one shows, and press Shift+Enter."""
        cell.locator(".cm-content, .jp-Placeholder-content").first.click()
        self.page.keyboard.press("Shift+Enter")

    def fill(self, exercise: str, answer: list[list[str]]) -> None:
        """Type lines in place of each `...` of a stub."""
        stub = self.stub(exercise)
        for lines in answer:
            stub.locator(".cm-line:has-text('...')").first.click()
            self.page.keyboard.press("Home")
            self.page.keyboard.press("Shift+End")
            self.type(lines)

    def mend(self, exercise: str, lines: list[str]) -> None:
        """Type the body of a function anew."""
        self.stub(exercise).locator(".cm-line").nth(1).click()
        self.page.keyboard.press("Home")
        self.page.keyboard.press("Control+Shift+End")
        self.type(lines)

    def type(self, lines: list[str]) -> None:
        """Type lines, which JupyterLab indents."""
        for number, line in enumerate(lines):
            if number:
                self.page.keyboard.press("Enter")
            self.page.keyboard.type(line, delay=5)

    def asks(self, exercise: str, words: str) -> None:
        """Run the cell where the cursor is, then the check, and read these words."""
        self.page.keyboard.press("Shift+Enter")
        self.page.keyboard.press("Shift+Enter")
        self.reads(self.check(exercise), words)

    def reads(self, cell: Locator, words: str) -> None:
        """Wait until a cell shows these words."""
        output = cell.locator(".jp-OutputArea-output")
        expect(output.filter(has_text=words).first).to_be_visible(timeout=PATIENCE)

    def save(self) -> None:
        """Press Ctrl+S, as at the end of a day."""
        self.page.keyboard.press("Control+s")
        self.page.wait_for_function(IS_SAVED)


@contextmanager
def a_day(browser: Browser, checkout: Path) -> Iterator[Learner]:
    """Start the course, and end it in the evening."""
    home = checkout.parent / "home"
    home.mkdir(exist_ok=True)
    variables = {"PYTHONPATH": str(checkout)}
    with (
        learners_lab(home, checkout, **variables) as (address, token),
        browser.new_context(viewport={"width": 1280, "height": 900}) as context,
    ):
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        learner = Learner(page, checkout / update.DEFAULT, address, token)
        learner.come()
        yield learner


def joined(name: str, count: int) -> str:
    return f"{name} is in your translator: {count} of {len(parts())} parts are yours."


def first_lesson(learner: Learner) -> None:
    """Answer wrongly, wrongly in another way, and rightly."""
    assert learner.is_in() == f"{START}.ipynb"
    learner.set_up()
    learner.fill("softmax", [NOT_DIVIDED])
    learner.asks("softmax", "the division is missing")
    learner.mend("softmax", OVERFLOWS)
    learner.asks("softmax", "nothing is subtracted before exp")
    learner.mend("softmax", SOFTMAX)
    learner.asks("softmax", joined("softmax", 1))
    learner.save()


def four_more(learner: Learner) -> None:
    """Answer one exercise in each of four lessons."""
    for count, (name, (lesson, answer)) in enumerate(ANSWERS.items(), start=2):
        learner.open(f"{lesson}.ipynb")
        learner.set_up()
        learner.fill(name, answer)
        learner.asks(name, joined(name, count))
        learner.save()


def opens_where_they_left(learner: Learner) -> None:
    """Find the last lesson open, and read how far they are."""
    assert learner.is_in() == f"{LAYERS}.ipynb"
    learner.reads(learner.set_up(), f"{LESSONS[LAYERS]}: 1 of 5 solved; next: exercise 1")
    learner.save()


def finds_the_answers_in_the_new_version(learner: Learner, log: str) -> None:
    """Read what happened to three lessons, and check the renamed answer again."""
    for lesson in (ATTENTION, HEADS, LAYERS):
        assert f"{lesson}.ipynb: yours, so it stays; the new version" in log
    assert learner.is_in() == f"{LAYERS} (new).ipynb"
    cells = learner.page.locator(IN_FRONT)
    kept, answer = cells.nth(-2), cells.nth(-1)
    expect(kept).to_contain_text("From an earlier version", timeout=PATIENCE)
    expect(answer).to_contain_text(ANSWERS[REMOVED][1][0][0], timeout=PATIENCE)
    learner.open(f"{ATTENTION} (new).ipynb")
    answer = learner.stub(MOVED)
    expect(answer).to_contain_text(ANSWERS[MOVED][1][0][0], timeout=PATIENCE)
    learner.open(f"{HEADS} (new).ipynb")
    learner.set_up()
    learner.run(learner.stub(NEW_NAME))
    learner.page.keyboard.press("Shift+Enter")
    learner.reads(learner.check(RENAMED), joined(RENAMED, len(FIVE)))


def sees_five_parts_at_home(learner: Learner) -> None:
    """Look at the home page."""
    learner.open(PAGE)
    page = learner.page.locator(".jp-MarkdownViewer")
    expect(page).to_contain_text(f"{len(FIVE)} of the {len(parts())} parts", timeout=PATIENCE)
    lit = page.locator("figure.course-map div:has(> a)", has_text="yours")
    for part in ("Softmax", "Masked self-attention", "Feed-forward", "Add and layer norm"):
        expect(lit.filter(has_text=part).first).to_be_visible()


def trains_and_translates(learner: Learner) -> None:
    """Train what the file holds for a few steps in lesson 7."""
    learner.open(f"{TRAINING}.ipynb")
    learner.set_up()
    learner.page.locator(ADD_A_CELL).click()
    cells = learner.page.locator(IN_FRONT)
    new = cells.nth(cells.count() - 1)  # not `last`: JupyterLab adds one below when it is run
    new.locator(".cm-content").click()
    learner.page.keyboard.insert_text(TRAIN_AND_TRANSLATE)
    learner.page.keyboard.press("Shift+Enter")
    learner.reads(new, "20 steps; 2 looks; said: ['")
    learner.save()


@pytest.mark.exhaustive
@pytest.mark.timeout(1200)
def test_two_days_from_an_empty_folder_to_an_own_translator(
    browser: Browser, checkout: Path
) -> None:
    workspace, log = checkout / update.DEFAULT, checkout.parent / "home" / "lab.log"
    with a_day(browser, checkout) as learner:
        first_lesson(learner)
        four_more(learner)
    assert yours(workspace / NAME) == FIVE
    with a_day(browser, checkout) as learner:
        opens_where_they_left(learner)
    publish_a_newer_version(checkout)
    before = {path: path.read_bytes() for path in workspace.glob("0?_*.ipynb")}
    with a_day(browser, checkout) as learner:
        assert {path: path.read_bytes() for path in before} == before
        finds_the_answers_in_the_new_version(learner, log.read_text(encoding="utf-8"))
        sees_five_parts_at_home(learner)
        trains_and_translates(learner)
    assert yours(workspace / NAME) == FIVE
    assert git(checkout, "status", "--porcelain") == ""
