"""The command that says what is wrong with a model in anybody's file."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from transformer_course.own.location import NAME
from transformer_course.own.sections import template

Fails = Callable[..., str]
MODEL = """
from torch import nn
from transformer_course.examine import Subject

class Echo(nn.Module):
    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(12, 8), nn.Embedding(12, 8)
        self.output = nn.Linear(8, 12)

    def forward(self, source, target):
        return self.output(self.target(target) + self.source(source).mean(1, keepdim=True))

def make():
    return Subject(Echo(), source_vocab=12, target_vocab=12, pad=0, bos=1, eos=2)
"""


def written(folder: Path, text: str, name: str = "model.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_faulty_model_ends_with_1(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, MODEL)
    status, output, error = run("examine", f"{path}:make", "--seconds", 20)
    assert (status, error) == (1, "")
    assert output.startswith(f"Faulty: {path}:make\n")
    assert "Padding behind a source" in output or "padding behind a source" in output


def test_model_that_was_not_examined_in_time_ends_with_2(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, template(), NAME)
    status, output, _ = run("examine", path, "--seconds", 0.01)
    assert status == 2
    assert output.startswith(f"Incomplete: {path}\n")


def test_json_is_all_that_is_printed(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, f"{MODEL}\nsubject = make()")
    status, output, _ = run("examine", path, "--json", "--seconds", 20)
    assert status == 1
    assert json.loads(output)["name"] == f"{path}:subject"


def test_what_a_model_prints_is_no_part_of_the_json(run: Run, tmp_path: Path) -> None:
    chatty = MODEL.replace("        return", "        print('shape', source.shape)\n        return")
    path = written(tmp_path, "print('hello')" + chatty)
    _, output, error = run("examine", f"{path}:make", "--seconds", 5, "--json")
    assert json.loads(output)["name"] == f"{path}:make"
    assert "hello" in error and "shape" in error


def test_a_forked_process_ends_as_usual(run: Run, tmp_path: Path) -> None:
    forks = "import os\nchild = os.fork()\nif not child:\n    os._exit(0)\n"
    asks = "assert os.waitpid(child, 0)[1] == 0\n"
    path = written(tmp_path, forks + asks + MODEL)
    _, output, error = run("examine", f"{path}:make", "--seconds", 5, "--json")
    assert json.loads(output)["name"] == f"{path}:make"
    assert error == ""


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("network = 3", "", "has no `subject`: write `subject = Subject(network, ...)`"),
        ("subject = 3", "", "`subject` in {path} must be a Subject or a function"),
        ("1 / 0", "", "does not run: ZeroDivisionError: division by zero"),
        ("import os\nos._exit(0)", "", "ends Python (exit status 0)"),
        ("raise SystemExit(4)", "", "ends Python (exit status 4)"),
        ("while True: pass", "", "does not end within 1 seconds: does it train when"),
        ("x = (", "", "does not run: SyntaxError"),
        (MODEL, ":Echo", "a Subject is wanted"),
    ],
)
def test_file_that_cannot_be_examined(
    run: Run, tmp_path: Path, text: str, place: str, said: str
) -> None:
    path = written(tmp_path, text)
    status, output, error = run("examine", f"{path}{place}", "--seconds", 1)
    assert (status, output) == (2, "")
    assert said.format(path=path) in error
    assert error.count("\n") == 1


def test_file_that_is_not_there(fails: Fails, tmp_path: Path) -> None:
    assert "nowhere.py: No such file" in fails("examine", tmp_path / "nowhere.py")


def test_learners_file_needs_no_name(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, template(), NAME)
    status, output, _ = run("examine", path, "--json")
    found = json.loads(output)
    assert (status, found["name"], found["verdict"]) == (0, str(path), "Healthy")
    made = {each["name"] for each in found["experiments"]}
    assert {"mode", "beam", "old gradients", "source in translating"} <= made


def test_check_says_what_is_wrong_between_the_parts(run: Run, tmp_path: Path) -> None:
    """Each part is right; the lines around them forget to switch dropout off."""
    old = "    network.eval()\n    try:"
    text = template()
    assert text.count(old) == 1
    path = written(tmp_path, text.replace(old, "    try:"), NAME)
    status, output, _ = run("check", path)
    assert status == 1
    assert "What is wrong: translating in train mode." in output  # and nothing else
