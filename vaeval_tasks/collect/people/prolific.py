"""Prolific: read its parameters once, ask it about a submission, and hear when one is given back.

Source: Prolific's researcher documentation (URL parameters, submissions, webhook signatures). The session id is
never an identity: one participant may have several.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from urllib.parse import quote

import httpx
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from vaeval_tasks.collect.people.identity import find_by_identity
from vaeval_tasks.collect.rules.alloc import release
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.database import Database
from vaeval_tasks.services.http.secrets import trust
from vaeval_tasks.store.schema import AssignmentState, CheckOutcome, StudyKind

__all__ = ["API", "ENDED", "RETURN_URL", "Prolific", "release_returned", "signed", "verify"]

API = "https://api.prolific.com/api/v1"
RETURN_URL = "https://app.prolific.com/submissions/complete"
"""Where a participant is sent with the completion code (``?cc=CODE``)."""

ENDED = frozenset({"RETURNED", "TIMED-OUT", "SCREENED OUT"})
"""States of a submission in which the participant will not go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prolific:
    """Access to Prolific; without a token, submissions are not asked about."""

    token: str = ""
    webhook_secret: str = ""
    api: str = API
    timeout: float = 5.0
    """Seconds."""


def verify(prolific: Prolific, participant: str, session: str) -> tuple[CheckOutcome, str]:
    """Ask whether a submission belongs to a participant; return the outcome and what was seen.

    A checker that does not answer is ``unknown``: its failure is never held against the rater.
    """
    try:
        answer = httpx.get(
            f"{prolific.api}/submissions/{quote(session, safe='')}/",
            headers={"Authorization": f"Token {prolific.token}"},
            timeout=prolific.timeout,
            verify=trust(),
        )
        found = answer.json() if answer.status_code == httpx.codes.OK else None
    except (httpx.HTTPError, ValueError) as error:
        return CheckOutcome.unknown, type(error).__name__
    if answer.status_code == httpx.codes.NOT_FOUND:
        return CheckOutcome.failed, "no such submission"
    if not isinstance(found, dict):
        return CheckOutcome.unknown, f"status {answer.status_code}"
    same = found.get("participant_id", found.get("participant")) == participant
    return (CheckOutcome.passed, "") if same else (CheckOutcome.failed, "another participant's submission")


def signed(secret: str, timestamp: str, body: bytes, signature: str) -> bool:
    """Whether a webhook carries Prolific's signature: base64 HMAC-SHA256 over timestamp and body."""
    wanted = base64.b64encode(hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest())
    return hmac.compare_digest(wanted, signature.encode())


def release_returned(database: Database, study: StudyKind, event_id: str, body: bytes, *, now: int) -> bool:
    """Free the task of a participant whose submission ended; return whether one was freed.

    An event that was delivered before changes nothing: the participant may have come back since.
    """
    try:
        event = json.loads(body)
    except ValueError:
        return False
    if not isinstance(event, dict) or event.get("status") not in ENDED:
        return False
    rater_id = find_by_identity(database, "prolific", str(event.get("participant_id", "")))
    insert = sqlite.insert if database.sqlite else postgresql.insert
    table = store.assignments
    with database.write() as connection:
        seen = insert(store.webhooks).values(event_id=event_id, received=now).on_conflict_do_nothing()
        if not connection.execute(seen).rowcount:
            return False
        leased = (table.c.rater_id == rater_id, table.c.study == study, table.c.state == AssignmentState.leased)
        held = connection.execute(sa.select(table.c.assignment_id).where(*leased)).scalars().all()
        for assignment_id in held:
            release(connection, assignment_id, AssignmentState.expired)
    return bool(held)
