"""Model configurations as data: the 19 published ones, and files of the user's own in the same form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.files import write_text
from vaeval_tasks.models.providers import Tree, provider
from vaeval_tasks.store.schema import ModelConfig, SpeechPace
from vaeval_tasks.store.tables import from_row

__all__ = ["dump_configs", "load_configs", "published", "select", "write_configs"]

PRESETS = Path(__file__).resolve().parent / "presets"

_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader in C is ten times as fast and not everywhere."""


def _check_keys(found: Any, known: Tree, where: str) -> None:
    """Refuse a key that is not in the tree; a branch must be a mapping."""
    if not isinstance(found, Mapping):
        raise InputError(f"{where}: expected a mapping, got {found!r}")
    for key, value in found.items():
        if key not in known:
            raise UnknownNameError("key", str(key), known, where=where)
        if known[key] is not None and value is not None:
            _check_keys(value, known[key], f"{where}.{key}")


def _check_plain(value: Any, where: str) -> None:
    """Refuse what YAML knows and JSON does not, such as a date: it cannot be asked for or kept."""
    try:
        json.dumps(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: {error}; put a date in quotes") from None


def _check_connection(connection: Mapping[str, Any], where: str) -> None:
    for key, value in (connection.get("timeouts") or {}).items():
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise InputError(f"{where}.timeouts.{key}: expected a positive number of seconds, got {value!r}")
    sessions = connection.get("sessions", 1)
    if isinstance(sessions, bool) or not isinstance(sessions, int) or sessions < 1:
        raise InputError(f"{where}.sessions: expected a whole number from 1, got {sessions!r}")
    for key in ("headers", "query"):
        given = connection.get(key) or {}
        if not isinstance(given, Mapping) or not all(isinstance(one, str | int) for one in given.values()):
            raise InputError(f"{where}.{key}: expected names with texts, got {given!r}")
    pace = connection.get("speech_pace", SpeechPace.whole)
    if pace not in tuple(SpeechPace):
        raise InputError(f"{where}.speech_pace: expected {' or '.join(SpeechPace)}, got {pace!r}")


def _config(row: Any, path: Path, number: int) -> ModelConfig:
    if not isinstance(row, dict):
        raise InputError("a configuration must be a mapping", path=path, row=number)
    for key in ("model", "provider", "thinking", "voice"):
        if isinstance(row.get(key), bool):
            raise InputError(
                "YAML reads a bare on, off, yes or no as true or false; put it in quotes",
                path=path,
                row=number,
                field=key,
            )
    config = from_row(ModelConfig, row, path=path, number=number)
    where = f"{path}, {config.config_id}"
    known = provider(config.provider, where=where)
    if known.params is not None:
        _check_keys(config.params, known.params, f"{where}: params")
    _check_keys(config.connection, known.connection_keys(config.connection), f"{where}: connection")
    for key, value in (*config.params.items(), *config.connection.items()):
        _check_plain(value, f"{where}: {key}")
    _check_connection(config.connection, f"{where}: connection")
    for key in known.required:
        if key not in config.params:
            raise InputError(f"params.{key} is missing; {known.name} needs it", path=path, row=number)
    return config


def load_configs(path: str | Path) -> list[ModelConfig]:
    """Read the configurations of a YAML file: a mapping with the one key ``configurations``, a list.

    Raises:
        InputError: the file is missing, is not YAML, misses a key or names a configuration twice.
        UnknownNameError: a key or provider is not known.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError("no such file", path=path)
    try:
        content = yaml.load(path.read_text(encoding="utf-8-sig"), Loader=_LOADER)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as YAML ({' '.join(str(error).split())})", path=path) from None
    if not isinstance(content, dict):
        raise InputError("expected the key 'configurations' with a list", path=path)
    _check_keys(content, {"configurations": None}, str(path))
    rows = content.get("configurations")
    if not isinstance(rows, list) or not rows:
        raise InputError("expected a list with at least one configuration", path=path, field="configurations")
    return unique((_config(row, path, i) for i, row in enumerate(rows, 1)), path)


def unique(configs: Iterable[ModelConfig], where: str | Path) -> list[ModelConfig]:
    """Return the configurations as a list.

    Raises:
        InputError: two different ones have one ``config_id``.
    """
    found: dict[str, ModelConfig] = {}
    for config in configs:
        if found.setdefault(config.config_id, config) != config:
            raise InputError(f"two configurations are called {config.config_id!r}; rename one", path=where)
    return list(found.values())


@cache
def _published() -> tuple[ModelConfig, ...]:
    return tuple(c for path in sorted(PRESETS.glob("*.yaml")) for c in load_configs(path))


def published() -> dict[str, ModelConfig]:
    """Return the 19 configurations of DAI-S2S-ST by ``config_id``."""
    return {c.config_id: c for c in _published()}


def select(names: Iterable[str]) -> list[ModelConfig]:
    """Return configurations by name, pattern or file.

    Args:
        names: a ``config_id`` (``nova-2-sonic/default/tiffany``), a pattern (``gpt-realtime-2.1/*``), ``all`` for the
            published ones, or the path of a YAML file.

    Raises:
        UnknownNameError: a name matches nothing.
        InputError: a file is wrong, see :func:`load_configs`.
    """
    known = published()
    found: list[ModelConfig] = []
    for name in names:
        if Path(name).suffix in {".yaml", ".yml"}:
            found += load_configs(name)
            continue
        matches = [c for key, c in known.items() if name == "all" or fnmatchcase(key, name)]
        if not matches:
            raise UnknownNameError("configuration", name, known)
        found += matches
    return unique(found, "--config")


def dump_configs(configs: Iterable[ModelConfig]) -> str:
    """Return configurations as YAML in the form :func:`load_configs` reads."""
    rows = [{key: value for key, value in asdict(c).items() if value not in ("", {})} for c in configs]
    return yaml.safe_dump({"configurations": rows}, sort_keys=False, allow_unicode=True, width=110)


def write_configs(path: str | Path, configs: Iterable[ModelConfig]) -> None:
    """Write configurations to a YAML file, atomically."""
    write_text(path, dump_configs(configs))
