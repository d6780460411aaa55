"""The commands around the lessons: lab, check, progress, examine, export, grade, doctor."""

import argparse
import os
import shlex
import sys
import textwrap
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from transformer_course.checks import check_positive
from transformer_course.files import write_text
from transformer_course.own.location import NAME
from transformer_course.workspace.lab import open_lab
from transformer_course.workspace.update import DEFAULT

if TYPE_CHECKING:
    from transformer_course.cli.shared import Commands


def _add_lab(commands: "Commands") -> None:
    command = commands.add_parser("lab", help="open the lessons in JupyterLab, to work in them")
    command.set_defaults(command=_lab)
    command.add_argument(
        "folder", nargs="?", type=Path, help=f"where to work; {DEFAULT} if not given"
    )
    command.epilog = "Arguments after -- are passed on to JupyterLab, such as -- --no-browser."


def _lab(options: argparse.Namespace) -> None:
    open_lab(options.folder, options.behind)


def _add_check(commands: "Commands") -> None:
    command = commands.add_parser(
        "check",
        help="check all parts in a my_transformer.py, or one answer",
        description="Without --exercise, check all parts in a my_transformer.py.",
        epilog="Exit status: 0 right, 1 not right yet, 2 could not be judged. With --json the last "
        "is said in JSON too. The book's page for assistants lists the keys.",
    )
    command.set_defaults(command=_check)
    command.add_argument(
        "file",
        type=Path,
        help="my_transformer.py; with --exercise any .py file, a notebook, or - for standard input",
    )
    command.add_argument(
        "--exercise",
        metavar="NAME",
        help="judge this answer alone, such as causal_mask, and note the try; a hint more is open "
        "after each different one",
    )
    command.add_argument(
        "--json",
        action="store_true",
        help="with --exercise: print verdict, mistakes, evidence and what is open as JSON",
    )


def _check(options: argparse.Namespace) -> int:
    if options.exercise:
        return _check_one(options)
    if options.json:
        raise ValueError("--json is for one answer: name it with --exercise.")
    from transformer_course.own import check, subject, whole

    module, failed = check.load(options.file), 0
    for row in check.rows(options.file, module):
        verdict = row.feedback.verdict.value if row.feedback else "given"
        print(f"{row.lesson:22} {row.name:30} {verdict}")
        if row.feedback and not row.feedback.passed:
            failed += 1
            print(textwrap.indent(str(row.feedback), "    "))
    fault = whole.fault(module)
    if fault:
        print(f"Together the parts go wrong: {fault}.")
    found = "" if fault == whole.endless() else subject.finding(module)
    if found:
        print(found)
    return int(bool(failed or fault or found))


def _check_one(options: argparse.Namespace) -> int:
    from transformer_course.tutor import command

    said = command.check(options.file, options.exercise)
    if said["verdict"] == command.NOT_JUDGED and not options.json:
        raise ValueError(said["message"])
    print(command.to_json(said) if options.json else command.in_words(said))
    return command.STATUS[said["verdict"]]


def _add_progress(commands: "Commands") -> None:
    command = commands.add_parser("progress", help="say which exercises are solved, what is next")
    command.set_defaults(command=_progress)
    command.add_argument("--json", action="store_true", help="print it as JSON")


def _progress(options: argparse.Namespace) -> None:
    from transformer_course.tutor import command

    far = command.how_far()
    print(command.to_json(far) if options.json else command.progress_in_words(far))


def _add_examine(commands: "Commands") -> None:
    command = commands.add_parser(
        "examine", help="say what is wrong with a Transformer of anybody's, from source to target"
    )
    command.set_defaults(command=_examine)
    command.add_argument(
        "place",
        metavar="FILE.py[:NAME]",
        help="NAME is a Subject or a function that makes one; `subject` if not given. A "
        "my_transformer.py needs none",
    )
    command.add_argument("--json", action="store_true", help="print all that was found as JSON")
    command.add_argument("--seconds", type=float, default=60.0, help="how long it may take (60)")


def _examine(options: argparse.Namespace) -> int:
    from transformer_course import examine
    from transformer_course.examine import files
    from transformer_course.own import subject

    check_positive("--seconds", options.seconds)
    with redirect_stdout(sys.stderr):  # what somebody's model prints is no part of the answer
        if subject.is_own(options.place):
            name, make = subject.load(Path(options.place))
        else:
            name, make = files.load(options.place, options.seconds)
        # disable=None shows it in a terminal only.
        with tqdm(total=100, unit="%", desc="examining", leave=False, disable=None) as bar:
            found = examine.examine(
                make, options.seconds, lambda share: bar.update(int(100 * share) - bar.n), name
            )
    print(found.to_json() if options.json else found)
    return {"Healthy": 0, "Faulty": 1, "Incomplete": 2}[found.verdict]


def _add_export(commands: "Commands") -> None:
    command = commands.add_parser("export", help="write a my_transformer.py that needs only torch")
    command.set_defaults(command=_export)
    command.add_argument("file", type=Path, help="where to write it")
    command.add_argument(
        "--model", type=Path, default=Path(NAME), help=f"yours; {NAME} if not given"
    )


def _export(options: argparse.Namespace) -> None:
    from transformer_course.own.export import exported
    from transformer_course.own.file import check_sections, read

    if options.file.exists():
        raise ValueError(f"{options.file} exists already: name a new file.")
    text = read(options.model)
    check_sections(text, options.model)
    write_text(options.file, exported(text))
    file = shlex.quote(str(options.file))
    print(f"{options.file}: needs only torch; python {file} SOURCE TARGET trains it.")


def _add_grade(commands: "Commands") -> None:
    command = commands.add_parser(
        "grade",
        help="grade a folder of notebooks, my_transformer.py, or capstones",
        epilog="A submission is a program, and grading runs it. The limits are for accidents: "
        "if you do not trust the class, grade in a container. The book's page for teachers has the "
        "command.",
    )
    command.set_defaults(command=_grade)
    command.add_argument("folder", type=Path, help="the files, or one folder per learner")
    command.add_argument("--csv", type=Path, help="also write a table, one line per file")
    command.add_argument(
        "--json",
        type=Path,
        help="also write all that is known, a line for each file as soon as it is graded",
    )
    command.add_argument(
        "--resume", action="store_true", help="grade only what the --json file lacks"
    )
    command.add_argument("--seconds", type=float, default=120.0, help="time limit for a file (120)")
    command.add_argument("--memory", type=float, default=4.0, help="memory limit in GiB (4)")
    command.add_argument(
        "--processes", type=int, default=os.cpu_count(), help="how many at a time (processors)"
    )


def _grade(options: argparse.Namespace) -> None:
    from transformer_course.grading import Limits, grade_folder

    grade_folder(
        options.folder,
        Limits(options.seconds, options.memory),
        options.processes,
        csv=options.csv,
        lines=options.json,
        resume=options.resume,
    )


def _add_doctor(commands: "Commands") -> None:
    command = commands.add_parser("doctor", help="examine this machine and the installation")
    command.set_defaults(command=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from transformer_course import doctor

    findings = doctor.examine()
    for finding in findings:
        print(f"{'!!' if finding.advice else 'ok'}  {finding.subject}: {finding.found}")
        if finding.advice:
            print(f"    {finding.advice}")
    return int(any(finding.advice for finding in findings))


COMMANDS = (
    _add_lab,
    _add_check,
    _add_progress,
    _add_examine,
    _add_export,
    _add_grade,
    _add_doctor,
)
"""What adds each of these commands, in the order of the help."""
