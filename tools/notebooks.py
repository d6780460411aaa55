"""Build the notebooks from their sources, with outputs that are the same in every build.

``python -m tools.notebooks build [notebooks/text/NAME.md ...]`` builds all lessons when none is
named; ``python -m tools.notebooks check`` tells whether every notebook is in sync with its source.
"""

import argparse
import difflib
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from tools.sources import (
    as_stored,
    cell_key,
    lesson_sources,
    notebook_of,
    notebook_text,
    outcomes_of,
    read_notebook,
    read_source,
    source_text,
    write_if_changed,
)
from tools.stamp import stamp_cells

CELL_TIMEOUT = 300
KERNEL_FILE = re.compile(r"ipykernel_\d+/\d+\.py")
ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")


def execute(notebook: NotebookNode, folder: Path) -> None:
    """Run all cells in a fresh kernel that works in ``folder``; outputs are stored in place.

    The learner in that kernel has solved nothing yet, whoever runs this.

    Raises
    ------
    CellExecutionError
        If a cell raises that is not tagged ``raises-exception``.
    """
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        # Where the kernel cuts a stream depends on time; one piece is the same in every build.
        coalesce_streams=True,
        # The kernel warns about its own transport; that is no concern of a lesson.
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    )
    with TemporaryDirectory() as home:
        client.execute(env={**os.environ, "TRANSFORMER_COURSE_HOME": home})


def complaints(notebook: NotebookNode) -> Iterator[str]:
    """Yield one sentence for each output that a published notebook must not have."""
    for number, cell in enumerate(notebook.cells, start=1):
        allowed = "raises-exception" in cell.metadata.get("tags", [])
        for output in cell.get("outputs", []):
            where = f"cell {number} ({cell.source.splitlines()[0]!r})"
            if output.output_type == "error" and not allowed:
                yield f"{where} raised {output.ename}: {output.evalue}"
            elif output.get("name") == "stderr":
                yield f"{where} wrote a warning or a progress bar to stderr: {output.text.strip()}"
            elif ADDRESS.search(str(output)):
                yield f"{where} shows a memory address, which differs in every run"


def keep_measurements(notebook: NotebookNode, stored: NotebookNode) -> None:
    """Let cells tagged ``measured`` keep their stored outputs as long as their source is the same.

    A measured time differs in every run, and a rebuild should change only what somebody changed.
    """
    outputs = {cell.source: cell.outputs for cell in stored.cells if "outputs" in cell}
    for cell in notebook.cells:
        if "measured" in cell.metadata.get("tags", []):
            cell.outputs = outputs.get(cell.source) or cell.outputs


def keep_outcomes(source: Path, notebook: NotebookNode) -> None:
    """Move the outputs of cells tagged ``outcome`` into a file that only the book reads.

    They answer a prediction, so the notebook shows them to nobody before the cell is run.
    """
    outcomes = {}
    for cell in notebook.cells:
        if "outcome" in cell.metadata.get("tags", []):
            outcomes[cell_key(cell)] = cell.outputs
            cell.outputs = []
    if outcomes:
        text = json.dumps(outcomes, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        outcomes_of(source).parent.mkdir(exist_ok=True)
        write_if_changed(outcomes_of(source), text)
    else:
        outcomes_of(source).unlink(missing_ok=True)


def stabilise(notebook: NotebookNode) -> None:
    """Remove what depends on this machine or on this run from the metadata."""
    notebook.metadata.language_info.pop("version", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)


def build(source: Path, measure: bool = False) -> list[str]:
    """Write a lesson's notebook from its source, which is put into its canonical form first.

    ``measure`` replaces the stored outputs of measured cells by new ones.

    Returns
    -------
    list[str]
        What is wrong with the outputs; the notebook is written only if nothing is.
    """
    draft = read_source(source)
    stamp_cells(draft, source.stem)
    write_if_changed(source, source_text(draft))
    notebook = read_source(source)
    execute(notebook, notebook_of(source).parent)
    wrong = list(complaints(notebook))
    if not wrong:
        if not measure and notebook_of(source).exists():
            keep_measurements(notebook, read_notebook(notebook_of(source)))
        stabilise(notebook)
        keep_outcomes(source, notebook)
        text = KERNEL_FILE.sub("ipykernel/cell.py", notebook_text(notebook))
        write_if_changed(notebook_of(source), text)
    return wrong


def difference(source: Path) -> str:
    """Return how a notebook's cells differ from its source; empty when they are in sync."""
    notebook = notebook_of(source)
    if not notebook.exists():
        return f"{notebook} is missing\n"
    lines = difflib.unified_diff(
        source_text(as_stored(read_source(source))).splitlines(keepends=True),
        source_text(read_notebook(notebook)).splitlines(keepends=True),
        fromfile=str(source),
        tofile=str(notebook),
    )
    return "".join(lines)


def _build_all(sources: list[Path], measure: bool) -> int:
    failed = 0
    for source in sources:
        start = time.perf_counter()
        try:
            wrong = build(source.resolve(), measure)
        except (CellExecutionError, OSError, ValueError) as error:
            wrong = [str(error)]
        seconds = time.perf_counter() - start
        print(f"{source.stem}: {'NOT written' if wrong else 'built'} ({seconds:.0f} s)", flush=True)
        for sentence in wrong:
            print(f"  {sentence}", file=sys.stderr)
        failed += bool(wrong)
    return 1 if failed else 0


def _check_all() -> int:
    differences = [text for text in map(difference, lesson_sources()) if text]
    for text in differences:
        print(text, file=sys.stderr)
    if differences:
        print("Notebook and source differ: run `make notebooks`.", file=sys.stderr)
    return 1 if differences else 0


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build", help="execute and write notebooks")
    building.add_argument(
        "sources", nargs="*", type=Path, help="files in notebooks/text (default: all)"
    )
    building.add_argument("--measure", action="store_true", help="measure all times anew")
    commands.add_parser("check", help="compare each notebook with its source")
    arguments = parser.parse_args()
    if arguments.command == "build":
        return _build_all(arguments.sources or lesson_sources(), arguments.measure)
    return _check_all()


if __name__ == "__main__":
    sys.exit(main())
