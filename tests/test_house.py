"""The house: what a stranger installs, what the README promises, where each thing stands once."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.sources import ROOT
from tools.stamp import repository
from transformer_course.workspace.update import DEFAULT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
GROUPS = PROJECT["optional-dependencies"]

# What Colab brings (its image of 19 August 2026); to install another version would cost minutes
# there, and could break what else runs in the session.
COLAB = dict(
    line.split("==")
    for line in (ROOT / "tests" / "hosted" / "preinstalled.txt").read_text().splitlines()
    if "==" in line
)
SMALL = {"filelock", "ftfy", "sacrebleu", "sacremoses", "jaxtyping"}


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): pin for name, pin in pins}


def tracked_files() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listing.stdout.split("\0") if (ROOT / name).is_file()]


# Requirements


def test_conda_users_get_the_same_requirements():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    python, pip, by_pip = environment["dependencies"]
    assert python == f"python{PROJECT['requires-python']}"
    assert pip == "pip"
    assert by_pip["pip"] == [
        "--constraint constraints.txt",
        "--editable .",
        *dict.fromkeys([*PROJECT["dependencies"], *(each for g in GROUPS.values() for each in g)]),
    ]


def test_everything_installed_is_pinned():
    pins = constraints()
    seen: set[str] = set()
    waiting = [Requirement(f"{PROJECT['name']}[{','.join(GROUPS)}]")]
    while waiting:
        wanted = waiting.pop()
        for text in distribution(wanted.name).requires or []:
            needed = Requirement(text)
            extras = wanted.extras or {""}
            applies = needed.marker is None or any(
                needed.marker.evaluate({"extra": extra}) for extra in extras
            )
            if applies and str(needed) not in seen:
                seen.add(str(needed))
                waiting.append(needed)
    names = {canonicalize_name(Requirement(text).name) for text in seen}
    # pip freeze leaves out the tools that install, such as setuptools.
    missing = names - pins.keys() - {"pip", "setuptools", "wheel", PROJECT["name"]}
    assert not missing


def test_pins_are_what_this_environment_has():
    pins = constraints()
    # Not all of sys.path: setuptools, once imported, adds the packages that it brings with it.
    here = sysconfig.get_path("purelib")
    installed = {
        canonicalize_name(found.name): found.version for found in distributions(path=[here])
    }
    assert installed.keys() >= {"torch", "jupyterlab"}
    # A version such as 2.13.0+cpu is a build of 2.13.0.
    different = {
        name: found
        for name, found in installed.items()
        if name in pins and found.partition("+")[0] != pins[name]
    }
    assert different == {}


@pytest.mark.parametrize("text", PROJECT["dependencies"])
def test_colab_reinstalls_nothing_large(text):
    requirement = Requirement(text)
    if requirement.name in COLAB:
        assert requirement.specifier.contains(COLAB[requirement.name])
    else:
        assert requirement.name in SMALL


def test_version_stands_in_one_place():
    import transformer_course

    assert transformer_course.__version__ == PROJECT["version"]


# The repository


def test_readme_commands_are_targets():
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md")]
    targets = set(re.findall(r"(?:^    |`)make (\w+)", "\n".join(texts), re.MULTILINE))
    assert {"lab", "test", "book", "notebooks", "lint"} <= targets
    subprocess.run(["make", "--dry-run", *targets], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_to_files_lead_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]+)\)|src=\"([^\"]+)\"", text)
    files = [link or image for link, image in targets if "://" not in (link or image)]
    headings = [f"#{heading.lower().replace(' ', '-')}" for heading in HEADING.findall(text)]
    assert [f for f in files if f not in headings and not (ROOT / f).exists()] == []


def test_modules_import_only_from_lower_floors():
    lint = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run(
        [lint, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout


def test_readme_and_each_package_say_what_it_is_for():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for package in (ROOT / "transformer_course").glob("*/__init__.py"):
        assert re.search(rf"^        {package.parent.name}/ +\w", readme, re.MULTILINE), package
    for package in (ROOT / "transformer_course").rglob("__init__.py"):
        says = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8")))
        assert says and says.partition("\n")[0].endswith("."), package


def test_no_large_file_is_tracked():
    large = {path.parent.name for path in tracked_files() if path.stat().st_size > 1.5e6}
    assert large == {"multi30k-en-fr", "multi30k-en-de"}


def test_address_stands_in_one_place():
    stamped = {"pyproject.toml", "README.md", "CITATION.cff"}
    address = repository().removeprefix("https://")
    strays = [
        path.name
        for path in tracked_files()
        if path.name not in stamped
        and "notebooks" not in path.parts
        and address in path.read_text(encoding="utf-8", errors="ignore")
    ]
    assert strays == []


def test_both_licences_are_named():
    assert "MIT License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "creativecommons.org/licenses/by/4.0" in (ROOT / "LICENSE-text").read_text("utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "[MIT](LICENSE)" in readme
    assert "[CC BY 4.0](LICENSE-text)" in readme


def test_what_a_learner_does_leaves_the_checkout_clean():
    tracked_files()  # skips outside of a checkout
    folder = ["git", "check-ignore", "--quiet", f"{DEFAULT}/02_attention.ipynb"]
    assert subprocess.run(folder, cwd=ROOT).returncode == 0


# Installing


@pytest.fixture
def clone(tmp_path):
    """Return a folder with what `make` needs to install, and an empty folder of programs."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copy(ROOT / "LICENSE-text", tmp_path)
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "install.sh", tmp_path / "tools")
    (tmp_path / "transformer_course").mkdir()
    (tmp_path / "programs").mkdir()
    program(tmp_path, "python3", f'exec "{sys.executable}" "$@"')
    return tmp_path


def program(clone: Path, name: str, script: str) -> None:
    path = clone / "programs" / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def make_lab(clone: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{clone / 'programs'}{os.pathsep}/usr/bin{os.pathsep}/bin"
    return subprocess.run(
        ["make", ".venv/.lab-installed"],
        cwd=clone,
        env={"PATH": path, "HOME": str(clone), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def advice(result: subprocess.CompletedProcess[str]) -> str:
    """Return what a failed `make` said, without make's own last line."""
    assert result.returncode != 0
    lines = [line for line in result.stderr.splitlines() if not line.startswith("make: ***")]
    return "\n".join(lines)


def test_old_python(clone):
    for name in ("python3", "python3.11", "python3.12", "python3.13"):
        program(clone, name, 'case "$1" in -V) echo Python 3.9.18;; *) exit 1;; esac')
    assert advice(make_lab(clone)) == (
        "Python 3.11 or newer is needed, found Python 3.9.18: install it (sudo apt install "
        "python3), or run make with PYTHON3=/path/to/python3."
    )


def test_python_without_venv(clone):
    program(clone, "python3", f'case "$*" in *ensurepip*) exit 1;; esac; "{sys.executable}" "$@"')
    assert advice(make_lab(clone)) == (
        "Python's venv module is missing: run 'sudo apt install python3-venv', then run make again."
    )


def test_too_little_disk(clone):
    program(clone, "df", "echo header; echo /dev/disk 9000000 8000000 1000000 88% /")
    assert advice(make_lab(clone)) == (
        "The course needs 4 GB of disk here, 0 GB are free: make room, then run make again."
    )
    assert not (clone / ".venv").exists()


@pytest.mark.exhaustive  # pip tries three times before it gives up
def test_no_network(clone):
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9", "PIP_CONFIG_FILE": os.devnull}
    result = make_lab(clone, **nowhere)
    assert advice(result) == (
        "The package index cannot be reached: check the network, then run make again."
    )
    assert not (clone / ".venv" / ".lab-installed").exists()


def fake_environment(clone: Path, install: str) -> None:
    """Put a python into .venv whose pip does ``install`` and notes each call in calls.txt."""
    (clone / ".venv" / "bin").mkdir(parents=True)
    script = f'case "$*" in *install*) echo "$@" >> calls.txt; {install};; esac'
    program(clone, "venv-python", script)
    (clone / ".venv" / "bin" / "python").symlink_to(clone / "programs" / "venv-python")


def test_full_disk(clone):
    fake_environment(clone, "echo 'OSError: [Errno 28] No space left on device'; exit 1")
    assert advice(make_lab(clone)) == "The disk filled up: make room, then run make again."


def test_other_failures_show_the_last_words_of_pip(clone):
    fake_environment(clone, "seq 20; echo the reason; exit 1")
    words = advice(make_lab(clone)).splitlines()
    assert words[-2:] == [
        "the reason",
        "pip could not install the course: its last words are above, all of them in .make/pip.log.",
    ]
    assert len(words) < 10


def test_second_call_installs_nothing(clone):
    fake_environment(clone, "exit 0")
    for _ in range(2):
        assert make_lab(clone).returncode == 0
    assert len((clone / "calls.txt").read_text(encoding="utf-8").splitlines()) == 1


def test_new_pins_are_installed(clone):
    fake_environment(clone, "exit 0")
    make_lab(clone)
    os.utime(clone / "constraints.txt", (2**31, 2**31))
    make_lab(clone)
    assert len((clone / "calls.txt").read_text(encoding="utf-8").splitlines()) == 2
