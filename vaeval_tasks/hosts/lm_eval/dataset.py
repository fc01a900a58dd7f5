"""The documents of the 13 tasks.

The harness calls :func:`load` for each task (``custom_dataset:``) with the task's metadata, which holds
``--metadata`` and ``--model_args``. Every clip and picture is decoded here: an item with a broken one is left out,
named and counted (:mod:`vaeval_tasks.hosts.lm_eval.left_out`), or with ``strict=true`` an error.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaeval_tasks.asking.ranks import rank, world_size
from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.lm_eval.documents import FIELDS, document
from vaeval_tasks.hosts.lm_eval.hub_source import HubSource, hub_source, local_source
from vaeval_tasks.hosts.lm_eval.left_out import LeftOut, remember
from vaeval_tasks.hosts.lm_eval.preflight import check_task, predicts_only
from vaeval_tasks.hosts.lm_eval.run_settings import HarnessSettings, yes
from vaeval_tasks.progress import progress_shown, tracked
from vaeval_tasks.scoring.suite import TASKS, family

if TYPE_CHECKING:
    import datasets

__all__ = ["load"]

THREADS = min(8, os.cpu_count() or 1)
"""Decoders leave Python's lock, so that threads are enough."""


def load(**metadata: Any) -> dict[str, datasets.Dataset]:
    """Return the documents of one task as the split ``test``.

    Args:
        metadata: the task's metadata. ``config_source`` (the YAML's path, set by the harness) names the
            task, or ``config`` does; ``dataset_path``, ``revision``, ``strict`` and the scoring settings are optional.

    Raises:
        InputError: the data are absent, or not what they must be; with ``strict``, also where a single item is not.
        ServiceError: the Hub cannot be reached.
    """
    import datasets

    task = _task(metadata)
    strict = yes(metadata, "strict")
    path = metadata.get("dataset_path")
    source = hub_source(task, metadata.get("revision")) if path is None else local_source(task, str(path))
    chosen = HarnessSettings.from_metadata(metadata)
    chosen.refuse_other_model()  # before it has answered anything
    if "config_source" in metadata and not predicts_only(metadata):  # the harness is about to run
        check_task(chosen, [task])
    settings = chosen.to_json()
    make = partial(
        document, task=task, needs=str(metadata.get("needs", "")), revision=source.revision, settings=settings
    )
    docs: list[dict[str, Any]] = []
    bad: list[LeftOut] = []
    with progress_shown(rank() == 0):
        for made in tracked(_made(source, task, make), f"checking {task}", "item", total=source.n_rows):
            if not isinstance(made, LeftOut):
                docs.append(made)
                continue
            if strict:
                raise InputError(
                    f"item {made.item_id!r}: {made.reason}; without strict it is left out",
                    path=source.name,
                    field=made.column or None,
                )
            bad.append(made)
    if not docs:
        why = f"; the first: item {bad[0]}" if bad else ""
        raise InputError(f"{task} has no {'item that can be asked' if bad else 'rows'}{why}", path=source.name)
    remember(task, source.revision, bad)
    _enough(task, len(docs), metadata.get("limit"))
    counted = HarnessSettings.from_json(settings).of_items(len(docs)).to_json()
    docs = [doc | {"settings": counted} for doc in docs]
    text = datasets.Value("string")
    kinds = {"text": text, "list": datasets.List(text), "lists": datasets.List(datasets.List(text))}
    features = datasets.Features({name: kinds[kind] for name, kind in FIELDS.items()})
    return {"test": datasets.Dataset.from_list(docs, features=features)}


def _task(metadata: dict[str, Any]) -> str:
    # the harness puts the model's arguments into the metadata, so that config may be a model's configuration
    stem = Path(str(metadata.get("config_source", ""))).stem
    if stem in TASKS:
        return stem
    if name := metadata.get("config"):
        family(str(name))
        return str(name)
    if stem == "inline":
        raise InputError("a task given by the path of its YAML has no name here; give --include_path and its name")
    family(stem)
    return stem


def _made(source: HubSource, task: str, make: Any) -> Iterator[dict[str, Any] | LeftOut]:
    """The documents in the data's order, some rows at a time in parallel."""
    rows = _identified(source, task)
    with ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="vaeval-media") as pool:
        while some := list(islice(rows, 4 * THREADS)):
            yield from pool.map(partial(_one, make=make), some)


def _one(row: dict[str, Any], make: Any) -> dict[str, Any] | LeftOut:
    try:
        doc: dict[str, Any] = make(row)
    except InputError as error:
        return LeftOut.of(row["id"], error)
    return doc


def _identified(source: HubSource, task: str) -> Iterator[dict[str, Any]]:
    """The rows, refused where an id is missing or comes twice: which answer is whose could not be told."""
    seen: set[str] = set()
    for number, row in enumerate(source.rows, 1):
        name = row["id"]
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"an item of {task} has no id", path=source.name, row=number, field="id")
        if name in seen:
            raise InputError(f"the id {name!r} comes twice in {task}", path=source.name, row=number, field="id")
        seen.add(name)
        yield row


def _enough(task: str, n_docs: int, limit: Any) -> None:
    """Refuse fewer documents than processes: the harness would leave one of them without any and stop."""
    taken = n_docs
    if limit is not None:
        taken = min(n_docs, math.ceil(n_docs * float(limit)) if float(limit) < 1 else int(limit))
    if taken < world_size():
        raise InputError(
            f"{task} has {taken} documents for {world_size()} processes; start at most {taken}, or raise --limit"
        )
