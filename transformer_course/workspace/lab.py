"""JupyterLab, opened in the learner's folder where the learner left off."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from transformer_course.own.location import RECORDS
from transformer_course.workspace import laid
from transformer_course.workspace.outline import next_lesson
from transformer_course.workspace.series import series
from transformer_course.workspace.update import update, workspace

INSTALL_LAB = '`pip install "transformer-course[lab]"` adds it (in a checkout, `-e ".[lab]"`)'

JUPYTER = Path(__file__).parent / "jupyter"
"""The course's settings of JupyterLab, and its kernel."""


def open_lab(folder: Path | None = None, arguments: Sequence[str] = ()) -> None:
    """Make or update a workspace and open JupyterLab in it; return when that has ended.

    Parameters
    ----------
    folder
        Where to work; see :func:`transformer_course.workspace.update.workspace`.
    arguments
        Further arguments of JupyterLab, such as ``--no-browser``.

    Raises
    ------
    ValueError
        If JupyterLab is not installed, or the folder is not a workspace.
    OSError
        If the folder cannot be written.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise ValueError(f"JupyterLab is not installed; {INSTALL_LAB}.")
    folder = workspace(folder)
    for line in update(folder):
        print(line)
    # In a process of its own: it imports PyTorch, for which JupyterLab need not wait. -P: a file of
    # the learner's, such as random.py, must not take a module's place.
    subprocess.Popen([sys.executable, "-P", "-m", "transformer_course.workspace.home"], cwd=folder)
    print(
        f"Opening JupyterLab in {folder}. If no browser opens, use the address below. "
        "Ctrl-C ends it.",
        flush=True,
    )
    _launch(folder, arguments)


def _launch(folder: Path, arguments: Sequence[str]) -> None:
    from jupyterlab.labapp import LabApp  # no requirement of the package

    paths = [str(JUPYTER), os.environ.get("JUPYTER_PATH")]
    os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, paths))
    LabApp.launch_instance([*settings(folder), *arguments])


def settings(folder: Path) -> list[str]:
    """Return the arguments with which JupyterLab opens a workspace.

    The tabs of the day before are forgotten, because they would come back above the place where
    the learner left; those of the learner's other projects are elsewhere.
    """
    tabs = folder / RECORDS / "tabs"
    shutil.rmtree(tabs, ignore_errors=True)
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0  # the usual user of a container
    return [
        "--log-level=ERROR",
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url=/lab/tree/{quote(place(folder))}",
        f"--LabApp.app_settings_dir={JUPYTER / 'settings'}",
        f"--LabApp.workspaces_dir={tabs}",
        *(["--allow-root"] if as_root else []),
    ]


def place(folder: Path) -> str:
    """Return the name of the notebook where the learner goes on.

    It is the lesson that was changed last, in its newest version; where none was, the first lesson
    with something unsolved.
    """
    touched = [path for path in folder.glob("*.ipynb") if _is_touched(path)]
    last = max(touched, key=lambda path: path.stat().st_mtime, default=None)
    lesson = last.stem.partition(" (new")[0] if last else next_lesson()
    newest = series(folder, lesson)
    return (newest[-1] if newest else last or folder / f"{lesson}.ipynb").name


def _is_touched(path: Path) -> bool:
    try:
        notebook = laid.read(path)
    except (laid.DamagedNotebookError, OSError):
        return False
    return laid.is_edited(notebook) or laid.is_run(notebook)
