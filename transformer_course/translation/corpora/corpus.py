"""Sentence pairs, and the splits they come in."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence and its translation.

    Parameters
    ----------
    source, target
        The two sentences.
    alignment
        Gold links (source word, target word), counted from 0; empty where nobody knows them.
    """

    source: str
    target: str
    alignment: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Corpus:
    """Named splits of sentence pairs in two languages, given by their codes.

    ``left_out`` says how many pairs of the text are in none of the splits, by reason.
    """

    name: str
    source_language: str
    target_language: str
    splits: dict[str, list[SentencePair]]
    left_out: dict[str, int] = field(default_factory=dict)

    def split(self, name: str) -> list[SentencePair]:
        """Return one split; raise ValueError if there is none of that name."""
        if name not in self.splits:
            raise ValueError(
                f"the corpus {self.name!r} has no split {name!r}; use one of "
                f"{', '.join(self.splits)}."
            )
        return self.splits[name]

    @property
    def held_out(self) -> str:
        """The fingerprint of all that training does not see."""
        others = (pairs for name, pairs in self.splits.items() if name != "train")
        return fingerprint(chain.from_iterable(others))

    def without_long(self, most_words: int) -> "Corpus":
        """Leave the training pairs out that have more words than this on a side, and count them.

        Words are what blanks separate. Dev and test keep their long sentences: whoever drops them
        there measures an easier task than others do.

        Raises
        ------
        ValueError
            If no pair is left.
        """
        train = self.split("train")
        short = [
            pair
            for pair in train
            if max(len(pair.source.split()), len(pair.target.split())) <= most_words
        ]
        if train and not short:
            raise ValueError(
                f"all {len(train):,} training pairs have over {most_words} words on a side: put "
                f"one sentence on each line, or raise text.most_words."
            )
        dropped = {f"over {most_words} words, in train": len(train) - len(short)}
        return replace(
            self, splits=self.splits | {"train": short}, left_out=self.left_out | counted(dropped)
        )


def fingerprint(pairs: Iterable[SentencePair]) -> str:
    """Return the SHA-256 of the sentences, which tells another text from the same one."""
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update(f"{pair.source}\n{pair.target}\n".encode())
    return digest.hexdigest()


def counted(numbers: dict[str, int]) -> dict[str, int]:
    """Return the numbers that are not 0: nobody needs to read that nothing was left out."""
    return {reason: number for reason, number in numbers.items() if number}


def languages_of_pair(pair: str, pairs: Sequence[str]) -> tuple[str, str]:
    """Split ``"en-fr"`` into its languages; raise ValueError if it is not one of ``pairs``."""
    if pair not in pairs:
        raise ValueError(f"there is no pair {pair!r} here; use one of {', '.join(pairs)}.")
    source, target = pair.split("-")
    return source, target
