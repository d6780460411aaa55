"""The model is called as its signatures say."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def checked(checked_signatures: None) -> None:
    """Check the signatures in each of these tests."""
