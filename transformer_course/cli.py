"""The command ``transformer-course``: lab, train, examine, translate, publish, grade and more."""

import argparse
import errno
import io
import json
import os
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from transformer_course import __version__
from transformer_course.checks import check_positive
from transformer_course.files import atomic_write, write_text
from transformer_course.own.location import NAME
from transformer_course.workspace.lab import open_lab
from transformer_course.workspace.update import DEFAULT

# What needs PyTorch is imported where it is used: it takes seconds, which `lab` does not wait for.
if TYPE_CHECKING:
    from transformer_course.translation.corpora.corpus import Corpus
    from transformer_course.translation.training.runs import Run
    from transformer_course.translation.training.trainer import MakeLoss, Row, Trainer

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

# What a user can mend: shown as one sentence, exit status 2. Anything else is our own defect.
USER_ERRORS = (ValueError, OSError, FloatingPointError)
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
SETTINGS = ("steps", "minutes", "seed", "precision")
LINES_AT_ONCE = 1000
CURVES = "curves.png"
INTERRUPTED = 130  # 128 + SIGINT, as shells count


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status.

    It is 0 if all went well, 1 if what was looked at is not as it should be, 2 if something went
    wrong that the user can mend, 130 after Ctrl-C, even if a training saved what it had learned.
    """
    _open_closed_streams()
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        _say("interrupted.")
        return INTERRUPTED


def _run(arguments: Sequence[str]) -> int:
    arguments, behind = _split_off(arguments)
    options = _parsed(arguments)
    options.behind = behind
    options.command_line = shlex.join(["transformer-course", *arguments])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # elsewhere, such as in a test, it is not a file
            stream.reconfigure(encoding="utf-8")  # Windows would write another
    try:
        status = options.command(options) or 0
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output, such as `head`, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except USER_ERRORS as error:
        if options.debug:
            raise
        _say(_sentence(error, options))
        return 2
    return status


def _open_closed_streams() -> None:
    """Let the null device stand in for standard streams that are closed: Python has None there."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115, it stays open
            setattr(sys, name, null)


def _split_off(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what comes before ``--``, and what comes after it, for JupyterLab."""
    if "--" not in arguments or arguments[0] != "lab":
        return list(arguments), []
    end = arguments.index("--")
    return list(arguments[:end]), list(arguments[end + 1 :])


def _sentence(error: Exception, options: argparse.Namespace) -> str:
    """Return the error's message in one line."""
    if isinstance(error, OSError) and error.strerror is not None:
        if _finds_no_folder(error):
            return f"{error.strerror}{_way_on(options)}."
        # Files come with their names.
        place = error.filename or "standard input or output"
        return f"{place}: {error.strerror}{_way_on(options) if error.errno in FULL_DISK else ''}."
    return " ".join(str(error).split())


def _finds_no_folder(error: OSError) -> bool:
    """Whether no folder for temporary files has room; a file that is missing has a name."""
    return error.errno == errno.ENOENT and error.filename is None


def _way_on(options: argparse.Namespace) -> str:
    """Say how to go on where the disk was full."""
    if options.command is _train and (options.begun or options.resume):
        words = ("transformer-course", "train", "--resume", "--output", str(options.output))
        return f": make room, then `{shlex.join(words)}` goes on"
    return ": make room, then give the command again"


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line; exit with status 2 if there is something else in it."""
    parser = _parser()
    options, left = parser.parse_known_args(arguments)
    # Behind an option, argparse would not know the sentences of `translate CHECKPOINT`.
    are_words = not any(word.startswith("-") for word in left)
    if left and are_words and vars(options).get("sentences") == []:
        options.sentences = left
    elif left:
        parser.error(f"unrecognized arguments: {' '.join(left)}")
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="transformer-course", description="Train a translator, score it, translate with it."
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in (
        _add_lab,
        _add_train,
        _add_settings,
        _add_text,
        _add_check,
        _add_progress,
        _add_examine,
        _add_export,
        _add_evaluate,
        _add_translate,
        _add_publish,
        _add_report,
        _add_card,
        _add_grade,
        _add_doctor,
    ):
        add(commands)
    return parser


def _add_checkpoint(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "checkpoint",
        type=_checkpoint,
        help="the folder that train wrote, or one that ships: toy, multi30k-en-fr, multi30k-en-de",
    )


def _checkpoint(text: str) -> Path:
    """Return the folder of that name, or else the translator of that name that ships."""
    from transformer_course.translation.translator import shipped_checkpoint, shipped_names

    ships = text in shipped_names() and not Path(text).exists()
    return shipped_checkpoint(text) if ships else Path(text)


def _add_beam(command: argparse.ArgumentParser) -> None:
    command.add_argument("--beam", type=int, default=1, help="hypotheses kept; 1 is greedy")


def _add_lab(commands: "Commands") -> None:
    command = commands.add_parser("lab", help="open the lessons in JupyterLab, to work in them")
    command.set_defaults(command=_lab)
    command.add_argument(
        "folder", nargs="?", type=Path, help=f"where to work; {DEFAULT} if not given"
    )
    command.epilog = "Arguments after -- are passed on to JupyterLab, such as -- --no-browser."


def _lab(options: argparse.Namespace) -> None:
    open_lab(options.folder, options.behind)


def _add_train(commands: "Commands") -> None:
    command = commands.add_parser("train", help="train a translator")
    command.set_defaults(command=_train, begun=False)
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
        type=_checkpoint,
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


def _train(options: argparse.Namespace) -> int:
    from transformer_course.translation.evaluation.sureness import doubt_below
    from transformer_course.translation.training.data_parallel import join_world
    from transformer_course.translation.training.doubts import doubts
    from transformer_course.translation.training.looks import End
    from transformer_course.translation.training.runs import (
        HELD_OUT,
        Run,
        check_held_out,
        check_is_new,
        sole_training,
    )

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
        facts = trainer.facts() | {"left_out": corpus.left_out, HELD_OUT: corpus.held_out}
        if world.is_first:
            trainer.watch = _watch(options, trainer)
        with sole_training(options.output) if world.is_first else nullcontext():
            _begin(options, trainer)
            if options.resume:
                check_held_out(options.output, corpus)
            if world.is_first:
                for words in (_summary(facts, corpus), *doubts(run, corpus, trainer.translator)):
                    _say(words)
                with _kept_model(options):
                    run.write(options.output, **facts)
                options.begun = True
            result = trainer.train()[-1]
            if world.is_first:
                doubt = doubt_below(trainer.translator, corpus.split("dev"))
                ended = end.after(result["step"]).at
                notes = {"result": result, "doubt_below": doubt, "ended": ended}
                run.write(options.output, **facts, **notes, finished=not trainer.stopped)
                print(f"{options.output}: {json.dumps(result)}")
                _say_what_is_next(options.output, trainer)
    return INTERRUPTED if trainer.stopped else 0


def _corpus(run: "Run", options: argparse.Namespace) -> "Corpus":
    """Read the text; of a run that goes on from another one on its text, the same one."""
    from transformer_course.translation.training.runs import Run, corpus_of

    if run.start and not options.resume and run.is_on_the_text_of(Run.read(run.start)):
        return corpus_of(run.start, run)
    return run.load_corpus()


def _say_what_is_next(folder: Path, trainer: "Trainer") -> None:
    from transformer_course.translation.training.progress import verdict

    if not trainer.stopped and (words := verdict(trainer.history)):
        _say(f"{words} {_goes_on(folder)}")
    report = f"transformer-course report {shlex.quote(str(folder))} report.html"
    _say(f"to see how good it is: {report}")


def _goes_on(folder: Path) -> str:
    """Say how a run that has ended goes on."""
    return (
        f"`transformer-course train --from {shlex.quote(str(folder))} --minutes N --output NEW` "
        f"goes on from it."
    )


def _watch(options: argparse.Namespace, trainer: "Trainer") -> Callable[[list["Row"]], None]:
    """Return what says how far a training is, and draws it if asked to."""
    from transformer_course.translation.training.progress import reporting

    report = reporting(trainer, lambda words: tqdm.write(words, file=sys.stderr))

    def watch(history: list["Row"]) -> None:
        report(history)
        if options.plot:
            from transformer_course.plots import training_curves

            with atomic_write(options.output / CURVES) as temporary:
                temporary.write_bytes(training_curves(history).png())

    return watch


def _is_begun(options: argparse.Namespace) -> bool:
    """Say whether ``torchrun``, which restarts what failed, began this command already."""
    from transformer_course.translation.training.data_parallel import started_by_torchrun
    from transformer_course.translation.training.runs import RUN_FILE, Run

    if not started_by_torchrun() or not (options.output / RUN_FILE).exists():
        return False
    return Run.read(options.output).command == options.command_line


def _begin(options: argparse.Namespace, trainer: "Trainer") -> None:
    """Go on where the run in the folder stopped, or take the folder for a new run."""
    from transformer_course.translation.training import state
    from transformer_course.translation.training.runs import check_is_new

    if options.resume:
        if state.is_there(options.output):  # else it was killed before it could write any
            trainer.resume(options.output)
            if trainer.world.is_first:
                _say(f"goes on at step {trainer.step}.")
    elif trainer.world.is_first:
        check_is_new(options.output)  # again: another training may have been quicker


def _loss_by_own_model(options: argparse.Namespace, reports: bool) -> "MakeLoss | None":
    """Return what makes the loss by a learner's file: the run's own copy, or the one given."""
    kept = options.output / NAME
    path = kept if options.resume and kept.exists() else options.model
    if path is None:
        return None
    from transformer_course.own.training import loss_by

    if reports:
        _say(f"training runs the code in {path}.")
    return loss_by(path)


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


def _given(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    values = {name: getattr(options, name) for name in names}
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return {name: value for name, value in values.items() if value is not None}


def _refuse_if_finished(folder: Path) -> None:
    from transformer_course.translation.training.runs import RUN_FILE, is_finished

    if (folder / RUN_FILE).exists() and is_finished(folder):
        raise ValueError(f"the run in {folder} is finished; {_goes_on(folder)}")


def _refuse_settings(options: argparse.Namespace) -> None:
    from transformer_course.translation.corpora.registry import OPTIONS
    from transformer_course.translation.training.runs import RUN_FILE

    given = [*_given(options, ("corpus", "model", "settings", *OPTIONS, *SETTINGS))]
    given += ["from"] * bool(options.start) + ["set"] * bool(options.set)
    if given:
        raise ValueError(
            f"--resume goes on with the settings of {options.output / RUN_FILE}; leave out "
            f"{', '.join(f'--{name}' for name in given)}."
        )


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
    recipe = recipe.changed({"training": length | _given(options, SETTINGS)})
    for name in ("subwords", "min_frequency"):
        if begun and getattr(recipe, name) != getattr(usual, name):
            raise ValueError(
                f"--from goes on with the tokens of {options.start}: leave text.{name} at "
                f"{getattr(usual, name)}, or train from the beginning."
            )
    text = _given(options, OPTIONS)
    new = {"recipe": recipe, "start": options.start, "command": options.command_line}
    if begun and not options.corpus and (not text or corpus != "files"):
        return replace(begun, **text, **new)
    return Run(corpus, **text, **new)


def _corpus_named(options: argparse.Namespace, begun: "Run | None") -> str:
    """Return the corpus where --corpus does not say it."""
    if options.source or options.target:
        return "files"
    return begun.corpus if begun else "toy"


def _add_settings(commands: "Commands") -> None:
    command = commands.add_parser("settings", help="print all that can be chosen for a training")
    command.set_defaults(command=_settings)
    command.add_argument(
        "name",
        nargs="?",
        default="tiny",
        help="tiny if not given; little; small; base, the paper's; or that of a corpus, such as "
        "multi30k",
    )


def _settings(options: argparse.Namespace) -> None:
    from transformer_course.translation.training.recipes import meanings, shipped_recipe

    print(shipped_recipe(options.name).in_words(meanings()))


def _add_text(commands: "Commands") -> None:
    command = commands.add_parser("text", help="say what is in two files before you train on them")
    command.set_defaults(command=_text)
    command.add_argument(
        "source", type=Path, help="source text, one sentence a line, such as my.en"
    )
    command.add_argument("target", type=Path, help="its translation, line by line, such as my.fr")
    command.add_argument("--output", type=Path, help="an .html file; one already there is replaced")


def _text(options: argparse.Namespace) -> None:
    from transformer_course.publish import document, text_page
    from transformer_course.translation.corpora.inspection import inspect_text

    if options.output:
        document.check_page(options.output)
    inspection = inspect_text(options.source, options.target)
    print(text_page.summary(inspection))
    if options.output:
        text_page.write_text_page(inspection, options.output)


def _add_check(commands: "Commands") -> None:
    command = commands.add_parser(
        "check",
        help="check all parts in a my_transformer.py, or one answer",
        description="Without --exercise, check all parts in a my_transformer.py.",
        epilog="Exit status: 0 right, 1 not right yet, 2 could not be judged. With --json the last "
        "is said in JSON too. The book's page for assistants lists the keys.",
    )
    command.set_defaults(command=_check)
    command.add_argument(
        "file",
        type=Path,
        help="my_transformer.py; with --exercise any .py file, a notebook, or - for standard input",
    )
    command.add_argument(
        "--exercise",
        metavar="NAME",
        help="judge this answer alone, such as causal_mask, and note the try; a hint more is open "
        "after each different one",
    )
    command.add_argument(
        "--json",
        action="store_true",
        help="with --exercise: print verdict, mistakes, evidence and what is open as JSON",
    )


def _check(options: argparse.Namespace) -> int:
    if options.exercise:
        return _check_one(options)
    if options.json:
        raise ValueError("--json is for one answer: name it with --exercise.")
    from transformer_course.own import check, subject, whole

    module, failed = check.load(options.file), 0
    for row in check.rows(options.file, module):
        verdict = row.feedback.verdict.value if row.feedback else "given"
        print(f"{row.lesson:22} {row.name:30} {verdict}")
        if row.feedback and not row.feedback.passed:
            failed += 1
            print(textwrap.indent(str(row.feedback), "    "))
    fault = whole.fault(module)
    if fault:
        print(f"Together the parts go wrong: {fault}.")
    found = "" if fault == whole.endless() else subject.finding(module)
    if found:
        print(found)
    return int(bool(failed or fault or found))


def _check_one(options: argparse.Namespace) -> int:
    from transformer_course.tutor import command

    said = command.check(options.file, options.exercise)
    if said["verdict"] == command.NOT_JUDGED and not options.json:
        raise ValueError(said["message"])
    print(command.to_json(said) if options.json else command.in_words(said))
    return command.STATUS[said["verdict"]]


def _add_progress(commands: "Commands") -> None:
    command = commands.add_parser("progress", help="say which exercises are solved, what is next")
    command.set_defaults(command=_progress)
    command.add_argument("--json", action="store_true", help="print it as JSON")


def _progress(options: argparse.Namespace) -> None:
    from transformer_course.tutor import command

    far = command.how_far()
    print(command.to_json(far) if options.json else command.progress_in_words(far))


def _add_examine(commands: "Commands") -> None:
    command = commands.add_parser("examine", help="say what is wrong with any Transformer")
    command.set_defaults(command=_examine)
    command.add_argument(
        "place",
        metavar="FILE.py[:NAME]",
        help="NAME is a Subject or a function that makes one; `subject` if not given. A "
        "my_transformer.py needs none",
    )
    command.add_argument("--json", action="store_true", help="print all that was found as JSON")
    command.add_argument("--seconds", type=float, default=60.0, help="how long it may take (60)")


def _examine(options: argparse.Namespace) -> int:
    from transformer_course import examine
    from transformer_course.examine import files
    from transformer_course.own import subject

    check_positive("--seconds", options.seconds)
    with redirect_stdout(sys.stderr):  # what somebody's model prints is no part of the answer
        if subject.is_own(options.place):
            name, make = subject.load(Path(options.place))
        else:
            name, make = files.load(options.place, options.seconds)
        # disable=None shows it in a terminal only.
        with tqdm(total=100, unit="%", desc="examining", leave=False, disable=None) as bar:
            found = examine.examine(
                make, options.seconds, lambda share: bar.update(int(100 * share) - bar.n), name
            )
    print(found.to_json() if options.json else found)
    return {"Healthy": 0, "Faulty": 1, "Incomplete": 2}[found.verdict]


def _add_export(commands: "Commands") -> None:
    command = commands.add_parser("export", help="write a my_transformer.py that needs only torch")
    command.set_defaults(command=_export)
    command.add_argument("file", type=Path, help="where to write it")
    command.add_argument(
        "--model", type=Path, default=Path(NAME), help=f"yours; {NAME} if not given"
    )


def _export(options: argparse.Namespace) -> None:
    from transformer_course.own.export import exported
    from transformer_course.own.file import check_sections, read

    if options.file.exists():
        raise ValueError(f"{options.file} exists already: name a new file.")
    text = read(options.model)
    check_sections(text, options.model)
    write_text(options.file, exported(text))
    file = shlex.quote(str(options.file))
    print(f"{options.file}: needs only torch; python {file} SOURCE TARGET trains it.")


def _add_evaluate(commands: "Commands") -> None:
    command = commands.add_parser(
        "evaluate", help="score a translator; prints JSON, and keeps what the test split gave"
    )
    command.set_defaults(command=_evaluate)
    _add_checkpoint(command)
    command.add_argument("--split", help="split of the corpus it was trained on; test if not given")
    command.add_argument("--source", type=Path, help="source text, instead of --split")
    command.add_argument("--reference", type=Path, help="its translation, line by line")
    command.add_argument("--data", type=Path, help="folder with the corpus, if it has moved")
    _add_beam(command)


def _evaluate(options: argparse.Namespace) -> None:
    from transformer_course.translation.corpora.text_files import BLANK, read_pairs
    from transformer_course.translation.evaluation.evaluate import translate_and_evaluate
    from transformer_course.translation.training.looks import TEST, note_look
    from transformer_course.translation.training.runs import Run, corpus_of
    from transformer_course.translation.translator import Translator

    if (options.source is None) != (options.reference is None):
        raise ValueError("--source and --reference belong together: give both files or neither.")
    of_the_run = _given(options, ("split", "data"))
    if options.source and of_the_run:
        names = ", ".join(f"--{name}" for name in of_the_run)
        raise ValueError(f"--source takes the place of the run's own text; leave out {names}.")
    translator = Translator.load(options.checkpoint)
    if options.source:
        pairs, blank = read_pairs(options.source, options.reference)
        if blank:
            _say(f"left out: {blank:,} {BLANK}")
    else:
        run = Run.read(options.checkpoint).with_data(options.data)
        split = options.split or TEST
        pairs = corpus_of(options.checkpoint, run).split(split)
    scores, said = translate_and_evaluate(translator, pairs, options.beam)
    print(json.dumps(scores, ensure_ascii=False, indent=1))
    if not options.source and split == TEST:
        note_look(options.checkpoint, "evaluate", options.beam, translator, pairs, said)


def _add_translate(commands: "Commands") -> None:
    command = commands.add_parser("translate", help="translate sentences")
    command.set_defaults(command=_translate)
    _add_checkpoint(command)
    _add_beam(command)
    command.add_argument(
        "--scores",
        action="store_true",
        help="also print how sure the model is (0 is certain), and mark what it is not sure of",
    )
    command.add_argument("sentences", nargs="*", help="without any, lines of standard input")


def _translate(options: argparse.Namespace) -> int:
    from transformer_course.translation.evaluation.sureness import in_small_letters
    from transformer_course.translation.training.runs import doubt_in
    from transformer_course.translation.translator import Translator

    translator = Translator.load(options.checkpoint)
    doubt = doubt_in(options.checkpoint) if options.scores else None
    for name in filter(os.path.isfile, options.sentences):
        _say(f"{name} is a file; to translate what is in it, write < {name}")
    lines = iter(options.sentences) if options.sentences else _standard_input()
    done = left_out = 0
    # disable=None shows it in a terminal only.
    with tqdm(unit="line", desc="translating", leave=False, disable=None) as bar:
        while chunk := list(islice(lines, LINES_AT_ONCE)):
            for place, sentence in enumerate(chunk):
                if small := in_small_letters(sentence):
                    chunk[place] = small
                    _say_of_line(done + place, "is in capitals; it is read in small letters.")
            faults = translator.faults(chunk)
            for place, fault in faults.items():
                chunk[place] = ""  # its translation is blank: the lines after it keep their numbers
                _say_of_line(done + place, fault)
            if options.scores:
                for text, score in translator.translate_with_scores(chunk, beam=options.beam):
                    print(_with_score(text, score, doubt))
            else:
                for translation in translator.translate(chunk, beam=options.beam):
                    print(translation)
            bar.update(len(chunk))
            done, left_out = done + len(chunk), left_out + len(faults)
    return 2 if left_out else 0


def _say_of_line(place: int, words: str) -> None:
    tqdm.write(f"transformer-course: line {place + 1} {words}", file=sys.stderr)


def _with_score(translation: str, score: float, doubt: float | None) -> str:
    """Return a translation, its score and a mark, with tabs between them."""
    mark = "\tnot sure" if doubt is not None and score < doubt else ""
    return f"{translation}\t{score:.2f}{mark}"


def _add_publish(commands: "Commands") -> None:
    command = commands.add_parser("publish", help="make a web page that translates")
    command.set_defaults(command=_publish)
    _add_checkpoint(command)
    command.add_argument("page", type=Path, help="an .html file; one already there is replaced")


def _publish(options: argparse.Namespace) -> None:
    # Here, because pictures take a second to import.
    from transformer_course import publish

    publish.write_page(options.checkpoint, options.page)
    _say_written(options.page)


def _add_report(commands: "Commands") -> None:
    command = commands.add_parser("report", help="make a page on how good one or several runs are")
    command.set_defaults(command=_report)
    command.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        type=_checkpoint,
        help="folders that train wrote, the first in detail",
    )
    command.add_argument("page", type=Path, help="an .html file; one already there is replaced")
    command.add_argument("--data", type=Path, help="folder with the corpus, if it has moved")
    _add_beam(command)


def _report(options: argparse.Namespace) -> None:
    from transformer_course.publish.report_page import write_report

    write_report(options.runs, options.page, options.beam, options.data)
    _say_written(options.page)


def _add_card(commands: "Commands") -> None:
    command = commands.add_parser("card", help="begin the card of a translator and of a question")
    command.set_defaults(command=_card)
    command.add_argument("card", type=Path, help="a new Markdown file, such as card.md")
    command.add_argument(
        "runs", nargs="+", metavar="RUN", type=Path, help="runs of one side, each with another seed"
    )
    command.add_argument(
        "--beside", nargs="+", metavar="RUN", type=Path, required=True, help="those of the other"
    )


def _card(options: argparse.Namespace) -> None:
    from transformer_course.publish.card import write_card

    write_card(options.card, options.runs, options.beside)
    print(f"{options.card}: the figures are there; the rest is yours, in place of each [fill in].")


def _say(words: str) -> None:
    """Say something beside the results, which go to standard output."""
    print(f"transformer-course: {words}", file=sys.stderr)


def _say_written(page: Path) -> None:
    kilobytes = page.stat().st_size / 1e3
    print(f"{page}: {kilobytes:,.0f} kB; open it in a browser, it needs no network.")


def _add_grade(commands: "Commands") -> None:
    command = commands.add_parser(
        "grade",
        help="grade a folder of notebooks, my_transformer.py, or capstones",
        epilog="A submission is a program, and grading runs it. The limits are for accidents: "
        "if you do not trust the class, grade in a container. The book's page for teachers has the "
        "command.",
    )
    command.set_defaults(command=_grade)
    command.add_argument("folder", type=Path, help="the files, or one folder per learner")
    command.add_argument("--csv", type=Path, help="also write a table, one line per file")
    command.add_argument(
        "--json",
        type=Path,
        help="also write all that is known, a line for each file as soon as it is graded",
    )
    command.add_argument(
        "--resume", action="store_true", help="grade only what the --json file lacks"
    )
    command.add_argument("--seconds", type=float, default=120.0, help="time limit for a file (120)")
    command.add_argument("--memory", type=float, default=4.0, help="memory limit in GiB (4)")
    command.add_argument(
        "--processes", type=int, default=os.cpu_count(), help="how many at a time (processors)"
    )


def _grade(options: argparse.Namespace) -> None:
    from transformer_course.grading import Limits, grade_folder

    grade_folder(
        options.folder,
        Limits(options.seconds, options.memory),
        options.processes,
        csv=options.csv,
        lines=options.json,
        resume=options.resume,
    )


def _add_doctor(commands: "Commands") -> None:
    command = commands.add_parser("doctor", help="examine this machine and the installation")
    command.set_defaults(command=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from transformer_course import doctor

    findings = doctor.examine()
    for finding in findings:
        print(f"{'!!' if finding.advice else 'ok'}  {finding.subject}: {finding.found}")
        if finding.advice:
            print(f"    {finding.advice}")
    return int(any(finding.advice for finding in findings))


def _standard_input() -> Iterator[str]:
    sys.stdin.reconfigure(encoding="utf-8", errors="strict")
    try:
        for line in sys.stdin:
            yield line.strip()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"standard input is not UTF-8 text ({error}); convert it to UTF-8."
        ) from None


if __name__ == "__main__":
    sys.exit(main())
