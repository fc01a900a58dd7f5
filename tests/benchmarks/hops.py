"""How far one call runs through the package: files and functions that a verb enters.

The bodies of modules and classes, which run when something is imported, do not count; nor do comprehensions, which are
parts of the function around them, and compiled kernels, which Python does not see.

    python tests/benchmarks/hops.py rank report score pair     # or: hops.py report --list
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import numpy as np

import vaeval_tasks
from vaeval_tasks.analysis.load.source import configs_of
from vaeval_tasks.audio import Clip, write_wav
from vaeval_tasks.cli import main
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Item, Rater, Rating, Response, ResponseStatus, Score

PACKAGE = str(Path(vaeval_tasks.__file__).parent) + "/"
QUICK = ["--resamples", "20"]


@contextlib.contextmanager
def entered() -> Iterator[set[tuple[str, str]]]:
    """Collect (file, qualified name) of every function of the package that is called meanwhile, in any thread."""
    found: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        ours = code.co_filename.startswith(PACKAGE) and code.co_filename.endswith(".py")
        if event == "call" and ours and code.co_flags & inspect.CO_OPTIMIZED:
            name = code.co_qualname
            if not name.endswith(("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")):
                found.add((code.co_filename.removeprefix(PACKAGE), name))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def make_spoken(root: Path) -> None:
    """Make a run of two spoken answers, to be scored offline."""
    run = RunDir(root)
    run.root.mkdir()
    tone = Clip(np.float32(0.3) * np.sin(np.arange(32_000) / 5).astype(np.float32), 16_000)
    for number, task in enumerate(("speaking_safety", "speaking_assistant")):
        write_wav(root / f"r{number}.wav", tone)
        run.append("items", Item(item_id="i", task=task))
        run.append(
            "responses",
            Response(
                response_id=f"r{number}",
                prompt_id="i",
                config_id="m/d/d",
                task=task,
                status=ResponseStatus.ok,
                text="words",
                path=f"r{number}.wav",
            ),
        )


def add_machine(root: Path) -> None:
    """Add to a study two scores of every response, and a judge's ratings of every pair in both orders."""
    run = RunDir(root)
    rng = np.random.default_rng(0)
    pairs, configs = run.read("pairs"), sorted(configs_of(run))
    responses, scores, judged = [], [], []
    for prompt in run.read("prompts"):
        for i, config in enumerate(configs):
            name = f"{prompt.prompt_id}:{config}"
            answer = {"prompt_id": prompt.prompt_id, "config_id": config, "status": ResponseStatus.ok, "text": "words"}
            responses.append(Response(response_id=name, **answer))
            for metric, value in (("mos", 3 + 0.05 * i + rng.normal(0, 0.2)), ("wer", rng.uniform(0, 0.2))):
                scores.append(Score(response_id=name, metric=metric, value=float(value), signature=f"{metric}|1"))
    for pair in pairs:
        for first in (True, False):
            given = {"prompt_id": pair.prompt_id, "a": pair.a, "b": pair.b, "rater_id": "judge:m:1"}
            score = int(rng.integers(-3, 4))
            task = f"{pair.pair_id}{first}"
            judged.append(Rating(rubric="overall", score=score, left_is_a=first, assignment_id=task, **given))
    for table, rows in (("responses", responses), ("scores", scores), ("judge_ratings", judged)):
        run.write(table, rows, made_by="hops")
    run.write("judges", [Rater(rater_id="judge:m:1", kind="judge")], made_by="hops")


def prepare(root: Path) -> dict[str, list[str]]:
    """Make the runs that the verbs read, and return each verb's arguments."""
    study = str(root / "study")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(["simulate", study, "--prompts", "60", "--raters", "24", "--mos-raters", "20", "--seed", "4"])
        add_machine(root / "study")
        make_spoken(root / "spoken")
    return {
        "rank": ["rank", study, *QUICK],
        "report": ["report", study, "--splits", "20", *QUICK],
        "tables": ["tables", study, "--splits", "20", *QUICK],
        "score": ["score", str(root / "spoken"), "--profile", "offline"],
        "pair": ["pair", study, "--show"],
    }


def hops(arguments: list[str]) -> set[tuple[str, str]]:
    """Return the functions that one call enters, once everything it needs has been imported."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(arguments)  # imports, compiled kernels
        with entered() as found:
            main(arguments)
    return found


def run(verbs: list[str], *, listed: bool) -> None:
    """Print files and functions of each verb."""
    with tempfile.TemporaryDirectory() as folder:
        known = prepare(Path(folder))
        for verb in verbs:
            found = hops(known[verb])
            files = Counter(file for file, _ in found)
            print(f"{verb:8} {len(files):4} files {len(found):5} functions")
            for file, n in sorted(files.items()) if listed else ():
                print(f"    {n:4} {file}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verbs", nargs="*", default=["rank", "report", "tables", "score", "pair"])
    parser.add_argument("--list", action="store_true", help="Name the files.")
    given = parser.parse_args()
    run(given.verbs, listed=given.list)
