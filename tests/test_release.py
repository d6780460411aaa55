"""What a release holds, and that it works where nothing else of the checkout is."""

import json
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from subprocess import PIPE

import pytest

import transformer_course
from tools.sources import ROOT
from transformer_course.publish import WEB

NEEDED = {
    "transformer_course/checkpoints/toy/model.safetensors",
    "transformer_course/checkpoints/toy/config.json",
    "transformer_course/workspace/jupyter/kernels/python3/kernel.json",
    "transformer_course/workspace/jupyter/settings/overrides.json",
    *(
        f"transformer_course/results/multi30k-{pair}-{length}.json"
        for pair in ("en-fr", "en-de")
        for length in ("short", "long")
    ),
    *(f"transformer_course/results/multi30k-en-de-{kind}.json" for kind in ("pieces", "moses")),
    *(f"transformer_course/publish/web/{path.name}" for path in WEB.iterdir()),
}
UNWANTED = ("notebooks/text", "book/", ".make/", "__pycache__", "benchmarks/")
LESSONS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))


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
        # Two translators of captions; the source also holds the lessons with their outputs.
        assert file.stat().st_size < (13e6 if file.suffix == ".whl" else 16e6)


def test_the_wheel_ships_the_lessons_without_their_outputs(dist):
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for lesson in LESSONS:
            notebook = json.loads(archive.read(f"transformer_course/lessons/{lesson}"))
            assert notebook["cells"]
            assert not any(cell.get("outputs") for cell in notebook["cells"])


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
def test_the_wheel_translates_in_an_environment_of_its_own(dist, tmp_path):
    (wheel,) = dist.glob("*.whl")
    venv.create(tmp_path / "environment", with_pip=True)
    programs, elsewhere = tmp_path / "environment" / "bin", tmp_path / "elsewhere"
    elsewhere.mkdir()
    pip = [programs / "python", "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--constraint", ROOT / "constraints.txt", wheel], check=True)

    def said(*command: str | Path) -> str:
        return subprocess.run(command, cwd=elsewhere, check=True, stdout=PIPE, text=True).stdout

    where = "from transformer_course import translation; print(translation.toy_checkpoint())"
    toy = said(programs / "python", "-c", where).strip()
    assert Path(toy).is_relative_to(tmp_path)
    where = "from transformer_course import syllabus; print(syllabus.lessons_folder())"
    lessons = Path(said(programs / "python", "-c", where).strip())
    assert lessons.is_relative_to(tmp_path)
    assert sorted(path.name for path in lessons.iterdir()) == LESSONS
    translate = said(programs / "transformer-course", "translate", toy, "the small cat sleeps")
    assert translate == "le petit chat dort\n"
