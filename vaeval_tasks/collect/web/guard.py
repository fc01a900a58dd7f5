"""Who may do what: sessions, forged requests, security headers, and a log that names nobody."""

from __future__ import annotations

import hmac
import logging
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request
from itsdangerous import BadSignature
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vaeval_tasks.collect.refusals import Refused
from vaeval_tasks.collect.web.context import Context, context

__all__ = [
    "BODY_LIMIT",
    "Guard",
    "Session",
    "admin_session",
    "check_same_site",
    "check_token",
    "session",
    "set_session",
]

BODY_LIMIT = 64 * 1024
"""Bytes of a request body."""

_MAX_AGE = 60 * 60 * 24 * 30

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "media-src 'self' blob:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # not no-referrer: with it a form of our own is sent with "Origin: null"
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

log = logging.getLogger("vaeval.serve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A rater's session: bound by the signed cookie to one rater and one study."""

    rater_id: str
    csrf: str


def set_session(request: Request, response: Response, rater_id: str) -> None:
    """Give the browser a session of this rater; scripts cannot read it and other sites cannot send it."""
    value = {"rater": rater_id, "csrf": secrets.token_urlsafe(16)}
    _set_cookie(request, response, f"vaeval_{context(request).settings.study}", value, "/")


def session(request: Request) -> Session:
    """Return the request's session.

    Raises:
        Refused: 401 there is none, or it is forged, too old, or of another study.
    """
    value = _cookie(request, f"vaeval_{context(request).settings.study}")
    if value is None:
        raise Refused(401, "no_session", "Please open this study by your personal link.")
    return Session(rater_id=value["rater"], csrf=value["csrf"])


def set_admin_session(request: Request, response: Response) -> None:
    """Give the browser an admin session, sent to the admin pages only."""
    _set_cookie(request, response, "vaeval_admin", {"csrf": secrets.token_urlsafe(16)}, "/admin")


def admin_session(request: Request) -> Session:
    """Return the admin session.

    Raises:
        Refused: 401 there is none; 403 there is a rater's only.
    """
    value = _cookie(request, "vaeval_admin")
    if value is None:
        rater = f"vaeval_{context(request).settings.study}" in request.cookies
        raise Refused(403 if rater else 401, "not_admin", "Log in to see this page.")
    return Session(rater_id="", csrf=value["csrf"])


def check_same_site(request: Request) -> None:
    """Refuse a request that another site's page made.

    Raises:
        Refused: 403.
    """
    origin = request.headers.get("origin")
    fetched = request.headers.get("sec-fetch-site", "same-origin")
    foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if foreign or fetched not in ("same-origin", "none"):
        raise Refused(403, "cross_site", "This request came from another site.")


def check_token(request: Request, current: Session, token: object) -> None:
    """Refuse a changing request without the session's own token (header ``X-CSRF-Token`` or field ``csrf``).

    Raises:
        Refused: 403.
    """
    check_same_site(request)
    if not isinstance(token, str) or not hmac.compare_digest(token.encode(), current.csrf.encode()):
        raise Refused(403, "bad_token", "Please reload the page and try again.")


def _set_cookie(request: Request, response: Response, name: str, value: dict[str, str], path: str) -> None:
    response.set_cookie(
        name,
        context(request).signer.dumps(value, salt=name),
        max_age=_MAX_AGE,
        path=path,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )


def _cookie(request: Request, name: str) -> dict[str, str] | None:
    ctx: Context = context(request)
    raw = request.cookies.get(name)
    if raw is None:
        return None
    try:
        value: dict[str, str] = ctx.signer.loads(raw, salt=name, max_age=_MAX_AGE)
    except BadSignature:
        return None
    return value


class Guard:
    """Bounds the body, adds the security headers, and logs method, route and status.

    The log has no query, no token and no address: links and panel ids are personal.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 500

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        body = await _read(receive)
        try:
            if body is None:
                refusal = Refused(413, "too_long", f"a request may have {BODY_LIMIT} bytes at most")
                await JSONResponse(refusal.body(), 413)(scope, receive, send_guarded)
            else:
                await self.app(scope, _replayed(body, receive), send_guarded)
        finally:
            route: Any = scope.get("route")
            log.info("%s %s %d", scope["method"], getattr(route, "path", "(no route)"), status)


async def _read(receive: Receive) -> bytes | None:
    """Return the whole body, or None if it is longer than allowed."""
    parts, size = [], 0
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY_LIMIT:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return first.pop() if first else await receive()

    return replay
