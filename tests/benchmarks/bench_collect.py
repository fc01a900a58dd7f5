"""Fifty simulated raters at once on SQLite: how long claim and submit take, beside the same routes doing nothing.

Run: ``python tests/benchmarks/bench_collect.py [RATERS] [TASKS]``. The server is a process of its own; clips last
4 s, so a rater asks for a task every eleven seconds, some 14 times as often as a person would. The peer is an
application of the same framework, middleware and page sizes that answers without a database.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse

sys.path.insert(0, str(Path(__file__).parents[1] / "collect"))
from conftest import make_run, served_run, serving  # type: ignore[import-not-found]

from vaeval_tasks.collect.web.guard import Guard
from vaeval_tasks.simulate.driver import drive, sounds_of
from vaeval_tasks.simulate.rater_preference import Preference, planted
from vaeval_tasks.store.run import RunDir

PAGE = "x" * 16_000  # about as long as a task page
LIMIT_MS = 300
RAMP_S = 10.0
"""The raters come within so many seconds, and then all work at once."""


def study_process(root: str, urls: Any, stop: Any) -> None:
    with served_run(RunDir(Path(root)), simulated=True) as study:
        urls.put(study.url)
        stop.wait()


def nothing_process(urls: Any, stop: Any) -> None:
    app = FastAPI()

    @app.get("/task")
    def task() -> HTMLResponse:
        return HTMLResponse(PAGE)

    @app.post("/submit")
    async def submit(request: Request) -> dict[str, Any]:
        await request.body()
        return {"stored": 12, "next": "/task"}

    app.add_middleware(Guard)
    with serving(app) as url:
        urls.put(url)
        stop.wait()


def in_process(target: Any, *arguments: Any) -> tuple[str, threading.Event, Any]:
    context = multiprocessing.get_context("spawn")
    urls, stop = context.Queue(), context.Event()
    process = context.Process(target=target, args=(*arguments, urls, stop))
    process.start()
    return urls.get(timeout=120), stop, process


def nothing(url: str, raters: int, tasks: int, seconds: float) -> np.ndarray:
    """Time claim + submit of the peer, by as many clients at the same rate; ms."""

    def one(seed: int) -> list[float]:
        rng = random.Random(seed)
        times = []
        with httpx.Client(base_url=url) as client:
            time.sleep(rng.uniform(0, seconds))
            for _ in range(tasks):
                start = time.perf_counter()
                client.get("/task")
                client.post("/submit", json={"answers": PAGE[:600]})
                times.append(1000 * (time.perf_counter() - start))
                time.sleep(seconds)
        return times

    with ThreadPoolExecutor(raters) as pool:
        return np.concatenate(list(pool.map(one, range(raters))))


def line(name: str, ms: np.ndarray) -> str:
    p50, p95, p99 = np.percentile(ms, [50, 95, 99])
    return f"{name:16} n={len(ms):5}  p50 {p50:7.1f}  p95 {p95:7.1f}  p99 {p99:7.1f}  max {ms.max():7.1f} ms"


def main(raters: int = 50, tasks: int = 6) -> int:
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder) / "run", prompts=8, configs=12, seconds=4.0)
        sounds = sounds_of(run)
        preference = Preference(strengths=planted(sorted(set(sounds.values())), seed=0))
        url, stop, process = in_process(study_process, str(run.root))
        start = time.perf_counter()
        outcomes = drive(url, preference, sounds, raters=raters, seed=0, limit=tasks, ramp=RAMP_S)
        took = time.perf_counter() - start
        stop.set()
        process.join()
        url, stop, process = in_process(nothing_process)
        peer = nothing(url, raters, tasks, max(0.1, took / tasks - 0.1))
        stop.set()
        process.join()
    claim = np.concatenate([o.claim_ms[: o.tasks] for o in outcomes])
    submit = np.concatenate([o.submit_ms for o in outcomes])
    print(f"{raters} simulated raters, {len(submit)} tasks in {took:.1f} s ({len(submit) / took:.1f}/s), no error")
    for name, ms in (
        ("claim", claim),
        ("submit", submit),
        ("claim + submit", claim + submit),
        ("the same, no-op", peer),
    ):
        print(line(name, ms))
    ratio = np.percentile(claim + submit, [50, 99]) / np.percentile(peer, [50, 99])
    print(f"ratio to no-op routes: p50 {ratio[0]:.1f}, p99 {ratio[1]:.1f}")
    p99 = float(np.percentile(claim + submit, 99))
    print(f"claim + submit p99 {p99:.0f} ms, wanted at most {LIMIT_MS}: {'yes' if p99 <= LIMIT_MS else 'NO'}")
    return 0 if p99 <= LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
