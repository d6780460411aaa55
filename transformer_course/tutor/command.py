"""The commands ``check FILE --exercise NAME`` and ``progress``: their JSON, and their words.

The keys are a promise: ``book/assistants.md`` lists them and a test holds them.
"""

import json
import textwrap
from pathlib import Path
from typing import Any

from transformer_course.checker import progress
from transformer_course.own.location import NAME
from transformer_course.syllabus import LESSONS
from transformer_course.tutor.ladder import Ladder
from transformer_course.tutor.places import Place, place_of, places
from transformer_course.tutor.process import found_out
from transformer_course.tutor.texts import STANDARD_INPUT, cells_of, set_up_of, shown

FORM = 1
"""The version of the JSON; it grows when a key goes or changes its meaning."""

NOT_JUDGED = "not judged"
STATUS = {"right": 0, "wrong": 1, "not attempted": 1, NOT_JUDGED: 2}
"""Exit statuses by verdict."""


def check(file: Path, name: str) -> dict[str, Any]:
    """Judge one answer, note the try or the success, and return what may be shown.

    Whatever is wrong with the file, the name or the answer is said in it.
    """
    try:
        place = place_of(name)
    except ValueError as error:
        return _empty(name) | {"message": str(error)}
    about = _empty(place.exercise.name) | {
        "lesson": place.lesson,
        "title": LESSONS[place.lesson],
        "section": place.exercise.heading,
        "tries": progress.tries().get(place.key, 0),
    }
    try:
        request = _request(file, place)
    except ValueError as error:
        return about | {"message": str(error)}
    found = found_out(request)
    if "problem" in found:
        return about | {"message": found["problem"]}
    return about | _said(place, found)


def _empty(name: str) -> dict[str, Any]:
    return {
        "form": FORM,
        "exercise": name,
        "lesson": "",
        "title": "",
        "section": "",
        "verdict": NOT_JUDGED,
        "message": "",
        "mistakes": [],
        "evidence": None,
        "tries": 0,
        "hints": [],
        "hints_in_all": 0,
        "next_rung": "",
        "gaps": None,
        "solution": None,
    }


def _request(file: Path, place: Place) -> dict[str, Any]:
    here = Path.cwd() if file == STANDARD_INPUT else file.absolute().parent
    own = next((path for path in (here / NAME, Path.cwd() / NAME) if path.exists()), "")
    return {
        "exercise": place.exercise.name,
        "lesson": place.folder,
        "file": shown(file),
        "folder": str(here),
        "cells": cells_of(file),
        "set_up": set_up_of(place.lesson),
        "own": str(own),
        "where": str(place),
    }


def _said(place: Place, found: dict[str, Any]) -> dict[str, Any]:
    """Note what was found out, and return of it what the ladder allows."""
    feedback = found["feedback"]
    if feedback["verdict"] == "wrong" and feedback["answer"]:
        progress.record_try(place.key, feedback["answer"])
    if feedback["verdict"] == "right" and not progress.record(place.key):
        feedback["message"] += f"\n{progress.NOT_SAVED}"
    tries = max(progress.tries().get(place.key, 0), int(feedback["verdict"] == "wrong"))
    ladder = Ladder(tries, len(found["hints"]), feedback["verdict"] == "right")
    mistakes = [{"name": name, **found["records"][name]} for name in feedback["mistakes"]]
    if not ladder.change:
        mistakes = [mistake | {"change": None} for mistake in mistakes]
    return {
        "verdict": feedback["verdict"],
        "message": feedback["message"],
        "mistakes": mistakes,
        "evidence": feedback["evidence"],
        "tries": tries,
        "hints": found["hints"][: ladder.hints],
        "hints_in_all": ladder.hints_in_all,
        "next_rung": ladder.next_rung,
        "gaps": found["gaps"] if ladder.gaps else None,
        "solution": found["solution"] if ladder.solution else None,
    }


def in_words(said: dict[str, Any]) -> str:
    """Return for a reader what :func:`check` found."""
    lines = [f"{said['exercise']}: {said['verdict']}"]
    if said["section"]:
        lines[0] += f" ({said['title']}, {said['section'].partition(':')[0].lower()})"
    lines.append(said["message"])
    changes = [mistake["change"] for mistake in said["mistakes"] if mistake["change"]]
    lines += [f"What to change: {change}" for change in changes]
    lines += [f"Hint {number}: {hint}" for number, hint in enumerate(said["hints"], start=1)]
    if said["verdict"] == "wrong" and said["next_rung"]:
        count = _tries(said["tries"], "different ")
        lines.append(f"{count} so far; the next one opens {said['next_rung']}.")
    lines += _gaps_in_words(said["gaps"])
    if said["verdict"] == "wrong" and said["solution"]:
        lines += ["A solution:", textwrap.indent(said["solution"], "    ")]
    return "\n".join(lines)


def _tries(count: int, kind: str = "") -> str:
    return f"{count} {kind}{'try' if count == 1 else 'tries'}"


def _gaps_in_words(gaps: dict[str, Any] | None) -> list[str]:
    if not gaps:
        return []
    lines = ["With gaps:", textwrap.indent(gaps["code"], "    ")]
    for number, choices in enumerate(gaps["gaps"], start=1):
        lines.append(f"Gap {number}, one of: {' | '.join(each['fragment'] for each in choices)}")
    return lines


def how_far() -> dict[str, Any]:
    """Return what is solved in each lesson, and what is next."""
    solved, tries, all_places = progress.solved(), progress.tries(), places()
    first = next((place for place in all_places if place.key not in solved), None)
    return {
        "form": FORM,
        "solved": sum(place.key in solved for place in all_places),
        "of": len(all_places),
        "next": first and _standing(first, solved, tries) | {"lesson": first.lesson},
        "lessons": [
            {
                "lesson": lesson,
                "title": title,
                "exercises": [
                    _standing(place, solved, tries)
                    for place in all_places
                    if place.lesson == lesson
                ],
            }
            for lesson, title in LESSONS.items()
        ],
    }


def _standing(place: Place, solved: dict[str, str], tries: dict[str, int]) -> dict[str, Any]:
    return {
        "exercise": place.exercise.name,
        "section": place.exercise.heading,
        "minutes": place.exercise.minutes,
        "solved": solved.get(place.key),
        "tries": tries.get(place.key, 0),
    }


def progress_in_words(far: dict[str, Any]) -> str:
    """Return for a reader what :func:`how_far` found."""
    lines = []
    for lesson in far["lessons"]:
        done = sum(bool(each["solved"]) for each in lesson["exercises"])
        lines.append(f"{lesson['lesson']}: {done} of {len(lesson['exercises'])} solved")
        for each in lesson["exercises"]:
            tried = "" if each["solved"] or not each["tries"] else f"  ({_tries(each['tries'])})"
            lines.append(f"    {'x' if each['solved'] else '.'} {each['exercise']}{tried}")
    lines.append(f"{far['solved']} of {far['of']} solved.")
    if far["next"]:
        lines.append(f"Next: {far['next']['lesson']}.ipynb, {far['next']['section']}.")
    return "\n".join(lines)


def to_json(form: dict[str, Any]) -> str:
    """Return a form as JSON."""
    return json.dumps(form, ensure_ascii=False, indent=1)
