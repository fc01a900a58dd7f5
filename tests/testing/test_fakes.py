"""The fakes refuse, ignore and break what the services do, driven by the official packages where there is one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.adapters.chat_audio import ChatAudio
from vaeval_tasks.models.adapters.gemini_live import GeminiLive
from vaeval_tasks.models.adapters.nova_sonic import NovaSonic
from vaeval_tasks.models.adapters.openai_realtime import OpenAIRealtime
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import Turn
from vaeval_tasks.models.transport.bedrock_stream import BedrockStream, StreamError
from vaeval_tasks.models.transport.sigv4 import Credentials
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus
from vaeval_tasks.testing.bedrock import ACCESS_KEY
from vaeval_tasks.testing.server import KEY, answer_pcm

SPEECH = answer_pcm("a prompt", seconds=0.5)
GEMINI = "gemini-3.1-flash-live/high/zephyr"
OPENAI = "gpt-realtime-2.1/xhigh/marin"
NOVA = "nova-2-sonic/default/tiffany"


# Gemini ------------------------------------------------------------------------------------------------------------
async def gemini_turn(url: str, *, history: bool, complete: bool, seconds: float = 5.0) -> bytes:
    """Do one turn with Google's client, with earlier turns before it."""
    from google import genai
    from google.genai import types

    config: dict[str, Any] = {
        "response_modalities": ["AUDIO"],
        "speech_config": {"voice_config": {"prebuilt_voice_config": {"voice_name": "Zephyr"}}},
        "realtime_input_config": {"automatic_activity_detection": {"disabled": True}},
    }
    if history:
        config["history_config"] = {"initial_history_in_client_content": True}
    turns = [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"text": "hello"}]}]
    client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=url))
    audio = b""
    async with asyncio.timeout(seconds):
        async with client.aio.live.connect(model="gemini-3.1-flash-live-preview", config=config) as session:
            await session.send_client_content(turns=turns, turn_complete=complete)
            await session.send_realtime_input(activity_start=types.ActivityStart())
            await session.send_realtime_input(audio=types.Blob(data=SPEECH, mime_type="audio/pcm;rate=16000"))
            await session.send_realtime_input(activity_end=types.ActivityEnd())
            async for message in session.receive():
                content = message.server_content
                for part in (content.model_turn.parts if content and content.model_turn else None) or []:
                    audio += part.inline_data.data if part.inline_data else b""
    return audio


def test_gemini_hears_nothing_until_the_history_is_complete(serve):
    fake = serve("gemini_live")
    assert asyncio.run(gemini_turn(fake.url, history=True, complete=True)) == fake.answer(
        SPEECH, "Zephyr", "MINIMAL", 2
    )
    with pytest.raises(TimeoutError):
        asyncio.run(gemini_turn(fake.url, history=True, complete=False, seconds=0.5))


def test_gemini_takes_no_history_that_was_not_announced(serve):
    from google.genai import errors

    fake = serve("gemini_live")
    with pytest.raises(errors.APIError, match="invalid argument"):
        asyncio.run(gemini_turn(fake.url, history=False, complete=True))


def test_a_dialogue_with_gemini_is_answered(serve, ask, config, short_prompt):
    fake = serve("gemini_live")
    turns = (
        Turn(role="user", audio=(short_prompt,)),
        Turn(role="assistant", text="It is four."),
        Turn(role="user", audio=(short_prompt,)),
    )
    reply = ask(GeminiLive(), config(GEMINI, timeouts={"first_audio": 5}), turns=turns)
    assert reply.status is ResponseStatus.ok
    assert fake.sessions[-1]["messages"][1] == "clientContent"


@pytest.mark.parametrize("behaviour", ["lingering_transcript", "playback", "plain_thoughts", "empty_then_answer"])
def test_gemini_as_its_users_report_it(behaviour, serve, ask, config, short_prompt):
    fake = serve("gemini_live", tls=False)
    fake.behave(behaviour)
    reply = ask(GeminiLive(), config(GEMINI), short_prompt)
    assert (reply.status, reply.text, reply.error) == (ResponseStatus.ok, "It is four.", "")
    assert reply.audio.pcm16() == fake.answer(fake.sessions[-1]["audio"], "Zephyr", "HIGH")
    assert ("Analysing" in reply.thoughts) == (behaviour == "plain_thoughts")


def test_gemini_that_wants_more_says_so(serve, ask, config, short_prompt):
    serve("gemini_live", tls=False).behave("more_input")
    reply = ask(GeminiLive(), config(GEMINI), short_prompt, clock=Clock(10))
    assert (reply.status, reply.error) == (ResponseStatus.empty, "no audio came; the turn ended with NEED_MORE_INPUT")


def test_a_setup_that_is_never_completed_is_named(serve, ask, config, short_prompt):
    serve("gemini_live", tls=False).lose("setupComplete")
    reply = ask(GeminiLive(), config(GEMINI, timeouts={"idle": 0.2}), short_prompt)
    assert (reply.status, reply.error) == (ResponseStatus.timeout, "setupComplete never came")


# OpenAI ------------------------------------------------------------------------------------------------------------
async def realtime_errors(url: str, *events: dict[str, Any]) -> list[str]:
    """Send events with OpenAI's client; return the codes of the errors."""
    from openai import AsyncOpenAI

    codes = []
    async with AsyncOpenAI(api_key=KEY, base_url=url).realtime.connect(model="gpt-realtime-2.1") as connection:
        for event in events:
            await connection.send(event)
        await connection.send({"type": "input_audio_buffer.commit"})
        async for event in connection:
            if event.type == "error":
                codes.append(f"{event.error.code} {event.error.param}")
                if event.error.code == "input_audio_buffer_commit_empty":
                    return codes
    raise AssertionError("unreachable")


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (
            {"type": "session.update", "session": {"voice": "marin", "type": "realtime"}},
            "unknown_parameter session.voice",
        ),
        ({"type": "session.update", "session": {}}, "missing_required_parameter session.type"),
        ({"type": "response.make"}, "invalid_value type"),
        ({"type": "input_audio_buffer.append", "audio": "AAAA", "rate": 8}, "unknown_parameter rate"),
        (
            {
                "type": "conversation.item.create",
                "item": {"type": "message", "role": "assistant", "content": [{"type": "input_audio", "audio": ""}]},
            },
            "invalid_value content[0]",
        ),
    ],
)
def test_realtime_refuses_what_it_does_not_know(event, code, serve):
    fake = serve("openai_realtime")
    assert asyncio.run(realtime_errors(fake.url, event))[0] == code


@pytest.mark.parametrize("behaviour", ["text_beside", "words_at_the_end", "old_names", "error_after_audio"])
def test_realtime_as_its_users_report_it(behaviour, serve, ask, config, short_prompt):
    serve("openai_realtime", tls=False).behave(behaviour)
    reply = ask(OpenAIRealtime(), config(OPENAI), short_prompt)
    assert (reply.status, reply.text) == (ResponseStatus.ok, "It is four."), reply.error
    assert ("Planning" in reply.thoughts) == (behaviour == "text_beside")
    assert ("unknown_parameter" in reply.error) == (behaviour == "error_after_audio")


@pytest.mark.parametrize("lost", [("session.created",), ("session.updated",), ("session.created", "session.updated")])
def test_greetings_that_never_come(lost, serve, ask, config, short_prompt):
    fake = serve("openai_realtime", tls=False)
    fake.lose(*lost)
    reply = ask(OpenAIRealtime(), config(OPENAI), short_prompt, clock=Clock(40))
    assert reply.status is ResponseStatus.ok
    if "session.updated" in lost:
        assert reply.error == f"{' and '.join(lost)} never came: the settings are not confirmed"
    fake.behave("no_answer")
    silent = ask(OpenAIRealtime(), config(OPENAI, timeouts={"first_audio": 4}), short_prompt, clock=Clock(40))
    assert silent.status is ResponseStatus.timeout
    assert ("never came" in silent.error) == ("session.updated" in lost)


def test_an_error_that_the_answer_never_follows_is_the_reason(serve, ask, config, short_prompt):
    fake = serve("openai_realtime", tls=False)
    error = {"type": "server_error", "code": None, "message": "The server had an error"}
    fake.instead("response.output_item.added", {"type": "error", "error": error})
    fake.lose("response.output_audio.delta", "response.output_audio_transcript.delta", "response.done")
    reply = ask(OpenAIRealtime(), config(OPENAI, timeouts={"first_audio": 0.3, "idle": 0.3}), short_prompt)
    assert reply.status is ResponseStatus.error
    assert "The server had an error" in reply.error


# any ---------------------------------------------------------------------------------------------------------------
def test_events_can_be_lost_delayed_replaced_and_added(serve, ask, config, short_prompt):
    fake = serve("openai_realtime", tls=False)
    fake.hold("response.output_audio_transcript.done", 0.2)  # overtaken by the end: the item has the words
    fake.inject("response.done", {"type": "mystery", "x": [1]}, b'{"foo": 1}', '{"type": "response.output_text.delta"}')
    fake.lose("response.output_audio_transcript.delta")
    reply = ask(OpenAIRealtime(), config(OPENAI), short_prompt)
    assert (reply.status, reply.text) == (ResponseStatus.ok, "It is four.")
    got = [event["message"] for event in reply.events if event["direction"] == "received"]
    assert {"foo": 1} in got
    fake.instead("response.done", "<html>")
    assert "not JSON" in ask(OpenAIRealtime(), config(OPENAI), short_prompt).error
    with pytest.raises(ValueError, match="cannot behave as"):
        fake.behave("kindly")


# Bedrock -----------------------------------------------------------------------------------------------------------
START = {"sessionStart": {"inferenceConfiguration": {}}}
OUTPUT = {"sampleRateHertz": 24000, "voiceId": "tiffany"}
PROMPT = {"promptStart": {"promptName": "p", "audioOutputConfiguration": OUTPUT}}
TEXT = {"promptName": "p", "contentName": "c", "type": "TEXT", "role": "SYSTEM", "textInputConfiguration": {}}
OTHER = {**TEXT, "contentName": "d"}
SOUND = {**TEXT, "type": "AUDIO", "role": "USER", "audioInputConfiguration": {"sampleRateHertz": 16000}}
IDS = {"promptName": "p", "contentName": "c"}


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([PROMPT], "No open session"),
        ([START, START], "already been started"),
        ([START, {"contentStart": TEXT}], "No open prompt"),
        ([START, PROMPT, {"textInput": {**IDS, "content": "x"}}], "No open content"),
        ([START, PROMPT, {"contentStart": TEXT}, {"audioInput": {**IDS, "content": ""}}], "audioInput in a content"),
        ([START, PROMPT, {"contentStart": TEXT}, {"contentStart": OTHER}], "must be ended"),
        ([START, PROMPT, {"contentStart": SOUND}, {"contentEnd": IDS}, {"contentStart": TEXT}], "must be new"),
        (
            [
                START,
                PROMPT,
                {"contentStart": SOUND},
                {"contentEnd": IDS},
                {"contentStart": OTHER},
            ],
            "SYSTEM content must be the first",
        ),
        (
            [START, PROMPT, {"contentStart": SOUND}, {"promptEnd": {"promptName": "p"}}],
            "must be ended before the prompt",
        ),
        ([START, PROMPT, {"sessionEnd": {}}], "ended before the session"),
        ([START, {"hello": {}}], "does not contain an event"),
    ],
)
def test_nova_sonic_takes_events_in_their_order_only(events, why, serve):
    fake = serve("nova_sonic")

    async def send() -> None:
        stream = BedrockStream(fake.url, "amazon.nova-2-sonic-v1:0", Credentials(ACCESS_KEY, KEY))
        await stream.open()
        try:
            for event in events:
                await stream.send(event)
            async with asyncio.timeout(5):
                await stream.receive()
        finally:
            await stream.close()

    with pytest.raises(StreamError, match=why):
        asyncio.run(send())


def test_nova_sonic_whose_text_comes_late(serve, ask, config, short_prompt):
    serve("nova_sonic").behave("late_text", "barge_in_word")
    for _ in range(2):
        reply = ask(NovaSonic(), config(NOVA), short_prompt, clock=Clock(25.0))
        assert (reply.status, reply.text) == (ResponseStatus.ok, "It is four.")


# ElevenLabs and Responses ------------------------------------------------------------------------------------------
def test_responses_refuse_what_they_do_not_know(serve):
    from openai import BadRequestError, OpenAI

    fake = serve("cascade")
    with pytest.raises(BadRequestError, match="Unknown parameter: 'voice'"):
        OpenAI(api_key=KEY, base_url=fake.url + "/v1").responses.create(
            model="gpt-5.6-terra", input="hi", extra_body={"voice": "x"}
        )


def test_what_a_response_may_hold_is_what_the_openai_package_sends():
    import inspect

    from openai.resources.responses import Responses

    from vaeval_tasks.testing.eleven import RESPONSES

    sent = set(inspect.signature(Responses.create).parameters) - {"self"}
    assert sent - {"extra_headers", "extra_query", "extra_body", "timeout"} == RESPONSES


def test_the_setup_of_gemini_is_what_the_google_package_knows():
    from google.genai import types

    from vaeval_tasks.testing.gemini import SETUP, camel

    known = set(camel(dict.fromkeys(types.LiveClientSetup.model_fields, 1)))
    assert known - {"avatarConfig", "safetySettings", "labels"} <= SETUP, "what Vertex alone takes"


def test_a_limit_that_passes_while_only_the_transcript_is_waited_for(serve, ask, config, short_prompt):
    fake = serve("gemini_live", tls=False)
    fake.behave("playback")
    fake.lose("serverContent.outputTranscription")
    reply = ask(GeminiLive(), config(GEMINI, timeouts={"turn": 1.0}), short_prompt)
    assert reply.audio.pcm16() == fake.answer(fake.sessions[-1]["audio"], "Zephyr", "HIGH")
    assert (reply.status, reply.error) == (ResponseStatus.degenerate, "the transcript of the answer is empty")
    assert reply.total_s < 1.0


def test_a_transcript_at_the_pace_of_speech_is_waited_for(serve, ask, config, short_prompt):
    fake = serve("gemini_live", tls=False)
    fake.behave("slow_transcript")
    reply = ask(GeminiLive(), config(GEMINI), short_prompt, clock=Clock(10))
    assert (reply.status, reply.text) == (ResponseStatus.ok, "one two three four")


def test_a_text_frame_that_is_no_text_is_kept(serve, ask, config, short_prompt):
    fake = serve("openai_realtime", tls=False)
    fake.instead("response.done", b"\xff\xfe{}")
    reply = ask(OpenAIRealtime(), config(OPENAI), short_prompt)
    assert reply.status is ResponseStatus.error
    assert "not JSON" in reply.error
    assert "unreadable" in reply.events[-1]["message"]


def test_a_wait_of_a_day_is_said_and_not_slept(serve, ask, short_prompt):
    serve("chat_audio", tls=False).behave("wait_a_day")
    asked = ModelConfig(model="m", provider="chat_audio", params={"model": "gpt-audio"})
    with pytest.raises(ServiceError, match="the server asks to wait 24 h"):
        ask(ChatAudio(), asked, short_prompt)
