"""How a rater gets in, and the steps before the first task."""

from __future__ import annotations

import secrets
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from vaeval_tasks.collect import beeps
from vaeval_tasks.collect.people import identity, prolific
from vaeval_tasks.collect.refusals import Refused
from vaeval_tasks.collect.rules import standing
from vaeval_tasks.collect.rules.standing import Step
from vaeval_tasks.collect.web.context import context, page
from vaeval_tasks.collect.web.guard import Session, check_same_site, check_token, session, set_session
from vaeval_tasks.store.schema import CheckOutcome, RaterKind

__all__ = ["router"]

IDENTITY_LIMIT = 128
AGES = range(18, 121)

router = APIRouter()
Current = Annotated[Session, Depends(session)]


def _go(path: str) -> RedirectResponse:
    return RedirectResponse(path, status_code=303)


def _checked(value: str) -> str:
    if not 0 < len(value) <= IDENTITY_LIMIT or not value.isprintable():
        raise Refused(422, "bad_identity", "The link is damaged; please use it as you received it.")
    return value


def _admit(request: Request, source: str, code: str, *, kind: RaterKind = RaterKind.human) -> str:
    """Return the rater of an outside identity, new if unknown. Nobody new is admitted without a task to give."""
    ctx = context(request)
    found = identity.find_by_identity(ctx.database, source, _checked(code))
    if found is None:
        if not standing.admits(ctx.database, ctx.settings):
            raise Refused(409, "full", "Thank you for coming. All recordings have been rated; the study is full.")
        days = ctx.settings.retention_days
        found = identity.new_rater(ctx.database, source, code, now=ctx.clock(), retention_days=days, kind=kind)
    identity.enrol(ctx.database, ctx.settings.study, found, now=ctx.clock())
    return found


def _enter(request: Request, rater_id: str) -> Response:
    response = _go("/study")
    set_session(request, response, rater_id)
    return response


@router.get("/")
def front(request: Request, PROLIFIC_PID: str = "", SESSION_ID: str = "") -> Response:  # noqa: N803 (Prolific's names)
    """Enter with Prolific's parameters, or say how to enter."""
    ctx = context(request)
    if not PROLIFIC_PID:
        return page(request, "front.html", open_entry=ctx.settings.open_entry and not ctx.settings.simulated)
    if not ctx.settings.prolific or ctx.settings.simulated:
        raise Refused(403, "no_panel", "This study does not take participants from Prolific.")
    rater_id = _admit(request, "prolific", PROLIFIC_PID)
    if ctx.prolific is not None and ctx.prolific.token:
        outcome, detail = prolific.verify(ctx.prolific, PROLIFIC_PID, SESSION_ID)
        _record(request, rater_id, "prolific", outcome, detail)
    return _enter(request, rater_id)


def _record(request: Request, rater_id: str, name: str, outcome: CheckOutcome, detail: str) -> None:
    ctx = context(request)
    with ctx.database.write() as connection:
        beeps.record_check(connection, ctx.settings.study, rater_id, name, outcome, detail, now=ctx.clock())


@router.get("/join/{code}")
def join(request: Request, code: str) -> Response:
    """Enter, or come back, by a personal link."""
    ctx = context(request)
    for source in () if ctx.settings.simulated else ("link", "open"):
        if identity.find_by_identity(ctx.database, source, _checked(code)) is not None:
            return _enter(request, _admit(request, source, code))
    raise Refused(404, "no_link", "This link is not known here. Please use it as you received it.")


@router.post("/join")
def join_open(request: Request) -> Response:
    """Enter a study that is open to all."""
    check_same_site(request)
    ctx = context(request)
    if not ctx.settings.open_entry or ctx.settings.simulated:
        raise Refused(403, "closed", "This study needs a personal link.")
    return _enter(request, _admit(request, "open", secrets.token_urlsafe(12)))


@router.post("/simulated/join")
def join_simulated(request: Request, name: Annotated[str, Form()]) -> Response:
    """Enter as a simulated rater, in a study that has no others."""
    check_same_site(request)
    if not context(request).settings.simulated:
        raise Refused(403, "not_simulated", "This study takes people only.")
    rater_id = _admit(request, "simulated", name, kind=RaterKind.simulated)
    response = JSONResponse({"rater_id": rater_id})
    set_session(request, response, rater_id)
    return response


@router.get("/study")
def study(request: Request, current: Current) -> Response:
    """Go to the step the rater is at."""
    ctx = context(request)
    return _go(standing.step(identity.enrol(ctx.database, ctx.settings.study, current.rater_id, now=ctx.clock())))


def at_step(request: Request, current: Session, wanted: Step) -> bool:
    """Whether the rater is at this step."""
    ctx = context(request)
    known = identity.enrol(ctx.database, ctx.settings.study, current.rater_id, now=ctx.clock())
    return standing.step(known) is wanted


def _pass(request: Request, current: Session, name: str) -> Response:
    ctx = context(request)
    with ctx.database.write() as connection:
        identity.mark(connection, ctx.settings.study, current.rater_id, name, now=ctx.clock())
    return _go("/study")


@router.get("/consent")
def consent_page(request: Request, current: Current) -> Response:
    """Show what taking part means."""
    if not at_step(request, current, Step.consent):
        return _go("/study")
    return page(request, "consent.html", csrf=current.csrf, study=context(request).settings.study)


@router.post("/consent")
def consent(request: Request, current: Current, csrf: Annotated[str, Form()] = "") -> Response:
    """Note the consent."""
    check_token(request, current, csrf)
    return _pass(request, current, "consented")


@router.get("/about-you")
def about_page(request: Request, current: Current) -> Response:
    """Ask for age and gender, both optional."""
    if not at_step(request, current, Step.about_you):
        return _go("/study")
    return page(request, "about.html", csrf=current.csrf, error="", age="", gender="")


@router.post("/about-you")
def about(
    request: Request,
    current: Current,
    csrf: Annotated[str, Form()] = "",
    age: Annotated[str, Form()] = "",
    gender: Annotated[str, Form()] = "",
) -> Response:
    """Keep age and gender apart from the study."""
    check_token(request, current, csrf)
    if not at_step(request, current, Step.about_you):
        return _go("/study")
    age = age.strip()
    years = int(age) if age.isascii() and age.isdigit() and len(age) <= 3 else None
    if (age and years not in AGES) or gender not in identity.GENDERS:
        error = "Please give your age in years, 18 or more, or leave it empty."
        return page(request, "about.html", status=422, csrf=current.csrf, error=error, age=age, gender=gender)
    identity.describe_person(context(request).database, current.rater_id, gender=gender, age=years)
    return _pass(request, current, "demographics")


@router.get("/sound-check")
def sound_page(request: Request, current: Current, again: bool = False) -> Response:
    """Let the rater hear a few beeps and count them."""
    if not at_step(request, current, Step.sound_check):
        return _go("/study")
    nonce = secrets.token_urlsafe(8)
    return page(request, "sound.html", csrf=current.csrf, nonce=nonce, choices=beeps.BEEPS, again=again)


@router.get("/sound-check/{nonce}.wav")
def sound_clip(request: Request, current: Current, nonce: str) -> Response:
    """Serve the beeps."""
    count = beeps.count_for(context(request).sound_key, current.rater_id, nonce)
    return Response(beeps.beeps(count), media_type="audio/wav", headers={"Cache-Control": "no-store"})


@router.post("/sound-check")
def sound_check(
    request: Request,
    current: Current,
    csrf: Annotated[str, Form()] = "",
    nonce: Annotated[str, Form()] = "",
    heard: Annotated[str, Form()] = "",
) -> Response:
    """Check the count; a wrong one may be tried again, with other beeps."""
    check_token(request, current, csrf)
    right = heard == str(beeps.count_for(context(request).sound_key, current.rater_id, nonce))
    outcome = CheckOutcome.passed if right else CheckOutcome.failed
    _record(request, current.rater_id, "sound", outcome, f"heard {heard[:8]!r}")
    return _pass(request, current, "sound") if right else _go("/sound-check?again=true")
