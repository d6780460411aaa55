"""What a release holds, and that it works where nothing else of the checkout is."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import transformer_course

ROOT = Path(__file__).parents[1]
NEEDED = {
    "transformer_course/checkpoints/toy/model.safetensors",
    "transformer_course/checkpoints/toy/config.json",
    "transformer_course/results/multi30k-en-fr.json",
    "transformer_course/results/multi30k-en-de.json",
}
UNWANTED = ("notebooks/", "book/", ".make/", "__pycache__", ".ipynb", "benchmarks/")


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> Path:
    """Build sdist and wheel, the wheel from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", folder]
    build = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert build.returncode == 0, build.stdout + build.stderr
    return folder


def contents(dist: Path) -> list[set[str]]:
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    return [set(zipfile.ZipFile(wheel).namelist()), in_sdist]


def test_a_release_holds_what_it_needs_and_nothing_else(dist):
    for names in contents(dist):
        assert names >= NEEDED
        assert [name for name in names if any(word in name for word in UNWANTED)] == []


def test_a_release_is_small_and_bears_the_version(dist):
    for file in dist.iterdir():
        assert transformer_course.__version__ in file.name
        assert file.stat().st_size < 2e6


def test_the_wheel_translates_where_nothing_else_is(dist, tmp_path):
    (wheel,) = dist.glob("*.whl")
    installed, elsewhere = tmp_path / "installed", tmp_path / "elsewhere"
    elsewhere.mkdir()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", installed]
    subprocess.run([*pip, wheel], check=True)
    program = (
        f"import sys; sys.path.insert(0, {str(installed)!r})\n"
        "from transformer_course.cli import main\n"
        "from transformer_course.translation import toy_checkpoint\n"
        f"assert toy_checkpoint().is_relative_to({str(installed)!r})\n"
        "main(['translate', str(toy_checkpoint()), 'the small cat sleeps'])\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=elsewhere, capture_output=True, text=True
    )
    assert run.stdout == "le petit chat dort\n", run.stderr
