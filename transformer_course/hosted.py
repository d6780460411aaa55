"""Whether a notebook runs on Colab or Kaggle, which say so in the environment."""

import os

COLAB = "COLAB_RELEASE_TAG"
HOSTED = (COLAB, "KAGGLE_KERNEL_RUN_TYPE")


def on_colab() -> bool:
    """Whether this runs on Colab."""
    return COLAB in os.environ


def hosted() -> bool:
    """Whether this runs on Colab or Kaggle."""
    return any(variable in os.environ for variable in HOSTED)
