"""How a right answer gets into the file, and why another one does not."""

from pathlib import Path

import pytest
import torch

from tests.own.notebooks import Notebook
from transformer_course.exercises import catalogues
from transformer_course.own import join as joining
from transformer_course.own.file import HISTORY, locked
from transformer_course.own.join import join
from transformer_course.own.sections import parts, sections, template, yours

CAUSAL = "def causal_mask(length):\n    return torch.ones(length, length).tril().bool()"
SOFTMAX = "def softmax(scores):\n    return (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()"


def joined(notebook: Notebook, name: str) -> str | None:
    exercise = catalogues()[parts()[name]][name]
    return join(exercise, notebook[name], notebook["own"])


def file_of(notebook: Notebook) -> Path:
    return Path(notebook["own"].__file__)


def test_right_answer_becomes_a_part(notebook) -> None:
    notebook.run(CAUSAL)
    said = joined(notebook, "causal_mask")
    assert said == (
        f"`causal_mask` is in your translator: 1 of {len(parts())} parts are yours. There "
        "`target_mask` calls it."
    )
    section = sections(file_of(notebook).read_text(encoding="utf-8"))["causal_mask"]
    assert section.is_yours and section.body.strip() == CAUSAL
    assert notebook["own"].causal_mask.__globals__ is vars(notebook["own"])


def test_given_parts_call_what_is_yours(notebook) -> None:
    own = notebook["own"]
    notebook.run(SOFTMAX)
    joined(notebook, "softmax")
    own.softmax = lambda scores: scores * 0 + 7
    _, weights = own.scaled_dot_product_attention(*(torch.ones(2, 3) for _ in range(3)))
    assert (weights == 7).all()


def test_better_answer_takes_the_place_of_the_first(notebook) -> None:
    for cell in (CAUSAL, CAUSAL.replace(".tril().bool()", ".tril() > 0")):
        notebook.run(cell)
        assert "1 of" in joined(notebook, "causal_mask")
    text = file_of(notebook).read_text(encoding="utf-8")
    assert "tril() > 0" in text and "tril().bool()" not in text
    versions = sorted((file_of(notebook).parent / HISTORY).iterdir())
    assert [yours(each.read_text(encoding="utf-8")) for each in versions] == [
        [],
        ["causal_mask"],
        ["causal_mask"],
    ]


@pytest.mark.parametrize("header", ["# --- my first try ---", "# --- attention: padding_mask ---"])
def test_line_like_a_header_stays_out_of_the_file(notebook, header) -> None:
    for cell in (CAUSAL, CAUSAL.replace(".tril().bool()", ".tril() > 0")):
        notebook.run(f"{header}\n# Look back.\n{cell}")
        assert "1 of" in joined(notebook, "causal_mask")
    text = file_of(notebook).read_text(encoding="utf-8")
    assert header not in text and text.count("def causal_mask") == 1 and "# Look back." in text
    assert sections(text).keys() == parts().keys()


def test_line_like_a_header_in_the_answer_is_refused(notebook) -> None:
    before = file_of(notebook).read_bytes()
    notebook.run(CAUSAL.replace("    return", "# --- below the diagonal ---\n    return"))
    assert "write that line another way" in joined(notebook, "causal_mask")
    assert file_of(notebook).read_bytes() == before


def test_exercise_that_is_no_part_says_nothing(notebook) -> None:
    exercise = catalogues()["positional_encoding"]["shift_matrix"]
    assert join(exercise, exercise.task.answer, notebook["own"]) is None


def refused(notebook: Notebook, name: str) -> str:
    before = file_of(notebook).read_text(encoding="utf-8")
    part = getattr(notebook["own"], name)
    said = joined(notebook, name)
    assert said.startswith("It is not in your translator: ")
    assert file_of(notebook).read_text(encoding="utf-8") == before
    assert getattr(notebook["own"], name) is part
    return said


def test_a_file_that_became_unreadable_is_said(notebook) -> None:
    notebook.run(SOFTMAX)
    path = file_of(notebook)
    path.write_bytes(path.read_bytes() + "# é".encode("latin-1"))
    assert joined(notebook, "softmax").endswith(f"so it is not a {path.name}.")


def test_answer_that_uses_its_notebook_is_refused(notebook) -> None:
    notebook.run("seen = []")
    notebook.run(CAUSAL.replace("return", "seen.append(length)\n    return"))
    assert "it uses `seen` from your notebook: move it into the cell" in refused(
        notebook, "causal_mask"
    )


def test_answer_that_fails_in_the_file_is_refused(notebook) -> None:
    notebook.run("ready = True")
    notebook.run(CAUSAL.replace("return", "if globals().get('ready'):\n        return"))
    assert "in your file it is not right any more" in refused(notebook, "causal_mask")


def test_answer_that_changes_settings_is_refused(notebook) -> None:
    notebook.run(
        "def causal_mask(length):\n"
        "    torch.manual_seed(7)\n"
        "    return torch.ones(length, length).tril().bool()"
    )
    assert "it changes torch's settings or random numbers" in refused(notebook, "causal_mask")


def test_answer_that_breaks_the_whole_is_refused(notebook) -> None:
    notebook.run(
        "def causal_mask(length):\n"
        "    answer = torch.ones(length, length).tril().bool()\n"
        "    return answer.fill_(True) if length == 5 else answer"
    )
    assert "the whole translator computes something else" in refused(notebook, "causal_mask")


def test_answer_that_ends_alone_and_never_in_the_whole_is_refused(notebook, monkeypatch) -> None:
    monkeypatch.setattr("transformer_course.own.whole.CHECK_LIMIT", 0.5)
    notebook.run(
        "def causal_mask(length):\n"
        "    while length == 5:\n        pass\n"
        "    return torch.ones(length, length).tril().bool()"
    )
    assert "they do not end within" in refused(notebook, "causal_mask")


def test_two_helpers_of_one_name_are_refused(notebook) -> None:
    notebook.run("def helper(x):\n    return x.tril().bool()")
    notebook.run(
        CAUSAL.replace(
            "torch.ones(length, length).tril().bool()", "helper(torch.ones(length, length))"
        )
    )
    joined(notebook, "causal_mask")
    notebook.run("def helper(x):\n    return x.softmax(dim=-1)")
    notebook.run("def softmax(scores):\n    return helper(scores)")
    said = refused(notebook, "softmax")
    assert "`helper` is something else in your `causal_mask`" in said


def test_slow_answer_joins_with_a_word(notebook, monkeypatch) -> None:
    monkeypatch.setattr(joining.whole, "slowness", lambda tried: 31.4)
    notebook.run(CAUSAL)
    assert "A training step takes 31 times as long with it." in joined(notebook, "causal_mask")


def test_read_only_folder_is_said(notebook, read_only_folders) -> None:
    notebook.run(CAUSAL)
    folder = file_of(notebook).parent
    folder.chmod(0o500)
    try:
        assert "cannot be written" in refused(notebook, "causal_mask")
    finally:
        folder.chmod(0o700)


def test_full_disk_is_said_and_nothing_is_lost(notebook, full_disk) -> None:
    notebook.run(CAUSAL)
    with full_disk(1000):
        assert "cannot be written" in refused(notebook, "causal_mask")


def test_another_notebook_writes_at_the_same_time(notebook, monkeypatch) -> None:
    monkeypatch.setattr("transformer_course.own.file.LOCK_SECONDS", 0.1)
    notebook.run(CAUSAL)
    with locked(file_of(notebook)):
        assert "cannot be written" in refused(notebook, "causal_mask")
    assert "is in your translator" in joined(notebook, "causal_mask")


def test_what_another_notebook_wrote_stays(notebook) -> None:
    other = Notebook(notebook["own"])
    path = file_of(notebook)
    notebook.run(CAUSAL)
    joined(notebook, "causal_mask")
    stale = template()
    other.run(SOFTMAX)
    assert stale != path.read_text(encoding="utf-8")
    joined(other, "softmax")
    assert yours(path.read_text(encoding="utf-8")) == ["softmax", "causal_mask"]


def test_section_cut_out_by_hand_is_said(notebook) -> None:
    path = file_of(notebook)
    section = str(sections(template())["causal_mask"])
    path.write_text(template().replace(section, ""), encoding="utf-8")
    notebook.run(CAUSAL)
    assert "has no section for `causal_mask`" in refused(notebook, "causal_mask")
