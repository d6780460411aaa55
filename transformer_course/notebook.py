"""Inside a notebook: the set-up of every lesson, sources and errors shown, and other lessons."""

import inspect
import textwrap
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from types import ModuleType

from IPython.display import display

from transformer_course.checker import exercise
from transformer_course.hosted import on_colab
from transformer_course.own.file import yours
from transformer_course.own.given import part_text
from transformer_course.own.location import RECORDS
from transformer_course.own.sections import parts
from transformer_course.own.session import begin
from transformer_course.syllabus import colab_link
from transformer_course.workspace import home
from transformer_course.workspace.outline import standing


def setup(lesson: str = "") -> ModuleType:
    """Prepare a lesson: the theme of the pictures, and charts that this front end can show.

    From now on right answers join the learner's ``my_transformer.py``.

    Parameters
    ----------
    lesson
        Its name, such as ``02_attention``. With it, the set-up says how far the reader is in the
        lesson, and what is next.

    Returns
    -------
    own
        That file as a module.
    """
    # Importing the pictures registers their theme and their renderer.
    import transformer_course.plots  # noqa: F401

    own = begin()
    if not lesson:
        print("Ready.")
        return own
    if (Path.cwd() / RECORDS).is_dir():
        with suppress(OSError):  # a lesson works without its home page
            home.write(Path.cwd())
    try:
        display(standing(lesson))
    except FileNotFoundError:  # a lesson that is built for the first time
        print("Ready.")
        return own
    exercise.ON_SOLVED["next"] = lambda *_: what_is_next(lesson)
    return own


def what_is_next(lesson: str) -> str:
    """Say in a sentence which exercise of a lesson is next."""
    left = standing(lesson).next
    return f"Next: {left.title}, {left.minutes} minutes." if left else "This lesson is solved."


def lesson_address(lesson: str) -> str:
    """Return the address that opens a lesson, such as ``05_layers``, from where the reader is.

    In JupyterLab that is the file beside this one. Colab has only one file open, so there it is
    the address of the other in the repository.
    """
    if not on_colab():
        return f"{lesson}.ipynb"
    urls = metadata.metadata("transformer-course").get_all("Project-URL") or []
    addresses = dict(url.split(", ", 1) for url in urls)
    return colab_link(addresses["repository"], lesson)


def show_source(thing: type | Callable[..., object]) -> None:
    """Display the source of a class or function.

    It is shown as a Markdown code block, which each front end colours to suit its own light or
    dark theme.

    Raises
    ------
    TypeError
        If ``thing`` is neither a class nor a function written in Python, or its source is nowhere,
        as that of a class in a cell.
    """
    try:
        source = _source(thing).rstrip()
    except TypeError as error:
        raise TypeError(
            f"show_source got {thing!r}; it wants a class or function written in Python, in a "
            "file: pass the thing itself, not a call or an instance of it"
        ) from error
    # Four backticks, because a docstring may hold three.
    display(
        {"text/markdown": f"````python\n{source}\n````", "text/plain": source},
        raw=True,
    )


def _source(thing: type | Callable[..., object]) -> str:
    try:
        return inspect.getsource(thing)
    except OSError:  # a class that the learner's file takes from the course, or one of a cell
        if thing.__name__ not in parts():
            raise TypeError("its source is not in a file") from None
        return part_text(thing.__name__)


def show_error(call: Callable[..., object], *arguments: object, **settings: object) -> None:
    """Print the error that a call raises: its type and its message.

    Raises
    ------
    AssertionError
        If the call raises nothing.
    """
    try:
        call(*arguments, **settings)
    except Exception as error:
        print(textwrap.fill(f"{type(error).__name__}: {error}", width=80), end="\n\n")
    else:
        raise AssertionError("an error was expected here, and the call raised none.")


def whose_parts(own: ModuleType) -> str:
    """Say how many parts of the learner's file are the learner's own."""
    mine, total = len(yours(Path(own.__file__))), len(parts())
    if mine == total:
        return f"All {total} parts are yours."
    return f"{mine} of {total} parts are yours; the others are the course's for now."
