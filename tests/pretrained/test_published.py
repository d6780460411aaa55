"""The published files, fetched from a web server on this machine."""

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from transformer_course.pretrained import load_marian, opus_mt_en_fr, published, small_marian
from transformer_course.translation import DownloadError


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        self.server.asked.append(self.path)


class Hub(ThreadingHTTPServer):
    daemon_threads = False  # their end is awaited: no thread outlives its test

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
        self.asked: list[str] = []


@pytest.fixture
def files() -> dict[str, bytes]:
    """Return what the hub is to hold: the small translator's files, by their published names."""
    names = {name: name for name in published.SHA256} | {"pytorch_model.bin": "model.safetensors"}
    return {name: (small_marian() / there).read_bytes() for name, there in names.items()}


@pytest.fixture
def hub(files, tmp_path, monkeypatch) -> Iterator[Hub]:
    there = tmp_path / "hub"
    there.mkdir()
    for name, content in files.items():
        (there / name).write_bytes(content)
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    monkeypatch.setattr(published, "SHA256", checksums)
    server = Hub(there)
    monkeypatch.setattr(published, "MIRRORS", (f"http://127.0.0.1:{server.server_port}",))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_files_are_fetched_once_and_load(hub, files, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    folder = opus_mt_en_fr(data)
    assert folder == data / "opus-mt-en-fr"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    assert len(hub.asked) == len(files)
    assert opus_mt_en_fr(data) == folder
    assert len(hub.asked) == len(files)
    (folder / "pytorch_model.bin").rename(folder / "model.safetensors")
    assert load_marian(folder).translate(["the cat sleeps"]) == ["le chat dort"]


def test_another_file_is_not_taken(hub, tmp_path):
    (tmp_path / "hub" / "vocab.json").write_text("{}")
    with pytest.raises(DownloadError, match=r"vocab\.json could not be downloaded"):
        opus_mt_en_fr(tmp_path)
    (tmp_path / "opus-mt-en-fr" / "config.json").write_text("{}")
    with pytest.raises(ValueError, match=r"config\.json is not the published file"):
        opus_mt_en_fr(tmp_path)


def test_addresses_name_a_revision():
    (mirror,) = published.MIRRORS
    assert mirror.endswith(f"opus-mt-en-fr/resolve/{published.REVISION}")
    assert len(published.REVISION) == 40
    assert {len(checksum) for checksum in published.SHA256.values()} == {64}
