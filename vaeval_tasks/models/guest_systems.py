"""Somebody else's system behind our protocol: whatever it does wrong becomes a status or one line, never a crash."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import InputError, PluginError, ServiceError, VaevalError, fault
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.guest_checks import wrong_answer, wrong_reply
from vaeval_tasks.models.protocol import Conversation, Reply, SpeechModel, Turn, TurnRole
from vaeval_tasks.models.speech_in import earlier, plain_system, question, read_clips
from vaeval_tasks.models.system import EarlierTurn, SpeechSystem, SpokenAnswer, SpokenRequest
from vaeval_tasks.models.transport.record import audio_stub
from vaeval_tasks.models.turn import Answer, Timeouts, TurnError, run_turn, unsupported
from vaeval_tasks.services.http.secrets import scrub
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

__all__ = ["GuestModel", "ThreadedSystem", "open_guest", "wrap"]

MOST_FAULTS = 100
GRACE_S = 5.0
"""How much longer than its own time limit a system may take that minds its time limits itself, in seconds."""

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


def open_guest(
    made_by: type, name: str, config: ModelConfig, connection: Mapping[str, Any], keys: tuple[str, ...]
) -> GuestModel:
    """Return somebody else's system as a speech model.

    Args:
        made_by: the class, a :class:`SpeechSystem` or one with the methods of ``SpeechModel``.
        name: what messages call it.
        config: the configuration it is made for.
        connection: that of the configuration, with every address filled in.
        keys: environment variables whose values must not reach a file.

    Raises:
        PluginError: the class cannot be called without arguments.
    """
    try:
        made = made_by()
    except Exception as error:
        if (failure := _stopping(error, f"{name} cannot be made")) is error:
            raise
        raise failure from error
    return wrap(made, name=name, model=str(config.params.get("model", "")), connection=connection, keys=keys)


def wrap(
    system: SpeechSystem | SpeechModel,
    *,
    name: str,
    model: str = "",
    connection: Mapping[str, Any] | None = None,
    keys: tuple[str, ...] = (),
) -> GuestModel:
    """Return an object of somebody else's as a speech model; see :func:`open_guest`."""
    if isinstance(system, SpeechSystem):
        system = ThreadedSystem(system, name=name, model=model, connection=connection)
    return GuestModel(system, name=name, keys=keys)


class GuestModel:
    """A speech model that answers for somebody else's.

    Args:
        model: the system.
        name: what messages call it.
        keys: environment variables whose values must not reach a file.
    """

    def __init__(self, model: SpeechModel, *, name: str, keys: tuple[str, ...] = ()) -> None:
        self.inner = model
        """The system itself."""
        self.faults: list[str] = model.faults if isinstance(model, ThreadedSystem) else []
        """What its code did wrong, the first 100 times; what it says it cannot answer is none."""
        self._name, self._keys = name, keys
        self._closed = False

    @property
    def sees(self) -> bool:
        """Whether the system says that it takes images."""
        return bool(getattr(self.inner, "sees", False))

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        """Answer the last turn; see :class:`~vaeval_tasks.models.protocol.SpeechModel`."""
        self._closed = False
        try:
            reply = await self._respond(conversation, config)
        except VaevalError as error:
            if (text := self._scrub(str(error))) != str(error):
                raise ServiceError(text, retry=getattr(error, "retry", False)) from None
            raise
        except TurnError as error:
            reply = Reply(status=error.status, error=error.reason, retry=error.retry)
        except Exception as error:
            log.debug("%s failed", self._name, exc_info=True)
            reply = self._fault(f"{self._name} raised {fault(error)}")
        if wrong := wrong_reply(reply):
            reply = self._fault(f"{self._name}: {wrong}")
        return replace(reply, error=self._scrub(reply.error))

    async def _respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        if isinstance(self.inner, ThreadedSystem):
            return await self.inner.respond(conversation, config)
        limit = Timeouts.of(config).turn
        try:
            async with asyncio.timeout(limit + GRACE_S) as running:
                return await self.inner.respond(conversation, config)
        except TimeoutError:
            if not running.expired():
                raise
            return Reply(status=ResponseStatus.timeout, error=f"no end of the turn within {limit:g} s")

    def _fault(self, reason: str) -> Reply:
        _note(self.faults, reason)
        return Reply(status=ResponseStatus.error, error=reason)

    def _scrub(self, text: str) -> str:
        return scrub(text, *(os.environ.get(name, "").strip() for name in self._keys))

    async def close(self) -> None:
        """Close the system, once; what goes wrong then is logged, for the answers are there."""
        if self._closed:
            return
        self._closed = True
        try:
            await self.inner.close()
        except Exception as error:
            log.warning("%s could not be closed: %s", self._name, fault(error))


class ThreadedSystem:
    """A synchronous system as a speech model: opened once, each request in a thread of its own.

    Threads end with the process: one that hangs is left behind when its time is over, and holds nobody up.

    Args:
        system: the system.
        name: what messages call it.
        model: ``params.model``.
        connection: of the configuration, with every address filled in.
    """

    def __init__(
        self, system: SpeechSystem, *, name: str, model: str = "", connection: Mapping[str, Any] | None = None
    ) -> None:
        self.faults: list[str] = []
        self._system, self._name = system, name
        self._model, self._connection = model, dict(connection or {})
        self._opening = threading.Lock()
        self._is_open = False
        self._refused: VaevalError | None = None
        """Why it cannot be opened: who waited meanwhile need not load the weights in vain too."""
        self._clock = Clock()

    @property
    def sees(self) -> bool:
        """Whether the system takes images."""
        return self._system.sees

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        """Answer the last turn; see :class:`~vaeval_tasks.models.protocol.SpeechModel`."""
        if not self.sees and any(turn.images for turn in conversation.turns):
            return unsupported("the model does not take images")
        await _in_thread(self._open)
        request = await _in_thread(self._request, conversation, config)

        async def talk(answer: Answer) -> None:
            answer.request = _shown(request)
            answer.recorder.asked()
            given = await _in_thread(self._answer, request)
            if wrong := wrong_answer(given):
                raise self._fault(f"{self._name}: {wrong}")
            _fill(answer, given)

        return await run_turn(talk, clock=self._clock, timeouts=Timeouts.of(config), rate=self._system.rate)

    async def close(self) -> None:
        """Close the system if it was opened."""
        await _in_thread(self._close)

    def _open(self) -> None:
        with self._opening:
            if self._is_open:
                return
            if self._refused is not None:
                raise self._refused
            try:
                self._system.open(self._model, self._connection)
            except BaseException as error:
                failure = _stopping(error, f"{self._name} cannot be opened")
                if not getattr(failure, "retry", False):
                    self._refused = failure
                if failure is error:
                    raise
                raise failure from error
            self._is_open = True

    def _close(self) -> None:
        with self._opening:
            if self._is_open:
                self._is_open = False
                self._system.close()

    def _request(self, conversation: Conversation, config: ModelConfig) -> SpokenRequest:
        rate = self._system.rate
        asked = question(conversation)
        role = (conversation.role_audio,) if conversation.role_audio is not None else ()
        return SpokenRequest(
            audio=_pcm(asked.audio, rate),
            rate=rate,
            config=config,
            system_prompt=plain_system(conversation, config.system_prompt),
            images=asked.images,
            earlier=tuple(
                EarlierTurn(
                    role=turn.role,
                    audio=_pcm(turn.audio, rate),
                    text=turn.text,
                    images=turn.images,
                )
                for turn in earlier(conversation)
            ),
            role_voice=_pcm(role, rate),
            seed=conversation.seed,
        )

    def _answer(self, request: SpokenRequest) -> Any:
        try:
            return self._system.answer(request)
        except InputError as error:
            raise TurnError(ResponseStatus.error, str(error)) from error
        except (TurnError, VaevalError):
            raise
        except BaseException as error:  # an interrupt never reaches a thread
            raise self._fault(f"{self._name} raised {fault(error)}") from error

    def _fault(self, reason: str) -> TurnError:
        _note(self.faults, reason)
        return TurnError(ResponseStatus.error, reason)


def _stopping(error: BaseException, what: str) -> VaevalError:
    """Return the error that stops a configuration. An InputError would only be about one conversation."""
    if isinstance(error, VaevalError) and not isinstance(error, InputError):
        return error
    return PluginError(f"{what}: {fault(error)}")


def _note(faults: list[str], reason: str) -> None:
    if len(faults) < MOST_FAULTS:
        faults.append(reason)


async def _in_thread(work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Do work in a thread of its own that does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: Exception | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result: T | None = None
        failure: Exception | None = None
        try:
            result = work(*args, **options)
        except StopIteration as error:  # which a future does not take
            failure = RuntimeError(fault(error))
        except Exception as error:
            failure = error
        except BaseException as error:
            failure = RuntimeError(fault(error))
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, daemon=True, name="vaeval system").start()
    return await done


def _pcm(paths: tuple[Path, ...], rate: int) -> bytes:
    return b"".join(clip.pcm16() for clip in read_clips(Turn(role=TurnRole.user, audio=paths), rate))


def _shown(request: SpokenRequest) -> dict[str, Any]:
    """Return the request as it is kept: sounds by length and hash."""
    turns = [
        {"role": turn.role, "audio": audio_stub(turn.audio), "text": turn.text, "images": [p.name for p in turn.images]}
        for turn in request.earlier
    ]
    return {
        "audio": audio_stub(request.audio),
        "rate": request.rate,
        "system_prompt": request.system_prompt,
        "images": [path.name for path in request.images],
        "earlier": turns,
        "seed": request.seed,
        "voice": request.config.voice,
        "thinking": request.config.thinking,
        "params": request.config.params,
        **({"role_voice": audio_stub(request.role_voice)} if request.role_voice else {}),
    }


def _fill(answer: Answer, given: SpokenAnswer) -> None:
    """Put a sound answer where :func:`run_turn` takes it from."""
    answer.rate = int(given.rate)
    answer.text, answer.input_transcript, answer.thoughts = given.text, given.input_transcript, given.thoughts
    answer.usage = dict(given.usage)
    sound = given.audio
    if isinstance(sound, np.ndarray):
        sound = sound.astype("<i2").tobytes() if sound.dtype.kind == "i" else Clip(sound, answer.rate).pcm16()
    answer.final += sound or b""
    if answer.final:
        recorder = answer.recorder
        at = recorder.clock.now()
        if given.first_audio_s is not None and recorder.asked_at is not None:
            at = recorder.asked_at + float(given.first_audio_s)
        recorder.heard_at(at, at)
