"""A content judge behind any OpenAI-compatible ``/chat/completions`` endpoint (paper: gpt-oss-20b)."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.metrics.backends import JudgeItem, Scored
from vaeval_tasks.metrics.common import short, signature
from vaeval_tasks.metrics.content_judge_prompts import Prompts, family, load_prompts, parse_verdict
from vaeval_tasks.progress import tracked
from vaeval_tasks.services.http.breaker import Breaker
from vaeval_tasks.services.http.chat import ChatAnswer, ChatClient, ChatOptions

__all__ = ["DEFAULT_MODEL", "DEFAULT_OPTIONS", "ChatContentJudge", "ask_all", "not_asked"]

DEFAULT_MODEL = "gpt-oss-20b"
DEFAULT_OPTIONS = ChatOptions(model=DEFAULT_MODEL, max_tokens=8192, concurrency=8)
"""Room for a reasoning model's thinking and verdict together."""
T = TypeVar("T")


class ChatContentJudge:
    """Ask a language model for each verdict.

    One item's failure (content filter, refusal, no verdict, time-outs) leaves that item without a verdict, whatever
    becomes of the others. What the endpoint says about every item (no such key, model or address, quota used up, a
    wait of hours) ends the batch; verdicts that came before are returned.

    Args:
        url: the endpoint's base, such as ``http://localhost:8000/v1``.
        options: the model's name there, and how it is asked.
        prompts: a folder of prompts instead of our own, see :func:`load_prompts`.
        sleep: waits between attempts, in seconds.

    The key is read from ``VAEVAL_JUDGE_API_KEY``, else ``OPENAI_API_KEY``; it is sent and never shown.
    """

    def __init__(
        self,
        url: str,
        options: ChatOptions = DEFAULT_OPTIONS,
        *,
        prompts: str | Path | None = None,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self._client = ChatClient(url, options, sleep=sleep, say=lambda text: tqdm.write(text, file=sys.stderr))
        self._prompts: Prompts = load_prompts(prompts)

    @property
    def signature(self) -> str:
        """Model, temperature that is asked for and the checksum of the prompts; the address is where, not what."""
        options = self._client.options
        temperature = "none" if options.temperature is None else f"{options.temperature:g}"
        return signature("judge-llm", model=options.model, prompts=short(self._prompts.sha256), temperature=temperature)

    def judge(self, items: Sequence[JudgeItem]) -> list[Scored]:
        """Return a verdict for each item.

        Raises:
            ServiceError: the judge is not there, or will answer none of the items.
            InputError: the key cannot be sent.
        """
        answers, why = ask_all(self._client, items, self._ask)
        return [_scored(item, answer, why) for item, answer in zip(items, answers, strict=True)]

    def _ask(self, item: JudgeItem) -> ChatAnswer:
        return self._client.ask([{"role": "user", "content": self._prompts.render(item)}])


def ask_all(
    client: ChatClient, items: Sequence[T], ask: Callable[[T], ChatAnswer]
) -> tuple[list[ChatAnswer | None], str]:
    """Ask a judge about every item, as many at a time as the client has connections, and close the client.

    Returns:
        The answers, None for what was not asked, and why it was not.

    Raises:
        ServiceError: the judge is not there, or will answer none of the items.
        InputError: the key cannot be sent.
    """
    breaker = client.breaker()

    def one(item: T) -> ChatAnswer | None:
        if breaker.reason:
            return None
        answer = ask(item)
        if answer.stop:
            breaker.open(answer.stop)
        else:
            breaker.note(answer.outcome)
        return answer

    pool = ThreadPoolExecutor(client.options.concurrency)
    try:
        answers = list(tracked(pool.map(one, items), "judge", "item", total=len(items)))
        _check(client, answers, breaker)
        return answers, breaker.reason
    finally:
        # an error or Ctrl-C must not wait for thousands of queued requests
        breaker.open("interrupted")
        client.close()
        pool.shutdown(wait=False, cancel_futures=True)


def _check(client: ChatClient, answers: Sequence[ChatAnswer | None], breaker: Breaker) -> None:
    """Raise where no answer came because of the endpoint; say so where only the rest was not asked."""
    where = f"{client.who} at {client.url}"
    asked = [answer for answer in answers if answer is not None]
    if not any(answer.reached for answer in asked):
        for answer in asked:
            if answer.stop:
                raise client.refusal(answer)
        if asked and breaker.gone():
            raise ServiceError(f"{where} gave no answer: {breaker.reason}")
    if breaker.reason:
        missing = sum(answer is None or not answer.reached for answer in answers)
        logging.getLogger(__name__).warning(
            "%s stopped answering, %d items have no verdict: %s", where, missing, breaker.reason
        )


def not_asked(why: str) -> str:
    """Return the detail of an item that a judge was not asked about."""
    return f"not asked, the judge had stopped answering ({why})"


def _scored(item: JudgeItem, answer: ChatAnswer | None, why: str) -> Scored:
    if answer is None:
        return Scored(value=None, detail=not_asked(why))
    if not answer.ok:
        return Scored(value=None, detail=answer.reason)
    return parse_verdict(answer.text, family(item.task))
