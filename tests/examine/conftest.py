"""Examinations call a model thousands of times; its signatures are checked in its own tests."""

import pytest


@pytest.fixture(autouse=True)
def without_checks(unchecked_signatures: None) -> None:
    """Examine the models as their makers run them."""
