from bs4 import BeautifulSoup

from transformer_course import plots
from transformer_course.plots.course_map import DESCRIPTION
from transformer_course.syllabus import LESSONS


def drawn():
    return plots.course_map(lambda lesson: f"{lesson}.ipynb")._repr_mimebundle_()


def page():
    return BeautifulSoup(drawn()["text/html"], "html.parser")


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
