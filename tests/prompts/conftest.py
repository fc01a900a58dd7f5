"""A prompt set made with espeak-ng, noise and sox: every case that the checks must tell apart."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from vaeval_tasks.audio import Clip
from vaeval_tasks.metrics.asr import WhisperRecogniser
from vaeval_tasks.metrics.backends import Recogniser

LINES = {
    "plan": "Could you help me plan a quiet weekend by the sea, with one good walk each day?",
    "soup": "I just made the best soup of my life. What do you think is the secret to good soup?",
    "leaves": "Why do the leaves of the trees change their color in the fall?",
    "train": "The train leaves at nine in the morning and takes fifty minutes. When does it arrive?",
    "friend": "My best friend is moving to another country next month, and I feel sad about it.",
}

# script id: condition, what is said in the manifest, the takes, the finding that rules the take out ("" for none)
CASES: dict[str, tuple[str, str, str, str]] = {
    "good": ("clean", "plan", "good.wav", ""),
    "indoor": ("indoor", "soup", "indoor.wav", ""),
    "outdoor": ("outdoor", "leaves", "outdoor.wav", ""),
    "far": ("far_field", "train", "far.wav", ""),
    "stereo": ("clean", "soup", "stereo.wav", ""),
    "clipped": ("clean", "leaves", "clipped.wav", "clipped"),
    "silent": ("clean", "leaves", "silent.wav", "silent"),
    "low-rate": ("clean", "leaves", "low-rate.wav", "low_rate"),
    "cut-short": ("clean", "friend", "cut-short.wav", "truncated"),
    "half-file": ("clean", "friend", "half-file.wav", "incomplete_file"),
    "twice": ("clean", "train", "twice.wav", "duplicate"),
    "other": ("clean", "train", "other.wav", "wrong_script"),
    "hiss": ("clean", "train", "hiss.wav", "no_speech"),
    "blip": ("clean", "train", "blip.wav", "too_short"),
    "loud-street": ("clean", "leaves", "loud-street.wav", "noisy"),
    "studio": ("outdoor", "friend", "studio.wav", "not_degraded"),
    "inverted": ("clean", "soup", "inverted.wav", "cancelling_channels"),
    "text": ("clean", "soup", "text.wav", "unreadable"),
    "gone": ("clean", "soup", "gone.wav", "unreadable"),
}


def run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True, capture_output=True)


def mixed(clean: Path, out: Path, kind: str, volume: float) -> None:
    noise = out.with_name(f"_noise-{out.name}")
    run("sox", "-R", clean, noise, "synth", kind, "vol", volume)
    run("sox", "-m", clean, noise, out)
    noise.unlink()


def record(folder: Path) -> None:
    """Make every recording of :data:`CASES`."""
    for name, words in LINES.items():
        run("espeak-ng", "-v", "en-us", "-s", "150", "-w", folder / f"_{name}.raw.wav", words)
        run("sox", folder / f"_{name}.raw.wav", folder / f"_{name}.wav", "gain", "-6", "pad", "0.4", "0.6")
    line = {name: folder / f"_{name}.wav" for name in LINES}
    run("cp", line["plan"], folder / "good.wav")
    mixed(line["soup"], folder / "indoor.wav", "brownnoise", 0.05)
    mixed(line["leaves"], folder / "outdoor.wav", "pinknoise", 0.05)
    run("sox", line["train"], folder / "_far.wav", "gain", "-15", "reverb", "60", "50", "80", "100", "remix", "-")
    mixed(folder / "_far.wav", folder / "far.wav", "whitenoise", 0.002)
    mixed(line["friend"], folder / "faint.wav", "pinknoise", 0.005)
    run("sox", line["soup"], folder / "stereo.wav", "remix", "1", "1")
    run("sox", line["soup"], folder / "inverted.wav", "remix", "1", "1i")
    run("sox", line["leaves"], folder / "_hot.wav", "gain", "25")
    run("sox", folder / "_hot.wav", folder / "clipped.wav", "gain", "-8")
    run("sox", "-n", "-r", "22050", "-c", "1", folder / "silent.wav", "trim", "0", "3")
    run("sox", line["leaves"], "-r", "8000", folder / "low-rate.wav")
    run("sox", line["friend"], folder / "cut-short.wav", "trim", "0", "2.9")
    data = line["friend"].read_bytes()
    (folder / "half-file.wav").write_bytes(data[: len(data) // 2])
    run("sox", line["plan"], "-r", "16000", folder / "twice.wav", "gain", "-4", "pad", "0.3", "0.1")
    run("espeak-ng", "-v", "en-us+f3", "-w", folder / "other.wav", LINES["soup"])
    run("sox", "-R", "-n", "-r", "22050", "-c", "1", folder / "hiss.wav", "synth", "4", "pinknoise", "gain", "-20")
    run("espeak-ng", "-v", "en-us", "-w", folder / "blip.wav", "When?")
    mixed(line["leaves"], folder / "loud-street.wav", "pinknoise", 0.3)
    run("cp", line["friend"], folder / "studio.wav")
    (folder / "text.wav").write_text("not sound at all")


@pytest.fixture(scope="session")
def prompt_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifest of the set, its recordings beside it."""
    folder = tmp_path_factory.mktemp("prompt-set")
    record(folder)
    with (folder / "scripts.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["script_id", "category", "difficulty", "condition", "gates", "script", "takes"])
        for script_id, (condition, said, take, _) in CASES.items():
            level = "L1" if condition == "clean" else ""
            writer.writerow([script_id, "help", level, condition, "reasoning", LINES[said], take])
    return folder / "scripts.csv"


@pytest.fixture(scope="session")
def recogniser() -> Recogniser:
    """The small offline recogniser, on one thread for all tests."""
    return WhisperRecogniser("whisper-tiny.en")


@pytest.fixture(scope="session")
def cases() -> dict[str, tuple[str, str, str, str]]:
    """What is in the set, and what must be found."""
    return CASES


class Says:
    """A recogniser that hears what it was told to, in turn."""

    signature = "says"

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def transcribe(self, clips: list[Clip]) -> list[str]:
        return [self.texts.pop(0) for _ in clips]


@pytest.fixture
def says() -> Callable[..., Says]:
    return Says
