"""Connections through the proxy that the environment names (RFC 9110, section 9.3.6, CONNECT)."""

from __future__ import annotations

import asyncio
import base64
import ssl
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

__all__ = ["open_secure"]


async def open_secure(
    host: str, port: int, context: ssl.SSLContext
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a TLS connection, through ``HTTPS_PROXY`` where it is set and ``NO_PROXY`` does not name the host.

    Raises:
        OSError: nobody is there, the certificate is not trusted, or the proxy refuses or is no HTTP proxy.
    """
    proxy = "" if proxy_bypass(host) else getproxies().get("https", "")
    if not proxy:
        return await asyncio.open_connection(host, port, ssl=context, server_hostname=host)
    where = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if where.scheme != "http":
        raise OSError(f"HTTPS_PROXY: a proxy of the kind {where.scheme}:// is not spoken to; give one with http://")
    reader, writer = await asyncio.open_connection(where.hostname or "", where.port or 80)
    try:
        await _connect(reader, writer, where, f"{host}:{port}")
        await writer.start_tls(context, server_hostname=host)
    except BaseException:
        writer.close()
        raise
    return reader, writer


async def _connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, proxy: SplitResult, target: str) -> None:
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.username is not None:
        pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
        lines.append(f"Proxy-Authorization: Basic {base64.b64encode(pair).decode()}")
    writer.write("\r\n".join([*lines, "", ""]).encode())
    await writer.drain()
    place = f"the proxy {proxy.hostname}:{proxy.port or 80}"
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        raise OSError(f"{place} does not answer as an HTTP proxy") from None
    status = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
    if len(status) < 2 or not status[1].startswith("2"):
        raise OSError(f"{place} refused: {' '.join(status[1:]) or 'no status'}")
