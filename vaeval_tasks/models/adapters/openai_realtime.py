"""OpenAI GPT-Realtime: ``wss://api.openai.com/v1/realtime``, PCM at 24 kHz both ways."""

from __future__ import annotations

from typing import Any

from vaeval_tasks.models.adapters.realtime import Realtime
from vaeval_tasks.models.protocol import Conversation
from vaeval_tasks.models.speech_in import plain_system
from vaeval_tasks.store.schema import ModelConfig

__all__ = ["OpenAIRealtime"]


class OpenAIRealtime(Realtime):
    """GPT-Realtime 2 and 2.1. The voice cannot change after the first audio, so each turn has its own session."""

    sees = True
    key = "OPENAI_API_KEY"

    def session(self, config: ModelConfig, conversation: Conversation) -> dict[str, Any]:
        """Return the published parameters with the prompt as ``instructions``; the model goes into the address."""
        settings = {key: value for key, value in config.params.items() if key != "model"}
        return {**settings, "instructions": plain_system(conversation, config.system_prompt)}
