"""The card of an examination can be read by everybody, on light and on dark pages."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from transformer_course.examine.diagnosis import diagnose
from transformer_course.examine.examination import Observations
from transformer_course.examine.experiment import EXPERIMENTS, Outcome
from transformer_course.examine.report import Examination

EFFECTS = [[1.0] * 7 for _ in range(7)]
WRONG = {
    "a fault": {
        "future": Outcome("all", {"effects": EFFECTS}),
        "target padding": Outcome("yes", {"largest effect": 1.0}),
    },
    "nothing known": {"one word": Outcome("no", {"it raises": "IndexError: too many axes"})},
    "a failed training": {"learning": Outcome("it is stuck", {"steps": 300})},
    "health": {},
    "no time": {},
}
PAGES = {"light": "background:#fff;color:#111", "dark": "background:#111;color:#eee"}


def card(case: str) -> str:
    right = {name: Outcome(each.healthy[0]) for name, each in EXPERIMENTS.items()}
    curve = [(step, 3.0 - step / 200) for step in range(5, 301, 5)]
    observed = Observations(right | WRONG[case], {"ids": "`train` is not given"}, 2.0, curve)
    if case == "no time":
        observed.break_off("beam", "there was no time left")
    return Examination("my_model.py", observed, diagnose(observed.words))._repr_html_()


@pytest.mark.parametrize("page_colours", PAGES)
@pytest.mark.parametrize("case", WRONG)
def test_axe_finds_nothing_in_a_card(browser: Browser, case: str, page_colours: str) -> None:
    page = browser.new_page()
    page.set_content(
        f'<html lang="en"><head><title>card</title></head><body style="{PAGES[page_colours]}">'
        f"<main><h1>A card</h1>{card(case)}</main></body></html>"
    )
    page.locator("details").evaluate_all("all => all.forEach(each => each.open = true)")
    found = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
    page.close()
