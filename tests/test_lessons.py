"""The lessons as a learner on a train uses them: without a network, and going back and forth."""

import json
import subprocess
import sys

import pytest

from tools.sources import lesson_sources, read_source

# Too long to run twice here; they are run with the notebooks.
TRAINING = {"07_toy_translation", "09_real_translation", "13_your_own_text"}
LESSONS = [source for source in lesson_sources() if source.stem not in TRAINING]

# A terminal's shell, which draws no pictures. Each cell that asserts something is run twice, with
# the cells since the last one before it: so a learner comes back to a claim to see it again.
SESSION = """
import json, socket, sys
from IPython.core.interactiveshell import InteractiveShell

def refuse(*address):
    raise ConnectionRefusedError(f"a lesson asked the network for {address}")

socket.socket.connect = socket.getaddrinfo = refuse
shell, since = InteractiveShell.instance(), []
for source in json.load(sys.stdin):
    since.append(source)
    shell.run_cell(source).raise_error()
    if "assert " in source:
        for again in since:
            shell.run_cell(again).raise_error()
        since = []
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("source", LESSONS, ids=lambda source: source.stem)
def test_cells_can_be_run_again_without_a_network(source, tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(tmp_path))
    cells = [cell.source for cell in read_source(source).cells if cell.cell_type == "code"]
    result = subprocess.run(
        [sys.executable, "-c", SESSION],
        input=json.dumps(cells),
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
