"""The command ``train``: a new run, or one that goes on."""

import argparse
import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer_course.checks import check_positive
from transformer_course.cli.shared import checkpoint, given, say, show
from transformer_course.files import atomic_write, write_text
from transformer_course.own.location import NAME

if TYPE_CHECKING:
    from transformer_course.cli.shared import Commands
    from transformer_course.translation.corpora.corpus import Corpus
    from transformer_course.translation.training.runs import Run
    from transformer_course.translation.training.trainer import MakeLoss, Row, Trainer

SETTINGS = ("steps", "minutes", "seed", "precision")
CURVES = "curves.png"
INTERRUPTED = 130  # 128 + SIGINT, as shells count


def add_to(commands: "Commands") -> None:
    """Add the command."""
    command = commands.add_parser("train", help="train a translator")
    command.set_defaults(command=train, begun=False)
    command.add_argument("--corpus", help="toy, files, multi30k or wmt14; toy if not given")
    command.add_argument("--source", type=Path, help="source text, one sentence a line (files)")
    command.add_argument("--target", type=Path, help="its translation, line by line (files)")
    for split, use in (("dev", "to choose on"), ("test", "to judge on")):
        command.add_argument(
            f"--{split}",
            nargs=2,
            type=Path,
            metavar=("SOURCE", "TARGET"),
            help=f"two files {use}; else held out of the text (files)",
        )
    command.add_argument("--pair", help="languages, such as en-fr (multi30k, wmt14)")
    command.add_argument("--data", type=Path, help="folder with the corpus (multi30k, wmt14)")
    command.add_argument("--pairs", type=int, help="how many sentence pairs to take (wmt14)")
    command.add_argument(
        "--sample", type=int, help="seed to draw at random; else the first (wmt14)"
    )
    command.add_argument("--output", type=Path, required=True, help="a new folder for the result")
    command.add_argument("--model", type=Path, help="my_transformer.py, to train the model in it")
    command.add_argument("--resume", action="store_true", help="go on with the run in --output")
    command.add_argument(
        "--from",
        dest="start",
        type=checkpoint,
        metavar="RUN",
        help="go on with the weights of another run, or of a translator that ships: toy, "
        "multi30k-en-fr, multi30k-en-de; on its text if no other is given",
    )
    command.add_argument(
        "--settings",
        type=Path,
        help="a file as the command settings prints it, or the name of settings that ship",
    )
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a single setting, such as training.learning_rate=0.001; can be given several times",
    )
    length = command.add_mutually_exclusive_group()
    length.add_argument("--steps", type=int, help="updates of the weights")
    length.add_argument("--minutes", type=float, help="minutes of training, instead of --steps")
    command.add_argument("--seed", type=int, help="the same seed gives the same run")
    command.add_argument("--precision", help="float32; bfloat16, for graphics cards; or auto")
    command.add_argument(
        "--plot", action="store_true", help=f"also draw losses and BLEU, in {CURVES} of --output"
    )


def train(options: argparse.Namespace) -> int:
    """Train, and write down what came of it; return the exit status."""
    from transformer_course.translation.training.data_parallel import join_world
    from transformer_course.translation.training.looks import End
    from transformer_course.translation.training.runs import Run, check_is_new, sole_training

    with join_world() as world:
        if options.resume:
            _refuse_if_finished(options.output)
            _refuse_settings(options)
        options.resume = options.resume or _is_begun(options)
        if options.resume:
            run, end = Run.read(options.output), End.read(options.output)
        else:
            run, end = _requested_run(options), End()
            if world.is_first:
                check_is_new(options.output)
        make_loss = _loss_by_own_model(options, world.is_first)
        with world.first_alone():
            corpus = _corpus(run, options)
        trainer = run.trainer(options.output, corpus, world, make_loss)
        with sole_training(options.output) if world.is_first else nullcontext():
            facts = _begin(options, run, corpus, trainer)
            step = trainer.train()[-1]["step"]
            if world.is_first:
                ended = {"ended": end.after(step).at}
                _end(options.output, run, corpus, trainer, facts | ended)
    return INTERRUPTED if trainer.stopped else 0


def _is_begun(options: argparse.Namespace) -> bool:
    """Say whether ``torchrun``, which restarts what failed, began this command already."""
    from transformer_course.translation.training.data_parallel import started_by_torchrun
    from transformer_course.translation.training.runs import RUN_FILE, Run

    if not started_by_torchrun() or not (options.output / RUN_FILE).exists():
        return False
    return Run.read(options.output).command == options.command_line


def _requested_run(options: argparse.Namespace) -> "Run":
    from transformer_course.translation.corpora.registry import OPTIONS
    from transformer_course.translation.training.recipe import setting
    from transformer_course.translation.training.recipes import read_recipe, recipe_for
    from transformer_course.translation.training.runs import Run

    begun = Run.read(options.start) if options.start else None
    corpus = options.corpus or _corpus_named(options, begun)
    usual = begun.recipe if begun else recipe_for(corpus)
    recipe = read_recipe(options.settings, usual) if options.settings else usual
    for text in options.set:
        recipe = recipe.changed(setting(text))
    if options.minutes is not None:  # in a recipe, 0 takes its minutes away
        check_positive("--minutes", options.minutes)
    length = {"minutes": 0} if options.steps else {}  # steps take the place of a recipe's minutes
    recipe = recipe.changed({"training": length | given(options, SETTINGS)})
    for name in ("subwords", "min_frequency"):
        if begun and getattr(recipe, name) != getattr(usual, name):
            raise ValueError(
                f"--from goes on with the tokens of {options.start}: leave text.{name} at "
                f"{getattr(usual, name)}, or train from the beginning."
            )
    text = given(options, OPTIONS)
    new = {"recipe": recipe, "start": options.start, "command": options.command_line}
    if begun and not options.corpus and (not text or corpus != "files"):
        return replace(begun, **text, **new)
    return Run(corpus, **text, **new)


def _corpus_named(options: argparse.Namespace, begun: "Run | None") -> str:
    """Return the corpus where --corpus does not say it."""
    if options.source or options.target:
        return "files"
    return begun.corpus if begun else "toy"


def _refuse_if_finished(folder: Path) -> None:
    from transformer_course.translation.training.runs import RUN_FILE, is_finished

    if (folder / RUN_FILE).exists() and is_finished(folder):
        raise ValueError(f"the run in {folder} is finished; {_goes_on(folder)}")


def _refuse_settings(options: argparse.Namespace) -> None:
    from transformer_course.translation.corpora.registry import OPTIONS
    from transformer_course.translation.training.runs import RUN_FILE

    refused = [*given(options, ("corpus", "model", "settings", *OPTIONS, *SETTINGS))]
    refused += ["from"] * bool(options.start) + ["set"] * bool(options.set)
    if refused:
        raise ValueError(
            f"--resume goes on with the settings of {options.output / RUN_FILE}; leave out "
            f"{', '.join(f'--{name}' for name in refused)}."
        )


def _loss_by_own_model(options: argparse.Namespace, reports: bool) -> "MakeLoss | None":
    """Return what makes the loss by a learner's file: the run's own copy, or the one given."""
    kept = options.output / NAME
    path = kept if options.resume and kept.exists() else options.model
    if path is None:
        return None
    from transformer_course.own.training import loss_by

    if reports:
        say(f"training runs the code in {path}.")
    return loss_by(path)


def _corpus(run: "Run", options: argparse.Namespace) -> "Corpus":
    """Read the text; of a run that goes on from another one on its text, the same one."""
    from transformer_course.translation.training.runs import Run, corpus_of

    if run.start and not options.resume and run.is_on_the_text_of(Run.read(run.start)):
        return corpus_of(run.start, run)
    return run.load_corpus()


def _begin(
    options: argparse.Namespace, run: "Run", corpus: "Corpus", trainer: "Trainer"
) -> dict[str, Any]:
    """Go on where the run in the folder stopped, or begin it; return the facts on what is trained.

    The first process says and writes them down.
    """
    from transformer_course.translation.training.doubts import doubts
    from transformer_course.translation.training.runs import HELD_OUT, check_held_out, check_is_new

    facts = trainer.facts() | {"left_out": corpus.left_out, HELD_OUT: corpus.held_out}
    if options.resume:
        _go_on(options.output, trainer)
        check_held_out(options.output, corpus)
    if not trainer.world.is_first:
        return facts
    if not options.resume:
        check_is_new(options.output)  # again: another training may have been quicker
    trainer.watch = _watch(options, trainer)
    for words in (_summary(facts, corpus), *doubts(run, corpus, trainer.translator)):
        say(words)
    with _kept_model(options):
        run.write(options.output, **facts)
    options.begun = True
    return facts


def _go_on(folder: Path, trainer: "Trainer") -> None:
    from transformer_course.translation.training import state

    if state.is_there(folder):  # else it was killed before it could write any
        trainer.resume(folder)
        if trainer.world.is_first:
            say(f"goes on at step {trainer.step}.")


def _watch(options: argparse.Namespace, trainer: "Trainer") -> Callable[[list["Row"]], None]:
    """Return what says how far a training is, and draws it if asked to."""
    from transformer_course.translation.training.progress import reporting

    report = reporting(trainer, show)

    def watch(history: list["Row"]) -> None:
        report(history)
        if options.plot:
            from transformer_course.plots import training_curves

            with atomic_write(options.output / CURVES) as temporary:
                temporary.write_bytes(training_curves(history).png())

    return watch


def _summary(facts: dict[str, Any], corpus: "Corpus") -> str:
    """Say in one line what is trained, and how much of the text is not."""
    held_out = ", ".join(
        f"{len(pairs):,} for {name}" for name, pairs in corpus.splits.items() if name != "train"
    )
    pairs = facts["train_pairs"]
    left_out = "".join(f"; left out: {count:,} {why}" for why, count in facts["left_out"].items())
    return (
        f"{pairs:,} sentence pair{'' if pairs == 1 else 's'}, held out {held_out}; "
        f"{facts['parameters']:,} parameters, "
        f"{facts['precision']} on {facts['device']}, {facts['padding_waste']:.1%} of the positions "
        f"are padding{left_out}."
    )


@contextmanager
def _kept_model(options: argparse.Namespace) -> Iterator[None]:
    """Keep the learner's file beside the run that it determines, which the block writes."""
    if options.resume or options.model is None:
        yield
        return
    from transformer_course.own.file import read

    kept = options.output / NAME
    write_text(kept, read(options.model))
    try:
        yield
    except BaseException:  # a folder with this file alone would be neither new nor a run
        kept.unlink()
        raise


def _end(
    folder: Path, run: "Run", corpus: "Corpus", trainer: "Trainer", facts: dict[str, Any]
) -> None:
    """Write down what was reached, and say what comes next."""
    from transformer_course.translation.evaluation.sureness import doubt_below

    result = trainer.history[-1]
    doubt = doubt_below(trainer.translator, corpus.split("dev"))
    notes = {"result": result, "doubt_below": doubt, "finished": not trainer.stopped}
    run.write(folder, **facts, **notes)
    print(f"{folder}: {json.dumps(result)}")
    _say_what_is_next(folder, trainer)


def _say_what_is_next(folder: Path, trainer: "Trainer") -> None:
    from transformer_course.translation.training.progress import verdict

    if trainer.stopped:  # whoever goes on should not have looked at the test split
        say(f"`transformer-course train --resume --output {shlex.quote(str(folder))}` goes on.")
        return
    if words := verdict(trainer.history):
        say(f"{words} {_goes_on(folder)}")
    report = f"transformer-course report {shlex.quote(str(folder))} report.html"
    say(f"to see how good it is: {report}")


def _goes_on(folder: Path) -> str:
    """Say how a run that has ended goes on."""
    return (
        f"`transformer-course train --from {shlex.quote(str(folder))} --minutes N --output NEW` "
        f"goes on from it."
    )
