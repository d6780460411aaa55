"""Set-up of the checker's tests."""

import pytest


@pytest.fixture(autouse=True)
def progress_home(tmp_path, monkeypatch):
    """Keep the progress that right answers record away from the home folder."""
    home = tmp_path / "home"
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(home))
    return home
