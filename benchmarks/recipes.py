"""What single changes of the recipe give the German translator of captions.

    python -m benchmarks.recipes --data FOLDER                 all changes, 40 minutes each
    python -m benchmarks.recipes "10,000 pieces" --seeds 0 1 2 --data FOLDER
    python -m benchmarks.recipes "10,000 pieces" --long --data FOLDER        100 minutes

Lesson 9's short recipe, or its long one, and the same with one thing changed, into what Wu et al.
(2021) did, whose translator is ahead, or beyond. The whole dev split judges, by loss and by beam
search; nothing here looks at the test split. Runs that stand in ``results/recipes.json`` are not
trained again, and one that was stopped goes on where it was. Those that are taught need what
``benchmarks.taught`` writes.
"""

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from sentencepiece import SentencePieceProcessor, set_random_generator_seed
from torch import nn

from benchmarks.results_file import recorded_runs, write_results
from benchmarks.taught import PAIR, TAUGHT
from tools.recorded_runs import BEAM, MEANS, train_to_the_end
from tools.variant_runs import rotary
from transformer_course.model import FeedForward, MultiHeadAttention
from transformer_course.model import variants as v
from transformer_course.translation import RECIPES, SentencePair, evaluate
from transformer_course.translation.corpora.corpus import Corpus, fingerprint
from transformer_course.translation.corpora.encoded import EncodedPair, EncodedText
from transformer_course.translation.training.dev_split import DevSplit
from transformer_course.translation.training.recipe import Recipe, Settings
from transformer_course.translation.training.recipes import LONG_RUN
from transformer_course.translation.training.runs import Run
from transformer_course.translation.training.trainer import Trainer

SPLIT_MERGES = 0.1
"""How often BPE dropout leaves out a merge (Provilkov et al., 2020, section 4.2)."""


class PiecesAtRandom(EncodedText):
    """Sentence pairs whose words are cut otherwise each time, because merges are left out.

    Their lengths, by which they are put into batches, are those without that. A run that was
    stopped begins its draws anew.
    """

    def __init__(self, trainer: Trainer, pairs: Sequence[SentencePair]) -> None:
        plain = trainer.pairs
        self.sources, self.targets = plain.sources, plain.targets
        self._texts = pairs
        pieces = trainer.translator.source.pieces  # one set for both languages
        self._cut = SentencePieceProcessor(
            model_proto=pieces, enable_sampling=True, nbest_size=-1, alpha=SPLIT_MERGES
        )
        set_random_generator_seed(trainer.settings.seed)

    def __getitem__(self, number: int) -> EncodedPair:
        pair = self._texts[number]
        return self._cut.encode(pair.source), self._cut.encode(pair.target)


def cut_at_random(trainer: Trainer, pairs: Sequence[SentencePair]) -> None:
    """Let each epoch see other pieces of the same words."""
    trainer.pairs = PiecesAtRandom(trainer, pairs)


def rotary_and_gelu(trainer: Trainer, pairs: Sequence[SentencePair]) -> None:
    """Exchange positions and activation; the weights stay the same tensors."""

    def with_gelu(part: FeedForward) -> nn.Module:
        new = v.GELUFeedForward(part.expand.in_features, part.expand.out_features)
        new.expand, new.contract = part.expand, part.contract
        return new

    rotary(trainer.model)
    v.replace_parts(trainer.model, FeedForward, with_gelu)


def inverse_root(recipe: Recipe) -> Settings:
    """Let the rate rise to the cosine's peak for a quarter of the steps, then fall by the root."""
    warmup, plan = 0.25, recipe.training
    scale = plan.learning_rate * (recipe.sizes["d_model"] * warmup * plan.steps) ** 0.5
    return {"training": {"schedule": "noam", "warmup": warmup, "learning_rate": round(scale, 1)}}


def pieces_and_root(recipe: Recipe) -> Settings:
    """Join the two changes that gained the most at 10,000 steps."""
    return MORE_PIECES | inverse_root(recipe)


def taught_by_three(trainer: Trainer, pairs: Sequence[SentencePair]) -> None:
    """Put beside each pair what three translators together make of its source."""
    said = TAUGHT.read_text(encoding="utf-8").splitlines() if TAUGHT.exists() else []
    if len(said) != len(pairs):
        raise ValueError(f"{TAUGHT} has {len(said)} of {len(pairs)} lines: see benchmarks.taught.")
    taught = [SentencePair(pair.source, text) for pair, text in zip(pairs, said, strict=True)]
    trainer.pairs = trainer.translator.encode_text([*pairs, *taught])
    # A run that was stopped does not go on with another text.
    trainer.text = fingerprint([*pairs, *taught, *trainer.dev.pairs])


@torch.no_grad()
def smaller_start(trainer: Trainer, pairs: Sequence[SentencePair]) -> None:
    """Begin with queries, keys and values that are shorter by the root of 2, as fairseq does."""
    for part in trainer.model.modules():
        if isinstance(part, MultiHeadAttention):
            for projection in (part.query_projection, part.key_projection, part.value_projection):
                projection.weight /= 2**0.5


def larger_eps(trainer: Trainer, pairs: Sequence[SentencePair]) -> None:
    """Give Adam the eps of its paper."""
    for group in trainer.optimizer.param_groups:
        group["eps"] = 1e-8


def nothing(trainer: Trainer, pairs: Sequence[SentencePair]) -> None:
    """Leave the trainer as its settings make it."""


@dataclass(frozen=True)
class Change:
    """One thing done otherwise: other settings, or a trainer that is changed before it runs."""

    settings: Settings | Callable[[Recipe], Settings] = field(default_factory=dict)
    prepare: Callable[[Trainer, Sequence[SentencePair]], None] = nothing

    def of(self, recipe: Recipe) -> Recipe:
        """Return the recipe with other settings."""
        return recipe.changed(self.settings(recipe) if callable(self.settings) else self.settings)


MORE_PIECES: Settings = {"text": {"subwords": 10_000}}
CHANGES = {
    "as it is": Change(),
    "10,000 pieces": Change(MORE_PIECES),
    "merges left out at random": Change(prepare=cut_at_random),
    "rotary, GELU": Change(prepare=rotary_and_gelu),
    "norm after the sum": Change({"model": {"norm_first": False}}),
    "inverse root": Change(inverse_root),
    "10,000 pieces, inverse root": Change(pieces_and_root),
    "10,000 pieces, taught by three": Change(MORE_PIECES, taught_by_three),
    "deeper, narrower": Change(
        {"model": {"d_model": 104, "d_ff": 208, "encoder_layers": 6, "decoder_layers": 6}}
    ),
    "dropout 0.3": Change({"model": {"dropout": 0.3}}),
    "clipped at 25": Change({"training": {"clip_norm": 25.0}}),
    "smaller start of queries, keys, values": Change(prepare=smaller_start),
    "eps 1e-8": Change(prepare=larger_eps),
}


def main() -> None:
    """Train what is missing, and write all that is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("changes", nargs="*", metavar="CHANGE", help="; ".join(CHANGES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--long", action="store_true", help="change the recipe of 20,000 steps")
    parser.add_argument("--data", type=Path, help="folder with the Multi30k files")
    parser.add_argument("--work", type=Path, default=Path(".make/recipes"))
    options = parser.parse_args()
    for name in options.changes:
        if name not in CHANGES:
            parser.error(f"no such change: {name!r}; there are: {'; '.join(CHANGES)}")
    for seed in options.seeds:
        for name in options.changes or CHANGES:
            steps = _recipe(options).training.steps
            if (steps, name, seed) in map(_which, recorded_runs("recipes")):
                continue
            row = _trained(name, seed, options)
            print(row, flush=True)
            # Read again: another process may have added runs in the meantime.
            rows = sorted([*recorded_runs("recipes"), row], key=_place)
            write_results("recipes", {"pair": PAIR, "beam": BEAM, "split": "dev", "runs": rows})


def _recipe(options: argparse.Namespace) -> Recipe:
    return LONG_RUN if options.long else RECIPES["multi30k"]


def _which(row: dict[str, Any]) -> tuple[int, str, int]:
    return row["steps"], row["change"], row["seed"]


def _place(row: dict[str, Any]) -> tuple[int, int, int]:
    steps, change, seed = _which(row)
    return steps, [*CHANGES].index(change), seed


def _trained(name: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Train with one change; return what the dev split says."""
    change = CHANGES[name]
    how = {"training": {"seed": seed, "threads": 1}}
    recipe = change.of(_recipe(options)).changed(how)
    run = Run("multi30k", recipe, pair=PAIR, data=options.data)
    corpus = run.load_corpus()
    length = " long" if options.long else ""
    folder = options.work / re.sub(r"\W+", "-", f"{name} {seed}{length}")
    pairs = corpus.split("train")
    trainer = train_to_the_end(run, folder, corpus, lambda made: change.prepare(made, pairs))
    return {"change": name, "seed": seed} | _scores(trainer, corpus)


def _scores(trainer: Trainer, corpus: Corpus) -> dict[str, Any]:
    dev, last = corpus.split("dev"), trainer.history[-1]
    loss = DevSplit(trainer.translator, dev, trainer.settings.batch_tokens).loss()
    scores = evaluate(trainer.translator, dev, BEAM)
    return {
        "steps": last["step"],
        "minutes": round(last["seconds"] / 60, 1),
        "weights": sum(weight.numel() for weight in trainer.model.parameters()),
        "dev_loss": round(loss, 4),
        **{name: round(scores[name], 2) for name in MEANS},
    }


if __name__ == "__main__":
    main()
