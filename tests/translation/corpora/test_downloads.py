import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from transformer_course.translation.corpora import downloads
from transformer_course.translation.corpora.downloads import (
    DownloadError,
    check_sha256,
    data_folder,
    download,
    find_file,
)

CONTENT = bytes(range(256)) * 4000  # longer than the pieces in which it is read
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MIDDLE = len(CONTENT) // 2


class Mirror(ThreadingHTTPServer):
    """A web server on this machine that misbehaves as it is told."""

    daemon_threads = False  # their end is awaited: no thread outlives its test

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.content = CONTENT
        self.sent_at_once: int | None = None
        self.knows_ranges = True
        self.status: int | None = None
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.starts: list[int] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Mirror

    def do_GET(self) -> None:
        self.server.may_answer.wait()
        # Other answers to the same question could be packed, and a place in them is another place.
        assert self.headers["Accept-Encoding"] == "identity"
        start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        self.server.starts.append(start)
        if not self.server.knows_ranges:
            start = 0
        body = self.server.content[start:]
        status = self.server.status or (206 if self.server.knows_ranges else 200)
        if start and not body:
            status = 416
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):  # whoever asked has left
            self.wfile.write(body[: self.server.sent_at_once])

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def new_mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Mirror]]:
    """Return a function that starts a mirror with the given behaviour."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    running = []

    def start(**behaviour: Any) -> Mirror:
        mirror = Mirror()
        for name, value in behaviour.items():
            setattr(mirror, name, value)
        thread = threading.Thread(target=mirror.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((mirror, thread))
        return mirror

    yield start
    for mirror, thread in running:
        mirror.may_answer.set()
        mirror.shutdown()
        mirror.server_close()
        thread.join()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "multi30k" / "train.en.gz"


@pytest.fixture
def partial(path: Path) -> Path:
    path.parent.mkdir()
    return path.with_name("train.en.gz.part")


def assert_arrived(path: Path) -> None:
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]


# Downloads that succeed, at once or in the end


def test_file_arrives(new_mirror: Callable[..., Mirror], path: Path) -> None:
    download(path, SHA256, [new_mirror().address])
    assert_arrived(path)


def test_next_call_resumes_what_broke_off(new_mirror: Callable[..., Mirror], path: Path) -> None:
    mirror = new_mirror(sent_at_once=MIDDLE)
    with pytest.raises(DownloadError, match=r"IncompleteRead.*goes on where it stopped"):
        download(path, SHA256, [mirror.address])
    assert not path.exists()
    mirror.sent_at_once = None
    download(path, SHA256, [mirror.address])
    assert_arrived(path)
    first, second = mirror.starts
    assert first == 0
    assert 0 < second <= MIDDLE


def test_next_mirror_resumes_what_broke_off(new_mirror: Callable[..., Mirror], path: Path) -> None:
    broken, whole = new_mirror(sent_at_once=MIDDLE), new_mirror()
    download(path, SHA256, [broken.address, whole.address])
    assert_arrived(path)
    assert 0 < whole.starts[0] <= MIDDLE


def test_server_without_ranges_sends_all_again(
    new_mirror: Callable[..., Mirror], path: Path, partial: Path
) -> None:
    partial.write_bytes(CONTENT[:MIDDLE])
    download(path, SHA256, [new_mirror(knows_ranges=False).address])
    assert_arrived(path)


def test_file_that_had_arrived_but_was_not_moved_yet(
    new_mirror: Callable[..., Mirror], path: Path, partial: Path
) -> None:
    partial.write_bytes(CONTENT)
    mirror = new_mirror()
    download(path, SHA256, [mirror.address])
    assert_arrived(path)
    assert mirror.starts == [len(CONTENT)]


@pytest.mark.parametrize("length", [1, MIDDLE, len(CONTENT), len(CONTENT) + 1])
def test_damaged_part_is_thrown_away(
    new_mirror: Callable[..., Mirror], path: Path, partial: Path, length: int
) -> None:
    partial.write_bytes(b"\xff" * length)
    mirror = new_mirror()
    with pytest.raises(DownloadError, match="does not match"):
        download(path, SHA256, [mirror.address])
    assert list(path.parent.iterdir()) == []
    download(path, SHA256, [mirror.address])
    assert_arrived(path)


def unreachable() -> str:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}"


def test_mirrors_are_tried_in_order(new_mirror: Callable[..., Mirror], path: Path) -> None:
    missing, whole, unused = new_mirror(status=404), new_mirror(), new_mirror()
    download(path, SHA256, [unreachable(), missing.address, whole.address, unused.address])
    assert_arrived(path)
    assert (missing.starts, whole.starts, unused.starts) == ([0], [0], [])


# Downloads that fail


def test_file_with_another_checksum_is_not_kept(
    new_mirror: Callable[..., Mirror], path: Path
) -> None:
    other = CONTENT[::-1]
    mirror = new_mirror(content=other)
    with pytest.raises(DownloadError) as caught:
        download(path, SHA256, [mirror.address])
    assert SHA256 in str(caught.value)
    assert hashlib.sha256(other).hexdigest() in str(caught.value)
    assert not path.parent.exists()


def test_all_mirrors_are_listed_with_what_they_answered(
    new_mirror: Callable[..., Mirror], path: Path
) -> None:
    missing, gone = new_mirror(status=404), unreachable()
    with pytest.raises(DownloadError) as caught:
        download(path, SHA256, [gone, missing.address])
    refused, not_found = str(caught.value).split("; ", maxsplit=1)
    assert f"{gone}/train.en.gz: [Errno" in refused
    assert "refused" in refused
    assert f"{missing.address}/train.en.gz: 404" in not_found
    assert "--data FOLDER" in not_found
    assert "TRANSFORMER_COURSE_DATA" in not_found


def test_failed_download_leaves_the_folders_as_they_were(tmp_path: Path) -> None:
    for path in (tmp_path / "data" / "multi30k" / "train.en.gz", tmp_path / "train.en.gz"):
        with pytest.raises(DownloadError):
            download(path, SHA256, [unreachable()])
    assert list(tmp_path.iterdir()) == []


def test_silent_mirror_is_given_up(
    new_mirror: Callable[..., Mirror], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "SECONDS_OF_SILENCE", 0.05)
    silent = new_mirror()
    silent.may_answer.clear()
    with pytest.raises(DownloadError, match="timed out"):
        download(path, SHA256, [silent.address])


def test_error_that_the_caller_deals_with_is_no_answer(path: Path) -> None:
    try:
        raise KeyError("of the caller")
    except KeyError:
        with pytest.raises(DownloadError, match="refused") as caught:
            download(path, SHA256, [unreachable()])
    assert "of the caller" not in str(caught.value)


def test_full_disk_is_named_and_the_rest_comes_later(
    new_mirror: Callable[..., Mirror],
    path: Path,
    partial: Path,
    full_disk: Callable[[int], AbstractContextManager[None]],
) -> None:
    mirror = new_mirror()
    with pytest.raises(OSError, match="too large") as caught, full_disk(MIDDLE):
        download(path, SHA256, [mirror.address])
    assert caught.value.filename == str(partial)
    assert list(path.parent.iterdir()) == [partial]
    arrived = partial.read_bytes()
    assert CONTENT.startswith(arrived)
    download(path, SHA256, [mirror.address])
    assert_arrived(path)
    assert mirror.starts == [0, len(arrived)]


def test_folder_that_is_a_file_is_named(new_mirror: Callable[..., Mirror], tmp_path: Path) -> None:
    (tmp_path / "multi30k").write_text("a file")
    with pytest.raises(OSError, match="multi30k"):
        download(tmp_path / "multi30k" / "train.en.gz", SHA256, [new_mirror().address])


@pytest.mark.usefixtures("read_only_folders")
def test_read_only_folder_is_named(new_mirror: Callable[..., Mirror], tmp_path: Path) -> None:
    path = tmp_path / "train.en.gz"
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(PermissionError) as caught:
            download(path, SHA256, [new_mirror().address])
    finally:
        tmp_path.chmod(0o755)
    assert caught.value.filename == f"{path}.part"


# Local folders


def test_given_folder_goes_before_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, variable = tmp_path / "given", tmp_path / "variable"
    given.mkdir()
    variable.mkdir()
    monkeypatch.setenv("TRANSFORMER_COURSE_DATA", str(variable))
    assert data_folder(given) == given
    assert data_folder() == variable


@pytest.mark.parametrize("unset", [True, False])
def test_else_it_is_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unset: bool) -> None:
    monkeypatch.setenv("TRANSFORMER_COURSE_DATA", "")
    if unset:
        monkeypatch.delenv("TRANSFORMER_COURSE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_folder() == tmp_path / "transformer-course"


@pytest.mark.parametrize("by_variable", [True, False])
def test_folder_that_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_variable: bool
) -> None:
    missing = tmp_path / "dta"
    monkeypatch.setenv("TRANSFORMER_COURSE_DATA", str(missing))
    with pytest.raises(ValueError, match=r"no folder .*dta .*make it, or correct --data"):
        data_folder(None if by_variable else missing)


def test_file_is_found_in_the_folder_or_its_subfolder(tmp_path: Path) -> None:
    below = tmp_path / "multi30k" / "train.en.gz"
    assert find_file(tmp_path, "multi30k", "train.en.gz") is None
    below.parent.mkdir()
    below.touch()
    assert find_file(tmp_path, "multi30k", "train.en.gz") == below
    assert find_file(tmp_path, "multi30k", "train.en", "train.en.gz") == below
    above = tmp_path / "train.en.gz"
    above.touch()
    assert find_file(tmp_path, "multi30k", "train.en.gz") == above


def test_checksum_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "train.en.gz"
    path.write_bytes(CONTENT)
    check_sha256(path, SHA256)
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(
        ValueError, match=r"train\.en\.gz is not the published.*Remove it"
    ) as caught:
        check_sha256(path, SHA256)
    assert SHA256 in str(caught.value)
    assert hashlib.sha256(CONTENT[:-1]).hexdigest() in str(caught.value)


def test_who_stops_waiting_leaves_the_lock_to_its_holder(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = path.with_name(f"{path.name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(downloads.FileLock, "__enter__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        download(path, SHA256, [])
    assert lock.exists()


def test_two_who_want_the_same_file_do_not_mix_it(
    new_mirror: Callable[..., Mirror], path: Path
) -> None:
    mirror = new_mirror()
    mirror.may_answer.clear()
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(download, path, SHA256, [mirror.address]) for _ in range(2)]
        mirror.may_answer.set()
        for each in waiting:
            each.result()
    assert mirror.starts == [0]
    assert_arrived(path)
