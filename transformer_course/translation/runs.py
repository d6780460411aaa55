"""A training run on disk: what was asked for, and what came of it."""

import os
import platform
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import torch

from transformer_course.translation.checkpoints import CheckpointError, read_json, write_json
from transformer_course.translation.corpus import Corpus
from transformer_course.translation.recipes import Recipe, recipe_for
from transformer_course.translation.text_files import files_corpus
from transformer_course.translation.toy_language import toy_corpus
from transformer_course.translation.training import Trainer, TrainingSettings
from transformer_course.translation.translator import Translator

RUN_FILE = "run.json"


@dataclass(frozen=True)
class Run:
    """All that determines a training run.

    Parameters
    ----------
    corpus
        A key of :data:`~transformer_course.translation.recipes.RECIPES`.
    recipe
        Sizes and settings.
    source, target
        The two text files, for the corpus ``"files"`` only.
    command
        The command line that began it, for the record.

    Raises
    ------
    ValueError
        If the corpus is unknown, or files are missing or given where none are used.
    """

    corpus: str
    recipe: Recipe
    source: Path | None = None
    target: Path | None = None
    command: str = ""

    def __post_init__(self) -> None:
        recipe_for(self.corpus)
        if any((path is None) == (self.corpus == "files") for path in (self.source, self.target)):
            raise ValueError(
                "the corpus 'files' needs --source FILE and --target FILE; no other corpus "
                "takes them."
            )

    @classmethod
    def read(cls, folder: Path) -> "Run":
        """Read what :meth:`write` wrote; raise CheckpointError if it is missing or damaged."""
        stored = read_json(folder / RUN_FILE)
        try:
            recipe = stored["recipe"] | {
                "training": TrainingSettings(**stored["recipe"]["training"])
            }
            return cls(
                corpus=stored["corpus"],
                recipe=Recipe(**recipe),
                source=_path(stored["source"]),
                target=_path(stored["target"]),
                command=stored["command"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{folder / RUN_FILE} does not describe a training run ({error}); restore it or "
                f"train again."
            ) from None

    def write(self, folder: Path, **notes: Any) -> None:
        """Write the run with the date, the machine and ``notes``, such as the result."""
        content = asdict(self) | {
            "source": self.source and str(self.source.resolve()),
            "target": self.target and str(self.target.resolve()),
        }
        write_json(folder / RUN_FILE, content | circumstances() | notes)

    def load_corpus(self) -> Corpus:
        """Make or read the sentences."""
        if self.corpus == "files":
            return files_corpus(self.source, self.target)
        return toy_corpus()

    def trainer(self, output: Path | None = None) -> Trainer:
        """Build the untrained translator and its trainer, which writes to ``output`` if given."""
        corpus = self.load_corpus()
        train, dev = corpus.split("train"), corpus.split("dev")
        translator = Translator.from_pairs(
            train,
            (corpus.source_language, corpus.target_language),
            self.recipe.min_frequency,
            self.recipe.training.seed,
            **self.recipe.sizes,
        )
        return Trainer(translator, train, dev, self.recipe.training, output)


def circumstances() -> dict[str, Any]:
    """Return the date, the machine and the versions, which belong beside whatever is measured."""
    return {
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "versions": {"python": platform.python_version(), "torch": str(torch.__version__)},
    }


def make_output_folder(folder: Path) -> None:
    """Make the folder; raise OSError if that fails and ValueError if it is not empty."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ValueError(f"{folder} is a file; name a new folder.") from None
    if any(folder.iterdir()):
        raise ValueError(
            f"{folder} is not empty: name a new folder, or add --resume to go on with the run in "
            f"it."
        )


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
