import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.vocabulary import BOS, EOS
from transformer_course.translation.training.data_parallel import World, join_world
from transformer_course.translation.translator import Translator

# The command with a small model without dropout, whose masks differ between processes.
SMALL_COMMAND = """
import sys
from dataclasses import replace
from transformer_course import cli
from transformer_course.translation.training.recipes import RECIPES, Recipe
from transformer_course.translation.training.trainer import TrainingSettings

RECIPES["files"] = Recipe(
    sizes={"d_model": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 24,
           "dropout": 0.0, "max_len": 16, "norm_first": True},
    training=TrainingSettings(
        steps=8, batch_tokens=BATCH_TOKENS, evaluate_every=4, dev_sentences=3, average=0.9
    ),
)
sys.exit(cli.main())
"""


def train(tmp_path: Path, name: str, batch_tokens: int, *launcher: str) -> Translator:
    """Train by the command line in a process of its own, or in several."""
    script = tmp_path / f"{name}.py"
    script.write_text(SMALL_COMMAND.replace("BATCH_TOKENS", str(batch_tokens)))
    texts = ("--source", tmp_path / "text.en", "--target", tmp_path / "text.fr")
    command = [sys.executable, *launcher, script, "train", "--corpus", "files", *texts]
    result = subprocess.run(
        [str(part) for part in [*command, "--output", tmp_path / name]],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count(f"{name}: ") == 1, "each process reported"
    return Translator.load(tmp_path / name)


@pytest.mark.exhaustive
@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no distributed")
def test_two_processes_do_what_one_does_with_double_batches(
    tmp_path: Path, pairs: list[SentencePair]
) -> None:
    for language in ("source", "target"):
        text = "".join(f"{getattr(pair, language)}\n" for pair in pairs)
        (tmp_path / f"text.{'en' if language == 'source' else 'fr'}").write_text(
            text, encoding="utf-8"
        )
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    alone = train(tmp_path, "alone", 64)
    together = train(tmp_path, "together", 32, *torchrun)
    # Logits, not weights: a bias of the keys changes none, so its gradient is rounding alone.
    source, target = torch.tensor([[4, 5, 6, EOS]]), torch.tensor([[BOS, 6, 5, 4]])
    with torch.no_grad():
        logits, expected = (translator.model(source, target) for translator in (together, alone))
    torch.testing.assert_close(logits, expected, rtol=1e-3, atol=1e-3)


def test_without_torchrun_a_process_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with join_world() as world, world.first_alone():
        assert (world.size, world.rank, world.is_first) == (1, 0, True)
        tensor = torch.ones(2)
        world.add_up([tensor])
        assert tensor.tolist() == [1, 1]


def test_only_the_process_of_rank_0_is_first() -> None:
    assert [World(2, rank).is_first for rank in (0, 1)] == [True, False]
