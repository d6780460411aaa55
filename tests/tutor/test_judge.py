"""A file's answer judged: as its check in the notebook judges it."""

import json

import pytest

from transformer_course.exercises import catalogues
from transformer_course.own.sections import sections, template, with_section
from transformer_course.tutor import judge
from transformer_course.tutor.command import _request
from transformer_course.tutor.places import place_of, places
from transformer_course.tutor.texts import NotJudgedError

WRONG = "def causal_mask(length):\n    return torch.ones(length, length).triu().bool()\n"
RIGHT = WRONG.replace("triu", "tril")


def judged(path, name="causal_mask"):
    return judge.judged(_request(path, place_of(name)))


def verdict(path, name="causal_mask"):
    return judged(path, name)["feedback"]["verdict"]


@pytest.mark.parametrize("place", places(), ids=str)
def test_model_answers_are_right_in_the_notebook_and_stubs_not_attempted(notebook, place):
    exercise = catalogues()[place.folder][place.exercise.name]
    assert verdict(notebook({}, place.lesson), exercise.name) == "not attempted"
    path = notebook({exercise.name: exercise.solution().code}, place.lesson)
    assert verdict(path, exercise.name) == "right"


def test_a_file_needs_no_imports_that_the_lesson_has(file):
    assert verdict(file(RIGHT)) == "right"
    assert verdict(file(f"import torch\n\n{RIGHT}\nwhile True:\n    pass\n")) == "right"


def test_file_and_notebook_are_told_the_same(file, notebook):
    one = judged(file(WRONG))
    other = judged(notebook({"causal_mask": WRONG}))
    assert one == other
    direct = catalogues()["attention"]["causal_mask"]
    assert one["feedback"]["mistakes"]
    assert set(one["feedback"]["mistakes"]) <= {mistake.name for mistake in direct.mistakes}


def test_a_class_that_its_cell_completes_is_judged_complete(file):
    answer = catalogues()["feed_forward"]["FeedForward"].solution().code
    head, forward = answer.split("    def forward")
    later = f"def forward{forward}".replace("\n    ", "\n")
    text = f"{head}\n\n{later}\n\nFeedForward.forward = forward\n"
    assert verdict(file(text), "FeedForward") == "right"


def test_a_module_beside_the_file_is_found(file):
    file("def below(square):\n    return square.tril()\n", "looking_back.py")
    text = RIGHT.replace("torch.ones(length, length).tril()", "below(torch.ones(length, length))")
    assert verdict(file(f"from looking_back import below\n\n{text}")) == "right"


def test_a_section_copied_into_a_file_is_an_answer(file):
    header = str(sections(template())["causal_mask"]).partition("\n")[0]
    assert verdict(file(f"import torch\n\n{header}\n{RIGHT}")) == "right"


def test_a_file_that_is_nested_too_deeply_is_no_notebook(file):
    with pytest.raises(NotJudgedError, match="damaged"):
        judged(file("[" * 200_000, "answer.ipynb"))


def test_what_has_to_be_opened_is_not_in_the_message(file):
    found = judged(file(WRONG))
    said = found["feedback"]["message"]
    assert found["records"][found["feedback"]["mistakes"][0]]["observed"] in said
    hidden = [each["change"] for each in found["records"].values()] + found["hints"]
    assert len(hidden) == 4
    assert not [words for words in hidden if words in said]
    assert "hint()" not in said


def test_evidence_is_a_case_with_what_is_wanted_and_what_came(file):
    assert judged(file(WRONG))["feedback"]["evidence"] == {
        "call": "causal_mask(length=3)",
        "place": "Result",
        "wanted": "1 0 0\n1 1 0\n1 1 1",
        "got": "1 1! 1!\n0! 1 1!\n0! 0! 1",
    }


@pytest.mark.parametrize(
    ("body", "got"),
    [
        ("return length", "3 (int)"),
        ("return torch.ones(length)", "tensor of shape [3], float32: [1., 1., 1.]"),
        ("return nowhere", "It stopped with NameError: name 'nowhere' is not defined"),
        ("pass; size = 3", "None"),
    ],
)
def test_evidence_of_other_kinds(file, body, got):
    found = judged(file(f"def causal_mask(length):\n    {body}"))["feedback"]
    assert found["verdict"] == "wrong"
    assert found["evidence"]["got"] == got
    assert found["evidence"]["wanted"].startswith("tensor of shape [3, 3], bool")


def test_evidence_is_the_case_that_the_message_speaks_of(file):
    body = "return (query @ key.T).softmax(-1) @ value"
    path = file(f"def scaled_dot_product_attention(query, key, value, mask=None):\n    {body}")
    found = judged(path, "scaled_dot_product_attention")["feedback"]
    first, _, case, *_ = found["message"].splitlines()
    assert first == found["evidence"]["got"]
    assert found["evidence"]["call"].startswith(case.strip())


def test_right_values_in_a_wrong_form_have_words_and_no_evidence(file):
    kept = "def causal_mask(length):\n    return torch.ones(length, length).tril().cpu().bool()[:]"
    assert verdict(file(kept)) == "right"
    text = "def padding_mask(ids, pad=0):\n    return (ids != pad)[:, None, None, :]"
    other = file(text.replace("pad=0", "pad, more"))
    found = judged(other, "padding_mask")["feedback"]
    assert found["evidence"] is None
    assert "must accept `(ids, pad)`" in found["message"].replace("pad_id", "pad")


def test_own_file_is_judged_by_its_sections(file):
    given = file(template(), "my_transformer.py")
    found = judged(given)["feedback"]
    assert found["verdict"] == "not attempted"
    assert "still the course's" in found["message"]
    yours = with_section(template(), "causal_mask", WRONG, "yours, 2026-11-28")
    assert verdict(file(yours, "my_transformer.py")) == "wrong"


def test_notebooks_build_on_the_learners_file_beside_them(file, notebook):
    text = with_section(template(), "softmax", "softmax = 5", "yours, 2026-11-28")
    file(text, "my_transformer.py")
    uses = "def causal_mask(length):\n    return own.softmax"
    path = notebook({"causal_mask": uses})
    assert judged(path)["feedback"]["evidence"]["got"] == "5 (int)"
    file(text.replace("softmax = 5", "softmax = "), "my_transformer.py")
    assert "5 (int)" not in str(judged(path))  # it does not run: the course's parts


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "does not define `causal_mask`: its stub is in 02_attention.ipynb, Exercise 3"),
        (
            "def casual_mask(n):\n    pass",
            "defines `casual_mask` and no `causal_mask`: give it that",
        ),
        ("def causal_mask(length:\n    pass", "is not valid Python (line 1: '(' was never closed)"),
        ("def causal_mask(length):\n    return \0", "is not valid Python (source code"),
        ("size = f()\ndef causal_mask(n=size):\n    pass", "NameError: name 'f' is not defined"),
        ("def causal_mask(n: Nowhere):\n    pass", "`causal_mask` cannot be made: NameError"),
        ("def f():\n    raise SystemExit\ncausal_mask = f()", "ends Python before"),
        ("import os\nnone = os._exit(0)\ncausal_mask = none", "ends Python before"),
        ("def f():\n    while True:\n        pass\ncausal_mask = f()", "does not end within"),
    ],
)
def test_what_cannot_be_judged_is_said_in_a_sentence(file, text, said, monkeypatch):
    monkeypatch.setattr(judge, "TIME_LIMIT", 1.0)
    problem = judged(file(text))["problem"]
    assert said in problem
    assert "\n" not in problem and problem.endswith(".")


def test_endless_and_ending_answers_are_wrong_answers(file, monkeypatch):
    monkeypatch.setattr("transformer_course.checker.sandbox.TIME_LIMIT", 1.0)
    for body in ("while True: pass", "import os; os._exit(3)"):
        path = file(f"def causal_mask(length):\n    {body}")
        assert verdict(path) == "wrong"


def test_everything_found_is_json(file):
    json.dumps(judged(file(WRONG)))
