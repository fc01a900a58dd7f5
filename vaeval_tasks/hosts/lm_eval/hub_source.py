"""The rows of a task: from a local copy in the Hub's layout, the embedded sample, or the Hub.

What is wrong with the data as a whole is one line that names the file: a shard that is missing, a pointer in the place
of a file, a column that is missing or of another type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaeval_tasks import paths
from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.files import sha256_bytes, sha256_file
from vaeval_tasks.hosts.lm_eval.documents import COLUMNS, IMAGES, TURNS
from vaeval_tasks.hosts.lm_eval.media_check import LFS_POINTER
from vaeval_tasks.scoring.suite import HUB_DATASET, family

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["HubSource", "hub_source", "local_source"]

BATCH = 16
"""Rows read at once; a row may hold megabytes of sound."""
_MEDIA = ("role_audio", "sound_audio", *TURNS, *IMAGES)


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSource:
    """The rows of one config and the revision of the data they are from."""

    name: str
    revision: str
    """The Hub's full commit, or ``sha256:`` and the content hash of a local copy."""
    rows: Iterable[dict[str, Any]]
    n_rows: int


def local_source(task: str, path: str) -> HubSource:
    """Return the rows of a local copy: ``<family>/test_<config>.parquet``, in shards or without the folder too.

    Raises:
        InputError: there is no such folder or file, a shard is missing, or a file or column is not what it must be.
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
    n_rows = 0
    for file in files:
        _refuse_pointer(file)
        try:
            opened = pq.ParquetFile(file)
        except (OSError, ValueError) as error:  # pyarrow's own are among the two
            raise InputError(f"is no whole parquet file ({_first_line(error)}); download it again", path=file) from None
        _check_columns(opened.schema_arrow, file)
        n_rows += opened.metadata.num_rows
    digest = "".join(sha256_file(file) for file in files)
    revision = digest if len(files) == 1 else sha256_bytes(digest.encode())
    return HubSource(name=str(files[0]), revision=f"sha256:{revision}", rows=_parquet_rows(files), n_rows=n_rows)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _shards(folder: Path, task: str) -> list[Path]:
    """The files of a task in a folder, all of them or none.

    Raises:
        InputError: a shard is missing, or there are files of two downloads.
    """
    whole = sorted(folder.glob(f"test_{task}.parquet"))
    parts = sorted(folder.glob(f"test_{task}-*.parquet"))
    if whole and parts:
        raise InputError(f"holds the same config twice, also as {parts[0].name}; remove one", path=whole[0])
    numbered = [found for part in parts if (found := re.fullmatch(r".*-(\d+)-of-(\d+)", part.stem))]
    totals = sorted({int(found[2]) for found in numbered})
    if len(totals) > 1:
        raise InputError(
            f"holds test_{task} in {totals[0]} shards and in {totals[-1]}; remove those of one", path=folder
        )
    if totals:
        there = {int(found[1]) for found in numbered}
        missing = sorted(set(range(totals[0])) - there)
        if missing or len(there) != totals[0]:
            names = ", ".join(f"{number:05d}" for number in missing[:5])
            raise InputError(
                f"test_{task} has {len(there)} of {totals[0]} shards; missing: {names}; download them", path=folder
            )
    return whole or parts


def _refuse_pointer(file: Path) -> None:
    try:
        with file.open("rb") as opened:
            start = opened.read(len(LFS_POINTER))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", path=file) from None
    if start == LFS_POINTER:
        raise InputError("a git-lfs pointer, not the file itself; fetch it with: git lfs pull", path=file)


def _check_columns(schema: pa.Schema, path: str | Path) -> None:
    """Refuse columns that are missing or of another type.

    Raises:
        InputError: one is; the message names it.
    """
    for name in COLUMNS:
        if name not in schema.names:
            raise InputError(f"the column is missing; there are {', '.join(schema.names)}", path=path, field=name)
        kind = schema.field(name).type
        wanted, fits = _wanted(name, kind)
        if not fits:
            raise InputError(f"the column holds {kind}; it must hold {wanted}", path=path, field=name)


def _wanted(name: str, kind: pa.DataType) -> tuple[str, bool]:
    """What a column must hold, and whether a type is that."""
    from pyarrow import types

    text = types.is_string(kind) or types.is_large_string(kind)
    empty = types.is_null(kind)
    if name == "id":
        return "text", text
    if name in _MEDIA:
        inner = kind
        if types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
            inner = kind.field("bytes").type
        binary = types.is_binary(inner) or types.is_large_binary(inner)
        return "the bytes of files", binary or types.is_null(inner)
    if name == "ref_answers":
        listed = types.is_list(kind) or types.is_large_list(kind)
        inner = kind.value_type if listed else kind
        return "lists of texts", types.is_string(inner) or types.is_large_string(inner) or types.is_null(inner)
    if name == "extra":
        return "a record (transcripts, options …)", types.is_struct(kind) or empty
    return "text", text or empty


def _parquet_rows(files: list[Path]) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    for file in files:
        try:
            for batch in pq.ParquetFile(file).iter_batches(batch_size=BATCH, columns=COLUMNS):
                yield from batch.to_pylist()
        except (OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"is damaged ({_first_line(error)}); download it again", path=file) from None


def hub_source(task: str, revision: str | None = None) -> HubSource:
    """Return the rows of the Hub data set at a commit, which is looked up unless it is given in full.

    Raises:
        ServiceError: the Hub or the data set cannot be reached.
        InputError: a column is missing or of another type.
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
    for name, feature in data.features.items():
        if isinstance(feature, datasets.Audio | datasets.Image):
            data = data.cast_column(name, type(feature)(decode=False))
    _check_columns(data.features.arrow_schema, f"{HUB_DATASET} at {commit}")
    return HubSource(name=HUB_DATASET, revision=str(commit), rows=data.select_columns(COLUMNS), n_rows=len(data))


def _is_commit(revision: str | None) -> bool:
    return revision is not None and len(revision) == 40 and set(revision) <= set("0123456789abcdef")


def _commit(api: Any, revision: str | None) -> str:
    commit: str = api.dataset_info(HUB_DATASET, revision=revision).sha
    return commit
