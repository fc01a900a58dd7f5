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
from vaeval_tasks.metrics.content_judge_prompts import (
    VERDICT_RULE,
    Prompts,
    family,
    load_prompts,
    parse_verdict,
    reminder,
    structured_form,
    structured_schema,
)
from vaeval_tasks.progress import tracked
from vaeval_tasks.services.http.breaker import Breaker
from vaeval_tasks.services.http.chat import ChatAnswer, ChatClient, ChatOptions
from vaeval_tasks.services.http.meaning import HttpMeaning
from vaeval_tasks.services.http.request_options import request_facts

__all__ = ["DEFAULT_MODEL", "DEFAULT_OPTIONS", "ChatContentJudge", "ask_all", "not_asked"]

DEFAULT_MODEL = "gpt-oss-20b"
DEFAULT_OPTIONS = ChatOptions(model=DEFAULT_MODEL, max_tokens=8192, concurrency=8)
"""Room for a reasoning model's thinking and verdict together."""
_EASY = JudgeItem(
    task="listening_general",
    question="How many legs has a spider?",
    answer="A spider has eight legs.",
    references=("8",),
)
_ADVICE = {
    HttpMeaning.cut: "; give it more tokens (judge_max_tokens) or less effort (judge_reasoning_effort)",
    HttpMeaning.bad_request: "; see the options of the judge: judge_max_tokens, judge_extra_body",
}
T = TypeVar("T")


class ChatContentJudge:
    """Ask a language model for each verdict.

    A reply without one clear verdict is asked for once more, with a reminder. One item's failure (content filter,
    refusal, no verdict, time-outs) leaves that item without a verdict, whatever becomes of the others. What the
    endpoint says about every item (no such key, model or address, quota used up, a wait of hours) ends the batch;
    verdicts that came before are returned.

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
        return signature(
            "judge-llm",
            model=options.model,
            prompts=short(self._prompts.sha256),
            temperature="none" if options.temperature is None else f"{options.temperature:g}",
            verdicts=VERDICT_RULE,
            **request_facts(options, DEFAULT_OPTIONS),
        )

    def ready(self) -> str:
        """Ask about one easy item with the very options of all others, and return what is odd about the reply.

        Raises:
            ServiceError: the judge is not there, refuses us, or does not take requests such as ours.
            InputError: the key cannot be sent.
        """
        client = self._client
        try:
            answer = self._ask(_EASY)
        finally:
            client.close()
        if answer.stop:
            raise client.refusal(answer)
        if not answer.ok:
            advice = _ADVICE.get(answer.outcome.meaning, "")
            raise ServiceError(
                f"{client.who} at {client.url} gave no answer to a test question: {answer.reason}{advice}"
            )
        found = parse_verdict(answer.text, family(_EASY.task))
        if found.value is None:
            return f"of a test question there is {found.detail}"
        return "" if found.value else "it called a right answer wrong, in a test question that a child could judge"

    def judge(self, items: Sequence[JudgeItem]) -> list[Scored]:
        """Return a verdict for each item.

        Raises:
            ServiceError: the judge is not there, or will answer none of the items.
            InputError: the key cannot be sent.
        """
        answers, why = ask_all(self._client, items, self._ask)
        return [_scored(item, answer, why) for item, answer in zip(items, answers, strict=True)]

    def _ask(self, item: JudgeItem) -> ChatAnswer:
        kind, structured = family(item.task), self._client.options.structured
        return self._client.ask_reminding(
            [{"role": "user", "content": self.question(item)}],
            lambda text: "" if (found := parse_verdict(text, kind)).value is not None else found.detail,
            reminder(kind, structured),
            schema=structured_schema(kind),
        )

    def question(self, item: JudgeItem) -> str:
        """Return what is asked about an item."""
        asked = self._prompts.render(item)
        return f"{asked}\n{structured_form(family(item.task))}" if self._client.options.structured else asked


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
    if not breaker.reason and any(answer.outcome.meaning.silent for answer in asked):
        breaker.gone()  # were these items the trouble, or the endpoint?
    if not any(answer.reached for answer in asked):
        for answer in asked:
            if answer.stop:
                raise client.refusal(answer)
        if asked and breaker.reason:
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
        return Scored(value=None, detail=not_asked(why), again=True)
    if not answer.ok:
        return Scored(value=None, detail=answer.reason, again=answer.later or (bool(why) and not answer.reached))
    return parse_verdict(answer.text, family(item.task))
