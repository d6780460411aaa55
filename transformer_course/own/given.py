"""Parts that a learner has not written yet, made in the learner's own file.

So a given part calls the learner's parts where there are any.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from transformer_course import exercises
from transformer_course.checker.answers import COURSE_FILE, definition_in, make_quotable
from transformer_course.own.sections import parts


@cache
def part_text(name: str) -> str:
    """Return the model answer of a part, without its decorators.

    It is read, not imported: a lesson should not have to wait for the exercises of all others.

    Raises
    ------
    AttributeError
        If there is no part of that name.
    """
    lesson = parts().get(name)
    if lesson is None:
        raise AttributeError(f"the course has no part {name!r}; take this line out of your file.")
    file = re.sub("(?<!^)(?=[A-Z])", "_", name).lower()
    source = Path(exercises.__file__).parent / lesson / f"{file}.py"
    return definition_in(source.read_text(encoding="utf-8"), name) + "\n"


class Given:
    """Has every part's model answer as an attribute, made in the learner's file.

    Parameters
    ----------
    names
        The global names of that file: what an answer calls is looked up in them, and what it
        defines is added to them.
    """

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def __getattr__(self, part: str) -> Any:
        text, file = part_text(part), f"{COURSE_FILE}{part}>"
        exec(compile(text, file, "exec", dont_inherit=True), self._names)
        make_quotable(text, file)
        return self._names[part]
