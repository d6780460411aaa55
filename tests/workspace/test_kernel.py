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
        assert (reply["content"]["status"] == "ok") is not any((*printed, *errors))
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
