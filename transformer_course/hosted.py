"""Whether a notebook runs on Colab or Kaggle, which say so in the environment."""

import os


def on_colab() -> bool:
    """Whether this runs on Colab."""
    return "COLAB_RELEASE_TAG" in os.environ


def hosted() -> bool:
    """Whether this runs on Colab or Kaggle."""
    return on_colab() or "KAGGLE_KERNEL_RUN_TYPE" in os.environ
