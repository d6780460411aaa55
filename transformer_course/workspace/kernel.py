"""What a kernel says where a check is run before its lesson's first cells.

JupyterLab loads this into each kernel of a workspace; Colab and Kaggle do not, so a reader there
sees Python's own NameError.
"""

from types import TracebackType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

ADVICE = (
    "Run the cells above first: they define `{name}`, and a kernel forgets everything when it "
    "ends.\nIn the menu: Run > Run All Above Selected Cell."
)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Explain names that cells above define; IPython calls this when the kernel starts."""
    shell.set_custom_exc((NameError,), explain)


def explain(
    shell: InteractiveShell,
    kind: type[BaseException],
    error: NameError,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> Any:
    """Say which cells to run where a cell itself, not a function, lacks a name; else a traceback.

    A learner's own misspelt name is to be seen as Python shows it: only the call of a check, and
    what is run before the lesson's set-up, count as too early.
    """
    cell = trace.tb_next or trace
    own = cell.tb_next is None and cell.tb_frame.f_code.co_name == "<module>"
    if own and ("exercise" not in shell.user_ns or "check" in cell.tb_frame.f_code.co_names):
        print(ADVICE.format(name=error.name))
    else:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
