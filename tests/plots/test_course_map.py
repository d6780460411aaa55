from bs4 import BeautifulSoup

from transformer_course import plots
from transformer_course.own import sections
from transformer_course.plots.course_map import DESCRIPTION
from transformer_course.plots.theme import GRID
from transformer_course.syllabus import LESSONS


def drawn(yours=None):
    return plots.course_map(lambda lesson: f"{lesson}.ipynb", yours)._repr_mimebundle_()


def page(yours=None):
    return BeautifulSoup(drawn(yours)["text/html"], "html.parser")


def lit_links(yours):
    """Return the links to lessons that stand in boxes with colours."""
    links = page(yours).find_all("a")
    return [link for link in links if f"solid {GRID}" not in link.parent["style"]]


def lit(yours):
    """Return what the boxes say that have colours, of those that lead to a lesson."""
    return {link.parent.text for link in lit_links(yours)}


def test_every_core_lesson_has_a_link():
    addresses = {link["href"] for link in page().find_all("a")}
    assert addresses == {f"{lesson}.ipynb" for lesson in list(LESSONS)[:8]}


def test_links_say_which_lesson_they_open():
    for link in page().find_all("a"):
        number = int(link["href"].partition("_")[0])
        assert link.text.endswith(f"(lesson {number})")
        assert len(link.text) > 20


def test_the_map_has_a_text_alternative_and_asks_no_host():
    assert page().figure["aria-label"] == drawn()["text/plain"] == DESCRIPTION
    assert "//" not in drawn()["text/html"]


def test_the_encoder_is_read_before_the_decoder():
    words = page().text
    assert words.index("Encoder") < words.index("Memory") < words.index("Decoder")


def test_what_the_learner_wrote_is_lit():
    assert lit([]) == set()
    assert lit(["FeedForward"]) == {"Feed-forward network (lesson 4)\u2713 yours"}
    assert lit(["layer_norm"]) == {"Add and layer norm (lesson 5)1 of 2 yours"}
    assert len(lit(sections.parts())) == len({link.text for link in page().find_all("a")})
    assert all(words.endswith("\u2713 yours") for words in lit(sections.parts()))


def test_every_part_of_a_lesson_on_the_map_lights_something():
    on_the_map = {lesson.partition("_")[2] for lesson in list(LESSONS)[:8]}
    for part, lesson in sections.parts().items():
        assert bool(lit([part])) == (lesson in on_the_map), part


def test_a_box_leads_to_a_lesson_where_some_of_it_is_written():
    written = {(link.text, part) for part in sections.parts() for link in lit_links([part])}
    for link in page().find_all("a"):
        lessons = {sections.parts()[part] for box, part in written if box == link.text}
        assert link["href"].removesuffix(".ipynb").partition("_")[2] in lessons


def test_a_map_without_a_learner_speaks_of_none():
    assert "yours" not in drawn()["text/html"]
    assert len(lit(None)) == len({link.text for link in page().find_all("a")})
