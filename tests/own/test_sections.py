import ast

import pytest

from transformer_course.exercises import catalogues
from transformer_course.own.given import part_text
from transformer_course.own.sections import (
    USE_OF_GIVEN,
    Section,
    parts,
    sections,
    template,
    with_section,
    yours,
)


def test_each_part_is_an_exercise_of_its_lesson() -> None:
    for name, lesson in parts().items():
        assert name in catalogues()[lesson], name


def test_lessons_come_in_their_order() -> None:
    order = [lesson for lesson in catalogues() if lesson in parts().values()]
    assert sorted(set(parts().values()), key=list(parts().values()).index) == sorted(
        order, key=list(parts().values()).index
    )


def about(name: str) -> str:
    """Return how a part is called and what it does, as its model answer says."""
    [*_, answer] = ast.parse(part_text(name)).body
    methods = {method.name: method for method in answer.body if hasattr(method, "args")}
    arguments = methods.get("__init__", answer).args
    for argument in arguments.args:
        argument.annotation = None
    [meaning, *_] = ast.get_docstring(answer).splitlines()
    return f"({ast.unparse(arguments).removeprefix('self, ')}): {meaning}"


def test_every_part_is_given_at_first() -> None:
    assert yours(template()) == []
    assert {section.state for section in sections(template()).values()} == {"given"}
    for name, section in sections(template()).items():
        *comment, line = section.body.strip().splitlines()
        assert line == f"{name} = given.{name}"
        assert " ".join(line.removeprefix("# ") for line in comment) == about(name)


def test_one_section_is_replaced_and_nothing_else() -> None:
    text = with_section(template(), "softmax", "def softmax(scores):\n    return 1", "yours, today")
    assert yours(text) == ["softmax"]
    given = sections(template())["softmax"].body
    assert with_section(text, "softmax", given, "given") == template()


def test_headers_are_alike() -> None:
    header = str(Section("attention", "causal_mask", "given", "")).splitlines()[0]
    assert header in template()


def test_unknown_part_is_refused() -> None:
    with pytest.raises(KeyError, match="sofmax"):
        with_section(template(), "sofmax", "", "yours")


def test_the_course_goes_with_the_last_given_part() -> None:
    text = template()
    for name in parts():
        assert all(line in text for line in USE_OF_GIVEN)
        text = with_section(text, name, f"{name} = 1", "yours, today")
    assert "transformer_course.own" not in text and "Given" not in text


def test_what_the_learner_writes_between_sections_stays() -> None:
    mine = template().replace("# --- around the parts", "MINE = 1\n\n\n# --- around the parts", 1)
    assert "MINE = 1" in with_section(mine, "softmax", "softmax = 1", "yours, today")


GIVEN_LINE = "softmax = given.softmax"
WRITTEN = "def softmax(scores):\n    return scores.softmax(dim=-1)"


@pytest.mark.parametrize("mark", ["(given) ", "(yours) ", ""])
def test_what_somebody_wrote_by_hand_is_theirs_whatever_the_header_says(mark: str) -> None:
    header = next(line for line in template().splitlines() if ": softmax (" in line)
    text = template().replace(header, header.replace("(given) ", mark))
    assert yours(text.replace(GIVEN_LINE, WRITTEN)) == ["softmax"]
    assert [*sections(text)] == [*parts()]
    assert yours(text) == []
