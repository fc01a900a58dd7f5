"""Whether a rater has heard the clips: the page's claim and the server's clock must both say so.

The page reports which stretches of each clip were played at normal speed and with sound. A page can lie, and
``ended`` fires after a seek; so the server also wants the time to have passed that listening takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vaeval_tasks.collect.refusals import Refused
from vaeval_tasks.collect.rules.settings import Settings
from vaeval_tasks.collect.store import database_tables as store

__all__ = ["EVENT_KINDS", "covered", "durations", "listened", "record_events"]

_PLAYER = {"play", "pause", "ended", "seeked", "ratechange", "volumechange", "waiting", "stalled", "error"}
EVENT_KINDS = frozenset(_PLAYER | {"hidden", "visible", "offline", "online"})
"""What a page may report."""

_PAYLOAD_LIMIT = 1000

_assignments = store.assignments


def covered(ranges: Sequence[tuple[float, float]], seconds: float) -> float:
    """Return the share of a clip of ``seconds`` that the union of ``ranges`` (start, end in s) covers."""
    total, reached = 0.0, 0.0
    for start, end in sorted(ranges):
        new = min(end, seconds) - max(start, reached)
        if new > 0:
            total += new
            reached = min(end, seconds)
    return total / seconds


def durations(connection: Connection, assignment_id: int) -> dict[str, float]:
    """Return the length in s of each part (``prompt``, ``left``, ``right``) of an assignment."""
    links, clips = store.clip_links, store.clips
    query = (
        sa.select(links.c.part, clips.c.seconds)
        .join_from(links, clips, links.c.clip_id == clips.c.clip_id)
        .where(links.c.assignment_id == assignment_id)
    )
    return {row.part: row.seconds for row in connection.execute(query)}


def record_events(connection: Connection, assignment: sa.Row[Any], items: object, *, now: int) -> int:
    """Store what the page reported; an event that was reported before is passed over. Return how many are new.

    Raises:
        Refused: 422, an item is not an event.
    """
    if not isinstance(items, list) or len(items) > 200:
        raise Refused(422, "bad_events", "events must be a list of at most 200")
    rows = [_event(item, assignment.assignment_id, now) for item in items]
    seen = set(
        connection.execute(
            sa.select(store.events.c.seq).where(
                store.events.c.assignment_id == assignment.assignment_id,
                store.events.c.seq.in_([row["seq"] for row in rows]),
            )
        ).scalars()
    )
    fresh = {row["seq"]: row for row in rows if row["seq"] not in seen}
    if fresh:
        connection.execute(sa.insert(store.events), list(fresh.values()))
    if assignment.first_play is None and any(row["kind"] == "play" for row in rows):
        connection.execute(
            sa.update(_assignments)
            .where(_assignments.c.assignment_id == assignment.assignment_id)
            .values(first_play=now)
        )
    return len(fresh)


def _event(item: object, assignment_id: int, now: int) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise Refused(422, "bad_events", "an event must be an object")
    seq, kind, at = item.get("seq"), item.get("kind"), item.get("at")
    whole = all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2**53 for n in (seq, at))
    if not whole or kind not in EVENT_KINDS:
        raise Refused(422, "bad_events", "an event needs a known kind and whole numbers seq and at")
    payload = json.dumps({k: v for k, v in item.items() if k not in ("seq", "kind", "at")}, sort_keys=True)
    if len(payload) > _PAYLOAD_LIMIT:
        raise Refused(422, "bad_events", "an event is too long")
    return {
        "assignment_id": assignment_id,
        "seq": seq,
        "client_time": at,
        "server_time": now,
        "kind": kind,
        "payload": payload,
    }


def listened(connection: Connection, settings: Settings, assignment: sa.Row[Any], claim: object, *, now: int) -> None:
    """Open the questions if every clip was heard.

    Args:
        connection: in a writing transaction.
        settings: the study's.
        assignment: the row of the live assignment.
        claim: ``{part: [[start, end], …]}`` in s, as the page reports.
        now: the server's time, ms.

    Raises:
        Refused: 422 ``not_heard`` names the parts that were not played enough; 422 ``too_fast`` says how many
            ms are still missing.
    """
    if assignment.stage > 0:
        return
    lengths = durations(connection, assignment.assignment_id)
    if not isinstance(claim, Mapping) or set(claim) != set(lengths):
        raise Refused(422, "bad_ranges", "played ranges are needed of: " + ", ".join(sorted(lengths)))
    unheard = [p for p, s in lengths.items() if covered(_ranges(claim[p]), s) < settings.coverage]
    if unheard:
        raise Refused(422, "not_heard", "Please listen to each recording to its end.", parts=sorted(unheard))
    needed = round(1000 * settings.dwell * sum(lengths.values()))
    passed = 0 if assignment.first_play is None else now - assignment.first_play
    if passed < needed:
        raise Refused(422, "too_fast", "Please listen at normal speed.", wait_ms=needed - passed)
    connection.execute(
        sa.update(_assignments)
        .where(_assignments.c.assignment_id == assignment.assignment_id)
        .values(stage=1, listened=now)
    )


def _ranges(value: object) -> list[tuple[float, float]]:
    ok = isinstance(value, list) and len(value) <= 1000
    out = []
    for item in value if ok and isinstance(value, list) else [None]:
        if not (isinstance(item, list) and len(item) == 2 and all(type(x) in (int, float) for x in item)):
            raise Refused(422, "bad_ranges", "a played range must be [start, end] in seconds")
        out.append((float(item[0]), float(item[1])))
    return out
