"""Every verb that writes takes the lock of its kind: while another process holds it, it is told so and does nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vaeval_tasks.cli import main
from vaeval_tasks.store.lock import FOLDER, Writer
from vaeval_tasks.store.log import append_jsonl
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Prompt, Rater, Rating, Response, ResponseStatus

HOLDER = """
import sys
from contextlib import ExitStack
from pathlib import Path
from vaeval_tasks.store.lock import Writer, writing
with ExitStack() as held:
    held.enter_context(writing(Path(sys.argv[1]), Writer(sys.argv[2])))
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    run = RunDir(tmp_path / "run")
    run.write("prompts", [Prompt(prompt_id="p", category="c", difficulty="L1")], made_by="test")
    configs = ("m/default/x", "m/default/y")
    responses = [
        Response(response_id=f"{c}/p", prompt_id="p", config_id=c, status=ResponseStatus.empty) for c in configs
    ]
    append_jsonl(run.responses_log, *responses)
    ratings = [Rating(prompt_id="p", a=configs[0], b=configs[1], rater_id="r", rubric="overall", score=1)]
    run.write("ratings", ratings, made_by="test")
    run.write("raters", [Rater(rater_id="r")], made_by="test")
    return run


@pytest.fixture
def hold(run: RunDir) -> Iterator[object]:
    """Let another process hold the lock of a kind."""
    others: list[subprocess.Popen[str]] = []

    def start(kind: Writer) -> int:
        command = [sys.executable, "-c", HOLDER, str(run.root), kind]
        other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        others.append(other)
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        return other.pid

    yield start
    for other in others:
        assert other.stdin is not None
        other.stdin.close()
        other.wait()


def state(root: Path) -> dict[str, bytes]:
    files = (p for p in sorted(root.rglob("*")) if p.is_file() and FOLDER not in p.parts)
    return {str(p.relative_to(root)): p.read_bytes() for p in files}


MANIFEST = "script_id,category,difficulty,script\np,advice,L1,Hello\n"
LM_EVAL = ("--model", "vaeval-replay", "--tasks", "voiceassistant_eval", "--predict_only")
CASES = {
    "generate": (Writer.generate, ("generate", "{run}", "--config", "gpt-realtime-2.1/minimal/marin")),
    "score": (Writer.score, ("score", "{run}", "--profile", "offline")),
    "predictors": (Writer.score, ("predictors", "{run}")),
    "pair": (Writer.pair, ("pair", "{run}")),
    "pair beside an import": (Writer.prompts, ("pair", "{run}")),
    "prompts import": (Writer.prompts, ("prompts", "import", "{run}/../scripts.csv", "{run}", "--asr", "none")),
    "judge": (Writer.judge, ("judge", "{run}", "--model", "m", "--url", "http://127.0.0.1:9")),
    "check --repair": (Writer.judge, ("check", "{run}", "--repair")),
    "lm-eval": (
        Writer.generate,
        ("lm-eval", *LM_EVAL, "--model_args", "responses={run}", "--metadata", "dataset_path=sample", "run_dir={run}"),
    ),
}


@pytest.mark.parametrize(("kind", "args"), CASES.values(), ids=CASES)
def test_a_verb_is_told_of_the_other_writer_and_does_nothing(
    run: RunDir, hold, kind: Writer, args: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    (run.root.parent / "scripts.csv").write_text(MANIFEST)
    pid, before = hold(kind), state(run.root)
    with pytest.raises(SystemExit) as ended:
        main([arg.format(run=run.root) for arg in args])
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Error:")]
    assert ended.value.code == 1
    assert len(errors) == 1
    assert f"another {kind} is writing here (process {pid} on " in errors[0]
    assert state(run.root) == before
