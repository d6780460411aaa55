"""What has moved or been renamed since notebooks and learners' answers first named it."""

import pkgutil
from collections.abc import Callable
from typing import Any

COURSE = "transformer_course"
# Old name: where it is now, a module or what a module holds.
OLD_NAMES = {
    "model.inference_mode": "model:evaluating",
    "model.invariance": "invariance.properties",
    "model.memory_summary": "costs:memory_summary",
    "model.parameter_summary": "costs:parameter_summary",
    "translation.FastDecoding": "old_names:fast_decoding",
    "translation.Decoder": "translation:PrefixScorer",
    "translation.batches": "translation.corpora.batches",
    "translation.cached_decoder": "translation.decoding",
    "translation.loss": "translation.training.loss",
    "translation.ngram_overlap": "translation.evaluation.bleu",
    "translation.schedule": "translation.training.schedule",
}


def old_names_of(package: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package: Python calls it for names that are not there."""

    def find(name: str) -> Any:
        old = f"{package}.{name}".removeprefix(f"{COURSE}.")
        if old not in OLD_NAMES:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # Only now: the new place may need the package that is asked.
        return pkgutil.resolve_name(f"{COURSE}.{OLD_NAMES[old]}")

    return find


def fast_decoding(_model: Any) -> type:
    """Return the decoder with a cache, which is as fast now as the one that this made."""
    return pkgutil.resolve_name(f"{COURSE}.translation:CachedDecoder")
