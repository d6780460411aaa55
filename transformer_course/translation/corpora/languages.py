"""Languages by their codes."""

import re
from pathlib import Path

from babel import Locale

CODE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
NO_CODES = ("txt", "csv", "tsv", "zip", "bz", "xz")  # though "txt" is a language of Indonesia
WITHOUT_BLANKS = ("bo", "dz", "ja", "km", "lo", "my", "th", "yue", "zh")
"""Languages that set no blanks between words."""


def language_of(path: Path) -> str:
    """Return the language that a file's name ends with: ``train.en`` or ``train.en.gz`` is "en".

    Of a longer code, such as ``zh-Hant``, it is the first part (BCP 47): two or three letters.

    Raises
    ------
    ValueError
        If the name does not end so.
    """
    suffix = Path(path.name.removesuffix(".gz")).suffix.removeprefix(".")
    if not CODE.fullmatch(suffix) or suffix in NO_CODES:
        raise ValueError(
            f"the language of {path} is unknown: let its name end with the code of its language, "
            f"for example train.en, train.haw or train.en.gz."
        )
    return suffix.partition("-")[0].lower()


def language_name(code: str) -> str:
    """Return the English name of a language, or its code where it has none (CLDR's names)."""
    return Locale("en").languages.get(code, code)
