"""The system's Chromium, for pictures and for the tests of what readers see."""

import shutil

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "No Chromium found. On Debian or Ubuntu: sudo apt install chromium"


def chromium() -> str | None:
    """Return the program's path, None where there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)
