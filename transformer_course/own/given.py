"""Parts that a learner has not written yet, made in the learner's own file.

So a given part calls the learner's parts where there are any.
"""

import re
import sys
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


class _Given:
    """Has every part's model answer as an attribute, made where it is asked for."""

    def __getattr__(self, name: str) -> Any:
        text, file = part_text(name), f"{COURSE_FILE}{name}>"
        names = sys._getframe(1).f_globals
        exec(compile(text, file, "exec", dont_inherit=True), names)
        make_quotable(text, file)
        return names[name]


given = _Given()
