"""What is known about each submission, and the tables made of it."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from transformer_course.checker.comparison import short
from transformer_course.checker.feedback import Verdict
from transformer_course.syllabus import LESSONS

LONGEST = 10_000  # characters of a text that a submission may have made
NAMED = 5  # submissions of a group that are named
FORMULA = ("=", "+", "-", "@")  # how a formula begins in a spreadsheet
ANSWER = {"lesson", "verdict", "mistakes", "finding", "computed", "feedback"}


@dataclass
class Row:
    """What is known about one submission.

    Attributes
    ----------
    submission
        Its path below the graded folder.
    lesson
        The lesson's name, or ``my_transformer``; empty if it could not be told.
    of
        How many exercises the lesson, or how many parts the file has.
    exercises
        For each exercise of the lesson, or part that the learner wrote: ``lesson``, ``verdict``,
        ``mistakes`` (names of those recognised), ``finding`` (in one sentence), ``computed`` (equal
        for answers that no mistake explains and that compute the same) and ``feedback`` (all words
        that the learner sees).
    failures
        What went wrong in cells that answers need, a sentence each.
    predictions
        What the learner expected, by question.
    problem
        Why the submission could not be graded, or not to its end; empty if it could.
    """

    submission: str
    lesson: str = ""
    of: int = 0
    exercises: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    predictions: dict[str, str] = field(default_factory=dict)
    problem: str = ""

    def take(self, message: Any) -> bool:
        """Take in what the process of a submission says, and return whether that was the last.

        Whatever a submission does in its process, it can say nothing but what a row holds.

        Raises
        ------
        ValueError
            If it is something else.
        """
        match message:
            case {"lesson": str(lesson), "of": int(of)}:
                self.lesson, self.of = plain(lesson), of
            case {"exercises": dict(answers)}:
                self.exercises |= {plain(name): _answer(each) for name, each in answers.items()}
            case {"failures": list(failures)}:
                self.failures = [plain(each) for each in failures]
            case {"predictions": dict(predictions)}:
                self.predictions = {plain(q): plain(words) for q, words in predictions.items()}
            case {"problem": str(problem)}:
                self.problem = plain(problem)
                return True
            case _:
                raise ValueError("a row holds nothing like that")
        return False

    @property
    def solved(self) -> int:
        """How many exercises are right."""
        return sum(e["verdict"] == Verdict.RIGHT.value for e in self.exercises.values())

    @property
    def mistakes(self) -> list[str]:
        """The recognised mistakes, each with its exercise."""
        return [f"{name}: {m}" for name, e in self.exercises.items() for m in e["mistakes"]]

    @property
    def findings(self) -> list[str]:
        """What is wrong with each wrong answer: its recognised mistakes, or the first sentence."""
        wrong = {n: e for n, e in self.exercises.items() if e["verdict"] == Verdict.WRONG.value}
        return [f"{name}: {e['finding']}" for name, e in wrong.items()]


def _answer(said: Any) -> dict[str, Any]:
    match said:
        case {"verdict": str(verdict), "mistakes": list(mistakes), **texts}:
            Verdict(verdict)
            texts = {name: plain(text) for name, text in texts.items()}
            answer = {"verdict": verdict, "mistakes": [plain(m) for m in mistakes]} | texts
            if answer.keys() == ANSWER:
                return answer
    raise ValueError("an answer holds nothing like that")


def plain(text: Any) -> str:
    """Return a text that can be printed and written: cut, other characters than words escaped."""
    if not isinstance(text, str):
        raise ValueError("a text is wanted")
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in cut
    )


def frequent_mistakes(rows: Sequence[Row]) -> list[tuple[str, int]]:
    """Return in how many submissions each mistake was recognised, the most frequent first."""
    counts = Counter(mistake for row in rows for mistake in row.mistakes)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def class_predictions(rows: Sequence[Row]) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield each question with what the class expected and how many did, the most frequent first.

    Questions come in the order of the lessons.
    """
    expected: dict[str, Counter[str]] = {}
    for row in sorted(rows, key=lambda row: _place(row.lesson)):
        for question, words in row.predictions.items():
            expected.setdefault(question, Counter())[" ".join(words.lower().split())] += 1
    for question, counts in expected.items():
        yield question, counts.most_common()


def _place(lesson: str) -> int:
    """Return where a lesson stands in the course; what is none comes last."""
    names = [name.partition("_")[2] for name in LESSONS]
    return names.index(lesson) if lesson in names else len(names)


@dataclass(frozen=True)
class Cluster:
    """Answers to an exercise that no mistake explains and that compute the same.

    Attributes
    ----------
    exercise, finding
        What is answered, and what is found in one sentence.
    submissions
        Who wrote them.
    """

    exercise: str
    finding: str
    submissions: tuple[str, ...]

    def __str__(self) -> str:
        count, named = len(self.submissions), ", ".join(self.submissions[:NAMED])
        more = f" and {count - NAMED} more" if count > NAMED else ""
        return f"{count} x {self.exercise}: {self.finding} ({named}{more})"


def clusters(rows: Sequence[Row]) -> list[Cluster]:
    """Return what two or more submissions have in common that no mistake explains, most first.

    Each shows whoever keeps the catalogue a mistake that is missing.
    """
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in rows:
        for name, answer in row.exercises.items():
            if answer["computed"]:
                key = name, answer["computed"]
                found.setdefault(key, []).append((row.submission, answer["finding"]))
    groups = [
        Cluster(name, answers[0][1], tuple(submission for submission, _ in answers))
        for (name, _), answers in found.items()
        if len(answers) > 1
    ]
    return sorted(groups, key=lambda group: (-len(group.submissions), group.exercise))


def table(rows: Sequence[Row]) -> pd.DataFrame:
    """Return one line per submission, for a spreadsheet."""
    return pd.DataFrame(
        {
            "submission": row.submission,
            "lesson": row.lesson,
            "solved": row.solved,
            "of": row.of,
            "findings": "; ".join(row.findings),
            "failures": "; ".join(row.failures),
            "problem": row.problem,
        }
        for row in rows
    )


def to_csv(rows: Sequence[Row]) -> str:
    """Return the table for a spreadsheet: marked as UTF-8, and no cell a formula."""
    texts = table(rows).map(lambda cell: f"'{cell}" if str(cell).startswith(FORMULA) else cell)
    return "\ufeff" + texts.to_csv(index=False)


def on_screen(rows: Sequence[Row]) -> str:
    """Return the table in columns that begin at the left, long texts cut."""
    texts = table(rows).astype(str)
    for column in ("findings", "failures", "problem"):
        texts[column] = texts[column].map(short)
    aligned = texts.apply(lambda column: column.str.ljust(column.str.len().max()))
    return aligned.to_string(index=False, justify="left")


def to_line(row: Row) -> str:
    """Return all that is known about a submission, with the feedback that its learner would see."""
    return json.dumps(asdict(row), ensure_ascii=False) + "\n"


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file of such lines; one that was cut short counts for nothing.

    Raises
    ------
    ValueError
        If it holds something else.
    """
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    try:
        return [Row(**json.loads(line)) for line in whole]
    except (TypeError, ValueError):
        raise ValueError(f"{path} holds no rows of an earlier grading.") from None
