"""Whoever brings Multi30k as plain files trains on what the corpus of that name holds.

Two differences are meant, and are counted here: the corpus of files leaves out the training pairs
whose source is also in dev or test, and its training pairs are in an order drawn by its seed.
"""

import gzip
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.real_texts import MULTI30K, needs_multi30k
from transformer_course.translation.corpora.batches import Batch, length_batches
from transformer_course.translation.corpora.corpus import Corpus, SentencePair
from transformer_course.translation.corpora.multi30k import PAIRS, SPLITS
from transformer_course.translation.corpora.splits import REPEATED
from transformer_course.translation.training.recipes import RECIPES
from transformer_course.translation.training.runs import Run
from transformer_course.translation.training.trainer import Trainer

ALSO_HELD_OUT = {"en-fr": 1, "fr-en": 3, "en-de": 1, "de-en": 1}
"""Training pairs of the published files whose source is in dev or test too."""

pytestmark = needs_multi30k


def published_run(pair: str) -> Run:
    return Run("multi30k", RECIPES["multi30k"], pair=pair, data=MULTI30K)


def run_on_plain_files(pair: str, folder: Path) -> Run:
    """Unpack the published files; ask for them as ``train --settings multi30k`` does."""
    files = {}
    for name, stem in SPLITS.items():
        files[name] = tuple(folder / f"{stem}.{language}" for language in pair.split("-"))
        for path in files[name]:
            path.write_bytes(gzip.decompress((MULTI30K / f"{path.name}.gz").read_bytes()))
    source, target = files["train"]
    return Run("files", RECIPES["multi30k"], source, target, dev=files["dev"], test=files["test"])


def without_held_out(corpus: Corpus) -> list[SentencePair]:
    """Return the training pairs whose source is in neither dev nor test, in their order."""
    held_out = {pair.source for name in ("dev", "test") for pair in corpus.split(name)}
    return [pair for pair in corpus.split("train") if pair.source not in held_out]


@pytest.mark.parametrize("pair", PAIRS)
def test_pairs_are_the_same_but_for_sources_that_are_held_out(pair: str, tmp_path: Path) -> None:
    published = published_run(pair).load_corpus()
    files = run_on_plain_files(pair, tmp_path).load_corpus()
    assert files.split("dev") == published.split("dev")
    assert files.split("test") == published.split("test")
    kept = without_held_out(published)
    assert Counter(files.split("train")) == Counter(kept)
    assert len(published.split("train")) - len(kept) == ALSO_HELD_OUT[pair]
    assert files.left_out == {REPEATED: ALSO_HELD_OUT[pair]}


@pytest.fixture(scope="module")
def published() -> Corpus:
    """Return Multi30k without the training pairs that the corpus of files leaves out."""
    corpus = published_run("en-fr").load_corpus()
    return replace(corpus, splits=corpus.splits | {"train": without_held_out(corpus)})


@pytest.fixture(scope="module")
def of_published(published: Corpus) -> Trainer:
    return published_run("en-fr").trainer(corpus=published)


@pytest.fixture(scope="module")
def files_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_on_plain_files("en-fr", tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def files(files_run: Run) -> Corpus:
    return files_run.load_corpus()


@pytest.fixture(scope="module")
def of_files(files_run: Run, files: Corpus) -> Trainer:
    return files_run.trainer(corpus=files)


def test_order_is_the_one_that_the_seed_draws(published: Corpus, files: Corpus) -> None:
    whole = published_run("en-fr").load_corpus()
    drawn = random.Random(0).sample(whole.split("train"), len(whole.split("train")))
    shuffled = replace(whole, splits=whole.splits | {"train": drawn})
    assert files.split("train") != published.split("train")
    assert files.split("train") == without_held_out(shuffled)


def test_subwords_are_the_same(of_published: Trainer, of_files: Trainer) -> None:
    """They are learned from counts, so the order of the sentences leaves no trace."""
    assert of_files.translator.source.pieces == of_published.translator.source.pieces


def batches(trainer: Trainer, generator: torch.Generator | None = None) -> list[Batch]:
    """Return the batches of an epoch; without a generator from short sentences to long ones."""
    groups = length_batches(trainer.pairs, trainer.settings.batch_tokens, generator)
    return [trainer.translator.batch([trainer.pairs[n] for n in group]) for group in groups]


def test_batches_have_the_same_shapes_in_either_order(
    of_published: Trainer, of_files: Trainer
) -> None:
    shapes, others = (
        [(batch.source.shape, batch.target_out.shape) for batch in batches(trainer)]
        for trainer in (of_published, of_files)
    )
    assert shapes == others


def test_batches_are_the_same_in_the_same_order(
    published: Corpus, files: Corpus, of_files: Trainer
) -> None:
    reordered = replace(published, splits=published.splits | {"train": files.split("train")})
    trainers = published_run("en-fr").trainer(corpus=reordered), of_files
    first_epochs = (batches(each, torch.Generator().manual_seed(0)) for each in trainers)
    for batch, other in zip(*first_epochs, strict=True):
        assert torch.equal(batch.source, other.source)
        assert torch.equal(batch.target_in, other.target_in)
        assert torch.equal(batch.target_out, other.target_out)
