"""CPU seconds and memory of ``vaeval tables`` on the whole simulated study.

Run: python tests/benchmarks/tables_cost.py.

The limits are 60 CPU seconds and 2 GB. Printed beside it: the CPU seconds of one pandas pass over the same ratings
(group by rubric, a, b, score, and count), as a unit that travels between machines.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from vaeval_tasks.simulate import simulate, write_study


def cpu(children: bool) -> float:
    """Return the CPU seconds used so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN if children else resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Make the study, time the verb, print."""
    with tempfile.TemporaryDirectory() as scratch:
        run = Path(scratch) / "run"
        began = time.monotonic()
        write_study(simulate(seed=1), run)
        print(f"simulate: {time.monotonic() - began:.1f} s")
        before = cpu(children=True)
        command = [sys.executable, "-m", "vaeval_tasks.cli", "tables", str(run), "--out", str(Path(scratch) / "tables")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        tables = cpu(children=True) - before
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
        frame = pd.read_parquet(run / "ratings.parquet")
        before = cpu(children=False)
        frame.groupby(["rubric", "a", "b", "score"]).size()
        unit = cpu(children=False) - before
    print(
        f"tables: {tables:.1f} CPU s (limit 60), {memory:.2f} GB (limit 2), {tables / unit:.0f} x one pandas group-by"
    )


if __name__ == "__main__":
    main()
