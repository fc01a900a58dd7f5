"""Speech models behind an OpenAI-compatible engine: vLLM-Omni, SGLang-Omni, DashScope-style servers, ``gpt-audio``.

``POST {base_url}/chat/completions`` with the clips inside the messages. The key, where a server wants one, is in
``VAEVAL_CHAT_API_KEY``.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaeval_tasks.audio import Clip, read_audio, wav_bytes
from vaeval_tasks.errors import ServiceError, UnknownNameError
from vaeval_tasks.models.adapters.chat_reply import ChatReader, ErrorEvent, events
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.fate import failure
from vaeval_tasks.models.protocol import Conversation, Reply, Turn, TurnRole
from vaeval_tasks.models.speech_in import ROLE_MARK, data_url, image_url, question, read_clips, with_files
from vaeval_tasks.models.transport.encoded import decode_base64
from vaeval_tasks.models.transport.endpoint import endpoint, request_headers
from vaeval_tasks.models.transport.http import Http, error_in_reply, json_of
from vaeval_tasks.models.transport.record import Message, audio_stub, message
from vaeval_tasks.models.turn import Answer, Timeouts, run_turn, unsupported
from vaeval_tasks.store.schema import ModelConfig

if TYPE_CHECKING:
    import httpx

__all__ = ["CLIP_FORMS", "ENGINES", "ChatAudio", "ChatEngine"]


def _audio_url(data: bytes) -> dict[str, Any]:
    return {"type": "audio_url", "audio_url": {"url": data_url("audio/wav", data)}}


def _input_audio(data: bytes) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": base64.b64encode(data).decode(), "format": "wav"}}


def _audio_b64(data: bytes) -> dict[str, Any]:
    return {"type": "audio", "audio_b64": base64.b64encode(data).decode()}


def _input_audio_url(data: bytes) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": data_url("", data), "format": "wav"}}


CLIP_FORMS = {
    "audio_url": _audio_url,
    "input_audio": _input_audio,
    "input_audio_url": _input_audio_url,
    "audio_b64": _audio_b64,
}
"""How a clip stands in a message: vLLM-Omni and SGLang-Omni, OpenAI, DashScope, the study's own deployment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatEngine:
    """What an engine wants otherwise; without a name of an engine everything goes out as it is written."""

    clip_form: str
    streams: bool = False
    """It answers streams only."""
    ignores: tuple[str, ...] = ()
    """Parameters for a voice that it would pass over in silence: two voices would be one."""


ENGINES = {
    "vllm_omni": ChatEngine(clip_form="audio_url"),
    "sglang_omni": ChatEngine(clip_form="audio_url", ignores=("speaker", "voice")),
    "openai": ChatEngine(clip_form="input_audio", ignores=("speaker", "voice")),
    "dashscope": ChatEngine(clip_form="input_audio_url", streams=True, ignores=("speaker", "voice")),
}
_ANY = ChatEngine(clip_form="audio_url")


def _engine(config: ModelConfig) -> ChatEngine:
    """Return the engine of a configuration.

    Raises:
        ServiceError: there is no such engine, or a parameter is one that it does not take; the configuration stops.
    """
    name = config.connection.get("engine")
    if name is None:
        return _ANY
    if name not in ENGINES:
        raise ServiceError(str(UnknownNameError("engine", str(name), ENGINES, where=config.config_id)))
    engine = ENGINES[name]
    if wrong := [key for key in engine.ignores if key in config.params]:
        raise ServiceError(
            f"{config.config_id}: {name} passes over {wrong[0]!r}, and its voice would be another; "
            "write audio: {voice: NAME, format: wav}"
        )
    if engine.streams and config.params.get("stream") is False:
        raise ServiceError(f"{config.config_id}: {name} answers streams only; leave stream out")
    return engine


class ChatAudio:
    """Any engine that answers chat completions with audio."""

    sees = True

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._http = Http()

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        """Answer the last turn; see :class:`vaeval_tasks.models.protocol.SpeechModel`."""
        if not config.connection.get("sees", True) and any(turn.images for turn in conversation.turns):
            return unsupported(f"{config.config_id} does not see, and the question has an image")
        question(conversation)
        request = await with_files(_files(conversation), _request, conversation, config)
        timeouts = Timeouts.of(config)

        async def talk(answer: Answer) -> None:
            url = endpoint(config, "/chat/completions")
            answer.request = {"url": url, **request.shown}
            answer.recorder.sent(answer.request)
            key = ("Authorization", "VAEVAL_CHAT_API_KEY", "Bearer {}")
            headers = {"Content-Type": "application/json", **request_headers(config, *key, required=False)}
            async with self._http.post(
                url, config=config, answer=answer, timeouts=timeouts, headers=headers, asks=True, content=request.wire
            ) as response:
                await _read(response, answer, config, streamed=bool(request.shown.get("stream")))

        return await run_turn(
            talk, clock=self._clock, timeouts=timeouts, rate=config.connection.get("output_rate", 24000)
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()


async def _read(response: httpx.Response, answer: Answer, config: ModelConfig, *, streamed: bool) -> None:
    """Read a reply as what it says it is: some engines answer whole to who asked for a stream, and some the reverse."""
    kind = response.headers.get("content-type", "")
    if "event-stream" in kind:
        streamed = True
    elif "json" in kind and "ndjson" not in kind:
        streamed = False
    reader = ChatReader(answer, lambda found: failure(config, str(response.url), found, begun=answer.begun))
    try:
        if streamed:
            async for data in events(response.aiter_bytes()):
                if reader.take(data):
                    return
            reader.end_of_stream()
        else:
            reader.whole(await json_of(response, config=config, answer=answer))
    except ErrorEvent as error:
        raise error_in_reply(response, error.error, config=config, where="in the stream", begun=answer.begun) from None


def _files(conversation: Conversation) -> list[Path]:
    files = [path for turn in conversation.turns for path in (*turn.audio, *turn.images)]
    return [*files, conversation.role_audio] if conversation.role_audio is not None else files


def _request(conversation: Conversation, config: ModelConfig) -> Message:
    body = _body(conversation, config)
    return message(body, {**body, "messages": [_shown(turn) for turn in body["messages"]]})


def _body(conversation: Conversation, config: ModelConfig) -> dict[str, Any]:
    """Return the request: the published parameters and the messages."""
    engine = _engine(config)
    form = config.connection.get("audio_part", engine.clip_form)
    if form not in CLIP_FORMS:
        raise ServiceError(str(UnknownNameError("audio_part", str(form), CLIP_FORMS, where=config.config_id)))
    part = CLIP_FORMS[form]
    rate = config.connection.get("input_rate", 16000)
    settings = {key: value for key, value in config.params.items() if key != "extra"}
    messages = []
    if system := conversation.system_prompt or config.system_prompt:
        messages.append({"role": "system", "content": _system(system, conversation, rate, part)})
    for turn in conversation.turns:
        messages.append({"role": turn.role, "content": _content(turn, rate, part)})
    streams = {"stream": True} if engine.streams else {}
    return {**streams, **settings, **(config.params.get("extra") or {}), "messages": messages}


def _system(text: str, conversation: Conversation, rate: int, part: Any) -> list[dict[str, Any]]:
    """Return the system turn; the role's voice stands where its mark was."""
    pieces = text.split(ROLE_MARK)
    voice: Clip | None = read_audio(conversation.role_audio).at(rate) if conversation.role_audio else None
    content: list[dict[str, Any]] = []
    for number, piece in enumerate(pieces):
        if piece.strip():
            content.append({"type": "text", "text": piece.strip() if len(pieces) > 1 else piece})
        if voice is not None and number == 0:
            content.append(part(wav_bytes(voice)))
    return content


def _content(turn: Turn, rate: int, part: Any) -> Any:
    if turn.role == TurnRole.assistant:
        return turn.text
    content = [part(wav_bytes(clip)) for clip in read_clips(turn, rate)]
    content += [{"type": "image_url", "image_url": {"url": image_url(path)}} for path in turn.images]
    if turn.text and not turn.audio:
        content.append({"type": "text", "text": turn.text})
    return content


def _shown(message: dict[str, Any]) -> dict[str, Any]:
    if isinstance(message["content"], str):
        return message
    return {**message, "content": [_shown_part(part) for part in message["content"]]}


def _shown_part(part: dict[str, Any]) -> dict[str, Any]:
    kind = part["type"]
    if kind == "audio":
        return {**part, "audio_b64": audio_stub(decode_base64(part["audio_b64"]))}
    if kind == "input_audio":
        inner = part["input_audio"]
        return {**part, "input_audio": {**inner, "data": audio_stub(decode_base64(inner["data"].split("base64,")[-1]))}}
    if kind in ("audio_url", "image_url"):
        data = part[kind]["url"].partition("base64,")[2]
        return {**part, kind: {"url": audio_stub(decode_base64(data))}}
    return part
