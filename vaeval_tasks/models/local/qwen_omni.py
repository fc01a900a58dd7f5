"""Qwen2.5-Omni and Qwen3-Omni in process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from vaeval_tasks.audio import read_audio
from vaeval_tasks.errors import ServiceError, VaevalError
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.local.batching import Batcher
from vaeval_tasks.models.local.omni_model import OUTPUT_RATE, OmniModel, OmniOutput
from vaeval_tasks.models.local.omni_options import OmniOptions, omni_options
from vaeval_tasks.models.local.omni_processor import INPUT_RATE, OmniInput, can_see
from vaeval_tasks.models.protocol import Conversation, Reply, TurnRole
from vaeval_tasks.models.speech_in import clips, plain_system, question
from vaeval_tasks.models.transport.record import audio_stub
from vaeval_tasks.models.turn import Answer, Timeouts, run_turn, unsupported
from vaeval_tasks.store.schema import ModelConfig

__all__ = ["QwenOmni"]


@dataclass(frozen=True, slots=True)
class _Request:
    """What one batch must have in common, and one conversation."""

    speaker: str
    item: OmniInput
    options: OmniOptions


class QwenOmni:
    """A Qwen-Omni checkpoint, loaded at the first question and shared by all voices."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._model: OmniModel | None = None
        self._loading = asyncio.Lock()
        self._batcher: Batcher[_Request, OmniOutput] | None = None

    @property
    def sees(self) -> bool:
        """Whether images are taken; before a checkpoint is loaded, whether its processor could."""
        return self._model.sees if self._model is not None else can_see()

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        """Answer the last turn; see :class:`vaeval_tasks.models.protocol.SpeechModel`."""
        question(conversation)
        model, batcher = await self._ready(config)
        if not model.sees and any(turn.images for turn in conversation.turns):
            return unsupported(
                f"{config.config_id}: images need torchvision (pip install 'vaeval[vision]'), and the question has one"
            )
        item = await _input(conversation, config, model.system_prompt)
        try:
            options = omni_options(config.params.get("generate") or {})
        except VaevalError as error:
            raise ServiceError(f"{config.config_id}: {error}") from None
        speaker = model.speaker(config.params.get("speaker") or config.voice)

        async def talk(answer: Answer) -> None:
            answer.request = {"messages": item.messages, "speaker": speaker, "seed": item.seed}
            answer.request["generate"] = dict(config.params.get("generate") or {})
            answer.request["audio"] = [audio_stub(clip.tobytes()) for clip in item.audio]
            answer.recorder.asked()
            output = await batcher.submit(_Request(speaker, item, options))
            answer.text = output.text
            if not model.speaks:
                answer.add_note("the checkpoint has no talker: it answers in words only")
            elif not options.speaks:
                answer.add_note("return_audio is false: words only were asked for")
            if output.audio is not None:
                answer.final += output.audio.pcm16()
                answer.begun = True
                answer.recorder.heard()

        limits = {"turn": 24 * 3600.0, **(config.connection.get("timeouts") or {})}  # waiting for a batch is no fault
        return await run_turn(talk, clock=self._clock, timeouts=Timeouts(**limits), rate=OUTPUT_RATE)

    async def close(self) -> None:
        """Let the weights go."""
        self._model = self._batcher = None

    async def _ready(self, config: ModelConfig) -> tuple[OmniModel, Batcher[_Request, OmniOutput]]:
        async with self._loading:
            if self._model is None or self._batcher is None:
                about = config.connection
                model = await asyncio.to_thread(
                    OmniModel.load,
                    config.params["model"],
                    revision=config.params.get("revision"),
                    dtype=about.get("dtype", "auto"),
                    attn_implementation=about.get("attn_implementation"),
                    device=about.get("device"),
                    device_map=about.get("device_map"),
                    trust_remote_code=bool(about.get("trust_remote_code", False)),
                )
                self._model = model
                self._batcher = Batcher(lambda batch: _answer(model, batch), _at_once(config))
        return self._model, self._batcher


def _at_once(config: ModelConfig) -> int:
    """Return how many requests go through together.

    Raises:
        ServiceError: it is no whole number from 1; nothing finds out by itself what fits.
    """
    given = config.connection.get("batch_size", 1)
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ServiceError(f"{config.config_id}: batch_size must be a whole number from 1, not {given!r}")
    return given


def _answer(model: OmniModel, batch: list[_Request]) -> list[OmniOutput]:
    """Answer requests that came together; those of one voice and one set of options go through as one batch."""
    found: dict[int, OmniOutput] = {}
    groups: dict[str, list[int]] = {}
    for number, request in enumerate(batch):
        groups.setdefault(repr((request.speaker, request.options)), []).append(number)
    for numbers in groups.values():
        first = batch[numbers[0]]
        outputs = model.respond([batch[n].item for n in numbers], first.speaker, first.options)
        found.update(zip(numbers, outputs, strict=True))
    return [found[number] for number in range(len(batch))]


async def _input(conversation: Conversation, config: ModelConfig, first_of_all: str) -> OmniInput:
    """Return the conversation as messages; a role's voice comes first in the first turn.

    Args:
        conversation: what is asked.
        config: brings the system prompt where the conversation has none.
        first_of_all: what every system turn begins with, see :attr:`OmniModel.system_prompt`.
    """
    messages: list[dict[str, Any]] = []
    audio = []
    images = []
    given = plain_system(conversation, config.system_prompt)
    if system := [text for text in (first_of_all, given if given != first_of_all else "") if text]:
        messages.append({"role": "system", "content": [{"type": "text", "text": text} for text in system]})
    for number, turn in enumerate(conversation.turns):
        content: list[dict[str, Any]] = []
        if number == 0 and conversation.role_audio is not None:
            voice = await asyncio.to_thread(read_audio, conversation.role_audio)
            audio.append(voice.at(INPUT_RATE).samples)
            content.append({"type": "audio", "audio": conversation.role_audio.name})
        if turn.role == TurnRole.user:
            for path, clip in zip(turn.audio, await clips(turn, INPUT_RATE), strict=True):
                audio.append(clip.samples)
                content.append({"type": "audio", "audio": path.name})
            for image in turn.images:
                images.append(image)
                content.append({"type": "image", "image": image.name})
        if turn.text and not (turn.role == TurnRole.user and turn.audio):
            content.append({"type": "text", "text": turn.text})
        messages.append({"role": turn.role, "content": content})
    return OmniInput(messages=messages, audio=tuple(audio), images=tuple(images), seed=conversation.seed)
