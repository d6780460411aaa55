"""The command on two small corpora, with two small models."""

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
import torch

from transformer_course import cli
from transformer_course.translation.corpora.corpus import Corpus, SentencePair
from transformer_course.translation.corpora.registry import CORPORA, Kind
from transformer_course.translation.training.recipes import RECIPES, Recipe
from transformer_course.translation.training.trainer import TrainingSettings
from transformer_course.translation.translator import Translator

RECIPE = Recipe(
    sizes={
        "d_model": 16,
        "heads": 2,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "d_ff": 24,
        "dropout": 0.1,
        "max_len": 12,
    },
    training=TrainingSettings(steps=6, batch_tokens=32, evaluate_every=2, dev_sentences=2),
)
SCORES = {
    "sacrebleu",
    "signature",
    "bleu_tokenized_lowercase",
    "chrf",
    "sentences",
    "seconds",
    "exact_match",
}
PAIRS = [
    SentencePair(f"the {noun} {verb}", f"le {nom} {verbe}", alignment=((0, 0), (1, 1), (2, 2)))
    for (noun, nom), (verb, verbe) in product(
        {"cat": "chat", "dog": "chien", "king": "roi", "thief": "voleur"}.items(),
        {"sleeps": "dort", "eats": "mange", "sings": "chante", "dreams": "rêve"}.items(),
    )
]
TOY = Corpus(
    "toy",
    "en",
    "fr",
    {"train": PAIRS[4:], "dev": PAIRS[:2], "test": PAIRS[1:4], "test_combinations": PAIRS[2:4]},
)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module", autouse=True)
def small_recipes() -> Iterator[None]:
    """Make both corpora and both models small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RECIPES, "toy", RECIPE)
        patch.setitem(RECIPES, "files", RECIPE)
        patch.setitem(CORPORA, "toy", Kind(lambda: TOY))
        yield


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command: exit status, standard output, standard error."""

    def main(*arguments: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        status = cli.main([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return main


@pytest.fixture
def fails(run: Run) -> Callable[..., str]:
    """Return a function that runs a command which must fail, and gives its last line of words."""

    def main(*arguments: str | Path) -> str:
        status, output, error = run(*arguments)
        assert (status, output) == (2, "")
        lines = error.splitlines(keepends=True)
        assert all(line.startswith("transformer-course: ") for line in lines)
        return lines[-1]

    return main


@pytest.fixture(scope="module")
def trained(small_recipes: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trained toy checkpoint, only to be read."""
    folder = tmp_path_factory.mktemp("runs") / "toy"
    assert cli.main(["train", "--corpus", "toy", "--output", str(folder)]) == 0
    return folder


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "train.en", tmp_path / "train.fr"
    for path, side in zip(paths, ("source", "target"), strict=True):
        lines = [getattr(pair, side) for pair in PAIRS]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return Translator.load(folder).model.state_dict()


def forget_the_end(folder: Path) -> None:
    """Let a run seem to have been killed when it had taken its last step."""
    stored = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    del stored["finished"]
    (folder / "run.json").write_text(json.dumps(stored), encoding="utf-8")


def assert_same_weights(folder: Path, other: Path) -> None:
    others = weights_of(other)
    for name, tensor in weights_of(folder).items():
        assert torch.equal(tensor, others[name]), name
