"""The official clients complete a turn on our fakes: what the fakes speak is what the services' own code expects."""

from __future__ import annotations

import asyncio
import base64
import hashlib

import pytest

from vaeval_tasks.models.configs import published
from vaeval_tasks.models.transport.eventstream import FrameReader, date_header, encode, encode_headers
from vaeval_tasks.models.transport.sigv4 import STREAMING, Credentials, event_signature, request_signature, scope, stamp
from vaeval_tasks.testing.aws import frame, unframe
from vaeval_tasks.testing.server import KEY, answer_pcm

SPEECH = answer_pcm("a prompt", seconds=0.5)


async def realtime_turn(url: str, model: str, session: dict) -> dict[int, tuple[str | None, bytes]]:
    """Do one turn with OpenAI's client; return phase and audio of each output item."""
    from openai import AsyncOpenAI

    phases: dict[int, str | None] = {}
    audio: dict[int, bytes] = {}
    async with AsyncOpenAI(api_key=KEY, base_url=url).realtime.connect(model=model) as connection:
        await connection.send({"type": "session.update", "session": session})
        for at in range(0, len(SPEECH), 4800):
            piece = base64.b64encode(SPEECH[at : at + 4800]).decode()
            await connection.input_audio_buffer.append(audio=piece)
        await connection.input_audio_buffer.commit()
        await connection.response.create()
        async for event in connection:
            assert event.type != "error", event
            if event.type == "response.output_item.added":
                phases[event.output_index] = getattr(event.item, "phase", None)
            elif event.type == "response.output_audio.delta":
                audio[event.output_index] = audio.get(event.output_index, b"") + base64.b64decode(event.delta)
            elif event.type == "response.done":
                assert event.response.status == "completed"
                assert event.response.usage.total_tokens == 30
                break
    return {index: (phases[index], sound) for index, sound in audio.items()}


def test_openai_realtime(serve):
    fake = serve("openai_realtime")
    fake.behave("commentary")
    config = published()["gpt-realtime-2.1/xhigh/marin"]
    session = {k: v for k, v in config.params.items() if k != "model"}
    items = asyncio.run(realtime_turn(fake.url, "gpt-realtime-2.1", session))
    settings = fake.defaults("gpt-realtime-2.1")
    fake.update(settings, session)
    assert items == {
        0: ("commentary", answer_pcm("preamble")),
        1: ("final_answer", fake.answer(SPEECH, "gpt-realtime-2.1", settings)),
    }


def test_openai_realtime_speaks_to_xai_too(serve):
    fake = serve("xai_realtime")
    config = published()["grok-voice-think-fast-2.0/none/rex"]
    items = asyncio.run(realtime_turn(fake.url, config.params["model"], config.params["session"]))
    settings = fake.defaults(config.params["model"])
    fake.update(settings, config.params["session"])
    assert items == {0: (None, fake.answer(SPEECH, config.params["model"], settings))}


def test_gemini_live(serve):
    from google import genai
    from google.genai import types

    fake = serve("gemini_live")
    fake.behave("thoughts")
    config = {
        "response_modalities": ["AUDIO"],
        "system_instruction": "You are a helpful voice assistant.",
        "speech_config": {"voice_config": {"prebuilt_voice_config": {"voice_name": "Zephyr"}}},
        "realtime_input_config": {"automatic_activity_detection": {"disabled": True}},
        "thinking_config": {"thinking_level": "HIGH", "include_thoughts": False},
        "output_audio_transcription": {},
    }

    async def turn() -> tuple[bytes, str]:
        client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=fake.url))
        audio, words = b"", ""
        async with client.aio.live.connect(model="gemini-3.1-flash-live-preview", config=config) as session:
            await session.send_realtime_input(activity_start=types.ActivityStart())
            for at in range(0, len(SPEECH), 3200):
                blob = types.Blob(data=SPEECH[at : at + 3200], mime_type="audio/pcm;rate=16000")
                await session.send_realtime_input(audio=blob)
            await session.send_realtime_input(activity_end=types.ActivityEnd())
            async for message in session.receive():
                content = message.server_content
                for part in (content.model_turn.parts if content and content.model_turn else None) or []:
                    audio += part.inline_data.data if part.inline_data else b""
                if content and content.output_transcription:
                    words += content.output_transcription.text or ""
        return audio, words

    audio, words = asyncio.run(turn())
    assert audio == fake.answer(SPEECH, "Zephyr", "HIGH")
    assert words == "It is four."
    ours = published()["gemini-3.1-flash-live/high/zephyr"]
    official = fake.sessions[-1]["setup"]
    official["systemInstruction"].pop("role", None)
    from vaeval_tasks.models.adapters.gemini_live import setup_message
    from vaeval_tasks.models.protocol import Conversation

    assert setup_message(ours, Conversation(turns=()))["setup"] == official, "our setup is the client's, word for word"


def test_elevenlabs_and_responses(serve):
    from elevenlabs.client import ElevenLabs
    from openai import OpenAI

    from vaeval_tasks.testing.chat import wav_of

    fake = serve("cascade")
    eleven = ElevenLabs(api_key=KEY, base_url=fake.url)
    file = ("prompt.wav", wav_of(SPEECH), "audio/wav")
    heard = eleven.speech_to_text.convert(model_id="scribe_v2", file=file, language_code=None, tag_audio_events=False)
    assert heard.text == "What is two plus two?"
    config = published()["cascade/default/rachel"]
    reply = OpenAI(api_key=KEY, base_url=fake.url + "/v1").responses.create(
        model="gpt-5.6-terra",
        instructions=config.system_prompt,
        input=[{"role": "user", "content": heard.text}],
        reasoning={"effort": "low"},
    )
    assert reply.output_text == "It is four."
    sound = eleven.text_to_speech.stream(
        config.params["voice"], text=reply.output_text, model_id="eleven_flash_v2_5", output_format="pcm_24000"
    )
    assert b"".join(sound) == fake.answer()
    log = fake.sessions[-1]
    assert log["stt"]["model_id"] == "scribe_v2"
    assert log["llm"]["instructions"] == config.system_prompt
    assert log["tts"]["output_format"] == "pcm_24000"


def test_openai_chat_audio(serve):
    from openai import OpenAI

    from vaeval_tasks.testing.chat import wav_of

    fake = serve("chat_audio")
    fake.behave("gpt_audio", "happy")
    client = OpenAI(api_key=KEY, base_url=fake.url)
    part = {"type": "input_audio", "input_audio": {"data": base64.b64encode(wav_of(SPEECH)).decode(), "format": "wav"}}
    for _ in range(2):
        reply = client.chat.completions.create(
            model="gpt-audio",
            modalities=["text", "audio"],
            audio={"voice": "alloy", "format": "wav"},
            messages=[{"role": "user", "content": [part]}],
        )
        data = base64.b64decode(reply.choices[0].message.audio.data)
        sound = fake.answer(fake.sessions[-1]["body"], "alloy")
        assert data == (sound if fake.sessions[-1]["behaviour"] == "gpt_audio" else wav_of(sound))


# No AWS client speaks the bidirectional stream on Python 3.11; botocore still signs requests and reads frames.


def test_request_signature_is_botocores():
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials as BotoCredentials

    path = "/model/amazon.nova-2-sonic-v1%3A0/invoke-with-bidirectional-stream"
    host = "bedrock-runtime.us-east-1.amazonaws.com"
    request = AWSRequest(
        "POST", f"https://{host}{path}", headers={"content-type": "application/vnd.amazon.eventstream"}
    )
    request.headers["X-Amz-Content-SHA256"] = STREAMING
    SigV4Auth(BotoCredentials("AKID", "a-secret", "a-token"), "bedrock", "us-east-1").add_auth(request)
    signed = {
        "content-type": "application/vnd.amazon.eventstream",
        "host": host,
        "x-amz-content-sha256": STREAMING,
        "x-amz-date": request.headers["X-Amz-Date"],
        "x-amz-security-token": "a-token",
    }
    ours = request_signature(Credentials("AKID", "a-secret", "a-token"), path, signed, request.headers["X-Amz-Date"])
    assert request.headers["Authorization"].endswith(f"Signature={ours}")


def test_the_signing_key_is_awss_example():
    """AWS General Reference, "Deriving the signing key": 20120215, us-east-1, iam."""
    from vaeval_tasks.models.transport.sigv4 import _key

    example = Credentials("", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region="us-east-1", service="iam")
    assert _key(example, "20120215T000000Z").hex() == "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d"


def test_event_signature_by_hand():
    """HMAC over six lines, written out."""
    import hmac

    from vaeval_tasks.models.transport.sigv4 import _key

    credentials, when = Credentials("AKID", "a-secret"), 1_754_000_000_000
    lines = [
        "AWS4-HMAC-SHA256-PAYLOAD",
        "20250731T221320Z",
        "20250731/us-east-1/bedrock/aws4_request",
        "ab" * 32,
        hashlib.sha256(b"\x05:date\x08" + when.to_bytes(8, "big")).hexdigest(),
        hashlib.sha256(b"payload").hexdigest(),
    ]
    assert (stamp(when), scope(credentials, stamp(when))) == (lines[1], lines[2])
    key = _key(credentials, lines[1])
    want = hmac.new(key, "\n".join(lines).encode(), hashlib.sha256).digest()
    assert event_signature(credentials, "ab" * 32, when, b"payload") == want


def test_frames_are_botocores():
    from botocore.eventstream import EventStreamBuffer

    data = encode(date_header(1_754_000_000_000) + encode_headers({":chunk-signature": b"\1" * 32}), b"payload")
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    message = next(iter(buffer))
    assert message.payload == b"payload"
    assert message.headers[":chunk-signature"] == b"\1" * 32
    (ours,) = FrameReader().feed(data)
    assert dict(ours.headers) == {k: v if k != ":date" else 1_754_000_000_000 for k, v in message.headers.items()}


@pytest.mark.parametrize("cut", [1, 7, 12, 100])
def test_frames_come_out_of_any_pieces(cut):
    whole = b"".join(frame({":event-type": "chunk", "n": str(i)}, bytes(i * 7)) for i in range(20))
    reader, found = FrameReader(), []
    for at in range(0, len(whole), cut):
        found += list(reader.feed(whole[at : at + cut]))
    assert [f.payload for f in found] == [bytes(i * 7) for i in range(20)]
    assert [f.headers["n"] for f in found] == [headers["n"] for headers, _, _ in unframe(whole)[0]]


@pytest.mark.parametrize("at", [0, 5, 9, 14, -1])
def test_a_damaged_frame_is_noticed(at):
    from vaeval_tasks.models.transport.eventstream import FrameError

    data = bytearray(frame({":event-type": "chunk"}, b"payload"))
    data[at] ^= 1
    with pytest.raises(FrameError):
        list(FrameReader().feed(bytes(data)))
