"""Two ``generate`` on one run: nothing is asked twice, whoever comes first."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

MARIN = "gpt-realtime-2.1/minimal/marin"


def test_two_generate_at_once_pay_once(tmp_path, make_run, serve):
    fake = serve("openai_realtime")
    run = make_run(tmp_path / "run", 12)
    command = [
        sys.executable,
        "-m",
        "vaeval_tasks.cli",
        "generate",
        str(run.root),
        "--config",
        MARIN,
        "--sessions",
        "2",
    ]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    ends = [(*process.communicate(), process.returncode) for process in both]
    assert len(fake.sessions) == 12
    assert Counter(r.prompt_id for r in run.responses()) == Counter(f"p{n:04}" for n in range(12))
    assert 0 in [code for *_, code in ends]
    for _, err, code in ends:  # the second was refused, or came when all was done
        assert code == 0 or "another generate is writing here (process " in err
