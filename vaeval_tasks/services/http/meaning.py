"""What an HTTP answer or an error event means: one table for judges and for every provider.

An error is looked up by its own code first, then by its HTTP status, then by its words, so that the same event has the
same fate whether it comes with a status, inside HTTP 200 (``{"error": …}``, OpenRouter's documented form), in a stream
(``data: {"error": …}``) or over a WebSocket. Sources: the error pages of OpenAI, Azure, Anthropic, Google
(``google.rpc.Status``), OpenRouter, ElevenLabs, DashScope, Groq, DeepSeek; vLLM's ``{"object": "error"}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from vaeval_tasks.services.http.secrets import one_line
from vaeval_tasks.services.http.waits import asked_wait

__all__ = ["HttpMeaning", "HttpOutcome", "error_inside", "json_body", "of_close", "of_error", "of_response"]


class HttpMeaning(StrEnum):
    """What came of one request."""

    ok = "ok"
    busy = "busy"
    """Too many requests: wait, then ask again."""
    broken = "broken"
    """A fault of the server, or the connection broke off."""
    slow = "slow"
    """No answer in time."""
    unreachable = "unreachable"
    """Nobody is there."""
    unreadable = "unreadable"
    """An answer, but not in the form that was asked for."""
    empty = "empty"
    """An answer without words."""
    cut = "cut"
    """An answer that was cut off at the token limit."""
    interrupted = "interrupted"
    """The answer was broken off because the service heard, or was told of, something new."""
    expired = "expired"
    """The session's time is up; a fresh one has its own."""
    filtered = "filtered"
    """This request, or its answer, was filtered or declined."""
    bad_request = "bad_request"
    """This request will never be answered; another may be."""
    refused = "refused"
    """The key is not taken."""
    absent = "absent"
    """There is no such address, model or voice."""
    setting = "setting"
    """An option that every request has is not taken."""
    quota = "quota"
    """The account's quota or credit is used up."""

    @property
    def again(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self in _AGAIN

    @property
    def for_all(self) -> bool:
        """Whether every further request of this kind will meet the same."""
        return self in _FOR_ALL

    @property
    def silent(self) -> bool:
        """Whether this leaves open if the endpoint is there at all; any other answer shows that it is."""
        return self in _SILENT


_SILENT = frozenset({HttpMeaning.busy, HttpMeaning.broken, HttpMeaning.slow, HttpMeaning.unreachable})
_AGAIN = _SILENT | {HttpMeaning.unreadable, HttpMeaning.empty, HttpMeaning.interrupted, HttpMeaning.expired}
_FOR_ALL = frozenset({HttpMeaning.refused, HttpMeaning.absent, HttpMeaning.setting, HttpMeaning.quota})

_CODES: dict[HttpMeaning, str] = {
    HttpMeaning.quota: (
        "insufficient_quota quota_exceeded billing_hard_limit_reached billing_not_active payment_required "
        "insufficient_credits insufficient_balance arrearage free_trial_limit_reached servicequotaexceededexception"
    ),
    HttpMeaning.refused: (
        "invalid_api_key api_key_invalid authentication_error invalid_authentication unauthenticated unauthorized "
        "permission_denied permission_error missing_permissions account_deactivated invalidapikey needs_authorization "
        "unrecognizedclientexception invalidsignatureexception expiredtokenexception accessdeniedexception "
        "incompletesignature missingauthenticationtoken missingauthenticationtokenexception"
    ),
    HttpMeaning.absent: (
        "model_not_found voice_not_found not_found not_found_error notfounderror deploymentnotfound "
        "model_decommissioned model_not_available unsupported_model invalid_model resourcenotfoundexception"
    ),
    HttpMeaning.busy: (
        "rate_limit_exceeded rate_limit_error ratelimitexceeded rate_limited too_many_requests resource_exhausted "
        "too_many_concurrent_requests concurrent_limit_exceeded system_busy overloaded overloaded_error "
        "engine_overloaded unavailable slow_down throttling throttling.ratequota throttling.allocationquota "
        "throttlingexception modelnotreadyexception limit_requests limit_tokens"
    ),
    HttpMeaning.broken: (
        "internal deadline_exceeded internal_server_error service_unavailable internalserverexception "
        "serviceunavailableexception modelstreamerrorexception"
    ),
    HttpMeaning.slow: "modeltimeoutexception",
    HttpMeaning.expired: "session_expired session_timeout session_timed_out",
    HttpMeaning.filtered: (
        "content_filter content_policy_violation moderation_blocked data_inspection_failed datainspectionfailed "
        "responsibleaipolicyviolation invalid_prompt bio_policy misalignment_policy_violation "
        "image_content_policy_violation"
    ),
    HttpMeaning.bad_request: "context_length_exceeded string_above_max_length",
}
_BY_CODE = {code: meaning for meaning, codes in _CODES.items() for code in codes.split()}
_BY_KIND = {
    "invalid_request_error": HttpMeaning.bad_request,
    "invalid_argument": HttpMeaning.bad_request,
    "invalid_value": HttpMeaning.bad_request,
    "unsupported_parameter": HttpMeaning.bad_request,
    "unsupported_value": HttpMeaning.bad_request,
    "validationexception": HttpMeaning.bad_request,
    "server_error": HttpMeaning.broken,
    "api_error": HttpMeaning.broken,
}
"""Names that are too general to go before an HTTP status."""
_BY_STATUS = {
    401: HttpMeaning.refused,
    402: HttpMeaning.quota,
    403: HttpMeaning.refused,
    404: HttpMeaning.absent,
    405: HttpMeaning.absent,
    407: HttpMeaning.refused,
    408: HttpMeaning.busy,
    409: HttpMeaning.broken,
    410: HttpMeaning.absent,
    425: HttpMeaning.busy,
    429: HttpMeaning.busy,
}
_NAMES_A_SETTING = {"model": "model_not_found", "voice": "voice_not_found", "speaker": "voice_not_found"}
"""The parameter that an error names: it will be wrong in every request."""
_WORDS: tuple[tuple[HttpMeaning, frozenset[int | None], re.Pattern[str]], ...] = tuple(
    (meaning, frozenset(statuses), re.compile(pattern, re.IGNORECASE))
    for meaning, statuses, pattern in (
        (HttpMeaning.refused, (None, 400), r"(incorrect|invalid) api.key|api.key (is )?(not valid|invalid)"),
        (HttpMeaning.filtered, (None, 400, 403), r"content.?(filter|policy)|flagged|moderation"),
        (
            HttpMeaning.quota,
            (None, 403, 429),
            r"exceeded your current quota|(insufficient|out of) (credit|balance|quota|funds)|credit balance is too low"
            r"|(quota|limit|too many (tokens|requests))\b.*\bper day|limit: 0\b"
            r"|(quota|credits?|balance)\b.{0,30}\b(exhausted|used up|depleted)",
        ),
        (HttpMeaning.quota, (400,), r"credit balance is too low"),
        (HttpMeaning.busy, (None,), r"rate.?limit|too many requests|resource.?exhausted|overloaded|try again later"),
        (
            HttpMeaning.expired,
            (None,),
            r"session (has |is )?(expired|timed out)|(session|connection) duration|maximum duration",
        ),
        (
            HttpMeaning.absent,
            (None,),
            r"is not found for API version|\bmodel\b.{0,60}(not found|does not exist|is invalid)"
            r"|(invalid|unknown) voice|\bvoice\b.{0,60}not (found|known|supported|exist)",
        ),
        (HttpMeaning.bad_request, (None,), r"context length|context window"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOutcome:
    """What came of one request, in the words of the table."""

    meaning: HttpMeaning
    reason: str = ""
    """What the server said, on one line and without keys; "" for ``ok``."""
    code: str = ""
    """The provider's own name for the error."""
    wait_s: float | None = None
    """Seconds the server asks to be left alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ErrorBody:
    """An error as the providers write it, taken apart."""

    codes: tuple[str, ...] = ()
    """Most telling first, in lower case."""
    status: int | None = None
    message: str = ""
    details: tuple[Any, ...] = ()


def json_body(text: str) -> Any:
    """Return the JSON of a body; of an event stream the first event that is an error; None where there is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    for line in text.splitlines() if text.lstrip().startswith(("data:", "event:", ":")) else ():
        try:
            event = json.loads(line.removeprefix("data:")) if line.startswith("data:") else None
        except (ValueError, RecursionError):
            continue
        if error_inside(event) is not None:
            return event
    return None


def error_inside(body: Any) -> Any:
    """Return the error that a body holds although it came with HTTP 200, None where it holds none."""
    if isinstance(body, list) and len(body) == 1:
        body = body[0]  # Google's streams
    if not isinstance(body, dict):
        return None
    if body.get("error"):
        return body["error"]
    if body.get("object") == "error":
        return body
    if isinstance(body.get("detail"), dict) and "status" in body["detail"]:
        return body["detail"]
    if isinstance(body.get("code"), str) and isinstance(body.get("message"), str) and "choices" not in body:
        return body  # DashScope
    for choice in body["choices"] if isinstance(body.get("choices"), list) else ():
        if isinstance(choice, dict) and (choice.get("error") or choice.get("finish_reason") == "error"):
            return choice.get("error") or "the answer ended with an error"
    return None


def of_response(
    status: int, headers: Mapping[str, str], text: str, *, keys: tuple[str, ...] = (), now: float
) -> HttpOutcome:
    """Return what an HTTP response means.

    Args:
        status: of HTTP.
        headers: of the response.
        text: its body. Of a 2xx only an error inside it is looked for.
        keys: what was sent and must not be shown.
        now: seconds since 1970.
    """
    body = json_body(text)
    error = error_inside(body)
    if 200 <= status < 300:
        return HttpOutcome(meaning=HttpMeaning.ok) if error is None else of_error(error, keys=keys, now=now)
    if error is None and isinstance(body, dict):
        error = body.get("detail") or body
    found = _parts(error if error is not None else text)
    if 300 <= status < 400:
        found = _ErrorBody(message=f"the address has moved to {headers.get('location', 'another')}")
    return _outcome(found, status, f"HTTP {status}", found.message or text, headers, keys, now)


def of_error(
    error: Any, *, keys: tuple[str, ...] = (), now: float, where: str = "an error inside HTTP 200"
) -> HttpOutcome:
    """Return what an error without an HTTP status of its own means: inside HTTP 200, in a stream, in an event.

    Args:
        error: the provider's error: an object or a text.
        keys: what was sent and must not be shown.
        now: seconds since 1970.
        where: how the message begins.
    """
    found = _parts(error)
    where = f"{where} ({found.status})" if found.status else where
    return _outcome(found, found.status, where, found.message, {}, keys, now)


_CLOSED = {1003: HttpMeaning.bad_request, 1007: HttpMeaning.bad_request, 1009: HttpMeaning.bad_request}
"""Close codes of RFC 6455 that blame what was sent: data that is not taken, bad content, a message that is too big."""
_CLOSED_AS = {3000: 401, 3003: 403, 3008: 408}
"""Close codes registered for what HTTP has a status for; 4400 to 4599 are in use for 400 to 599."""


def of_close(code: int, reason: str, *, keys: tuple[str, ...] = (), now: float) -> HttpOutcome:
    """Return what it means that a WebSocket was closed before its work was done.

    What the reason says goes before the code: 1008 and 1011 stand for everything from a wrong key to used-up quota
    (Gemini). Without a telling reason it is a fault of the service, save for codes that blame the client.

    Args:
        code: the close code, 1006 where the connection was lost.
        reason: the text beside it.
        keys: what was sent and must not be shown.
        now: seconds since 1970.
    """
    status = _CLOSED_AS.get(code, code - 4000 if 4400 <= code < 4600 else None)
    found = _ErrorBody(codes=tuple(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", reason.lower())), message=reason)
    outcome = _outcome(found, status, "the session was closed", f"{code} {reason}".rstrip(), {}, keys, now)
    if status is None and outcome.meaning is HttpMeaning.broken:
        return replace(outcome, meaning=_CLOSED.get(code, HttpMeaning.broken))
    return outcome


def _outcome(
    found: _ErrorBody,
    status: int | None,
    where: str,
    said: str,
    headers: Mapping[str, str],
    keys: tuple[str, ...],
    now: float,
) -> HttpOutcome:
    wait = asked_wait(headers, found.details, found.message, now=now)
    meaning, code = _look_up(found, status, said, wait)
    tail = f" [{code}]" if code and code not in f"{where} {said}".lower() else ""
    return HttpOutcome(
        meaning=meaning,
        reason=one_line(f"{where}: {said}{tail}", *keys),
        code=code,
        wait_s=wait if meaning.again else None,
    )


def _look_up(found: _ErrorBody, status: int | None, said: str, wait: float | None) -> tuple[HttpMeaning, str]:
    first = found.codes[0] if found.codes else ""
    for code in found.codes:
        if code in _BY_CODE:
            meaning = _BY_CODE[code]
            return (_busy_or_used_up(found, said, wait), code) if meaning is HttpMeaning.busy else (meaning, code)
    for meaning, statuses, words in _WORDS:
        if status in statuses and words.search(said):
            return (_busy_or_used_up(found, said, wait) if meaning is HttpMeaning.quota else meaning), first
    if status is None:
        return next((_BY_KIND[code] for code in found.codes if code in _BY_KIND), HttpMeaning.broken), first
    if status in _BY_STATUS:
        meaning = _BY_STATUS[status]
        return (_busy_or_used_up(found, said, wait) if meaning is HttpMeaning.busy else meaning), first
    if status >= 500:
        return HttpMeaning.broken, first
    return (HttpMeaning.bad_request if status >= 400 else HttpMeaning.absent), first


def _busy_or_used_up(found: _ErrorBody, said: str, wait: float | None) -> HttpMeaning:
    """Tell a rate limit from a spent allowance: Google calls both RESOURCE_EXHAUSTED and "current quota"."""
    if "perday" in str(found.details).lower():  # quotaId: GenerateRequestsPerDayPerProjectPerModel
        return HttpMeaning.quota
    spent = any(words.search(said) for meaning, _, words in _WORDS if meaning is HttpMeaning.quota)
    return HttpMeaning.quota if wait is None and spent else HttpMeaning.busy


def _parts(error: Any) -> _ErrorBody:
    if not isinstance(error, dict):
        return _ErrorBody(message=_text(error))
    details = tuple(error["details"]) if isinstance(error.get("details"), list) else ()
    named = _NAMES_A_SETTING.get(str(error.get("param")), "")
    codes = [code.lower() for code in (*_codes(error, details), named) if code and not code.isdigit()]
    return _ErrorBody(
        codes=tuple(dict.fromkeys(codes)),
        status=next((int(c) for c in _codes(error, details) if re.fullmatch(r"[1-5]\d\d", c)), None),
        message=_message(error),
        details=details,
    )


def _codes(error: dict[str, Any], details: tuple[Any, ...]) -> Iterator[str]:
    for key in ("code", "status", "type"):
        if isinstance(error.get(key), str | int):
            yield str(error[key])
    yield from (d["reason"] for d in details if isinstance(d, dict) and isinstance(d.get("reason"), str))


def _message(error: dict[str, Any]) -> str:
    said = _text(error.get("message") or error.get("msg") or error)
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None  # OpenRouter: what the provider behind it said
    return f"{said} ({_text(raw)})" if raw else said


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
