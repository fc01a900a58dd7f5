"""Where the shipped data lies: in a wheel below ``vaeval_tasks/_data``, in a checkout at the top level."""

from __future__ import annotations

import os
from pathlib import Path

from vaeval_tasks.errors import InputError, UnknownNameError

__all__ = ["cache_dir", "metric_module", "metric_modules", "metrics_dir", "sample_dir", "task_configs_dir"]

PACKAGE = Path(__file__).resolve().parent


def _shipped(name: str) -> Path:
    for path in (PACKAGE / "_data" / name, PACKAGE.parent / name):
        if path.is_dir():
            return path
    raise InputError(f"the folder {name!r} is not part of this installation; install vaeval again", path=PACKAGE)


def metrics_dir() -> Path:
    """Return the folder of the ``evaluate`` metric modules."""
    return _shipped("metrics")


def metric_modules() -> list[str]:
    """Return the names of all shipped metric modules, sorted."""
    return sorted(p.parent.name for p in metrics_dir().glob("*/*.py") if p.stem == p.parent.name)


def metric_module(name: str) -> str:
    """Return the absolute path of a metric module's script, as ``evaluate.load`` takes it.

    Raises:
        UnknownNameError: there is no such module.
    """
    script = metrics_dir() / name / f"{name}.py"
    if not script.is_file():
        raise UnknownNameError("metric module", name, metric_modules())
    return str(script)


def task_configs_dir() -> Path:
    """Return the folder for ``lm_eval --include_path``."""
    return _shipped("task_configs")


def sample_dir() -> Path:
    """Return the embedded sample data set, in the Hub's layout."""
    return PACKAGE / "sample" / "data"


def cache_dir() -> Path:
    """Return the cache folder: ``$VAEVAL_CACHE``, else ``$XDG_CACHE_HOME/vaeval``, else ``~/.cache/vaeval``."""
    if own := os.environ.get("VAEVAL_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "vaeval"
