"""The sections of ``my_transformer.py``: where each part is, and whose it is."""

import re
from dataclasses import dataclass
from pathlib import Path

TEMPLATE = Path(__file__).with_name("my_transformer.py")
YOURS = "yours"
EXPORTED = "the course's"
EARLIER_USE_OF_GIVEN = "from transformer_course.own.given import given\n"
USE_OF_GIVEN = (
    "from transformer_course.own.given import Given\n\n",
    "given = Given(globals())  # given.x is the course's x, which calls the parts of this file\n",
)
BEGINS = "# --- "
"""How the line begins that begins a section; no other line of the file may."""
HEADER = re.compile(
    rf"^{BEGINS}(?P<lesson>\w+): (?P<name>\w+)(?: \((?P<state>[^)\n]*)\))? -+\n"
    rf"(?P<body>.*?)(?=^{BEGINS}|\Z)",
    re.MULTILINE | re.DOTALL,
)
WIDTH = 94  # of a header


@dataclass(frozen=True)
class Section:
    """A part's place in the file.

    Attributes
    ----------
    lesson, name
        The part, and the lesson that it is written in.
    state
        ``"given"``, or whose it is and since when, as its header says.
    body
        Its text.
    """

    lesson: str
    name: str
    state: str
    body: str

    @property
    def is_given(self) -> bool:
        """Whether it is taken from the course; who writes by hand may leave the header as it is."""
        return f"{self.name} = given.{self.name}" in self.body.splitlines()

    @property
    def is_yours(self) -> bool:
        """Whether the learner wrote it."""
        return not self.is_given and self.state != EXPORTED

    def __str__(self) -> str:
        header = f"{BEGINS}{self.lesson}: {self.name} ({self.state}) "
        return f"{header:-<{WIDTH}}\n{self.body.strip()}\n\n\n"


def sections(text: str) -> dict[str, Section]:
    """Return the sections of a file by the name of their part."""
    found = [Section(**match.groupdict(YOURS)) for match in HEADER.finditer(text)]
    return {section.name: section for section in found}


def template() -> str:
    """Return the file as it is before anything is solved."""
    return TEMPLATE.read_text(encoding="utf-8")


def parts() -> dict[str, str]:
    """Return the lesson of each part, in the order of the file."""
    return {section.name: section.lesson for section in sections(template()).values()}


def yours(text: str) -> list[str]:
    """Return the names of the parts that the learner wrote."""
    return [section.name for section in sections(text).values() if section.is_yours]


def completed(text: str) -> str:
    """Return a file of an earlier version with the sections that it lacks, given.

    Each follows the one that it follows in the template.
    """
    text = text.replace(EARLIER_USE_OF_GIVEN, "".join(USE_OF_GIVEN))
    before = ""
    for name, section in sections(template()).items():
        for match in HEADER.finditer(text) if name not in sections(text) else ():
            if match["name"] == before:
                text = f"{text[: match.end()]}{section}{text[match.end() :]}"
                break
        before = name
    return _with_use_of_given(text)


def _with_use_of_given(text: str) -> str:
    """Return a file with what its given parts need: one that was finished has it no more."""
    if USE_OF_GIVEN[1] in text or not any(each.is_given for each in sections(text).values()):
        return text
    first = next(HEADER.finditer(text)).start()
    return f"{text[:first]}{''.join(USE_OF_GIVEN)}\n\n{text[first:]}"


def with_section(text: str, name: str, body: str, state: str) -> str:
    """Return a file with another body in the section of a part.

    When no part is given any more, the course goes too.

    Raises
    ------
    KeyError
        If the file has no such section.
    """
    if name not in sections(text):
        raise KeyError(name)

    def written(match: re.Match[str]) -> str:
        old = Section(**match.groupdict(YOURS))
        return str(Section(old.lesson, name, state, body) if old.name == name else old)

    text = HEADER.sub(written, text)
    if not any(section.is_given for section in sections(text).values()):
        for line in USE_OF_GIVEN:
            text = text.replace(line, "")
    return text
