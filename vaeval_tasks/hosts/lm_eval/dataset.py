"""The data of the 13 tasks: from the Hub, from a local copy in the Hub's layout, or the embedded sample.

The harness calls :func:`load` for each task (``custom_dataset:``) with the task's metadata, which holds
``--metadata`` and ``--model_args``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaeval_tasks import paths
from vaeval_tasks.asking.ranks import world_size
from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.files import sha256_bytes, sha256_file
from vaeval_tasks.hosts.lm_eval.documents import COLUMNS, FIELDS, document
from vaeval_tasks.hosts.lm_eval.preflight import check_task, predicts_only
from vaeval_tasks.hosts.lm_eval.run_settings import HarnessSettings
from vaeval_tasks.scoring.suite import HUB_DATASET, TASKS, family

if TYPE_CHECKING:
    import datasets

__all__ = ["HubSource", "hub_source", "load", "local_source"]

BATCH = 16
"""Rows read at once; a row may hold megabytes of sound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSource:
    """The rows of one config and the revision of the data they are from."""

    name: str
    revision: str
    """The Hub's full commit, or ``sha256:`` and the content hash of a local copy."""
    rows: Iterable[dict[str, Any]]


def load(**metadata: Any) -> dict[str, datasets.Dataset]:
    """Return the documents of one task as the split ``test``.

    Args:
        metadata: the task's metadata. ``config_source`` (the YAML's path, set by the harness) names the
            task, or ``config`` does; ``dataset_path``, ``revision`` and the scoring settings are optional.

    Raises:
        InputError: the data are absent or an item is not what it must be.
        ServiceError: the Hub cannot be reached.
    """
    import datasets

    task = _task(metadata)
    path = metadata.get("dataset_path")
    source = hub_source(task, metadata.get("revision")) if path is None else local_source(task, str(path))
    told = HarnessSettings.from_metadata(metadata)
    if "config_source" in metadata and not predicts_only(metadata):  # the harness is about to run
        check_task(told, [task])
    settings = told.to_json()
    needs = str(metadata.get("needs", ""))
    docs = [
        document(row, task, needs=needs, revision=source.revision, settings=settings) for row in _checked(source, task)
    ]
    _enough(task, len(docs), metadata.get("limit"))
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


def local_source(task: str, path: str) -> HubSource:
    """Return the rows of a local copy: ``<family>/test_<config>.parquet``, in shards or without the folder too.

    Raises:
        InputError: there is no such folder, file or column.
    """
    import pyarrow.parquet as pq

    root = paths.sample_dir() if path == "sample" else Path(path).expanduser()
    if not root.is_dir():
        raise InputError("no such folder; give --metadata dataset_path=DIR in the Hub's layout, or sample", path=root)
    files = next(filter(None, (_shards(folder, task) for folder in (root / family(task), root))), None)
    if not files:
        raise InputError(
            f"no test_{task}.parquet, neither in {family(task)}/ nor beside it; download that config of {HUB_DATASET}",
            path=root,
        )
    names: list[str] = pq.read_schema(files[0]).names
    if missing := [name for name in COLUMNS if name not in names]:
        raise InputError(f"the column is missing; there are {', '.join(names)}", path=files[0], field=missing[0])
    digest = "".join(sha256_file(file) for file in files)
    revision = digest if len(files) == 1 else sha256_bytes(digest.encode())
    return HubSource(name=str(files[0]), revision=f"sha256:{revision}", rows=_parquet_rows(files))


def _shards(folder: Path, task: str) -> list[Path]:
    return sorted([*folder.glob(f"test_{task}.parquet"), *folder.glob(f"test_{task}-*.parquet")])


def _parquet_rows(files: list[Path]) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(batch_size=BATCH, columns=COLUMNS):
            yield from batch.to_pylist()


def hub_source(task: str, revision: str | None = None) -> HubSource:
    """Return the rows of the Hub data set at a commit, which is looked up unless it is given in full.

    Raises:
        ServiceError: the Hub or the data set cannot be reached.
    """
    import datasets
    import huggingface_hub

    # a lost connection is an error of the HTTP library, the first base of the Hub's own
    http_error = huggingface_hub.errors.HfHubHTTPError.__bases__[0]
    local = "give a local copy with --metadata dataset_path=DIR, or dataset_path=sample"
    try:
        commit = revision if _is_commit(revision) else _commit(huggingface_hub.HfApi(), revision)
        data = datasets.load_dataset(HUB_DATASET, task, split="test", revision=commit)
    except (http_error, OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        # an unknown revision or config is a ValueError
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ServiceError(f"{HUB_DATASET} ({task}) cannot be loaded from the Hub: {reason}; {local}") from None
    if missing := [name for name in COLUMNS if name not in data.column_names]:
        raise InputError(f"the column is missing at {commit}", path=HUB_DATASET, field=missing[0])
    for name, feature in data.features.items():
        if isinstance(feature, datasets.Audio | datasets.Image):
            data = data.cast_column(name, type(feature)(decode=False))
    return HubSource(name=HUB_DATASET, revision=str(commit), rows=data.select_columns(COLUMNS))


def _is_commit(revision: str | None) -> bool:
    return revision is not None and len(revision) == 40 and set(revision) <= set("0123456789abcdef")


def _commit(api: Any, revision: str | None) -> str:
    commit: str = api.dataset_info(HUB_DATASET, revision=revision).sha
    return commit


def _checked(source: HubSource, task: str) -> Iterator[dict[str, Any]]:
    """The rows, refused where an id comes twice or there are none."""
    seen: set[str] = set()
    for row in source.rows:
        if row["id"] in seen:
            raise InputError(f"the id {row['id']!r} comes twice in {task}", path=source.name, field="id")
        seen.add(row["id"])
        yield row
    if not seen:
        raise InputError(f"{task} has no rows", path=source.name)


def _enough(task: str, n_docs: int, limit: Any) -> None:
    """Refuse fewer documents than processes: the harness would leave one of them without any and stop."""
    taken = n_docs
    if limit is not None:
        taken = min(n_docs, math.ceil(n_docs * float(limit)) if float(limit) < 1 else int(limit))
    if taken < world_size():
        raise InputError(
            f"{task} has {taken} documents for {world_size()} processes; start at most {taken}, or raise --limit"
        )
