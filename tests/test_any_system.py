"""The course where there is no Unix: what Windows lacks is taken away, and its text comes in.

Windows itself is in the matrix of the workflow; this test holds on any machine what can be held.
"""

import os
import subprocess
import sys

import pytest

from tools.sources import ROOT
from transformer_course.translation import toy_checkpoint

TAKE_AWAY = """
import os, signal, sys, warnings
import IPython  # takes what it needs of this system, as it does on each
sys.modules["resource"] = None  # importing it raises ImportError
for module, name in ((signal, "SIGALRM"), (signal, "setitimer"), (os, "fork"), (os, "sysconf")):
    delattr(module, name)
# What is read or written without saying in which encoding is read as cp1252 there.
warnings.filterwarnings("error", category=EncodingWarning, module="transformer_course")
"""
JUDGE = """
import sys
from transformer_course.exercises import catalogues

sys.stdout.reconfigure(errors="replace")  # a window shows every character, this pipe does not
for exercises in catalogues().values():
    exercise = next(iter(exercises.values()))
    assert exercise.check(exercise.task.answer).passed
    mistake = exercise.mistakes[0]
    assert exercise.check(mistake.candidate).mistakes == (mistake.name,)
    print(exercise.check(mistake.candidate))
    print(exercise.solution())
"""
END_A_LOOP = """
from transformer_course.checker import sandbox
from transformer_course.exercises import start_here

def softmax(scores):
    while True:
        pass

sandbox.TIME_LIMIT = 0.2
assert "did not end" in repr(start_here.softmax.check(softmax))
"""
EXAMINE = """
from transformer_course.cli import main

assert main(["doctor"]) == 0
"""
TRAIN = """
from pathlib import Path
from transformer_course.cli import main

for language, words in (("en", "the chat sleeps"), ("fr", "le chat dort où")):
    text = "\\r\\n".join(f"{words} {number}" for number in range(40))
    Path(f"text.{language}").write_bytes(text.encode())
command = "train --corpus files --source text.en --target text.fr --output run --steps 2"
assert main(command.split()) == 0
assert main(["translate", "run", "the chat"]) == 0
"""
READ_A_NOTEBOOK = """
from pathlib import Path
from transformer_course.grading.submission import Submission
from transformer_course.syllabus import lessons_folder

lesson = (lessons_folder() / "04_feed_forward.ipynb").read_bytes().replace(b"\\n", b"\\r\\n")
Path("handed in.ipynb").write_bytes(lesson)
verdicts = set()
submission = Submission.read(Path("handed in.ipynb"))
submission.check(lambda _, feedback: verdicts.add(feedback.verdict.value), seconds=60)
assert verdicts == {"Not attempted"}
"""


@pytest.mark.parametrize(
    "code",
    [
        JUDGE,
        END_A_LOOP,
        pytest.param(EXAMINE, marks=pytest.mark.exhaustive),
        TRAIN,
        READ_A_NOTEBOOK,
    ],
    ids=["judge", "end a loop", "doctor", "train", "read a notebook"],
)
def test_it_works_without_what_windows_lacks(code, tmp_path):
    environment = {
        **os.environ,
        "PYTHONIOENCODING": "cp1252",
        "PYTHONPATH": str(ROOT),
        "TRANSFORMER_COURSE_HOME": str(tmp_path / "home"),
    }
    command = [sys.executable, "-X", "warn_default_encoding", "-c", TAKE_AWAY + code]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
    assert run.returncode == 0, run.stderr.decode("utf-8", errors="replace")


def test_the_command_speaks_utf8_whatever_the_locale():
    command = "import sys; from transformer_course.cli import main; main(sys.argv[1:])"
    arguments = ["translate", toy_checkpoint(), "this beautiful hero laughs"]
    run = subprocess.run(
        [sys.executable, "-c", command, *arguments],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    assert run.stdout.decode("utf-8").splitlines() == ["ce beau héros rit"]
