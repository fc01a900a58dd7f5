"""``results.json`` and the table, read and written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.cli import main
from vaeval_tasks.errors import InputError
from vaeval_tasks.metrics import profiles
from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.profiles import Scorers
from vaeval_tasks.scoring.results import PARTIAL, changed_scorers, read_results, score_run
from vaeval_tasks.scoring.results_text import results_text
from vaeval_tasks.store.answers import latest
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import CHECK_PREFIX, Item, Response, ResponseStatus


class Judge:
    def __init__(self, signature: str) -> None:
        self.signature = signature

    def judge(self, items: Any) -> list[Scored]:
        return [Scored(value=1.0) for _ in items]


def judged(signature: str | None) -> Scorers:
    """Scorers of which only the judge is there, or none at all."""
    judge = None if signature is None else Judge(signature)
    return Scorers(judge=judge, speech=None, recogniser=None, speaker=None, emotion=None)


def answer(number: int, task: str = "speaking_safety", **changes: Any) -> Response:
    given: dict[str, Any] = {"config_id": "m/d/d", "status": ResponseStatus.ok, "text": "words"} | changes
    return Response(response_id=f"r{number}", prompt_id="i", task=task, **given)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    folder = RunDir(tmp_path)
    for task in ("speaking_safety", "speaking_assistant"):
        folder.append("items", Item(item_id="i", task=task))
        folder.append("responses", answer(int(task == "speaking_safety"), task))
    return folder


def test_the_newest_answer_of_each_configuration_counts() -> None:
    old, new = answer(1, created="2026-01-01"), answer(2, created="2026-01-02")
    other = answer(3, config_id="n/d/d", created="2025-01-01")
    assert latest([new, old, other]) == [new, other]


def test_the_worse_copies_of_a_studys_checks_are_nobodys_answers() -> None:
    real, copy = answer(1), answer(2, config_id=f"{CHECK_PREFIX}m/d/d")
    assert latest([copy, real]) == [real]


def test_tasks_accumulate_and_the_seed_and_scorers_are_kept(run: RunDir) -> None:
    scorers = judged("one")
    responses = run.responses()
    score_run(run, responses[:1], scorers)
    score_run(run, responses[1:], scorers, min_judged=0.3)
    tasks = read_results(run).configs["m/d/d"].tasks
    assert {name: task.min_judged for name, task in tasks.items()} == {
        "speaking_assistant": 0.5,
        "speaking_safety": 0.3,
    }
    assert tasks["speaking_safety"].scores.signatures == {"content": "one", "speech": "none", "consistency": "none"}


def test_changed_scorers_are_told(run: RunDir) -> None:
    score_run(run, run.responses(), judged("one"))
    before = read_results(run)
    made = score_run(run, run.responses(), judged("two"))
    assert changed_scorers(before, made) == ["content was scored by one, now by two: the numbers do not compare"]
    assert changed_scorers(read_results(run), made) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "cannot be read as JSON"),
        (b"\xff{}", "cannot be read as JSON"),
        (b'{"version": 9}', "newer vaeval"),
        (b"[]", "must be an object, not list"),
        (b'{"configs": []}', "field 'configs': must be an object"),
        (b'{"configs": {"m": {"tasks": {"t": 3}}}}', "field 'configs.m.tasks.t': must be an object"),
        (b'{"configs": {"m": {"tasks": {"t": {"task": "t", "n": "two"}}}}}', "tasks.t.n': has the wrong type: 'two'"),
    ],
)
def test_results_that_cannot_be_read(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "results.json").write_bytes(text)
    with pytest.raises(InputError, match=rf"results\.json.*{message}"):
        read_results(RunDir(tmp_path))


def test_a_factor_that_is_no_number_is_refused(run: RunDir) -> None:
    score_run(run, run.responses(), judged("one"))
    path = run.root / "results.json"
    results = json.loads(path.read_text())
    results["configs"]["m/d/d"]["tasks"]["speaking_safety"]["content"]["value"] = "high"
    path.write_text(json.dumps(results))
    with pytest.raises(InputError, match=r"tasks\.speaking_safety\.content': is no estimate: .*'value'.*got 'high'"):
        read_results(run)


def test_the_file_of_version_2(run: RunDir) -> None:
    score_run(run, run.responses(), judged("one"))
    results = json.loads((run.root / "results.json").read_text())
    assert (results["version"], set(results)) == (2, {"version", "configs", "software", "methodology", "made"})
    config = results["configs"]["m/d/d"]
    assert set(config) == {"tasks", "groups", "model_config", "latency"}
    assert set(config["tasks"]["speaking_safety"]) == {
        "task", "n", "content", "speech", "consistency", "similarity", "unrounded", "score", "coverage", "missing",
        "unjudged", "unscored", "failed", "reason", "signatures", "data_revision", "data_items", "asked", "min_judged",
        "latency",
    }  # fmt: skip
    assert set(config["groups"]) == {"listening", "speaking", "viewing", "overall"}


def test_a_file_of_0_1_0_is_read(run: RunDir) -> None:
    """Version 1 had the seed of its bootstrap and neither coverage nor latency."""
    score_run(run, run.responses(), judged("one"))
    path = run.root / "results.json"
    results = json.loads(path.read_text())
    results["version"] = 1
    config = results["configs"]["m/d/d"]
    del config["latency"]
    for task in config["tasks"].values():
        for name in ("coverage", "data_items", "asked", "min_judged", "latency"):
            del task[name]
        task["seed"] = 0
    path.write_text(json.dumps(results))
    task = read_results(run).configs["m/d/d"].tasks["speaking_safety"]
    assert (task.size, task.partial, task.scores.coverage, task.scores.score) == (1, False, None, 0)


def many(run: RunDir, n: int, task: str = "speaking_safety", **changes: Any) -> list[Response]:
    """Answers to n items, of one document each two."""
    for i in range(n):
        run.append("items", Item(item_id=f"q{i}", task=task, audio=(f"{i // 2}.wav",)))
    made = [
        replace(answer(100 + i, task, first_audio_s=0.5 + i / 100, total_s=2.0), prompt_id=f"q{i}", **changes)
        for i in range(n)
    ]
    run.append("responses", *made)
    return made


def test_fewer_items_never_replace_a_result(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = RunDir(tmp_path)
    responses = many(run, 12)
    run.note_within("items", speaking_safety=12)
    score_run(run, responses[:8], judged("one"))
    assert "8 of 12 items" in results_text(read_results(run))
    score_run(run, responses, judged("one"))
    text = (tmp_path / "results.json").read_text()
    assert "of 12 items" not in results_text(read_results(run))
    score_run(run, responses[:3], judged("one"))
    assert "results.json keeps the result of 12 items; that of these 3 is in results-partial.json" in caplog.text
    assert read_results(run).configs["m/d/d"].tasks["speaking_safety"].scores.n == 12
    assert json.loads(text)["configs"] == json.loads((tmp_path / "results.json").read_text())["configs"]
    assert read_results(run, file=PARTIAL).configs["m/d/d"].tasks["speaking_safety"].scores.n == 3
    # all that the data have now replaces more than that, and what was partial is past
    run.note_within("items", speaking_safety=10)
    score_run(run, responses[:10], judged("one"))
    assert read_results(run).configs["m/d/d"].tasks["speaking_safety"].scores.n == 10
    assert read_results(run, file=PARTIAL).configs == {}


def test_few_verdicts_are_told_in_the_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunDir(tmp_path)
    many(run, 20)

    class Shy(Judge):
        def judge(self, items: Any) -> list[Scored]:
            return [Scored(value=1.0 if i < self.of else None) for i, _ in enumerate(items)]

    def row(of: int, **options: Any) -> str:
        (tmp_path / "scores.jsonl").unlink(missing_ok=True)
        (tmp_path / "scores.parquet").unlink(missing_ok=True)
        shy = Shy("one")
        shy.of = of  # type: ignore[attr-defined]
        score_run(run, run.responses(), replace(judged("one"), judge=shy), **options)
        lines = results_text(read_results(run)).splitlines()
        return next(line for line in lines if line.startswith("  speaking_safety"))

    assert "covers" not in row(18)
    assert row(17).endswith("! covers 85 % of items")
    few = row(9)
    assert few.endswith("! covers 45 % of items")
    assert read_results(run).configs["m/d/d"].tasks["speaking_safety"].scores.score is None
    row(9, min_judged=0.4)
    assert read_results(run).configs["m/d/d"].tasks["speaking_safety"].scores.score == 0


def test_latency_of_tasks_and_of_all_answers(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    many(run, 100)
    score_run(run, run.responses(), judged("one"))
    config = read_results(run).configs["m/d/d"]
    assert config.latency == config.tasks["speaking_safety"].latency
    first = config.latency["first_audio_s"]
    assert first["p50"].value == pytest.approx(0.995)
    assert first["p50"].low is not None
    # 50 documents of two answers of nearly one time are worth about half as many answers
    assert first["p99"].value is not None
    assert (first["p99"].low, first["p99"].reason[:37]) == (None, "an interval needs 368 answers that ar")
    assert "real_time_factor" not in config.latency  # no audio
    lines = results_text(read_results(run)).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("latency"))
    assert lines[at].split() == ["latency", "p50", "p90", "p99", "n"]
    assert lines[at + 1].split()[:4] == ["first", "audio", "(s)", "0.99"] or "1.00" in lines[at + 1]


def test_the_table_shows_what_is_absent(run: RunDir) -> None:
    score_run(run, [*run.responses(), answer(5, status=ResponseStatus.error)], judged(None))
    text = results_text(read_results(run))
    assert "listening_general" in text
    assert "not run" in text
    assert "speaking_safety: 1 answers failed" in text
    assert "scored with content: none" in text


def test_vaeval_score(run: RunDir, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[Any] = []

    def load(profile: str, **options: Any) -> Scorers:
        asked.append((profile, options))
        return judged(profile)

    monkeypatch.setattr(profiles, "load_scorers", load)
    assert main(["score", str(run.root), "--judge-url", "http://127.0.0.1:9"]) == 0
    assert asked == [("reference", {"judge_url": "http://127.0.0.1:9"})]
    assert "speaking_safety" in capsys.readouterr().out
    assert main(["score", str(run.root), "--profile", "offline", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["configs"]["m/d/d"]["tasks"]["speaking_safety"]["n"] == 1
    assert err.startswith("Note: content was scored by reference, now by offline")


def test_vaeval_score_without_a_judge_says_what_to_give(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["score", str(run.root)])
    assert caught.value.code == 1
    assert capsys.readouterr().err.endswith("; give --judge-url URL, or --profile offline\n")


def test_vaeval_score_without_responses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, message in ((tmp_path, "there are no responses"), (tmp_path / "none", "no such run folder")):
        with pytest.raises(SystemExit) as caught:
            main(["score", str(folder)])
        assert caught.value.code == 1
        assert message in capsys.readouterr().err


def test_results_survive_the_file(run: RunDir) -> None:
    made = score_run(run, run.responses(), judged("one"))
    read = read_results(run)
    assert [read.configs["m/d/d"].tasks[scores.task].scores for scores in made] == made
    written = json.loads((run.root / "results.json").read_text())
    assert read.to_json() == written
    groups = read.configs["m/d/d"].groups
    assert groups["speaking"].value is None
    assert groups["listening"].reason.startswith("not run: listening_general")
