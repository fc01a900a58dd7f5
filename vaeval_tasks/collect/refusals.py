"""What the server answers when it does not do what was asked."""

from __future__ import annotations

import json
from typing import Any, NoReturn

__all__ = ["Refused", "parse_json"]


class Refused(Exception):
    """A request that is refused; it becomes a response with ``status`` and nothing is written.

    ===  ==================================================================================
    401  no session; enter by your link
    403  the request comes from another site, or the session may not do this
    404  no such task, clip or page *for this rater* (never tells whether it exists for another)
    409  the state has moved on: already submitted, locked, or another key or body
    410  the lease is over; the task has gone to somebody else
    413  too long
    416  a range that cannot be served
    422  the content is wrong; ``detail`` names what
    429  too many tries
    ===  ==================================================================================
    """

    def __init__(self, status: int, reason: str, message: str, **detail: Any) -> None:
        super().__init__(message)
        self.status, self.reason, self.message, self.detail = status, reason, message, detail

    def body(self) -> dict[str, Any]:
        """Return the JSON body of the response."""
        return {"error": self.reason, "message": self.message, **self.detail}


def parse_json(raw: bytes) -> Any:
    """Read a request's body.

    Raises:
        Refused: 422, it is not JSON; NaN and infinities are not.
    """
    try:
        return json.loads(raw, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Refused(422, "bad_json", "the body is not JSON") from None


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)
