"""A real kernel, as the workspace's JupyterLab starts it."""

import pytest
from jupyter_client.manager import start_new_kernel

from transformer_course.workspace import lab

FIRST = "Run the cells above first"


@pytest.fixture(scope="module")
def run():
    """Return a function that runs a cell; it gives what was printed, and the error if any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(lab.JUPYTER))
        manager, client = start_new_kernel(kernel_name="python3")

    def ran(source: str) -> tuple[str, str]:
        printed, errors = [], []

        def listen(message):
            content = message["content"]
            printed.append(content.get("text", ""))
            errors.append(content.get("ename", ""))

        reply = client.execute_interactive(source, output_hook=listen, timeout=60)
        assert reply["content"]["status"] == "ok" or any((*printed, *errors))
        return "".join(printed), "".join(errors)

    yield ran
    client.stop_channels()
    manager.shutdown_kernel(now=True)


# In this order: the kernel is one.


def test_a_check_before_the_set_up_asks_for_the_cells_above(run):
    words, error = run("exercise.padding_mask.check(padding_mask)")
    assert words.startswith(f"{FIRST}: they define `exercise`")
    assert not error


def test_a_check_without_its_stub_asks_for_the_cells_above(run):
    run("from types import SimpleNamespace\nexercise = SimpleNamespace(check=print)")
    assert run("exercise.check(padding_mask)")[0].startswith(f"{FIRST}: they define `padding_mask`")


@pytest.mark.parametrize(
    "cell", ["maks", "def f():\n    return maks\n\nf()", "exercise.check(f())"]
)
def test_a_misspelt_name_is_shown_as_python_shows_it(run, cell):
    assert run(cell) == ("", "NameError")


def test_a_check_after_a_cell_that_is_not_python_says_so(run):
    run("def causal_mask(length):\n    return length")
    broken = "def causal_mask(length)\n    return length + 1\n"
    assert run(broken)[1] == "SyntaxError"
    words, _ = run("exercise.check(causal_mask)")
    assert words.startswith(
        "The cell with `causal_mask` is not valid Python (line 1: expected ':')"
    )
    run("def causal_mask(length):\n    return length")
    assert "not valid Python" not in run("exercise.check(causal_mask)")[0]


def test_a_name_of_a_broken_cell_is_missing_elsewhere_too(run):
    assert run("def merge_heads(x)\n    return x")[1] == "SyntaxError"
    assert run("merge_heads(3)") == ("", "NameError")


def test_a_prediction_before_the_set_up_asks_for_the_cells_above(run):
    assert run("predict('More or less?', 'more')")[0].startswith(FIRST)


def test_a_prediction_wants_quotation_marks(run):
    words, error = run("predict = print\npredict('More or less?', more)")
    assert words == "Words go into quotation marks: 'more'.\n" and not error


def test_before_any_definition_nothing_else_is_said(run):
    run("def split_heads(x)\n    return x")
    words, error = run("exercise.check(split_heads)")
    assert words.startswith("The cell with `split_heads` is not valid Python")
    assert FIRST not in words and not error
