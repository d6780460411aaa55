"""What several translators say together of the captions for training, for another to learn from.

    python -m benchmarks.taught FOLDER FOLDER FOLDER --data FOLDER          30 minutes

The folders are runs of one recipe with other seeds, so that all cut the text into the same pieces.
At each step of the beam search the mean of their probabilities counts; "taught by three" of
``benchmarks.recipes`` learns from what they say (Kim and Rush, 2016, "Sequence-Level Knowledge
Distillation", section 3.2). First they translate the dev split; its scores are written into
``results/taught.json``. What was stopped, with Ctrl-C for example, goes on where it was; to ask
other translators, remove ``.make/recipes/taught.de`` first.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor
from tqdm import trange

from benchmarks.results_file import write_results
from tools.recorded_runs import BEAM, MEANS
from transformer_course.files import write_text
from transformer_course.model import Transformer
from transformer_course.translation import Translator, evaluate, multi30k_corpus
from transformer_course.translation.corpora.vocabulary import BOS, EOS
from transformer_course.translation.decoding.beam import beam_search
from transformer_course.translation.decoding.cached import CachedDecoder

PAIR, AT_ONCE = "en-de", 1000
TAUGHT = Path(".make/recipes/taught.de")


class Ensemble:
    """Several models that read the same prefixes; the mean of their probabilities counts."""

    def __init__(
        self, models: Sequence[Transformer], source_ids: Int[Tensor, "batch source"]
    ) -> None:
        self.decoders = [CachedDecoder(model, source_ids) for model in models]

    def step(self, tokens: Int[Tensor, "rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each prefix; return log-probabilities, but for a constant."""
        each = [decoder.step(tokens).log_softmax(dim=-1) for decoder in self.decoders]
        return torch.stack(each).logsumexp(dim=0)

    def reorder(self, parents: Int[Tensor, "new_rows"]) -> None:
        """Let each model continue the parents' prefixes."""
        for decoder in self.decoders:
            decoder.reorder(parents)


@dataclass
class Together(Translator):
    """A translator that asks others, too, before each token."""

    others: Sequence[Transformer] = ()

    @classmethod
    def of(cls, translators: Sequence[Translator]) -> "Together":
        """Join translators that have the same tokens."""
        first, *others = translators
        return cls(first.model, first.source, first.target, [each.model for each in others])

    def _decode(self, source_ids: Int[Tensor, "batch source"], beam: int) -> list[Sequence[int]]:
        models = [self.model, *self.others]
        found = beam_search(
            self.model, source_ids, BOS, EOS, beam, decoder=lambda _, ids: Ensemble(models, ids)
        )
        return [best.tokens for [best] in found]


def main() -> None:
    """Score the dev split, and write what becomes of the captions for training, line by line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, help="folders of finished runs")
    parser.add_argument("--data", type=Path, help="folder with the Multi30k files")
    options = parser.parse_args()
    together = Together.of([Translator.load(folder) for folder in options.runs])
    corpus = multi30k_corpus(PAIR, options.data)
    found = evaluate(together, corpus.split("dev"), BEAM)
    scores = {name: round(found[name], 2) for name in MEANS}
    print(scores, flush=True)
    how = {"pair": PAIR, "beam": BEAM, "split": "dev", "translators": len(options.runs)}
    write_results("taught", how | scores)
    captions = [pair.source for pair in corpus.split("train")]
    TAUGHT.parent.mkdir(parents=True, exist_ok=True)
    said = TAUGHT.read_text(encoding="utf-8").splitlines() if TAUGHT.exists() else []
    for start in trange(len(said), len(captions), AT_ONCE, unit="thousand captions"):
        said += together.translate(captions[start : start + AT_ONCE], beam=BEAM)
        write_text(TAUGHT, "".join(f"{line}\n" for line in said))


if __name__ == "__main__":
    main()
