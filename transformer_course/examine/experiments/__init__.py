"""The experiments, one file for each kind, in the order in which they are made."""

import importlib

ROOMS = ("model", "gradients", "batches", "step", "learning", "text")
"""What needs no training comes first, so that it is made where time is short."""

for room in ROOMS:
    importlib.import_module(f"{__name__}.{room}")
