"""What may be shown after so many tries: hints first, then what to change, gaps, the solution.

A try is a wrong answer that differs from those before it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ladder:
    """What is open, and what a further try opens.

    Attributes
    ----------
    tries
        How many different wrong answers there have been.
    hints_in_all
        How many hints the exercise has.
    solved
        Whether this answer is right: then nothing needs to be held back.
    """

    tries: int
    hints_in_all: int
    solved: bool = False

    @property
    def hints(self) -> int:
        """How many hints are open: one for each try."""
        return min(self.tries, self.hints_in_all)

    @property
    def change(self) -> bool:
        """Whether a known mistake may be shown with what to change: with the last hint."""
        return self.tries >= self.hints_in_all

    @property
    def gaps(self) -> bool:
        """Whether the model answer with gaps is open: one try after the last hint."""
        return self.tries > self.hints_in_all

    @property
    def solution(self) -> bool:
        """Whether the solution is open: one try after the gaps, and after a right answer."""
        return self.solved or self.tries > self.hints_in_all + 1

    @property
    def next_rung(self) -> str:
        """What a further try opens, in words; empty if all is open."""
        if self.solution:
            return ""
        if self.gaps:
            return "the solution"
        if self.change:
            return "the answer with gaps"
        last = self.hints + 1 == self.hints_in_all
        return f"hint {self.hints + 1}{', and what to change' if last else ''}"
