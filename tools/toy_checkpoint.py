"""Train the toy translator that ships with the package, and write down how it was made.

Run it after each change of the toy language or of its recipe: python -m tools.toy_checkpoint
"""

from typing import Any

from transformer_course.translation import RECIPES, evaluate, toy_checkpoint
from transformer_course.translation.evaluation.sureness import doubt_below
from transformer_course.translation.training.runs import Run


def main() -> None:
    """Train from random weights, score both test splits, replace the shipped checkpoint."""
    run = Run("toy", RECIPES["toy"])
    trainer = run.trainer()
    trainer.train()
    corpus = run.load_corpus()
    scores = {
        split: _numbers(evaluate(trainer.translator, corpus.split(split)))
        for split in ("test", "test_combinations")
    }
    toy_checkpoint().mkdir(parents=True, exist_ok=True)
    trainer.translator.save(toy_checkpoint())
    doubt = round(doubt_below(trainer.translator, corpus.split("dev")), 4)
    notes = {"result": {"step": trainer.step}, "scores": scores, "doubt_below": doubt}
    run.write(toy_checkpoint(), command="python -m tools.toy_checkpoint", **notes)
    print(scores)


def _numbers(scores: dict[str, Any]) -> dict[str, float]:
    """Leave out what changes from one machine or version to the next."""
    return {name: scores[name] for name in scores if name not in ("seconds", "signature")}


if __name__ == "__main__":
    main()
