"""AWS Signature Version 4 for a request whose body is a signed event stream.

Source: AWS General Reference, "Signature Version 4 signing process" and "Streaming" (each event is signed over the
signature before it, beginning with the request's).
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from vaeval_tasks.models.transport.eventstream import date_header

__all__ = ["STREAMING", "Credentials", "event_signature", "request_signature", "scope", "stamp"]

STREAMING = "STREAMING-AWS4-HMAC-SHA256-EVENTS"
"""Stands for the hash of a body that is signed event by event."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What requests are signed with."""

    access_key: str
    secret_key: str
    token: str = ""
    region: str = "us-east-1"
    service: str = "bedrock"

    def __repr__(self) -> str:
        """Say nothing of the keys."""
        return f"Credentials(region={self.region!r}, service={self.service!r})"


def stamp(milliseconds: int) -> str:
    """Return a time since 1970 as ``yyyymmddThhmmssZ``."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")


def scope(credentials: Credentials, when: str) -> str:
    """Return the credential scope of a time stamp."""
    return f"{when[:8]}/{credentials.region}/{credentials.service}/aws4_request"


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _key(credentials: Credentials, when: str) -> bytes:
    day = _hmac(b"AWS4" + credentials.secret_key.encode(), when[:8])
    return _hmac(_hmac(_hmac(day, credentials.region), credentials.service), "aws4_request")


def request_signature(
    credentials: Credentials, path: str, headers: dict[str, str], when: str, *, body: str = STREAMING
) -> str:
    """Sign a POST request.

    Args:
        credentials: the keys.
        path: as on the wire; the canonical form encodes it once more, as every service but S3 wants.
        headers: the signed ones, names in lower case.
        when: the time stamp, as in ``x-amz-date``.
        body: the hash of the body.

    Returns:
        The signature in hex.
    """
    names = sorted(headers)
    lines = [f"{name}:{headers[name].strip()}" for name in names]
    canonical = "\n".join(["POST", quote(path, safe="/-_.~"), "", *lines, "", ";".join(names), body])
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", when, scope(credentials, when), digest])
    return _hmac(_key(credentials, when), text).hex()


def event_signature(credentials: Credentials, prior: str, milliseconds: int, payload: bytes) -> bytes:
    """Sign one event of a stream over the signature before it (hex); returns 32 bytes."""
    when = stamp(milliseconds)
    digests = [hashlib.sha256(part).hexdigest() for part in (date_header(milliseconds), payload)]
    text = "\n".join(["AWS4-HMAC-SHA256-PAYLOAD", when, scope(credentials, when), prior, *digests])
    return _hmac(_key(credentials, when), text)
