"""Signatures of scores, and what backends share: optional libraries and the gate for unusable sound."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from threading import Lock
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import MissingDependencyError
from vaeval_tasks.progress import tracked

__all__ = [
    "Profile",
    "device_facts",
    "each_clip",
    "facts",
    "pick_device",
    "require",
    "short",
    "signature",
    "unusable",
]

T = TypeVar("T")


class Profile(StrEnum):
    """Which backends score: small ones that need no network once their weights are here, or those of the reference."""

    offline = "offline"
    reference = "reference"


def signature(backend: str, **facts: object) -> str:
    """Return ``backend|key:value|…``; two scores compare only where their signatures are equal."""
    return "|".join([backend, *(f"{key}:{value}" for key, value in facts.items())])


def facts(signature: str) -> tuple[str, dict[str, str]]:
    """Return backend and facts of what :func:`signature` wrote; parts of another form are left out."""
    backend, *parts = signature.split("|")
    return backend, {key: value for key, found, value in (part.partition(":") for part in parts) if found}


def short(sha256: str) -> str:
    """Return the part of a checksum that signatures carry."""
    return sha256[:12]


def require(module: str, feature: str, *, extra: str) -> ModuleType:
    """Import an optional library.

    Raises:
        MissingDependencyError: it is not installed; the message names the extra.
    """
    package = module.partition(".")[0]
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise MissingDependencyError(feature, package, extra=extra) from None
    return importlib.import_module(module)


def pick_device(torch: Any, device: str | None) -> Any:
    """Return the torch device of that name; by default CUDA where there is one, else the CPU."""
    return torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))


def device_facts(device: str | None) -> dict[str, str]:
    """Return what a signature says of the device a torch model runs on: nothing of a CPU, else ``device:cuda``.

    On a CPU scores are the same for any number of threads (a test shows it); other hardware rounds otherwise.
    """
    if device == "cpu" or (device is None and importlib.util.find_spec("torch") is None):
        return {}
    kind = (device or str(pick_device(importlib.import_module("torch"), None))).partition(":")[0]
    return {} if kind == "cpu" else {"device": kind}


_LOADING = Lock()


def each_clip(score: Callable[[Clip], T], clips: Sequence[Clip], what: str, *, loaded: Callable[[], object]) -> list[T]:
    """Score clips one by one, several at a time on a CPU, each on one thread.

    How many threads add up the parts of a sum changes its rounding, so torch gets one whatever the environment says:
    the same clip has the same score alone, under ``torchrun`` and on any machine of that kind.

    Args:
        score: of one clip.
        clips: decoded as they are scored, so that memory holds a few at once.
        what: the name of the progress bar.
        loaded: loads the weights where that was not done; called before the first clip that is not silent is scored.
    """
    workers = min(os.cpu_count() or 1, 4)

    def one(index: int) -> T:
        clip = clips[index]
        if not unusable(clip, min_seconds=0):
            with _LOADING:
                loaded()
        return score(clip)

    with _one_thread(), ThreadPoolExecutor(workers) as pool:
        return list(tracked(pool.map(one, range(len(clips))), what, "clip", total=len(clips)))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch, where it is installed, use one thread within an operation."""
    if importlib.util.find_spec("torch") is None:
        yield
        return
    torch = importlib.import_module("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # also of threads that start later
    try:
        yield
    finally:
        torch.set_num_threads(before)


def unusable(clip: Clip, *, min_seconds: float) -> str:
    """Return why a clip cannot be scored, empty where it can.

    Models give plausible numbers to silence and to clips of a few milliseconds, so these are kept from them.
    """
    if len(clip.samples) == 0:
        return "no samples"
    if not np.all(np.isfinite(clip.samples)):
        return "NaN or infinite samples"
    if clip.silent:
        return "silent (never above -60 dBFS)"
    if clip.seconds < min_seconds:
        return f"shorter than {min_seconds:g} s ({clip.seconds:.2f} s)"
    return ""
