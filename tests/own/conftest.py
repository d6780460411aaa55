import pytest

from tests.own.notebooks import Notebook, own_module


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return own_module(tmp_path)


@pytest.fixture
def notebook(own):
    return Notebook(own)
