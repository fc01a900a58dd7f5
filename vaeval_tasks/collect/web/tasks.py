"""The task page, the pause, leaving, and the end with its completion code."""

from __future__ import annotations

from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Form, Request
from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from vaeval_tasks import rubrics
from vaeval_tasks.collect.people import identity, prolific
from vaeval_tasks.collect.refusals import Refused
from vaeval_tasks.collect.rules import questions, standing
from vaeval_tasks.collect.rules.settings import Settings
from vaeval_tasks.collect.rules.standing import Step
from vaeval_tasks.collect.rules.submissions import COMMENT_LIMIT
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.web.context import context, page
from vaeval_tasks.collect.web.guard import Session, check_token, session
from vaeval_tasks.store.schema import PairKind, StudyKind

__all__ = ["router"]

router = APIRouter()
Current = Annotated[Session, Depends(session)]

PART_LABELS = {
    StudyKind.cmos: {"prompt": "Prompt", "left": "Response A", "right": "Response B"},
    StudyKind.mos: {"prompt": "Prompt", "left": "Response"},
}


def _standing(request: Request, current: Session) -> identity.Known:
    ctx = context(request)
    return identity.enrol(ctx.database, ctx.settings.study, current.rater_id, now=ctx.clock())


def _elsewhere(request: Request, current: Session, wanted: Step) -> Response | None:
    at = standing.step(_standing(request, current))
    return None if at is wanted else RedirectResponse(at, status_code=303)


@router.get("/task")
def task(request: Request, current: Current) -> Response:
    """Show the rater's task: the one they hold, or the next."""
    if (elsewhere := _elsewhere(request, current, Step.task)) is not None:
        return elsewhere
    ctx = context(request)
    lease = standing.next_task(ctx.database, ctx.settings, current.rater_id, now=ctx.clock())
    if lease is None:
        return _done_or_full(request, current)
    done = standing.tasks_done(ctx.database, ctx.settings, current.rater_id)
    with ctx.database.read() as connection:
        view = _view(connection, ctx.settings, lease.assignment_id)
    return page(
        request,
        "task.html",
        csrf=current.csrf,
        comment_limit=COMMENT_LIMIT,
        coverage=ctx.settings.coverage,
        steps=questions.steps(ctx.settings.study),
        study=ctx.settings.study.value,
        number=done + 1,
        rest=done > 0 and done % ctx.settings.break_every == 0 and lease.new,
        **view,
    )


def _done_or_full(request: Request, current: Session) -> Response:
    if standing.step(_standing(request, current)) is Step.done:
        return RedirectResponse(Step.done, status_code=303)
    raise Refused(409, "full", "Thank you for coming. All recordings have been rated; the study is full.")


def _view(connection: Connection, settings: Settings, assignment_id: int) -> dict[str, Any]:
    """Return what the task page shows; nothing in it tells which system a clip is from."""
    row = connection.execute(
        sa.select(store.assignments).where(store.assignments.c.assignment_id == assignment_id)
    ).one()
    where = (store.tasks.c.study == row.study, store.tasks.c.task_id == row.task_id)
    gates = questions.gates_of(connection.execute(sa.select(store.tasks.c.gates).where(*where)).scalar_one())
    links = connection.execute(
        sa.select(store.clip_links.c.part, store.clip_links.c.link).where(
            store.clip_links.c.assignment_id == assignment_id
        )
    ).all()
    drafts = connection.execute(
        sa.select(store.drafts.c.rubric, store.drafts.c.position).where(store.drafts.c.assignment_id == assignment_id)
    ).all()
    addresses = {link.part: link.link for link in links}
    parts = [
        {
            "title": part.title,
            "questions": [
                {"key": k, "label": rubrics.rubric(k).label, "text": questions.wording(settings.study, k)}
                for k in part.keys
            ],
        }
        for part in questions.sections(gates, settings.overall)
    ]
    return {
        "token": row.token,
        "stage": row.stage,
        "training": row.kind == PairKind.train,
        "clips": [
            {"part": part, "label": label, "link": addresses[part], "key": n}
            for n, (part, label) in enumerate(PART_LABELS[settings.study].items(), 1)
        ],
        "parts": parts,
        "drafts": {draft.rubric: draft.position for draft in drafts},
    }


@router.get("/pause")
def pause(request: Request, current: Current) -> Response:
    """Rest; the task stays reserved until its lease ends."""
    if (elsewhere := _elsewhere(request, current, Step.task)) is not None:
        return elsewhere
    return page(request, "pause.html", csrf=current.csrf, lease=context(request).settings.lease)


@router.post("/withdraw")
def withdraw(request: Request, current: Current, csrf: Annotated[str, Form()] = "") -> Response:
    """Leave the study for good."""
    check_token(request, current, csrf)
    ctx = context(request)
    standing.withdraw(ctx.database, ctx.settings, current.rater_id, now=ctx.clock())
    return RedirectResponse(Step.withdrawn, status_code=303)


@router.get("/withdrawn")
def withdrawn(request: Request, current: Current) -> Response:
    """Confirm that the rater has left."""
    if (elsewhere := _elsewhere(request, current, Step.withdrawn)) is not None:
        return elsewhere
    return page(request, "message.html", heading="You have left the study", text="Thank you for your time.")


@router.get("/done")
def done(request: Request, current: Current) -> Response:
    """Show the completion code: only to a rater whose last answer is stored."""
    if (elsewhere := _elsewhere(request, current, Step.done)) is not None:
        return elsewhere
    settings = context(request).settings
    back = f"{prolific.RETURN_URL}?cc={settings.completion_code}" if settings.prolific else ""
    return page(request, "done.html", code=settings.completion_code, back=back)
