"""The command ``transformer-course lab``: where it opens, with what, and what it refuses."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.workspace.conftest import ATTENTION, edit, exercise
from tools.sources import ROOT
from transformer_course import cli
from transformer_course.checker import progress
from transformer_course.workspace import lab, update

OTHER = "01_positional_encoding.ipynb"
NEW = "02_attention (new).ipynb"
SECONDS_TO_START = 60


@pytest.fixture
def workspace(publish, folder: Path) -> Path:
    publish(*exercise("wavelengths"), name=OTHER)
    publish(*exercise("causal_mask"))
    update.update(folder)
    return folder


@pytest.fixture
def launched(monkeypatch) -> list:
    """Keep JupyterLab from starting; return with which folder and arguments it was asked to."""
    calls = []
    monkeypatch.setattr(lab, "_launch", lambda folder, arguments: calls.append((folder, arguments)))
    monkeypatch.setattr(lab.subprocess, "Popen", lambda *_, **__: None)
    return calls


def changed(path: Path, seconds: int) -> None:
    """Say that a file was changed so many seconds after 1970."""
    os.utime(path, (seconds, seconds))


# Where it opens


def test_a_new_learner_begins_with_the_first_lesson(workspace):
    assert lab.place(workspace) == OTHER


def test_what_was_solved_elsewhere_is_not_begun_with(workspace):
    progress.record("positional_encoding.wavelengths")
    assert lab.place(workspace) == ATTENTION


def test_a_learner_goes_on_with_the_lesson_that_was_changed_last(workspace):
    for name, seconds in ((OTHER, 2000), (ATTENTION, 1000)):
        edit(workspace / name, 0, "A note.")
        changed(workspace / name, seconds)
    assert lab.place(workspace) == OTHER
    changed(workspace / ATTENTION, 3000)
    assert lab.place(workspace) == ATTENTION


def test_a_lesson_that_was_run_counts_as_changed_and_one_that_was_updated_does_not(workspace):
    notebook = json.loads((workspace / ATTENTION).read_text(encoding="utf-8"))
    notebook["cells"][2]["execution_count"] = 1
    (workspace / ATTENTION).write_text(json.dumps(notebook), encoding="utf-8")
    changed(workspace / ATTENTION, 1000)
    assert lab.place(workspace) == ATTENTION


def test_a_learner_goes_on_in_the_new_version(workspace, publish):
    edit(workspace / ATTENTION, 0, "A note.")
    publish(*exercise("causal_mask"), *exercise("target_mask"))
    update.update(workspace)
    assert lab.place(workspace) == NEW
    assert "--LabApp.default_url=/lab/tree/02_attention%20%28new%29.ipynb" in lab.settings(
        workspace
    )


def test_damaged_and_foreign_notebooks_are_passed_over(workspace):
    (workspace / ATTENTION).write_text("{", encoding="utf-8")
    (workspace / "empty.ipynb").touch()
    assert lab.place(workspace) == OTHER


def test_a_notebook_of_the_learners_own_is_a_place_too(workspace):
    own = json.loads((workspace / ATTENTION).read_text(encoding="utf-8"))
    own["metadata"] = {}
    (workspace / "trials.ipynb").write_text(json.dumps(own), encoding="utf-8")
    assert lab.place(workspace) == "trials.ipynb"


# With what


def test_the_tabs_of_the_day_before_are_forgotten(workspace):
    tabs = workspace / update.RECORDS / "tabs"
    tabs.mkdir()
    (tabs / "default.jupyterlab-workspace").touch()
    assert f"--LabApp.workspaces_dir={tabs}" in lab.settings(workspace)
    assert not tabs.exists()


@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_only_root_is_allowed_to_be_root(workspace, monkeypatch, user, allowed):
    monkeypatch.setattr(os, "geteuid", lambda: user, raising=False)
    assert ("--allow-root" in lab.settings(workspace)) is allowed


def test_the_course_brings_its_settings_and_its_kernel():
    assert (lab.JUPYTER / "settings" / "overrides.json").is_file()
    kernel = json.loads((lab.JUPYTER / "kernels" / "python3" / "kernel.json").read_text())
    assert kernel["argv"][0] == "python"  # Jupyter puts its own interpreter in


# The command


def test_the_command_says_what_it_did_and_passes_arguments_on(
    publish, launched, folder, tmp_path, monkeypatch, capsys
):
    publish(*exercise("causal_mask"))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["lab"]) == 0
    behind = ["--no-browser", "--port=9999"]
    assert cli.main(["lab", "other", "--", *behind]) == 0
    assert cli.main(["--debug", "lab", "other", "--", *behind]) == 0
    assert launched == [(folder, []), *[(tmp_path / "other", behind)] * 2]
    said = capsys.readouterr().out
    assert said.startswith(f"{ATTENTION}: laid out.\nAGENTS.md: laid out.\n")
    assert "\nOpening JupyterLab in " in said


def test_without_jupyterlab_it_says_what_to_install(folder, launched, monkeypatch, capsys):
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: None)
    assert cli.main(["lab", str(folder)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "pip install" in error
    assert not folder.exists()
    assert not launched


def test_a_folder_that_is_no_workspace_is_refused_in_a_sentence(folder, launched, capsys):
    folder.mkdir()
    (folder / "thesis.tex").touch()
    assert cli.main(["lab", str(folder)]) == 2
    assert "holds files of its own" in capsys.readouterr().err
    assert not launched


def test_the_command_line_is_read_without_pytorch():
    """Seconds in which JupyterLab can start already."""
    code = "import sys, transformer_course.cli; sys.exit('torch' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_jupyterlab_answers_in_the_new_folder(tmp_path):
    home = {
        name: str(tmp_path / name)
        for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "TRANSFORMER_COURSE_HOME")
    }
    environment = os.environ | home | {"PYTHONPATH": str(ROOT), "JUPYTER_TOKEN": "token"}
    command = [sys.executable, "-m", "transformer_course", "lab", "--"]
    command += ["--no-browser", "--ip=127.0.0.1", "--port=0"]
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        answer = page_of(server, tmp_path / "JUPYTER_RUNTIME_DIR" / f"jpserver-{server.pid}.json")
    finally:
        server.terminate()
        server.wait(timeout=20)
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert answer.endswith("/lab/tree/00_start_here.ipynb?token=token"), log
    assert "00_start_here.ipynb: laid out." in log


def page_of(server: subprocess.Popen, note: Path) -> str:
    """Wait until JupyterLab answers; return the address to which it sends the browser."""
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end and server.poll() is None:
        try:
            url = json.loads(note.read_text(encoding="utf-8"))["url"]
            return urlopen(f"{url}?token=token").url
        except (OSError, ValueError, URLError):
            time.sleep(0.1)
    return "no answer"
