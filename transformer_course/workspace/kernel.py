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
    """Say what to do where a cell asks for an exercise, or its check, too early.

    Any other name is perhaps misspelt, and Python's own message shows that best.
    """
    names = (trace.tb_next or trace).tb_frame.f_code.co_names  # those of the cell itself
    if error.name == "exercise" or (error.name in names and "check" in names):
        print(ADVICE.format(name=error.name))
    else:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
