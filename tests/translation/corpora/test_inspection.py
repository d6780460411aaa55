"""Each kind of strange line is found, and right ones are left alone."""

import html
import random
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from transformer_course.publish.text_page import summary
from transformer_course.translation.corpora.inspection import (
    DOUBTS,
    KINDS,
    LEFT_OUT,
    LONG,
    Inspection,
    Side,
    inspect_text,
    script_of,
)
from transformer_course.translation.corpora.similarity import fit_of, moved_blocks, words_in
from transformer_course.translation.corpora.toy_language import toy_corpus
from transformer_course.translation.training.recipes import shipped_recipe

Lines = list[list[str]]
RUNS = "He runs.", "Il court."
ENTITIES = "letters written as in HTML, such as &eacute; or &#39;"


@pytest.fixture(scope="module")
def text() -> Lines:
    """Return 2,000 right sentences in both languages, none twice."""
    pairs = list({pair.source: pair for pair in toy_corpus().split("train")}.values())[:2000]
    return [[pair.source for pair in pairs], [pair.target for pair in pairs]]


@pytest.fixture
def look(tmp_path: Path) -> Callable[[Lines], Inspection]:
    def inspected(lines: Lines) -> Inspection:
        paths = tmp_path / "my.en", tmp_path / "my.fr"
        for path, side in zip(paths, lines, strict=True):
            path.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
        return inspect_text(*paths)

    return inspected


def found(inspection: Inspection) -> dict[str, list[int]]:
    return {finding.name: finding.lines for finding in inspection.findings if not finding.doubt}


def test_right_text_is_left_alone(text: Lines, look: Callable[[Lines], Inspection]) -> None:
    inspection = look(text)
    assert found(inspection) == {}
    assert inspection.pairs == 2000
    assert inspection.source.unknown == 0
    assert all(len(finding.lines) < 100 for finding in inspection.findings)


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [
        ("a side is blank", "the cat sleeps", ""),
        ("letters in a wrong encoding", "the café", "le cafÃ© est fermÃ©"),
        ("letters in a wrong encoding", "the cat", "le chat \ufffdternel"),
        (ENTITIES, "the cat&apos;s eyes", "les yeux du chat"),
        (ENTITIES, "the cat is seated", "le chat est assis&#160;!"),
        ("another script than the rest of the file", "the cat sleeps", "кошка спит"),
        ("the two languages are exchanged", "le grand chat dort ici", "the big cat sleeps here"),
        ("both sides are the same", "the big cat sleeps", "the big cat sleeps"),
        ("over 100 words on a side", "the cat " * 60, "le chat dort"),
    ],
)
def test_strange_line_is_found(
    text: Lines, look: Callable[[Lines], Inspection], name: str, source: str, target: str
) -> None:
    lines = [[*text[0][:1000], source, *text[0][1000:]], [*text[1][:1000], target, *text[1][1000:]]]
    assert found(look(lines))[name] == [1001]


def test_letters_as_in_html_are_no_numbers_and_python_mends_them(
    text: Lines, look: Callable[[Lines], Inspection]
) -> None:
    written = ["the cat&#39;s AT&T and R&D; eyes", "les yeux de l&apos;&eacute;t&eacute;&nbsp;!"]
    lines = [[*side, line] for side, line in zip(text, written, strict=True)]
    findings = {each.name: each.lines for each in look(lines).findings}
    assert findings[ENTITIES] == [2001]
    assert 2001 not in findings.get("other numbers on the other side", [])
    mended = [[html.unescape(line) for line in side] for side in lines]
    assert ENTITIES not in found(look(mended))
    assert mended[1][2000] == "les yeux de l'été\u00a0!"


def test_many_equal_pairs_bring_the_others_into_no_doubt(
    text: Lines, look: Callable[[Lines], Inspection]
) -> None:
    lines = [side[:400] + 400 * [line] for side, line in zip(text, RUNS, strict=True)]
    findings = {each.name: each.lines for each in look(lines).findings}
    assert len(findings.get("words that elsewhere do not go together", [])) < 20


def test_repeated_pair_is_found(text: Lines, look: Callable[[Lines], Inspection]) -> None:
    """With the line that it repeats, and a block of them before a single one."""
    lines = [[*side[:3], side[0], *side[3:], *side[100:103]] for side in text]
    inspection = look(lines)
    repeated = {"the pair stands further up already": [2002, 2003, 2004, 4]}
    assert found(inspection) == repeated
    [finding] = [each for each in inspection.findings if each.first]
    assert finding.first == {4: 1, 2002: 102, 2003: 103, 2004: 104}
    assert finding.runs == [[2002, 2003, 2004], [4]]
    assert "lines 2,002 to 2,004 (as 102 to 104), 4 (as 1)\n" in summary(inspection)


def test_what_training_leaves_out_is_not_to_be_mended(
    text: Lines, look: Callable[[Lines], Inspection]
) -> None:
    long, many = "猫" * 3000, "a " * 150
    lines = [[*text[0], "", long, many], [*text[1], "le chat", "le chat", "le chat"]]
    inspection = look(lines)
    left_out = {each.name: each.lines for each in inspection.findings if each.left_out}
    assert left_out == {
        "a side is blank": [2001],
        "over 2,000 characters on a side": [2002],
        "over 100 words on a side": [2003],
    }
    lines = [[*text[0], many], [*text[1], "le chat"]]
    assert "What to mend first" not in summary(look(lines))
    usual = [shipped_recipe(name).most_words for name in ("little", "tiny", "small", "base")]
    assert {*usual} == {LONG}


def test_what_to_mend_first_does_not_go_by_the_number_of_lines(
    text: Lines, look: Callable[[Lines], Inspection]
) -> None:
    """Eight moved lines come before three hundred repeated ones."""
    source, target = ([*side, *side[:300]] for side in text)
    target = [*target[:500], "le chat", *target[500:508], *target[509:]]
    inspection = look([source, target])
    assert "What to mend first: moved lines, " in summary(inspection)
    assert re.search("further down: lines 50[01] to 5(08|09|10)\n", summary(inspection))
    lines = [len(each.lines) for each in inspection.findings if not each.doubt]
    assert lines[0] < 20 < 280 < lines[1]


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [
        ("other numbers on the other side", "in 1999 the cat slept", "en 1998 le chat dormait"),
        (
            "a side much longer than the other, for these languages",
            "the cat sleeps " * 9,
            "le chat",
        ),
        ("words that elsewhere do not go together", "the red cat eats a fish", "la lune chante"),
    ],
)
def test_doubtful_line_is_found(
    text: Lines, look: Callable[[Lines], Inspection], name: str, source: str, target: str
) -> None:
    lines = [[*text[0], source], [*text[1], target]]
    doubts = {each.name: each.lines for each in look(lines).findings if each.doubt}
    assert 2001 in doubts[name]


def test_numbers_that_no_words_explain_come_first(
    text: Lines, look: Callable[[Lines], Inspection]
) -> None:
    strange = [
        ("the 15 cats", "les quinze chats"),
        ("the cats of 1961", "les chats"),
        ("20 000 cats", "30 000 chats"),
        ("at 3 p.m.", "à 15 heures"),
    ]
    lines = [[*side, *added] for side, added in zip(text, zip(*strange, strict=True), strict=True)]
    [doubt] = [each for each in look(lines).findings if each.name.startswith("other numbers")]
    assert doubt.lines == [2004, 2003, 2002, 2001]


def test_numbers_may_be_grouped_and_written_in_other_digits(
    text: Lines, look: Callable[[Lines], Inspection]
) -> None:
    lines = [[*text[0], "1,234 cats in 2 houses"], [*text[1], "٢ maisons, 1 234 chats"]]
    assert "other numbers on the other side" not in {each.name for each in look(lines).findings}


def test_languages_that_are_exchanged_half_way_are_found(
    text: Lines, look: Callable[[Lines], Inspection]
) -> None:
    lines = [text[0][:1000] + text[1][1000:], text[1][:1000] + text[0][1000:]]
    exchanged = found(look(lines))["the two languages are exchanged"]
    assert min(exchanged) > 1000
    assert len(exchanged) > 980


def test_lines_that_are_moved_are_doubted(text: Lines) -> None:
    """One in a hundred is misplaced; the measure on real texts is in `benchmarks/`."""
    found = 0
    for seed in range(5):
        chance = random.Random(seed)
        sources, targets = ([words_in(line, "en") for line in side] for side in text)
        moved = chance.sample(range(len(targets)), 20)
        for place, other in zip(moved, [*moved[1:], moved[0]], strict=True):
            targets[place] = words_in(text[1][other], "fr")
        doubts = {*fit_of(sources, targets).doubted.tolist()}
        found += len(doubts & {*moved})
        assert len(doubts - {*moved}) <= 0.05 * len(targets)
    assert found >= 80


@pytest.mark.parametrize("by", [-2, -1, 1, 3])
def test_moved_lines_are_found_as_a_block(text: Lines, by: int) -> None:
    sources, targets = ([words_in(line, "en") for line in side] for side in text)
    assert moved_blocks(fit_of(sources, targets)) == []
    first, last = 700, 720
    moved = targets.copy()
    for place in range(first, last):
        moved[place + by] = targets[place]
    [block] = moved_blocks(fit_of(sources, moved))
    assert block.by == by
    assert abs(block.first - first) <= 3
    assert abs(block.last - (last - 1)) <= 3


def test_lines_to_take_out_put_the_others_back(
    text: Lines, look: Callable[[Lines], Inspection]
) -> None:
    source, target = text[0].copy(), text[1]
    target = [*target[:500], "le chat", *target[500:519], *target[520:]]
    [finding] = [each for each in look([source, target]).findings if "moved" in each.name]
    assert re.match("moved lines, 50[01] to 5(19|20): .* stands 1 further down", finding.name)
    assert re.match("Take line 50[01] out of my.fr, and line 52[01] out of my.en", finding.change)
    del target[500], source[519]
    assert not any("moved" in each.name for each in look([source, target]).findings)


def test_files_that_are_exchanged_are_recognised(
    text: Lines, look: Callable[[Lines], Inspection]
) -> None:
    names = [*found(look(text[::-1]))][:2]
    assert names == [
        "my.en looks like French, its name says English",
        "my.fr looks like English, its name says French",
    ]


def test_unknown_words_are_counted(tmp_path: Path) -> None:
    """Of twenty words in every tenth line, four are in no other line."""
    lines = ["a b c d e"] * 40
    lines[0] = "x y a b c"
    lines[20] = "z a b c x2"
    side = Side(tmp_path, "en", lines)
    assert side.unknown == 4 / 20
    assert Side(tmp_path, "en", [""]).unknown == 0


def test_other_names_of_the_words_change_nothing(text: Lines) -> None:
    """Python orders a set of words by numbers that are other ones for each word and process."""
    sides = [[line.split() for line in side[:200]] for side in text]
    renamed = [[[f"x{word}" for word in line] for line in side] for side in sides]
    assert np.array_equal(fit_of(*sides).pairs, fit_of(*renamed).pairs, equal_nan=True)


def test_sides_without_words_are_not_judged() -> None:
    sources, targets = [["a", "b"], ["a"], ["c"], ["a", "b"]], [["x", "y"], ["x"], [], ["x"]]
    fit = fit_of(sources * 5, targets * 5)
    assert [number for number, each in enumerate(fit.pairs) if each != each] == [2, 6, 10, 14, 18]


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("the cat", "LATIN"),
        ("1999!", ""),
        ("", ""),
        ("Ünal été", "LATIN"),
        ("кошка", "CYRILLIC"),
        ("ねこが寝る", "CJK"),
        ("القطة تنام", "ARABIC"),
        ("बिल्ली", "DEVANAGARI"),
    ],
)
def test_scripts_are_told_apart(line: str, script: str) -> None:
    assert script_of(line) == script


def test_characters_are_words_where_no_blanks_help() -> None:
    assert words_in("猫 睡觉。", "zh") == ["猫", "睡", "觉"]
    assert words_in("The Cat sleeps.", "en") == ["the", "cat", "sleeps"]


def test_every_kind_says_what_to_do() -> None:
    kinds = (*KINDS, *LEFT_OUT, *DOUBTS)
    assert len({kind.name for kind in kinds}) == len(kinds)
    assert all(kind.change.endswith(".") for kind in kinds)


@pytest.mark.parametrize("lines", [[["a"], ["b"]], [["", "x"], ["", "y"]], [["a", "b"], ["", ""]]])
def test_tiny_texts_are_inspected(lines: Lines, look: Callable[[Lines], Inspection]) -> None:
    inspection = look(lines)
    assert inspection.pairs == sum(all(pair) for pair in zip(*lines, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_small_texts_without_common_words_are_looked_at(
    seed: int, look: Callable[[Lines], Inspection]
) -> None:
    chance = random.Random(seed)
    sides = [[f"{side}{n}" for n in range(30)] for side in "ab"]
    for side in sides:
        one, other = chance.sample(range(30), 2)
        side[one] = side[other]
    assert "another script" not in found(look(sides))


def test_files_without_a_pair_are_refused(look: Callable[[Lines], Inspection]) -> None:
    with pytest.raises(ValueError, match="are empty: there is nothing to look at"):
        look([[], []])
    with pytest.raises(ValueError, match=r"every line of .* is blank"):
        look([["", " ", ""], [" ", "", ""]])
