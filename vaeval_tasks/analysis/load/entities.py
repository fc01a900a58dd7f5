"""What is ranked: models, configurations, voices or thinking levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.schema import ModelConfig

__all__ = ["ConfigParts", "Level", "config_parts", "default_level", "entity_names", "tells_models"]


class Level(StrEnum):
    """How configurations are pooled. A voice or thinking level is one of its model: ``Nova 2 Sonic/Tiffany``."""

    model = "model"
    config = "config"
    voice = "voice"
    thinking = "thinking"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigParts:
    """What a configuration is made of."""

    model: str
    thinking: str
    voice: str

    def at(self, level: Level) -> str:
        """Return the entity that the configuration counts as at a level above configurations."""
        return {
            Level.model: self.model,
            Level.voice: f"{self.model}/{self.voice}",
            Level.thinking: f"{self.model}/{self.thinking}",
        }[level]


def _parts(name: str, configs: Mapping[str, ModelConfig]) -> ConfigParts | None:
    if name in configs:
        config = configs[name]
        return ConfigParts(model=config.model, thinking=config.thinking, voice=config.voice)
    parts = name.split("/")
    whole = len(parts) == 3 and all(parts)
    return ConfigParts(model=parts[0], thinking=parts[1], voice=parts[2]) if whole else None


def tells_models(names: Sequence[str], configs: Mapping[str, ModelConfig]) -> bool:
    """Return whether every name is a known configuration or reads as ``model/thinking/voice``."""
    return all(_parts(name, configs) for name in names)


def default_level(names: Sequence[str], configs: Mapping[str, ModelConfig]) -> Level:
    """Return ``model`` where the names tell of two models or more, else ``config``."""
    models = {parts.model if (parts := _parts(name, configs)) else None for name in names}
    return Level.model if None not in models and len(models) > 1 else Level.config


def config_parts(names: Sequence[str], configs: Mapping[str, ModelConfig], path: str | Path) -> tuple[ConfigParts, ...]:
    """Return model, thinking level and voice of each configuration.

    Args:
        names: configuration names as in the ratings.
        configs: the run's configurations by id; other names are read as ``model/thinking/voice``.
        path: the ratings, for messages.

    Raises:
        InputError: a name has no model, voice and thinking level.
    """
    out = []
    for name in names:
        parts = _parts(name, configs)
        if parts is None:
            said = f"{name!r} is not model/thinking/voice and no configs.yaml names it; use --by config"
            raise InputError(said, path=path)
        out.append(parts)
    return tuple(out)


def entity_names(
    names: Sequence[str], configs: Mapping[str, ModelConfig], level: Level, path: str | Path
) -> tuple[str, ...]:
    """Return the entity of each configuration.

    Args:
        names: configuration names as in the ratings.
        configs: the run's configurations by id; other names are read as ``model/thinking/voice``.
        level: what to pool to.
        path: the ratings, for messages.

    Raises:
        InputError: a name has no model, voice and thinking level.
    """
    if level is Level.config:
        return tuple(names)
    return tuple(parts.at(level) for parts in config_parts(names, configs, path))
