"""Which text of a notebook goes into the file, and what is refused with which words."""

import pytest

from transformer_course.own import whole
from transformer_course.own.answer import NotAPart, answer_text

STUB = "def causal_mask(length):\n    return {}"


def text_of(notebook, name):
    statements = answer_text(notebook[name], name, notebook["own"], whole.course())
    return [statement.text for statement in statements]


def test_definition_is_copied_as_it_stands(notebook) -> None:
    cell = "# True may look\ndef causal_mask(length):\n    # rows are queries\n    return 1\n"
    notebook.run("import math\n" + cell + "\nprint(end='')\n")
    assert text_of(notebook, "causal_mask") == [cell.rstrip()]


@pytest.mark.parametrize("mark", ["\u2028", "\x0c", "\x85"])
def test_a_mark_that_ends_no_line_in_python_ends_none_here(notebook, mark: str) -> None:
    cell = f'note = "a{mark}b"\ndef causal_mask(length):\n    return 1'
    notebook.run(cell)
    assert text_of(notebook, "causal_mask") == [cell.partition("\n")[2]]


def test_newest_definition_counts(notebook) -> None:
    notebook.run(STUB.format(1) + "\n\n\n" + STUB.format(2))
    assert text_of(notebook, "causal_mask") == [STUB.format(2)]


def test_decorators_belong_to_it(notebook) -> None:
    cell = "import functools\n@functools.cache\n" + STUB.format(1)
    notebook.run(cell)
    assert text_of(notebook, "causal_mask") == cell.split("\n", 1)


def test_helpers_imports_and_literals_come_first(notebook) -> None:
    notebook.run("from itertools import chain as joined\nimport numpy as np")
    notebook.run("def helper(n):\n    return np.arange(n), joined")
    notebook.run("SIZE = 3\n" + STUB.format("helper(SIZE)"))
    assert text_of(notebook, "causal_mask") == [
        "SIZE = 3",
        "from itertools import chain as joined",
        "import numpy as np",
        "def helper(n):\n    return np.arange(n), joined",
        STUB.format("helper(SIZE)"),
    ]


def test_class_and_lambda_and_another_name(notebook) -> None:
    notebook.run("class Mine(nn.Module):\n    def forward(self, x):\n        return x")
    notebook.names["FeedForward"] = notebook["Mine"]
    assert text_of(notebook, "FeedForward")[1] == "FeedForward = Mine"
    notebook.run("causal_mask = lambda length: length")
    assert text_of(notebook, "causal_mask") == ["causal_mask = lambda length: length"]


def test_names_of_parts_mean_the_files(notebook) -> None:
    notebook.run("def softmax(scores):\n    return 'wrong'")
    notebook.run(STUB.format("softmax(own.padding_mask(length, own.PAD))"))
    assert text_of(notebook, "causal_mask") == [
        STUB.format("softmax(own.padding_mask(length, own.PAD))")
    ]


@pytest.mark.parametrize(
    ("before", "expression", "reason"),
    [
        ("d = 4", "d", "it uses `d` from your notebook: move it into the cell"),
        ("", "d", "it uses `d`, which is not defined"),
        ("math = 3", "math.pi", "`math` means something else in your file"),
        ("", "own.fused_attention", "`own.fused_attention`, which your file does not have"),
        ("", "own.causal_mask(length)", "`own.causal_mask`, whose place it should take"),
        ("from transformer_course import plots", "plots", "`plots` of the course"),
        ("from transformer_course.costs import memory_summary", "memory_summary", "of the course"),
        ("d = torch.ones(3)", "d", "it uses `d` from your notebook"),
    ],
)
def test_what_the_file_cannot_have_is_refused(notebook, before, expression, reason) -> None:
    notebook.run(before)
    notebook.run(STUB.format(expression))
    with pytest.raises(NotAPart) as refused:
        text_of(notebook, "causal_mask")
    assert reason in str(refused.value)


def test_computed_value_in_the_cell_is_refused(notebook) -> None:
    notebook.run("d = sum([1, 2])\n" + STUB.format("d"))
    with pytest.raises(NotAPart, match="`d`, which the cell computes"):
        text_of(notebook, "causal_mask")


@pytest.mark.parametrize("thing", [len, type("Made", (), {})(), type("Empty", (), {})])
def test_what_has_no_text_is_refused(notebook, thing) -> None:
    with pytest.raises(NotAPart, match="its text cannot be found"):
        answer_text(thing, "causal_mask", notebook["own"], whole.course())


def test_text_from_elsewhere_than_a_cell_is_refused(notebook) -> None:
    exec(compile(STUB.format(1), "<string>", "exec"), notebook.names)
    with pytest.raises(NotAPart, match="its text cannot be found"):
        text_of(notebook, "causal_mask")
