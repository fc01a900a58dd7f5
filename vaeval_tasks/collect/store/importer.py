"""Bring a run's frozen design into the database; doing it again changes nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vaeval_tasks.collect.rules import questions
from vaeval_tasks.collect.rules.settings import Settings, decode, encode, merge
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.clips import CLIPS, publish
from vaeval_tasks.collect.store.database import Database
from vaeval_tasks.errors import InputError
from vaeval_tasks.files import sha256_file
from vaeval_tasks.progress import tracked
from vaeval_tasks.store.answers import study_answers
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Pair, PairKind, Prompt, Response, StudyKind

__all__ = ["Imported", "OnMissing", "design_tasks", "import_design", "names_itself", "stored_settings"]

OnMissing = Literal["error", "exclude"]

_MAKERS = {"openai", "chatgpt", "gpt", "xai", "grok", "google", "gemini", "amazon", "nova", "alibaba", "qwen"}
_OTHERS = {"anthropic", "claude", "siri", "alexa"}
_COMMON = {"default", "realtime", "live", "mini", "pro", "omni", "flash", "sonic"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import found: the settings in force, and what the operator should know."""

    settings: Settings
    tasks: int
    clips: int
    excluded: tuple[str, ...]
    """Prompts left out for all configurations because a response has no sound."""
    named: tuple[str, ...]
    """Responses whose transcript names a maker, model or voice: they tell the rater who speaks."""


def names_itself(response: Response) -> bool:
    """Whether the words of a response name a maker, or a word of its own model or voice ("I'm Claude")."""
    model, _, voice = response.config_id.split("/") if response.config_id.count("/") == 2 else (response.config_id,) * 3
    own = {part for name in (model, voice) for part in name.split("-") if len(part) > 2 and part.isalpha()}
    text = f"{response.text} {response.output_transcript}".lower()
    words = {"".join(c for c in word if c.isalnum()) for word in text.replace("-", " ").replace("’", "'").split()}
    return bool(words & (_MAKERS | _OTHERS | (own - _COMMON)))


def design_tasks(pairs: Iterable[Pair], prompts: dict[str, Prompt], settings: Settings) -> list[dict[str, Any]]:
    """Return the rows of ``tasks`` for a design.

    A CMOS study asks every pair. A MOS study asks every (prompt, configuration) that the design names once, with
    ``settings.mos_raters`` slots; repeats and traps of two equal clips have no counterpart there.
    """
    rows = list(_cmos_rows(pairs) if settings.study is StudyKind.cmos else _mos_rows(pairs, settings.mos_raters))
    for row in rows:
        row |= {
            "study": settings.study,
            "gates": json.dumps(sorted(prompts[row["prompt_id"]].gates)),
            # a fixed order that is unrelated to categories: a study that stops early has sampled them all
            "shuffle": int.from_bytes(hashlib.sha256(row["task_id"].encode()).digest()[:4]) >> 1,
        }
    return rows


def _cmos_rows(pairs: Iterable[Pair]) -> Iterator[dict[str, Any]]:
    for pair in pairs:
        row = asdict(pair)
        del row["expect"]  # raters and their app need not know
        yield {"task_id": row.pop("pair_id"), **row, "kind": pair.kind.value}


def _mos_rows(pairs: Iterable[Pair], slots: int) -> Iterator[dict[str, Any]]:
    seen: set[tuple[str, str]] = set()
    ordered = sorted(pairs, key=lambda p: (p.kind is not PairKind.main, p.wave))  # a main response stays main
    for pair in ordered:
        if pair.kind is PairKind.repeat or pair.a == pair.b:
            continue
        for config in (pair.a, pair.b):
            if (pair.prompt_id, config) in seen:
                continue
            seen.add((pair.prompt_id, config))
            yield {
                "task_id": f"mos:{pair.prompt_id}:{config}",
                "prompt_id": pair.prompt_id,
                "a": config,
                "b": None,
                "kind": pair.kind.value,
                "wave": pair.wave,
                "slots": slots,
                "left_is_a": True,
                "stratum": pair.stratum,
            }


def stored_settings(connection: Connection, study: StudyKind) -> Settings | None:
    """Return the settings of a study, or None before its first import."""
    text = connection.execute(sa.select(store.studies.c.settings).where(store.studies.c.study == study)).scalar()
    return None if text is None else decode(text)


def import_design(
    run: RunDir,
    database: Database,
    study: StudyKind,
    given: dict[str, Any],
    *,
    now: int,
    on_missing: OnMissing = "error",
) -> Imported:
    """Import prompts, responses and pairs of a run, publish their clips, and store the settings.

    Args:
        run: the run folder with ``prompts``, ``responses`` and ``pairs``.
        database: where to.
        study: ``cmos`` or ``mos``.
        given: settings given by the caller; others stay as stored, or at their defaults.
        now: the time, ms.
        on_missing: what to do with a prompt of which a response has no sound: stop, or leave the prompt out for
            *all* configurations (leaving it out for one alone would bias the comparison).

    Raises:
        InputError: something is missing or the design differs from what was imported before.
    """
    with database.read() as connection:
        started = connection.execute(sa.select(sa.exists().where(store.assignments.c.study == study))).scalar_one()
        before = stored_settings(connection, study)
    settings = merge(before or Settings(study=study), given, answers_exist=bool(started))
    prompts = {p.prompt_id: p for p in run.read("prompts")}
    responses = study_answers(run.responses())
    pairs: list[Pair] = run.read("pairs")
    excluded = _unheard(run, pairs, prompts, responses, on_missing)
    rows = design_tasks([p for p in pairs if p.prompt_id not in excluded], prompts, settings)
    if not rows:
        raise InputError("no pair is left to rate", path=run.path("pairs"))
    needed = sorted({(row["prompt_id"], c) for row in rows for c in (row["a"], row["b"]) if c is not None})
    sources = {(row["prompt_id"], ""): prompts[row["prompt_id"]].path for row in rows}
    sources |= {key: responses[key].path for key in needed}
    clips = _clips(run, database, sources, settings)
    with database.write() as connection:
        _write(connection, settings, rows, clips, now=now, path=str(run.path("pairs")))
    named = tuple(responses[key].response_id for key in needed if names_itself(responses[key]))
    return Imported(
        settings=settings, tasks=len(rows), clips=len(sources), excluded=tuple(sorted(excluded)), named=named
    )


def _unheard(
    run: RunDir,
    pairs: Iterable[Pair],
    prompts: dict[str, Prompt],
    responses: dict[tuple[str, str], Response],
    on_missing: OnMissing,
) -> set[str]:
    """Return the prompts that a response without sound spoils."""
    missing: dict[str, str] = {}

    @cache  # a response is in many pairs
    def heard(prompt_id: str, config_id: str) -> bool:
        response = responses.get((prompt_id, config_id))
        return response is not None and response.sound(run.root) is not None

    for number, pair in enumerate(pairs, 1):
        if pair.prompt_id not in prompts:
            raise InputError(
                f"no prompt {pair.prompt_id!r} in prompts.parquet",
                path=run.path("pairs"),
                row=number,
                field="prompt_id",
            )
        for config in (pair.a, pair.b):
            if pair.prompt_id not in missing and not heard(pair.prompt_id, config):
                missing[pair.prompt_id] = config
    if missing and on_missing == "error":
        prompt_id, config = min(missing.items())
        raise InputError(
            f"{len(missing)} prompt(s) have a response without sound (first: {prompt_id!r} of {config!r}). Run vaeval "
            "generate again, or leave those prompts out for every configuration with --on-missing exclude",
            path=run.root,
        )
    return set(missing)


def _clips(
    run: RunDir, database: Database, sources: dict[tuple[str, str], str], settings: Settings
) -> list[dict[str, Any]]:
    """Publish what is not yet published and return the new rows of ``clips``."""
    with database.read() as connection:
        known = {(r.prompt_id, r.config_id): r for r in connection.execute(sa.select(store.clips))}
    rows = []
    for (prompt_id, config_id), path in tracked(sorted(sources.items()), "clips", "clip", total=len(sources)):
        source_sha256 = sha256_file(run.root / path) if (run.root / path).is_file() else ""
        old = known.get((prompt_id, config_id))
        if old is not None and old.source_sha256 == source_sha256 and (run.root / old.file).is_file():
            continue
        if old is not None and old.source_sha256 != source_sha256:
            raise InputError(
                f"the audio of prompt {prompt_id!r}, {config_id or 'itself'!r} changed after it was imported; "
                "raters may have heard the old one: start a new database with --db",
                path=run.root / path,
            )
        # prompts were leveled when the set was made; only responses take the study's loudness
        made = publish(run.root, path, loudness=settings.loudness if config_id else None)
        if old is not None and made.sha256 != old.sha256:
            raise InputError(f"the published clip is gone and cannot be made again alike; see {CLIPS}", path=old.file)
        if old is None:
            rows.append(
                {"prompt_id": prompt_id, "config_id": config_id, "source_sha256": source_sha256, **asdict(made)}
            )
    return rows


def _write(
    connection: Connection,
    settings: Settings,
    rows: list[dict[str, Any]],
    clips: list[dict[str, Any]],
    *,
    now: int,
    path: str,
) -> None:
    tasks = store.tasks
    known = {r.task_id: r for r in connection.execute(sa.select(tasks).where(tasks.c.study == settings.study))}
    new = []
    for row in rows:
        old = known.pop(row["task_id"], None)
        if old is None:
            new.append(row)
        elif changed := [key for key, value in row.items() if getattr(old, key) != value]:
            raise InputError(
                f"task {row['task_id']!r} differs from the design imported before; a later wave may only add pairs",
                path=path,
                field=changed[0],
            )
    if known:
        raise InputError(f"task {min(known)!r} of the design imported before is gone; restore the file", path=path)
    if clips:
        connection.execute(sa.insert(store.clips), clips)
    if new:
        connection.execute(sa.insert(tasks), new)
    questions.question_ids(connection, settings.study)
    ids = sorted(row["task_id"] for row in rows)
    values = {
        "settings": encode(settings),
        "design_sha256": hashlib.sha256("\n".join(ids).encode()).hexdigest(),
    }
    changed_rows = connection.execute(
        sa.update(store.studies).where(store.studies.c.study == settings.study).values(**values)
    ).rowcount
    if not changed_rows:
        connection.execute(sa.insert(store.studies).values(study=settings.study, created=now, **values))
