"""Set-up of all tests: the shapes in the signatures are checked at every call."""

from collections.abc import Iterator

import jaxtyping
import pytest

# The hook rewrites modules while they are imported: it stands before any import of the course.
jaxtyping.install_import_hook(
    ["transformer_course.model", "transformer_course.translation"], "beartype.beartype"
)


@pytest.fixture(autouse=True)
def progress_home(tmp_path_factory, monkeypatch):
    """Keep the progress that right answers record away from the home folder."""
    home = tmp_path_factory.mktemp("progress") / "home"
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(home))
    return home


@pytest.fixture
def unchecked_signatures() -> Iterator[None]:
    """Switch the signature checks off, so that the course's own words about bad input are heard."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
