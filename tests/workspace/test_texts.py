"""AGENTS.md and CLAUDE.md in the learner's folder: laid, kept up to date, never over an edit."""

import re
import subprocess

import pytest

from tools.sources import ROOT
from transformer_course.cli import program
from transformer_course.tutor.command import check, how_far
from transformer_course.tutor.places import places
from transformer_course.workspace import texts

NAMES = ["AGENTS.md", "CLAUDE.md"]


@pytest.fixture
def laid(folder):
    folder.mkdir()
    assert list(texts.update_texts(folder)) == [f"{name}: laid out." for name in NAMES]
    return folder


@pytest.fixture
def new_version(monkeypatch):
    newer = {stem: f"{text}\nA line more.\n" for stem, text in texts.texts().items()}
    monkeypatch.setattr(texts, "texts", lambda: newer)


def contents(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def test_what_is_up_to_date_stays(laid):
    before = contents(laid)
    assert list(before) == NAMES
    assert list(texts.update_texts(laid)) == []
    assert contents(laid) == before


def test_what_nobody_edited_is_replaced(laid, new_version):
    said = list(texts.update_texts(laid))
    assert said == [f"{name}: replaced by the new version." for name in NAMES]
    assert all("A line more." in text for text in contents(laid).values())
    assert list(texts.update_texts(laid)) == []


def test_line_ends_of_another_system_are_no_edit(laid, new_version):
    path = laid / "AGENTS.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert next(texts.update_texts(laid)) == "AGENTS.md: replaced by the new version."


@pytest.mark.parametrize(
    "edited",
    [
        lambda text: text.replace("tutor", "teacher", 1),
        lambda text: texts.STAMP.sub("\n", text.replace("tutor", "teacher", 1)),
        lambda text: "Mine alone.\n",
        lambda text: "",
    ],
    ids=["a word", "a word and the stamp", "another text", "emptied"],
)
def test_what_is_edited_stays_and_the_new_version_lies_beside_it_once(laid, new_version, edited):
    path = laid / "AGENTS.md"
    path.write_text(edited(path.read_text(encoding="utf-8")), encoding="utf-8")
    mine = path.read_text(encoding="utf-8")
    (laid / "CLAUDE.md").write_text("@AGENTS.md\nAnd answer in French.\n", encoding="utf-8")
    said = list(texts.update_texts(laid))
    assert said == [
        f"{stem}.md: yours, so it stays; the new version is {stem} (new).md."
        for stem in ("AGENTS", "CLAUDE")
    ]
    assert path.read_text(encoding="utf-8") == mine
    assert "A line more." in (laid / "AGENTS (new).md").read_text(encoding="utf-8")
    assert list(texts.update_texts(laid)) == []


def test_an_edited_text_of_this_version_has_nothing_newer(laid):
    path = laid / "AGENTS.md"
    path.write_text(f"Answer in French.\n\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    assert list(texts.update_texts(laid)) == []


def test_what_is_removed_is_laid_out_again(laid):
    (laid / "CLAUDE.md").unlink()
    assert list(texts.update_texts(laid)) == ["CLAUDE.md: laid out."]


def test_claude_is_pointed_to_the_rules(laid):
    first, *rest = contents(laid)["CLAUDE.md"].split("\n")
    assert first == "@AGENTS.md"
    assert "".join(rest).startswith("<!--")


# What the rules say is so


def test_rules_are_short_enough_to_be_read():
    assert len(texts.RULES.read_text(encoding="utf-8").splitlines()) <= 120


def test_no_folder_of_the_course_itself_holds_rules_for_learners():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    assert not re.findall(r"^(?:.*/)?(?:AGENTS|CLAUDE)\.md$", tracked, re.MULTILINE)


def test_command_of_the_rules_runs_from_any_folder(tmp_path):
    said = subprocess.run(
        f"{texts.command()} --version", shell=True, cwd=tmp_path, capture_output=True, text=True
    )
    assert (said.returncode, said.stderr) == (0, "")


def test_every_command_of_the_rules_can_be_given():
    rules = texts.texts()["AGENTS"]
    given = re.findall(r"^    transformer-course (\w+.*?)(?:    .*)?$", rules, re.MULTILINE)
    given += re.findall(r"`transformer-course (\w+[^`]*)`", rules)
    assert {line.split()[0] for line in given} == {"check", "progress", "doctor"}
    for line in given:
        program._parsed(line.split())


def test_every_key_of_the_table_is_printed(tmp_path):
    table = re.findall(r"^\| (`.*?) \|", texts.texts()["AGENTS"], re.MULTILINE)
    keys = {key for row in table for key in re.findall(r"`(\w+)`", row)}
    form = check(tmp_path / "nowhere.py", "causal_mask")
    assert keys <= form.keys()
    # Sizes and names that need no word.
    assert form.keys() - keys == {"form", "exercise", "title", "next_rung", "hints_in_all"}


def test_places_that_the_rules_name_are_there():
    rules = texts.texts()["AGENTS"]
    headings = {place.exercise.heading for place in places()}
    named = [each.replace("`", "") for each in re.findall(r"`### (Exercise .*?)`,", rules)]
    assert named and set(named) <= headings
    assert "next" in how_far()
