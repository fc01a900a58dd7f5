"""Recordings that were made elsewhere: a system that can no longer be asked."""

from __future__ import annotations

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.protocol import Conversation, Reply
from vaeval_tasks.store.schema import ModelConfig

__all__ = ["Replay"]


class Replay:
    """Has given its answers; ``vaeval responses import`` brings more."""

    sees = True

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        """Refuse, so that the configuration stops and others go on.

        Raises:
            ServiceError: always.
        """
        raise ServiceError(
            f"{config.config_id}: its answers are recordings, and some prompts have none; "
            "bring them with: vaeval responses import RUN FOLDER --config NAME"
        )

    async def close(self) -> None:
        """Nothing is open."""
