"""``run.json``: what made each table of a run, read with a check of every field that its readers count on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vaeval_tasks import __version__
from vaeval_tasks.errors import InputError

__all__ = ["SCHEMA_VERSION", "read_run_json"]

SCHEMA_VERSION = 1

_WAY = "; put back a copy, or move it away: the tables stay readable, what made them is then unknown"
_FIELDS = {"rows": int, "sha256": str, "made_by": str, "inputs": dict}
"""What is said of every table."""


def read_run_json(path: Path) -> dict[str, Any]:
    """Return ``run.json``, or an empty manifest where there is none.

    Raises:
        InputError: it is not what vaeval writes (truncated, no JSON object, wrong types), or of a newer schema.
    """
    try:
        manifest = json.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return {"schema_version": SCHEMA_VERSION, "version": __version__, "tables": {}, "about": {}}
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text ({error.reason} at byte {error.start}){_WAY}", path=path) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"cannot be read as JSON ({error}){_WAY}", path=path) from None
    return _checked(manifest, path)


def _checked(manifest: Any, path: Path) -> dict[str, Any]:
    if not isinstance(manifest, dict):
        raise InputError(f"must hold a JSON object, got {type(manifest).__name__}{_WAY}", path=path)
    version = manifest.get("schema_version", 0)
    if not isinstance(version, int) or isinstance(version, bool):
        raise InputError(f"expected a whole number, got {version!r}{_WAY}", path=path, field="schema_version")
    if version > SCHEMA_VERSION:
        raise InputError(
            f"is of schema {version}, this vaeval reads up to {SCHEMA_VERSION}: it was written by a newer vaeval; "
            "upgrade this one",
            path=path,
        )
    for name in ("tables", "about"):
        if not isinstance(manifest.setdefault(name, {}), dict):
            raise InputError(f"expected an object, got {manifest[name]!r:.80}{_WAY}", path=path, field=name)
    for table, entry in manifest["tables"].items():
        for name, kind in _FIELDS.items():
            got = entry.get(name) if isinstance(entry, dict) else entry
            if not isinstance(entry, dict) or not isinstance(got, kind):
                said = f"expected {kind.__name__}, got {got!r:.80}{_WAY}"
                raise InputError(said, path=path, field=f"tables.{table}.{name}")
    return manifest
