"""The operator's page, behind its own login."""

from __future__ import annotations

import hmac
import threading
from collections import deque
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from starlette.responses import RedirectResponse, Response

from vaeval_tasks.collect import watch
from vaeval_tasks.collect.refusals import Refused
from vaeval_tasks.collect.server_clock import MINUTE
from vaeval_tasks.collect.web.context import context, page
from vaeval_tasks.collect.web.guard import Session, admin_session, check_same_site, check_token, set_admin_session

__all__ = ["TRIES", "TryLimit", "router"]

TRIES = 5
"""Wrong passwords a minute, from all addresses together."""

router = APIRouter(prefix="/admin")
Admin = Annotated[Session, Depends(admin_session)]


class TryLimit:
    """Counts wrong passwords of the last minute."""

    def __init__(self) -> None:
        self._wrong: deque[int] = deque(maxlen=TRIES)
        self._lock = threading.Lock()

    def check(self, now: int) -> None:
        """Refuse when too many tries were wrong of late.

        Raises:
            Refused: 429.
        """
        with self._lock:
            if len(self._wrong) == TRIES and now - self._wrong[0] < MINUTE:
                raise Refused(429, "too_many_tries", "Too many wrong passwords; wait a minute.")

    def wrong(self, now: int) -> None:
        """Count one wrong password."""
        with self._lock:
            self._wrong.append(now)


@router.get("/login")
def login_page(request: Request) -> Response:
    """Ask for the password."""
    return page(request, "admin_login.html", error="")


@router.post("/login")
def login(request: Request, password: Annotated[str, Form()] = "") -> Response:
    """Open an admin session."""
    check_same_site(request)
    ctx = context(request)
    limit: TryLimit = request.app.state.admin_tries
    limit.check(ctx.clock())
    if not hmac.compare_digest(password.encode(), ctx.admin_password.encode()):
        limit.wrong(ctx.clock())
        return page(request, "admin_login.html", status=403, error="That is not the password.")
    response = RedirectResponse("/admin", status_code=303)
    set_admin_session(request, response)
    return response


@router.post("/logout")
def logout(request: Request, current: Admin, csrf: Annotated[str, Form()] = "") -> Response:
    """Close the admin session."""
    check_token(request, current, csrf)
    response = RedirectResponse("/admin/login", status_code=303)
    response.delete_cookie("vaeval_admin", path="/admin")
    return response


@router.get("")
def overview(request: Request, current: Admin) -> Response:
    """Show coverage, live leases, checks, and how raters work."""
    ctx = context(request)
    now = ctx.clock()
    with ctx.database.read() as connection:
        return page(
            request,
            "admin.html",
            csrf=current.csrf,
            study=ctx.settings.study.value,
            coverage=watch.coverage(connection, ctx.settings),
            leases=watch.live_leases(connection, ctx.settings, now=now),
            checks=watch.check_rates(connection, ctx.settings, now=now),
            paces=watch.paces(connection, ctx.settings),
            comments=watch.newest_comments(connection, ctx.settings),
        )
