"""Looks at a test split, each noted in the folder of the run whose translations were scored.

A test split says how good a translator is only as long as nothing is chosen by it. So a look is
noted with the time, and with the counts that BLEU needs of each sentence: runs can be compared
later without a further look, and without the sentences.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from jaxtyping import Int

from transformer_course.translation.checkpoints import CheckpointError
from transformer_course.translation.corpora.corpus import SentencePair, fingerprint
from transformer_course.translation.evaluation.metrics import scores, sentence_counts
from transformer_course.translation.translator import SHIPPED, Translator

TEST = "test"
LOOKS_FILE = "looks.jsonl"
NUMBERS = 10
"""Counts of a sentence."""
MOST = 10**6
"""No sentence has more words."""


@dataclass(frozen=True)
class Look:
    """A look at a test split.

    Attributes
    ----------
    at
        When, as :func:`now` says it.
    by
        The command that looked.
    beam
        Hypotheses kept by the search.
    languages
        Codes of source and target.
    test
        The fingerprint of the split.
    signature
        sacreBLEU's.
    counts
        See :func:`~transformer_course.translation.sentence_counts`.
    """

    at: str
    by: str
    beam: int
    languages: list[str]
    test: str
    signature: str
    counts: list[list[int]]

    @property
    def table(self) -> Int[np.ndarray, "sentences 10"]:
        """The counts, a row for each sentence."""
        return np.array(self.counts)


def now() -> str:
    """Return the time, such that times can be compared as texts."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def note_look(
    folder: Path,
    by: str,
    beam: int,
    translator: Translator,
    pairs: Sequence[SentencePair],
    translations: Sequence[str],
) -> Look:
    """Note that the translations of a run's test split were scored.

    Nothing is written to the translators that ship, nor where nobody may write.
    """
    language, references = translator.target.language, [pair.target for pair in pairs]
    look = Look(
        at=now(),
        by=by,
        beam=beam,
        languages=[translator.source.language, language],
        test=fingerprint(pairs),
        signature=scores(translations, references, language)["signature"],
        counts=sentence_counts(translations, references, language).tolist(),
    )
    if folder.resolve().parent != SHIPPED.resolve():
        with suppress(PermissionError), (folder / LOOKS_FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(look)) + "\n")
    return look


def looks_in(folder: Path) -> list[Look]:
    """Return all looks that are noted in the folder of a run, the first one first.

    Raises
    ------
    CheckpointError
        If the notes are damaged.
    OSError
        If they cannot be read.
    """
    path = folder / LOOKS_FILE
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    try:
        looks = [Look(**json.loads(line)) for line in lines]
        for look in looks:
            _check(look)
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{path} is damaged ({error}): remove it, and look at the test split again."
        ) from None
    return sorted(looks, key=lambda look: look.at)


def _check(look: Look) -> None:
    """Raise ValueError if a look, which anybody may have written, is not what it should be."""
    texts = [look.at, look.by, look.test, look.signature, *look.languages]
    if not all(isinstance(text, str) for text in texts) or len(look.languages) != len("st"):
        raise ValueError("a text is missing")
    if datetime.fromisoformat(look.at).utcoffset() != timedelta():
        raise ValueError("a time is not in UTC")
    rows = look.counts
    if not rows or any(len(row) != NUMBERS for row in rows):
        raise ValueError(f"each sentence needs {NUMBERS} counts")
    if not all(type(number) is int and 0 <= number < MOST for row in rows for number in row):
        raise ValueError("a count is no whole number")
