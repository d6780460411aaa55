"""Train lesson 9's translator on text like that of the run it is compared with, and score it.

    python -m tools.moses_text_run en-de --data FOLDER    two hours

Wu et al. (2021) lower-case the captions and cut them by Moses' rules before a model sees them. All
else is the long recipe. sacreBLEU warns that such text is cut, which it should be here. A run that
was stopped, with Ctrl-C for example, goes on where it was.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from tools.command import command
from tools.recorded_runs import BEAM, train_to_the_end
from transformer_course.translation import SentencePair, bleu_from_scratch
from transformer_course.translation.checkpoints import write_json
from transformer_course.translation.corpora.corpus import Corpus
from transformer_course.translation.evaluation.metrics import moses_words
from transformer_course.translation.training.recipes import LONG_RUN
from transformer_course.translation.training.recorded_runs import results_file
from transformer_course.translation.training.runs import Run, environment

WORK = Path(".make/moses_text_run")


def main() -> None:
    """Train, translate the test split and write down the BLEU of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pair", choices=("en-fr", "en-de"))
    parser.add_argument("--data", type=Path, help="folder with the Multi30k files")
    options = parser.parse_args()

    recipe = replace(LONG_RUN, training=replace(LONG_RUN.training, threads=1))
    run = Run("multi30k", recipe, pair=options.pair, data=options.data)
    corpus = in_moses_words(run.load_corpus())
    trainer = train_to_the_end(run, WORK / options.pair, corpus)
    last = trainer.history[-1]
    test = corpus.split("test")
    translations = trainer.translator.translate([pair.source for pair in test], beam=BEAM)
    score = bleu_of_words(translations, [pair.target for pair in test])
    result = {
        "bleu_tokenized_lowercase": score,
        "beam": BEAM,
        "steps": last["step"],
        "minutes": last["seconds"] / 60,
        "dev_bleu": last["dev_bleu"],
        "precision": trainer.facts()["precision"],
        "command": command("tools.moses_text_run"),
        **environment(),
        "translations": translations,
    }
    write_json(results_file(options.pair, "moses"), result)
    print(f"BLEU {score:.2f}")


def in_moses_words(corpus: Corpus) -> Corpus:
    """Put every text of the corpus into lower case, with a blank between words and marks."""

    def cut(text: str, language: str) -> str:
        return " ".join(moses_words(text, language))

    source, target = corpus.source_language, corpus.target_language
    splits = {
        name: [SentencePair(cut(pair.source, source), cut(pair.target, target)) for pair in pairs]
        for name, pairs in corpus.splits.items()
    }
    return replace(corpus, splits=splits)


def bleu_of_words(translations: list[str], references: list[str]) -> float:
    """Return the BLEU, 0 to 100, of texts whose words are cut already."""
    words, wanted = ([text.split() for text in texts] for texts in (translations, references))
    return 100 * bleu_from_scratch(words, wanted)


if __name__ == "__main__":
    main()
