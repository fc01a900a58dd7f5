"""A file is written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from vaeval_tasks import files


def test_a_failed_block_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    files.write_text(path, "old\r\n")
    with pytest.raises(RuntimeError), files.atomic_path(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_bytes() == b"old\r\n"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_hashes_agree(tmp_path: Path) -> None:
    files.write_bytes(tmp_path / "x" / "b", b"abc")
    # FIPS 180-4, the example "abc"
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert files.sha256_file(tmp_path / "x" / "b") == files.sha256_bytes(b"abc") == expected


def write_whole(path: Path) -> None:
    with files.atomic_path(path) as temporary:
        temporary.write_bytes(b"new")


@pytest.mark.parametrize(
    "write", [lambda p: files.write_bytes(p, b"new"), lambda p: files.write_text(p, "new"), write_whole]
)
def test_content_is_flushed_before_the_rename_and_the_folder_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    done: list[tuple[str, str]] = []
    fsync, replace = os.fsync, Path.replace

    def flushed(handle: int) -> None:
        target = Path(f"/proc/self/fd/{handle}").readlink()
        done.append(("folder" if target == tmp_path else target.read_text(), path.read_text()))
        fsync(handle)

    def renamed(self: Path, target: Path) -> Path:
        done.append(("rename", path.read_text()))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "replace", renamed)
    write(path)
    assert done == [("new", "old"), ("rename", "old"), ("folder", "new")]


def test_an_error_of_writing_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for write in (lambda p: files.write_bytes(p, b"x"), write_whole):
        with pytest.raises(OSError, match="No space left") as caught:
            write(tmp_path / "a.txt")
        assert caught.value.filename == str(tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []
