"""The experiments, one file for each kind, in the order in which they are made."""

from transformer_course.examine.experiments import (  # noqa: F401 - each adds its experiments
    batches,
    gradients,
    learning,
    model,
    step,
    text,
)
