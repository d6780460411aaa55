"""How long the toy translator trains from random weights and how good it gets: twenty seeds."""

from dataclasses import replace
from statistics import median

from benchmarks.results_file import write_results
from transformer_course.translation import RECIPES, evaluate, toy_corpus
from transformer_course.translation.training.runs import Run

SEEDS = range(20)


def main() -> None:
    """Train and score; print and write a row for each seed and the medians."""
    corpus, recipe = toy_corpus(), RECIPES["toy"]
    rows = []
    for seed in SEEDS:
        # One look at the end, so that nothing but training is on the clock.
        settings = replace(recipe.training, seed=seed, evaluate_every=recipe.training.steps)
        trainer = Run("toy", replace(recipe, training=settings)).trainer()
        last = trainer.train()[-1]
        row = {"seed": seed, "train_seconds": last["seconds"]}
        for split in ("dev", "test", "test_combinations"):
            scores = evaluate(trainer.translator, corpus.split(split))
            row[f"{split}_exact_match"] = scores["exact_match"]
            row[f"{split}_alignment_accuracy"] = round(scores["alignment_accuracy"], 4)
        rows.append(row)
        print(row)
    medians = {name: median(row[name] for row in rows) for name in rows[0] if name != "seed"}
    print("median", medians)
    write_results("toy_training", {"median": medians, "seeds": rows})


if __name__ == "__main__":
    main()
