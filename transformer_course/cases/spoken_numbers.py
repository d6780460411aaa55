"""Numbers in words, English and French: a small language that one translates without a mistake.

French has the order of English here, and its own arithmetic: 71 is sixty-and-eleven, 99 is
four-twenty-ten-nine; *cent* and *quatre-vingt* take an s where nothing comes after them. Written
without hyphens, so that a word is what blanks part.
"""

import random
from pathlib import Path

from transformer_course.files import write_text

LARGEST = 999_999
TRAINING, TEST = 4000, 200
BLANK = 40
"""The line of ``train.en``, counted from 0, that is blank."""
ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
UN = [
    "zéro",
    "un",
    "deux",
    "trois",
    "quatre",
    "cinq",
    "six",
    "sept",
    "huit",
    "neuf",
    "dix",
    "onze",
    "douze",
    "treize",
    "quatorze",
    "quinze",
    "seize",
    "dix sept",
    "dix huit",
    "dix neuf",
]
DIX = ["", "", "vingt", "trente", "quarante", "cinquante"] + 2 * ["soixante"] + 2 * ["quatre vingt"]


def english(number: int) -> str:
    """Say a number from 1 to 999,999 in English."""
    if number >= 1000:
        return _joined(f"{english(number // 1000)} thousand", english(number % 1000))
    if number >= 100:
        return _joined(f"{ONES[number // 100]} hundred", english(number % 100))
    if number >= 20:
        return _joined(TENS[number // 10], english(number % 10))
    return ONES[number] if number else ""


def french(number: int, is_last: bool = True) -> str:
    """Say a number from 1 to 999,999 in French.

    Parameters
    ----------
    is_last
        Whether no word comes after it, so that *cents* and *quatre vingts* have their s.
    """
    if number >= 1000:
        thousands = number // 1000
        said = "mille" if thousands == 1 else f"{french(thousands, is_last=False)} mille"
        return _joined(said, french(number % 1000))
    if number >= 100:
        hundreds, rest = divmod(number, 100)
        many = "s" if hundreds > 1 and not rest and is_last else ""
        said = "cent" if hundreds == 1 else f"{UN[hundreds]} cent{many}"
        return _joined(said, french(rest, is_last))
    if number >= 20:
        return _french_tens(number, is_last)
    return UN[number] if number else ""


def _french_tens(number: int, is_last: bool) -> str:
    tens, ones = divmod(number, 10)
    if tens in (7, 9):
        ones += 10
    if not ones:
        return DIX[tens] + ("s" if tens == 8 and is_last else "")
    between = " et " if ones in (1, 11) and tens < 8 else " "
    return f"{DIX[tens]}{between}{UN[ones]}"


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def sides(folder: Path, split: str) -> tuple[Path, Path]:
    """Return where the English and the French of a split are."""
    return folder / f"{split}.en", folder / f"{split}.fr"


def write(folder: Path) -> None:
    """Write ``train.en``, ``train.fr``, ``test.en`` and ``test.fr``: other numbers in each split.

    One English line is blank, as in many real texts: its translation stands alone.
    """
    numbers = random.Random(0).sample(range(1, LARGEST + 1), TEST + TRAINING)
    for split, part in {"test": numbers[:TEST], "train": numbers[TEST:]}.items():
        texts = [*map(english, part)], [*map(french, part)]
        if split == "train":
            texts[0][BLANK] = ""
        for path, lines in zip(sides(folder, split), texts, strict=True):
            write_text(path, "\n".join(lines) + "\n")
