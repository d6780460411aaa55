"""The corpora that a translator can be trained on, each registered once.

How to train on each is in ``training/recipes.py``.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from transformer_course.translation.corpora.corpus import Corpus
from transformer_course.translation.corpora.multi30k import multi30k_corpus
from transformer_course.translation.corpora.text_files import files_corpus
from transformer_course.translation.corpora.toy_language import toy_corpus
from transformer_course.translation.corpora.wmt14 import wmt14_corpus


@dataclass(frozen=True)
class Kind:
    """How a corpus is made.

    Parameters
    ----------
    make
        Draws, reads or downloads it.
    options
        What may be said about its text, by the names of the command line, and as which argument of
        ``make``.
    needs
        Those of the options that must be given.
    """

    make: Callable[..., Corpus]
    options: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()


CORPORA = {
    "toy": Kind(toy_corpus),
    "files": Kind(
        files_corpus,
        {"source": "source", "target": "target", "dev": "dev", "test": "test"},
        ("source", "target"),
    ),
    "multi30k": Kind(multi30k_corpus, {"pair": "pair", "data": "folder"}),
    "wmt14": Kind(
        wmt14_corpus, {"pair": "pair", "data": "folder", "pairs": "pairs", "sample": "seed"}
    ),
}
OPTIONS = tuple(dict.fromkeys(itertools.chain(*(kind.options for kind in CORPORA.values()))))
"""All options that some corpus has."""


def load_corpus(name: str, said: Mapping[str, Any]) -> Corpus:
    """Make a corpus; ``said`` holds the options given, which :func:`check_options` accepts.

    Raises
    ------
    OSError
        If it can be neither read nor downloaded.
    """
    kind = CORPORA[name]
    return kind.make(**{kind.options[option]: value for option, value in said.items()})


def check_name(name: str) -> None:
    """Raise ValueError if there is no such corpus."""
    if name not in CORPORA:
        raise ValueError(f"there is no corpus {name!r}; use one of {', '.join(CORPORA)}.")


def check_options(name: str, said: Mapping[str, Any]) -> None:
    """Raise ValueError if there is no such corpus, or what was said does not fit it."""
    check_name(name)
    kind = CORPORA[name]
    if foreign := [f"--{option}" for option in said if option not in kind.options]:
        known = ", ".join(f"--{option}" for option in kind.options) or "nothing about its text"
        raise ValueError(f"the corpus {name!r} takes no {', '.join(foreign)}; it takes {known}.")
    if any(option not in said for option in kind.needs):
        wanted = " and ".join(f"--{option} FILE" for option in kind.needs)
        raise ValueError(f"the corpus {name!r} needs {wanted}.")
