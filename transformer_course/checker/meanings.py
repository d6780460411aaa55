"""What an exception usually means, in a sentence: the records of ``meanings.toml``."""

import builtins
import re
import tomllib
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_suffix(".toml")


@cache
def meanings() -> list[dict[str, str]]:
    """Return the records, each with ``error``, ``says``, ``example`` and ``meaning``."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))["meaning"]


def meaning(kind: type[BaseException], message: str) -> str | None:
    """Return what an exception of this type and message usually means, if that is known."""
    for record in meanings():
        fits = issubclass(kind, getattr(builtins, record["error"]))
        if fits and re.search(record.get("says", ""), message):
            return " ".join(record["meaning"].split())
    return None
