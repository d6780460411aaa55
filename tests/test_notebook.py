"""What a notebook takes from the package for itself."""

import subprocess
import sys
from types import SimpleNamespace

import altair as alt
import pytest

from tools.stamp import repository
from transformer_course import notebook
from transformer_course.checker import progress
from transformer_course.exercises import attention
from transformer_course.model.attention import causal_mask
from transformer_course.model.feed_forward import FeedForward
from transformer_course.own.location import RECORDS
from transformer_course.own.sections import parts, template, with_section
from transformer_course.syllabus import colab_link
from transformer_course.workspace import home


def test_setup_says_the_same_each_time(capsys):
    notebook.setup()
    notebook.setup()
    assert capsys.readouterr().out == "Ready.\nReady.\n"


def test_setup_of_a_lesson_says_how_far_the_reader_is(capsys):
    progress.record("attention.scaled_dot_product_attention")
    assert notebook.setup("02_attention").__name__ == "my_transformer"
    assert capsys.readouterr().out == (
        "Ready. Attention: 1 of 5 solved; next: exercise 2, padding_mask, 5 minutes.\n"
    )


def test_after_a_right_answer_the_next_exercise_is_named():
    notebook.setup("02_attention")
    feedback = attention.causal_mask.check(causal_mask)
    assert "Next: exercise 1, scaled_dot_product_attention, " in repr(feedback)


def test_setup_in_a_workspace_writes_its_home_page_anew(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook.setup("02_attention")
    assert not list(tmp_path.iterdir())
    (tmp_path / RECORDS).mkdir()
    notebook.setup("02_attention")
    assert (tmp_path / home.PAGE).exists()


def test_setup_where_nothing_can_be_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / RECORDS).mkdir()
    (tmp_path / home.PAGE).mkdir()
    notebook.setup("02_attention")
    assert "Ready." in capsys.readouterr().out


def test_setup_of_a_lesson_that_is_not_built_yet(capsys):
    notebook.setup("99_lesson")
    assert capsys.readouterr().out == "Ready.\n"


def test_setup_does_not_wait_for_the_grammar_of_addresses():
    """Half of its time, where JupyterLab is installed."""
    pytest.importorskip("rfc3987_syntax")
    code = "import sys, transformer_course.notebook; sys.exit('lark' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_setup_switches_the_pictures_on():
    notebook.setup()
    assert alt.theme.active == "transformer_course"


@pytest.mark.parametrize("thing", [causal_mask, FeedForward])
def test_source_is_a_python_block(thing, monkeypatch):
    shown = []
    monkeypatch.setattr(notebook, "display", lambda data, raw: shown.append(data))
    notebook.show_source(thing)
    (data,) = shown
    block = data["text/markdown"]
    assert block.startswith("````python\n")
    assert block.endswith("\n````")
    assert data["text/plain"] in block
    assert thing.__name__ in data["text/plain"].splitlines()[0]


def test_source_of_a_part_that_is_given(monkeypatch):
    shown = []
    monkeypatch.setattr(notebook, "display", lambda data, raw: shown.append(data["text/plain"]))
    own = notebook.setup()
    for part in (own.MultiHeadAttention, own.split_heads, own.LayerNorm):
        notebook.show_source(part)
        assert shown[-1].splitlines()[0].startswith(("class ", "def "))
        assert part.__name__ in shown[-1].splitlines()[0]


@pytest.mark.parametrize("thing", [3, FeedForward(4, 8), len])
def test_source_of_something_else(thing):
    with pytest.raises(TypeError, match="it wants a class or function written in Python"):
        notebook.show_source(thing)


def test_lessons_are_found_beside_each_other(monkeypatch):
    monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
    assert notebook.lesson_address("05_layers") == "05_layers.ipynb"


def test_lessons_are_found_from_colab(monkeypatch):
    monkeypatch.setenv("COLAB_RELEASE_TAG", "release")
    address = notebook.lesson_address("05_layers")
    assert address == colab_link(repository(), "05_layers")


def test_an_error_is_shown_with_its_type(capsys):
    notebook.show_error(int, "x", base=10)
    assert capsys.readouterr().out.startswith("ValueError: invalid literal")


def test_an_error_that_does_not_come_is_told():
    with pytest.raises(AssertionError, match="raised none"):
        notebook.show_error(int, "3")


def test_a_reader_is_told_whose_the_parts_are(tmp_path):
    file = tmp_path / "my_transformer.py"
    text = template()
    own = SimpleNamespace(__file__=str(file))
    file.write_text(with_section(text, "softmax", "softmax = 1", "yours, today"), encoding="utf-8")
    others = f"1 of {len(parts())} parts are yours; the others are the course's for now."
    assert notebook.whose_parts(own) == others
    for name in parts():
        text = with_section(text, name, f"{name} = 1", "yours, today")
    file.write_text(text, encoding="utf-8")
    assert notebook.whose_parts(own) == f"All {len(parts())} parts are yours."
