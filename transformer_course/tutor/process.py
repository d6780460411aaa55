"""Judging in a process of its own, so that no answer can end or hold up whoever asks."""

import json
import subprocess
import sys
from typing import Any

LIMIT = 120.0
"""Seconds until a process is given up; the checks in it have limits of their own below this."""


def found_out(request: dict[str, Any], limit: float = LIMIT) -> dict[str, Any]:
    """Return what :func:`transformer_course.tutor.judge.judged` says in a new process.

    If that process ends or never does, this is the ``problem``.
    """
    # -P: a file of the learner's may have the name of a module, such as random.py.
    command = [sys.executable, "-P", "-m", "transformer_course.tutor.judge"]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=limit,
            check=False,
        )
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {
            "problem": f"the check did not end within {limit:g} seconds: look for a loop that "
            "never stops, or for results that are far too large."
        }
    except ValueError:
        if said := done.stderr.decode(errors="replace").split("\n")[-2:-1]:  # before the answer ran
            return {
                "problem": f"the check itself failed: {said[0]}; see `transformer-course doctor`."
            }
        return {
            "problem": "the answer ended Python while it was checked: take out whatever does "
            "that, such as `os._exit` or `quit`, or needs more memory than there is."
        }
