"""Real speech for the metrics' tests: human recordings (see data/README.md), and flite's voices."""

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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


class FakeJudge:
    """Answers each item by the script of its answer's text: a list of replies, the last one for good."""

    def __init__(self):
        self.script = {}
        self.requests = []
        self.active = self.most_active = 0
        self.lock = threading.Lock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                reply = fake.reply(self.path, dict(self.headers), body)
                status, data, headers = reply() if callable(reply) else reply
                with fake.lock:
                    fake.active -= 1
                payload = data if isinstance(data, bytes) else json.dumps(data).encode()
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(payload)))
                    self.end_headers()
                    self.wfile.write(payload)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the client gave up waiting, as the time-out tests want

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def reply(self, path, headers, body):
        prompt = body["messages"][0]["content"]
        with self.lock:
            self.active += 1
            self.most_active = max(self.most_active, self.active)
            self.requests.append((path, headers, body))
            for key, replies in self.script.items():
                if f"<answer>\n{key}\n</answer>" in prompt:
                    return replies.pop(0) if len(replies) > 1 else replies[0]
        return 200, {"choices": [{"message": {"content": "[Correct]"}, "finish_reason": "stop"}]}, {}


@pytest.fixture
def fake(monkeypatch):
    """A fake OpenAI-compatible judge on loopback, and no key in the environment."""
    monkeypatch.delenv("VAEVAL_JUDGE_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    fake = FakeJudge()
    yield fake
    fake.server.shutdown()
    fake.server.server_close()
