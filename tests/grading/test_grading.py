"""A class hands in right, wrong and hostile notebooks: each becomes the row that it should."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from transformer_course import grading
from transformer_course.cli import main
from transformer_course.exercises import catalogues
from transformer_course.grading import Limits, Row
from transformer_course.grading.limits import _refuse
from transformer_course.grading.table import (
    ANSWER,
    Cluster,
    class_predictions,
    plain,
    to_csv,
)

# A third of the seconds are a cell's: more than the five that a check gives an answer.
LIMITS = Limits(seconds=20, memory=1.5)
IMPORT = "from transformer_course.exercises import toy_translation as exercise"
CHECK = "exercise.noam.check(noam)"
OTHERS = (name for name in catalogues()["toy_translation"] if name != "noam")
STUBS = "\n".join(f"def {name}(*arguments): ..." for name in OTHERS)
RIGHT = """def noam(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)"""
IN_ANSWER = RIGHT.replace("return", "{}\n    return")

SOLVED, UNSOLVED = 1, 0
# What an answer's cell holds, how many exercises are solved then, and words of the problem.
ANSWERS = {
    "right": (RIGHT, SOLVED, ""),
    "known mistake": (RIGHT.replace("min(", "max("), UNSOLVED, ""),
    "unknown mistake": (RIGHT.replace("-1.5", "-1.25"), UNSOLVED, ""),
    "stub": ("def noam(step, d_model, warmup): ...", UNSOLVED, ""),
    "syntax error": ("def noam(:", UNSOLVED, ""),
    "crashes": (IN_ANSWER.format("1 / 0"), UNSOLVED, ""),
    "exits": (IN_ANSWER.format("raise SystemExit"), UNSOLVED, ""),
    "loops in the answer": (IN_ANSWER.format("while True: pass"), UNSOLVED, ""),
    "loops in the cell": (RIGHT + "\nwhile True: pass", SOLVED, ""),
    "loops without an alarm": (
        "import signal, time\nsignal.setitimer(signal.ITIMER_REAL, 0)\n"
        f"while True: time.sleep(1)\n{RIGHT}",
        UNSOLVED,
        "did not end within 20 seconds",
    ),
    "ends Python": (IN_ANSWER.format("import os; os._exit(0)"), UNSOLVED, ""),
    "segmentation fault": (
        IN_ANSWER.format("import ctypes; ctypes.string_at(0)"),
        UNSOLVED,
        "broke off",
    ),
    "stop button": (IN_ANSWER.format("raise KeyboardInterrupt"), UNSOLVED, ""),
    "fills the memory": (IN_ANSWER.format("bytearray(2**40)"), UNSOLVED, ""),
    "prints a megabyte": (IN_ANSWER.format("print('x' * 2**20)"), SOLVED, ""),
    "waits for a promise": ("import asyncio\nawait asyncio.sleep(0)\n" + RIGHT, SOLVED, ""),
    "prints in the cell": ("print('x' * 2**20)\n" + RIGHT, SOLVED, ""),
    "deletes its folder": (
        "import os\nfor name in os.listdir(): os.remove(name)\n" + RIGHT,
        SOLVED,
        "",
    ),
    "deletes the class": (
        IN_ANSWER.format("import shutil; shutil.rmtree(FOLDER)"),
        UNSOLVED,
        "",
    ),
    "overwrites the class": (IN_ANSWER.format("open(FILE, 'w')"), UNSOLVED, ""),
    "starts a program": (IN_ANSWER.format("import os; os.system('true')"), UNSOLVED, ""),
    "forks": (IN_ANSWER.format("import os; os.fork()"), UNSOLVED, ""),
    "saves a tensor over the class": (
        "import torch\ntorch.save(torch.ones(3), FILE)\n" + RIGHT,
        UNSOLVED,
        "",
    ),
    "shares memory": (
        "import mmap\nmany = [mmap.mmap(-1, 2**28) for _ in range(8)]\n"
        "for each in many:\n    for page in range(0, 2**28, 4096): each[page] = 1\n" + RIGHT,
        UNSOLVED,
        "GiB of memory",
    ),
    "sends what is no result": (
        "import os\n"
        "for number in range(3, 100):\n"
        "    try: os.write(number, b'{\"problem\": 3}\\n')\n"
        "    except OSError: pass\n" + RIGHT,
        UNSOLVED,
        "something that is not a result",
    ),
    "sends an open end": (
        "import os\n"
        "for number in range(3, 100):\n"
        "    try: os.write(number, b'\\xff' * 2**24)\n"
        "    except OSError: pass\n" + RIGHT,
        UNSOLVED,
        "something that is not a result",
    ),
    "an error that cannot be encoded": (
        IN_ANSWER.format("raise ValueError('\\udcff')"),
        UNSOLVED,
        "",
    ),
    "asks the network": (
        IN_ANSWER.format("import socket; socket.create_connection(('127.0.0.1', PORT))"),
        UNSOLVED,
        "",
    ),
}
FINDINGS = {
    "ends Python": "It stopped with SystemExit: 0",
    "known mistake": "the larger branch is taken",
    "unknown mistake": "Wrong in 2 of 6 cases.",
    "syntax error": "`noam` cannot be found: NameError",
    "crashes": "It stopped with ZeroDivisionError",
    "stop button": "The check itself stopped with KeyboardInterrupt",
    "exits": "It stopped with SystemExit",
    "loops in the answer": "It did not end within",
    "fills the memory": "It stopped with MemoryError",
    "an error that cannot be encoded": r"It stopped with ValueError: \udcff",
    "deletes the class": "must not be changed while grading",
    "overwrites the class": "must not be changed while grading",
    "saves a tensor over the class": "`noam` cannot be found: NameError",
    "starts a program": "no other program while grading",
    "forks": "no other program while grading",
    "asks the network": "no network while grading",
}
OTHER_FILES = {
    "empty.ipynb": ("", "the file is empty"),
    "damaged.ipynb": ('{"cells": [', "not a notebook"),
    "essay.pdf": ("%PDF-1.7", "not a notebook"),
    "no lesson.ipynb": (
        nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])),
        "not a lesson of the course",
    ),
}


def write_submission(path: Path, answer: str) -> None:
    cells = [nbformat.v4.new_code_cell(source) for source in (IMPORT, STUBS, answer, CHECK)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


@pytest.fixture(scope="module")
def listener():
    """Accept connections on this machine, so that a successful one would be noticed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        yield server


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory, listener) -> tuple[Path, dict[str, tuple[int, str]]]:
    """Return a folder of 50 submissions, and for each what is solved and the problem."""
    folder = tmp_path_factory.mktemp("class")
    expected = {}
    kinds = [*ANSWERS, *(["right"] * 5), *(["known mistake"] * 8), *(["stub"] * 4)]
    for number, kind in enumerate(kinds):
        answer, solved, problem = ANSWERS[kind]
        name = f"learner {number:02}/{kind}.ipynb"
        path = folder / name
        path.parent.mkdir()
        for placeholder, value in (
            ("FOLDER", repr(str(folder))),
            ("FILE", repr(str(path))),
            ("PORT", str(listener.getsockname()[1])),
        ):
            answer = answer.replace(placeholder, value)
        write_submission(path, answer)
        expected[name] = (solved, problem)
    for name, (content, problem) in OTHER_FILES.items():
        (folder / name).write_text(content)
        expected[name] = (0, problem)
    (folder / "nothing handed in").mkdir()
    expected["nothing handed in"] = (0, "holds no notebook")
    assert len(expected) == 50
    return folder, expected


@pytest.fixture(scope="module")
def rows(handed_in) -> list[Row]:
    folder, _ = handed_in
    # Two for two cores, and one that waits for what never ends.
    found = grading.grade(folder, grading.submissions(folder), LIMITS, processes=3)
    return sorted(found, key=lambda row: row.submission)


def test_each_submission_becomes_its_row(handed_in, rows):
    _, expected = handed_in
    assert [row.submission for row in rows] == sorted(expected)
    for row in rows:
        solved, problem = expected[row.submission]
        assert row.solved == solved, row
        assert problem in row.problem, row
        assert bool(problem) == bool(row.problem), row


def test_what_is_wrong_with_an_answer_stands_in_its_row(rows):
    for row in rows:
        words = FINDINGS.get(Path(row.submission).stem)
        assert len(row.findings) == (words is not None), row
        for finding in row.findings:
            assert finding.startswith("noam: ") and words in finding, row


def test_nothing_is_changed_and_nobody_is_called(handed_in, rows, listener):
    folder, expected = handed_in
    assert {str(p.relative_to(folder)) for p in grading.submissions(folder)} == set(expected)
    assert all(path.stat().st_size for path in folder.rglob("learner*/*.ipynb"))
    with pytest.raises(TimeoutError):
        listener.accept()


@pytest.mark.exhaustive
def test_the_order_does_not_matter(handed_in, rows):
    folder, _ = handed_in
    shuffled = grading.submissions(folder)
    random.Random(0).shuffle(shuffled)
    again = grading.grade(folder, shuffled, LIMITS, processes=2)
    assert sorted(again, key=lambda row: row.submission) == rows


def test_a_row_counts_all_exercises_of_its_lesson(rows):
    lesson = len(catalogues()["toy_translation"])
    counts = grading.table(rows).set_index("submission")["of"]
    assert counts["learner 00/right.ipynb"] == lesson
    assert counts["empty.ipynb"] == 0


def test_mistakes_are_counted(rows):
    assert grading.frequent_mistakes(rows) == [("noam: the larger branch is taken", 9)]


def test_predictions_come_in_the_order_of_the_lessons_and_are_counted_alike():
    rows = [
        Row("a", "attention", predictions={"q2": "Higher"}),
        Row("b", "start_here", predictions={"q0": "3"}),
        Row("c", "attention", predictions={"q2": " higher\n"}),
        Row("d", "positional_encoding", predictions={"q1": "1"}),
        Row("e", "attention", predictions={"q2": "lower"}),
    ]
    assert [*class_predictions(rows)] == [
        ("q0", [("3", 1)]),
        ("q1", [("1", 1)]),
        ("q2", [("higher", 2), ("lower", 1)]),
    ]


def test_answers_that_no_mistake_explains_are_grouped_by_what_they_compute(tmp_path):
    for name, factor in (("a", "1.25"), ("b", "5 / 4"), ("c", "1.75")):
        write_submission(tmp_path / f"{name}.ipynb", RIGHT.replace("min(", f"{factor} * min("))
    rows = list(grading.grade(tmp_path, grading.submissions(tmp_path), LIMITS, processes=1))
    (group,) = grading.clusters(rows)
    assert group.submissions == ("a.ipynb", "b.ipynb")
    assert str(group).startswith("2 x noam: Wrong in")
    assert str(group).endswith(" (a.ipynb, b.ipynb)")
    many = Cluster("noam", "Wrong.", tuple("abcdefg"))
    assert str(many) == "7 x noam: Wrong. (a, b, c, d, e and 2 more)"


def test_the_command_prints_a_table_and_writes_files(tmp_path, capsys):
    folder = tmp_path / "class"
    folder.mkdir()
    for name, answer in (("a", RIGHT), ("b", RIGHT.replace("min(", "max("))):
        write_submission(folder / f"{name}.ipynb", answer)
    (folder / "c.ipynb").write_text("")
    out = ["--csv", str(tmp_path / "out.csv"), "--json", str(tmp_path / "out.json")]
    assert main(["grade", str(folder), *out]) == 0
    shown = capsys.readouterr().out
    assert "Mistakes that have a name:\n1 x noam: the larger branch is taken" in shown
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert lines == [
        "\ufeffsubmission,lesson,solved,of,findings,failures,problem",
        "a.ipynb,toy_translation,1,6,,,",
        "b.ipynb,toy_translation,0,6,noam: the larger branch is taken,,",
        "c.ipynb,,0,0,,,the file is empty",
    ]
    stored = [json.loads(line) for line in (tmp_path / "out.json").read_text().splitlines()]
    (first,) = (row for row in stored if row["submission"] == "a.ipynb")
    assert "Well done" in first["exercises"]["noam"]["feedback"]
    assert all(word in shown for word in ("a.ipynb", "toy_translation", "the file is empty"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing"], "not a folder"),
        (["empty"], "is empty"),
        ([".", "--seconds", "0"], "above zero"),
        ([".", "--seconds", "inf"], "above zero"),
        ([".", "--memory", "nan"], "above zero"),
        ([".", "--memory", "inf"], "above zero"),
        ([".", "--memory", "1e-9"], "at least 0.5 GiB"),
        ([".", "--resume"], "--resume needs --json"),
        ([".", "--csv", "missing/table.csv"], "missing"),
        ([".", "--processes", "0"], "at least 1"),
    ],
)
def test_a_wrong_request_is_refused(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert main(["grade", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_refused_grading_leaves_no_file(tmp_path, pair):
    folder, rows = pair
    assert main(["grade", str(folder), "--json", str(rows), "--processes", "0"]) == 2
    assert not rows.exists()


def test_a_folder_whose_name_only_begins_alike_is_outside(tmp_path):
    write = (str(tmp_path / "ab" / "file"), "w", os.O_WRONLY)
    _refuse(str(tmp_path / "ab"), "open", write)
    with pytest.raises(PermissionError, match="must not be changed"):
        _refuse(str(tmp_path / "a"), "open", write)


# What a class must not lose


@pytest.fixture
def pair(tmp_path):
    """Return a folder of two right submissions, and the path for their rows."""
    folder = tmp_path / "class"
    folder.mkdir()
    for name in ("a", "b"):
        write_submission(folder / f"{name}.ipynb", RIGHT)
    return folder, tmp_path / "rows.jsonl"


def test_resume_grades_what_is_missing(pair, capsys):
    folder, rows = pair
    assert main(["grade", str(folder), "--json", str(rows)]) == 0
    kept, lost = rows.read_text().splitlines(keepends=True)
    rows.write_text(kept.replace('"toy_translation"', '"kept"') + lost[:20])
    assert main(["grade", str(folder), "--json", str(rows)]) == 2
    assert "--resume goes on with it" in capsys.readouterr().err
    assert main(["grade", str(folder), "--json", str(rows), "--resume"]) == 0
    again = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [row["lesson"] for row in again] == ["kept", "toy_translation"]
    assert len({row["submission"] for row in again}) == 2


UNDER_A_LIMIT_OF_THE_MACHINE = """
import resource, sys
from transformer_course.grading.limits import Limits, confine
resource.setrlimit(resource.RLIMIT_CPU, (100, 100))
confine(sys.argv[1], Limits(120, 4))
assert resource.getrlimit(resource.RLIMIT_CPU) == (100, 100)
"""


def test_a_lower_limit_of_the_machine_stays(tmp_path: Path) -> None:
    command = [sys.executable, "-c", UNDER_A_LIMIT_OF_THE_MACHINE, str(tmp_path)]
    assert subprocess.run(command).returncode == 0


@pytest.mark.exhaustive
@pytest.mark.timeout(1200)
def test_nothing_is_lost_when_it_is_killed_again_and_again(tmp_path):
    folder, rows = tmp_path / "class", tmp_path / "rows.jsonl"
    folder.mkdir()
    kinds = ("right", "known mistake", "stub", "crashes")
    for number in range(40):
        write_submission(folder / f"{number:02}.ipynb", ANSWERS[kinds[number % 4]][0])
    command = [sys.executable, "-m", "transformer_course", "grade", str(folder)]
    command += ["--json", str(rows), "--processes", "2"]
    waits = random.Random(0)
    for _ in range(10):
        begun = ["--resume"] if rows.exists() and rows.stat().st_size else []
        process = subprocess.Popen([*command, *begun], start_new_session=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(waits.uniform(5, 15))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run([*command, "--resume"], check=True, capture_output=True)
    graded = [json.loads(line) for line in rows.read_text().splitlines()]
    assert sorted(row["submission"] for row in graded) == [f"{n:02}.ipynb" for n in range(40)]
    solved = {row["submission"] for row in graded if not row["problem"] and "Well done" in str(row)}
    assert solved == {f"{n:02}.ipynb" for n in range(0, 40, 4)}


def test_rows_that_were_known_are_shown_when_it_is_stopped(pair, monkeypatch, capsys):
    folder, rows = pair

    def stopped(*arguments):
        yield Row("a.ipynb", problem="known")
        raise KeyboardInterrupt

    monkeypatch.setattr("transformer_course.grading.command.grade", stopped)
    assert main(["grade", str(folder), "--json", str(rows)]) == 130
    assert "known" in capsys.readouterr().out
    assert json.loads(rows.read_text())["problem"] == "known"


def test_a_file_name_that_is_no_text_costs_nobody_anything(pair, tmp_path, capsys):
    folder, rows = pair
    (folder / "a.ipynb").rename(folder / os.fsdecode(b"M\xfcller \x1b[31m.ipynb"))
    arguments = ["--json", str(rows), "--csv", str(tmp_path / "table.csv")]
    assert main(["grade", str(folder), *arguments]) == 0
    assert r"M\xfcller \x1b[31m.ipynb" in capsys.readouterr().out
    assert r"M\xfcller" in (tmp_path / "table.csv").read_text(encoding="utf-8-sig")


def test_no_cell_of_the_table_is_a_formula():
    rows = [Row("=cmd|'/C calc'!A0.ipynb", problem="-1"), Row("a.ipynb", problem="x\ry")]
    assert to_csv(rows).splitlines()[1].startswith("'=cmd|")
    assert to_csv(rows).splitlines()[1].endswith(",'-1")
    assert plain("x\ry\x1b") == r"x\ry\x1b"


@pytest.mark.parametrize(
    "message",
    [
        3,
        {"lesson": 3, "of": 4},
        {"exercises": {"noam": {"verdict": "Right", "mistakes": []}}},
        {"exercises": {"noam": dict.fromkeys(ANSWER, "x")}},
        {"problem": None},
        {"submission": "another's"},
    ],
)
def test_a_row_takes_nothing_but_results(message):
    with pytest.raises(ValueError, match=r"holds nothing|text is wanted|is not a valid"):
        Row("a.ipynb").take(message)


def test_long_texts_are_cut():
    row = Row("a.ipynb")
    assert row.take({"problem": "x" * 10**6})
    assert len(row.problem) < 11_000


def test_a_file_is_found_whatever_the_case_of_its_name(tmp_path):
    (tmp_path / "anna").mkdir()
    write_submission(tmp_path / "anna" / "LESSON.IPYNB", RIGHT)
    assert [path.name for path in grading.submissions(tmp_path)] == ["LESSON.IPYNB"]
