"""The file on disk, whatever somebody did to it."""

import pytest

from transformer_course.own import file
from transformer_course.own.file import HISTORY, NAME, repair, replace
from transformer_course.own.given import part_text
from transformer_course.own.sections import (
    EARLIER_USE_OF_GIVEN,
    USE_OF_GIVEN,
    parts,
    sections,
    template,
    with_section,
    yours,
)

MINE = "def softmax(scores):\n    return (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / NAME
    path.write_text(template(), encoding="utf-8")
    replace(path, with_section(template(), "softmax", MINE, "yours, 2026-11-23"))
    return path


def test_new_file_needs_no_words(tmp_path) -> None:
    assert repair(tmp_path / NAME) is None
    assert (tmp_path / NAME).read_text(encoding="utf-8") == template()


def test_good_file_is_left_alone(path) -> None:
    before = path.stat().st_mtime_ns
    assert repair(path) is None
    assert path.stat().st_mtime_ns == before


DAMAGES = {
    "cut short": lambda text: text[: len(text) // 2],
    "nonsense": lambda text: text.replace("def words", "dfe words"),
    "no part": lambda text: text.replace("sections", "").replace("# --- attention", "# attention"),
    "endless": lambda text: text + "\n\nwhile True:\n    pass\n",
    "exit": lambda text: text + "\n\nraise SystemExit\n",
    "empty": lambda text: "",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_file_that_does_not_run_is_put_aside_and_made_anew(path, damage, monkeypatch) -> None:
    monkeypatch.setattr("transformer_course.own.modules.TIME_LIMIT", 0.5)
    whole = path.read_text(encoding="utf-8")
    path.write_text(damage(whole), encoding="utf-8")
    said = repair(path)
    assert "with 1 part of yours" in said and HISTORY in said
    assert path.read_text(encoding="utf-8") == whole
    [aside] = path.parent.glob("*does not run*")
    assert aside.name in said
    assert aside.read_text(encoding="utf-8") == damage(whole)


def test_bytes_that_are_no_text_are_put_aside(path) -> None:
    path.write_bytes(b"\xff\xfe\x00")
    assert "1 part" in repair(path)
    assert yours(path.read_text(encoding="utf-8")) == ["softmax"]


def test_text_of_another_coding_is_put_aside(path) -> None:
    path.write_bytes(path.read_bytes() + "\n# café\n".encode("latin-1"))
    said = repair(path)
    assert "is not UTF-8 text" in said and "1 part of yours" in said
    assert repair(path) is None


def test_only_who_holds_the_lock_mends(path, monkeypatch) -> None:
    monkeypatch.setattr(file, "LOCK_SECONDS", 0)
    with file.locked(path):
        assert repair(path) is None
        path.write_text("dfe", encoding="utf-8")
        with pytest.raises(OSError, match="lock"):
            repair(path)
    assert path.read_text(encoding="utf-8") == "dfe"


def test_deleted_file_comes_back_from_its_history(path) -> None:
    path.unlink()
    assert "is missing" in repair(path)
    assert yours(path.read_text(encoding="utf-8")) == ["softmax"]


def test_broken_history_is_no_obstacle(path) -> None:
    for version in (path.parent / HISTORY).iterdir():
        version.write_text("dfe", encoding="utf-8")
    path.unlink()
    assert "0 parts" in repair(path)
    assert path.read_text(encoding="utf-8") == template()


def test_damaged_version_is_no_obstacle_to_the_next(path) -> None:
    newest = max((path.parent / HISTORY).iterdir())
    newest.write_bytes(b"\xff" + newest.read_bytes())
    replace(path, template())
    assert path.read_text(encoding="utf-8") == template()


def test_same_text_is_kept_once(path) -> None:
    replace(path, path.read_text(encoding="utf-8"))
    assert len(list((path.parent / HISTORY).iterdir())) == 2


def test_edits_by_hand_stay(path) -> None:
    mine = path.read_text(encoding="utf-8").replace("steps: int = 500", "steps: int = 700")
    path.write_text(mine, encoding="utf-8")
    assert repair(path) is None
    replace(path, with_section(mine, "causal_mask", "causal_mask = 1", "yours, today"))
    assert "steps: int = 700" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("new", ["build_vocabulary", "adam_update", "token_budget_batches"])
def test_part_that_the_course_has_since_today_gets_its_section(path, new) -> None:
    whole = path.read_text(encoding="utf-8").replace("steps: int = 500", "steps: int = 700")
    before = whole.replace(str(sections(whole)[new]), "")
    replace(path, before)
    assert repair(path) == f"{NAME} has a new section for {new}; everything else is as it was."
    assert path.read_text(encoding="utf-8") == whole
    assert repair(path) is None


@pytest.mark.parametrize("new", ["build_vocabulary", "adam_update", "token_budget_batches"])
def test_a_finished_file_loses_nothing_when_the_course_has_a_new_part(path, new) -> None:
    text = template()
    for name in parts():
        text = with_section(text, name, part_text(name), "yours, today")
    assert not any(line in text for line in USE_OF_GIVEN)
    replace(path, text.replace(str(sections(text)[new]), ""))
    assert repair(path) == f"{NAME} has a new section for {new}; everything else is as it was."
    assert yours(path.read_text(encoding="utf-8")) == [name for name in parts() if name != new]


def test_a_file_of_an_earlier_version_goes_on_with_all_that_is_yours(path) -> None:
    text = with_section(template(), "causal_mask", "causal_mask = 1", "yours, today")
    earlier = text.replace(USE_OF_GIVEN[1], "").replace(USE_OF_GIVEN[0], EARLIER_USE_OF_GIVEN)
    replace(path, earlier)
    assert repair(path) == f"{NAME} is up to date; everything else is as it was."
    assert yours(path.read_text(encoding="utf-8")) == ["causal_mask"]
    assert repair(path) is None


def test_parts_are_the_sections() -> None:
    assert len(parts()) == template().count("= given.")
