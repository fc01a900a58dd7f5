"""Which model answers, so that the answers of two are never taken for those of one.

The harness tells our hooks neither the type nor the name of a model of its own; its arguments come with the metadata,
and a bare ``lm_eval`` has the type on its command line.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.run import RunDir

__all__ = ["checkpoint_digest", "model_identity", "model_label", "refuse_other_model"]

NAMING = ("pretrained", "model", "path", "engine")
"""Arguments that models of the harness are named by."""
_NOT_THE_MODEL = (
    *("batch_size", "max_batch_size", "device", "num_concurrent", "max_retries", "timeout", "parallelize", "limit"),
    *("trust_remote_code", "cache_dir", "config_source", "config", "gpu_memory_utilization", "needs", "version"),
    *("strict", "dry_run", "retry_unjudged"),
)
"""What changes how fast answers come, or belongs to a task."""
_ENDS = 65_536


def model_label(metadata: Mapping[str, Any]) -> str:
    """Return what a model is called whose arguments these are: by its name, else by its type, else ``model``."""
    given = metadata.get("model_name") or next((metadata[name] for name in NAMING if metadata.get(name)), "")
    return str(given or _typed() or "model")


def model_identity(metadata: Mapping[str, Any], own: Iterable[str]) -> str:
    """Return type, arguments and checkpoint of a model as one line of JSON; equal for the same model.

    Args:
        metadata: the model's arguments and ``--metadata``.
        own: names in it that are not the model's.
    """
    aside = {*own, *_NOT_THE_MODEL} - {"model_name", "revision"}
    arguments = {
        name: str(value) for name, value in metadata.items() if name not in aside and not name.startswith("judge")
    }
    if kind := _typed():
        arguments["type"] = kind
    digests = {name: checkpoint_digest(arguments[name]) for name in ("pretrained", "path", "peft") if name in arguments}
    return json.dumps(arguments | {f"{name} files": found for name, found in digests.items() if found}, sort_keys=True)


def _typed() -> str:
    """The model type on a bare ``lm_eval``'s command line, empty where there is none."""
    words = sys.argv[1:] if Path(sys.argv[0]).name in ("lm_eval", "lm-eval", "__main__.py") else []
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in ("--model", "-M"):
            return value if equals else next(iter(words[place + 1 :]), "")
    return ""


@cache
def checkpoint_digest(path: str) -> str:
    """Return a hash of names, sizes and both ends of the files of a folder; empty where it is none.

    Another training step has other weights everywhere, so the ends do, and a terabyte need not be read.
    """
    folder = Path(path).expanduser()
    if not path or not folder.is_dir():
        return ""
    found = hashlib.sha256()
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        size = file.stat().st_size
        found.update(f"{file.relative_to(folder)} {size}\n".encode())
        with file.open("rb") as opened:
            found.update(opened.read(_ENDS))
            if size > _ENDS:
                opened.seek(max(_ENDS, size - _ENDS))
                found.update(opened.read())
    return found.hexdigest()[:16]


def refuse_other_model(run: RunDir, config_id: str, identity: str) -> None:
    """Refuse to add a model's answers to another's of the same name.

    Raises:
        InputError: the run folder holds answers that another model gave under this ``config_id``.
    """
    known = run.manifest()["about"].get("models", {}).get(config_id, "") if run.root.is_dir() else ""
    if known and identity and known != identity:
        before, now = json.loads(known), json.loads(identity)
        names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        told = "; ".join(f"{name} was {before.get(name, 'absent')}, is {now.get(name, 'absent')}" for name in names)
        raise InputError(
            f"holds the answers of another model that is called {config_id} too ({told}); "
            "give another folder with --metadata run_dir=DIR",
            path=run.root,
        )
