"""Looks at a test split, each noted in the folder of the run whose translations were scored.

A test split says how good a translator is only as long as nothing is chosen by it. So a look is
noted with the time, and with the counts that BLEU needs of each sentence: runs can be compared
later without a further look, and without the sentences.
"""

import errno
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from jaxtyping import Int

from transformer_course.checks import check_whole
from transformer_course.files import atomic_write, now
from transformer_course.translation.checkpoints import CheckpointError, read_json
from transformer_course.translation.corpora.corpus import SentencePair, fingerprint
from transformer_course.translation.evaluation.metrics import (
    bleu_of_counts,
    bleu_signature,
    sentence_counts,
)
from transformer_course.translation.training.runs import RUN_FILE
from transformer_course.translation.translator import SHIPPED, Translator

TEST = "test"
"""The split that chooses nothing, and judges the result."""
LOOKS_FILE = "looks.jsonl"
NUMBERS = 10
"""Counts of a sentence."""
MOST = 10**6
"""No sentence has more words."""
MAY_NOT_WRITE = (errno.EACCES, errno.EPERM, errno.EROFS)
NEVER = "9999"
"""When a training ended that has not: after all times."""


@dataclass(frozen=True)
class Look:
    """A look at a test split.

    Attributes
    ----------
    at
        When, as :func:`transformer_course.files.now` says it.
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
        signature=bleu_signature(language),
        counts=sentence_counts(translations, references, language).tolist(),
    )
    if folder.resolve().parent != SHIPPED.resolve():
        try:
            _append(folder / LOOKS_FILE, json.dumps(asdict(look)) + "\n")
        except OSError as error:
            if error.errno not in MAY_NOT_WRITE:
                raise
    return look


def _append(path: Path, line: str) -> None:
    """Add a line, or leave the file as it was: a full disk must not cost the looks before."""
    with FileLock(path.with_name(f".{path.name}.lock")):
        before = path.read_bytes() if path.exists() else b""
        with atomic_write(path) as temporary:
            temporary.write_bytes(before + line.encode("utf-8"))


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
    if not path.exists():
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        looks = [Look(**json.loads(line)) for line in lines]
        for look in looks:
            _check(look)
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{path} is damaged ({error}): remove it, and look at the test split again."
        ) from None
    return sorted(looks, key=lambda look: look.at)


@dataclass(frozen=True)
class End:
    """The end of a training: after how many steps, and when; of none, after 0.

    A run that has ended may be asked to go on, and has no step left to take. Then it ended when it
    did, and what was measured since holds.
    """

    step: int = 0
    at: str = NEVER

    @classmethod
    def read(cls, folder: Path) -> "End":
        """Return the end of the run in a folder.

        Raises
        ------
        CheckpointError
            If the folder holds no run, or a damaged one.
        """
        return cls.of(read_json(folder / RUN_FILE))

    @classmethod
    def of(cls, stored: dict[str, Any]) -> "End":
        """Return the end of a run, from what it wrote about itself."""
        return cls(stored.get("result", {}).get("step", 0), stored.get("ended", NEVER))

    def after(self, step: int) -> "End":
        """Return the end of a training that has now come to a step."""
        return self if step == self.step and self.at != NEVER else End(step, now())


def since_the_end(looks: Sequence[Look], ended: str) -> list[Look]:
    """Return the looks at the translator as it is: earlier ones saw it before it went on."""
    return [look for look in looks if look.at >= ended]


@dataclass(frozen=True)
class Measured:
    """How good a translator was on the test split.

    Attributes
    ----------
    bleu
        0 to 100.
    sentences
        How many sentence pairs the split has.
    beam
        Hypotheses that the search kept; 1 is greedy.
    """

    bleu: float
    sentences: int
    beam: int

    @property
    def search(self) -> str:
        """What found the translations, in words."""
        return search_in_words(self.beam)


def search_in_words(beam: int) -> str:
    """Return what finds translations with a beam of this width."""
    return "a greedy search" if beam == 1 else f"a beam of {beam}"


def measured_in(folder: Path) -> Measured | None:
    """Return how good the translator in a folder is, None if its test split was never looked at.

    A look counts if it came after the last training. Of several searches the greedy one counts. A
    translator that ships has its scores in its run.

    Raises
    ------
    CheckpointError
        If the folder holds no run, or what it holds is damaged.
    OSError
        If it cannot be read.
    """
    stored = read_json(folder / RUN_FILE)
    if shipped := stored.get("scores"):
        greedy = shipped.get("greedy") or shipped["test"]
        return Measured(greedy["sacrebleu"], greedy["sentences"], beam=1)
    looks = since_the_end(looks_in(folder), End.of(stored).at)
    if not looks:
        return None
    look = min(looks, key=lambda look: look.beam)
    return Measured(bleu_of_counts(look.table.sum(axis=0)), len(look.counts), look.beam)


def _check(look: Look) -> None:
    """Raise ValueError if a look, which anybody may have written, is not what it should be."""
    texts = [look.at, look.by, look.test, look.signature, *look.languages]
    if not all(isinstance(text, str) for text in texts) or len(look.languages) != 2:
        raise ValueError("a text is missing")
    if datetime.fromisoformat(look.at).utcoffset() != timedelta():
        raise ValueError("a time is not in UTC")
    check_whole("beam", look.beam)
    rows = look.counts
    if not rows or any(len(row) != NUMBERS for row in rows):
        raise ValueError(f"each sentence needs {NUMBERS} counts")
    if not all(type(number) is int and 0 <= number < MOST for row in rows for number in row):
        raise ValueError(f"a count is no whole number below {MOST:,}")
