"""What the task page sends while a rater listens and answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Request
from sqlalchemy.engine import Connection

from vaeval_tasks.collect.refusals import Refused, parse_json
from vaeval_tasks.collect.rules import listening, submissions
from vaeval_tasks.collect.web.context import Context, context
from vaeval_tasks.collect.web.guard import Session, check_token, session

__all__ = ["router"]

T = TypeVar("T")


async def _body(request: Request) -> bytes:
    return await request.body()


def _writer(request: Request, current: Annotated[Session, Depends(session)]) -> Session:
    check_token(request, current, request.headers.get("x-csrf-token"))
    return current


router = APIRouter(prefix="/api/task/{token}")
Writer = Annotated[Session, Depends(_writer)]
Body = Annotated[bytes, Depends(_body)]


def _on_task(
    request: Request, current: Session, token: str, work: Callable[[Context, Connection, sa.Row[Any], int], T]
) -> T:
    """Do ``work`` on the rater's live task in one transaction."""
    ctx = context(request)
    now = ctx.clock()
    with ctx.database.write() as connection:
        row = submissions.live(connection, ctx.settings, token, current.rater_id, now=now)
        return work(ctx, connection, row, now)


@router.post("/events")
def events(request: Request, token: str, current: Writer, raw: Body) -> dict[str, Any]:
    """Store what the page saw the player do."""
    items = parse_json(raw)
    stored = _on_task(
        request,
        current,
        token,
        lambda _, connection, row, now: listening.record_events(connection, row, items, now=now),
    )
    return {"stored": stored}


@router.post("/listened")
def listened(request: Request, token: str, current: Writer, raw: Body) -> dict[str, Any]:
    """Open the questions, if all clips were heard."""
    claim = parse_json(raw)
    _on_task(
        request,
        current,
        token,
        lambda ctx, connection, row, now: listening.listened(connection, ctx.settings, row, claim, now=now),
    )
    return {"open": 1}


@router.put("/answer/{key}")
def answer(request: Request, token: str, key: str, current: Writer, raw: Body) -> dict[str, Any]:
    """Keep one answer as a draft."""
    value = parse_json(raw)
    _on_task(
        request,
        current,
        token,
        lambda ctx, connection, row, now: submissions.save_draft(connection, ctx.settings, row, key, value, now),
    )
    return {"kept": key}


@router.post("/section/{number}")
def section(request: Request, token: str, number: int, current: Writer, raw: Body) -> dict[str, Any]:
    """Lock a section and open the next."""
    body = parse_json(raw)
    opened = _on_task(
        request,
        current,
        token,
        lambda ctx, connection, row, now: submissions.lock_section(
            connection, ctx.settings, row, number, body, now=now
        ),
    )
    return {"open": opened}


@router.post("/heartbeat")
def heartbeat(request: Request, token: str, current: Writer) -> dict[str, Any]:
    """Extend the lease."""
    ctx = context(request)
    until = _on_task(
        request,
        current,
        token,
        lambda ctx, connection, row, now: submissions.heartbeat(connection, ctx.settings, row, now=now),
    )
    return {"seconds_left": max(0, until - ctx.clock()) // 1000}


@router.post("/problem")
def problem(request: Request, token: str, current: Writer, raw: Body) -> dict[str, Any]:
    """Give the task back because of a technical problem."""
    body = parse_json(raw)
    reason = body.get("reason") if isinstance(body, dict) else None
    if not isinstance(reason, str):
        raise Refused(422, "bad_reason", "a reason is needed")
    _on_task(
        request, current, token, lambda _, connection, row, now: submissions.give_back(connection, row, reason, now=now)
    )
    return {"next": "/task"}


@router.post("/submit")
def submit(request: Request, token: str, current: Writer, raw: Body) -> dict[str, Any]:
    """Store the task's answers, once."""
    ctx = context(request)
    key = request.headers.get("idempotency-key", "")
    return submissions.submit(ctx.database, ctx.settings, token, current.rater_id, key, raw, now=ctx.clock())
