"""What a BLEU means, as a rule of thumb of the documentation of Google Cloud Translation."""

MEANINGS = {
    0: "almost useless",
    10: "the gist is hard to get",
    20: "the gist is clear, though the grammar is bad",
    30: "understandable",
    40: "good",
}
"""What a BLEU from this one on means."""


def meaning_of(bleu: float) -> str:
    """Return what a BLEU means as a rule, which depends on the language and on the text."""
    return next(words for least, words in reversed(MEANINGS.items()) if bleu >= least)
