"""A file of the learner's as a module, made from its text."""

import sys
from types import ModuleType

# The file imports it; the first time that takes seconds, which are not the learner's.
import transformer_course.own.given  # noqa: F401
from transformer_course.checker.answers import make_quotable
from transformer_course.checker.exits import no_exit
from transformer_course.checker.time_limits import TIME_LIMIT, time_limit


def fill(module: ModuleType, text: str, file: str) -> None:
    """Execute a file's text in a module, in place of what it held.

    Raises
    ------
    BaseException
        Whatever the text raises; TimeLimitReached if it never ends.
    """
    code = compile(text, file, "exec", dont_inherit=True)
    for name in [name for name in vars(module) if not name.startswith("__")]:
        delattr(module, name)
    # Dataclasses, and the file itself, look their module up.
    sys.modules[module.__name__] = module
    make_quotable(text, file)
    with no_exit(), time_limit(TIME_LIMIT):
        exec(code, vars(module))


def module_of(text: str, name: str, file: str) -> ModuleType:
    """Return a new module with a file's text executed in it; errors are those of :func:`fill`."""
    module = ModuleType(name)
    fill(module, text, file)
    return module
