"""A real speech system that needs no network: recogniser, small language model, synthesiser.

It listens with Whisper base, thinks with SmolLM2 135M and speaks with Piper or flite. All weights come
by ``vaeval weights pull offline``. It is small: it shows that the pipeline works, not what a good
assistant can do. It does not see, and it answers in its own voice whatever the role's voice is.
"""

from __future__ import annotations

import asyncio
import re
import time
from threading import Lock
from typing import TYPE_CHECKING

from vaeval_tasks.audio import read_audio
from vaeval_tasks.errors import UnknownNameError
from vaeval_tasks.models.local.voices import VOICES, Voice, open_voice
from vaeval_tasks.models.protocol import Conversation, Reply, Turn
from vaeval_tasks.services import weights
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

if TYPE_CHECKING:
    from vaeval_tasks.metrics.asr import WhisperRecogniser
    from vaeval_tasks.models.local.llm import LocalLLM

__all__ = ["RECOGNISERS", "SYSTEM_PROMPT", "OfflineModel", "offline_config"]

SYSTEM_PROMPT = "You are a helpful voice assistant. Answer in one or two short spoken sentences."
MAX_TOKENS = 72
RECOGNISERS = ("whisper-base", "whisper-tiny.en")


def offline_config(voice: str = "joe", recogniser: str = "whisper-base") -> ModelConfig:
    """Return the configuration of the offline system with a voice and a recogniser.

    Args:
        voice: ``joe`` (Piper), or ``slt``, ``rms``, ``awb``, ``kal16`` (flite).
        recogniser: the offline Whisper weights, ``whisper-base`` or ``whisper-tiny.en``.

    Raises:
        UnknownNameError: there is no such voice or recogniser.
    """
    for kind, name, known in (("offline voice", voice, VOICES), ("offline recogniser", recogniser, RECOGNISERS)):
        if name not in known:
            raise UnknownNameError(kind, name, known)
    return ModelConfig(
        model="vaeval offline",
        provider="offline",
        thinking="default" if recogniser == RECOGNISERS[0] else recogniser,
        voice=voice,
        system_prompt=SYSTEM_PROMPT,
        params={"recogniser": recogniser, "llm": "smollm2-135m", "max_tokens": MAX_TOKENS},
    )


class OfflineModel:
    """Listens, thinks and speaks on this machine's processor, one request at a time. Parts load when first needed.

    Args:
        threads: processor threads of the language model.
    """

    sees = False

    def __init__(self, threads: int = 2) -> None:
        self.threads = threads
        self._voices: dict[str, Voice] = {}
        self._ears: dict[str, WhisperRecogniser] = {}
        self._llm: LocalLLM | None = None
        self._turn = Lock()

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        """Transcribe the last turn, continue the chat and speak the answer in the configuration's voice.

        Raises:
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
        with self._turn:  # one processor, one language model, one program a voice
            return self._answer(conversation, config)

    def _answer(self, conversation: Conversation, config: ModelConfig) -> Reply:
        started = time.monotonic()
        heard = self._hear(conversation.turns[-1], config)
        system = _without_audio_mark(conversation.system_prompt) or config.system_prompt or SYSTEM_PROMPT
        earlier = [
            {"role": turn.role, "content": turn.text or self._hear(turn, config)} for turn in conversation.turns[:-1]
        ]
        messages = [{"role": "system", "content": system}, *earlier, {"role": "user", "content": heard}]
        limit = int(config.params.get("max_tokens", MAX_TOKENS))
        text = _spoken(self._mind().chat(messages, max_tokens=limit, seed=conversation.seed))
        thought = time.monotonic()
        audio = self._voice(config.voice).say(text)
        spoke = len(audio.samples) > 0
        return Reply(
            status=ResponseStatus.ok if spoke else ResponseStatus.empty,
            text=text,
            audio=audio if spoke else None,
            input_transcript=heard,
            output_transcript=text,
            first_audio_s=thought - started,
            total_s=time.monotonic() - started,
            request={"messages": messages, "voice": config.voice},
        )

    def _hear(self, turn: Turn, config: ModelConfig) -> str:
        name = str(config.params.get("recogniser", RECOGNISERS[0]))
        if name not in self._ears:
            from vaeval_tasks.metrics.asr import WhisperRecogniser

            self._ears[name] = WhisperRecogniser(name)
        heard = [self._ears[name].hear(read_audio(path)) for path in turn.audio]
        return " ".join(words for words in heard if words)

    def _mind(self) -> LocalLLM:
        if self._llm is None:
            from vaeval_tasks.models.local.llm import LocalLLM

            self._llm = LocalLLM(weights.offline("smollm2-135m"), threads=self.threads)
        return self._llm

    def _voice(self, name: str) -> Voice:
        if name not in self._voices:
            self._voices[name] = open_voice(name)
        return self._voices[name]


def _without_audio_mark(prompt: str) -> str:
    return " ".join(prompt.replace("<audio>", " ").split())


def _spoken(text: str) -> str:
    """Return the whole sentences of a text that the token limit may have cut, without mark-up."""
    plain = " ".join(re.sub(r"[*_#`>|]+", " ", text).split())
    whole = re.match(r".*[.!?](?=\s|$)", plain)
    return whole.group(0) if whole else plain
