"""Random notebooks are judged in grading as a real kernel judges them."""

import random
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from transformer_course import grading
from transformer_course.grading import Limits

SET_UP = "from transformer_course.exercises import toy_translation as exercise"
RIGHT = """def noam(step, d_model, warmup):
    return d_model**{power} * min({rise}, step * warmup**-1.5)"""
POWERS = ("-0.5", "(-half)", "power['of']", "-1 / 2", "MINUS_HALF")
RISES = ("step**-0.5", "1 / math.sqrt(step)", "1 / sqrt(step)", "inverse_root(step)", "step ** -.4")
BEFORE = (
    "half = 0.5",
    "power = {}",
    "power['of'] = -0.5",
    "exec('MINUS_HALF = -0.5')",
    "import math",
    "from math import *",
    "import numpy as np, math as m\nsqrt = m.sqrt",
    "def inverse_root(x):\n    return x ** -0.5",
    "%matplotlib inline\n%config InlineBackend.figure_format = 'svg'",
    "%%time\nhalf = 1 / 2",
    "%%capture\nprint('x')\nimport math",
    "%load_ext autoreload\n%autoreload 2",
    "def g(a, a): pass",
    "for",
    "1 / 0\nhalf = 3",
    "await __import__('asyncio').sleep(0)",
    "display(3)",
    "half = 0.25",
    "del power",
    "import torch; torch.set_default_dtype(torch.float64)",
    "get_ipython().user_ns['half'] = 0.5",
    "raise SystemExit",
)
CHECKS = (
    "exercise.noam.check(noam)",
    "%%time\nexercise.noam.check(noam)",
    "c = exercise.noam.check\nc(noam)",
)


def notebook(seed: int) -> list[str]:
    """Return the cells of a notebook: what an answer needs, or does not, answers and checks."""
    chosen = random.Random(seed)
    cells = [SET_UP, *chosen.sample(BEFORE, k=chosen.randint(2, 8))]
    for _ in range(chosen.randint(1, 2)):
        answer = RIGHT.format(power=chosen.choice(POWERS), rise=chosen.choice(RISES))
        wrapped = chosen.choice(("{}", "{}", "%%time\n{}", "{}\nprint(noam(1, 2, 3))"))
        cells += [wrapped.format(answer), *chosen.sample(BEFORE, k=1), chosen.choice(CHECKS)]
    return cells


def kernel_says_right(cells: list[str]) -> bool:
    """Return whether a check in a real kernel shows "Right"."""
    content = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(content, allow_errors=True, timeout=60).execute()
    outputs = [out for cell in content.cells for out in cell.outputs]
    return any("Right: noam" in out.get("data", {}).get("text/plain", "") for out in outputs)


def graded(folder: Path) -> dict[str, bool]:
    limits = Limits(seconds=120, memory=4)
    rows = grading.grade(folder, grading.submissions(folder), limits, processes=2)
    return {r.submission: r.exercises["noam"]["verdict"] == "Right" for r in rows}


@pytest.mark.parametrize(
    "count", [1, pytest.param(60, marks=[pytest.mark.exhaustive, pytest.mark.timeout(1800)])]
)
def test_a_real_kernel_judges_the_same(count, tmp_path):
    notebooks = {f"{seed:03}.ipynb": notebook(seed) for seed in range(count)}
    for name, cells in notebooks.items():
        code = [nbformat.v4.new_code_cell(cell) for cell in cells]
        nbformat.write(nbformat.v4.new_notebook(cells=code), tmp_path / name)
    judged = graded(tmp_path)
    assert judged == {name: kernel_says_right(cells) for name, cells in notebooks.items()}
