"""Names, numbers, capitals, negations and short input: what counts, and what was counted."""

import json
from pathlib import Path

import pytest

from benchmarks.fragile_input import CAPITALS, LANGUAGES, all_in_text, read_sets, whole_text
from benchmarks.results_file import RESULTS
from transformer_course.translation.translator import SHIPPED

CARD = {
    "names": "a name",
    "numbers to ten": "a number from two to ten, in words",
    "other numbers": "a number in digits, or above ten",
    "negation": "*no*, *not*, *nobody*, *nothing* or *never*, by any word that negates",
    "very short": "one to three words, and nothing added",
    "captions": "for comparison: the main word of a usual caption",
    CAPITALS: "the main word of the same captions, in capitals",
}
LESSON = Path(__file__).parents[2] / "notebooks" / "text" / "09_real_translation.md"
recorded = json.loads((RESULTS / "fragile_input.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("must", "text", "found"),
    [
        ("John", "john fährt Rad.", True),
        ("John", "Ein John-Te fährt Rad.", False),
        ("Ahmed & Omar", "Omar et Ahmed jouent.", True),
        ("Ahmed & Omar", "Ahmed joue.", False),
        ("14|quatorze", "Il y a quatorze chaises.", True),
        ("14|vierzehn", "Ein 144 Stühle.", False),
        (r"ne|n'\w+", "Il n'est pas là.", True),
        (r"ne|n'\w+", "Une femme nage.", False),
    ],
)
def test_whole_words_count(must: str, text: str, found: bool) -> None:
    assert bool(all_in_text(must).search(text)) is found


@pytest.mark.parametrize(
    ("text", "found"), [("Un chien.", True), ("Un chien chien.", False), ("Le chien", False)]
)
def test_of_very_short_input_nothing_may_be_added(text: str, found: bool) -> None:
    assert bool(whole_text("un chien").search(text)) is found


def test_each_set_has_twenty_sentences_at_least_and_none_twice() -> None:
    sets = read_sets()
    for rows in sets.values():
        assert 20 <= len(rows) <= 40
    sentences = [row.sentence for rows in sets.values() for row in rows]
    assert len(set(sentences)) == len(sentences)


@pytest.mark.parametrize("name", CARD)
def test_what_was_counted_is_what_the_sets_ask_for_now(name: str) -> None:
    rows, found = read_sets()[name], recorded["sets"][name]
    for translator, language in LANGUAGES.items():
        said = found["translations"][translator]
        assert [line[2:].split(" = ")[0] for line in said] == [row.sentence for row in rows]
        texts = [line.split(" = ", 1)[1] for line in said]
        survive = [
            bool(row.must[language].search(text)) for row, text in zip(rows, texts, strict=True)
        ]
        assert survive == [line[0] == "+" for line in said]
        assert sum(survive) == found["survive"][translator]


def test_card_and_lesson_say_what_was_counted() -> None:
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    for name, words in CARD.items():
        found = recorded["sets"][name]
        french, german = (found["survive"][each] for each in LANGUAGES)
        assert f"| {words} | {found['sentences']} | {french} | {german} |" in card
    names = recorded["sets"]["names"]
    french, german = (names["survive"][each] for each in LANGUAGES)
    said = f"Of {names['sentences']} sentences with a name, {french} keep it in French and {german}"
    assert said in LESSON.read_text(encoding="utf-8")
    right = recorded["toy"]["right"]
    assert right == {"as trained": 1000, "first letter": 14, "all letters": 0}
    assert "1,000 right as they are, 14 with a capital" in card.replace("\n", " ")


def test_card_and_lesson_say_what_the_mark_points_at() -> None:
    lost, marked = {}, {}
    for name in ("names", "negation"):
        found = recorded["sets"][name]
        lost[name] = [found["sentences"] - found["survive"][each] for each in LANGUAGES]
        marked[name] = [found["lost and marked"][each] for each in LANGUAGES]
    assert lost == {"names": [16, 21], "negation": [12, 17]}
    assert marked == {"names": [1, 1], "negation": [1, 1]}
    elsewhere = json.loads((RESULTS / "not_sure.json").read_text(encoding="utf-8"))
    assert elsewhere["sentences"] == 500
    shares = [
        (round(row["another kind"], 2), round(row["test split"], 2))
        for row in elsewhere["translators"]
    ]
    assert shares == [(0.96, 0.05), (0.96, 0.04)]
    page = (LESSON.parents[2] / "book" / "own_text.md").read_text(encoding="utf-8")
    assert "96 of 100 sentences from a parliament get this mark, and 4 or 5 of 100 captions" in page
    for text in (LESSON, SHIPPED / "README.md"):
        said = " ".join(text.read_text(encoding="utf-8").split())
        assert "500 sentences of a parliament" in said and "the 16 names lost" in said
