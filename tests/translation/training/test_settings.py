import math
from typing import Any

import pytest

from transformer_course.translation.training.settings import TrainingSettings


@pytest.mark.parametrize(
    "change",
    [
        {"steps": 0},
        {"steps": 1.5},
        {"batch_tokens": 0},
        {"evaluate_every": -1},
        {"dev_sentences": 0},
        {"minutes": 0.0},
        {"minutes": math.nan},
        {"minutes": math.inf},
        {"learning_rate": 0.0},
        {"learning_rate": math.nan},
        {"clip_norm": 0.0},
        {"warmup": 0.0},
        {"warmup": 1.0},
        {"smoothing": 1.0},
        {"smoothing": -0.1},
        {"weight_decay": -0.1},
        {"weight_decay": math.nan},
        {"threads": 0},
        {"threads": 1.5},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": 2**32},
        {"schedule": "linear"},
        {"schedule": "noam", "minutes": 1.0},
    ],
    ids=repr,
)
@pytest.mark.usefixtures("unchecked_signatures")
def test_settings_that_make_no_sense_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        TrainingSettings(**change)
