"""The commands before and after a training: from the text to a page that translates."""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from transformer_course.cli.shared import add_beam, add_checkpoint, checkpoint, given, say

if TYPE_CHECKING:
    from transformer_course.cli.shared import Commands

LINES_AT_ONCE = 1000
FILE_NAME = re.compile(r"\S*\w\.\w{1,5}")
"""What looks like the name of a file, and not like a sentence."""


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


def _add_evaluate(commands: "Commands") -> None:
    command = commands.add_parser(
        "evaluate", help="score a translator; prints JSON, and keeps what the test split gave"
    )
    command.set_defaults(command=_evaluate)
    add_checkpoint(command)
    command.add_argument("--split", help="split of the corpus it was trained on; test if not given")
    command.add_argument("--source", type=Path, help="source text, instead of --split")
    command.add_argument("--reference", type=Path, help="its translation, line by line")
    command.add_argument("--data", type=Path, help="folder with the corpus, if it has moved")
    add_beam(command)


def _evaluate(options: argparse.Namespace) -> None:
    from transformer_course.translation.corpora.text_files import BLANK, read_pairs
    from transformer_course.translation.evaluation.evaluate import translate_and_evaluate
    from transformer_course.translation.training.looks import TEST, note_look
    from transformer_course.translation.training.runs import Run, corpus_of
    from transformer_course.translation.translator import Translator

    if (options.source is None) != (options.reference is None):
        raise ValueError("--source and --reference belong together: give both files or neither.")
    of_the_run = given(options, ("split", "data"))
    if options.source and of_the_run:
        names = ", ".join(f"--{name}" for name in of_the_run)
        raise ValueError(f"--source takes the place of the run's own text; leave out {names}.")
    translator = Translator.load(options.checkpoint)
    if options.source:
        pairs, blank = read_pairs(options.source, options.reference)
        if blank:
            say(f"left out: {blank:,} {BLANK}")
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
    add_checkpoint(command)
    add_beam(command)
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
    for words in options.sentences:
        if os.path.isfile(words):  # noqa: PTH113 - Path's raises an error for a long sentence
            say(f"{words} is a file; to translate what is in it, write < {words}")
        elif FILE_NAME.fullmatch(words):
            say(f"{words} is no file in {Path.cwd()}; it is translated as a sentence.")
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
    say(f"line {place + 1} {words}")


def _with_score(translation: str, score: float, doubt: float | None) -> str:
    """Return a translation, its score and a mark, with tabs between them."""
    mark = "\tnot sure" if doubt is not None and score < doubt else ""
    return f"{translation}\t{score:.2f}{mark}"


def _standard_input() -> Iterator[str]:
    from transformer_course.translation.corpora.text_files import decoded_lines

    return decoded_lines(sys.stdin.buffer, "standard input")


def _add_publish(commands: "Commands") -> None:
    command = commands.add_parser("publish", help="make a web page that translates")
    command.set_defaults(command=_publish)
    add_checkpoint(command)
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
        type=checkpoint,
        help="folders that train wrote, the first in detail",
    )
    command.add_argument("page", type=Path, help="an .html file; one already there is replaced")
    command.add_argument("--data", type=Path, help="folder with the corpus, if it has moved")
    add_beam(command)


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


def _say_written(page: Path) -> None:
    kilobytes = page.stat().st_size / 1e3
    print(f"{page}: {kilobytes:,.0f} kB; open it in a browser, it needs no network.")


COMMANDS = (
    _add_settings,
    _add_text,
    _add_evaluate,
    _add_translate,
    _add_publish,
    _add_report,
    _add_card,
)
"""What adds each of these commands, in the order of the help."""
