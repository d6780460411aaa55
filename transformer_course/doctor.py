"""Examine the machine and the installation: what was found, and what to do where something is off.

Nothing is written and nobody else is asked: no network, no other host.
"""

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import torch
from packaging.requirements import Requirement

from transformer_course import __version__
from transformer_course.checker import progress
from transformer_course.translation import Translator, toy_checkpoint
from transformer_course.translation.checkpoints import CheckpointError
from transformer_course.workspace.lab import INSTALL_LAB

DISTRIBUTION = "transformer-course"
ENOUGH_MEMORY = 4 * 2**30
"""Bytes with which every lesson runs beside a browser."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    subject
        What was looked at.
    found
        What it is like.
    advice
        What to do about it; empty where all is well.
    """

    subject: str
    found: str
    advice: str = ""


def examine() -> list[Finding]:
    """Look at everything that decides whether and how fast the course runs here."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none, and none needed"
    return [
        Finding("course", f"version {__version__}"),
        Finding("Python", platform.python_version()),
        _system(),
        _libraries(),
        _jupyterlab(),
        Finding("processors", f"{os.cpu_count()}, of which PyTorch uses {torch.get_num_threads()}"),
        _memory(),
        Finding("GPU", gpu),
        _translator(),
        _progress(),
    ]


def _system() -> Finding:
    tried = {
        "Linux": "where every change of the course is tested",
        "Darwin": "where the course's authors have not tried it yet",
        "Windows": "where the course's authors have not tried it yet; grading needs WSL there",
    }
    name = platform.system()
    return Finding("system", f"{name}, {tried.get(name, 'where nobody has tried the course yet')}")


def _libraries() -> Finding:
    missing = list(_unmet(metadata.requires(DISTRIBUTION) or []))
    if missing:
        return Finding(
            "libraries",
            "; ".join(missing),
            "Install the course again: `pip install` brings the versions it needs.",
        )
    return Finding("libraries", f"all there; PyTorch {torch.__version__}")


def _jupyterlab() -> Finding:
    # No advice: it is not needed on Colab, nor to train and translate.
    try:
        version = metadata.version("jupyterlab")
    except metadata.PackageNotFoundError:
        return Finding("JupyterLab", f"not installed; {INSTALL_LAB}")
    return Finding("JupyterLab", f"{version}; `transformer-course lab` opens the lessons in it")


def _unmet(requirements: list[str]) -> Iterator[str]:
    """Yield what is missing or too old, or too new, of what the course itself needs."""
    for requirement in map(Requirement, requirements):
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            installed = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            yield f"{requirement.name} is missing"
            continue
        if not requirement.specifier.contains(installed, prereleases=True):
            wanted = f"{requirement.name}{requirement.specifier}"
            yield f"{requirement.name} is {installed}, wanted is {wanted}"


def _memory() -> Finding:
    size = memory_size()
    if size is None:
        return Finding("memory", "this system does not tell")
    found = f"{size / 2**30:.1f} GiB"
    if size < ENOUGH_MEMORY:
        return Finding("memory", found, "Close other programs, and one lesson before the next.")
    return Finding("memory", found)


def memory_size() -> int | None:
    """Return the size of the main memory in bytes; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None


def _translator() -> Finding:
    try:
        Translator.load(toy_checkpoint())
    except (CheckpointError, OSError) as error:
        return Finding("toy translator", str(error), "Install the course again.")
    return Finding("toy translator", "ready")


def _progress() -> Finding:
    solved = f"{len(progress.solved())} exercises solved"
    try:
        file = progress.progress_file()
    except RuntimeError:
        file = None
    if file is None or not _can_write(file):
        return Finding(
            "progress",
            f"{solved}; {_place(file) if file else 'no home folder'} cannot be written",
            "Set TRANSFORMER_COURSE_HOME to a folder of yours. Lessons and checks work all the "
            "same; they only forget what you solved.",
        )
    return Finding("progress", f"{solved}, noted in {_place(file)}")


def _place(file: Path) -> str:
    """Write a path as a reader types it, without the name of the home folder."""
    if os.environ.get("TRANSFORMER_COURSE_HOME"):
        return f"$TRANSFORMER_COURSE_HOME/{file.name}"
    return f"~/{file.relative_to(Path.home())}"


def _can_write(file: Path) -> bool:
    """Tell whether a file, or the nearest folder above it that exists, may be written."""
    nearest = next(path for path in (file, *file.parents) if path.exists())
    usable = nearest.is_file() if nearest == file else nearest.is_dir()
    return usable and os.access(nearest, os.W_OK)
