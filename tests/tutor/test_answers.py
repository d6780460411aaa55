"""Of a file's code, what an answer needs is run, and nothing else."""

import math
from types import ModuleType

import pytest
import torch

from transformer_course.tutor.answers import Cell, Program

OWN = ModuleType("own")
OWN.softmax = "the learner's"


def made(name, *texts):
    """Return what a name means in a file of such cells, and all the names that were made."""
    cells = [Cell(text, f"cell {number}") for number, text in enumerate(texts, start=1)]
    program = Program(cells, lambda: OWN, {"__name__": "answer"})
    program.provide(name)
    return program.names[name], program.names


def test_what_an_answer_does_not_need_is_not_run():
    answer, names = made(
        "answer",
        "raise RuntimeError('trains for hours')",
        "import math\nimport nowhere_to_be_found",
        "def answer():\n    return math.pi\n\nraise RuntimeError('a trial')",
        "1 / 0",
    )
    assert answer() == pytest.approx(3.14159, abs=1e-5)
    assert "nowhere_to_be_found" not in names


def test_only_the_needed_name_of_an_import_is_imported():
    _, names = made("answer", "from math import pi, nowhere\nimport os.path", "answer = lambda: pi")
    assert "nowhere" not in names and "os" not in names


def test_helpers_constants_and_decorators_come_along():
    answer, _ = made(
        "answer",
        "import functools\nTWO = 2",
        "def twice(x):\n    return TWO * x",
        "class Base:\n    def go(self): return twice(3)",
        "@functools.cache\ndef made(): return 0\nclass answer(Base):\n    k = made()",
    )
    assert answer().go() == 6


def test_the_last_definition_counts_and_for_a_helper_the_last_before():
    answer, _ = made(
        "answer",
        "def helper(): return 1",
        "def answer(): return 0",
        "def answer(): return helper()",
        "def helper(): return 2",
    )
    assert answer() == 1


def test_a_helper_that_stands_below_is_found():
    answer, _ = made("answer", "def answer(): return helper()", "def helper(): return 2")
    assert answer() == 2


@pytest.mark.parametrize(
    "cell",
    [
        "TABLE = []\nfor n in range(3):\n    TABLE.append(n)",
        "TABLE = list(range(3))",
        "%time TABLE = 5\nTABLE = [n for n in range(3)]\n!ls\nlist?",
        "%%capture\nTABLE = list(range(3))",
        "if True:\n    %matplotlib inline\n    TABLE = [0, 1, 2]",
    ],
)
def test_what_later_lines_may_change_is_run_with_its_cell(cell):
    answer, _ = made("answer", cell, "def answer(): return TABLE")
    assert answer() == [0, 1, 2]


def test_functions_that_call_each_other_and_themselves():
    even = "def even(n): return n == 0 or odd(n - 1)"
    answer, _ = made("even", even, "def odd(n): return n > 0 and even(n - 1)")
    assert answer(10) and not answer(7)


def test_own_is_the_learners_file_and_no_set_up_is_run():
    set_up = "from transformer_course.notebook import setup; own = setup('02_attention')"
    answer, names = made("answer", set_up, "def answer(): return own.softmax")
    assert answer() == "the learner's"
    assert "setup" not in names


def test_an_undefined_name_stays_undefined():
    answer, _ = made("answer", "def answer(): return nowhere")
    with pytest.raises(NameError, match="nowhere"):
        answer()


def test_cells_that_are_no_python_are_passed_over_unless_the_answer_is_in_one():
    answer, _ = made("answer", "def helper(:", "def answer(): return 1")
    assert answer() == 1
    broken = Cell("class answer(Module:\n    pass", "cell 1")
    assert broken.fault.lineno == 1
    assert broken.defines_but_cannot_be_read("answer")
    assert not broken.defines_but_cannot_be_read("answ")


def test_what_stars_bring_is_there_unless_a_cell_defines_it():
    answer, names = made(
        "answer",
        "from math import *",
        "def log(x): return 'mine'",
        "def answer(): return sqrt(4), log(1)",
    )
    assert answer() == (2.0, "mine")
    assert "cos" not in names


def test_stars_give_names_of_builtins_another_meaning_from_there_on():
    texts = "from torch import *", "def answer(x): return sum(x, dim=-1)"
    answer, _ = made("answer", *texts)
    assert answer(torch.ones(2, 3)).tolist() == [3, 3]
    answer, _ = made("answer", *texts[::-1])
    with pytest.raises(TypeError, match="dim"):
        answer(torch.ones(2, 3))


def test_the_stars_above_count_before_those_below_and_what_fails_binds_nothing():
    answer, _ = made(
        "answer",
        "from nowhere_to_be_found import *",
        "from . import *",
        "try:\n    from math import *\nexcept ImportError:\n    pass",
        "def answer(): return sqrt(4), nowhere_to_be_found",
        "from torch import *",
    )
    with pytest.raises(NameError, match="nowhere_to_be_found"):
        answer()
    assert answer.__globals__["sqrt"] is math.sqrt


def test_a_later_definition_takes_the_place_of_one_that_a_helper_needed():
    for z, power in (("z", "a_power"), ("a", "power")):
        answer, _ = made(
            "answer",
            f"{z} = -0.4",
            f"def {power}(x): return x ** {z}",
            f"{z} = -0.5",
            f"def answer(): return {z}, {power}(4)",
        )
        assert answer() == (-0.5, 0.5)


def test_what_a_shell_returns_hides_no_answer():
    answer, _ = made("answer", "files = !ls\nrows, n = %sql select 1\ndef answer(): return 3")
    assert answer() == 3
