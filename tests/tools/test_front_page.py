"""The front page shows the real thing, and the README's pictures are of what it shows."""

import pytest

from tools import front_page, pictures
from tools.sources import ROOT

AGED = "`make book` and `python -m tools.pictures` take it anew"


def test_the_card_names_the_mistake_of_the_answer():
    shown = front_page.answer_and_card()
    assert "a position may not attend to itself" in shown
    assert "Not yet" in shown


def test_the_way_begins_with_an_empty_cell_and_its_answer_is_right():
    shown = front_page.way()
    assert "your code here" in shown
    assert "Well done" in shown
    assert "causal_mask" in shown and "token_budget_batches" in shown


@pytest.mark.parametrize("scheme", pictures.SCHEMES)
@pytest.mark.parametrize("name", [front_page.ANSWER, front_page.WAY])
def test_no_picture_of_the_readme_has_aged(name, scheme):
    taken_of = pictures.taken_of(pictures.IMAGES / f"{name}-{scheme}.png")
    assert taken_of == pictures.digest(pictures.figures()[name]), AGED


@pytest.mark.parametrize("scheme", pictures.SCHEMES)
def test_the_picture_of_a_published_page_has_not_aged(scheme):
    taken_of = pictures.taken_of(pictures.STATIC / front_page.PAGE.format(scheme))
    assert taken_of == pictures.digest(pictures.published_sources()), AGED


def test_the_picture_of_a_shared_link_has_not_aged():
    taken_of = pictures.taken_of(pictures.STATIC / pictures.SHARED)
    assert taken_of == pictures.digest(front_page.answer_and_card()), AGED


def test_every_picture_is_in_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [picture.name for picture in pictures.IMAGES.glob("*.png") if picture.name in readme]
    assert len(shown) == len(list(pictures.IMAGES.glob("*.png"))) > 0
