"""Search with beams of several widths in translators that have learned too little, seed by seed.

    python -m tools.beam_width_runs          five minutes

Lesson 8 trains one such translator; this trains it with twenty seeds, in the same way. Rows by
beam are ranked by the sum of log-probabilities, as the lesson's; the last one by the mean.
"""

from dataclasses import replace
from typing import Any

import torch

from tools.command import command
from transformer_course.translation import (
    BOS,
    EOS,
    PAD,
    RECIPES,
    SentencePair,
    Trainer,
    Translator,
    beam_search,
    bleu,
    gnmt,
    mean_length,
    pad_rows,
    paired_bootstrap,
    toy_corpus,
)
from transformer_course.translation.checkpoints import write_json
from transformer_course.translation.decoding.beam import LengthPenalty
from transformer_course.translation.training.recorded_runs import RESULTS
from transformer_course.translation.training.runs import environment

SEEDS, STEPS = 20, 110
BEAMS, NARROW, WIDE = (1, 2, 4, 16, 64), 4, 64
SENTENCES, LONGEST = 60, 20

Row = dict[str, Any]


def main() -> None:
    """Train, search and write what each seed gives."""
    torch.set_num_threads(1)
    models = []
    for seed in range(SEEDS):
        models.append({"seed": seed} | run(seed))
        print(models[-1], flush=True)
    how = {"command": command("tools.beam_width_runs")} | environment()
    facts = {"steps": STEPS, "sentences": SENTENCES, "models": models}
    write_json(RESULTS / "beam-width.json", how | facts)


def run(seed: int) -> Row:
    """Train one translator for too short a time, and search with every beam."""
    pairs = toy_corpus().split("dev")[:SENTENCES]
    translator = hurried(seed)
    rows, said = {}, {}
    for beam in BEAMS:
        said[beam], rows[str(beam)] = searched(translator, pairs, beam, gnmt(0))
    _, by_the_mean = searched(translator, pairs, WIDE, mean_length)
    references = [pair.target for pair in pairs]
    test = paired_bootstrap(said[NARROW], said[WIDE], references)
    return {"by_the_sum": rows, "by_the_mean": by_the_mean, "narrow_minus_wide": test}


def hurried(seed: int) -> Translator:
    """Train the toy translator as lesson 7 does, and stop long before it has learned enough."""
    recipe, corpus = RECIPES["toy"], toy_corpus()
    train = corpus.split("train")
    settings = replace(recipe.training, steps=STEPS, evaluate_every=STEPS, dev_sentences=20)
    translator = Translator.from_pairs(train, ("en", "fr"), seed=seed, **recipe.sizes)
    Trainer(translator, train, corpus.split("dev"), replace(settings, seed=seed)).train()
    return translator


def searched(
    translator: Translator, pairs: list[SentencePair], beam: int, penalty: LengthPenalty
) -> tuple[list[str], Row]:
    """Translate; return also the mean log-probability, words for each word wanted, and BLEU."""
    ids = [[*translator.source.encode(pair.source), EOS] for pair in pairs]
    lists = beam_search(
        translator.model, pad_rows(ids, PAD), BOS, EOS, beam, penalty, max_length=LONGEST
    )
    said = [translator.target.decode(best.tokens) for (best,) in lists]
    wanted = [pair.target for pair in pairs]
    words, words_wanted = (sum(len(text.split()) for text in texts) for texts in (said, wanted))
    return said, {
        "log_probability": sum(best.log_probability for (best,) in lists) / len(lists),
        "length": words / words_wanted,
        "bleu": bleu(said, wanted),
    }


if __name__ == "__main__":
    main()
