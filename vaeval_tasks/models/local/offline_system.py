"""A real speech system that needs no network: recogniser, reader of pictures, small language model, synthesiser.

It listens with Whisper tiny.en or base, reads the text in pictures (RapidOCR), thinks with SmolLM2 135M and speaks with
Piper, flite or Pico. Weights come by ``vaeval weights pull offline``. It is small: it shows that the pipeline works,
not what a good assistant can do. Of a picture it sees the text only, and its name says so; it answers in its own voice
whatever the role's voice is.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from vaeval_tasks.audio import Clip, read_audio
from vaeval_tasks.errors import UnknownNameError
from vaeval_tasks.models.local.reading import PictureReader
from vaeval_tasks.models.local.voices import VOICES, Voice, open_voice
from vaeval_tasks.models.protocol import Conversation, Reply, Turn
from vaeval_tasks.services import weights
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus, SpeechPace

if TYPE_CHECKING:
    from vaeval_tasks.metrics.asr import WhisperRecogniser
    from vaeval_tasks.services.local_llm import LocalLLM

__all__ = ["RECOGNISERS", "SYSTEM_PROMPT", "OfflineModel", "offline_config"]

SYSTEM_PROMPT = "You are a helpful voice assistant. Answer in one short spoken sentence."
MAX_TOKENS = 40
RECOGNISERS = ("whisper-tiny.en", "whisper-base")
NAME = "vaeval offline OCR"
HEARING_RATE = 16_000
"""Hz."""


def offline_config(voice: str = "joe", recogniser: str = "whisper-tiny.en") -> ModelConfig:
    """Return the configuration of the offline system with a voice and a recogniser.

    Args:
        voice: one of :data:`vaeval_tasks.models.local.voices.VOICES`.
        recogniser: the offline Whisper weights, ``whisper-tiny.en`` or ``whisper-base``.

    Raises:
        UnknownNameError: there is no such voice or recogniser.
    """
    for kind, name, known in (("offline voice", voice, VOICES), ("offline recogniser", recogniser, RECOGNISERS)):
        if name not in known:
            raise UnknownNameError(kind, name, known)
    return ModelConfig(
        model=NAME,
        provider="offline",
        thinking="default" if recogniser == RECOGNISERS[0] else recogniser,
        voice=voice,
        system_prompt=SYSTEM_PROMPT,
        params={"recogniser": recogniser, "llm": "smollm2-135m", "max_tokens": MAX_TOKENS},
    )


class OfflineModel:
    """Listens, reads, thinks and speaks on this machine's processor. Parts load when first needed.

    Each part does one thing at a time and with one thread, so that the same request gives the same answer; two requests
    at once keep two cores busy.
    """

    sees = True

    def __init__(self) -> None:
        self._ears: dict[str, WhisperRecogniser] = {}
        self._heard: dict[tuple[object, ...], str] = {}
        self._voices: dict[str, Voice] = {}
        self._llm: LocalLLM | None = None
        self._hearing, self._reading, self._thinking, self._speaking = Lock(), Lock(), Lock(), Lock()

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        """Transcribe the last turn, read its pictures, continue the chat and speak in the configuration's voice.

        Raises:
            InputError: a picture is none.
            UnknownNameError: there is no such voice.
            MissingWeightsError: the offline weights were not pulled.
            MissingDependencyError: the ``offline`` extra or a voice's program is not installed.
        """
        return await asyncio.to_thread(self._respond, conversation, config)

    async def close(self) -> None:
        """Stop the language model's server and the voices' programs."""
        for voice in self._voices.values():
            voice.close()
        if self._llm is not None:
            self._llm.close()
        self._voices, self._llm = {}, None

    def _respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        started = time.monotonic()
        heard = self._hear(conversation.turns[-1], config)
        system = _without_audio_mark(conversation.system_prompt) or config.system_prompt or SYSTEM_PROMPT
        messages = [{"role": "system", "content": system}]
        for turn in conversation.turns:
            words = turn.text or self._hear(turn, config)
            messages.append({"role": turn.role, "content": "\n".join([*self._read(turn.images), words])})
        text = self._think(messages, config, conversation.seed)
        with self._speaking:
            audio = self._voice(config.voice).say(text)
        took = time.monotonic() - started
        spoke = len(audio.samples) > 0
        return Reply(
            status=ResponseStatus.ok if spoke else ResponseStatus.empty,
            text=text,
            audio=audio if spoke else None,
            input_transcript=heard,
            output_transcript=text,
            first_audio_s=took if spoke else None,  # the voice gives all of it at once
            first_byte_s=took if spoke else None,
            speech_pace=SpeechPace.whole,
            total_s=took,
            request={"messages": messages, "voice": config.voice},
        )

    def _hear(self, turn: Turn, config: ModelConfig) -> str:
        """Return what is heard in a turn's clips, one after another; configurations that share ears hear them once."""
        if not turn.audio:
            return ""
        name = str(config.params.get("recogniser", RECOGNISERS[0]))
        key = (name, *((str(path), path.stat().st_mtime_ns) for path in turn.audio))
        with self._hearing:
            if key not in self._heard:
                if name not in self._ears:
                    from vaeval_tasks.metrics.asr import WhisperRecogniser

                    self._ears[name] = WhisperRecogniser(name)
                self._heard[key] = self._ears[name].hear(_joined([read_audio(path) for path in turn.audio]))
            return self._heard[key]

    @cached_property
    def _eyes(self) -> PictureReader:
        return PictureReader()

    def _read(self, pictures: Sequence[Path]) -> list[str]:
        """Return a line for each picture: the text in it."""
        with self._reading:
            found = [self._eyes.read(path) for path in pictures]
        names = ["The picture"] if len(found) == 1 else [f"Picture {i}" for i in range(1, len(found) + 1)]
        return [f"{name} says: {'; '.join(text) or 'nothing'}." for name, text in zip(names, found, strict=True)]

    def _think(self, messages: Sequence[dict[str, str]], config: ModelConfig, seed: int) -> str:
        with self._thinking:
            if self._llm is None:
                from vaeval_tasks.services.local_llm import LocalLLM

                self._llm = LocalLLM(weights.offline("smollm2-135m"), threads=1)
            limit = int(config.params.get("max_tokens", MAX_TOKENS))
            return _spoken(self._llm.chat(messages, max_tokens=limit, seed=seed))

    def _voice(self, name: str) -> Voice:
        if name not in self._voices:
            self._voices[name] = open_voice(name)
        return self._voices[name]


def _joined(clips: Sequence[Clip]) -> Clip:
    """Return clips as one recording with half a second between them: Whisper takes as long for one second as for 30."""
    pause = np.zeros(HEARING_RATE // 2, np.float32)
    parts = [part for clip in clips for part in (clip.at(HEARING_RATE).samples, pause)]
    return Clip(np.concatenate(parts[:-1]), HEARING_RATE)


def _without_audio_mark(prompt: str) -> str:
    return " ".join(prompt.replace("<audio>", " ").split())


def _spoken(text: str) -> str:
    """Return the whole sentences of a text that the token limit may have cut, without mark-up."""
    plain = " ".join(re.sub(r"[*_#`>|]+", " ", text).split())
    whole = re.match(r".*[.!?](?=\s|$)", plain)
    return whole.group(0) if whole else plain
