import importlib.util
from types import SimpleNamespace

import pytest
import yaml
from docutils import nodes
from docutils.utils import new_document

from tools import book
from tools.sources import ROOT, lesson_sources
from tools.stamp import documentation, repository
from transformer_course.exercises import attention
from transformer_course.publish import SCRIPTS, WEB

APP = SimpleNamespace(env=SimpleNamespace(note_dependency=lambda path: None))


def test_every_lesson_is_a_page():
    toc = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))
    pages = [chapter["file"] for chapter in toc["chapters"]]
    lessons = [page for page in pages if page.startswith("notebooks/")]
    assert lessons == [f"notebooks/{source.stem}" for source in lesson_sources()]


def test_addresses_come_from_the_one_place():
    config = SimpleNamespace(html_theme_options={})
    book.set_addresses(None, config)
    assert config.html_theme_options == {"repository_url": repository()}
    assert config.ogp_site_url == f"{documentation()}/"
    assert documentation().endswith(config.notfound_urls_prefix.rstrip("/"))


def test_pages_of_the_book_are_filled():
    source = ["git clone {{ repository }}"]
    book.fill(APP, "book/index", source)
    assert source == [f"git clone {repository()}"]


def test_lessons_are_left_as_they_are():
    source = ["{{ lessons }}"]
    book.fill(APP, "notebooks/01_positional_encoding", source)
    assert source == ["{{ lessons }}"]


def test_chart_library_defines_the_one_name_that_pages_use():
    library = book.chart_library()
    assert library.startswith("(() => {") and library.endswith("})();")
    assert "window.vegaEmbed=" in library


def test_mathjax_comes_with_fonts_and_commands_that_load_on_demand(tmp_path):
    book.copy_mathjax(tmp_path)
    assert (tmp_path / "startup.js").exists()
    assert (tmp_path / "input/tex/extensions/boldsymbol.js").exists()
    assert any((tmp_path / "output/chtml/fonts/woff-v2").iterdir())


def test_missing_mathjax_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"sphinx-mathjax-offline.*run `make book`"):
        book.copy_mathjax(tmp_path)


def test_formulas_reach_mathjax_as_they_are_written():
    page = new_document("lesson")
    page += nodes.math_block("", r"a \\ b \tag{3}", nowrap=False)
    book.keep_formulas(None, page)
    (formula,) = page.findall(nodes.math_block)
    assert formula["nowrap"]
    assert formula.astext() == r"\[a \\ b \tag{3}\]"


def test_only_pages_with_charts_load_the_chart_library():
    loaded = []
    app = SimpleNamespace(add_js_file=lambda file, **attributes: loaded.append(file))
    book.load_chart_library(app, "page", "", {"body": "<p>text</p>"}, None)
    assert loaded == []
    book.load_chart_library(app, "page", "", {"body": '<figure class="chart">'}, None)
    assert loaded == ["vendor/vega.js", "charts.js"]


def test_live_translator_is_loaded_on_its_pages_alone():
    loaded = []
    app = SimpleNamespace(
        add_js_file=lambda file, **attributes: loaded.append(file), add_css_file=loaded.append
    )
    book.load_live_translator(app, "book/notation", "", {}, None)
    assert loaded == []
    book.load_live_translator(app, book.LIVE_PAGES[0], "", {}, None)
    assert loaded == [f"live/{file}" for file in (book.LIVE_STYLE, "toy.js", *SCRIPTS)]


def test_live_translator_has_all_that_its_page_loads(monkeypatch, tmp_path):
    data = {"toy.js": "const TRANSLATORS = {};\n", "other.0.js": "TRANSLATORS.other = {};\n"}
    monkeypatch.setattr(book, "data_files", lambda: data)
    book.write_live_translator(SimpleNamespace(outdir=tmp_path))
    written = {path.name: path.read_text("utf-8") for path in tmp_path.rglob("*.*")}
    assert {name: written.pop(name) for name in data} == data
    assert written.keys() == {book.LIVE_STYLE, *SCRIPTS}
    assert all(text == (WEB / name).read_text("utf-8") for name, text in written.items())


def test_gaps_take_the_place_of_checks_and_of_nothing_else():
    page = new_document("02_attention")
    for code in ("exercise.causal_mask.check(causal_mask)", "causal_mask(3)"):
        page += nodes.container("", nodes.literal_block(code, code), classes=["cell"])
    app = SimpleNamespace(env=SimpleNamespace(docname="notebooks/02_attention"))
    book.open_gaps(app, page)
    gaps, cell = page.children
    assert gaps.astext() == attention.causal_mask.gaps()._repr_html_()
    assert cell.astext() == "causal_mask(3)"


def test_icons_that_no_page_shows_are_taken_out():
    script = (
        '{bars:[448,512,["navicon"],"f0c9","M0 96z"],"file-pdf":[512,512,[],"f1c1",["M0","M1"]],'
        'sun:[512,512,[9728],"f185","M2"]}'
    )
    assert book.with_icons(script, {"navicon", "sun"}) == (
        '{bars:[448,512,["navicon"],"f0c9","M0 96z"],sun:[512,512,[9728],"f185","M2"]}'
    )


def test_each_page_says_where_it_is_as_markdown():
    context = {"metatags": ""}
    book.name_markdown(None, "notebooks/02_attention", "", context, new_document("page"))
    assert 'type="text/markdown" href="02_attention.md"' in context["metatags"]
    book.name_markdown(None, "search", "", search := {"metatags": ""}, None)
    assert search["metatags"] == ""


def test_markdown_is_written_when_the_pages_are_there(tmp_path):
    app = SimpleNamespace(outdir=tmp_path)
    book.write_markdown(app, RuntimeError("no pages"))
    assert not list(tmp_path.iterdir())
    book.write_markdown(app, None)
    assert (tmp_path / "llms.txt").is_file()
    assert (tmp_path / "book" / "teachers.md").is_file()
