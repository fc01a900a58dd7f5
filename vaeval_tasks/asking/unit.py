"""What is asked: one record for each response that is still to come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vaeval_tasks.asking.kept import file_name
from vaeval_tasks.models.protocol import Turn
from vaeval_tasks.store.schema import Item, ModelConfig, slug

__all__ = ["AskingUnit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingUnit:
    """One response that is still to come: who is asked, what, and what the answer is called."""

    response_id: str
    prompt_id: str
    """The ``prompt_id`` of a study or the ``item_id`` of a task."""
    config: ModelConfig
    turns: tuple[Turn, ...]
    """What the user says, turn by turn; the system's own answers come in between."""
    seeds: tuple[int, ...]
    """Of local sampling, one for each turn."""
    task: str = ""
    """The task of a host, empty in a study."""
    system_prompt: str = ""
    role_audio: Path | None = None
    attempts: int = 0
    """Attempts of earlier runs that failed."""
    item: Item | None = None
    """The document that is answered, kept beside the response."""
    sha256: Mapping[Path, str] = field(default_factory=dict)
    """The checksum of clips that a table names; empty where only the file must be there."""
    seconds: float = 0.0
    """How much speech is sent."""
    stem: str = ""
    """The name of the sound files below ``audio/responses``; by default the configuration and the prompt."""

    @property
    def sound_name(self) -> str:
        """Where the sounds are kept, below ``audio/responses`` and without an ending."""
        return self.stem or f"{slug(self.config.config_id)}/{file_name(self.prompt_id)}"
