"""xAI Grok voice: ``wss://api.x.ai/v1/realtime``, OpenAI's events with a session of its own shape."""

from __future__ import annotations

from typing import Any

from vaeval_tasks.models.adapters.realtime import Realtime
from vaeval_tasks.models.protocol import Conversation
from vaeval_tasks.models.speech_in import plain_system
from vaeval_tasks.store.schema import ModelConfig

__all__ = ["XaiRealtime"]


class XaiRealtime(Realtime):
    """Grok voice-think-fast. Asked without turn detection it may stay silent, hence one more try in a fresh session."""

    key = "XAI_API_KEY"
    retry_silence = True

    def session(self, config: ModelConfig, conversation: Conversation) -> dict[str, Any]:
        """Return the published session with the prompt as ``instructions``."""
        return {"instructions": plain_system(conversation, config.system_prompt), **config.params["session"]}
