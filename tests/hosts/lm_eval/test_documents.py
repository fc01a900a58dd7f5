"""Rows of the data set become documents; every trap of the real data is undone or refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks.audio import Clip, read_audio, wav_bytes
from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.lm_eval import media_cache
from vaeval_tasks.hosts.lm_eval.documents import document, item, unwrap

WAV = wav_bytes(Clip(np.zeros(800, np.float32), 8000))


def test_listening_plays_the_sound_before_the_question(make_row: Callable[..., Any], fakes: Any) -> None:
    row = make_row("listening_sound", 0, sound_audio=wav_bytes(fakes.tone(50, seconds=0.5)))
    doc = document(row, "listening_sound", needs="sound_audio")
    sound, question = (read_audio(path) for path in doc["turns"][0])
    assert (sound.seconds, question.seconds) == (0.5, 0.2)
    assert item(doc).audio == tuple(doc["turns"][0])


def test_the_traps_of_the_data(hub_folder: Path) -> None:
    from vaeval_tasks.hosts.lm_eval.dataset import load

    def docs(task: str) -> list[dict[str, Any]]:
        return list(load(config=task, dataset_path=str(hub_folder))["test"])

    dialogue = docs("speaking_multi_round")
    assert [len(doc["turns"]) for doc in dialogue] == [3, 7]
    assert dialogue[0]["question"] == "turn 0\nturn 1\nturn 2"
    role = docs("speaking_roleplay")[0]
    assert "<audio>" in role["system_prompt"]
    assert Path(role["role_audio"]).is_file()
    assert role["references"] == ['I am its "role"']
    assert docs("speaking_safety")[0]["question"] == ""
    assert docs("speaking_emotion")[0]["references"] == []
    assert docs("speaking_emotion")[0]["user_emotion"] == "sad"
    view = docs("viewing_multi_discipline")[0]
    assert (len(view["images"]), view["options"]) == (5, ["A", "B"])
    assert view["images"][0].endswith(".png")
    assert docs("listening_music")[0]["role_audio"] == ""


def test_a_listening_item_without_sound_is_refused(make_row: Callable[..., Any]) -> None:
    row = make_row("listening_general", 7)
    with pytest.raises(InputError, match="field 'sound_audio': an item of listening_general cannot"):
        document(row, "listening_general", needs="sound_audio")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user_audio_0": b""}, "has no spoken question"),
        ({"user_audio_0": b"MZ program"}, "the bytes are not a sound file"),
        ({"user_audio_2": WAV}, "has this cell but not 'user_audio_1'"),
        ({"image_0": b"RIFF"}, "the bytes are not an image file"),
        ({"role_audio": "path.wav"}, "expected the bytes of a file, got str"),
    ],
)
def test_bad_media_name_the_column(make_row: Callable[..., Any], changes: dict[str, Any], message: str) -> None:
    row = make_row("speaking_safety", 3, **changes)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        document(row, "speaking_safety")
    assert caught.value.field == next(iter(changes))


def test_media_are_written_once_under_their_hash(make_row: Callable[..., Any], media_cache: Path) -> None:
    row = make_row("speaking_safety", 4)
    first, second = document(row, "speaking_safety"), document(row, "speaking_safety")
    path = Path(first["turns"][0][0])
    assert first == second
    assert path.parent == (media_cache / "media" / "checked").resolve()
    assert path.read_bytes() == row["user_audio_0"]


def test_cells_of_the_datasets_library() -> None:
    assert media_cache.cell_bytes({"bytes": b"RIFF", "path": None}) == b"RIFF"
    assert media_cache.cell_bytes(None) == b""


@pytest.mark.parametrize(
    ("references", "expected"),
    [
        (["['a', 'b']"], ["a", "b"]),
        (["[__import__('os').getcwd()]"], ["[__import__('os').getcwd()]"]),
        (["[1, 2]"], ["[1, 2]"]),
        (["[laughs] hello"], ["[laughs] hello"]),
        (["[" * 5000 + "]" * 5000], ["[" * 5000 + "]" * 5000]),
        (["['a']", "b"], ["['a']", "b"]),
        ([], []),
    ],
)
def test_unwrap(references: list[str], expected: list[str]) -> None:
    assert unwrap(references) == expected


@given(st.lists(st.text(), min_size=1))
def test_unwrap_undoes_a_printed_list(texts: list[str]) -> None:
    assert unwrap([str(texts)]) == texts
