"""Clips: opaque addresses, only for the rater who holds the task, in ranges."""

from __future__ import annotations

import hashlib
from typing import Annotated

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Request
from starlette.responses import FileResponse, Response

from vaeval_tasks.collect.refusals import Refused
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.web.context import context
from vaeval_tasks.collect.web.guard import Session, session
from vaeval_tasks.store.schema import AssignmentState

__all__ = ["RANGES_LIMIT", "router"]

RANGES_LIMIT = 8
"""Ranges of one request; browsers ask for one."""

router = APIRouter()


class _Clip(FileResponse):
    """A file without the tags that would show that two raters hear the same clip, or when it was made."""

    def __init__(self, path: str, link: str) -> None:
        self._tag = f'"{hashlib.sha256(link.encode()).hexdigest()[:32]}"'
        super().__init__(path, media_type="audio/wav")

    def set_stat_headers(self, stat_result: object) -> None:
        """Set length and a tag made from the address, in place of modification time and content."""
        super().set_stat_headers(stat_result)  # type: ignore[arg-type]
        del self.headers["last-modified"]
        self.headers["etag"] = self._tag


@router.get("/clip/{link}")
def clip(request: Request, link: str, current: Annotated[Session, Depends(session)]) -> Response:
    """Serve a clip of the rater's task; anything else is 404."""
    ctx = context(request)
    ranges = request.headers.get("range", "")
    if ranges.count(",") >= RANGES_LIMIT:
        raise Refused(416, "too_many_ranges", f"at most {RANGES_LIMIT} ranges")
    links, assignments, clips = store.clip_links, store.assignments, store.clips
    query = (
        sa.select(clips.c.file)
        .join_from(links, assignments, links.c.assignment_id == assignments.c.assignment_id)
        .join(clips, clips.c.clip_id == links.c.clip_id)
        .where(
            links.c.link == link,
            assignments.c.rater_id == current.rater_id,
            assignments.c.study == ctx.settings.study,
            assignments.c.state == AssignmentState.leased,
        )
    )
    with ctx.database.read() as connection:
        file = connection.execute(query).scalar()
    root = ctx.root.resolve()
    path = (root / file).resolve() if file is not None else root
    if not path.is_relative_to(root) or not path.is_file():
        raise Refused(404, "no_clip", "There is no such clip.")
    response = _Clip(str(path), link)
    response.headers["Cache-Control"] = "private, max-age=7200, immutable"
    return response
