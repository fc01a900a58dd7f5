"""What leaves the collection carries no name: keyed pseudonyms, and texts without addresses and numbers."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from typing import Any

from vaeval_tasks.store.records_csv import whole_text

__all__ = ["REMOVED", "payload", "pseudonym", "without_addresses"]

REMOVED = "[removed]"

_ADDRESSES = re.compile(
    r"""
      [\w.+-]+@[\w-]+(?:\.[\w-]+)+                  # e-mail
    | (?:https?://|www\.)\S+                        # web
    | \b(?:\d{1,3}\.){3}\d{1,3}\b                   # IPv4
    | \b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}\b      # IPv6
    | \b[0-9a-f]{24}\b                              # Prolific and other panel ids
    | \+?\(?\d[\d\s()./-]{6,}\d                     # telephone
    | (?<!\w)@\w{3,}                                # handle
    """,
    re.VERBOSE | re.IGNORECASE,
)

_NUMBERS = ("from", "to", "n", "position", "rate", "volume", "muted", "code")
_TEXTS = ("part", "reason")


def pseudonym(secret: str, rater_id: str) -> str:
    """Return the name a rater has in exports: a keyed hash (HMAC-SHA256) of the id in the database.

    Without the key, which stays in the private database, an export cannot be joined with anything else.
    """
    return "r" + hmac.new(secret.encode(), rater_id.encode(), hashlib.sha256).hexdigest()[:16]


def without_addresses(text: str) -> str:
    """Return a text with e-mail, web and IP addresses, panel ids, telephone numbers and handles as ``[removed]``.

    Names cannot be found this way: comments should be read before they are published.
    """
    return _ADDRESSES.sub(REMOVED, whole_text(text))


def payload(text: str) -> dict[str, Any]:
    """Return the known keys of an event's JSON, texts without addresses; whatever else a page sent stays behind."""
    sent = json.loads(text)
    numbers = {k: sent[k] for k in _NUMBERS if isinstance(sent.get(k), bool | int | float)}
    return numbers | {k: without_addresses(sent[k]) for k in _TEXTS if isinstance(sent.get(k), str)}
