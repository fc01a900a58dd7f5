"""Throughput of `vaeval generate` against servers that answer after a fixed 300 ms, beside the ideal.

The ideal is what N sessions at once can do if nothing but the server takes time: N / 0.3 s. Both sides count the same
responses, in several waves. The server (replay.py) is a process of its own that only replays. Beside the ratio stands
the CPU time of each side per response: a client that needs more than 0.3 s / N cannot keep N sessions busy, and other
work on the machine takes its share of the cores as well, so the load is printed and a busy machine is called one.
Run: python tests/benchmarks/bench_generate.py [--sessions 64] [--waves 30] [realtime gemini chat]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS.parent), str(TESTS / "benchmarks")]

from fakes.server import KEY  # noqa: E402
from replay import CASES, CONFIGS  # noqa: E402

from vaeval_tasks.audio import Clip, wav_bytes  # noqa: E402
from vaeval_tasks.generate.engine import generate  # noqa: E402
from vaeval_tasks.generate.plan import make_plan  # noqa: E402
from vaeval_tasks.models.configs import published  # noqa: E402
from vaeval_tasks.run import RunDir  # noqa: E402
from vaeval_tasks.schema import Prompt  # noqa: E402

DELAY = 0.3
GOAL = 0.95
URLS = {"realtime": "VAEVAL_OPENAI_URL", "gemini": "VAEVAL_GEMINI_URL", "chat": "VAEVAL_CHAT_URL"}


def make_run(root: Path, count: int) -> RunDir:
    sound = wav_bytes(Clip(np.random.default_rng(0).normal(0, 0.1, 3200).astype(np.float32), 16000))
    run, prompts = RunDir(root), []
    (root / "audio" / "prompts").mkdir(parents=True)
    for number in range(count):
        path = f"audio/prompts/p{number:05}.wav"
        (root / path).write_bytes(sound)
        prompts.append(Prompt(prompt_id=f"p{number:05}", category="chat", difficulty="L1", path=path, seconds=0.2))
    run.write("prompts", prompts, made_by="benchmark")
    return run


def busy_cores() -> float:
    """Return how many cores the whole machine has used since it started, in seconds."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def measure(case: str, sessions: int, waves: int) -> float:
    """Return the throughput as a share of the ideal."""
    server = subprocess.Popen(
        [sys.executable, str(TESTS / "benchmarks" / "replay.py"), case, str(DELAY)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    os.environ[URLS[case]] = server.stdout.readline().strip()
    config, count = published()[CONFIGS[case]], sessions * waves
    with tempfile.TemporaryDirectory() as folder:
        warm = make_run(Path(folder) / "warm", sessions)  # imports, certificates
        generate(warm, make_plan(warm, [config], limits={"*": sessions}))
        run = make_run(Path(folder) / "run", count)
        plan = make_plan(run, [config], limits={"*": sessions})
        before = busy_cores(), time.process_time(), time.thread_time(), time.perf_counter()
        outcome = generate(run, plan)
        after = busy_cores(), time.process_time(), time.thread_time(), time.perf_counter()
        machine, own, loop, took = (b - a for a, b in zip(before, after, strict=True))
    server.stdin.close()
    theirs = float(server.stdout.read()) * count / (count + sessions)
    server.wait(10)
    assert outcome.statuses == {"ok": count}, outcome
    ratio = waves * DELAY / took
    others = (machine - own - theirs) / took
    print(
        f"{case:10} {sessions} sessions, {count} responses: {took:.2f} s, ideal {waves * DELAY:.2f} s, "
        f"ratio {ratio:.3f}; CPU a response: client {own / count * 1e3:.2f} ms "
        f"({loop / count * 1e3:.2f} of it in the event loop), server {theirs / count * 1e3:.2f} ms; "
        f"others kept {others:.1f} of {os.cpu_count()} cores busy, load {os.getloadavg()[0]:.1f}"
    )
    rate = sessions / DELAY
    print(
        f"{case:10} the ideal of {rate:.0f}/s would keep {(own + theirs) / count * rate:.2f} cores busy, "
        f"and one of them {loop / count * rate:.0%} with the event loop"
    )
    if ratio < GOAL and others > 0.2:
        print(f"{case:10} the machine was too busy to tell whether {GOAL} is reached")
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--waves", type=int, default=30)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    args = parser.parse_args()
    os.environ.update(OPENAI_API_KEY=KEY, GEMINI_API_KEY=KEY)
    for case in args.cases:
        measure(case, args.sessions, args.waves)


if __name__ == "__main__":
    main()
