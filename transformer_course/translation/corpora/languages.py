"""Languages by their codes."""

import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

from babel import Locale

CODE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")
TABLES = ("csv", "tsv")
NO_CODES = ("txt", "zip", "bz", "xz")  # though "txt" is a language of Indonesia
WITHOUT_BLANKS = ("bo", "dz", "ja", "km", "lo", "my", "th", "yue", "zh")
"""Languages that set no blanks between words."""
FUNCTION_WORDS = Path(__file__).with_name("function_words.toml")
OFTEN, TIMES = 0.1, 2.0
"""Share of function words in a text of a language, and how many times another's it has to be."""


def language_of(path: Path) -> str:
    """Return the language that a file's name ends with: ``train.en`` or ``train.en.gz`` is "en".

    Of a longer code, such as ``zh-Hant``, it is the first part (BCP 47): two or three letters.

    Raises
    ------
    ValueError
        If the name does not end so.
    """
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix.removeprefix(".")
    if suffix in TABLES:
        raise ValueError(
            f"{path} is a table, and each language has to be a file of its own: put its columns "
            f"into two files, such as train.en and train.fr, line by line."
        )
    if not CODE.fullmatch(suffix) or suffix in NO_CODES:
        raise ValueError(
            f"the language of {path} is unknown: let its name end with the code of its language, "
            f"for example train.en, train.haw or train.en.gz."
        )
    return suffix.partition("-")[0]


def is_language(code: str) -> bool:
    """Return whether CLDR knows a language with this code."""
    return code in Locale("en").languages


def language_name(code: str) -> str:
    """Return the English name of a language, or its code where it has none (CLDR's names)."""
    return Locale("en").languages.get(code, code)


def language_seen(counts: Counter[str], named: str) -> str:
    """Return the language that a text seems to be in, from its words in small letters.

    That is the one named, unless function words of another one are clearly more frequent.
    """
    words, total = _function_words(), max(1, counts.total())
    shares = {code: sum(counts[word] for word in each) / total for code, each in words.items()}
    likely = max(shares, key=lambda code: shares[code])
    clear = shares[likely] > OFTEN and shares[likely] > TIMES * shares.get(named, 1.0)
    return likely if clear else named


@cache
def _function_words() -> dict[str, list[str]]:
    content = tomllib.loads(FUNCTION_WORDS.read_text(encoding="utf-8"))
    return {code: words.split() for code, words in content.items()}
