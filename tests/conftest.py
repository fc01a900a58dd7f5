"""Fixtures that every room's tests may use."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaeval_tasks.audio import Clip

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each process that a test starts compiles the package anew

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs, and their children, ignore it


@pytest.fixture(scope="session")
def repository() -> Path:
    """The checkout the tests run in."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def human_ratings() -> Path:
    """Ratings that people gave in other studies; see the README of ``tests/data``."""
    return Path(__file__).resolve().parent / "data" / "ratings"


@pytest.fixture
def tone() -> Clip:
    """One second of a 440 Hz tone at 16 kHz, at half of full scale."""
    t = np.arange(16_000) / 16_000
    return Clip((0.5 * np.sin(2 * np.pi * 440 * t)).astype(np.float32), 16_000)


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny Qwen-Omni checkpoints with random weights: ``q3`` and ``q25``."""
    from fakes.tiny_omni import save_checkpoint

    return {kind: save_checkpoint(kind, tmp_path_factory.mktemp(kind)) for kind in ("q3", "q25")}


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's Chromium, with the policy of a real visitor: no sound without a click or key."""
    arguments = ["--mute-audio", "--disable-dev-shm-usage"]
    return {**browser_type_launch_args, "executable_path": "/usr/bin/chromium", "args": arguments}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files with browser tests last: Playwright keeps an event loop running in its process until the end."""
    browser = {item.path for item in items if "playwright" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: item.path in browser)
