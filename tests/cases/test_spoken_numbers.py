import math
import random
from collections import Counter

import pytest

from transformer_course.cases import spoken_numbers

SAID = {
    1: ("one", "un"),
    21: ("twenty one", "vingt et un"),
    71: ("seventy one", "soixante et onze"),
    80: ("eighty", "quatre vingts"),
    81: ("eighty one", "quatre vingt un"),
    91: ("ninety one", "quatre vingt onze"),
    99: ("ninety nine", "quatre vingt dix neuf"),
    100: ("one hundred", "cent"),
    200: ("two hundred", "deux cents"),
    201: ("two hundred one", "deux cent un"),
    280: ("two hundred eighty", "deux cent quatre vingts"),
    1000: ("one thousand", "mille"),
    80_000: ("eighty thousand", "quatre vingt mille"),
    200_000: ("two hundred thousand", "deux cent mille"),
    171_071: (
        "one hundred seventy one thousand seventy one",
        "cent soixante et onze mille soixante et onze",
    ),
}


@pytest.mark.parametrize("number", SAID)
def test_numbers_are_said_as_a_grammar_says(number):
    said = spoken_numbers.english(number), spoken_numbers.french(number)
    assert said == SAID[number]


@pytest.mark.parametrize("say", [spoken_numbers.english, spoken_numbers.french])
def test_no_two_numbers_are_said_alike(say):
    numbers = random.Random(0).sample(range(1, 1_000_000), 20_000)
    assert len({say(number) for number in numbers}) == len(numbers)


def test_the_test_is_of_other_numbers_and_one_english_line_is_blank(tmp_path):
    spoken_numbers.write(tmp_path)
    lines = {
        name: (tmp_path / name).read_text(encoding="utf-8").split("\n")[:-1]
        for name in ("train.en", "train.fr", "test.en", "test.fr")
    }
    assert [len(each) for each in lines.values()] == [4000, 4000, 200, 200]
    assert not set(lines["train.en"]) & set(lines["test.en"])
    assert [number for number, line in enumerate(lines["train.en"]) if not line] == [40]
    assert all(lines["train.fr"])


def test_whoever_knows_french_alone_is_far_less_sure_of_the_first_word_than_of_the_second():
    """The loss by position of a translator without a source, which lesson 12 states."""
    beginnings = Counter()
    for number in range(1, spoken_numbers.LARGEST, 7):
        beginnings[tuple(spoken_numbers.french(number).split()[:2])] += 1
    firsts = Counter()
    for words, count in beginnings.items():
        firsts[words[0]] += count
    first = -sum(n / firsts.total() * math.log(n / firsts.total()) for n in firsts.values())
    second = -sum(
        count / beginnings.total() * math.log(count / firsts[words[0]])
        for words, count in beginnings.items()
    )
    assert first == pytest.approx(2.4, abs=0.05)
    assert second == pytest.approx(0.5, abs=0.05)
