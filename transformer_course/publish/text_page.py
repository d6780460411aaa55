"""What is in two files, for people: a summary in lines, and a page."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from transformer_course.plots.own_text import bleu_by_pairs, sentence_lengths
from transformer_course.plots.renderer import Picture
from transformer_course.publish.document import (
    figure,
    heading,
    paragraph,
    table,
    write_document,
)
from transformer_course.translation.corpora.inspection import Finding, Inspection, Side
from transformer_course.translation.corpora.languages import WITHOUT_BLANKS, language_name
from transformer_course.translation.training.recorded_runs import (
    scores_by_pairs,
    what_to_expect,
)

SHOWN, ON_A_PAGE = 10, 100
"""Lines of a finding that the summary and the page show."""
LEAST = 0.001
"""A share of the lines that is worth a figure."""
NOTHING = "Nothing strange was found."


def summary(inspection: Inspection) -> str:
    """Say in a few lines what two files hold, and what to mend first."""
    return "\n".join([*_facts(inspection), "", *_found(inspection), "", *_outlook(inspection)])


def write_text_page(inspection: Inspection, path: Path) -> None:
    """Write a page on two files, with the worst lines of each finding.

    Raises
    ------
    ValueError
        If the page's name does not end in ``.html``.
    OSError
        If it cannot be written.
    """
    source, target = (language_name(side.language) for side in _sides(inspection))
    write_document(path, f"A text in {source} and {target}", _parts(inspection))


def _sides(inspection: Inspection) -> tuple[Side, Side]:
    return inspection.source, inspection.target


def _facts(inspection: Inspection) -> Iterator[str]:
    yield f"{inspection.pairs:,} sentence pairs in {len(inspection.source.lines):,} lines."
    for side in _sides(inspection):
        words = f"{side.counts.total():,} words, {len(side.counts):,} different ones"
        yield (
            f"{side.path.name}: {words}. A vocabulary of whole words would not know "
            f"{side.unknown:.1%} of the words in new lines (tried on every tenth line). Sub-words "
            f"cut those into pieces."
        )
        if side.language in WITHOUT_BLANKS:
            yield (
                f"{language_name(side.language)} sets no blanks between words, so characters are "
                f"counted here. Train with sub-words; a limit of words a line does not hold."
            )


def _found(inspection: Inspection) -> Iterator[str]:
    if not inspection.findings:
        yield NOTHING
    for finding in inspection.findings:
        lines = ", ".join(_place(run, finding) for run in finding.runs[:SHOWN])
        more = " ..." if len(finding.runs) > SHOWN else ""
        word = "line" if len(finding.lines) == 1 else "lines"
        yield f"{_headline(finding, inspection)}: {word} {lines}{more}"
        yield f"    {finding.change}"


def _place(run: list[int], finding: Finding) -> str:
    """Name lines that follow one another, and those that they repeat."""
    first = [finding.first[line] for line in run if line in finding.first]
    return f"{_span(run)} (as {_span(first)})" if first else _span(run)


def _span(lines: list[int]) -> str:
    return f"{lines[0]:,}" if len(lines) == 1 else f"{lines[0]:,} to {lines[-1]:,}"


def _headline(finding: Finding, inspection: Inspection) -> str:
    kind = "doubtful" if finding.doubt else "found"
    share = len(finding.lines) / len(inspection.source.lines)
    of = f" ({share:.1%})" if share >= LEAST else ""
    return f"{len(finding.lines):,}{of} {kind}: {finding.name}"


def _outlook(inspection: Inspection) -> Iterator[str]:
    yield what_to_expect(inspection.pairs)
    if first := _first_to_mend(inspection):
        number = len(first.lines)
        lines = f"{number:,} line{'' if number == 1 else 's'}"
        yield f"What to mend first: {first.name} ({lines}). {first.change}"
    elif any(finding.doubt for finding in inspection.findings):
        yield "Nothing has to be mended. Doubts are guesses: look at the first ten of each kind."


def _first_to_mend(inspection: Inspection) -> Finding | None:
    """Return the first that is sure, and that a training does not leave out by itself."""
    return next((e for e in inspection.findings if not (e.doubt or e.left_out)), None)


def _lengths(sides: Sequence[Side]) -> Picture:
    names = [language_name(side.language) for side in sides]
    if len({*names}) < len(names):
        names = [side.path.name for side in sides]
    lengths = {
        name: [len(words) for words in side.words] for name, side in zip(names, sides, strict=True)
    }
    in_characters = any(side.language in WITHOUT_BLANKS for side in sides)
    return sentence_lengths(lengths, unit="words or characters" if in_characters else "words")


def _parts(inspection: Inspection) -> Iterator[str]:
    yield from map(paragraph, _facts(inspection))
    yield figure(_lengths(_sides(inspection)))
    yield heading("What to expect")
    expected, *to_mend = _outlook(inspection)
    yield paragraph(expected)
    yield figure(bleu_by_pairs(scores_by_pairs(), inspection.pairs))
    yield from map(paragraph, to_mend)
    if not inspection.findings:
        yield paragraph(NOTHING)
    for finding in inspection.findings:
        yield heading(_headline(finding, inspection))
        yield paragraph(finding.change)
        places = {line: _place([line], finding) for line in finding.lines[:ON_A_PAGE]}
        yield _lines(finding.name, places, inspection)
    yield heading("Pairs drawn at random")
    lines = range(1, len(inspection.source.lines) + 1)
    drawn = random.Random(0).sample(lines, min(SHOWN, len(lines)))
    yield _lines("Drawn at random", {line: f"{line:,}" for line in sorted(drawn)}, inspection)


def _lines(caption: str, places: dict[int, str], inspection: Inspection) -> str:
    sides = _sides(inspection)
    rows = [(place, *(side.lines[line - 1] for side in sides)) for line, place in places.items()]
    return table(caption, ("line", *(language_name(side.language) for side in sides)), rows)
