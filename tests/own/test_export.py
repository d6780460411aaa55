"""The file that a learner takes home."""

import subprocess
import sys
from pathlib import Path

import pytest

from transformer_course.own.export import exported
from transformer_course.own.given import part_text
from transformer_course.own.sections import parts, sections, template, with_section
from transformer_course.translation import toy_corpus

ROOT = Path(__file__).parents[2]
MOST_LINES = 750
# Without these modules Python is an environment with torch alone.
BLOCKED = """
import sys
for name in ("transformer_course", "pandas", "matplotlib", "altair", "jaxtyping",
             "safetensors", "sacrebleu", "sacremoses", "sentencepiece", "tqdm", "IPython"):
    sys.modules[name] = None
"""


def without_marks(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("# --- ")]


def test_needs_nothing_of_the_course() -> None:
    text = exported(template())
    assert "transformer_course" not in text and "given." not in text
    assert {section.state for section in sections(text).values()} == {"the course's"}


def test_equals_the_file_of_who_solved_all_with_the_model_answers() -> None:
    text = template()
    for name in parts():
        text = with_section(text, name, part_text(name), "yours, 2026-11-23")
    assert without_marks(text) == without_marks(exported(template()))


def test_what_is_yours_stays_yours() -> None:
    mine = with_section(template(), "softmax", "def softmax(x):\n    return 3", "yours, today")
    text = exported(mine)
    assert sections(text)["softmax"] == sections(mine)["softmax"]


def test_is_short_enough_to_be_read() -> None:
    assert len(exported(template()).splitlines()) <= MOST_LINES


def test_is_as_tidy_as_the_course(tmp_path) -> None:
    file = tmp_path / "translator.py"
    file.write_text(exported(template()), encoding="utf-8")
    for command in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--config", ROOT / "pyproject.toml", file]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.fixture
def texts(tmp_path) -> list[Path]:
    pairs = toy_corpus().split("train")[:400]
    files = [tmp_path / "toy.en", tmp_path / "toy.fr"]
    for file, side in zip(files, ("source", "target"), strict=True):
        lines = [getattr(pair, side) for pair in pairs]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return files


@pytest.mark.exhaustive
def test_trains_and_translates_where_only_torch_is(tmp_path, texts) -> None:
    file = tmp_path / "translator.py"
    text = BLOCKED + exported(template()).replace("3000, warmup=400", "30, warmup=400")
    file.write_text(text.replace("look_every=100", "look_every=15"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, file, *texts],
        input="the cat sleeps\n\n",
        capture_output=True,
        encoding="utf-8",
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "step 15 of 30" in done.stdout and "step 30 of 30" in done.stdout
    assert "0 s left" in done.stdout
    assert done.stdout.endswith("A sentence (an empty line ends): ")


def test_files_of_unequal_length_are_refused(tmp_path, texts) -> None:
    file = tmp_path / "translator.py"
    file.write_text(exported(template()), encoding="utf-8")
    texts[1].write_text("une seule ligne\u2028encore elle\n", encoding="utf-8")
    command = [sys.executable, file, *texts]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "400 lines and 1: each line needs its translation" in done.stderr


def test_says_how_it_is_used(tmp_path) -> None:
    file = tmp_path / "translator.py"
    file.write_text(exported(template()), encoding="utf-8")
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "usage: python my_transformer.py SOURCE TARGET" in done.stderr
