"""The forms that programs read, and which rung is open after which tries."""

import json
import re

import pytest

from tools.sources import ROOT
from transformer_course.checker import progress
from transformer_course.exercises import attention, catalogues
from transformer_course.own.modules import module_of
from transformer_course.tutor import command
from transformer_course.tutor.places import place_of, places
from transformer_course.tutor.texts import STANDARD_INPUT

CHECK_KEYS = [
    "form",
    "exercise",
    "lesson",
    "title",
    "section",
    "verdict",
    "message",
    "mistakes",
    "evidence",
    "tries",
    "hints",
    "hints_in_all",
    "next_rung",
    "gaps",
    "solution",
]
"""Written down, because programs of others read them."""
MISTAKE_KEYS = ["name", "observed", "change"]
EVIDENCE_KEYS = ["call", "place", "wanted", "got"]
PROGRESS_KEYS = ["form", "solved", "of", "next", "lessons"]
STANDING_KEYS = ["exercise", "section", "minutes", "solved", "tries"]

WRONG = [
    f"def causal_mask(length):\n    return {each}\n"
    for each in (
        "torch.ones(length, length).triu().bool()",
        "torch.ones(length, length, dtype=torch.bool).tril(-1)",
        "torch.ones(length, length, dtype=torch.bool).tril(1)",
        "torch.ones(length, length, dtype=torch.bool)",
        "torch.zeros(length, length, dtype=torch.bool)",
    )
]
RIGHT = "def causal_mask(length):\n    return torch.ones(length, length).tril().bool()\n"

pytestmark = pytest.mark.usefixtures("in_this_process")


def check(path, name="causal_mask"):
    said = command.check(path, name)
    assert json.loads(command.to_json(said)) == said
    assert list(said) == CHECK_KEYS
    return said


def test_forms_have_the_keys_that_are_written_down(file, tmp_path):
    assert command.FORM == 1  # another number where a key goes or changes its meaning
    wrong = check(file(WRONG[0]))
    assert [list(each) for each in wrong["mistakes"]] == [MISTAKE_KEYS]
    assert list(wrong["evidence"]) == EVIDENCE_KEYS
    assert wrong["lesson"] == "02_attention" and wrong["title"] == "Attention"
    assert wrong["section"] == "Exercise 3: causal_mask"
    check(file(RIGHT)), check(tmp_path / "nowhere.py"), check(file(RIGHT), "nothing_like_it")
    far = command.how_far()
    assert list(far) == PROGRESS_KEYS
    assert list(far["next"]) == [*STANDING_KEYS, "lesson"]
    assert {tuple(lesson) for lesson in far["lessons"]} == {("lesson", "title", "exercises")}
    assert all(list(e) == STANDING_KEYS for each in far["lessons"] for e in each["exercises"])


def test_the_books_page_lists_exactly_these_keys():
    page = (ROOT / "book" / "assistants.md").read_text(encoding="utf-8")
    _, one, far = page.split("\n## For programs")
    assert keys_of_rows(one) == CHECK_KEYS
    assert keys_of_rows(far) == PROGRESS_KEYS
    said = " ".join(one.split())
    assert f"Each mistake has {listed(MISTAKE_KEYS)}" in without_brackets(said)
    assert f"The evidence has {listed(EVIDENCE_KEYS)}" in without_brackets(said)
    assert f"Each exercise has {listed(STANDING_KEYS)}" in without_brackets(" ".join(far.split()))
    assert f"`form` | {command.FORM}" in one
    for verdict, status in command.STATUS.items():
        assert f"`{verdict}`" in one and f"{status} if" in one


def keys_of_rows(text):
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return [key for cell in cells for key in re.findall(r"`(\w+)`", cell)]


def without_brackets(text):
    return re.sub(r" \([^)]*\)", "", text)


def listed(keys):
    *first, last = (f"`{key}`" for key in keys)
    return f"{', '.join(first)} and {last}"


def test_each_different_wrong_answer_opens_a_rung(file):
    hints = attention.causal_mask.task.hints
    seen = [check(file(text)) for text in WRONG]
    assert [each["tries"] for each in seen] == [1, 2, 3, 4, 5]
    assert [each["hints"] for each in seen] == [list(hints[:n]) for n in (1, 2, 3, 3, 3)]
    assert all(each["mistakes"] for each in seen[:3])
    opened = [bool(m["change"]) for each in seen for m in each["mistakes"]]
    assert opened == [False, False] + [True] * (len(opened) - 2)
    assert [bool(each["gaps"]) for each in seen] == [False, False, False, True, True]
    assert [bool(each["solution"]) for each in seen] == [False] * 4 + [True]
    assert seen[-1]["gaps"]["code"].count("[1]") == 1
    assert any(choice["says"] == "Right." for choice in seen[-1]["gaps"]["gaps"][0])


def test_the_same_answer_twice_is_one_try(file):
    first = check(file(WRONG[0]))
    spaced = WRONG[0].replace("    return", "\n    # Look again.\n    return")
    assert check(file(f"import torch\n{spaced}")) == first
    renamed = WRONG[0].replace("length", "n")
    assert check(file(renamed))["tries"] == 2


def test_a_helper_that_was_changed_is_another_answer(file):
    text = (
        "def size(n):\n    return {}\ndef causal_mask(length):\n    return torch.ones(size(length))"
    )
    assert check(file(text.format("n")))["tries"] == 1
    assert check(file(text.format("n + 1")))["tries"] == 2


def test_tries_in_the_notebook_count_and_are_counted_once(file):
    for number, text in enumerate(WRONG[:2], start=1):
        cell = module_of(f"import torch\n{text}", "cell", f"<cell {number}>")
        attention.causal_mask.check(cell.causal_mask)
        assert progress.tries() == {"attention.causal_mask": number}
    assert check(file(WRONG[1]))["tries"] == 2
    assert check(file(WRONG[2]))["tries"] == 3


def test_stubs_and_what_is_no_function_are_no_tries(file):
    assert check(file("def causal_mask(length):\n    ..."))["hints"] == []
    attention.causal_mask.check("causal_mask")
    attention.causal_mask.judge(lambda length: length)
    assert progress.tries() == {}


def test_a_right_answer_is_noted_and_may_be_compared(file):
    check(file(WRONG[0]))
    right = check(file(RIGHT))
    assert right["verdict"] == "right" and right["evidence"] is None
    assert right["solution"] == attention.causal_mask.solution().code
    assert right["gaps"] is None and right["next_rung"] == ""
    assert "attention.causal_mask" in progress.solved()


def test_where_nothing_can_be_saved_the_first_hint_is_open_all_the_same(file, monkeypatch):
    monkeypatch.setattr(progress, "_append", lambda *_: (_ for _ in ()).throw(OSError))
    said = check(file(WRONG[0]))
    assert (said["tries"], len(said["hints"])) == (1, 1)
    assert check(file(RIGHT))["message"].endswith(progress.NOT_SAVED)


def test_progress_says_what_is_solved_and_what_is_next(file):
    far = command.how_far()
    assert (far["solved"], far["of"]) == (0, len(places()))
    assert far["next"]["exercise"] == "softmax" and far["next"]["lesson"] == "00_start_here"
    check(file(WRONG[0]))
    progress.record("start_here.softmax")
    far = command.how_far()
    assert far["solved"] == 1 and far["next"]["lesson"] == "01_positional_encoding"
    standings = {e["exercise"]: e for each in far["lessons"] for e in each["exercises"]}
    assert standings["softmax"]["solved"] == progress.solved()["start_here.softmax"]
    assert standings["causal_mask"]["tries"] == 1
    words = command.progress_in_words(far)
    assert "00_start_here: 1 of 1 solved" in words
    assert ". causal_mask  (1 try)" in words
    for place in places():
        progress.record(place.key)
    assert command.how_far()["next"] is None
    assert command.progress_in_words(command.how_far()).endswith(f"{len(places())} solved.")


def test_words_say_what_is_open_and_nothing_else(file):
    said = [check(file(text)) for text in WRONG]
    words = [command.in_words(each) for each in said]
    assert words[0].startswith("causal_mask: wrong (Attention, exercise 3)")
    assert words[0].endswith("1 different try so far; the next one opens hint 2.")
    assert "What to change" not in words[1] and "What to change" in words[2]
    assert "With gaps:" not in words[2] and "With gaps:" in words[3]
    assert "A solution:" not in words[3] and words[4].endswith(said[4]["solution"].splitlines()[-1])
    right = command.in_words(check(file(RIGHT)))
    assert "Well done" in right and "A solution:" not in right


def test_every_exercise_has_its_place():
    named = [(place.folder, place.exercise.name) for place in places()]
    in_catalogues = [(lesson, name) for lesson, each in catalogues().items() for name in each]
    assert sorted(named) == sorted(in_catalogues)
    assert len({name for _, name in named}) == len(named)  # a name alone is enough


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("casual_mask", "did you mean causal_mask"),
        ("MultiheadAttention", "did you mean MultiHeadAttention"),
        ("multi_head_attention", "did you mean MultiHeadAttention"),
        ("layers.causal_mask", "did you mean causal_mask"),
        ("zzzzzz", "`transformer-course progress` lists all"),
    ],
)
def test_unknown_names_come_with_those_that_are_near(name, meant, tmp_path):
    said = check(tmp_path / "nowhere.py", name)
    assert said["verdict"] == "not judged"
    assert f"there is no exercise {name!r}; {meant}" in said["message"]


def test_a_name_may_be_given_with_its_lesson():
    assert place_of("attention.causal_mask") == place_of("causal_mask")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.ipynb", b"{", "is not a notebook, or a damaged one: open it in JupyterLab"),
        ("a.ipynb", b"def causal_mask(n): pass", "is not a notebook"),
        ("a.ipynb", b'{"cells": 3}', "is not a notebook"),
        ("a.ipynb", b'{"cells": []}', "does not define `causal_mask`"),
        ("a.py", WRONG[0].encode("utf-16"), "is not UTF-8 text: save it again as UTF-8"),
    ],
)
def test_files_that_cannot_be_read_are_said_in_a_sentence(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    said = check(path)
    assert said["verdict"] == "not judged" and words in said["message"]
    assert "\n" not in said["message"]


def test_folders_and_missing_files_are_said_in_a_sentence(tmp_path):
    assert f"is not there: name a file in {tmp_path.cwd()}" in check(tmp_path / "a.py")["message"]
    assert "is a folder: name a .py file" in check(tmp_path)["message"]


def test_a_byte_order_mark_is_no_part_of_an_answer(tmp_path):
    (tmp_path / "a.py").write_bytes(b"\xef\xbb\xbf" + WRONG[0].encode())
    assert check(tmp_path / "a.py")["mistakes"]


def test_standard_input_takes_code_and_notebooks(monkeypatch, notebook):
    for data in (WRONG[0].encode(), notebook({"causal_mask": WRONG[0]}).read_bytes()):
        monkeypatch.setattr("sys.stdin", type("Stream", (), {"buffer": _Bytes(data)}))
        said = check(STANDARD_INPUT)
        assert (said["verdict"], said["tries"]) == ("wrong", 1)
    monkeypatch.setattr("sys.stdin", type("Stream", (), {"buffer": _Bytes(b"{'a': 1}")}))
    assert "standard input does not define" in check(STANDARD_INPUT)["message"]


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self) -> bytes:
        return self._data
