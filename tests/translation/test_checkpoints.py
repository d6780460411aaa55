import json
import os
import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from transformer_course.translation.checkpoints import (
    CheckpointError,
    read_json,
    read_tensors,
    write_json,
    write_tensors,
)

TENSORS = {"weight": torch.arange(60.0).view(6, 10), "step": torch.tensor(7)}


def marker_maker(marker: Path) -> object:
    """Return an object that makes a file when it is unpickled."""

    class Hostile:
        def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
            return (os.mkdir, (str(marker),))

    return Hostile()


def test_json_comes_back(tmp_path: Path) -> None:
    content = {"language": "français", "sizes": [1, 2.5, None, True]}
    write_json(tmp_path / "config.json", content)
    assert read_json(tmp_path / "config.json") == content
    assert "français" in (tmp_path / "config.json").read_text(encoding="utf-8")


def test_tensors_and_metadata_come_back_to_the_bit(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    odd = torch.tensor([0.1, -0.0, float("inf"), 1e-45, float("nan")])
    stored = TENSORS | {"odd": odd, "transposed": torch.rand(3, 4).T}
    metadata = {"step": 3, "history": [{"loss": 0.1}]}
    write_tensors(path, stored, metadata)
    tensors, read_metadata = read_tensors(path)
    assert read_metadata == metadata
    assert tensors.keys() == stored.keys()
    for name, tensor in stored.items():
        torch.testing.assert_close(tensors[name], tensor, rtol=0, atol=0, equal_nan=True)
        assert tensors[name].dtype == tensor.dtype


def test_tensors_without_metadata_are_read(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file(TENSORS, path)
    assert read_tensors(path)[1] == {}


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no config\.json in .*train --output"):
        read_json(tmp_path / "config.json")
    with pytest.raises(CheckpointError, match=r"no model\.safetensors in"):
        read_tensors(tmp_path / "model.safetensors")


@pytest.mark.parametrize(
    "content",
    [b"", b'{"model": {', b"\xff\xfe", b"[" * 100_000, b"[]", b"null"],
    ids=lambda c: repr(c[:12]),
)
def test_damaged_json_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"config\.json is damaged"):
        read_json(path)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.2, 0.5, 0.999])
def test_tensors_cut_short_are_refused(tmp_path: Path, share: float) -> None:
    path = tmp_path / "model.safetensors"
    write_tensors(path, TENSORS, {})
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(CheckpointError, match="damaged"):
        read_tensors(path)


@pytest.mark.parametrize("metadata", ["[1, 2]", "{", "[" * 100_000], ids=lambda m: m[:6])
def test_odd_metadata_is_refused(tmp_path: Path, metadata: str) -> None:
    path = tmp_path / "model.safetensors"
    save_file(TENSORS, path, metadata={"json": metadata})
    with pytest.raises(CheckpointError, match="damaged"):
        read_tensors(path)


@pytest.mark.parametrize("save", [torch.save, lambda o, path: path.write_bytes(pickle.dumps(o))])
def test_pickles_are_never_unpickled(
    tmp_path: Path, save: Callable[[dict[str, object], Path], None]
) -> None:
    path, marker = tmp_path / "model.safetensors", tmp_path / "marker"
    save({"weight": marker_maker(marker)}, path)
    with pytest.raises(CheckpointError, match="not a safetensors file"):
        read_tensors(path)
    assert not marker.exists()
    # The trap works: whoever unpickles it makes the marker.
    pickle.loads(pickle.dumps(marker_maker(marker)))
    assert marker.exists()


def write_big_tensors(path: Path) -> None:
    write_tensors(path, {"weight": torch.zeros(5000)}, {})


def write_big_json(path: Path) -> None:
    write_json(path, ["word"] * 5000)


@pytest.mark.parametrize("write", [write_big_tensors, write_big_json])
def test_full_disk_leaves_the_old_file(
    tmp_path: Path,
    full_disk: Callable[[int], AbstractContextManager[None]],
    write: Callable[[Path], None],
) -> None:
    path = tmp_path / "file"
    write_json(path, "old")
    with full_disk(10_000), pytest.raises(OSError, match="too large"):
        write(path)
    assert json.loads(path.read_text()) == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_written_tensors_need_not_be_contiguous_nor_detached(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    weight: Tensor = torch.rand(3, 4, requires_grad=True)
    write_tensors(path, {"weight": weight[:, 1]}, {})
    assert torch.equal(read_tensors(path)[0]["weight"], weight[:, 1])
