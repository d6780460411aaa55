import os
import shutil
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from transformer_course.files import atomic_write, sweep


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "settings.json"
    path.write_text("old")
    return path


def assert_untouched(old: Path) -> None:
    assert old.read_text() == "old"
    assert list(old.parent.iterdir()) == [old]


def test_content_replaces_the_old(old: Path) -> None:
    with atomic_write(old) as temporary:
        temporary.write_text("new")
        assert old.read_text() == "old"
    assert old.read_text() == "new"
    assert list(old.parent.iterdir()) == [old]


def test_whoever_reads_the_old_file_goes_on_reading_it(old: Path) -> None:
    with old.open() as reader:
        with atomic_write(old) as temporary:
            temporary.write_text("new")
        assert reader.read() == "old"


def test_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    usual, written = tmp_path / "usual", tmp_path / "written"
    usual.touch()
    with atomic_write(written) as temporary:
        temporary.write_text("new")
    assert stat.S_IMODE(written.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)


@pytest.mark.parametrize("interruption", [RuntimeError, KeyboardInterrupt])
def test_interrupted_block_changes_nothing(old: Path, interruption: type[BaseException]) -> None:
    with pytest.raises(interruption), atomic_write(old) as temporary:
        temporary.write_text("half")
        raise interruption
    assert_untouched(old)


def test_crash_between_write_and_rename_changes_nothing(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(_file: int) -> None:
        raise RuntimeError("crash")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(RuntimeError, match="crash"), atomic_write(old) as temporary:
        temporary.write_text("new")
    assert_untouched(old)


def test_full_disk_changes_nothing_and_names_the_file(
    old: Path, full_disk: Callable[[int], AbstractContextManager[None]]
) -> None:
    with (
        full_disk(100),
        pytest.raises(OSError, match="too large") as caught,
        atomic_write(old) as temporary,
    ):
        temporary.write_text("new" * 100)
    assert caught.value.filename == str(old)
    assert_untouched(old)


def test_folder_that_is_a_file_is_named(old: Path) -> None:
    below = old / "settings.json"
    with pytest.raises(NotADirectoryError) as caught, atomic_write(below) as temporary:
        temporary.write_text("new")
    assert caught.value.filename == str(below)
    assert_untouched(old)


@pytest.mark.usefixtures("read_only_folders")
def test_read_only_folder_is_named(old: Path) -> None:
    new = old.with_name("new")
    old.parent.chmod(0o555)
    try:
        with pytest.raises(PermissionError) as caught, atomic_write(new) as temporary:
            temporary.write_text("new")
    finally:
        old.parent.chmod(0o755)
    assert caught.value.filename == str(new)
    assert_untouched(old)


def test_what_a_killed_writer_left_is_swept(old: Path) -> None:
    hidden = old.with_name(".hidden.tmp")
    hidden.touch()
    with atomic_write(old) as temporary:
        left = Path(shutil.copy(__file__, temporary))
        temporary.with_name(f"{temporary.name}.copy").touch()
        sweep(old.parent)
        assert not left.exists()
        temporary.write_text("new")
    copy = temporary.with_name(f"{temporary.name}.copy")
    assert set(old.parent.iterdir()) == {old, hidden, copy}
