"""CPU seconds of the small jobs: a file of 100 rows, an error of one line. ``python tests/benchmarks/small_file.py``.

User and system time of a whole process, the least of several runs, beside the same of ``import numpy`` on this machine
at this moment: on a busy machine all figures rise together. ``first`` is a run with an empty cache of compiled code.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 5


def cpu(arguments: list[str], **environment: str) -> float:
    """Return the CPU seconds of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], capture_output=True, env={**os.environ, **environment}, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratings(path: Path, rows: int) -> Path:
    """Write so many ratings of five systems."""
    draw = random.Random(1)
    seen: dict[tuple[str, int, int, str], int] = {}
    while len(seen) < rows:
        a, b = sorted(draw.sample(range(5), 2))
        key = (f"p{draw.randrange(20)}", a, b, f"r{draw.randrange(10)}")
        seen[key] = max(-3, min(3, round(draw.gauss((b - a) * 0.3, 1.5))))
    lines = [f"{p},m{a},m{b},{r},{score}" for (p, a, b, r), score in seen.items()]
    path.write_text("\n".join(["prompt,a,b,rater,score", *lines]) + "\n")
    return path


def main() -> None:
    """Print a line a job."""
    with tempfile.TemporaryDirectory() as folder:
        small, larger = ratings(Path(folder) / "r100.csv", 100), ratings(Path(folder) / "r200.csv", 200)
        verb = ["-m", "vaeval_tasks.cli"]
        jobs = {
            "import numpy": ["-c", "import numpy"],
            "import numba, load its types": [
                "-c",
                "from numba.core.registry import cpu_target as t\n"
                "t.typing_context.refresh()\nt.target_context.refresh()",
            ],
            "no such file": [*verb, "rank", f"{folder}/none.csv"],
            "a bad column": [*verb, "rank", str(small), "--columns", "score=points"],
            "rank, 100 rows, sandwich": [*verb, "rank", str(small), "--ci", "sandwich"],
            "rank, 100 rows, bootstrap": [*verb, "rank", str(small)],
            "agree, 200 rows": [*verb, "agree", str(larger)],
        }
        for name, arguments in jobs.items():
            print(f"{name:30} {min(cpu(arguments) for _ in range(RUNS)):6.2f} CPU s", flush=True)
        for name in ("rank, 100 rows, bootstrap", "agree, 200 rows"):
            first = min(cpu(jobs[name], NUMBA_CACHE_DIR=tempfile.mkdtemp(dir=folder)) for _ in range(2))
            print(f"{name + ', first':30} {first:6.2f} CPU s", flush=True)


if __name__ == "__main__":
    main()
