"""A training run on disk: what was asked for, and what came of it."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from transformer_course.files import TEMPORARY, sweep
from transformer_course.translation.checkpoints import CheckpointError, read_json, write_json
from transformer_course.translation.corpora.corpus import Corpus, SentencePair
from transformer_course.translation.corpora.registry import OPTIONS, check_options, load_corpus
from transformer_course.translation.corpora.subwords import usual_size
from transformer_course.translation.corpora.text_files import files_divided_by_line
from transformer_course.translation.training.data_parallel import World
from transformer_course.translation.training.recipe import AUTO, Recipe
from transformer_course.translation.training.settings import TrainingSettings
from transformer_course.translation.training.trainer import MakeLoss, Trainer
from transformer_course.translation.translator import (
    MODEL_FILE,
    SUBWORDS_FILE,
    Translator,
    read_subwords,
)

RUN_FILE = "run.json"
LOCK_FILE = ".lock"
HELD_OUT = "held_out"
"""What a run notes of its text; one of an earlier version has no such note."""
PATHS = ("source", "target", "data", "dev", "test", "start")


@dataclass(frozen=True)
class Run:
    """All that determines a training run.

    Parameters
    ----------
    corpus
        Its name in ``corpora/registry.py``.
    recipe
        Sizes and settings.
    source, target
        The two text files, for the corpus ``"files"`` only, which needs them.
    dev, test
        Two files each for these splits of ``"files"``; by default they are held out of the text.
    pair
        Languages of ``"multi30k"`` or ``"wmt14"``, such as ``"en-fr"``, which is the default.
    data
        Folder with the files of these corpora; see
        :func:`~transformer_course.translation.data_folder`.
    pairs, sample
        How many sentence pairs of ``"wmt14"`` to take; the seed that draws them, None for the
        first ones.
    start
        Folder of a translator from whose weights, and with whose tokens, training goes on.
    command
        The command line that began it, for the record.
    by_line
        Whether a tenth of the lines of ``"files"`` is its dev split, as in earlier versions.

    Raises
    ------
    ValueError
        If the corpus is unknown, or something is missing or given that it does not take.
    """

    corpus: str
    recipe: Recipe
    source: Path | None = None
    target: Path | None = None
    pair: str | None = None
    data: Path | None = None
    pairs: int | None = None
    sample: int | None = None
    dev: tuple[Path, Path] | None = None
    test: tuple[Path, Path] | None = None
    start: Path | None = None
    command: str = ""
    by_line: bool = False

    def __post_init__(self) -> None:
        check_options(self.corpus, self._text())

    def _text(self) -> dict[str, Any]:
        """Return what was said about the text."""
        values = {name: getattr(self, name) for name in OPTIONS}
        return {name: value for name, value in values.items() if value is not None}

    def with_data(self, folder: Path | None) -> "Run":
        """Return the run with another folder for the data, if one is given."""
        return replace(self, data=folder) if folder else self

    def but_for_seed(self) -> "Run":
        """Return the run without what differs between its seeds: the seed and the command line."""
        return replace(self, recipe=self.recipe.with_seed(0), command="")

    def is_on_the_text_of(self, other: "Run") -> bool:
        """Whether both name the same text, from wherever its files are named."""
        return self._text_as_written() == other._text_as_written()

    def _text_as_written(self) -> dict[str, Any]:
        text = {n: _written(v) if n in PATHS else v for n, v in self._text().items()}
        return {"corpus": self.corpus} | text

    @classmethod
    def read(cls, folder: Path) -> "Run":
        """Read what :meth:`write` wrote; raise CheckpointError if it is missing or damaged."""
        stored = read_json(folder / RUN_FILE)
        try:
            recipe = stored["recipe"] | {
                "training": TrainingSettings(**stored["recipe"]["training"])
            }
            text = {name: stored.get(name) for name in cls.__dataclass_fields__}
            text |= {name: _path(text[name]) for name in PATHS}
            text["by_line"] = stored.get("by_line", stored["corpus"] == "files")
            return cls(**text | {"corpus": stored["corpus"], "recipe": Recipe(**recipe)})
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{folder / RUN_FILE} does not describe a training run ({error}); restore it or "
                f"train again."
            ) from None

    def write(self, folder: Path, **notes: Any) -> None:
        """Write the run with the date, the machine and ``notes``, such as the result."""
        content = asdict(self) | {name: _written(getattr(self, name)) for name in PATHS}
        write_json(folder / RUN_FILE, content | environment() | notes)

    def load_corpus(self) -> Corpus:
        """Make, read or download the sentences; count the training pairs too long to keep."""
        if self.by_line:
            corpus = files_divided_by_line(self.source, self.target)
        else:
            corpus = load_corpus(self.corpus, self._text())
        return corpus.without_long(self.recipe.most_words) if self.recipe.most_words else corpus

    def trainer(
        self,
        output: Path | None = None,
        corpus: Corpus | None = None,
        world: World | None = None,
        make_loss: MakeLoss | None = None,
    ) -> Trainer:
        """Build the untrained translator and its trainer, which writes to ``output`` if given.

        Where a run in ``output`` has sub-words, they are taken: learned anew, by another version of
        sentencepiece, they might be others.
        """
        corpus = corpus or self.load_corpus()
        train, dev = corpus.split("train"), corpus.split("dev")
        translator = self._translator(corpus, output)
        world = world or World()
        translator.model.to(world.device)
        return Trainer(translator, train, dev, self.recipe.training, output, None, world, make_loss)

    def _translator(self, corpus: Corpus, output: Path | None) -> Translator:
        languages = corpus.source_language, corpus.target_language
        if self.start is not None:
            # The weights are the last file of a translator: where they are, all of it is.
            goes_on = output is not None and (output / MODEL_FILE).exists()
            begun = Translator.load(output if goes_on else self.start)
            return begun.for_other_text(languages, self.recipe.sizes)
        train = corpus.split("train")
        return Translator.from_pairs(
            train,
            languages,
            self.recipe.min_frequency,
            self.recipe.training.seed,
            self._subwords(train, output),
            **self.recipe.sizes,
        )

    def _subwords(self, train: list[SentencePair], output: Path | None) -> int | bytes | None:
        if output is not None and (output / SUBWORDS_FILE).exists():
            return read_subwords(output)
        if self.recipe.subwords == AUTO:
            return usual_size([text for pair in train for text in (pair.source, pair.target)])
        return self.recipe.subwords


def corpus_of(folder: Path, run: Run) -> Corpus:
    """Read the text that the run in a folder was trained on.

    Parameters
    ----------
    folder
        Where the run is.
    run
        The run, perhaps with another folder for the data.

    Raises
    ------
    CheckpointError, OSError
        If the run or the text cannot be read.
    ValueError
        If the text is not there any more, or other sentences would be held out of it now.
    """
    try:
        corpus = run.load_corpus()
    except FileNotFoundError as error:
        raise ValueError(
            f"the text of {folder} is not at {error.filename} any more: put it back there, or "
            f"correct its place in {folder / RUN_FILE}."
        ) from None
    check_held_out(folder, corpus)
    return corpus


def check_held_out(folder: Path, corpus: Corpus) -> None:
    """Raise ValueError if other sentences are held out than were from the run in a folder."""
    known = read_json(folder / RUN_FILE).get(HELD_OUT)
    if known and corpus.held_out != known:
        raise ValueError(
            f"the text of {folder} has changed since it was trained, and with it what is held out: "
            f"the translator may have learned from these sentences. Put the old text back, or "
            f"train again."
        )


def steps_trained(folder: Path) -> int | None:
    """Return the steps of the run in a folder, None while it has not ended.

    Raises
    ------
    CheckpointError
        If the folder holds no run, or a damaged one.
    """
    return read_json(folder / RUN_FILE).get("result", {}).get("step")


def is_finished(folder: Path) -> bool:
    """Whether the run in a folder came to its end; False for one of an earlier version.

    Raises
    ------
    CheckpointError
        If the folder holds no run, or a damaged one.
    """
    return read_json(folder / RUN_FILE).get("finished", False)


def doubt_in(folder: Path) -> float | None:
    """Return the mean log-probability below which the translator in a folder is not sure.

    None for a run of an earlier version, for one that has not ended, and for a translator that was
    saved without a run.

    Raises
    ------
    CheckpointError
        If the folder holds a damaged run.
    """
    run = folder / RUN_FILE
    return read_json(run).get("doubt_below") if run.is_file() else None


def pairs_trained(folder: Path) -> int | None:
    """Return how many sentence pairs the run in a folder learns from, None if it does not say.

    Raises
    ------
    CheckpointError
        If the folder holds no run, or a damaged one.
    """
    return read_json(folder / RUN_FILE).get("train_pairs")


def environment() -> dict[str, Any]:
    """Return the date, the machine and the versions, which belong beside whatever is measured."""
    return {
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, "
        f"{torch.backends.cpu.get_cpu_capability()}",
        "versions": {"python": platform.python_version(), "torch": str(torch.__version__)},
    }


def check_is_new(folder: Path) -> None:
    """Raise ValueError if the folder is a file, or holds more than a killed start left behind."""
    if folder.is_file():
        raise ValueError(f"{folder} is a file; name a new folder.")
    names = [path.name for path in folder.iterdir()] if folder.exists() else []
    if any(name != LOCK_FILE and not TEMPORARY.fullmatch(name) for name in names):
        raise ValueError(
            f"{folder} is not empty: name a new folder, or add --resume to go on with the run in "
            f"it."
        )


@contextmanager
def sole_training(folder: Path) -> Iterator[None]:
    """Make the folder if need be, and keep other trainings out of it.

    What killed writers left in it is swept. The system lifts the lock when this process ends, even
    if it is killed.

    Raises
    ------
    ValueError
        If another training holds the folder.
    OSError
        If the folder cannot be made or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(folder / LOCK_FILE).acquire(timeout=0)
    except Timeout:
        raise ValueError(
            f"another training writes to {folder}: name a new folder, or wait until it ends."
        ) from None
    with lock:
        sweep(folder)
        yield


def _path(stored: str | list[str] | None) -> Path | tuple[Path, ...] | None:
    """Read a path, or two."""
    if isinstance(stored, list):
        return tuple(map(Path, stored))
    return None if stored is None else Path(stored)


def _written(path: Path | tuple[Path, ...] | None) -> str | list[str] | None:
    """Write a path, or two, so that they are found from anywhere."""
    if isinstance(path, tuple):
        return [str(each.resolve()) for each in path]
    return None if path is None else str(path.resolve())
