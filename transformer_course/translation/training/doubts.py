"""What may be wrong with what a training is given, said before it begins."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from transformer_course.translation.checkpoints import read_json
from transformer_course.translation.corpora.corpus import Corpus
from transformer_course.translation.corpora.languages import language_name, language_seen
from transformer_course.translation.corpora.similarity import words_in
from transformer_course.translation.training.recipes import recipe_for
from transformer_course.translation.training.recorded_runs import what_to_expect
from transformer_course.translation.training.runs import Run
from transformer_course.translation.translator import CONFIG_FILE, Translator

LITTLE = 10_000
"""Sentence pairs below which the settings of that name suit better (``book/own_text.md``)."""
LOOKED_AT = 2000
"""Sentences whose words say in which language a file is."""


def doubts(run: Run, corpus: Corpus, translator: Translator) -> Iterator[str]:
    """Yield a sentence for each."""
    if run.corpus == "files":
        yield from _other_languages(corpus)
        yield from _little_text(run, corpus)
    if run.start is not None:
        yield from _another_direction(run, corpus)
    elif isinstance(wanted := run.recipe.subwords, int):
        there = len(translator.source.vocabulary)
        if there < wanted:
            yield f"the text has {there:,} sub-words only; {wanted:,} were asked for."


def _other_languages(corpus: Corpus) -> Iterator[str]:
    pairs = corpus.split("train")[:LOOKED_AT]
    sides = (
        (corpus.source_language, [pair.source for pair in pairs]),
        (corpus.target_language, [pair.target for pair in pairs]),
    )
    for language, texts in sides:
        counts = Counter(chain.from_iterable(words_in(text, language) for text in texts))
        if (seen := language_seen(counts, language)) != language:
            yield (
                f"what is named {language_name(language)} looks like {language_name(seen)}: are "
                f"the two files exchanged? `transformer-course text` looks at them."
            )


def _little_text(run: Run, corpus: Corpus) -> Iterator[str]:
    pairs = len(corpus.split("train"))
    is_usual = run.recipe.sizes == recipe_for("files").sizes
    if run.start is None and is_usual and pairs < LITTLE:
        yield (
            f"{pairs:,} sentence pairs are few: `--settings little` takes minutes and suits fewer "
            f"than {LITTLE:,}. {what_to_expect(pairs)}"
        )


def _another_direction(run: Run, corpus: Corpus) -> Iterator[str]:
    config = read_json(run.start / CONFIG_FILE)
    known = config["source"]["language"], config["target"]["language"]
    if known != (corpus.source_language, corpus.target_language):
        yield (
            f"{run.start} translates {language_name(known[0])} into {language_name(known[1])}, and "
            f"the text is {language_name(corpus.source_language)} and "
            f"{language_name(corpus.target_language)}: what it knows of other languages, and of "
            f"other letters, helps little."
        )
