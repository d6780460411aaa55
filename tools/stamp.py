"""Stamp links, set-up cells, the lesson table and the citation from the settings of the project.

The repository's address (``project.urls.repository``) and the version stand in ``pyproject.toml``
alone; who changes them runs ``make stamp``.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from tools.sources import (
    ROOT,
    lesson_sources,
    notebook_of,
    notebook_text,
    read_notebook,
    read_source,
    source_text,
    write_if_changed,
)
from transformer_course.syllabus import LESSONS, colab_link, kaggle_link

WHAT_IS_WRONG = "What is wrong with my own model?"
"""The words that lead whoever has written a Transformer elsewhere to the page on examine."""

TITLES = {
    "install": "# @title Set-up: run me",
    "setup": "# @title And what this lesson imports",
}
ANSWER = re.compile(r'^assert |turned_out\("', re.MULTILINE)
README = ROOT / "README.md"
CITATION = ROOT / "CITATION.cff"
TABLE = re.compile(r"(?<=<!-- lessons -->\n).*(?=<!-- end of lessons -->)", re.DOTALL)
WAYS_IN = re.compile(r"(?<=<!-- ways in -->\n).*(?=<!-- end of ways in -->)", re.DOTALL)
CLONE = re.compile(r"git clone \S+")
BADGE = re.compile(r"https://[^\s()]+(?=/actions/workflows/test\.yml)")


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def repository() -> str:
    """Return the repository's address, such as ``https://github.com/owner/name``."""
    return _project()["urls"]["repository"].rstrip("/")


def documentation() -> str:
    """Return the address of the published book, without a slash at its end."""
    return _project()["urls"]["documentation"].rstrip("/")


def links_cell(name: str) -> str:
    """Return the line of links at the top of a lesson."""
    colab, kaggle = colab_link(repository(), name), kaggle_link(repository(), name)
    return f"[Open in Colab]({colab}) | [Open in Kaggle]({kaggle})"


def setup_cell(name: str) -> str:
    """Return the one line that a lesson starts with.

    It does nothing where the package is installed, and installs it elsewhere (Colab, Kaggle).
    """
    # IPython puts the interpreter's path in: a plain `pip` may belong to another environment.
    install = f"{{sys.executable}} -m pip install -q git+{repository()}"
    advice = "Not installed. On Kaggle, turn the internet on (Settings), then run this cell again."
    return (
        "import sys; from importlib.util import find_spec; "
        'find_spec("transformer_course") or '
        f"""get_ipython().system("{install} || echo '{advice}'"); """
        f'from transformer_course.notebook import setup; own = setup("{name}")'
    )


def stamp_cells(notebook: NotebookNode, name: str) -> None:
    """Write the cells tagged ``links`` and ``install`` of a lesson, and fold others.

    Those are the set-up, and the code of an outcome that holds the answer to a prediction.

    Raises
    ------
    ValueError
        If the lesson does not have exactly one cell of each tag.
    """
    for tag, source in (("links", links_cell(name)), ("install", setup_cell(name))):
        cells = [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]
        if len(cells) != 1:
            raise ValueError(
                f"{name} has {len(cells)} cells tagged {tag}; a lesson has exactly one: "
                "see CONTRIBUTING.md"
            )
        cells[0].source = source
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "install" in tags or "setup" in tags:
            _fold(cell)
            _entitle(cell)
        elif "outcome" in tags and ANSWER.search(cell.source):
            _fold(cell)


def _fold(cell: NotebookNode) -> None:
    """Hide the code of a cell until it is asked for: in JupyterLab, Colab, Kaggle and the book."""
    cell.metadata |= {"jupyter": {"source_hidden": True}, "cellView": "form"}
    cell.metadata["_kg_hide-input"] = True
    if "hide-input" not in cell.metadata.tags:
        cell.metadata.tags.append("hide-input")


def _entitle(cell: NotebookNode) -> None:
    """Give a folded cell a first line that is shown; what Colab calls a title is a comment.

    The book, where nobody can run it, has a button.
    """
    title = TITLES["install" if "install" in cell.metadata.tags else "setup"]
    prompts = {"code_prompt_show": "Show the set-up", "code_prompt_hide": "Hide the set-up"}
    cell.metadata["mystnb"] = prompts
    cell.source = f"{title}\n{cell.source.removeprefix(title).lstrip()}"


def title_and_promise(notebook: NotebookNode) -> tuple[str, str]:
    """Return a lesson's title, without its number, and its promise: the paragraph below."""
    heading, promise = notebook.cells[0].source.split("\n\n")[:2]
    return re.sub(r"^#\s+(\d+\.\s+)?", "", heading), " ".join(promise.split())


def lesson_row(name: str) -> str:
    """Return a lesson's row of the table in the README."""
    number = name.split("_")[0]
    source = ROOT / "notebooks" / "text" / f"{name}.md"
    if not source.exists():
        return f"| {number} | {LESSONS[name]} | in preparation | |"
    title, promise = title_and_promise(read_source(source))
    # The heading of the column says it for all rows.
    ability = promise.removeprefix("After this lesson you can ")
    colab, kaggle = colab_link(repository(), name), kaggle_link(repository(), name)
    badge = "[![Open in {0}](book/images/{1}.svg)]({2})"
    links = f"{badge.format('Colab', 'colab', colab)} {badge.format('Kaggle', 'kaggle', kaggle)}"
    return f"| {number} | [{title}](notebooks/{name}.ipynb) | {ability} | {links} |"


def lesson_table() -> str:
    """Return the lesson table of the README."""
    head = ["| | Lesson | What you can do after it | Open it in |", "|---|---|---|---|"]
    return "\n".join(head + [lesson_row(name) for name in LESSONS]) + "\n"


def ways_in() -> str:
    """Return the line of links below the README's first picture."""
    links = {
        "Begin": "#start",
        "Begin in Colab": colab_link(repository(), "00_start_here"),
        "Read, and translate in your browser": f"{documentation()}/book/index.html",
        WHAT_IS_WRONG: "#examine-your-own-model",
    }
    return " · ".join(f"**[{words}]({to})**" for words, to in links.items()) + "\n"


def stamped_readme(text: str) -> str:
    """Return the README with the ways in, the address to clone and the lesson table."""
    text = WAYS_IN.sub(lambda _: ways_in(), text)
    text = CLONE.sub(f"git clone {repository()}", text)
    text = BADGE.sub(repository(), text)
    return TABLE.sub(lambda _: lesson_table(), text)


def stamped_citation(text: str) -> str:
    """Return the citation file with the version and the address."""
    for name, value in (("version", _project()["version"]), ("repository-code", repository())):
        text = re.sub(rf"(?<=^{name}: ).*", value, text, flags=re.MULTILINE)
    return text


def stamped_files() -> dict[Path, str]:
    """Return every stamped file with the content it should have."""
    files = {
        README: stamped_readme(README.read_text(encoding="utf-8")),
        CITATION: stamped_citation(CITATION.read_text(encoding="utf-8")),
    }
    for source in lesson_sources():
        text = read_source(source)
        stamp_cells(text, source.stem)
        files[source] = source_text(text)
        if notebook_of(source).exists():
            notebook = read_notebook(notebook_of(source))
            stamp_cells(notebook, source.stem)
            files[notebook_of(source)] = notebook_text(notebook)
    return files


def main() -> int:
    """Stamp all files, or with ``--check`` only say which ones are out of step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail on a difference")
    check = parser.parse_args().check
    stale = []
    for path, text in stamped_files().items():
        if check and path.read_text(encoding="utf-8") != text:
            stale.append(path)
        elif not check and write_if_changed(path, text):
            print(f"stamped {path.relative_to(ROOT)}")
    for path in stale:
        print(f"{path.relative_to(ROOT)} is out of step: run `make stamp`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
