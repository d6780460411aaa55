"""What five minutes of training on real text give: Multi30k, English to French, whole words.

The folder must hold train.en.gz, train.fr.gz, test_2016_flickr.en.gz, test_2016_flickr.fr.gz.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from benchmarks.results_file import write_results
from transformer_course.translation import RECIPES, bleu
from transformer_course.translation.runs import Run
from transformer_course.translation.text_files import read_pairs


def main() -> None:
    """Train, translate the test set, write BLEU and the first ten translations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with the Multi30k files")
    parser.add_argument("--minutes", type=float, default=5.0)
    options = parser.parse_args()
    recipe = RECIPES["files"]
    recipe = replace(recipe, training=replace(recipe.training, minutes=options.minutes))
    run = Run("files", recipe, options.data / "train.en.gz", options.data / "train.fr.gz")
    trainer = run.trainer()
    curve = trainer.train()
    pairs = read_pairs(
        options.data / "test_2016_flickr.en.gz", options.data / "test_2016_flickr.fr.gz"
    )
    translations = trainer.translator.translate([pair.source for pair in pairs])
    references = [pair.target for pair in pairs]
    first = [
        {"source": pair.source, "reference": pair.target, "translation": translation}
        for pair, translation in zip(pairs[:10], translations, strict=False)
    ]
    results = {"bleu": round(bleu(translations, references), 2), "sentences": len(pairs)}
    parameters = sum(p.numel() for p in trainer.model.parameters())
    results |= {"parameters": parameters, "curve": curve, "first_ten": first}
    print({name: results[name] for name in ("bleu", "sentences", "parameters")})
    write_results("real_text", results)


if __name__ == "__main__":
    main()
