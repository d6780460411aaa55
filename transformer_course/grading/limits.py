"""What a submission may use and do, and the guard that holds it to that.

The limits are there against accidents: an endless loop, a list that fills the memory, a cell that
tidies up its folder. They do not hold off somebody who is bent on doing harm; for that, grade in a
container or on a machine that you can afford to lose.
"""

import math
import os
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

LEAST_MEMORY = 0.5  # GiB
AFTER = 60  # seconds after the limit
FILE_LIMIT = 2**28  # bytes; no answer has a reason to write a file at all
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
FILE_EVENTS = ("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir")
FILE_EVENTS += ("os.symlink", "os.truncate", "os.utime", "shutil.rmtree")
FORBIDDEN_EVENTS = {
    **dict.fromkeys(("socket.connect", "socket.bind", "socket.getaddrinfo"), "no network"),
    **dict.fromkeys(("socket.sendto", "socket.sendmsg"), "no network"),
    **dict.fromkeys(("os.exec", "os.fork", "os.posix_spawn", "os.spawn"), "no other program"),
    **dict.fromkeys(("os.system", "subprocess.Popen"), "no other program"),
    **dict.fromkeys(("os.kill", "os.killpg"), "no signal to a process"),
}


@dataclass(frozen=True)
class Limits:
    """What one submission may use: seconds of time, GiB of memory.

    Raises
    ------
    ValueError
        If one of them is not above zero or not finite, or the memory is too little for torch.
    """

    seconds: float
    memory: float

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not 0 < value < math.inf:
                raise ValueError(f"the limit of {name} must be above zero; got {value:g}.")
        if self.memory < LEAST_MEMORY:
            raise ValueError(
                f"the limit of memory must be at least {LEAST_MEMORY:g} GiB, which torch alone "
                f"needs; got {self.memory:g}."
            )


def confine(home: str, limits: Limits) -> None:
    """Leave this process one folder to write in, so much memory, and no way to the outside."""
    import resource  # here, because Windows lacks it, and all of a lesson's exercises are imported

    os.environ.update({"HOME": home, "TRANSFORMER_COURSE_HOME": home, "TMPDIR": home})
    tempfile.tempdir = home  # TMPDIR is read once, and torch has asked for it by now
    empty = Path(home, "empty")  # IPython makes a folder in its home
    empty.mkdir()
    os.chdir(empty)
    sys.dont_write_bytecode = True
    torch.set_num_threads(1)  # as many processes run at a time as there are processors
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    for kind, most in (
        (resource.RLIMIT_DATA, round(limits.memory * 2**30)),
        # Who waits for this process ends it; should that one be killed, the system does.
        (resource.RLIMIT_CPU, math.ceil(limits.seconds) + AFTER),
        (resource.RLIMIT_FSIZE, FILE_LIMIT),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)  # the machine's own may be lower
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, allowed))
    sys.addaudithook(partial(_refuse, os.path.realpath(home)))
    torch._C.PyTorchFileWriter = _AskingFileWriter


class _AskingFileWriter(torch._C.PyTorchFileWriter):
    """What torch.save writes files with, past Python; so Python is asked first."""

    def __init__(self, file: Any, *settings: Any) -> None:
        if not hasattr(file, "write"):
            Path(file).open("ab").close()
        super().__init__(file, *settings)


def _refuse(home: str, event: str, arguments: tuple) -> None:
    """Raise PermissionError for what no answer needs to do; Python calls this before each event."""
    if event in FORBIDDEN_EVENTS:
        raise PermissionError(f"{FORBIDDEN_EVENTS[event]} while grading")
    if event in FILE_EVENTS:
        paths = [path for path in arguments if isinstance(path, str | bytes | os.PathLike)]
    elif event == "open" and arguments[2] & WRITING and not isinstance(arguments[0], int):
        paths = [arguments[0]]
    else:
        return
    for path in paths:
        real = os.path.realpath(os.fsdecode(path))
        # With the separator: "/tmp/ab" begins with "/tmp/a" and does not lie in it.
        if real not in (home, os.devnull) and not real.startswith(home + os.sep):
            raise PermissionError(f"{real} must not be changed while grading")
