"""The application: routes, refusals as responses, the panel's webhook."""

from __future__ import annotations

import time
from typing import Any

import sqlalchemy as sa
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.staticfiles import StaticFiles

from vaeval_tasks.collect.people import prolific
from vaeval_tasks.collect.refusals import Refused
from vaeval_tasks.collect.web import admin, entry, media, task_api, tasks
from vaeval_tasks.collect.web.context import HERE, Context, context, page
from vaeval_tasks.collect.web.guard import Guard

__all__ = ["create_app"]

WEBHOOK_AGE = 300
"""Seconds that a webhook may be old."""

HEADINGS = {
    401: "Please use your link",
    403: "This is not allowed",
    404: "Not found",
    409: "This has been done",
    410: "Time is over",
    429: "Please wait",
}

router = APIRouter()


@router.get("/healthz")
def healthz(request: Request) -> dict[str, str]:
    """Say that server and database answer."""
    with context(request).database.read() as connection:
        connection.execute(sa.select(1))
    return {"status": "ok"}


async def _body(request: Request) -> bytes:
    return await request.body()


@router.post("/prolific/webhook")
def webhook(request: Request, raw: bytes = Depends(_body)) -> dict[str, bool]:
    """Free the task of a participant who returned their submission."""
    ctx = context(request)
    secret = ctx.prolific.webhook_secret if ctx.prolific is not None else ""
    stamp = request.headers.get("x-prolific-request-timestamp", "")
    fresh = stamp.isascii() and stamp.isdigit() and len(stamp) < 12 and abs(time.time() - int(stamp)) < WEBHOOK_AGE
    signature = request.headers.get("x-prolific-request-signature", "")
    if not secret or not fresh or not prolific.signed(secret, stamp, raw, signature):
        raise Refused(403, "bad_signature", "the signature is wrong or old")
    event_id = request.headers.get("x-event-id", "")
    if not 0 < len(event_id) <= 128:
        raise Refused(422, "no_event_id", "the header X-Event-Id is missing")
    return {"freed": prolific.release_returned(ctx.database, ctx.settings.study, event_id, raw, now=ctx.clock())}


def _refused(request: Request, error: Refused) -> Response:
    if request.url.path.startswith(("/api/", "/clip/", "/prolific/", "/simulated/")):
        return JSONResponse(error.body(), status_code=error.status)
    settings = context(request).settings
    code = settings.full_code if error.reason == "full" else ""
    heading = "The study is full" if error.reason == "full" else HEADINGS.get(error.status, "That did not work")
    if request.url.path.startswith("/admin"):
        return page(request, "admin_login.html", status=error.status, error=error.message)
    return page(request, "message.html", status=error.status, heading=heading, text=error.message, code=code)


def _http(request: Request, error: HTTPException) -> Response:
    return _refused(request, Refused(error.status_code, "http", str(error.detail)))


def _invalid(request: Request, error: RequestValidationError) -> Response:
    fields = sorted({str(e["loc"][-1]) for e in error.errors()})
    return _refused(request, Refused(422, "invalid", f"Wrong or missing: {', '.join(fields)}"))


def create_app(ctx: Context) -> FastAPI:
    """Return the application for one open collection."""
    # no schema and no documentation pages: they would tell raters about the study
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.context = ctx
    app.state.admin_tries = admin.TryLimit()
    for part in (router, entry.router, tasks.router, task_api.router, media.router, admin.router):
        app.include_router(part)
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    handlers: dict[Any, Any] = {Refused: _refused, HTTPException: _http, RequestValidationError: _invalid}
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
    app.add_middleware(Guard)
    return app
