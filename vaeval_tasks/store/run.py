"""The run folder: every table of a study or an evaluation, and ``run.json``, which says what made each.

========================  ==========================================================
``prompts.parquet``       the prompts of a study
``items.parquet``         the documents of harness tasks
``configs.yaml``          the configurations used, resolved
``responses.jsonl``       appended per response; compacted into ``responses.parquet``
``responses-1.jsonl`` …   the same by the second process of a run on several, and so on
``attempts.jsonl``        failed attempts that were followed by another
``exchanges.jsonl`` …     everything sent and received, a line per attempt, audio as length and hash; never rated
``scores.jsonl``          automatic scores, appended; compacted into ``scores.parquet`` (0.1.0 wrote only that)
``pairs.parquet``         the frozen design
``ratings.parquet`` …     the export of the collection: ratings, mos, comments, raters, assignments, events, quality
``judgements.jsonl``      a judge model's answers, appended; compacted into ``judge_ratings.parquet``, never mixed
                          with people's ratings; ``judges.parquet`` names them
========================  ==========================================================
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from vaeval_tasks import __version__
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.files import sha256_file, write_text
from vaeval_tasks.store import schema, tables
from vaeval_tasks.store.answers import newest

__all__ = ["RECORDS", "SCHEMA_VERSION", "RunDir", "now"]

SCHEMA_VERSION = 1

RECORDS: dict[str, type] = {
    "prompts": schema.Prompt,
    "items": schema.Item,
    "responses": schema.Response,
    "scores": schema.Score,
    "pairs": schema.Pair,
    "assignments": schema.Assignment,
    "ratings": schema.Rating,
    "mos": schema.MosRating,
    "comments": schema.Comment,
    "raters": schema.Rater,
    "judge_ratings": schema.Rating,
    "judges": schema.Rater,
    "events": schema.Event,
    "quality": schema.QualityCheck,
}


_MADE_BY = {
    "prompts": "vaeval prompts import",
    "items": "vaeval lm-eval",
    "responses": "vaeval generate",
    "scores": "vaeval score",
    "pairs": "vaeval pair",
    "judge_ratings": "vaeval judge",
    "judges": "vaeval judge",
    **dict.fromkeys(
        ("assignments", "ratings", "mos", "comments", "raters", "events", "quality"), "vaeval serve, then vaeval export"
    ),
}


def now() -> str:
    """Return the time in UTC, ISO 8601 to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _log_name(name: str, rank: int) -> str:
    return f"{name}-{rank}.jsonl" if rank else f"{name}.jsonl"


@dataclass(frozen=True, slots=True)
class RunDir:
    """One run folder. Nothing is read or made until a method asks for it."""

    root: Path

    @classmethod
    def existing(cls, root: str | Path) -> RunDir:
        """Return the run at ``root``.

        Raises:
            InputError: there is no such folder.
        """
        if not Path(root).is_dir():
            raise InputError("no such run folder", path=root)
        return cls(Path(root))

    def path(self, table: str) -> Path:
        """Return where a table is kept."""
        if table not in RECORDS:
            raise UnknownNameError("table", table, RECORDS)
        return self.root / f"{table}.parquet"

    @property
    def responses_log(self) -> Path:
        """The append-only log of responses."""
        return self.root / "responses.jsonl"

    @property
    def response_audio(self) -> Path:
        """The folder of response WAVs."""
        return self.root / "audio" / "responses"

    def has(self, table: str) -> bool:
        """Whether the table was written."""
        return self.path(table).is_file()

    def read(self, table: str) -> list[Any]:
        """Return all records of a table.

        Raises:
            InputError: the table is missing or a field is wrong.
        """
        if not self.has(table):
            raise InputError(f"no such file; make it with: {_MADE_BY[table]}", path=self.path(table))
        return tables.read_parquet(self.path(table), RECORDS[table])

    def write(
        self, table: str, rows: Iterable[Any] | pa.Table, *, made_by: str, inputs: Iterable[str] = (), **about: Any
    ) -> None:
        """Write a table atomically and record in ``run.json`` what made it.

        Args:
            table: the table's name.
            rows: its records, or an Arrow table of them.
            made_by: the command or function.
            inputs: names of the tables it was made from; their hashes are kept so that staleness shows.
            about: anything else worth keeping (seed, settings); JSON values.
        """
        if not isinstance(rows, pa.Table):
            rows = list(rows)
        path = self.path(table)
        tables.write_parquet(path, RECORDS[table], rows)
        manifest = self.manifest()
        known = manifest["tables"]
        known[table] = {
            "rows": len(rows),
            "sha256": sha256_file(path),
            "made_by": made_by,
            "made": now(),
            "version": __version__,
            "inputs": {name: known[name]["sha256"] for name in inputs if name in known},
            **about,
        }
        self._save(manifest)

    def manifest(self) -> dict[str, Any]:
        """Return ``run.json``, or an empty manifest.

        Raises:
            InputError: the file is not JSON, or of a newer schema.
        """
        path = self.root / "run.json"
        if not path.is_file():
            return {"schema_version": SCHEMA_VERSION, "version": __version__, "tables": {}, "about": {}}
        try:
            manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise InputError(f"cannot be read as JSON ({error})", path=path) from None
        if manifest.get("schema_version", 0) > SCHEMA_VERSION:
            raise InputError("was written by a newer vaeval; upgrade this one", path=path)
        return manifest

    def note(self, **about: Any) -> None:
        """Keep facts about the run (seed, data revision, model signature) in ``run.json``."""
        manifest = self.manifest()
        manifest.setdefault("about", {}).update(about)
        self._save(manifest)

    def stale(self) -> list[str]:
        """Return a sentence for each table that changed on disk or was made from an input that changed since."""
        known = self.manifest()["tables"]
        out = []
        for name, entry in known.items():
            if not self.path(name).is_file():
                out.append(f"{name}: the file is gone")
            elif sha256_file(self.path(name)) != entry["sha256"]:
                out.append(f"{name}: the file was changed after {entry['made_by']} wrote it")
            out.extend(
                f"{name}: made from an earlier {source}; run {entry['made_by']} again"
                for source, sha in entry["inputs"].items()
                if known.get(source, {}).get("sha256") != sha
            )
        return out

    def append(self, table: str, *records: Any, rank: int = 0) -> None:
        """Append records to a table's log, durably; processes of one run each have their own log."""
        tables.append_jsonl(self.path(table).with_name(_log_name(table, rank)), *records)

    def append_response(self, response: schema.Response) -> None:
        """Append one response to the log, durably."""
        self.append("responses", response)

    def exchanges_log(self, rank: int = 0) -> Path:
        """The append-only log of everything sent and received by one process of the run."""
        return self.root / _log_name("exchanges", rank)

    @property
    def attempts_log(self) -> Path:
        """The append-only log of failed attempts that another was to follow."""
        return self.root / "attempts.jsonl"

    def failed_attempts(self) -> list[schema.Response]:
        """Return the failed attempts that another was to follow, in order."""
        return list(tables.read_jsonl(self.attempts_log, schema.Response)) if self.attempts_log.is_file() else []

    def responses(self) -> list[schema.Response]:
        """Return the last attempt of every response, from the logs and the compacted table, sorted by id."""
        found = newest(self._logged("responses"), lambda r: r.response_id)
        return [found[key] for key in sorted(found)]

    def items(self) -> list[schema.Item]:
        """Return the last version of every harness document, from the logs and the table, sorted."""
        found = {(i.task, i.item_id): i for i in self._logged("items")}
        return [found[key] for key in sorted(found)]

    def scores(self) -> list[schema.Score]:
        """Return the last score of every response by metric and signature, from the log and the table, sorted."""
        found = {(s.response_id, s.metric, s.signature): s for s in self._logged("scores")}
        return [found[key] for key in sorted(found)]

    def _logged(self, table: str) -> list[Any]:
        """All records of a compacted table, then those of its logs."""
        rows = self.read(table) if self.has(table) else []
        logs = [self.root / f"{table}.jsonl", *sorted(self.root.glob(f"{table}-*.jsonl"))]
        for log in logs:
            if log.is_file():
                rows += tables.read_jsonl(log, RECORDS[table])
        return rows

    def _save(self, manifest: dict[str, Any]) -> None:
        text = json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
        write_text(self.root / "run.json", text + "\n")
