"""Throughput of `vaeval generate` against servers that answer after a fixed 300 ms, beside the ideal.

The ideal is what N sessions at once can do if nothing but the server takes time: N / 0.3 s. The fakes run in a
process of their own. Run: python tests/benchmarks/bench_generate.py [--sessions 64] [--waves 30]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

import numpy as np  # noqa: E402
from fakes.server import KEY  # noqa: E402

from vaeval_tasks.audio import Clip, write_wav  # noqa: E402
from vaeval_tasks.generate.engine import generate  # noqa: E402
from vaeval_tasks.generate.plan import make_plan  # noqa: E402
from vaeval_tasks.models.configs import published  # noqa: E402
from vaeval_tasks.run import RunDir  # noqa: E402
from vaeval_tasks.schema import Prompt  # noqa: E402

DELAY = 0.3
CASES = {
    "realtime": ("fakes.realtime:RealtimeFake", "VAEVAL_OPENAI_URL", "gpt-realtime-2.1/minimal/marin"),
    "gemini": ("fakes.gemini:GeminiFake", "VAEVAL_GEMINI_URL", "gemini-3.1-flash-live/minimal/zephyr"),
    "chat": ("fakes.chat:ChatFake", "VAEVAL_CHAT_URL", "qwen3-omni-30b-a3b-instruct/default/ethan"),
}
SERVER = """
import importlib, sys, time
module, name = sys.argv[1].split(":")
with getattr(importlib.import_module(module), name)(delay=float(sys.argv[2])) as fake:
    fake.seconds = 0.2
    print(fake.url, flush=True)
    sys.stdin.read()
    print(time.process_time(), flush=True)
"""


def make_run(root: Path, count: int) -> RunDir:
    rng = np.random.default_rng(0)
    run, prompts = RunDir(root), []
    for number in range(count):
        path = f"audio/prompts/p{number:05}.wav"
        write_wav(root / path, Clip(rng.normal(0, 0.1, 3200).astype(np.float32), 16000))
        prompts.append(Prompt(prompt_id=f"p{number:05}", category="chat", difficulty="L1", path=path, seconds=0.2))
    run.write("prompts", prompts, made_by="benchmark")
    return run


def measure(case: str, sessions: int, waves: int) -> float:
    """Return the throughput as a share of the ideal."""
    target, variable, name = CASES[case]
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}"}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, target, str(DELAY)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    os.environ[variable] = server.stdout.readline().strip()
    with tempfile.TemporaryDirectory() as folder:
        warm = make_run(Path(folder) / "warm", 1)  # imports, certificates
        generate(warm, make_plan(warm, [published()[name]]))
        run = make_run(Path(folder) / "run", sessions * waves)
        plan = make_plan(run, [published()[name]], limits={"*": sessions})
        began = time.perf_counter()
        outcome = generate(run, plan)
        took = time.perf_counter() - began
    server.stdin.close()
    busy = float(server.stdout.read()) / (sessions * waves)
    server.wait(10)
    assert outcome.statuses == {"ok": sessions * waves}, outcome
    ideal = waves * DELAY
    print(
        f"{case:10} {sessions} sessions, {sessions * waves} responses: {took:.2f} s, ideal {ideal:.2f} s, "
        f"ratio {ideal / took:.3f} (the fake's own work: {busy * 1e3:.1f} ms each)"
    )
    return ideal / took


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
