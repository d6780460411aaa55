"""The one step of the build that pyproject.toml cannot say: the package ships the lessons."""

import json
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithLessons(build_py):
    """Puts the notebooks, without their outputs, into the package."""

    def run(self) -> None:
        """Build the package, then add to it; an editable install finds them in the checkout."""
        super().run()
        if self.editable_mode:
            return
        folder = Path(self.build_lib) / "transformer_course" / "lessons"
        folder.mkdir(parents=True, exist_ok=True)
        for notebook in Path("notebooks").glob("*.ipynb"):
            content = json.loads(notebook.read_text(encoding="utf-8"))
            for cell in content["cells"]:
                if cell["cell_type"] == "code":
                    cell |= {"outputs": [], "execution_count": None}
            text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
            (folder / notebook.name).write_text(text, encoding="utf-8", newline="\n")


setup(cmdclass={"build_py": BuildWithLessons})
