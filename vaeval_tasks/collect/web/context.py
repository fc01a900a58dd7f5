"""What every request handler needs, made once at the start of the server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from fastapi import Request
from itsdangerous import URLSafeTimedSerializer
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from vaeval_tasks.collect.people.prolific import Prolific
from vaeval_tasks.collect.rules.settings import Settings
from vaeval_tasks.collect.server_clock import now_ms
from vaeval_tasks.collect.store.database import Database

__all__ = ["HERE", "Context", "context", "environment", "page"]

HERE = Path(__file__).resolve().parent


def environment() -> Environment:
    """Return the templates, with escaping on for every file whatever its name, and errors for missing values."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    made.filters["hour"] = lambda ms: f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:00}"
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The open collection behind one server."""

    database: Database
    settings: Settings
    root: Path
    """The run folder, where the published clips lie."""
    signer: URLSafeTimedSerializer
    admin_password: str
    sound_key: str
    """Keys the number of beeps of the sound check."""
    prolific: Prolific | None = None
    clock: Callable[[], int] = now_ms
    templates: Environment = field(default_factory=environment)


def context(request: Request) -> Context:
    """Return the context of the application that serves this request."""
    return cast("Context", request.app.state.context)


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a template as a page that is never cached."""
    ctx = context(request)
    shared = {"title": ctx.settings.title, "contact": ctx.settings.contact, "simulated": ctx.settings.simulated}
    html = ctx.templates.get_template(template).render(**shared, **values)
    return HTMLResponse(html, status_code=status, headers={"Cache-Control": "no-store"})
