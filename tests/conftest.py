"""Set-up of all tests."""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count

import jaxtyping
import pytest

# The hook rewrites modules while they are imported: it stands before any import of the course.
# Corpora hold no tensors before they are batches; drawing the toy's would take ten times as long.
WITH_TENSORS = ["corpora.batches", "decoding", "evaluation", "training", "translator"]
jaxtyping.install_import_hook(
    [
        "transformer_course.model",
        *(f"transformer_course.translation.{room}" for room in WITH_TENSORS),
    ],
    "beartype.beartype",
)
# Switched on where a room has its own tests; all others call models as people do, and faster.
jaxtyping.config.update("jaxtyping_disable", True)
# No test has to outlive a power cut, and thousands of files would wait for the disk.
os.fsync = lambda descriptor: None
NUMBERS = count()


def pytest_collection_finish() -> None:
    """Let Python look for garbage less often, and not in what thousands of tests brought.

    A tenth of the time went into that.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_sessionfinish() -> None:
    """Look for garbage a last time; pytest and Python look six times more before they end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def progress_home(tmp_path_factory, monkeypatch):
    """Keep the progress that right answers record away from the home folder."""
    # Not made here: to make a numbered folder, pytest reads the names of all that are there.
    home = tmp_path_factory.getbasetemp() / f"home-{next(NUMBERS)}"
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def no_answer_joins_a_file(monkeypatch):
    """Forget what the set-up of a lesson does with right answers."""
    monkeypatch.setattr("transformer_course.checker.exercise.ON_SOLVED", {})


@pytest.fixture(scope="module")
def checked_signatures() -> Iterator[None]:
    """Check the shapes in the signatures at every call."""
    jaxtyping.config.update("jaxtyping_disable", False)
    yield
    jaxtyping.config.update("jaxtyping_disable", True)


@pytest.fixture
def checked_first_case(checked_signatures: None, request: pytest.FixtureRequest) -> Iterator[None]:
    """Check the signatures in a test's first case only, unless the exhaustive tests run as well.

    The other cases call the same functions; checking them took more time than running them.
    """
    cases = getattr(request.node, "callspec", None)
    repeated = cases is not None and any(cases.indices.values())
    jaxtyping.config.update("jaxtyping_disable", repeated and bool(request.config.option.markexpr))
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def unchecked_signatures(checked_signatures: None) -> Iterator[None]:
    """Switch the checks off again, so that the course's own words about bad input are heard."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def full_disk() -> Callable[[int], AbstractContextManager[None]]:
    """Return a context manager inside which no file can grow beyond so many bytes."""
    resource = pytest.importorskip("resource", reason="no limit for files on Windows")

    @contextmanager
    def limited(largest: int) -> Iterator[None]:
        usual, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (usual, hard))

    return limited


@pytest.fixture
def read_only_folders() -> None:
    """Skip where a folder cannot be closed: to root, and on Windows."""
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        pytest.skip("root and Windows may write into a read-only folder")
