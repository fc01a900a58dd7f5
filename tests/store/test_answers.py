"""Which answer stands, and whether there is a sound one: one rule, asked by everybody who plays or scores responses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vaeval_tasks.audio import Clip, audible, write_wav
from vaeval_tasks.cli import main
from vaeval_tasks.collect.store import importer
from vaeval_tasks.errors import InputError
from vaeval_tasks.judging.judge_pairs import PairJudgeSettings, _tasks
from vaeval_tasks.report.cards import samples
from vaeval_tasks.scoring.metric import ScoringBatch
from vaeval_tasks.scoring.metrics.sound import _audible
from vaeval_tasks.scoring.scores import _reader, scoring_jobs
from vaeval_tasks.store.answers import latest, study_answers
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Pair, PairKind, Prompt, Response, ResponseStatus

TONE = Clip(np.full(24_000, 0.1, np.float32), 16_000)
SILENCE = Clip(np.zeros(24_000, np.float32), 16_000)
LATE = Clip(np.concatenate([SILENCE.samples, SILENCE.samples, TONE.samples]), 16_000)
GOOD = "good/default/x"
CASES: dict[str, tuple[ResponseStatus, Clip | None, bool]] = {
    "spoken": (ResponseStatus.ok, TONE, True),
    "late": (ResponseStatus.ok, LATE, True),
    "rambling": (ResponseStatus.degenerate, TONE, True),
    "refusal": (ResponseStatus.refused, TONE, True),
    "failed": (ResponseStatus.error, TONE, True),
    "silence": (ResponseStatus.ok, SILENCE, False),
    "quiet": (ResponseStatus.degenerate, SILENCE, False),
    "hollow": (ResponseStatus.ok, Clip(np.zeros(0, np.float32), 16_000), False),
    "text": (ResponseStatus.ok, None, False),
    "timeout": (ResponseStatus.timeout, None, False),
    "gone": (ResponseStatus.ok, None, False),
}
"""By prompt: the status and the sound of the second configuration's response, and whether it can be heard."""
HEARD = {name for name, (_, _, heard) in CASES.items() if heard}
BAD = "bad/default/x"


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """A run of two configurations: one always answers, the other as the prompt is called."""
    folder = RunDir(tmp_path)
    write_wav(tmp_path / "tone.wav", TONE)
    prompts, pairs = [], []
    for name, (status, clip, _) in CASES.items():
        path = f"{name}.wav" if clip is not None or name == "gone" else ""
        if clip is not None:
            write_wav(tmp_path / path, clip)
        prompts.append(Prompt(prompt_id=name, category="chat", difficulty="L1", path="tone.wav", public=True))
        pairs.append(Pair(pair_id=name, prompt_id=name, a=BAD, b=GOOD))
        bad = Response(response_id=f"b/{name}", prompt_id=name, config_id=BAD, status=status, path=path, text="hi")
        good = replace(bad, response_id=f"g/{name}", config_id=GOOD, status=ResponseStatus.ok, path="tone.wav")
        folder.append("responses", bad, good)
    folder.write("prompts", prompts, made_by="test")
    folder.write("pairs", pairs, made_by="test")
    return folder


def design(run: RunDir) -> Iterator[str]:
    """``pair --exclude-unanswered``."""
    run.path("pairs").unlink()
    assert main(["pair", str(run.root), "--exclude-unanswered", "--checks-every", "0"]) == 0
    yield from (pair.prompt_id for pair in run.read("pairs") if pair.kind is PairKind.main)


def collection(run: RunDir) -> Iterator[str]:
    """``serve --on-missing exclude``."""
    prompts = {p.prompt_id: p for p in run.read("prompts")}
    out = importer._unheard(run, run.read("pairs"), prompts, study_answers(run.responses()), "exclude")
    yield from set(prompts) - out


def judge(run: RunDir) -> Iterator[str]:
    """``judge``."""
    yield from (task.pair.prompt_id for task in _tasks(run, run.read("pairs"), PairJudgeSettings()) if task)


def board(run: RunDir) -> Iterator[str]:
    """The samples of ``report``."""
    prompts = run.read("prompts")
    found = samples(run, prompts, run.responses(), {}, [BAD], len(prompts))
    yield from (p.prompt_id for p, s in zip(prompts, found, strict=True) if len(s.answers) == 2)


def scoring(run: RunDir) -> Iterator[str]:
    """``score``."""
    there = [r for r in run.responses() if r.config_id == BAD and r.prompt_id != "gone"]  # that one is an error here
    jobs = scoring_jobs(there, [])
    values = _audible(ScoringBatch(jobs=jobs, backend=None, root=run.root, clip=_reader(run), detail=lambda *_: ""))
    yield from (job.response.prompt_id for job, scored in zip(jobs, values, strict=True) if scored.value)


@pytest.mark.parametrize("user", [design, collection, judge, board, scoring])
def test_everybody_hears_the_same_responses(run, user):
    assert set(user(run)) == HEARD


def test_a_file_that_is_no_sound_is_named(tmp_path):
    (tmp_path / "x.wav").write_bytes(b"RIFF not a wave")
    response = Response(response_id="r", prompt_id="p", config_id="c", status=ResponseStatus.ok, path="x.wav")
    with pytest.raises(InputError, match=r"x\.wav: cannot be read as sound"):
        response.sound(tmp_path)


@pytest.mark.parametrize(("level", "heard"), [(0.00099, False), (0.00101, True)])
def test_the_limit_is_that_of_a_silent_clip(tmp_path, level, heard):
    clip = Clip(np.full(100, level, np.float32), 16_000)
    write_wav(tmp_path / "x.wav", clip)
    assert audible(tmp_path / "x.wav") is heard
    assert clip.silent is not heard


def response(config_id: str, created: str, name: str, **more) -> Response:
    return Response(
        response_id=name, prompt_id="p", config_id=config_id, status=ResponseStatus.ok, created=created, **more
    )


def test_the_newest_stands(tmp_path):
    """Of one id and of one question; a table that was compacted in between changes nothing."""
    run = RunDir(tmp_path)
    run.append("responses", response("c", "2026-01-02", "b", text="new"), response("c", "2026-01-01", "b", text="old"))
    run.append("responses", response("c", "2026-01-01", "z"), response("check/c", "2026-01-03", "w"))
    run.append("responses", response("c", "2026-01-03", "t", task="task"))
    for _ in range(2):
        assert [r.text for r in run.responses() if r.response_id == "b"] == ["new"]
        assert [r.response_id for r in latest(run.responses())] == ["b", "t"]
        found = study_answers(run.responses())
        assert {key: r.response_id for key, r in found.items()} == {("p", "c"): "b", ("p", "check/c"): "w"}
        run.write("responses", run.responses(), made_by="test")


def test_what_counts_as_failed():
    failed = {status for status in ResponseStatus if status.failed}
    assert failed == {ResponseStatus.error, ResponseStatus.timeout}
