"""The learner's file without the course: given parts written out."""

from transformer_course.own.given import part_text
from transformer_course.own.sections import EXPORTED, sections, with_section


def exported(text: str) -> str:
    """Return a file that needs torch alone: the model answer is put where a part was given."""
    for section in sections(text).values():
        if section.is_given:
            text = with_section(text, section.name, part_text(section.name), EXPORTED)
    return text
