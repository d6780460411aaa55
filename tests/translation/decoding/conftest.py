import pytest

from transformer_course.model import Transformer

from ...model.small import small_model
from .searches import MAX_LEN


@pytest.fixture(params=[0, 1, 2])
def model(request: pytest.FixtureRequest) -> Transformer:
    """Return an untrained model, whose outputs are as good as random but depend on the source."""
    return small_model(request.param, max_len=MAX_LEN, dropout=0.3)
