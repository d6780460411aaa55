"""Whatever an answer does to its process, whoever asks gets a sentence."""

import pytest

from transformer_course.tutor.command import _request
from transformer_course.tutor.places import place_of
from transformer_course.tutor.process import found_out


def found(path, limit=120.0):
    return found_out(_request(path, place_of("causal_mask")), limit)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended Python"),
        ("import ctypes; ctypes.string_at(0)", "ended Python"),
    ],
)
def test_a_process_that_ends_is_said(file, body, words):
    assert words in found(file(f"def causal_mask(length):\n    {body}"))["problem"]


def test_a_process_that_never_ends_is_said(file):
    said = found(file("def causal_mask(length):\n    pass"), limit=0.1)
    assert "did not end within 0.1 seconds" in said["problem"]


def test_what_an_answer_prints_is_not_in_the_way(file):
    body = 'import os, sys; print("{"); os.write(1, b"{"); sys.stderr.write("{")'
    said = found(file(f"def causal_mask(length):\n    {body}"))
    assert said["feedback"]["verdict"] == "wrong"


def test_files_with_names_of_modules_are_not_imported(file, tmp_path, monkeypatch):
    file("raise RuntimeError", "random.py")
    monkeypatch.chdir(tmp_path)
    path = file("def causal_mask(length):\n    return 3")
    assert found(path)["feedback"]["verdict"] == "wrong"
