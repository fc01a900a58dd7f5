"""Throughput of `vaeval generate` against servers that answer after a fixed 300 ms, beside the ideal.

The ideal is what N sessions at once can do if nothing but the server takes time: N / 0.3 answers a second. The server
(replay.py) is a process of its own that only replays, and notes when each answer leaves. What it counts between the
first and the last sixth of the answers is the throughput; the whole run, which starts processes and ends one session
after another, stands beside it. So does the CPU time of each side per response, and what else the machine did: other
work takes its share of the cores, and a busy machine is called one. The yardstick, a fixed piece of Python, says how
fast the machine is at that moment.
With one session the last line shows how right latency is: at most 10 ms plus what the load adds.
Run: python tests/benchmarks/bench_generate.py [--sessions 64] [--waves 60] [--processes 2] [realtime gemini chat]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS.parent), str(TESTS / "benchmarks")]

from replay import CASES, CONFIGS  # noqa: E402

from vaeval_tasks.asking.ledger import open_for_asking  # noqa: E402
from vaeval_tasks.asking.pending import make_plan  # noqa: E402
from vaeval_tasks.asking.runner import generate  # noqa: E402
from vaeval_tasks.audio import Clip, wav_bytes  # noqa: E402
from vaeval_tasks.models.configs import published  # noqa: E402
from vaeval_tasks.store.run import RunDir  # noqa: E402
from vaeval_tasks.store.schema import Prompt  # noqa: E402
from vaeval_tasks.testing.server import KEY  # noqa: E402

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


def yardstick() -> float:
    """Return how many milliseconds of CPU a fixed piece of Python takes: the same machine is not always as fast."""
    began = time.process_time()
    for _ in range(2000):
        json.loads(json.dumps({str(n): [n, n / 7] for n in range(20)}))
    return (time.process_time() - began) * 1e3


def used() -> tuple[float, float, float]:
    """Return seconds of CPU of the machine, and of this process and its children, and on the wall."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    return busy_cores(), cpu, time.perf_counter()


def measure(case: str, sessions: int, waves: int, processes: int) -> float:
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
        run = make_run(Path(folder) / "run", count)
        plan = make_plan(run, [config], limits={"*": sessions})
        before = used()
        with open_for_asking(run) as ledger:
            outcome = generate(ledger, plan, processes=processes)
        after = used()
        assert outcome.statuses == {"ok": count}, outcome
        answers = run.responses()
        assert len(answers) == count
        late = np.array([answer.first_byte_s or np.nan for answer in answers]) - DELAY
    machine, own, took = (b - a for a, b in zip(before, after, strict=True))
    server.stdin.close()
    seen = json.loads(server.stdout.read())
    server.wait(10)
    assert seen["waiting"] <= sessions
    times = sorted(seen["times"])
    first, last = count // 6, count * 5 // 6
    ratio = (last - first) / (times[last] - times[first]) / (sessions / DELAY)
    others = (machine - own - seen["cpu"]) / took
    print(
        f"{case:9} {processes} processes, {sessions} sessions, {count} responses: ratio {ratio:.3f} "
        f"(whole run {waves * DELAY / took:.3f}, {took:.1f} s); CPU a response: client {own / count * 1e3:.2f} ms, "
        f"server {seen['cpu'] / count * 1e3:.2f} ms, yardstick {yardstick():.0f} ms; "
        f"others kept {others:.1f} of {os.cpu_count()} cores busy"
    )
    half, most = np.quantile(late * 1e3, (0.5, 0.9))
    print(
        f"{case:9} the recorded time to the first byte is off the server's 300 ms by {half:.1f} ms (p90 {most:.1f} ms)"
    )
    if ratio < GOAL and others > 0.2:
        print(f"{case:9} the machine was too busy to tell whether {GOAL} is reached")
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--waves", type=int, default=60)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    args = parser.parse_args()
    os.environ.update(OPENAI_API_KEY=KEY, GEMINI_API_KEY=KEY)
    for case in args.cases:
        measure(case, args.sessions, args.waves, args.processes)


if __name__ == "__main__":
    main()
