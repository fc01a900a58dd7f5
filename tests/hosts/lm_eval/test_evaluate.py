"""Whole runs through the harness in one process."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.hosts.lm_eval.answer import HarnessAnswer
from vaeval_tasks.hosts.lm_eval.hooks import METRICS
from vaeval_tasks.scoring.results import read_results
from vaeval_tasks.scoring.results_text import results_text
from vaeval_tasks.scoring.suite import TASKS
from vaeval_tasks.store.run import RunDir


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, fakes: Any, evaluate: Any) -> dict[str, Any]:
    """One run of the whole suite on the data set with every trap."""
    from vaeval_tasks.hosts.lm_eval import preflight
    from vaeval_tasks.metrics import profiles

    scorers, root = fakes.scorers(), tmp_path_factory.mktemp("run")
    patch = pytest.MonkeyPatch()
    patch.setattr(profiles, "load_scorers", lambda profile, **options: scorers)
    preflight.loaded_scorers.cache_clear()
    model = fakes.ToneModel()
    results = evaluate(fakes.ToneLM(model=model, run_dir=str(root)), ["voiceassistant_eval"])
    patch.undo()
    return {"results": results, "root": root, "scorers": scorers, "model": model}


def test_all_13_tasks_run_and_are_scored_once(whole: dict[str, Any]) -> None:
    results, scorers = whole["results"], whole["scorers"]
    rows = {task: results["results"][task] for task in TASKS}
    assert all(f"{metric},none" in row for row in rows.values() for metric in METRICS)
    assert all(not math.isnan(row["vae_score,none"]) for row in rows.values())
    # 26 answers; six metrics of each task ask for the scores, and each answer is scored once
    assert scorers.speech.clips == 26
    assert len(scorers.judge.items) == 26


def test_the_harness_averages_families_and_leaves_the_overall_to_us(whole: dict[str, Any]) -> None:
    results = whole["results"]["results"]
    listening = [results[task]["vae_score,none"] for task in TASKS if task.startswith("listening")]
    assert results["voiceassistant_eval_listening"]["vae_score,none"] == pytest.approx(sum(listening) / 4)
    assert "vae_score,none" not in results["voiceassistant_eval"]
    groups = read_results(RunDir(whole["root"])).configs["tone/default/sine"].groups
    assert groups["listening"].value == pytest.approx(sum(listening) / 4)
    families = [groups[name].value for name in ("listening", "speaking", "viewing")]
    assert groups["overall"].value == pytest.approx(sum(families) / 3)


def test_results_say_what_made_them(whole: dict[str, Any]) -> None:
    results = json.loads((whole["root"] / "results.json").read_text())
    config = results["configs"]["tone/default/sine"]
    assert results["software"].startswith("vaeval ")
    assert config["model_config"]["provider"] == "test"
    assert len(config["model_config"]["sha256"]) == 64
    role = config["tasks"]["speaking_roleplay"]
    assert role["data_revision"].startswith("sha256:")
    assert role["signatures"]["similarity"] == "speaker fake"
    assert (role["n"], role["missing"], role["unjudged"]) == (2, 0, 0)


def test_the_table_has_every_row(whole: dict[str, Any]) -> None:
    lines = results_text(read_results(RunDir(whole["root"]))).splitlines()
    names = [line.split()[0] for line in lines[2:19]]
    assert [n for n in names if n in TASKS] == list(TASKS)
    assert [n for n in names if n not in TASKS] == ["listening", "speaking", "viewing", "overall"]


def test_the_judge_reads_what_the_criteria_need(whole: dict[str, Any]) -> None:
    items = {i.task: i for i in whole["scorers"].judge.items}
    assert items["speaking_emotion"].user_emotion == "sad"
    assert items["speaking_emotion"].assistant_emotions == "happy (0.81), neutral (0.18)"
    dialogue = items["speaking_multi_round"].answer.splitlines()
    assert len(dialogue) in (6, 14)
    assert dialogue[2] == "User: turn 1"
    assert items["speaking_roleplay"].references == ('I am its "role"',)


def test_logged_samples_hold_answers_and_documents(whole: dict[str, Any]) -> None:
    samples = json.loads(json.dumps(whole["results"]["samples"]))["listening_general"]
    answer = HarnessAnswer.decode(samples[0]["resps"][0][0])
    assert Path(answer.audio).is_file()
    assert samples[0]["vae_score"]["response_id"] == answer.response_id
    assert samples[0]["doc"]["item_id"].startswith("Listening_General_")


def test_a_text_only_model_gets_nothing_for_speech(
    tmp_path: Path, evaluate: Any, fake_scorers: Callable[..., Any]
) -> None:
    """The harness's own dummy model answers "lol"."""
    scorers = fake_scorers()
    results = evaluate(
        "dummy", ["speaking_assistant"], metadata={"run_dir": str(tmp_path), "model_name": "dummy"}, model_args=""
    )["results"]["speaking_assistant"]
    assert results["vae_speech,none"] == results["vae_consistency,none"] == results["vae_score,none"] == 0
    assert results["vae_missing,none"] == 2
    assert [i.answer for i in scorers.judge.items] == ["lol", "lol"]
    assert {r.config_id for r in RunDir(tmp_path).responses()} == {"dummy/default/default"}


def test_no_verdicts_means_no_score_and_a_reason(
    tmp_path: Path, evaluate: Any, fakes: Any, fake_scorers: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    fake_scorers(judge=fakes.FakeJudge(silent_on="speaking_safety"))
    lm = fakes.ToneLM(run_dir=str(tmp_path))
    results = evaluate(lm, ["speaking_safety", "speaking_reasoning"])["results"]
    assert math.isnan(results["speaking_safety"]["vae_score,none"])
    assert results["speaking_safety"]["vae_unjudged,none"] == 2
    assert not math.isnan(results["speaking_reasoning"]["vae_score,none"])
    assert "speaking_safety has no score: all 2 answers are unjudged" in caplog.text
    text = results_text(read_results(RunDir(tmp_path)))
    assert "no score for speaking_safety: all 2 answers are unjudged" in text


def test_a_blind_model_has_no_viewing_score(
    tmp_path: Path, evaluate: Any, fakes: Any, fake_scorers: Callable[..., Any]
) -> None:
    scorers = fake_scorers()
    lm = fakes.ToneLM(model=fakes.ToneModel(sees=False), run_dir=str(tmp_path))
    results = evaluate(lm, ["viewing_multi_discipline"])["results"]["viewing_multi_discipline"]
    assert math.isnan(results["vae_score,none"])
    assert scorers.judge.items == []
    viewing = read_results(RunDir(tmp_path)).configs["tone/default/sine"].groups["viewing"]
    assert viewing.value is None
    assert viewing.reason.endswith("the model does not take such requests")


def test_an_unreachable_judge_loses_nothing(
    tmp_path: Path, evaluate: Any, fakes: Any, fake_scorers: Callable[..., Any]
) -> None:
    fake_scorers(judge=fakes.FakeJudge(unreachable=True))
    with pytest.raises(ServiceError, match="cannot be reached"):
        evaluate(fakes.ToneLM(run_dir=str(tmp_path)), ["speaking_safety"])
    run = RunDir(tmp_path)
    assert len(run.responses()) == 2
    assert {s.metric for s in run.read("scores")} == {"audible", "mos", "wer"}
    model = fakes.ToneModel()
    scorers = fake_scorers()
    evaluate(fakes.ToneLM(model=model, run_dir=str(tmp_path)), ["speaking_safety"])
    assert (len(model.asked), scorers.speech.clips, len(scorers.judge.items)) == (0, 0, 2)


def test_predict_only_then_score_later(tmp_path: Path, evaluate: Any, fakes: Any) -> None:
    evaluate(fakes.ToneLM(run_dir=str(tmp_path)), ["speaking_roleplay"], predict_only=True)
    run = RunDir(tmp_path)
    assert len(run.responses()) == len(run.items()) == 2
    assert not run.has("scores")
