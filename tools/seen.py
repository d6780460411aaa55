"""Write into each known mistake how often it was made: ``seen = 3``.

    python -m tools.seen

It counts the answers in ``tests/exercises/answers/``, which people wrote who had not seen the
catalogue. To try pairs of mistakes in this order was measured and is no better: of 4,668 answers
3,191 are named instead of 3,192, nine of them otherwise (2026-11-27).
"""

import re
from collections import Counter
from pathlib import Path

from tests.exercises.written import FOLDER, written
from transformer_course.exercises import catalogues
from transformer_course.files import write_text

# A record, the number at its end, and the lines that lead to the next one.
RECORD = re.compile(
    r"^(\[\[mistake\]\]\n.*?\n)(?:seen = \d+\n)?((?:(?:#[^\n]*)?\n)*)(?=^\[\[mistake\]\]$|\Z)",
    re.MULTILINE | re.DOTALL,
)


def counted() -> Counter[tuple[str, str]]:
    """Return how often each mistake was made, by the names of exercise and mistake."""
    answers = (answer for folder in sorted(FOLDER.iterdir()) for answer in written(folder.name))
    return Counter((answer.exercise.name, name) for answer in answers for name in answer.named)


def with_seen(text: str, times: list[int]) -> str:
    """Return a file of records with these numbers in their last lines; 0 is not written."""
    numbers = iter(times)

    def numbered(match: re.Match[str]) -> str:
        number = next(numbers)
        last = f"seen = {number}\n" if number else ""
        return f"{match[1]}{last}{match[2]}"

    return RECORD.sub(numbered, text)


def main() -> None:
    """Run the command line."""
    times = counted()
    for exercises in catalogues().values():
        for exercise in exercises.values():
            file: Path = exercise.mistakes[0].record.file
            numbers = [times[exercise.name, mistake.name] for mistake in exercise.mistakes]
            write_text(file, with_seen(file.read_text(encoding="utf-8"), numbers))
    print(f"{len(times)} mistakes were made, {times.total()} times.")


if __name__ == "__main__":
    main()
