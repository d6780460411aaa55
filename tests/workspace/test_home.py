"""The home page: what is next, how far, and what of the translator is the learner's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.sources import ROOT
from transformer_course.checker import progress
from transformer_course.own import sections
from transformer_course.own.location import NAME
from transformer_course.workspace import home, update
from transformer_course.workspace.outline import standing as standing_of
from transformer_course.workspace.outline import standings


@pytest.fixture
def workspace(folder: Path) -> Path:
    update.update(folder)
    return folder


def page(workspace: Path, *yours: str) -> str:
    return home.page(workspace, list(standings()), yours)


def test_it_says_what_is_next_and_how_much_is_yours(workspace):
    progress.record("start_here.softmax")
    text = page(workspace, "softmax", "FeedForward")
    assert "**Next:** [Positional encoding](01_positional_encoding.ipynb), exercise 1, " in text
    assert "You have solved 1 of " in text
    assert f"and 2 of the {len(sections.parts())} parts" in text


def test_everything_solved(workspace):
    for standing in standings():
        while (following := standing_of(standing.lesson).next) is not None:
            progress.record(f"{standing.lesson.partition('_')[2]}.{following.name}")
    assert "You have solved everything" in page(workspace)
    assert "minutes" not in page(workspace)


def test_every_link_leads_to_a_file_of_the_workspace(workspace):
    (workspace / NAME).touch()
    links = re.findall(r'href="([^"]+)"|\]\(([^)]+)\)', page(workspace))
    assert len(links) > 20
    for html, markdown in links:
        assert (workspace / (html or markdown)).exists()


def test_links_lead_to_the_newest_version_of_a_lesson(workspace):
    (workspace / "02_attention (new).ipynb").touch()
    assert 'href="02_attention%20%28new%29.ipynb"' in page(workspace)
    assert "02_attention.ipynb" not in page(workspace)


def test_it_is_written_with_the_learners_file_by_a_process_of_its_own(workspace, progress_home):
    command = [sys.executable, "-m", home.__name__]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=workspace, env=environment, check=True)
    assert (workspace / home.PAGE).read_text(encoding="utf-8") == page(workspace)
    assert (workspace / NAME).read_text(encoding="utf-8") == sections.template()
