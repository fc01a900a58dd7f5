"""Replies of the cascade's legs as typed records: ElevenLabs' speech to text, OpenAI's Responses.

Shapes: ``SpeechToTextChunkResponseModel`` of the ``elevenlabs`` package, ``Response`` of the ``openai`` package.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from vaeval_tasks.models.adapters.uses import Use
from vaeval_tasks.models.said import split_thoughts
from vaeval_tasks.models.transport.edge import fit
from vaeval_tasks.models.turn import Answer
from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome, of_error

__all__ = ["ITEMS", "STATUSES", "read_responses", "read_transcript"]

STATUSES: dict[str, Use] = {
    "completed": Use.end,
    "incomplete": Use.refuse,
    "failed": Use.refuse,
    "cancelled": Use.refuse,
    "in_progress": Use.refuse,
    "queued": Use.refuse,
}
"""The states of a response, and what is done with one."""

ITEMS: dict[str, Use] = {
    "message": Use.use,
    "reasoning": Use.record,
    **dict.fromkeys(
        "file_search_call function_call function_call_output web_search_call computer_call computer_call_output "
        "program program_output tool_search_call tool_search_output additional_tools compaction image_generation_call "
        "code_interpreter_call local_shell_call local_shell_call_output shell_call shell_call_output apply_patch_call "
        "apply_patch_call_output mcp_call mcp_list_tools mcp_approval_request mcp_approval_response custom_tool_call "
        "custom_tool_call_output".split(),
        Use.ignore,
    ),
}
"""The items of a response, and what is done with each: no tools are offered."""


class _Transcript(msgspec.Struct, frozen=True):
    text: str


class _Kind(msgspec.Struct, frozen=True):
    type: str = ""


class _Part(msgspec.Struct, frozen=True):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Spoken(msgspec.Struct, frozen=True):
    phase: str | None = None
    content: list[_Part] | None = None


class _Incomplete(msgspec.Struct, frozen=True):
    reason: str | None = None


class _Reply(msgspec.Struct, frozen=True):
    status: str | None = None
    output: list[dict[str, Any]] | None = None
    error: Any = None
    incomplete_details: _Incomplete | None = None
    usage: dict[str, Any] | None = None


def read_transcript(body: dict[str, Any]) -> str:
    """Return the words of a recording.

    Raises:
        BadMessageError: there is no text in the reply; "no words" is the empty text.
    """
    return fit(body, _Transcript, "speech-to-text").text.strip()


def read_responses(body: dict[str, Any], answer: Answer, fail: Callable[[HttpOutcome], Exception]) -> None:
    """Take the words of a response into the answer: every message but commentary, without what was thought.

    Raises:
        BadMessageError: a field is not what it must be.
        ServiceError, TurnError: the response failed, or the model refused.
    """
    reply = fit(body, _Reply, "responses")
    answer.usage["llm"] = reply.usage or {}
    spoken: list[_Spoken] = []
    for item in reply.output or []:
        if fit(item, _Kind, "responses.output").type == "message":
            spoken.append(fit(item, _Spoken, "responses.output.message"))
    final = [part for one in spoken if one.phase != "commentary" for part in one.content or []]
    aside = [part for one in spoken if one.phase == "commentary" for part in one.content or []]
    _check(reply, answer, fail)
    if refusals := [part.refusal or "" for part in final if part.type == "refusal"]:
        said = f"the language model refused: {' '.join(refusals)}"
        raise fail(HttpOutcome(meaning=HttpMeaning.filtered, reason=said))
    answer.text, thoughts = split_thoughts(_text(final))
    answer.thoughts = "\n".join(filter(None, (answer.thoughts, _text(aside).strip(), thoughts)))


def _text(parts: list[_Part]) -> str:
    return "".join(part.text or "" for part in parts if part.type == "output_text")


def _check(reply: _Reply, answer: Answer, fail: Callable[[HttpOutcome], Exception]) -> None:
    """Find out whether the response is a whole one."""
    if reply.status in ("completed", None):
        return
    reason = (reply.incomplete_details.reason if reply.incomplete_details else None) or ""
    if reply.status == "incomplete" and reason == "max_output_tokens":
        answer.add_note("the answer was cut at the length limit")
        return
    said = f"the language model's response is {reply.status} ({reason or 'no reason given'})"
    if reply.error is not None:
        raise fail(of_error(reply.error, now=time.time(), where=said))
    if reason == "content_filter":
        raise fail(HttpOutcome(meaning=HttpMeaning.filtered, reason=said))
    meaning = HttpMeaning.interrupted if reply.status == "cancelled" else HttpMeaning.broken
    raise fail(HttpOutcome(meaning=meaning, reason=said))
