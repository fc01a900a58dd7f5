"""Keys: read from the environment, sent, and never shown, also where a server repeats them."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import quote, urlsplit, urlunsplit

from vaeval_tasks.errors import InputError

__all__ = ["env_key", "keys_of", "one_line", "scrub", "shown_url", "trust"]

_SHORTEST_SECRET = 4
"""What is shorter protects nothing, and hiding it would make holes in every message."""
_LONGEST_LINE = 300
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)


def env_key(names: Iterable[str]) -> str:
    """Return the first key that is set in the environment, "" without one.

    Args:
        names: environment variables, the first one wins.

    Raises:
        InputError: it cannot be sent in a header; the message does not show it.
    """
    for name in names:
        if key := os.environ.get(name, "").strip():
            if not (key.isascii() and key.isprintable()):
                raise InputError(f"the key in ${name} holds characters that no key has; set it again")
            return key
    return ""


def keys_of(headers: Mapping[str, str] | None) -> tuple[str, ...]:
    """Return what must not be shown of request headers or a query: each value whose name says that it is secret."""
    values = [value for name, value in (headers or {}).items() if _SECRET_HEADER.search(name)]
    return tuple(re.sub(r"^(Bearer|Basic|Token) ", "", value) for value in values)


def scrub(text: str, *keys: str) -> str:
    """Return the text without the keys, as they are and as they stand in a URL."""
    forms = {form for key in keys if len(key) >= _SHORTEST_SECRET for form in (key, quote(key, safe=""))}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, "***")
    return text


def one_line(text: str, *keys: str) -> str:
    """Return what a server says on one line, short enough for a table and without the keys."""
    line = " ".join(scrub(text, *keys).split())  # first the keys: a cut one would no longer be found
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"


def shown_url(url: str) -> str:
    """Return an address without the password and the query it may carry a key in."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


@lru_cache(maxsize=4)
def _trust(_bundle: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not _bundle and not context.cert_store_stats()["x509_ca"]:
        import certifi

        context.load_verify_locations(certifi.where())  # a Python that came without certificates, as on macOS
    return context


def trust() -> ssl.SSLContext:
    """Return the TLS settings of every client: the system's certificates, or those of ``SSL_CERT_FILE``.

    Made once: reading the certificates costs more than a call on loopback.
    """
    return _trust(os.environ.get("SSL_CERT_FILE", ""))
