"""Files from the internet: checked, resumed where they broke off, whole or not there at all."""

import logging
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import requests
from filelock import FileLock
from tqdm import tqdm

with warnings.catch_warnings():
    # pooch looks for notebook widgets and warns where there are none; the course uses none.
    warnings.simplefilter("ignore")
    import pooch

DATA_VARIABLE = "TRANSFORMER_COURSE_DATA"
SECONDS_OF_SILENCE = 30.0
CHUNK_BYTES = 2**16

# pooch tells what it downloads as if it were an error; the progress bar tells it too.
pooch.get_logger().setLevel(logging.WARNING)


class DownloadError(OSError):
    """No mirror gave the file."""


def data_folder(given: Path | None = None) -> Path:
    """Return the folder that holds the corpora, or that they are downloaded to.

    It is the folder given, else that of the environment variable ``TRANSFORMER_COURSE_DATA``, else
    the folder where this system keeps what programs download.

    Raises
    ------
    ValueError
        If the folder given, or that of the variable, does not exist.
    """
    variable = os.environ.get(DATA_VARIABLE)
    folder = Path(variable) if given is None and variable else given
    if folder is None:
        return pooch.os_cache("transformer-course")
    if not folder.is_dir():
        raise ValueError(
            f"there is no folder {folder} for the data: make it, or correct --data or the "
            f"environment variable {DATA_VARIABLE}."
        )
    return folder


def find_file(folder: Path, corpus: str, *names: str) -> Path | None:
    """Return the first file of these names in the folder or its subfolder ``corpus``, if any."""
    places = [place / name for name in names for place in (folder, folder / corpus)]
    return next((path for path in places if path.exists()), None)


def check_sha256(path: Path, sha256: str) -> None:
    """Raise ValueError if the file has another checksum than ``sha256``, in hexadecimal."""
    found = pooch.file_hash(str(path))
    if found != sha256:
        raise ValueError(
            f"{path} is not the published file: its SHA-256 is {found}, that of the published "
            f"one is {sha256}. Remove it, and it will be downloaded; or give another folder with "
            f"--data FOLDER."
        )


def download(path: Path, sha256: str, mirrors: Sequence[str]) -> None:
    """Download a file, from the first mirror that has it.

    What arrives is kept in a file with ``.part`` after its name. If the download breaks off, the
    next mirror, or the next call, goes on from there. Another process that downloads it is waited
    for.

    Parameters
    ----------
    path
        Where to put it. Its folder is made if need be, and removed if nothing arrives.
    sha256
        The checksum it must have, in hexadecimal.
    mirrors
        Web folders that hold a file of this name, in the order in which to try them.

    Raises
    ------
    DownloadError
        If no mirror gives the file, or not with this checksum.
    OSError
        If the disk is full or the folder cannot be written.
    """
    made = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(f"{path.name}.lock")
    try:
        with FileLock(lock):  # two processes would write to the same partial file
            try:
                _from_first_mirror(path, sha256, mirrors)
            finally:
                with suppress(OSError):  # on Windows nobody can take away what is held
                    lock.unlink()
    finally:
        for folder in made:  # the innermost first
            with suppress(OSError):  # it holds what arrived
                folder.rmdir()


def _from_first_mirror(path: Path, sha256: str, mirrors: Sequence[str]) -> None:
    partial = path.with_name(f"{path.name}.part")
    answers = []
    handled = sys.exception()  # what the caller deals with just now is not a mirror's answer
    for mirror in mirrors:
        address = f"{mirror}/{path.name}"
        try:
            pooch.retrieve(
                address,
                known_hash=sha256,
                fname=path.name,
                path=path.parent,
                downloader=ResumingDownloader(partial),
            )
        except (ValueError, requests.RequestException) as error:
            answers.append(f"{address}: {_innermost(error, handled)}")
        except OSError as error:
            # pooch wraps what the system said of a folder; a full disk comes without a file name.
            reason = error.__cause__ or error
            raise OSError(reason.errno, reason.strerror, str(partial)) from None
        else:
            return
    raise DownloadError(
        f"{path.name} could not be downloaded. {'; '.join(answers)}. Check the network and try "
        f"again (a download that broke off goes on where it stopped); or get the file elsewhere "
        f"and give its folder with --data FOLDER or the environment variable {DATA_VARIABLE}."
    )


def _innermost(error: BaseException, handled: BaseException | None) -> BaseException:
    """Return the error at the bottom: requests wraps what the system said several times."""
    while error.__context__ not in (None, handled):
        error = error.__context__
    return error


class ResumingDownloader:
    """What pooch calls to download: it keeps a file that broke off, and goes on with it.

    Parameters
    ----------
    partial
        Where to keep it. It is moved away, to pooch, when all has arrived.
    """

    def __init__(self, partial: Path) -> None:
        self.partial = partial

    def __call__(self, url: str, output_file: str, _pooch: Any) -> None:
        """Download ``url`` to ``output_file``; raise requests' errors and OSError."""
        arrived = self.partial.stat().st_size if self.partial.exists() else 0
        # "identity": the server must send the very bytes of the file, else no place in it counts.
        headers = {"Range": f"bytes={arrived}-", "Accept-Encoding": "identity"}
        with requests.get(
            url, headers=headers, stream=True, timeout=SECONDS_OF_SILENCE
        ) as response:
            # "Range not satisfiable": nothing is missing. The checksum will tell whether it is so.
            all_here = arrived > 0 and response.status_code == requests.codes.range_not_satisfiable
            if not all_here:
                response.raise_for_status()
                self._write(response)
        self.partial.replace(output_file)

    def _write(self, response: requests.Response) -> None:
        # A server that knows no ranges sends the whole file.
        resumed = response.status_code == requests.codes.partial_content
        with self.partial.open("ab" if resumed else "wb") as file:
            expected = file.tell() + int(response.headers.get("Content-Length", 0))
            with tqdm(
                desc=self.partial.stem,
                initial=file.tell(),
                total=expected,
                unit="B",
                unit_scale=True,
                leave=False,
                disable=None,  # no bar where nobody looks: in a log file
            ) as bar:
                for chunk in response.iter_content(CHUNK_BYTES):
                    file.write(chunk)
                    bar.update(len(chunk))
