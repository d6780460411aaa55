"""JupyterLab as a learner starts it, kept away from the user's own files."""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SECONDS_TO_START = 120
SECONDS_TO_END = 20

OPTIONS = (
    "--no-browser",
    "--ip=127.0.0.1",
    "--port=0",
    # For `jupyterapp` in the page, which can wait for a run to end.
    "--LabApp.expose_app_in_browser=True",
)
# Of several tabs, the one that was in front the last time comes first, for a moment.
IS_IN_FRONT = "name => window.jupyterapp?.shell.currentWidget?.title.label === name"
KERNEL_IS_READY = """() => {
    const session = window.jupyterapp?.shell.currentWidget?.sessionContext;
    return session?.isReady && session.kernelDisplayStatus === "idle";
}"""


def keep_all_cells(settings: Path) -> None:
    """Tell JupyterLab to keep cells that are out of sight, so that each has its number."""
    file = settings / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"windowingMode": "none"}), encoding="utf-8")


def own_environment(home: Path, token: str) -> dict[str, str]:
    """Return environment variables that keep a server away from the user's own files."""
    folders = {
        "HOME": "",
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "TRANSFORMER_COURSE_HOME": "progress",
    }
    own = {variable: str(home / folder) for variable, folder in folders.items()}
    return os.environ | own | {"JUPYTER_TOKEN": token, "OMP_NUM_THREADS": "1"}


def address_of(server: subprocess.Popen[bytes], runtime: Path) -> str:
    """Wait until a server has written its address, and return it."""
    note = runtime / f"jpserver-{server.pid}.json"
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and server.poll() is None:
        if note.exists() and (text := note.read_text(encoding="utf-8")):
            return json.loads(text)["url"]
        time.sleep(0.1)
    raise TimeoutError(f"JupyterLab gave no address within {SECONDS_TO_START} s: see lab.log")


@contextmanager
def learners_lab(home: Path, folder: Path, **variables: str) -> Iterator[tuple[str, str]]:
    """Run ``transformer-course lab`` in a folder; give its address and the query with its token.

    Parameters
    ----------
    home
        Where the learner's settings and progress are; its ``lab.log`` is what the command says.
    folder
        Where the command is given.
    variables
        Further environment variables.
    """
    keep_all_cells(home / "settings")
    token = secrets.token_hex()
    command = [sys.executable, "-m", "transformer_course", "lab", "--", *OPTIONS]
    environment = own_environment(home, token) | variables
    with (home / "lab.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        yield address_of(server, home / "runtime"), f"?token={token}"
    finally:
        # On this signal the server ends its kernels too.
        server.terminate()
        try:
            server.wait(timeout=SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
