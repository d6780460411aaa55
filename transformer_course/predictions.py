"""Predictions: what the reader expects before a cell runs, and what turned out.

To commit oneself before looking is what makes a demonstration teach (Crouch et al., 2004,
"Classroom demonstrations: Learning tools or entertainment?").
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

DOTS = "Put what you expect in the place of the dots and run this cell again; then run the next."


@dataclass
class Prediction:
    """What the reader expects, and what turned out.

    Attributes
    ----------
    question
        What is asked.
    expected
        The reader's words; ``...`` for none.
    outcome
        What happened, once :meth:`turned_out` was called.
    """

    question: str
    expected: Any
    outcome: str = ""

    def turned_out(self, outcome: object) -> None:
        """Print what was expected and what happened."""
        self.outcome = str(outcome)
        if self.expected is not ...:
            print(f"You expected:  {self.words}")
        print(f"It turned out: {self.outcome}")

    @property
    def words(self) -> str:
        """What is expected, in words."""
        return "" if self.expected is ... else str(self.expected)


class Predictions(dict[str, Prediction]):
    """Predictions by their question; a notebook shows them as a table."""

    def _repr_markdown_(self) -> str:
        rows = [(p.question, p.words, p.outcome) for p in self.values()]
        head = [("question", "you expected", "it turned out"), ("---",) * 3]
        return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in (*head, *rows))

    __repr__ = _repr_markdown_


_MADE = Predictions()


def predict(question: str, *expected: Any) -> Prediction:
    """Note what the reader expects.

    Parameters
    ----------
    question
        In the words of the lesson.
    expected
        The reader's words or numbers, or ``...`` as long as there are none.
    """
    open_still = not expected or any(answer is ... for answer in expected)
    words = ... if open_still else ", ".join(map(str, expected))
    print(DOTS if open_still else f"Noted: {words}")
    _MADE[question] = Prediction(question, words)
    return _MADE[question]


def predictions() -> Predictions:
    """Return what was predicted in this notebook."""
    return _MADE


def written_in(source: str) -> Iterator[tuple[str, str]]:
    """Yield question and prediction of each call of :func:`predict` in a cell, without running it.

    Calls that still hold the dots are left out; a cell that is not Python yields nothing.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name("predict"), args=[ast.Constant(str(question)), *expected]
            ) if expected and not any(map(_is_dots, expected)):
                yield question, ", ".join(map(_as_written, expected))


def _is_dots(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _as_written(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


def _cell(text: str) -> str:
    # A token such as <eos> would be taken for HTML, and not be shown.
    return " ".join(text.replace("|", "\\|").replace("<", "\\<").split())
