"""The learner's file in a notebook: handed out as a module, which grows with each right answer."""

import sys
from functools import partial
from types import ModuleType

from transformer_course.checker import exercise
from transformer_course.own.file import NAME, read, repair
from transformer_course.own.join import join
from transformer_course.own.location import own_file, temporary_file
from transformer_course.own.modules import fill

MODULE = NAME.removesuffix(".py")


def begin() -> ModuleType:
    """Return the learner's file as a module; from now on right answers join it."""
    path = own_file()
    try:
        note = repair(path)
    except OSError as error:
        note = (
            f"{path} cannot be made ({error.strerror or error}): what you solve now is kept until "
            f"you close."
        )
        path = temporary_file()
        repair(path)
    if note:
        print(note)
    own = sys.modules.get(MODULE) or ModuleType(MODULE)
    fill(own, read(path), str(path))
    own.__file__ = str(path)
    exercise.ON_SOLVED["own"] = partial(join, own=own)
    return own
