"""Real speech for the metrics' tests: human recordings (see data/README.md), and flite's voices."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vaeval_tasks.audio import Clip, read_audio

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def allison():
    """Two prompts by one speaker, 7 s and 9 s."""
    return [read_audio(DATA / "allison-1.flac"), read_audio(DATA / "allison-2.flac")]


@pytest.fixture(scope="session")
def reader():
    """Two sentences by another speaker, 7 s and 6 s; the first one's words are below."""
    return [read_audio(DATA / "reader-1.flac"), read_audio(DATA / "reader-2.flac")]


@pytest.fixture(scope="session")
def reader_embedding():
    """What the package resemblyzer 0.1.4, with webrtcvad, gives for the first sentence."""
    return np.load(DATA / "reader-1.resemblyzer.npy")


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
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
