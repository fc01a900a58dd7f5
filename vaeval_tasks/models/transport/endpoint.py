"""Where a request goes, and with which headers: a configuration's ``connection`` may add to both."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from vaeval_tasks.models.providers import OWN_KEY, address, own_headers, secret
from vaeval_tasks.store.schema import ModelConfig

__all__ = ["endpoint", "request_headers"]

_SOCKETS = {"http": "ws", "https": "wss"}
_REQUESTS = {socket: request for request, socket in _SOCKETS.items()}


def endpoint(
    config: ModelConfig,
    path: str,
    *,
    key: str = "base_url",
    socket: bool = False,
    query: Mapping[str, str] | None = None,
) -> str:
    """Return the address of one service: the configured base, the path, and the query of all three sources.

    Args:
        config: the configuration; its ``connection`` may hold a ``query``.
        path: from the base on.
        key: of ``connection``, which holds the base; a query in it stays.
        socket: whether it is a WebSocket; ``https`` and ``wss`` mean the same in a base.
        query: what the protocol asks for; quoted here.

    Raises:
        InputError: there is no address.
    """
    base = urlsplit(address(config, key))
    kinds = _SOCKETS if socket else _REQUESTS
    asked = {
        **dict(parse_qsl(base.query, keep_blank_values=True)),
        **(config.connection.get("query") or {}),
        **(query or {}),
    }
    return urlunsplit(
        (
            kinds.get(base.scheme, base.scheme),
            base.netloc,
            base.path.rstrip("/") + path,
            urlencode(asked, quote_via=quote, safe=""),
            "",
        )
    )


def request_headers(
    config: ModelConfig, header: str, variable: str, form: str = "{}", *, required: bool = True
) -> dict[str, str]:
    """Return the headers of a request: the provider's key, unless ``connection.headers`` bring one of their own.

    Args:
        config: the configuration.
        header: that the provider's key belongs into.
        variable: of the environment, that holds the key.
        form: how the key stands in the header.
        required: whether there must be a key.

    Raises:
        InputError: a variable is not set.
    """
    given = own_headers(config)
    if OWN_KEY & {name.lower() for name in given}:
        return given
    if not required and not os.environ.get(variable, "").strip():
        return given
    return {header: form.format(secret(variable, config)), **given}
