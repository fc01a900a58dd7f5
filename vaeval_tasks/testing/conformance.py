"""Ask a system a few conversations and check what comes back: the test of an adapter of your own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import VaevalError
from vaeval_tasks.models.guest_systems import GuestModel, wrap
from vaeval_tasks.models.protocol import Conversation, Reply, SpeechModel, Turn, TurnRole
from vaeval_tasks.models.providers import check_access, create_model
from vaeval_tasks.models.system import SpeechSystem
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus
from vaeval_tasks.testing.recordings import sample_image, sample_recording, write_recording

__all__ = ["SystemReport", "check_system"]

LONG_S = 40.0
"""Seconds of the long recording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemReport:
    """What a system answered, and what could not be checked."""

    replies: Mapping[str, Reply] = field(default_factory=dict)
    """By conversation: ``one clip``, ``silence``, ``two turns``, ``an image``, ``long``, ``again``, ``the other``,
    ``at once 1``, ``at once 2``."""
    notes: tuple[str, ...] = ()
    """What could not be checked, and why."""


def check_system(
    system: str | SpeechSystem | SpeechModel,
    *,
    voice: str = "default",
    params: Mapping[str, Any] | None = None,
    connection: Mapping[str, Any] | None = None,
    recordings: tuple[Clip, Clip] | None = None,
) -> SystemReport:
    """Check that a system keeps the protocol.

    It is asked one clip, silence, two turns, an image, a long recording, the first clip again, and two clips at once;
    then it is closed twice. Nothing is asked of a real service that the system does not ask itself.

    Args:
        system: what stands as ``provider`` in a configuration (``package.module:Class`` or an entry point), or an
            object.
        voice: of the configuration.
        params: of the configuration.
        connection: of the configuration.
        recordings: two recordings to ask, where made sound is not enough; it is answered differently by most systems.

    Returns:
        The replies, for further checks, and what could not be checked.

    Raises:
        AssertionError: something is wrong; the message lists all of it.
        VaevalError: the system cannot be made, or a key or address is missing.
    """
    config = ModelConfig(
        model="checked",
        provider=system if isinstance(system, str) else "checked",
        voice=voice,
        params=dict(params or {}),
        connection=dict(connection or {}),
    )
    if isinstance(system, str):
        check_access(config)
        made = create_model(config)
        model = made if isinstance(made, GuestModel) else GuestModel(made, name=system)
    else:
        model = wrap(
            system, name=type(system).__name__, model=str(config.params.get("model", "")), connection=connection
        )
    with tempfile.TemporaryDirectory() as folder:
        asking = _Checking(model, config, Path(folder), recordings or (sample_recording(), sample_recording(seed=1)))
        asyncio.run(asking.go())
    if asking.problems:
        raise AssertionError("; ".join(asking.problems))
    return SystemReport(replies=asking.replies, notes=tuple(asking.notes))


class _Checking:
    def __init__(self, model: GuestModel, config: ModelConfig, folder: Path, recordings: tuple[Clip, Clip]) -> None:
        self._model, self._config, self._folder = model, config, folder
        self.one = write_recording(folder / "one.wav", recordings[0])
        self.other = write_recording(folder / "other.wav", recordings[1])
        self.replies: dict[str, Reply] = {}
        self.problems: list[str] = []
        self.notes: list[str] = []

    async def go(self) -> None:
        first = await self._ask("one clip", _spoken(self.one))
        if first is None:  # nothing else would be told either
            return
        if first.status is not ResponseStatus.ok and not self.problems:
            self.problems.append(f"one clip: the status is {first.status}, not ok: {first.error}")
        silence = write_recording(self._folder / "silence.wav", Clip(np.zeros(16_000, np.float32), 16_000))
        await self._ask("silence", _spoken(silence))
        sound = first.audio if first.audio is not None else sample_recording(seed=3)
        said = Turn(
            role=TurnRole.assistant,
            audio=(write_recording(self._folder / "answer.wav", sound),),
            text=first.text or "Yes.",
        )
        await self._ask("two turns", Conversation(turns=(*_spoken(self.one).turns, said, *_spoken(self.other).turns)))
        await self._image()
        long = write_recording(self._folder / "long.wav", sample_recording(LONG_S, seed=2))
        await self._ask("long", _spoken(long))
        await self._at_once(first)
        await self._close()

    async def _ask(self, name: str, conversation: Conversation) -> Reply | None:
        """Ask, and note what the system's code did wrong. That it cannot answer is no fault."""
        try:
            reply = await self._model.respond(conversation, self._config)
        except VaevalError as error:
            self.problems.append(f"{name}: {type(error).__name__}: {error}")
            return None
        self.replies[name] = reply
        self.problems += [f"{name}: {reason}" for reason in self._model.faults]
        self._model.faults.clear()
        return reply

    async def _image(self) -> None:
        picture = sample_image(self._folder / "picture.png")
        turn = Turn(role=TurnRole.user, audio=(self.one,), images=(picture,))
        if not self._model.sees:  # the hosts never ask it then; the synchronous form answers so itself
            self.notes.append("an image: not asked, for the system says that it does not see")
            return
        reply = await self._ask("an image", Conversation(turns=(turn,)))
        if reply is not None and reply.status is ResponseStatus.unsupported:
            self.problems.append("an image: the system says that it sees, and the status is unsupported")

    async def _at_once(self, first: Reply) -> None:
        """Ask two clips together. Only answers that come out the same when asked alone can show a mix-up."""
        again = await self._ask("again", _spoken(self.one))
        other = await self._ask("the other", _spoken(self.other))
        together = await asyncio.gather(
            self._ask("at once 1", _spoken(self.one)), self._ask("at once 2", _spoken(self.other))
        )
        if again is None or other is None or None in together:
            return
        if _heard(again) != _heard(first):
            self.notes.append("two at once: one request has many answers, so a mix-up cannot be seen")
            return
        for number, (alone, reply) in enumerate(zip((first, other), together, strict=True), 1):
            if reply is not None and _heard(reply) != _heard(alone):
                self.problems.append(f"at once {number}: the answer is not the one that the same request has alone")
        if _heard(first) == _heard(other):
            self.notes.append("two at once: both recordings have the same answer, so a mix-up cannot be seen")

    async def _close(self) -> None:
        for time in ("first", "second"):
            try:
                await self._model.inner.close()
            except Exception as error:
                self.problems.append(f"closing it a {time} time raised {type(error).__name__}: {error}")


def _spoken(path: Path) -> Conversation:
    return Conversation(turns=(Turn(role=TurnRole.user, audio=(path,)),))


def _heard(reply: Reply) -> tuple[object, ...]:
    return reply.status, reply.text, reply.audio.sha256 if reply.audio is not None else ""
