"""What the translators that ship lose of names, numbers, capitals, *not* and very short input.

    python -m benchmarks.fragile_input          less than a minute

The sentences and what must be left of them are in ``fragile_input.toml``. Translations are by a
beam of five, as the other figures of the card. ``lost and marked`` counts the losses that the mark
"not sure" points at. The toy translator reads its own test split, written in three ways.
"""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.results_file import write_results
from transformer_course.translation import Translator, shipped_checkpoint, toy_corpus
from transformer_course.translation.training.runs import doubt_in

SENTENCES = Path(__file__).with_suffix(".toml")
LANGUAGES = {"multi30k-en-fr": "french", "multi30k-en-de": "german"}
CAPTIONS, CAPITALS = "captions", "captions in capitals"
BEAM = 5


class Row(NamedTuple):
    """A sentence, and the pattern of what its translation must hold, for each language."""

    sentence: str
    must: dict[str, re.Pattern[str]]


def main() -> None:
    """Translate and count; write ``results/fragile_input.json``."""
    sets = read_sets()
    results: dict[str, Any] = {
        name: {"sentences": len(rows), "survive": {}, "lost and marked": {}, "translations": {}}
        for name, rows in sets.items()
    }
    for translator, language in LANGUAGES.items():
        folder = shipped_checkpoint(translator)
        ours, doubt = Translator.load(folder), doubt_in(folder)
        for name, rows in sets.items():
            scored = ours.translate_with_scores([row.sentence for row in rows], beam=BEAM)
            said = [text for text, _ in scored]
            lasting = lasts_in(rows, said, language)
            results[name]["survive"][translator] = sum(lasting)
            results[name]["lost and marked"][translator] = sum(
                score < doubt and not lasts
                for (_, score), lasts in zip(scored, lasting, strict=True)
            )
            results[name]["translations"][translator] = [
                f"{'+' if lasts else '-'} {row.sentence} = {text}"
                for row, text, lasts in zip(rows, said, lasting, strict=True)
            ]
    toy = toy_in_capitals()
    for name, found in results.items():
        print(
            f"{name}: {found['survive']} of {found['sentences']}, "
            f"lost and marked {found['lost and marked']}"
        )
    print(toy)
    write_results("fragile_input", {"beam": BEAM, "sets": results, "toy": toy})


def lasts_in(rows: Sequence[Row], said: Sequence[str], language: str) -> list[bool]:
    """Say for each sentence whether what must survive is in its translation."""
    pairs = zip(rows, said, strict=True)
    return [bool(row.must[language].search(text)) for row, text in pairs]


def read_sets() -> dict[str, list[Row]]:
    """Read the sets; the captions come a second time, in capitals."""
    stored = tomllib.loads(SENTENCES.read_text(encoding="utf-8"))
    sets = {name: [_row(cells, of) for cells in of["rows"]] for name, of in stored.items()}
    sets[CAPITALS] = [row._replace(sentence=row.sentence.upper()) for row in sets[CAPTIONS]]
    return sets


def _row(cells: list[str], of: dict[str, Any]) -> Row:
    sentence, *musts = cells
    languages = LANGUAGES.values()
    wanted = zip(languages, musts or [of[language] for language in languages], strict=True)
    make = whole_text if of.get("whole") else all_in_text
    return Row(sentence, {language: make(must) for language, must in wanted})


def all_in_text(must: str) -> re.Pattern[str]:
    """Return a pattern that finds a text with one word of each group, in any order."""
    groups = must.split(" & ")
    ahead = "".join(rf"(?=.*(?<![\w-])(?:{group})(?![\w-]))" for group in groups)
    return re.compile("^" + ahead, re.IGNORECASE)


def whole_text(must: str) -> re.Pattern[str]:
    """Return a pattern that finds a text that is one of these, full stop apart."""
    return re.compile(rf"^(?:{must})\W*$", re.IGNORECASE)


def toy_in_capitals() -> dict[str, Any]:
    """Count exact matches of the toy translator on its test split, written in three ways."""
    toy, test = Translator.load(shipped_checkpoint("toy")), toy_corpus().split("test")
    ways = {"as trained": str, "first letter": str.capitalize, "all letters": str.upper}
    right = {}
    for name, write in ways.items():
        said = toy.translate([write(pair.source) for pair in test])
        right[name] = sum(s == pair.target for s, pair in zip(said, test, strict=True))
    return {"sentences": len(test), "right": right}


if __name__ == "__main__":
    main()
