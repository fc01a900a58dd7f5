"""The conformance check finds what it says it finds, and passes what is right."""

from __future__ import annotations

import asyncio
import itertools
import sys
import threading
from typing import Any

import numpy as np
import pytest

import vaeval_tasks.testing as room
from vaeval_tasks.audio import read_audio
from vaeval_tasks.errors import MissingDependencyError, ServiceError
from vaeval_tasks.models.protocol import Conversation, Reply
from vaeval_tasks.models.system import SpeechSystem, SpokenAnswer, SpokenRequest
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus
from vaeval_tasks.testing import check_system, sample_image, sample_recording


class Parrot(SpeechSystem):
    """Says what it hears."""

    def answer(self, request: SpokenRequest) -> SpokenAnswer:
        return SpokenAnswer(audio=request.audio, rate=request.rate, text=f"{len(request.audio)} bytes")


class Deaf(Parrot):
    """Divides by the loudness, which silence does not have."""

    def answer(self, request: SpokenRequest) -> SpokenAnswer:
        return SpokenAnswer(audio=request.samples / np.abs(request.samples).max(), rate=request.rate)


class Forgetful(Parrot):
    def answer(self, request: SpokenRequest) -> SpokenAnswer:
        return super().answer(request) if not request.earlier else None  # type: ignore[return-value]


class Short(Parrot):
    def answer(self, request: SpokenRequest) -> SpokenAnswer:
        if len(request.audio) > 1_000_000:
            raise MemoryError
        return super().answer(request)


class Blind(Parrot):
    sees = True

    def answer(self, request: SpokenRequest) -> SpokenAnswer:
        if request.images:
            raise ServiceError("what is a picture?")
        return super().answer(request)


class Mixing(Parrot):
    """Keeps the request on the object, where the last one to come is answered twice; alone it is right."""

    alone = 6
    """Requests that the check asks one after another."""

    def __init__(self) -> None:
        self.calls = itertools.count(1)
        self.both = threading.Barrier(2)

    def answer(self, request: SpokenRequest) -> SpokenAnswer:
        self.request = request
        if next(self.calls) > self.alone:
            self.both.wait()
        return super().answer(self.request)


class Dicing(Parrot):
    count = itertools.count()

    def answer(self, request: SpokenRequest) -> SpokenAnswer:
        return SpokenAnswer(audio=request.audio, rate=request.rate, text=str(next(self.count)))


class Sticky(Parrot):
    def close(self) -> None:
        raise OSError("still in use")


class Asking:
    """The asynchronous form, which minds the clips itself."""

    sees = True
    closes = 0

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        clip = read_audio(conversation.turns[-1].audio[0])
        await asyncio.sleep(0)
        return Reply(status=ResponseStatus.ok, text=config.voice, audio=clip)

    async def close(self) -> None:
        self.closes += 1
        if self.closes > getattr(self, "most", 2):
            raise RuntimeError("closed twice")


class _Without:
    """An importer that knows of one package that it is not installed."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        if name.partition(".")[0] == self.package:
            raise ModuleNotFoundError(f"No module named {self.package!r}", name=self.package)


def test_a_right_system_passes_and_its_replies_can_be_looked_at() -> None:
    report = check_system(Parrot())
    assert report.replies["one clip"].text == "64000 bytes"
    assert report.replies["silence"].status is ResponseStatus.degenerate
    assert set(report.replies) == {
        *("one clip", "silence", "two turns", "long", "again", "the other", "at once 1", "at once 2"),
    }
    assert report.notes[0].startswith("an image: not asked")
    again = check_system(Asking(), voice="ann")
    assert again.replies["an image"].text == "ann"
    assert again.notes == ()
    assert check_system(f"{__name__}:Parrot").replies["one clip"].status is ResponseStatus.ok


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (Deaf, r"^silence: Deaf: the audio holds NaN or infinite samples$"),
        (Forgetful, r"^two turns: Forgetful: answer\(\) must return a SpokenAnswer, got None$"),
        (Short, r"^long: Short raised MemoryError"),
        (Blind, r"^an image: ServiceError: what is a picture\?$"),
        (Sticky, r"^closing it a first time raised OSError: still in use$"),
        (SpeechSystem, r"^one clip: SpeechSystem raised NotImplementedError"),
    ],
)
def test_what_is_wrong_is_named(system: Any, message: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(AssertionError, match=message):
        check_system(system())


def test_a_mix_up_of_two_requests_is_found() -> None:
    with pytest.raises(
        AssertionError, match=r"at once [12]: the answer is not the one that the same request has alone"
    ):
        check_system(Mixing(), recordings=(sample_recording(0.5), sample_recording(0.6, seed=1)))


def test_what_cannot_be_told_is_said() -> None:
    assert "two at once: one request has many answers, so a mix-up cannot be seen" in check_system(Dicing()).notes


def test_closing_twice_is_tried() -> None:
    once = Asking()
    once.most = 1  # type: ignore[attr-defined]
    with pytest.raises(AssertionError, match="closing it a second time raised RuntimeError: closed twice"):
        check_system(once)


def test_made_recordings_and_pictures(tmp_path) -> None:
    clip = sample_recording(1.5, rate=8_000, seed=3)
    assert (clip.rate, clip.seconds, clip.silent) == (8_000, 1.5, False)
    assert clip.sha256 == sample_recording(1.5, rate=8_000, seed=3).sha256 != sample_recording(1.5, rate=8_000).sha256
    assert clip.peak <= 1
    image = pytest.importorskip("PIL.Image")
    with image.open(sample_image(tmp_path / "a.png")) as picture:
        assert (picture.size, picture.mode, len(set(picture.convert("RGB").tobytes())) > 8) == ((32, 32), "RGB", True)


def test_every_public_name_is_there() -> None:
    for name in room.__all__:
        assert getattr(room, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Session'"):
        room.Session  # noqa: B018


@pytest.mark.parametrize(
    ("name", "package"), [("ChatFake", "aiohttp"), ("BedrockFake", "h2"), ("Authority", "trustme")]
)
def test_a_missing_package_names_the_extra(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [m for m in sys.modules if m.startswith("vaeval_tasks.testing.") or m.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [_Without(package), *sys.meta_path])
    with pytest.raises(MissingDependencyError, match=rf"needs the package {package}.*vaeval\[testing\]"):
        getattr(room, name)
    assert room.check_system is not None
    assert room.sample_recording(0.1).rate == 16_000
