"""Somebody else's system: what it returns and raises becomes a status with a reason, or one line; never a crash."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from vaeval_tasks.asking.dialogue import Asked, KeptAs, hold
from vaeval_tasks.asking.unit import AskingUnit
from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import InputError, PluginError, ServiceError, UnknownNameError, VaevalError
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.configs import load_configs
from vaeval_tasks.models.guest_systems import GuestModel, wrap
from vaeval_tasks.models.protocol import Conversation, Reply, Turn
from vaeval_tasks.models.providers import PROVIDERS, check_access, create_model, provider
from vaeval_tasks.models.system import Address, CannotAnswer, SpeechSystem, SpokenAnswer, SpokenRequest, TryLater
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus
from vaeval_tasks.testing import sample_image, sample_recording, write_recording

HERE = f"{__name__}:"
SOUND = sample_recording(0.3)
PCM = SOUND.pcm16()


class Saying(SpeechSystem):
    """Answers, or raises, what it was given."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def answer(self, request: SpokenRequest) -> SpokenAnswer:
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given


class Replying:
    """The asynchronous form."""

    sees = True

    def __init__(self, given: Any) -> None:
        self.given = given

    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given

    async def close(self) -> None:
        raise OSError("the socket is gone")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recording(tmp_path_factory.mktemp("clip") / "clip.wav", sample_recording(0.4, rate=22_050))


def talk(system: Any, *audio: Path, config: ModelConfig | None = None, **more: Any) -> Reply:
    model = wrap(system, name="acme")
    turns = more.pop("turns", None) or (Turn(role="user", audio=audio, images=more.pop("images", ())),)

    async def once() -> Reply:
        try:
            return await model.respond(
                Conversation(turns=turns, **more), config or ModelConfig(model="m", provider="acme", params={"x": 1})
            )
        finally:
            await model.close()
            await model.close()

    return asyncio.run(once())


@pytest.mark.parametrize(
    "audio",
    [PCM, bytearray(PCM), np.frombuffer(PCM, "<i2"), SOUND.samples, SOUND.samples.astype(np.float64)],
    ids=["bytes", "bytearray", "int16", "float32", "float64"],
)
def test_every_form_of_sound_is_the_same_answer(clip: Path, audio: Any) -> None:
    reply = talk(Saying(SpokenAnswer(audio=audio, rate=16_000, text="Yes.", usage={"n": 1}, first_audio_s=0.25)), clip)
    assert (reply.status, reply.text, reply.error, reply.usage) == (ResponseStatus.ok, "Yes.", "", {"n": 1})
    assert reply.audio is not None
    assert reply.audio.pcm16() == PCM
    assert reply.first_audio_s == pytest.approx(0.25)
    assert reply.request["audio"]["bytes"] == 2 * int(0.4 * 16_000)
    assert reply.request["params"] == {"x": 1}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "answer() must return a SpokenAnswer, got None"),
        (PCM, "answer() must return a SpokenAnswer, got bytes"),
        ((PCM, 16_000), "got tuple"),
        (SpokenAnswer(audio=PCM[:-1], rate=16_000), "odd number"),
        (SpokenAnswer(audio=PCM, rate=0), "rate must be a whole number of Hz from 4000 to 192000, got 0"),
        (SpokenAnswer(audio=PCM, rate=16_000.0), "got 16000.0"),  # type: ignore[arg-type]
        (SpokenAnswer(audio=PCM, rate=True), "got True"),
        (SpokenAnswer(audio=PCM, rate=None), "got None"),  # type: ignore[arg-type]
        (SpokenAnswer(audio=np.array([0.1, np.nan], np.float32), rate=16_000), "NaN or infinite"),
        (SpokenAnswer(audio=np.array([0.1, np.inf]), rate=16_000), "NaN or infinite"),
        (SpokenAnswer(audio=np.zeros((100, 2), np.float32), rate=16_000), "mono, of shape (n,), got shape (100, 2)"),
        (SpokenAnswer(audio=np.zeros((1, 100), np.int16), rate=16_000), "got shape (1, 100)"),
        (SpokenAnswer(audio=np.zeros(9, np.int32), rate=16_000), "int16 or float32 or float64, got int32"),
        (SpokenAnswer(audio=np.zeros(9, np.uint8), rate=16_000), "got uint8"),
        (SpokenAnswer(audio=np.zeros(9, complex), rate=16_000), "got complex128"),
        (SpokenAnswer(audio=np.array([1, "a"], object), rate=16_000), "got object"),
        (SpokenAnswer(audio=np.array([12_000.0]), rate=16_000), "float samples lie in [-1, 1]; the largest is 12000"),
        (SpokenAnswer(audio=[0.1, 0.2], rate=16_000), "bytes, a NumPy array or None, got list"),  # type: ignore[arg-type]
        (SpokenAnswer(audio="sound", rate=16_000), "got str"),  # type: ignore[arg-type]
        (SpokenAnswer(audio=b"RIFF1234WAVEfmt ", rate=16_000), "a WAV file; give its samples"),
        (SpokenAnswer(audio=PCM, rate=16_000, text=None), "text must be text, got None"),  # type: ignore[arg-type]
        (SpokenAnswer(audio=PCM, rate=16_000, usage={"n": {1}}), "usage must be a mapping that JSON can hold"),
        (SpokenAnswer(audio=PCM, rate=16_000, usage=[1]), "usage must be a mapping"),  # type: ignore[arg-type]
        (SpokenAnswer(audio=PCM, rate=16_000, first_audio_s=-1), "first_audio_s must be seconds from 0, got -1"),
        (SpokenAnswer(audio=PCM, rate=16_000, first_audio_s=float("nan")), "got nan"),
        (KeyError("voice"), "acme raised KeyError: 'voice'"),
        (SystemExit(3), "acme raised SystemExit: 3"),
        (StopIteration(), "acme raised StopIteration"),
        (MemoryError(), "acme raised MemoryError"),
        (InputError("too long for me"), "too long for me"),
        (CannotAnswer("I hear nothing"), "I hear nothing"),
    ],
)
def test_what_is_wrong_is_the_status_of_this_response(clip: Path, given: Any, message: str) -> None:
    reply = talk(Saying(given), clip)
    assert (reply.status, reply.audio, reply.retry) == (ResponseStatus.error, None, None)
    assert message in reply.error
    assert "\n" not in reply.error


def test_answers_that_are_no_answer_have_the_status_of_ours(clip: Path) -> None:
    nothing = talk(Saying(SpokenAnswer(audio=None, rate=0, text="Yes.")), clip)
    assert (nothing.status, nothing.text) == (ResponseStatus.empty, "Yes.")
    assert talk(Saying(SpokenAnswer(audio=b"", rate=16_000)), clip).status is ResponseStatus.empty
    silent = talk(Saying(SpokenAnswer(audio=bytes(32_000), rate=16_000)), clip)
    assert silent.status is ResponseStatus.degenerate
    refused = talk(Saying(CannotAnswer("not that", status=ResponseStatus.refused)), clip)
    assert (refused.status, refused.error) == (ResponseStatus.refused, "not that")
    later = talk(Saying(TryLater("busy", seconds=7)), clip)
    assert later.retry is not None
    assert (later.status, later.retry.after_s, later.retry.at_most) == (ResponseStatus.error, 7, 3)


def test_a_refused_configuration_and_other_errors_of_ours_go_up(clip: Path) -> None:
    for error in (ServiceError("the key was refused"), PluginError("x"), UnknownNameError("voice", "a", ("b",))):
        with pytest.raises(type(error), match=str(error)[:20]):
            talk(Saying(error), clip)
        with pytest.raises(type(error)):
            talk(Replying(error), clip)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "respond() must return a Reply, got None"),
        (Reply(status="ok"), "status must be a ResponseStatus, got 'ok'"),  # type: ignore[arg-type]
        (Reply(status=ResponseStatus.ok), "the status is ok and there is no audio"),
        (Reply(status=ResponseStatus.ok, audio=Clip(np.zeros(0, np.float32), 16_000)), "there is no audio"),
        (Reply(status=ResponseStatus.ok, audio=PCM), "audio: must be a Clip"),  # type: ignore[arg-type]
        (Reply(status=ResponseStatus.ok, audio=Clip(SOUND.samples, 0)), "audio: rate must be"),
        (
            Reply(status=ResponseStatus.ok, audio=Clip(np.zeros((2, 2), np.float32), 16_000)),
            "audio: samples must be mono",
        ),
        (Reply(status=ResponseStatus.ok, audio=Clip(np.full(3, np.nan, np.float32), 16_000)), "NaN"),
        (Reply(status=ResponseStatus.ok, audio=SOUND, text=3), "text must be text, got int"),  # type: ignore[arg-type]
        (Reply(status=ResponseStatus.ok, audio=SOUND, usage={"a": object()}), "usage cannot be written as JSON"),
        (Reply(status=ResponseStatus.ok, audio=SOUND, total_s="1"), "total_s must be seconds"),  # type: ignore[arg-type]
        (Reply(status=ResponseStatus.error, retry=3), "retry must be a Retry or None"),  # type: ignore[arg-type]
        (ZeroDivisionError("division by zero"), "acme raised ZeroDivisionError: division by zero"),
    ],
)
def test_the_asynchronous_form_is_checked_too(clip: Path, given: Any, message: str) -> None:
    reply = talk(Replying(given), clip)  # whose close() fails each time, which hurts nobody
    assert reply.status is ResponseStatus.error
    assert message in reply.error


def test_a_right_reply_passes_untouched(clip: Path) -> None:
    right = Reply(status=ResponseStatus.ok, audio=SOUND, text="Yes.", events=({"message": {"audio": PCM}},))
    assert talk(Replying(right), clip) == right


class Recording(SpeechSystem):
    """Keeps what it is asked."""

    sees = True
    rate = 8_000
    params = ("model", "style")
    required = ("model",)
    connection = ("region",)
    keys = ("ACME_KEY",)
    addresses: ClassVar[dict[str, Address]] = {
        "base_url": Address(variable="ACME_URL", default="https://acme.example/")
    }
    sessions = 3
    opened: ClassVar[list[tuple[str, dict[str, Any]]]] = []
    asked: ClassVar[list[SpokenRequest]] = []
    closed = 0

    def open(self, model: str, connection: Any) -> None:
        self.opened.append((model, dict(connection)))

    def answer(self, request: SpokenRequest) -> SpokenAnswer:
        self.asked.append(request)
        return SpokenAnswer(audio=request.audio, rate=request.rate, text="Yes.")

    def close(self) -> None:
        type(self).closed += 1


def test_everything_that_is_asked_arrives(clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_KEY", "k")
    monkeypatch.setenv("ACME_URL", "http://127.0.0.1:9/")
    file = tmp_path / "mine.yaml"
    file.write_text(
        f"configurations:\n- model: Acme\n  provider: {HERE}Recording\n  voice: ann\n"
        "  system_prompt: Be kind. <audio>\n"
        "  params: {model: a1, style: calm}\n  connection: {region: eu, timeouts: {turn: 9}}\n"
    )
    (config,) = load_configs(file)
    known = provider(config.provider)
    assert (known.sessions, known.required, known.keys) == (3, ("model",), ("ACME_KEY",))
    check_access(config)
    model = create_model(config)
    assert model.sees
    image = sample_image(tmp_path / "a.png")
    turns = (
        Turn(role="user", audio=(clip,), text="hello"),
        Turn(role="assistant", text="Good day."),
        Turn(role="user", audio=(clip, clip), images=(image,)),
    )

    async def twice() -> list[Reply]:
        asked = Conversation(turns=turns, role_audio=clip, seed=5)
        replies = [await model.respond(asked, config), await model.respond(Conversation(turns=turns[:1]), config)]
        await model.close()
        await model.close()
        return replies

    first, second = asyncio.run(twice())
    assert first.status is second.status is ResponseStatus.ok
    assert Recording.opened == [("a1", {"region": "eu", "timeouts": {"turn": 9}, "base_url": "http://127.0.0.1:9"})]
    assert Recording.closed == 1
    request, short = Recording.asked
    assert (request.rate, len(request.audio), len(short.audio)) == (8_000, 4 * 3_200, 2 * 3_200)
    assert (request.samples.dtype, len(request.samples)) == (np.float32, 6_400)
    assert (request.system_prompt, request.images, request.seed) == ("Be kind.", (image,), 5)
    assert len(request.role_voice) == 2 * 3_200
    assert [(t.role, t.text, len(t.audio)) for t in request.earlier] == [
        ("user", "hello", 6_400),
        ("assistant", "Good day.", 0),
    ]
    assert request.config == config


def test_images_for_one_that_does_not_see_are_not_asked(clip: Path, tmp_path: Path) -> None:
    reply = talk(Saying(KeyError("never called")), clip, images=(sample_image(tmp_path / "a.png"),))
    assert reply.status is ResponseStatus.unsupported


class Slow(SpeechSystem):
    """Waits until it is let go."""

    gate = threading.Event()
    inside = 0
    most = 0
    lock = threading.Lock()

    def answer(self, request: SpokenRequest) -> SpokenAnswer:
        with self.lock:
            Slow.inside += 1
            Slow.most = max(Slow.most, Slow.inside)
        self.gate.wait(20)
        with self.lock:
            Slow.inside -= 1
        return SpokenAnswer(audio=request.audio, rate=request.rate, text="Yes.")


def test_a_system_that_hangs_times_out_and_holds_nobody_up(clip: Path) -> None:
    Slow.gate.clear()
    config = ModelConfig(model="m", provider="acme", connection={"timeouts": {"turn": 0.05}})
    reply = talk(Slow(), clip, config=config)
    assert (reply.status, reply.error) == (ResponseStatus.timeout, "no end of the turn within 0.05 s")
    Slow.gate.set()


def test_an_asynchronous_system_that_hangs_times_out(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging(Replying):
        async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
            await asyncio.sleep(3600)
            raise AssertionError

    monkeypatch.setattr("vaeval_tasks.models.guest_systems.GRACE_S", 0.0)
    config = ModelConfig(model="m", provider="acme", connection={"timeouts": {"turn": 0.05}})
    assert talk(Hanging(None), clip, config=config).status is ResponseStatus.timeout


def test_requests_run_at_once_and_opening_happens_once(clip: Path) -> None:
    Slow.gate.clear()
    Slow.inside = Slow.most = 0
    opened = []

    class Opening(Slow):
        def open(self, model: str, connection: Any) -> None:
            time.sleep(0.05)
            opened.append(model)

    model = wrap(Opening(), name="acme", model="a1")
    config = ModelConfig(model="m", provider="acme")

    async def three() -> list[Reply]:
        asking = [
            asyncio.create_task(model.respond(Conversation(turns=(Turn(role="user", audio=(clip,)),)), config))
            for _ in range(3)
        ]
        while Slow.inside < 3:
            await asyncio.sleep(0.01)
        Slow.gate.set()
        return await asyncio.gather(*asking)

    assert [r.status for r in asyncio.run(three())] == [ResponseStatus.ok] * 3
    assert (Slow.most, opened) == (3, ["a1"])


def test_a_system_that_cannot_be_opened_stops_its_configuration(clip: Path) -> None:
    class Heavy(Saying):
        def open(self, model: str, connection: Any) -> None:
            raise FileNotFoundError("weights.bin")

    with pytest.raises(PluginError, match=r"acme cannot be opened: FileNotFoundError: weights\.bin"):
        talk(Heavy(None), clip)


@pytest.mark.parametrize(
    ("error", "kind", "times"),
    [
        (InputError("no such weights"), PluginError, 1),
        (ServiceError("the key was refused"), ServiceError, 1),
        (ServiceError("nobody is there", retry=True), ServiceError, 2),
    ],
)
def test_a_refusal_to_open_is_remembered(clip: Path, error: Any, kind: type[Exception], times: int) -> None:
    opened = []

    class Refusing(Saying):
        def open(self, model: str, connection: Any) -> None:
            opened.append(model)
            raise error

    model = wrap(Refusing(None), name="acme")

    async def twice() -> None:
        for _ in range(2):
            with pytest.raises(kind, match=str(error)) as caught:
                await model.respond(
                    Conversation(turns=(Turn(role="user", audio=(clip,)),)), ModelConfig(model="m", provider="acme")
                )
            assert not isinstance(caught.value, InputError), "which would be about one prompt only"

    asyncio.run(twice())
    assert len(opened) == times


def test_later_is_later(clip: Path) -> None:
    class Busy(SpeechSystem):
        times = 0

        def answer(self, request: SpokenRequest) -> SpokenAnswer:
            self.times += 1
            if self.times < 3:
                raise TryLater("busy", seconds=2)
            return SpokenAnswer(audio=request.audio, rate=request.rate)

    async def once() -> tuple[int, ResponseStatus]:
        async def keep(_asked: Asked, _kept_as: KeptAs) -> None:
            return None

        config = ModelConfig(model="m", provider="acme")
        turns = (Turn(role="user", audio=(clip,)),)
        unit = AskingUnit(response_id="r", prompt_id="p", config=config, turns=turns, seeds=(0,))
        asked = await hold(wrap(Busy(), name="acme"), unit, clock=Clock(1000.0), keep=keep)
        return asked.attempts, asked.reply.status

    assert asyncio.run(once()) == (3, ResponseStatus.ok)


def test_a_key_in_a_message_is_not_kept(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_KEY", "sk-very-secret")
    config = ModelConfig(model="m", provider="acme")
    asked = Conversation(turns=(Turn(role="user", audio=(clip,)),))
    model = GuestModel(wrap(Saying(ValueError("bad key sk-very-secret")), name="a").inner, name="a", keys=("ACME_KEY",))
    assert "bad key ***" in asyncio.run(model.respond(asked, config)).error
    model = GuestModel(Replying(ServiceError("key sk-very-secret", retry=True)), name="acme", keys=("ACME_KEY",))
    with pytest.raises(ServiceError, match=r"^key \*\*\*$") as caught:
        asyncio.run(model.respond(asked, config))
    assert caught.value.retry


class NoAnswer(SpeechSystem):
    pass


class AsyncAnswer(SpeechSystem):
    async def answer(self, request: SpokenRequest) -> SpokenAnswer:  # type: ignore[override]
        raise NotImplementedError


class OddRate(Recording):
    rate = 12.5  # type: ignore[assignment]


class OddParams(Recording):
    params = "model"  # type: ignore[assignment]


class OddAddress(Recording):
    addresses: ClassVar[Any] = {"base_url": "ACME_URL"}


class NeedsArguments(Recording):
    keys = ()

    def __init__(self, path: str) -> None:
        self.path = path


class Half:
    async def respond(self, conversation: Conversation, config: ModelConfig) -> Reply:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NoAnswer", "has no method 'answer'"),
        ("AsyncAnswer", r"answer\(\) is asynchronous; write it without async, or use SpeechModel"),
        ("OddRate", "rate must be a whole number of Hz from 4000 to 192000, got 12.5"),
        ("OddParams", "params must be a tuple of names, a mapping or None, got 'model'"),
        ("OddAddress", "addresses must be a mapping of keys to Address"),
        ("Half", "is no speech system: it must be a subclass of"),
        ("HERE", "is of type str; it must be a class"),
    ],
)
def test_a_class_of_the_wrong_kind_is_one_line(name: str, message: str) -> None:
    with pytest.raises(PluginError, match=message) as caught:
        provider(HERE + name, where="mine.yaml")
    assert str(caught.value).startswith("mine.yaml: ")
    assert "\n" not in str(caught.value)


def test_a_class_that_cannot_be_made_is_one_line() -> None:
    config = ModelConfig(model="m", provider=HERE + "NeedsArguments", params={"model": "a"})
    with pytest.raises(PluginError, match=r"NeedsArguments cannot be made: TypeError: .*missing 1 required"):
        create_model(config)


def test_ours_are_known_as_before() -> None:
    assert len(PROVIDERS) == 9
    with pytest.raises(UnknownNameError, match=r"unknown provider 'openai_realtim'\. Did you mean 'openai_realtime'"):
        provider("openai_realtim")
    with pytest.raises(VaevalError, match=r"'acme\.x' .*package\.module:Class|unknown provider 'acme\.x'"):
        provider("acme.x")
