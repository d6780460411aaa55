"""The one step of the build that pyproject.toml cannot say: the package ships the lessons."""

import runpy
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

# By its path, because the package cannot be imported before it is built.
COPIES = runpy.run_path("transformer_course/workspace/copies.py")


class BuildWithLessons(build_py):
    """Puts the notebooks, without their outputs, into the package."""

    def run(self) -> None:
        """Build the package, then add to it; an editable install finds them in the checkout."""
        super().run()
        if self.editable_mode:
            return
        folder = Path(self.build_lib) / "transformer_course" / "lessons"
        folder.mkdir(parents=True, exist_ok=True)
        for lesson in Path("notebooks").glob("*.ipynb"):
            text = COPIES["notebook_text"](COPIES["lesson_copy"](lesson))
            (folder / lesson.name).write_text(text, encoding="utf-8", newline="\n")


setup(cmdclass={"build_py": BuildWithLessons})
