"""The offline system listens, keeps a dialogue, and speaks: on the sample's real audio."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from vaeval_tasks.errors import MissingWeightsError, UnknownNameError
from vaeval_tasks.models.local.offline_system import OfflineModel, _spoken, offline_config
from vaeval_tasks.models.protocol import Conversation, Turn
from vaeval_tasks.paths import sample_dir
from vaeval_tasks.store.schema import ResponseStatus

CONFIG = offline_config("slt", "whisper-tiny.en")


@pytest.fixture(scope="module")
def model() -> Iterator[OfflineModel]:
    model = OfflineModel()
    yield model
    asyncio.run(model.close())


def spoken(tmp_path: Path, config: str, item: int, *columns: str) -> tuple[Path, ...]:
    row = pq.read_table(sample_dir() / config.partition("_")[0] / f"test_{config}.parquet").to_pylist()[item]
    files = []
    for column in columns:
        (file := tmp_path / f"{column}.wav").write_bytes(row[column])
        files.append(file)
    return tuple(files)


def test_it_hears_sound_and_question_and_answers_in_speech(model: OfflineModel, tmp_path: Path) -> None:
    audio = spoken(tmp_path, "listening_speech", 0, "sound_audio", "user_audio_0")
    asked = Conversation(turns=(Turn(role="user", audio=audio),))
    reply = asyncio.run(model.respond(asked, CONFIG))
    assert reply.status is ResponseStatus.ok
    assert "blue bicycle" in reply.input_transcript
    assert "What color" in reply.input_transcript
    assert reply.text
    assert reply.audio is not None
    assert reply.audio.seconds > 0.5
    assert not reply.audio.silent
    assert reply.first_audio_s == reply.first_byte_s == reply.total_s, "the voice gives all of its sound at once"
    assert (reply.total_s or 0) > 0
    assert reply.speech_pace == "whole"
    again = asyncio.run(model.respond(asked, CONFIG))
    assert again.text == reply.text
    assert again.audio is not None
    assert again.audio.sha256 == reply.audio.sha256


def test_earlier_turns_and_the_role_reach_the_language_model(model: OfflineModel, tmp_path: Path) -> None:
    (question,) = spoken(tmp_path, "speaking_reasoning", 0, "user_audio_0")
    asked = Conversation(
        turns=(
            Turn(role="user", text="I have a dog called Max."),
            Turn(role="assistant", text="Nice to meet Max."),
            Turn(role="user", audio=(question,)),
        ),
        system_prompt="You are a sailor. <audio> Speak like one.",
    )
    messages = asyncio.run(model.respond(asked, CONFIG)).request["messages"]
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "user"]
    assert messages[0]["content"] == "You are a sailor. Speak like one."
    assert messages[2]["content"] == "Nice to meet Max."
    assert "2 plus 2" in messages[3]["content"] or "two plus two" in messages[3]["content"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("**Paris** is it. And then it", "Paris is it."),
        ("no full stop at all", "no full stop at all"),
        ("# One!\nTwo? Thr", "One! Two?"),
        ("", ""),
    ],
)
def test_only_whole_sentences_without_marks_are_spoken(text: str, said: str) -> None:
    assert _spoken(text) == said


def test_missing_weights_name_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VAEVAL_CACHE", str(tmp_path))
    fresh = OfflineModel()
    (question,) = spoken(tmp_path, "speaking_reasoning", 0, "user_audio_0")
    with pytest.raises(MissingWeightsError, match="vaeval weights pull offline"):
        asyncio.run(fresh.respond(Conversation(turns=(Turn(role="user", audio=(question,)),)), CONFIG))


def test_each_configuration_speaks_in_its_own_voice(model: OfflineModel, tmp_path: Path) -> None:
    (question,) = spoken(tmp_path, "speaking_reasoning", 0, "user_audio_0")
    asked = Conversation(turns=(Turn(role="user", audio=(question,)),))
    replies = [asyncio.run(model.respond(asked, replace(CONFIG, voice=voice))) for voice in ("slt", "rms")]
    assert replies[0].text == replies[1].text
    assert replies[0].audio is not None
    assert replies[1].audio is not None
    assert replies[0].audio.sha256 != replies[1].audio.sha256


def test_the_configuration_names_voice_and_parts() -> None:
    assert offline_config("rms").config_id == "vaeval-offline-ocr/default/rms"
    assert CONFIG.config_id == "vaeval-offline-ocr/default/slt"
    assert offline_config("slt", "whisper-base").config_id == "vaeval-offline-ocr/whisper-base/slt"
    for wrong in ({"voice": "jo"}, {"recogniser": "whisper"}):
        with pytest.raises(UnknownNameError, match="unknown offline"):
            offline_config(**wrong)
