"""A real speech system that needs no network: recogniser, small language model, synthesiser.

It listens with Whisper base, thinks with SmolLM2 135M and speaks with Piper or flite. All weights come
by ``vaeval weights pull offline``. It is small: it shows that the pipeline works, not what a good
assistant can do. It does not see, and it answers in its own voice whatever the role's voice is.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING

from vaeval_tasks import weights
from vaeval_tasks.audio import read_audio
from vaeval_tasks.models.protocol import Conversation, Reply, Turn
from vaeval_tasks.models.voices import Voice, open_voice
from vaeval_tasks.schema import ModelConfig, ResponseStatus

if TYPE_CHECKING:
    from vaeval_tasks.metrics.asr import WhisperRecogniser
    from vaeval_tasks.models.llm import LocalLLM

__all__ = ["SYSTEM_PROMPT", "OfflineModel"]

SYSTEM_PROMPT = "You are a helpful voice assistant. Answer in one or two short spoken sentences."
MAX_TOKENS = 72


class OfflineModel:
    """Listens, thinks and speaks on this machine's processor. Parts load when first needed.

    Args:
        voice: ``joe`` (Piper), or ``slt``, ``rms``, ``awb``, ``kal16`` (flite).
        recogniser: the offline Whisper weights, ``whisper-base`` or ``whisper-tiny.en``.
        threads: processor threads of the language model.
    """

    sees = False

    def __init__(self, voice: str = "joe", recogniser: str = "whisper-base", threads: int = 2) -> None:
        self.voice_name, self.recogniser_name, self.threads = voice, recogniser, threads
        self._voice: Voice | None = None
        self._ears: WhisperRecogniser | None = None
        self._llm: LocalLLM | None = None

    @property
    def config(self) -> ModelConfig:
        """The configuration that names this system in a run."""
        return ModelConfig(
            model="vaeval offline",
            provider="offline",
            voice=self.voice_name,
            system_prompt=SYSTEM_PROMPT,
            params={"recogniser": self.recogniser_name, "llm": "smollm2-135m", "max_tokens": MAX_TOKENS},
        )

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        """Transcribe the last turn, continue the chat and speak the answer.

        Raises:
            MissingWeightsError: the offline weights were not pulled.
            MissingDependencyError: the ``offline`` extra or a voice's program is not installed.
        """
        return await asyncio.to_thread(self._respond, conversation, config)

    async def close(self) -> None:
        """Stop the language model's server and the voice's program."""
        for part in (self._voice, self._llm):
            if part is not None:
                part.close()
        self._voice = self._llm = None

    def _respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        started = time.monotonic()
        heard = self._hear(conversation.turns[-1])
        system = _without_audio_mark(conversation.system_prompt) or config.system_prompt or SYSTEM_PROMPT
        earlier = [{"role": turn.role, "content": turn.text or self._hear(turn)} for turn in conversation.turns[:-1]]
        messages = [{"role": "system", "content": system}, *earlier, {"role": "user", "content": heard}]
        text = _spoken(self._mind().chat(messages, max_tokens=MAX_TOKENS, seed=conversation.seed))
        thought = time.monotonic()
        audio = self._mouth().say(text)
        spoke = len(audio.samples) > 0
        return Reply(
            status=ResponseStatus.ok if spoke else ResponseStatus.empty,
            text=text,
            audio=audio if spoke else None,
            input_transcript=heard,
            output_transcript=text,
            first_audio_s=thought - started,
            total_s=time.monotonic() - started,
            request={"messages": messages, "voice": self.voice_name},
        )

    def _hear(self, turn: Turn) -> str:
        heard = [self._listener().hear(read_audio(path)) for path in turn.audio]
        return " ".join(words for words in heard if words)

    def _listener(self) -> WhisperRecogniser:
        if self._ears is None:
            from vaeval_tasks.metrics.asr import WhisperRecogniser

            self._ears = WhisperRecogniser(self.recogniser_name)
        return self._ears

    def _mind(self) -> LocalLLM:
        if self._llm is None:
            from vaeval_tasks.models.llm import LocalLLM

            self._llm = LocalLLM(weights.offline("smollm2-135m"), threads=self.threads)
        return self._llm

    def _mouth(self) -> Voice:
        if self._voice is None:
            self._voice = open_voice(self.voice_name)
        return self._voice


def _without_audio_mark(prompt: str) -> str:
    return " ".join(prompt.replace("<audio>", " ").split())


def _spoken(text: str) -> str:
    """Return the whole sentences of a text that the token limit may have cut, without mark-up."""
    plain = " ".join(re.sub(r"[*_#`>|]+", " ", text).split())
    whole = re.match(r".*[.!?](?=\s|$)", plain)
    return whole.group(0) if whole else plain
