"""What is in two files, for people: a summary in lines, and a page."""

import random
from collections.abc import Iterator
from pathlib import Path

from transformer_course.plots.own_text import sentence_lengths
from transformer_course.publish.document import (
    check_page,
    figure,
    heading,
    paragraph,
    table,
    write_document,
)
from transformer_course.translation.corpora.inspection import Finding, Inspection, Side
from transformer_course.translation.corpora.languages import WITHOUT_BLANKS, language_name
from transformer_course.translation.training.recorded_runs import what_to_expect

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
    check_page(path)
    source, target = (language_name(side.language) for side in _sides(inspection))
    write_document(path, f"A text in {source} and {target}", _parts(inspection))


def _sides(inspection: Inspection) -> tuple[Side, Side]:
    return inspection.source, inspection.target


def _facts(inspection: Inspection) -> Iterator[str]:
    yield f"{inspection.pairs:,} sentence pairs in {len(inspection.source.lines):,} lines."
    for side in _sides(inspection):
        words = f"{side.counts.total():,} words, {len(side.counts):,} different ones"
        yield (
            f"{side.path.name}: {words}. "
            f"Of the words in a tenth of the lines, {side.unknown:.1%} are in no other line: a "
            f"vocabulary of whole words would not know them, sub-words cut them into pieces."
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
        lines = ", ".join(f"{number:,}" for number in finding.lines[:SHOWN])
        more = " ..." if len(finding.lines) > SHOWN else ""
        word = "line" if len(finding.lines) == 1 else "lines"
        yield f"{_headline(finding, inspection)}: {word} {lines}{more}"
        yield f"    {finding.change}"


def _headline(finding: Finding, inspection: Inspection) -> str:
    kind = "doubtful" if finding.doubt else "found"
    share = len(finding.lines) / len(inspection.source.lines)
    of = f" ({share:.1%})" if share >= LEAST else ""
    return f"{len(finding.lines):,}{of} {kind}: {finding.name}"


def _outlook(inspection: Inspection) -> Iterator[str]:
    yield what_to_expect(inspection.pairs)
    if first := _first_to_mend(inspection):
        yield f"What to mend first: {first.name} ({len(first.lines):,} lines). {first.change}"
    elif any(finding.doubt for finding in inspection.findings):
        yield "Nothing has to be mended. Doubts are guesses: look at the first ten of each kind."


def _first_to_mend(inspection: Inspection) -> Finding | None:
    """Return what surely concerns most lines, of what a training does not leave out by itself."""
    harmful = [
        each
        for each in inspection.findings
        if not (each.doubt or each.change.startswith("Nothing"))
    ]
    return max(harmful, key=lambda each: len(each.lines), default=None)


def _parts(inspection: Inspection) -> Iterator[str]:
    yield from map(paragraph, _facts(inspection))
    lengths = {
        language_name(side.language): [len(words) for words in side.words]
        for side in _sides(inspection)
    }
    yield figure(sentence_lengths(lengths))
    yield heading("What to expect")
    yield from map(paragraph, _outlook(inspection))
    if not inspection.findings:
        yield paragraph(NOTHING)
    for finding in inspection.findings:
        yield heading(_headline(finding, inspection))
        yield paragraph(finding.change)
        yield _lines(finding.name, finding.lines[:ON_A_PAGE], inspection)
    yield heading("Ten pairs drawn at random")
    drawn = random.Random(0).sample(range(1, len(inspection.source.lines) + 1), SHOWN)
    yield _lines("Drawn at random", sorted(drawn), inspection)


def _lines(caption: str, numbers: list[int], inspection: Inspection) -> str:
    sides = _sides(inspection)
    rows = [(number, *(side.lines[number - 1] for side in sides)) for number in numbers]
    return table(caption, ("line", *(language_name(side.language) for side in sides)), rows)
