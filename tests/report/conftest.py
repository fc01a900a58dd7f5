"""Fixtures of the board's tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def published(repository: Path) -> Path:
    """The published figures (source: tests/data/README.md)."""
    return repository / "tests" / "data" / "dai_s2s_st_published.csv"
