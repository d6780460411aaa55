"""Run the lessons as Colab and Kaggle do, by imitation.

    python -m tools.hosted [notebooks/NAME.ipynb ...]

Each notebook lies alone in an empty folder, in an environment that holds what those services
preinstall and not the course: the first cell has to install it, and may not touch torch, numpy or
anything else that was there. What this cannot imitate: their Python is newer, their front end and
their torch are others (here it is the one of ``constraints.txt``, because only that one comes
without libraries for graphics cards).
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import venv
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tools.sources import ROOT, lesson_sources, notebook_of
from tools.stamp import repository

PREINSTALLED = ROOT / "tests" / "hosted" / "preinstalled.txt"
WORK = ROOT / ".make" / "hosted"
PYTHON = WORK / "environment" / "bin" / "python"
PLACES = {
    "colab": {"COLAB_RELEASE_TAG": "release-colab"},
    "kaggle": {"KAGGLE_KERNEL_RUN_TYPE": "Interactive"},
}
CELL_TIMEOUT = 600


def main() -> int:
    """Run the lessons in both places; return 1 if one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="lessons (default: all)")
    lessons = parser.parse_args().notebooks or [notebook_of(source) for source in lesson_sources()]
    before = make_environment()
    first, *others = [(lesson, place) for place in PLACES for lesson in lessons]
    failures = [run(*first)]  # this one installs the course
    with ProcessPoolExecutor() as pool:
        failures += pool.map(run, *zip(*others, strict=True)) if others else []
    changed = {name: pin for name, pin in installed().items() if before.get(name, pin) != pin}
    if changed:
        failures.append(f"the first cell replaced what was preinstalled: {changed}")
    print(*filter(None, failures), sep="\n", file=sys.stderr)
    return int(any(failures))


def make_environment() -> dict[str, str]:
    """Make the environment and its kernel; return what is installed in it."""
    shutil.rmtree(WORK, ignore_errors=True)
    venv.create(PYTHON.parent.parent, with_pip=True)
    ours = re.search(r"^torch==.*", (ROOT / "constraints.txt").read_text(), re.MULTILINE)[0]
    wanted = re.sub(r"^torch==.*", ours, PREINSTALLED.read_text(), flags=re.MULTILINE)
    (WORK / "requirements.txt").write_text(wanted)
    _pip("install", "--quiet", "--requirement", str(WORK / "requirements.txt"))
    kernel = {
        "argv": [str(PYTHON), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "hosted",
        "language": "python",
    }
    folder = WORK / "kernels" / "hosted"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(kernel))
    return installed()


def installed() -> dict[str, str]:
    """Return the version of each installed package."""
    return {p["name"]: p["version"] for p in json.loads(_pip("list", "--format", "json"))}


def _pip(*arguments: str) -> str:
    command = [PYTHON, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def run(lesson: Path, place: str) -> str:
    """Run a lesson; return what went wrong."""
    notebook = nbformat.read(lesson, as_version=4)
    with TemporaryDirectory() as folder:
        os.environ["JUPYTER_PATH"] = str(WORK)
        # As many lessons run at a time as there are processors.
        surroundings = PLACES[place] | _this_checkout() | {"HOME": folder, "OMP_NUM_THREADS": "1"}
        client = NotebookClient(
            notebook,
            timeout=CELL_TIMEOUT,
            kernel_name="hosted",
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute(env=os.environ | surroundings)
        except CellExecutionError as error:
            return f"{place}: {lesson.stem}: {error}"
    print(f"{place}: {lesson.stem} ran to its end", flush=True)
    return ""


def _this_checkout() -> dict[str, str]:
    """Let git take this checkout's last commit where the repository is asked for."""
    settings = {f"url.{ROOT.as_uri()}.insteadOf": repository(), "safe.directory": "*"}
    numbered = enumerate(settings.items())
    return {"GIT_CONFIG_COUNT": str(len(settings))} | {
        f"GIT_CONFIG_{part}_{number}": text
        for number, pair in numbered
        for part, text in zip(("KEY", "VALUE"), pair, strict=True)
    }


if __name__ == "__main__":
    sys.exit(main())
