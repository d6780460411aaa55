"""The model is called as its signatures say."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def checked(checked_signatures: None) -> None:
    """Check the signatures in each of these modules."""


@pytest.fixture(autouse=True)
def checked_once(checked_first_case: None) -> None:
    """Check them in the first of a test's cases."""
