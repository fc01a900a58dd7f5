"""A run that is killed at any moment loses nothing, repeats nothing, and ends with the same table."""

from __future__ import annotations

import base64
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from vaeval_tasks.audio import read_audio, wav_bytes
from vaeval_tasks.files import sha256_bytes
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ResponseStatus

MARIN = "gpt-realtime-2.1/minimal/marin"
ETHAN = "qwen3-omni-30b-a3b-instruct/default/ethan"
RESPONSES, KILLS = 200, 30

# A process that is ready to be killed: everything is imported, then a line on its pipe starts the run in a fork.
ZYGOTE = """
import os, sys
import anyio._backends._asyncio, certifi, concurrent.futures.thread, h2.connection, httpcore, httpx
import pandas, pyarrow.parquet, scipy.signal, soundfile, tqdm
import vaeval_tasks.cli.generate, vaeval_tasks.models.adapters.chat_audio
from vaeval_tasks.cli import main
from vaeval_tasks.models.configs import published
from vaeval_tasks.services.http.secrets import trust
published(), trust()
print("ready", flush=True)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        main(line.split())
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Runner:
    """Starts runs in fresh processes, quickly, and kills them."""

    def __init__(self) -> None:
        self._zygote = subprocess.Popen(
            [sys.executable, "-c", ZYGOTE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._read() == "ready"

    def _read(self) -> str:
        assert self._zygote.stdout is not None
        return self._zygote.stdout.readline().strip()

    def run(self, *args: str, kill_when: Callable[[], bool] | None = None) -> int:
        """Run a command and return its exit code; kill it when the condition holds."""
        assert self._zygote.stdin is not None
        self._zygote.stdin.write(" ".join(args) + "\n")
        self._zygote.stdin.flush()
        child = int(self._read())
        if kill_when is not None:
            while not kill_when():
                time.sleep(0.001)
            os.kill(child, signal.SIGKILL)  # a child that has ended is a zombie only the zygote can reap
        return int(self._read())

    def close(self) -> None:
        assert self._zygote.stdin is not None
        self._zygote.stdin.close()
        self._zygote.wait(10)


@pytest.fixture
def start_runner() -> Iterator[Callable[[], Runner]]:
    """Start a runner with the environment as it is then."""
    started: list[Runner] = []

    def start() -> Runner:
        started.append(Runner())
        return started[-1]

    yield start
    for runner in started:
        runner.close()


def table(run: RunDir) -> list[tuple]:
    return [(r.response_id, r.status, r.text, r.path, r.sha256, r.seconds) for r in run.read("responses")]


def moment(fake, rng: random.Random) -> Callable[[], bool]:
    """Return a condition that comes true at a random moment: some sessions later, and some milliseconds."""
    sessions = len(fake.sessions) + rng.randint(0, 11)
    wait, since = rng.uniform(0.0, 0.06), [0.0]

    def now() -> bool:
        if len(fake.sessions) < sessions:
            return False
        since[0] = since[0] or time.monotonic()
        return time.monotonic() - since[0] > wait

    return now


def asked(fake) -> Counter[str]:
    """How often each prompt was asked, by its sound."""
    return Counter(s["body"]["messages"][1]["content"][0]["audio_b64"] for s in list(fake.sessions))


def sounds(run: RunDir) -> dict[str, str]:
    """Return each prompt as it goes on the wire."""
    return {
        p.prompt_id: base64.b64encode(wav_bytes(read_audio(run.root / p.path))).decode() for p in run.read("prompts")
    }


def test_thirty_kills(tmp_path, make_run, serve, start_runner):
    fake = serve("chat_audio", tls=False, delay=0.02)
    fake.seconds = 0.05
    runner = start_runner()
    command = ["generate", "--config", ETHAN, "--sessions", "8"]
    run = make_run(tmp_path / "killed", RESPONSES, 0.1)
    sound_of = sounds(run)
    rng = random.Random(4)
    finished: dict[str, int] = {}
    for kill in range(KILLS):
        code = runner.run(*command, str(run.root), kill_when=moment(fake, rng))
        assert code == -signal.SIGKILL, f"the run ended after {kill} kills; make it slower"
        counts = asked(fake)
        logged = {r.prompt_id: r for r in run.responses()}
        assert set(finished) <= set(logged), "nothing that was there is lost"
        for prompt, times in finished.items():
            assert counts[sound_of[prompt]] == times, "nothing that was there is asked for again"
        for prompt in set(logged) - set(finished):
            response = logged[prompt]
            assert response.status is ResponseStatus.ok
            assert sha256_bytes((run.root / response.path).read_bytes()) == response.sha256
        finished = {prompt: counts[sound_of[prompt]] for prompt in logged}
    assert 0 < len(finished) < RESPONSES, "kills fell into the run"
    assert runner.run(*command, str(run.root)) == 0
    counts = asked(fake)
    assert all(counts[sound_of[prompt]] == times for prompt, times in finished.items())
    assert run.stale() == []

    whole = make_run(tmp_path / "whole", RESPONSES, 0.1)
    assert runner.run(*command, str(whole.root)) == 0
    assert table(run) == table(whole)


def test_an_interrupt_ends_the_run_with_a_hint(tmp_path, make_run, serve):
    serve("openai_realtime", delay=0.05)
    run = make_run(tmp_path / "run", 60, 0.15)
    process = subprocess.Popen(
        [sys.executable, "-m", "vaeval_tasks.cli", "generate", str(run.root), "--config", MARIN, "--sessions", "2"],
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not run.responses_log.is_file() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "run the same command again" in err
    assert "Traceback" not in err
    assert 0 < len(run.responses()) < 60
