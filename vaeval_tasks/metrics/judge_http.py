"""A judge behind any OpenAI-compatible ``/chat/completions`` endpoint (paper: gpt-oss-20b)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import httpx
from tqdm import tqdm

from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.metrics.backends import JudgeItem, Scored
from vaeval_tasks.metrics.chat_http import (
    HOPELESS,
    MAX_WAIT_S,
    TRY_AGAIN,
    api_key,
    json_object,
    retry_after,
    said,
    shown,
)
from vaeval_tasks.metrics.common import short, signature
from vaeval_tasks.metrics.judge_prompts import Prompts, family, load_prompts, parse_verdict

__all__ = ["DEFAULT_MODEL", "HttpJudge"]

DEFAULT_MODEL = "gpt-oss-20b"
_GIVE_UP_AFTER = 8
"""So many requests in a row without any answer, and the rest are not tried."""


class _Outcome(StrEnum):
    answered = "answered"
    failed = "failed"
    """No usable HTTP answer, after all retries."""
    refused_connection = "refused_connection"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    outcome: _Outcome
    scored: Scored


class HttpJudge:
    """Ask a language model for each verdict.

    One item's failure (content filter, refusal, no verdict, time-outs) leaves that item without a verdict. If no item
    gets an answer, or the endpoint rejects the key, the model or the address, the whole batch raises.

    Args:
        url: the endpoint's base, such as ``http://localhost:8000/v1``.
        model: the model's name there.
        prompts: a folder of prompts instead of our own, see :func:`load_prompts`.
        max_tokens: for thinking and verdict together; a reasoning model needs room.
        concurrency: requests at a time.
        timeout: seconds for one request.
        retries: further attempts after HTTP 429, 5xx, time-outs and lost connections.
        sleep: waits between attempts, in seconds.

    The key is read from ``VAEVAL_JUDGE_API_KEY``, else ``OPENAI_API_KEY``; it is sent and never shown.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str = DEFAULT_MODEL,
        prompts: str | Path | None = None,
        max_tokens: int = 8192,
        concurrency: int = 8,
        timeout: float = 180.0,
        retries: int = 4,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise InputError(f"the judge's address must start with http:// or https://, got {url!r}")
        try:
            base = str(httpx.URL(url)).rstrip("/")
        except httpx.InvalidURL as error:
            raise InputError(f"the judge's address {url!r} is no URL ({error})") from None
        self._url = base if base.endswith("/chat/completions") else f"{base}/chat/completions"
        self._model = model
        self._prompts: Prompts = load_prompts(prompts)
        self._max_tokens = max_tokens
        self._concurrency = concurrency
        self._timeout = timeout
        self._retries = retries
        self._sleep = sleep

    @property
    def signature(self) -> str:
        """Model and the checksum of the prompts; the address is where, not what."""
        return signature("judge-llm", model=self._model, prompts=short(self._prompts.sha256), temperature=0)

    def judge(self, items: Sequence[JudgeItem]) -> list[Scored]:
        """Return a verdict for each item.

        Raises:
            ServiceError: the judge could not be reached, or refused the key, the model or the address.
        """
        breaker = _Breaker()
        key = api_key()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        limits = httpx.Limits(max_connections=self._concurrency)
        with httpx.Client(headers=headers, timeout=self._timeout, limits=limits) as client:
            pool = ThreadPoolExecutor(self._concurrency)
            try:
                done = pool.map(lambda item: self._ask(client, item, breaker), items)
                replies = list(tqdm(done, total=len(items), desc="judge", unit="item", disable=None))
            finally:
                # an error or Ctrl-C must not wait for thousands of queued requests
                breaker.open("interrupted")
                pool.shutdown(wait=False, cancel_futures=True)
        if replies and all(reply.outcome is not _Outcome.answered for reply in replies):
            raise ServiceError(f"the judge at {self._url} gave no answer: {replies[0].scored.detail}")
        return [reply.scored for reply in replies]

    def _ask(self, client: httpx.Client, item: JudgeItem, breaker: _Breaker) -> _Reply:
        if breaker.reason:
            return _failed(f"not asked, the judge had stopped answering ({breaker.reason})")
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": self._prompts.render(item)}],
            "temperature": 0,
            "max_tokens": self._max_tokens,
        }
        reply = _failed("not asked")
        for attempt in range(self._retries + 1):
            wait = min(2.0**attempt, MAX_WAIT_S)
            try:
                response = client.post(self._url, json=body)
            except httpx.ConnectError as error:
                reply = _failed(f"no connection ({error})", _Outcome.refused_connection)
            except httpx.RequestError as error:
                reply = _failed(f"{type(error).__name__} ({error})")
            else:
                if response.status_code in HOPELESS:
                    raise ServiceError(f"the judge at {self._url} refused: {said(response)}")
                if response.status_code not in TRY_AGAIN and response.status_code < 500:
                    reply = _read(response, item)
                    break
                reply = _failed(said(response))
                wait = retry_after(response, wait)
            if breaker.reason or attempt == self._retries:
                break
            self._sleep(wait)
        breaker.note(reply)
        return reply


class _Breaker:
    """Stops asking once the endpoint is plainly gone."""

    def __init__(self) -> None:
        self.reason = ""
        self._in_a_row = 0
        self._lock = threading.Lock()

    def open(self, reason: str) -> None:
        self.reason = self.reason or reason

    def note(self, reply: _Reply) -> None:
        with self._lock:
            self._in_a_row = 0 if reply.outcome is _Outcome.answered else self._in_a_row + 1
            if reply.outcome is _Outcome.refused_connection or self._in_a_row >= _GIVE_UP_AFTER:
                self.open(reply.scored.detail)


def _failed(detail: str, outcome: _Outcome = _Outcome.failed) -> _Reply:
    return _Reply(outcome=outcome, scored=Scored(value=None, detail=detail))


def _read(response: httpx.Response, item: JudgeItem) -> _Reply:
    """Turn a final HTTP answer into a verdict or the reason there is none."""
    if response.status_code != httpx.codes.OK:
        reason = said(response)
        filtered = "content_filter" in response.text or "content_policy" in response.text
        return _failed(reason, _Outcome.answered if filtered else _Outcome.failed)
    try:
        choice = json_object(response)["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        content = message.get("content") or ""
        refusal = message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError):
        return _failed(f"not a chat completion: {shown(response, response.text)}")
    if refusal:
        return _failed(f"the judge refused: {refusal}", _Outcome.answered)
    if finish == "content_filter":
        return _failed("the judge's answer was filtered", _Outcome.answered)
    if finish == "length":
        return _failed("the judge's answer was cut off; raise max_tokens", _Outcome.answered)
    if not isinstance(content, str) or not content.strip():
        return _failed("the judge's answer was empty", _Outcome.answered)
    return _Reply(outcome=_Outcome.answered, scored=parse_verdict(content, family(item.task)))
