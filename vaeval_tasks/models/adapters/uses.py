"""What we do with an event of a protocol; each adapter's table of its events says it in these words."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Use"]


class Use(StrEnum):
    """What becomes of an event. Every one is kept in the record."""

    use = "use"
    """It is part of the answer, or of the settings that are checked."""
    record = "record"
    """It tells something about the turn that nothing depends on."""
    ignore = "ignore"
    """It belongs to something that is not asked for: tools, turn detection, playback."""
    end = "end"
    """It ends the turn, or the setting up."""
    refuse = "refuse"
    """It is a failure; :mod:`vaeval_tasks.models.fate` has its consequence."""
