"""Sentences and a translator that a test can afford."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.translator import Translator

DETERMINERS = {"the": "le", "my": "mon", "this": "ce"}
NOUNS = {"cat": "chat", "dog": "chien", "king": "roi", "baker": "boulanger"}
VERBS = {"sleeps": "dort", "eats": "mange", "sings": "chante", "dreams": "rêve"}
# The sizes are all different, so that no axis can be taken for another.
SIZES = {
    "d_model": 16,
    "heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "d_ff": 24,
    "dropout": 0.1,
    "max_len": 16,
}


@pytest.fixture(autouse=True, scope="module")
def checked(checked_signatures: None) -> None:
    """Check the signatures in each of these modules."""


@pytest.fixture(autouse=True)
def checked_once(checked_first_case: None) -> None:
    """Check them in the first of a test's cases."""


@pytest.fixture(scope="session")
def pairs() -> list[SentencePair]:
    """48 sentences of three words each, in the order of the tables above."""
    return [
        SentencePair(
            f"{determiner} {noun} {verb}",
            f"{DETERMINERS[determiner]} {NOUNS[noun]} {VERBS[verb]}",
            alignment=((0, 0), (1, 1), (2, 2)),
        )
        for determiner, noun, verb in product(DETERMINERS, NOUNS, VERBS)
    ]


@pytest.fixture(scope="session")
def new_translator(pairs: list[SentencePair]) -> Callable[..., Translator]:
    """Return a function that builds an untrained translator for the pairs."""

    def build(**changes: Any) -> Translator:
        return Translator.from_pairs(pairs, ("en", "fr"), **(SIZES | changes))

    return build


@pytest.fixture
def translator(new_translator: Callable[..., Translator]) -> Translator:
    """Build a translator that a test may change."""
    return new_translator()


@pytest.fixture
def full_memory() -> AbstractContextManager[None]:
    """Return a context manager inside which the process may take at most 2 GiB more."""
    memory = Path("/proc/self/statm")
    if not memory.exists():
        pytest.skip("only Linux says how much memory a process has")
    resource = pytest.importorskip("resource", reason="no limit for memory on Windows")

    @contextmanager
    def limited() -> Iterator[None]:
        usual, hard = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(memory.read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**31, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (usual, hard))

    return limited()
