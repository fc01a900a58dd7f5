"""The tables of events are those of the official packages and of the documentation, and the README shows them."""

from __future__ import annotations

import re
import typing
from pathlib import Path

import pytest

import vaeval_tasks
from vaeval_tasks.models.adapters import cascade_replies, chat_reply, gemini_events, nova_events, realtime_events
from vaeval_tasks.models.adapters.uses import Use
from vaeval_tasks.models.fate import FATES

README = (Path(vaeval_tasks.__file__).parent / "models/adapters/README.md").read_text("utf-8")


def shown(title: str) -> dict[str, str]:
    """Return a table of the README: the names of each row, and what stands in its last column."""
    section = README.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    found: dict[str, str] = {}
    for row in re.findall(r"^\| (.*) \|$", section, re.MULTILINE):
        *names, last = row.split(" | ")
        for name in re.findall(r"`([^`]+)`", names[0]):
            assert name not in found, f"{name} stands twice"
            found[name] = last.strip("`")
    return found


@pytest.mark.parametrize(
    ("title", "table"),
    [
        ("OpenAI and xAI realtime", realtime_events.EVENTS),
        ("Gemini Live", gemini_events.EVENTS),
        ("Nova Sonic", nova_events.EVENTS),
        ("Chat completions with audio", chat_reply.FIELDS),
        ("Cascade", {**cascade_replies.STATUSES, **cascade_replies.ITEMS}),
    ],
)
def test_the_readme_shows_each_event_and_its_use(title, table):
    assert shown(title) == {name: use.value for name, use in table.items()}
    assert set(shown(title).values()) <= set(Use)


def test_the_readme_shows_the_fates():
    row = re.compile(r"^\| `(\w+)` \|[^|]*\| `(\w+)` \| ([a-z ]+) \|$", re.MULTILINE)
    rows = {name: (status, consequence) for name, status, consequence in row.findall(README)}
    assert rows == {m.value: (f.status.value, f.consequence.value) for m, f in FATES.items()}


def test_realtime_events_are_those_of_the_openai_package():
    from openai.types.realtime import RealtimeServerEvent

    union = typing.get_args(RealtimeServerEvent)[0]
    names = {typing.get_args(event.model_fields["type"].annotation)[0] for event in typing.get_args(union)}
    ours = set(realtime_events.EVENTS)
    assert names - ours == set()
    assert ours - names == {"ping", "conversation.item.input_audio_transcription.updated"}, "xAI's own"
    assert set(realtime_events.OLD_NAMES.values()) <= ours


def test_reasons_of_a_response_are_those_of_the_openai_package():
    from openai.types.realtime import RealtimeResponse, RealtimeResponseStatus

    statuses = _literals(RealtimeResponse.model_fields["status"].annotation)
    assert statuses == {"completed", "cancelled", "failed", "incomplete", "in_progress"}
    reasons = _literals(RealtimeResponseStatus.model_fields["reason"].annotation)
    assert reasons == {"turn_detected", "client_cancelled", "max_output_tokens", "content_filter"}


def test_gemini_messages_are_those_of_the_google_package():
    from google.genai import types

    def camel(name: str) -> str:
        return re.sub(r"_(\w)", lambda m: m.group(1).upper(), name)

    top = {camel(name) for name in types.LiveServerMessage.model_fields}
    content = {f"serverContent.{camel(name)}" for name in types.LiveServerContent.model_fields}
    assert set(gemini_events.EVENTS) == top | content
    assert set(gemini_events.TURN_REASONS) == {reason.value for reason in types.TurnCompleteReason}
    assert {"IN_PROGRESS", "IDLE"} <= {status.value for status in types.InteractionStatus}


def test_exceptions_of_the_stream_are_those_of_bedrocks_service_model():
    import botocore.session

    service = botocore.session.get_session().get_service_model("bedrock-runtime")
    shape = service.shape_for("InvokeModelWithBidirectionalStreamOutput")
    ours = {name for name, use in nova_events.EVENTS.items() if use is Use.refuse}
    assert ours | {"chunk"} == set(shape.members)


def test_chat_fields_are_those_of_the_openai_package():
    from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessage
    from openai.types.chat.chat_completion import Choice
    from openai.types.chat.chat_completion_chunk import ChoiceDelta

    known = {*ChatCompletion.model_fields, *ChatCompletionChunk.model_fields}
    known |= {f"message.{name}" for name in ChatCompletionMessage.model_fields}
    known |= {f"delta.{name}" for name in ChoiceDelta.model_fields}
    ours = set(chat_reply.FIELDS)
    assert known - ours <= {"delta.audio"}
    extra = {"error", "modality", "finish_reason", "delta.audio"}
    extra |= {f"{part}.{name}" for part in ("message", "delta") for name in ("reasoning", "reasoning_content")}
    assert ours - known <= extra, "of vLLM-Omni, DashScope and OpenRouter"
    assert set(chat_reply.FINISH_REASONS) == _literals(Choice.model_fields["finish_reason"].annotation)


def test_responses_are_those_of_the_openai_package():
    from openai.types.responses import Response, ResponseOutputItem

    assert set(cascade_replies.STATUSES) == _literals(Response.model_fields["status"].annotation)
    union = typing.get_args(ResponseOutputItem)[0]
    items = {typing.get_args(item.model_fields["type"].annotation)[0] for item in typing.get_args(union)}
    assert set(cascade_replies.ITEMS) == items


def test_a_transcript_is_that_of_the_elevenlabs_package():
    from elevenlabs import SpeechToTextChunkResponseModel

    assert SpeechToTextChunkResponseModel.model_fields["text"].is_required()


def _literals(annotation: object) -> set[str]:
    """Return the texts of a literal type that may be optional."""
    found = {value for value in typing.get_args(annotation) if isinstance(value, str)}
    for inner in typing.get_args(annotation):
        if not isinstance(inner, str):
            found |= _literals(inner)
    return found
