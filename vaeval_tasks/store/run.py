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
``.locks``                who writes; see :mod:`vaeval_tasks.store.lock`
========================  ==========================================================

A log stays when it is compacted into its table: it is the history of the run, and what is in either is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from vaeval_tasks import __version__
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.files import sha256_bytes, sha256_file, write_text
from vaeval_tasks.store import schema, tables
from vaeval_tasks.store.answers import newest
from vaeval_tasks.store.lock import turn
from vaeval_tasks.store.log import append_jsonl, read_jsonl
from vaeval_tasks.store.run_json import SCHEMA_VERSION, read_run_json

__all__ = ["RECORDS", "SCHEMA_VERSION", "RunDir", "now"]

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

LOGS: dict[str, type | None] = {
    "responses": schema.Response,
    "items": schema.Item,
    "scores": schema.Score,
    "attempts": schema.Response,
    "exchanges": None,
}
"""The append-only logs that this room knows, and what their lines are; None: plain JSON objects."""

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
            InputError: there is no such folder, or its ``run.json`` is damaged or of a newer schema.
        """
        if not Path(root).is_dir():
            raise InputError("no such run folder", path=root)
        run = cls(Path(root))
        run.manifest()
        return run

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
        """Write a table atomically and record in ``run.json`` what made it; several processes may at once.

        Args:
            table: the table's name.
            rows: its records, or an Arrow table of them.
            made_by: the command or function.
            inputs: what it was made from, so that staleness shows: names of tables, or ``scores:METRIC`` where only
                the values of that metric matter.
            about: anything else worth keeping (seed, settings); JSON values.
        """
        if not isinstance(rows, pa.Table):
            rows = list(rows)
        path = self.path(table)
        with turn(self.root, "run"):
            manifest = self.manifest()
            tables.write_parquet(path, RECORDS[table], rows)
            known = manifest["tables"]
            digests = {name: self._digest(name, known) for name in inputs}
            known[table] = {
                "rows": len(rows),
                "sha256": sha256_file(path),
                "made_by": made_by,
                "made": now(),
                "version": __version__,
                "inputs": {name: digest for name, digest in digests.items() if digest},
                **about,
            }
            self._save(manifest)

    def _digest(self, source: str, known: Mapping[str, Any]) -> str:
        """Return a hash of what a table is made from, empty where there is none."""
        table, _, metric = source.partition(":")
        if not metric:
            return str(known.get(table, {}).get("sha256", ""))
        rows = sorted((s.response_id, s.value) for s in self.scores() if s.metric == metric and s.value is not None)
        return sha256_bytes(json.dumps(rows).encode())

    def manifest(self) -> dict[str, Any]:
        """Return ``run.json``, or an empty manifest.

        Raises:
            InputError: the file is not what vaeval writes (truncated, no JSON object, wrong types), or of a newer
                schema.
        """
        return read_run_json(self.root / "run.json")

    def note(self, **about: Any) -> None:
        """Keep facts about the run (seed, data revision, model signature) in ``run.json``."""
        with turn(self.root, "run"):
            manifest = self.manifest()
            manifest["about"].update(about)
            self._save(manifest)

    def note_within(self, kind: str, **about: Any) -> None:
        """Keep facts of one kind (as configurations by name) in ``run.json``, beside those that are there."""
        with turn(self.root, "run"):
            manifest = self.manifest()
            manifest["about"][kind] = (manifest["about"].get(kind) or {}) | about
            self._save(manifest)

    def stale(self) -> list[str]:
        """Return a sentence for each table that changed on disk or was made from an input that changed since."""
        known = self.manifest()["tables"]
        out = []
        for name, entry in known.items():
            if name not in RECORDS:
                continue
            if not self.path(name).is_file():
                out.append(f"{name}: the file is gone")
            elif sha256_file(self.path(name)) != entry["sha256"]:
                out.append(f"{name}: the file was changed after it was written ({entry['made_by']})")
            out.extend(
                f"{name}: made from {source.replace(':', ' of ')} that changed since; {_again(entry['made_by'])}"
                for source, digest in entry["inputs"].items()
                if self._digest(source, known) != digest
            )
        return out

    def append(self, table: str, *records: Any, rank: int = 0) -> None:
        """Append records to a table's log, durably; processes of one run each have their own log."""
        append_jsonl(self.path(table).with_name(_log_name(table, rank)), *records)

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
        return list(read_jsonl(self.attempts_log, schema.Response)) if self.attempts_log.is_file() else []

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

    def logs(self) -> dict[Path, type | None]:
        """Return the logs there are, of all processes, and what their lines are (None: plain JSON objects)."""
        return {path: record for name, record in LOGS.items() for path in self._log_paths(name)}

    def _log_paths(self, name: str) -> list[Path]:
        numbered = (p for p in self.root.glob(f"{name}-*.jsonl") if p.stem.removeprefix(f"{name}-").isdecimal())
        return [p for p in (self.root / f"{name}.jsonl", *sorted(numbered)) if p.is_file()]

    def _logged(self, table: str) -> list[Any]:
        """All records of a compacted table, then those of its logs."""
        rows = self.read(table) if self.has(table) else []
        for log in self._log_paths(table):
            rows += read_jsonl(log, RECORDS[table])
        return rows

    def _save(self, manifest: dict[str, Any]) -> None:
        text = json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
        write_text(self.root / "run.json", text + "\n")


def _again(made_by: str) -> str:
    """Say how to make a table again: what made it may be a verb or a sentence for people."""
    return f"run {made_by} again" if made_by.startswith("vaeval ") else f"make it again (it was made by {made_by})"
