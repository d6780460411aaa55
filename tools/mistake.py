"""Try the known mistakes of an exercise: what a learner reads, and whether each is told apart.

    python -m tools.mistake causal_mask                 those that are new since the last commit
    python -m tools.mistake causal_mask "too large"     those with these words in their name

It shows what the mistake changes in the answer and the card that a learner would get, and then
tries all mistakes of the exercise against each other. The exit status is 1 if one is not named.
"""

import argparse
import difflib
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from transformer_course.checker.answers import edited_text
from transformer_course.checker.candidates import source_of
from transformer_course.checker.diagnosis import Evidence, diagnose
from transformer_course.checker.exercise import Exercise
from transformer_course.checker.global_state import untouched_globals
from transformer_course.checker.mistakes import Mistake
from transformer_course.checker.outcomes import Outcome, same_behaviour
from transformer_course.checker.records import RecordError
from transformer_course.exercises import catalogues


def not_named(exercise: Exercise) -> Iterator[str]:
    """Say of each mistake that a check does not name why, and what to do."""
    catalogue, wanted = exercise.catalogue, exercise.observer.wanted
    cases = range(len(wanted))
    for mistake in exercise.mistakes:
        if words := _not_python(mistake):
            yield words
            continue
        source = source_of(mistake.candidate)
        with untouched_globals():  # as in a check, where a warning is not an error
            seen = [catalogue.outcome(mistake, case) for case in cases]
            found = diagnose(catalogue, Evidence(seen, wanted, source, cases))
        crashes = [outcome.error[1] for outcome in seen if _lacks_a_name(outcome)]
        if crashes and "NameError" not in mistake.record.observed:
            yield f"«{mistake.name}» cannot run ({crashes[0]}): is a word of its edit misspelt?"
        elif all(map(same_behaviour, wanted, seen)):
            yield f"«{mistake.name}» is right in every case: change the edit, or add a case."
        elif found is None:
            yield f"«{mistake.name}» gets no name: its `unless` fits its own code. Narrow it."
        elif found.mistakes != (mistake,):
            names = " and ".join(f"«{each.name}»" for each in found.mistakes)
            yield (
                f"«{mistake.name}» gets the name {names}: no case tells them apart, so they are "
                "one mistake. Keep one of them."
            )


def _not_python(mistake: Mistake) -> str:
    try:
        _ = mistake.candidate
    except SyntaxError as error:
        return f"«{mistake.name}» makes an answer that is not Python any more: {error}."
    return ""


def _lacks_a_name(outcome: Outcome) -> bool:
    return outcome.error is not None and issubclass(outcome.error[0], NameError)


def difference(mistake: Mistake) -> str:
    """Return the lines of the answer that a mistake changes, as ``diff`` writes them."""
    if mistake.record.body:
        return f"  the whole answer is `{mistake.record.body}`"
    right = mistake.answer.text
    texts = right.splitlines(), edited_text(right, mistake.edits).splitlines()
    lines = difflib.unified_diff(*texts, n=0, lineterm="")
    return "\n".join(f"  {line}" for line in lines if not line.startswith(("---", "+++", "@@")))


def chosen(exercise: Exercise, words: str | None) -> Sequence[Mistake]:
    """Return the mistakes with words in their name; without words, those that are not committed."""
    if words is None:
        old = _committed(exercise.mistakes[0].record.file)
        return [m for m in exercise.mistakes if m.name not in old]
    return [mistake for mistake in exercise.mistakes if words in mistake.name]


def _committed(file: Path) -> set[str]:
    """Return the names in the last commit's version of a file; none where there is no such."""
    shown = subprocess.run(
        ["git", "show", f"HEAD:./{file.name}"], cwd=file.parent, capture_output=True, text=True
    )
    tables = tomllib.loads(shown.stdout).get("mistake", [])
    return {table.get("name") or table["like"].partition(": ")[2] for table in tables}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("exercise", help="its name, such as causal_mask")
    parser.add_argument("words", nargs="?", help="words of the mistake's name; default: new ones")
    arguments = parser.parse_args()
    try:
        exercises = {name: each for of in catalogues().values() for name, each in of.items()}
        if arguments.exercise not in exercises:
            close = difflib.get_close_matches(arguments.exercise, exercises, 3)
            parser.error(f"there is no exercise {arguments.exercise!r}; near: {', '.join(close)}")
        exercise = exercises[arguments.exercise]
        mistakes = chosen(exercise, arguments.words)
        for mistake in mistakes:
            print(f"{mistake.name}\n\n{difference(mistake)}\n")
            if not _not_python(mistake):
                print(exercise.judge(mistake.candidate), end="\n\n")
        problems = list(not_named(exercise))
    except RecordError as error:
        sys.exit(str(error))
    print(*problems, sep="\n", end="\n" if problems else "")
    named = len(exercise.mistakes) - len(problems)
    print(f"{named} of {len(exercise.mistakes)} mistakes in {exercise.name} are told apart.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
