"""Prompts as messages: prepared once for all sessions that ask at the same time."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.audio import read_audio
from vaeval_tasks.errors import InputError
from vaeval_tasks.models import speech_in
from vaeval_tasks.models.protocol import Turn
from vaeval_tasks.models.transport.record import audio_stub


def form(audio: Any) -> dict[str, Any]:
    return {"append": audio}


def test_the_messages_hold_the_clip_and_what_is_kept_of_it(short_prompt: Path) -> None:
    ready = asyncio.run(speech_in.speech(Turn(role="user", audio=(short_prompt,)), 24000, form))
    expected = read_audio(short_prompt).at(24000).pcm16()
    pieces = [base64.b64decode(json.loads(m.wire)["append"]) for m in ready.messages]
    assert b"".join(pieces) == expected
    assert [len(piece) for piece in pieces] == [9600, 9600, 4800]  # 0.2 s, 0.2 s, 0.1 s of 2 bytes at 24 kHz
    assert [m.shown["append"] for m in ready.messages] == [audio_stub(piece) for piece in pieces]
    assert ready.stub == audio_stub(expected)


def test_sessions_that_ask_at_once_share_it_and_then_it_is_let_go(short_prompt: Path) -> None:
    turn = Turn(role="user", audio=(short_prompt,))

    async def together() -> tuple[int, int]:
        many = await asyncio.gather(*(speech_in.speech(turn, 24000, form) for _ in range(8)))
        other = await speech_in.speech(turn, 16000, form)
        return len({id(ready) for ready in many}), len({id(ready) for ready in [*many, other]})

    assert asyncio.run(together()) == (1, 2)
    gc.collect()
    assert not speech_in._ready
    assert not speech_in._coming


def test_every_session_hears_that_a_clip_cannot_be_read(tmp_path: Path) -> None:
    turn = Turn(role="user", audio=(tmp_path / "none.wav",))

    async def together() -> list[Any]:
        return await asyncio.gather(*(speech_in.speech(turn, 24000, form) for _ in range(3)), return_exceptions=True)

    errors = asyncio.run(together())
    assert [type(error) for error in errors] == [InputError] * 3
    assert not speech_in._coming
    with pytest.raises(InputError, match="no such audio file"):
        asyncio.run(speech_in.speech(turn, 24000, form))
