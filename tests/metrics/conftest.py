"""Real speech for the metrics' tests: human recordings of Debian packages, and flite's voices."""

import os
import subprocess
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest

from vaeval_tasks.audio import Clip, read_audio

ASTERISK = Path("/usr/share/asterisk/sounds/en")  # asterisk-core-sounds-en-g722: one woman, CC-BY-SA-3.0
LIBRIVOX = Path("/usr/share/pocketsphinx/test/data/librivox")  # pocketsphinx-testdata: one woman, public domain


def asterisk(name: str) -> Clip:
    command = ["ffmpeg", "-v", "error", "-f", "g722", "-i", str(ASTERISK / f"{name}.g722")]
    done = subprocess.run([*command, "-f", "s16le", "-ar", "16000", "-ac", "1", "-"], capture_output=True, check=True)
    return Clip.from_pcm16(done.stdout, 16000)


def librivox(number: str) -> Clip:
    return read_audio(LIBRIVOX / f"sense_and_sensibility_01_austen_64kb-{number}.wav")


@pytest.fixture(scope="session")
def allison():
    """Two prompts by one speaker, 7 s and 15 s."""
    return [asterisk("vm-instructions"), asterisk("demo-moreinfo")]


@pytest.fixture(scope="session")
def reader():
    """Two sentences by another speaker, 7 s and 6 s; the first one's words are below."""
    return [librivox("0870"), librivox("0920")]


@pytest.fixture(scope="session")
def reader_words():
    return (
        "And Mr. John Dashwood had then leisure to consider how much there might be prudently in his power "
        "to do for them."
    )


@pytest.fixture(scope="session")
def noisy():
    """A function that adds white noise at a signal-to-noise ratio in dB."""

    def add(clip: Clip, snr_db: float) -> Clip:
        noise = np.random.default_rng(7).normal(0, 1, len(clip.samples))
        scale = np.sqrt(np.mean(clip.samples**2)) / 10 ** (snr_db / 20)
        return Clip((clip.samples + scale * noise).astype(np.float32), clip.rate)

    return add


@pytest.fixture(scope="session")
def unusable_clips():
    """Clips that no audio metric may give a number: name -> clip."""
    nan = np.full(32000, 0.1, np.float32)
    nan[5] = np.nan
    return {
        "silence": Clip(np.zeros(48000, np.float32), 16000),
        "no samples": Clip(np.zeros(0, np.float32), 16000),
        "10 ms": Clip(np.full(160, 0.3, np.float32), 16000),
        "NaN": Clip(nan, 16000),
        "below -60 dBFS": Clip(np.full(48000, 5e-4, np.float32), 16000),
    }


@pytest.fixture(scope="session")
def flite():
    """A function that speaks a text with a voice of flite (Debian)."""

    def speak(text: str, folder: Path, voice: str = "slt") -> Path:
        path = folder / f"{voice}.wav"
        subprocess.run(["flite", "-voice", voice, "-t", text, "-o", str(path)], check=True)
        return path

    return speak


@pytest.fixture(autouse=True)
def _one_thread():
    import sys

    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
