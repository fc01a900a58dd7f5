"""The offline voices speak the same samples for the same text and fail in one line."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import numpy as np
import pytest

from vaeval_tasks.errors import MissingDependencyError, ServiceError, UnknownNameError
from vaeval_tasks.models.local import voices
from vaeval_tasks.models.local.voices import FliteVoice, PiperVoice, installed_voices, open_voice


@pytest.fixture(scope="module")
def joe() -> Iterator[PiperVoice]:
    with PiperVoice("joe") as voice:
        yield voice


def test_piper_is_deterministic_and_speaks_every_sentence(joe: PiperVoice) -> None:
    one, two = joe.say("Good morning. How are you?"), joe.say("Good morning.\nHow are you?")
    assert one.rate == 22_050
    assert np.array_equal(one.samples, two.samples)
    assert one.seconds > joe.say("Good morning.").seconds + 0.3


@pytest.mark.parametrize("text", ["", " \n", "...!"])
def test_nothing_to_say_is_an_empty_clip(joe: PiperVoice, text: str) -> None:
    assert len(joe.say(text).samples) == 0


def test_a_text_that_looks_like_an_option_is_spoken() -> None:
    assert FliteVoice("slt").say("--help me").seconds > 0.3


def test_voices_differ() -> None:
    slt, rms = (open_voice(name).say("Good morning.") for name in ("slt", "rms"))
    assert slt.rate == rms.rate == 16_000
    assert len(slt.samples) != len(rms.samples)


def test_a_program_that_dies_is_told(joe: PiperVoice) -> None:
    voice = PiperVoice("joe")
    voice._process.kill()
    voice._process.wait()
    with pytest.raises(ServiceError, match="piper stopped"):
        voice.say("Hello.")
    voice.close()
    with pytest.raises(ServiceError, match="was closed"):
        voice.say("Hello.")


def test_unknown_voices_and_missing_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="Known: awb, joe, kal16, pico-gb, pico-us, rms, slt"):
        open_voice("alloy")
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(voices, "find_spec", lambda _: None)
    assert installed_voices() == ()
    for name in ("joe", "slt", "pico-us"):
        with pytest.raises(MissingDependencyError, match=r"piper-tts|flite|py-nanotts"):
            open_voice(name)


def test_pico_comes_with_the_extra_and_says_the_same_each_time() -> None:
    voice = open_voice("pico-us")
    one, two = voice.say("Good morning, Flora."), voice.say("Good morning, Flora.")
    assert one.rate == 16_000
    assert one.seconds > 0.5
    assert np.array_equal(one.samples, two.samples)
    assert len(voice.say("...").samples) == 0
    voice.close()


def test_the_voices_that_are_here_stand_best_first() -> None:
    assert installed_voices() == ("joe", "slt", "rms", "awb", "kal16", "pico-us", "pico-gb")
