"""Parts keep their names for ever: learners' files hold them, and so does what learners wrote."""

from pathlib import Path

from transformer_course.own import sections
from transformer_course.workspace.update import RENAMED

# Add the names of new parts; take none away. A part under another name would orphan what learners
# wrote for it, while the course's own ran in its place.
NAMES = set(Path(__file__).with_name("part_names.txt").read_text(encoding="utf-8").split())


def lost(template: str) -> set[str]:
    """Return the names that learners' files hold and the template does not."""
    return NAMES - sections.sections(template).keys()


def test_no_part_has_lost_its_name():
    assert lost(sections.template()) == set()
    assert NAMES.isdisjoint(RENAMED)


def test_every_part_is_listed_here():
    assert sections.parts().keys() == NAMES


def test_a_part_with_another_name_is_refused():
    renamed = sections.template().replace(": tie (given)", ": tie_tables (given)")
    assert lost(renamed) == {"tie"}
