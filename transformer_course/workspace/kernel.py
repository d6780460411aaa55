"""What a kernel says where a check is run before its lesson's first cells, or after a broken one.

JupyterLab loads this into each kernel of a workspace; Colab and Kaggle do not, so a reader there
sees Python's own NameError.
"""

import re
from types import TracebackType
from typing import Any

from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

ADVICE = (
    "Run the cells above first: they define `{name}`, and a kernel forgets everything when it "
    "ends.\nIn the menu: Run > Run All Above Selected Cell."
)
MEND_FIRST = (
    "The cell with `{name}` is not valid Python ({error}), so none of it ran. Mend it and run it "
    "first."
)
DEFINED = re.compile(r"^(?:def|class) +(\w+)", re.MULTILINE)
CHECKED = re.compile(r"\.check\((\w+)\)")
NOT_PYTHON: dict[str, SyntaxError] = {}
"""What Python said to the newest cell with a definition, where it could not read the cell."""


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Explain names that cells above define; IPython calls this when the kernel starts."""
    shell.set_custom_exc((NameError,), explain)
    shell.events.register("post_run_cell", remember)
    shell.events.register("pre_run_cell", warn)


def remember(result: ExecutionResult) -> None:
    """Note whether the cell could be read, for each of its definitions."""
    for name in DEFINED.findall(result.info.raw_cell or ""):
        NOT_PYTHON.pop(name, None)
        if isinstance(result.error_before_exec, SyntaxError):
            NOT_PYTHON[name] = result.error_before_exec


def warn(info: ExecutionInfo) -> None:
    """Say that a check judges what was defined before, if anything."""
    for name in CHECKED.findall(info.raw_cell or ""):
        if name in NOT_PYTHON:
            error = NOT_PYTHON[name]
            print(MEND_FIRST.format(name=name, error=f"line {error.lineno}: {error.msg}"))


def explain(
    shell: InteractiveShell,
    kind: type[BaseException],
    error: NameError,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> Any:
    """Say what to do where a cell asks for an exercise, or its check, too early.

    Any other name is perhaps misspelt, and Python's own message shows that best.
    """
    names = (trace.tb_next or trace).tb_frame.f_code.co_names  # those of the cell itself
    checks = error.name in names and "check" in names
    if checks and error.name in NOT_PYTHON:
        return  # it was said before the cell ran
    if error.name in ("exercise", "predict") or checks:
        print(ADVICE.format(name=error.name))
    elif "predict" in names:
        print(f"Words go into quotation marks: '{error.name}'.")
    else:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
