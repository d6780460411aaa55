"""The book's sources agree with the repository."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_every_lesson_is_a_page():
    toc = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))
    lessons = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert [chapter["file"] for chapter in toc["chapters"]] == [
        f"notebooks/{lesson.stem}" for lesson in lessons
    ]
