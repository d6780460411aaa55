"""The command line: ``transformer-course train | evaluate | translate``."""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from transformer_course import __version__
from transformer_course.translation.evaluation import evaluate
from transformer_course.translation.recipes import RECIPES, recipe_for
from transformer_course.translation.runs import Run, new_output_folder
from transformer_course.translation.text_files import read_pairs
from transformer_course.translation.translator import Translator

# What a user can mend: shown as one sentence, exit status 2. Anything else is our own defect.
USER_ERRORS = (ValueError, OSError, FloatingPointError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status: 0 done, 2 something the user can mend."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
    except USER_ERRORS as error:
        if options.debug:
            raise
        print(f"transformer-course: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="transformer-course", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    train = commands.add_parser("train", help="train a translator")
    train.set_defaults(command=_train)
    train.add_argument("--corpus", default="toy", help=f"one of {', '.join(RECIPES)}")
    train.add_argument("--source", type=Path, help="source text, one sentence a line (files)")
    train.add_argument("--target", type=Path, help="its translation, line by line (files)")
    train.add_argument("--output", type=Path, required=True, help="a new folder for the result")
    train.add_argument("--resume", action="store_true", help="go on with the run in --output")
    train.add_argument("--steps", type=int, help="updates of the weights")
    train.add_argument("--minutes", type=float, help="minutes of training, instead of --steps")
    train.add_argument("--seed", type=int, help="determines the run")

    score = commands.add_parser("evaluate", help="score a translator; prints JSON")
    score.set_defaults(command=_evaluate)
    score.add_argument("checkpoint", type=Path, help="the folder that train wrote")
    score.add_argument("--split", default="test", help="split of the corpus it was trained on")
    score.add_argument("--source", type=Path, help="source text, instead of --split")
    score.add_argument("--reference", type=Path, help="its translation, line by line")

    translate = commands.add_parser("translate", help="translate sentences")
    translate.set_defaults(command=_translate)
    translate.add_argument("checkpoint", type=Path, help="the folder that train wrote")
    translate.add_argument("sentences", nargs="*", help="without any: lines of standard input")
    return parser


def _train(options: argparse.Namespace) -> None:
    if options.resume:
        run = Run.read(options.output)
        trainer = run.trainer(options.output)
        trainer.resume(options.output)
    else:
        run = _requested_run(options)
        run.write(new_output_folder(options.output), command=_command_line())
        trainer = run.trainer(options.output)
    result = trainer.train()[-1]
    run.write(options.output, command=_command_line(), result=result)
    print(f"{options.output}: {json.dumps(result)}")


def _requested_run(options: argparse.Namespace) -> Run:
    recipe = recipe_for(options.corpus)
    asked = {name: getattr(options, name) for name in ("steps", "minutes", "seed")}
    changes = {name: value for name, value in asked.items() if value is not None}
    recipe = replace(recipe, training=replace(recipe.training, **changes))
    return Run(options.corpus, recipe, options.source, options.target)


def _command_line() -> str:
    return shlex.join(["transformer-course", *sys.argv[1:]])


def _evaluate(options: argparse.Namespace) -> None:
    translator = Translator.load(options.checkpoint)
    if (options.source is None) != (options.reference is None):
        raise ValueError("--source and --reference belong together: give both files or neither.")
    if options.source:
        pairs = read_pairs(options.source, options.reference)
    else:
        pairs = Run.read(options.checkpoint).load_corpus().split(options.split)
    print(json.dumps(evaluate(translator, pairs), indent=1))


def _translate(options: argparse.Namespace) -> None:
    translator = Translator.load(options.checkpoint)
    sentences = options.sentences or [line.strip() for line in sys.stdin]
    for translation in translator.translate(sentences):
        print(translation)


if __name__ == "__main__":
    sys.exit(main())
