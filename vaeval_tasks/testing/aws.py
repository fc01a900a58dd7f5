"""What Bedrock's fake checks, with code of its own and not the package's: signatures and event-stream frames."""

from __future__ import annotations

import binascii
import hashlib
import hmac
import struct
from typing import Any
from urllib.parse import quote

from vaeval_tasks.testing.server import KEY


def demand(holds: bool, what: str) -> None:
    """Break the connection over what no client may send; the fake's task shows why."""
    if not holds:
        raise ValueError(what)


def hmac_sha256(key: bytes, text: str) -> bytes:
    """Return the HMAC of a text."""
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signing_key(secret: str, day: str, region: str) -> bytes:
    """Return the day's signing key, as SigV4 derives it."""
    key = hmac_sha256(b"AWS4" + secret.encode(), day)
    for part in (region, "bedrock", "aws4_request"):
        key = hmac_sha256(key, part)
    return key


def expected_request_signature(headers: dict[str, str]) -> tuple[str, str]:
    """Return the signature a request must carry, and the one it does."""
    authorization = headers["authorization"]
    names = authorization.split("SignedHeaders=")[1].split(",")[0].split(";")
    region = authorization.split("Credential=")[1].split("/")[2]
    given = authorization.split("Signature=")[1]
    known = {**headers, "host": headers[":authority"]}
    lines = [f"{name}:{known[name].strip()}\n" for name in names]
    path = quote(headers[":path"], safe="/-_.~")
    canonical = f"POST\n{path}\n\n{''.join(lines)}\n{';'.join(names)}\n{headers['x-amz-content-sha256']}"
    when = headers["x-amz-date"]
    scope = f"{when[:8]}/{region}/bedrock/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{when}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    return hmac_sha256(signing_key(KEY, when[:8], region), text).hex(), given


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """Return an event-stream frame with text headers and both checksums."""
    block = b"".join(
        bytes([len(k)]) + k.encode() + b"\x07" + struct.pack(">H", len(v.encode())) + v.encode()
        for k, v in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(block) + len(payload), len(block))
    body = prelude + struct.pack(">I", binascii.crc32(prelude)) + block + payload
    return body + struct.pack(">I", binascii.crc32(body))


def unframe(data: bytes) -> tuple[list[tuple[dict[str, Any], bytes, bytes]], bytes]:
    """Return complete frames as (headers, payload, the raw date header), and the rest."""
    found = []
    while len(data) >= 12:
        total, size = struct.unpack(">II", data[:8])
        demand(binascii.crc32(data[:8]) == struct.unpack(">I", data[8:12])[0], "prelude checksum")
        if len(data) < total:
            break
        body, data = data[:total], data[total:]
        demand(binascii.crc32(body[:-4]) == struct.unpack(">I", body[-4:])[0], "message checksum")
        headers: dict[str, Any] = {}
        raw_date, at = b"", 12
        while at < 12 + size:
            start = at
            name = body[at + 1 : at + 1 + body[at]].decode()
            at += 1 + body[at]
            kind = body[at]
            at += 1
            if kind == 8:
                headers[name] = struct.unpack(">q", body[at : at + 8])[0]
                at += 8
                raw_date = body[start:at]
            else:
                (length,) = struct.unpack(">H", body[at : at + 2])
                value = body[at + 2 : at + 2 + length]
                headers[name] = value.decode() if kind == 7 else value
                at += 2 + length
        found.append((headers, body[12 + size : -4], raw_date))
    return found, data
