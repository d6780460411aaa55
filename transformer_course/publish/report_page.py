"""A report on a training or several: how good the translator is, where it fails, what it costs."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pandas as pd

from transformer_course.plots.failures import scores_by_bin
from transformer_course.plots.training import curve_comparison, training_curves
from transformer_course.publish.document import (
    Cell,
    check_page,
    code,
    figure,
    heading,
    paragraph,
    table,
    weights_table,
    write_document,
)
from transformer_course.publish.rule_of_thumb import MEANINGS, meaning_of
from transformer_course.translation.checkpoints import read_json
from transformer_course.translation.corpora.corpus import Corpus, SentencePair
from transformer_course.translation.corpora.languages import language_name
from transformer_course.translation.corpora.vocabulary import SPECIAL_TOKENS, UNK
from transformer_course.translation.evaluation.failures import (
    beginnings,
    count_words,
    failure_table,
    summary_by,
    unseen_words,
    words_of,
)
from transformer_course.translation.evaluation.metrics import (
    Interval,
    paired_bootstrap,
    scores_with_intervals,
)
from transformer_course.translation.training.looks import TEST, note_look, search_in_words
from transformer_course.translation.training.progress import verdict
from transformer_course.translation.training.runs import (
    RUN_FILE,
    Run,
    corpus_of,
    doubt_in,
    steps_trained,
)
from transformer_course.translation.training.state import METRICS_FILE
from transformer_course.translation.translator import MODEL_FILE, Translator

MOST_RUNS = 4
"""Lines of a picture that can be told apart."""
SHOWN, WORST = 20, 10
LONG_SENTENCE = 25
"""Tokens of a sentence whose attention still fits a picture."""
RULE_OF_THUMB = (
    "What does a BLEU mean? The documentation of Google Cloud Translation gives a rule of thumb: "
    f"from {'; from '.join(f'{least} {words}' for least, words in MEANINGS.items())}. It depends "
    'on the language and the text so much that Post (2018), "A Call for Clarity in Reporting BLEU '
    'Scores", compares none across test sets. Read the twenty translations below before you '
    "believe a figure."
)
BINS = {"source_words": [5, 10, 15, 20], "unseen_words": [0, 1, 2], "rare_words": [0, 1, 2]}
NOT_SURE = ", not sure"
MANY = 1 / 3
"""Share of the translations that do not begin with the same words by chance."""


@dataclass
class Judged:
    """A run, and what its translator makes of a test split."""

    name: str
    folder: Path
    run: Run
    corpus: Corpus
    beam: int

    @cached_property
    def translator(self) -> Translator:
        """The translator."""
        return Translator.load(self.folder)

    @cached_property
    def stored(self) -> dict:
        """All that the run wrote about itself."""
        return read_json(self.folder / RUN_FILE)

    @cached_property
    def history(self) -> pd.DataFrame | None:
        """The looks at the dev split; a translator that ships has none."""
        path = self.folder / METRICS_FILE
        return pd.read_csv(path) if path.exists() else None

    @property
    def pairs(self) -> list[SentencePair]:
        """The test split."""
        return self.corpus.split(TEST)

    @property
    def references(self) -> list[str]:
        """The translations that people made."""
        return [pair.target for pair in self.pairs]

    @cached_property
    def scored(self) -> list[tuple[str, float]]:
        """The translations, each with how sure the translator is."""
        return self.translator.translate_with_scores([p.source for p in self.pairs], beam=self.beam)

    @property
    def translations(self) -> list[str]:
        """The translations."""
        return [text for text, _ in self.scored]

    @cached_property
    def scores(self) -> list[Interval]:
        """The scores of the test split."""
        return scores_with_intervals(
            self.translations, self.references, self.translator.target.language
        )

    @cached_property
    def known(self) -> Counter[str]:
        """How often training showed each source word."""
        train = (pair.source for pair in self.corpus.split("train"))
        return count_words(train, self.translator.source.language)

    @cached_property
    def failures(self) -> pd.DataFrame:
        """The sentences, with what may explain their failure."""
        found = failure_table(self.translator, self.pairs, self.translations, self.known)
        scores = [score for _, score in self.scored]
        doubt = doubt_in(self.folder)
        return found.assign(
            log_probability=scores, unsure=[doubt is not None and s < doubt for s in scores]
        )


def write_report(
    folders: Sequence[Path], path: Path, beam: int = 1, data: Path | None = None
) -> None:
    """Write a page on one run, or on several with the same test split; note the look at it.

    Parameters
    ----------
    folders
        What ``transformer-course train --output`` wrote; the first is described in detail.
    path
        The page; one that is already there is replaced.
    beam
        Hypotheses kept by the search; 1 is greedy.
    data
        Folder with the corpus, if it has moved.

    Raises
    ------
    CheckpointError
        If a folder holds no run, or a damaged one.
    ValueError
        If the page's name does not end in ``.html``, there are too many runs, a corpus has no test
        split, or runs have different ones.
    OSError
        If a text cannot be read or the page not be written.
    """
    check_page(path)
    if len(folders) > MOST_RUNS:
        raise ValueError(f"a report compares {MOST_RUNS} runs at most; got {len(folders)}.")
    judged = [
        _judged(name, folder, beam, data)
        for name, folder in zip(_names(folders), folders, strict=True)
    ]
    first = judged[0]
    for other in judged[1:]:
        if other.pairs != first.pairs:
            raise ValueError(
                f"{other.folder} and {first.folder} have different test splits, so their scores "
                f"cannot be compared: train both on the same files with the same --test."
            )
    sides = first.translator.source, first.translator.target
    source, target = (language_name(side.language) for side in sides)
    names = " and ".join(each.name for each in judged)
    write_document(path, f"{source} into {target}: {names}", _parts(judged))
    for each in judged:
        note_look(each.folder, "report", beam, each.translator, each.pairs, each.translations)


def _names(folders: Sequence[Path]) -> list[str]:
    """Return the names of the folders, or their paths if two have the same name."""
    names = [folder.resolve().name for folder in folders]
    return names if len({*names}) == len(names) else [*map(str, folders)]


def _judged(name: str, folder: Path, beam: int, data: Path | None) -> Judged:
    run = Run.read(folder).with_data(data)
    return Judged(name, folder, run, corpus_of(folder, run), beam)


def _parts(judged: Sequence[Judged]) -> Iterator[str]:
    first = judged[0]
    yield from _training(judged)
    yield from _scores(judged)
    if len(judged) > 1:
        yield from _compared(judged)
    yield from _curves(judged)
    yield from _where_it_fails(first)
    yield from _sentences(first)
    yield from _unseen(first)
    yield from _one_failure(first)
    yield from _cost(judged)


def _training(judged: Sequence[Judged]) -> Iterator[str]:
    columns = ("run", "training pairs", "test pairs", "weights", "steps", "seed", "date", "machine")
    rows = [
        (
            each.name,
            len(each.corpus.split("train")),
            len(each.pairs),
            sum(weight.numel() for weight in each.translator.model.parameters()),
            steps_trained(each.folder) or "not ended",
            each.run.recipe.training.seed,
            each.stored["date"],
            each.stored["machine"],
        )
        for each in judged
    ]
    yield table("What was trained", columns, rows)
    for each in judged:
        if each.run.start:
            yield paragraph(
                f"{each.name} began with the weights of {each.run.start}. If the text that those "
                f"were learned from holds sentences of this test split, its scores are too good."
            )


def _scores(judged: Sequence[Judged]) -> Iterator[str]:
    yield heading("How good it is")
    yield paragraph(
        f"On the test split, by {search_in_words(judged[0].beam)}. BLEU and chrF go from 0 to 100, "
        f"more is better; TER counts the edits for 100 words, less is better. Another choice of "
        f"sentences would move a score by no more than the margin, in 95 of 100 cases."
    )
    yield paragraph(RULE_OF_THUMB)
    rows = [
        (each.name, s.name, f"{s.score:.1f}", _margin(s), s.signature)
        for each in judged
        for s in each.scores
    ]
    yield table("Scores", ("run", "score", "value", "margin", "signature"), rows)
    for each in judged:
        yield paragraph(" ".join(_verdict(each)))


def _verdict(each: Judged) -> Iterator[str]:
    """Say in plain words what the scores and the training of a run come to."""
    bleu = each.scores[0].score
    yield f"By this rule the BLEU of {each.name}, {bleu:.1f}, means: {meaning_of(bleu)}."
    language = each.translator.target.language
    [(words, count)] = beginnings(each.translations, language).most_common(1)
    by_people = beginnings(each.references, language)[words]
    if count >= MANY * len(each.pairs) and count > 2 * by_people:
        yield (
            f"{count:,} of its {len(each.pairs):,} translations begin with “{words}”, and "
            f"{by_people:,} of those by people: it says nearly the same, whatever it reads."
        )
    if each.history is not None:
        yield verdict(each.history.to_dict("records"))


def _margin(score: Interval) -> str:
    return "" if score.margin is None else f"± {score.margin:.1f}"


def _compared(judged: Sequence[Judged]) -> Iterator[str]:
    first, *others = judged
    language = first.translator.target.language
    yield heading("Is the difference more than chance?")
    if _differ_by_seed(judged):
        values = [each.scores[0].score for each in judged]
        yield paragraph(
            f"These runs differ by their seed alone: BLEU {fmean(values):.1f} on average, with a "
            f"standard deviation of {stdev(values):.1f}. What another setting gains has to be "
            f"more. The p below compares these very translators, and proves no seed the better one."
        )
    rows = []
    for other in others:
        found = paired_bootstrap(
            first.translations, other.translations, first.references, language=language
        )
        low, high = found["confidence_interval"]
        interval = f"{low:+.1f} to {high:+.1f}"
        rows.append(
            (other.name, f"{found['difference']:+.1f}", interval, f"{found['p_value']:.3f}")
        )
    columns = (f"{first.name} beside", "difference in BLEU", "95 % interval", "p")
    yield table("Paired bootstrap, 1,000 test sets", columns, rows)
    yield paragraph(
        "p is how often a difference as large would come from the choice of sentences alone, if "
        "both were equally good. Another seed moves BLEU too, which this test does not know."
    )


def _differ_by_seed(judged: Sequence[Judged]) -> bool:
    """Whether runs are the same but for their seeds."""
    seeds = {each.run.recipe.training.seed for each in judged}
    first, *others = (each.run.but_for_seed() for each in judged)
    return all(other == first for other in others) and len(seeds) == len(judged)


def _curves(judged: Sequence[Judged]) -> Iterator[str]:
    histories = {each.name: each.history for each in judged if each.history is not None}
    if not histories:
        return
    yield heading("How it was learned")
    if len(histories) > 1:
        for column in ("dev_loss", "dev_bleu"):
            yield figure(curve_comparison(histories, column, "The runs beside each other"))
    else:
        [history] = histories.values()
        yield figure(training_curves(history))


def _where_it_fails(first: Judged) -> Iterator[str]:
    yield heading("Where it fails")
    language = first.translator.target.language
    summaries = {
        column.replace("_", " "): summary_by(first.failures, column, bins, language)
        for column, bins in BINS.items()
    }
    yield figure(scores_by_bin(summaries))
    unsure = first.failures[first.failures["unsure"]]
    if len(unsure):
        yield paragraph(
            f"{len(unsure):,} of {len(first.failures):,} translations are marked as not sure: the "
            f"model finds them less likely than all but a twentieth of what a greedy search says "
            f"of the dev split. Sentence by sentence, their chrF is {unsure['chrf'].mean():.0f} on "
            f"average, that of all {first.failures['chrf'].mean():.0f}. A translation without the "
            f"mark need not be right: a model that has learned little is as sure of its mistakes."
        )


def _sentences(first: Judged) -> Iterator[str]:
    yield heading("What it says")
    yield paragraph(
        "The last column is the mean log-probability of a translation's tokens: 0 would be "
        "certain, -0.7 is an even chance for each token, -2.3 one in ten."
    )
    chosen = random.Random(0).sample(range(len(first.pairs)), min(SHOWN, len(first.pairs)))
    drawn = first.failures.iloc[sorted(chosen)]
    yield _translations(f"{len(drawn)} sentences drawn at random", drawn)
    worst = first.failures.nsmallest(WORST, "chrf")
    yield _translations(f"The {len(worst)} worst by chrF", worst)


def _translations(caption: str, rows: pd.DataFrame) -> str:
    columns = ("sentence", "reference", "translation", "chrF", "how sure")
    cells: list[Sequence[Cell]] = [
        (
            row.source,
            row.reference,
            row.translation,
            round(row.chrf),
            f"{row.log_probability:.2f}{NOT_SURE if row.unsure else ''}",
        )
        for row in rows.itertuples()
    ]
    return table(caption, columns, cells)


def _unseen(first: Judged) -> Iterator[str]:
    language = first.translator.source.language
    words = [word for pair in first.pairs for word in words_of(pair.source, language)]
    unseen = unseen_words(words, first.known)
    yield heading("Words that training never showed")
    if not unseen:
        yield paragraph("The test split has none.")
        return
    examples = ", ".join([*dict.fromkeys(unseen)][:SHOWN])
    yield paragraph(
        f"{len(unseen):,} of {len(words):,} words of the test split's sources "
        f"({len(unseen) / len(words):.1%}), such as: {examples}."
    )


def _one_failure(first: Judged) -> Iterator[str]:
    """Show the attention of the worst sentence that is short enough."""
    for row in first.failures.sort_values("chrf").itertuples():
        if _can_be_shown(first.translator, row.source, row.translation):
            weights, rows, columns = first.translator.attention_map(row.source, row.translation)
            yield heading("One failure, looked into")
            yield paragraph(f"{row.source} It says: {row.translation} A person: {row.reference}")
            yield paragraph(
                "Rows are the tokens it said, columns those it read; ▁ marks the beginning of a "
                "word, <eos> the end. Look for a word that is cut into pieces, and for what a "
                "wrong word looked at."
            )
            mean = weights[-1].mean(dim=0)
            title = "Where it looked: the mean over the heads of the last layer"
            yield weights_table(title, rows, columns, mean)
            return


def _minutes(result: Mapping[str, Any]) -> str:
    return f"{result['seconds'] / 60:.0f}" if "seconds" in result else "not recorded"


def _can_be_shown(translator: Translator, source: str, said: str) -> bool:
    """Whether a table has room for both, and the tokens of the text are those that were said."""
    columns, rows = translator.source.tokens(source), translator.target.tokens(said)
    return 0 < len(rows) < LONG_SENTENCE > len(columns) and SPECIAL_TOKENS[UNK] not in said


def _cost(judged: Sequence[Judged]) -> Iterator[str]:
    yield heading("What it costs, and how to repeat it")
    rows = [
        (
            each.name,
            _minutes(each.stored.get("result", {})),
            f"{(each.folder / MODEL_FILE).stat().st_size / 1e6:.1f}",
        )
        for each in judged
    ]
    yield table("Cost", ("run", "minutes of training", "megabytes"), rows)
    yield code("\n".join(each.run.command or "(not recorded)" for each in judged))
