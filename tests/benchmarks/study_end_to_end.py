"""A whole study through the command line: pair, serve, simulated raters over HTTP, export, rank.

Run: ``python tests/benchmarks/study_end_to_end.py [PROMPTS] [CONFIGS] [RATERS]`` (60 19 40). The responses are
tones of 0.3 s, one pitch a configuration. It prints how far the recovered order is from the planted one.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from scipy.stats import spearmanr

sys.path.insert(0, str(Path(__file__).parents[1] / "collect"))
from conftest import make_run  # type: ignore[import-not-found]


def vaeval(*arguments: str) -> str:
    """Run a verb as a user does; return what it printed."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "vaeval_tasks.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(f"vaeval {arguments[0]}: {time.perf_counter() - start:.0f} s", flush=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


def main(prompts: int = 60, configs: int = 19, raters: int = 40) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = os.environ.get("KEEP", folder) + "/run"
        run = make_run(Path(root), prompts=prompts, configs=configs, seconds=0.3)
        (run.root / "pairs.parquet").unlink()  # the design is made by its own verb
        vaeval("pair", root, "--seed", "1")
        command = [sys.executable, "-m", "vaeval_tasks.cli", "serve", root, "--simulated", "--port", "8765"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert server.stdout is not None
        lines = []
        for line in server.stdout:
            lines.append(line)
            if "Uvicorn running" in line:
                break
        url = re.search(r"http://[\d.:]+", "".join(lines))
        assert url is not None, lines
        # its log is read, or a full pipe would stop it
        threading.Thread(target=server.stdout.read, daemon=True).start()
        print(vaeval("drive", url[0], "--run", root, "--raters", str(raters), "--ramp", "10"), end="")
        server.send_signal(signal.SIGINT)
        server.wait()
        vaeval("export", root)
        table = json.loads(vaeval("rank", root, "--json", "--by", "config", "--rubric", "overall", "--ci", "sandwich"))
        print(json.dumps(table)[:600])
        truth = json.loads((run.root / "simulated-truth.json").read_text())
        found = {row["entity"]: row["elo"] for row in table["rows"]}
        names = sorted(found)
        rho = spearmanr([truth[n] for n in names], [found[n] for n in names]).statistic
        print(f"Spearman correlation of planted and recovered strengths of {len(names)} configurations: {rho:.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
