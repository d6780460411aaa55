"""The command that made a results file, as it is written into it."""

import shlex
import sys
from pathlib import Path


def command(module: str) -> str:
    """Return the command line that runs now; of absolute paths it has only the names."""
    arguments = [Path(each).name if Path(each).is_absolute() else each for each in sys.argv[1:]]
    return shlex.join(["python", "-m", module, *arguments])
