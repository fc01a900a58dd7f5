"""What travels with an answer through the harness: values, verdicts and signatures, and the scorers' names."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lm_eval.utils import make_table

from vaeval_tasks.hosts.lm_eval.hooks import METRICS
from vaeval_tasks.hosts.lm_eval.samples import SampleRecord
from vaeval_tasks.scoring.results import PARTIAL, read_results
from vaeval_tasks.store.run import RunDir


def test_samples_hold_values_verdicts_and_signatures(
    tmp_path: Path, evaluate: Any, fakes: Any, fake_scorers: Callable[..., Any]
) -> None:
    fake_scorers()
    results = evaluate(fakes.ToneLM(run_dir=str(tmp_path)), ["speaking_roleplay"], log_samples=True)
    sample = json.loads(json.dumps(results["samples"]["speaking_roleplay"]))[0]
    assert set(METRICS) <= set(sample)
    content, speech, whole = sample["vae_content"], sample["vae_speech"], sample["vae_score"]
    assert (content["verdict"], content["signature"]) == ("fake", "judge fake")
    assert content["value"] in (0.0, 1.0)
    similarity = whole["scores"]["similarity"]["value"]
    assert content["points"] == pytest.approx(100 * content["value"] * similarity)
    assert (speech["signature"], speech["points"]) == ("mos fake", 20 * speech["value"])
    assert sample["vae_consistency"]["verdict"] == fakes.WORDS
    assert sample["vae_consistency"]["points"] == pytest.approx(100 * (1 - sample["vae_consistency"]["value"]))
    assert (sample["vae_missing"]["value"], sample["vae_unjudged"]["value"], sample["vae_coverage"]["value"]) == (
        0,
        0,
        1,
    )
    assert set(whole["scores"]) == {"content", "audible", "mos", "wer", "similarity"}


def test_a_record_that_was_pickled_apart_is_still_one() -> None:
    """Two ranks send what is logged and what is scored in two messages."""
    record = SampleRecord(run="/r", response_id="x", metric="vae_score")
    logged, scored = (pickle.loads(pickle.dumps(record)) for _ in range(2))
    scored["value"] = 3.0
    assert logged["value"] == 3.0


def test_the_harness_table_and_json_name_a_stand_in(
    tmp_path: Path, evaluate: Any, fakes: Any, fake_scorers: Callable[..., Any]
) -> None:
    fakes_of = fakes.FakeSpeech(signature="DistillMOS|model:distill_mos_v7|weights:1")
    judge = fakes.FakeJudge(signature="judge-llm|model:gpt-oss-20b|prompts:1")
    fake_scorers(speech=fakes_of, judge=judge)
    results = evaluate(fakes.ToneLM(run_dir=str(tmp_path)), ["speaking_safety"])
    told = "content: gpt-oss-20b; speech: DistillMOS (stand-in); consistency: ears fake + modified-wer (stand-in)"
    assert results["results"]["speaking_safety"]["vae_scorers,none"] == told
    assert "speech: DistillMOS (stand-in)" in make_table(results)
    assert json.loads(json.dumps(results["results"]))["speaking_safety"]["vae_scorers,none"] == told


def test_few_verdicts_make_no_score_and_break_nothing(
    tmp_path: Path, evaluate: Any, fakes: Any, fake_scorers: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    fake_scorers(judge=fakes.FakeJudge(silent_on="speaking_safety"))
    group = ["voiceassistant_eval_speaking"]
    metadata = {"min_judged": "0.4"}
    results = evaluate(fakes.ToneLM(run_dir=str(tmp_path)), group, metadata=metadata)
    row = results["results"]["speaking_safety"]
    assert str(row["vae_score,none"]) == "nan"
    assert (row["vae_coverage,none"], row["vae_unjudged,none"]) == (0, 2)
    assert "no score: all 2 answers are unjudged" in row["vae_scorers,none"]
    assert "nan" in make_table(results).lower()
    task = read_results(RunDir(tmp_path)).configs["tone/default/sine"].tasks["speaking_assistant"]
    assert (task.min_judged, task.data_items, task.partial) == (0.4, 2, False)


def test_a_limit_never_replaces_a_full_result(
    tmp_path: Path, evaluate: Any, fakes: Any, fake_scorers: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    fake_scorers()
    run = RunDir(tmp_path)
    evaluate(fakes.ToneLM(run_dir=str(tmp_path)), ["speaking_safety"])
    full = read_results(run).configs
    some = evaluate(fakes.ToneLM(run_dir=str(tmp_path)), ["speaking_safety"], limit=1)
    assert "results.json keeps the result of 2 items; that of these 1 is in results-partial.json" in caplog.text
    evaluate(fakes.ToneLM(run_dir=str(tmp_path)), ["speaking_safety"], samples={"speaking_safety": [1]})
    assert read_results(run).configs == full
    partial = read_results(run, file=PARTIAL).configs["tone/default/sine"].tasks["speaking_safety"]
    assert (partial.scores.n, partial.data_items, partial.partial) == (1, 2, True)
    assert some["results"]["speaking_safety"]["vae_missing,none"] == 0
