"""Sentence pairs, and the splits they come in."""

from dataclasses import dataclass


@dataclass(frozen=True)
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
    """Named splits of sentence pairs in two languages, given by their two-letter codes."""

    name: str
    source_language: str
    target_language: str
    splits: dict[str, list[SentencePair]]

    def split(self, name: str) -> list[SentencePair]:
        """Return one split; raise ValueError if there is none of that name."""
        if name not in self.splits:
            raise ValueError(
                f"the corpus {self.name!r} has no split {name!r}; use one of "
                f"{', '.join(self.splits)}."
            )
        return self.splits[name]
