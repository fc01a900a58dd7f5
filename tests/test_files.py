"""A file is written whole or not at all."""

from __future__ import annotations

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
