"""What a system can take, as far as its class says so before it is loaded or connected."""

from __future__ import annotations

import importlib

from vaeval_tasks.errors import UnknownNameError
from vaeval_tasks.models.providers import provider
from vaeval_tasks.store.schema import ModelConfig

__all__ = ["sees"]


def sees(config: ModelConfig) -> bool | None:
    """Return whether a configuration's system takes pictures; None where only the loaded system knows."""
    said = config.connection.get("sees")
    if isinstance(said, bool):
        return said
    try:
        known = provider(config.provider)
    except UnknownNameError:  # answers from a folder, or a text-only model: nobody is asked
        return None
    if known.guest is not None:
        value = getattr(known.guest.load(), "sees", False)
    else:
        module, _, name = known.target.partition(":")
        value = getattr(importlib.import_module(module), name).sees
    return value if isinstance(value, bool) else None
