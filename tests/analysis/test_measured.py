"""Scores lined up with ratings: signatures kept apart, what is missing counted and explained."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.measured import load_measured
from vaeval_tasks.analysis.load.ratings import load_ratings
from vaeval_tasks.analysis.load.source import Source
from vaeval_tasks.analysis.predict.system_scores import system_scores
from vaeval_tasks.cli import main
from vaeval_tasks.errors import InputError
from vaeval_tasks.stats import Draws
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Rating, Response, ResponseStatus, Score

CONFIGS = ("a/x/y", "b/x/y", "c/x/y")


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """Five prompts, three configurations, every pair rated by two raters; c never answered the first prompt."""
    run = RunDir(tmp_path / "run")
    rng = np.random.default_rng(0)
    prompts = [f"p{i}" for i in range(5)]
    pairs = [(CONFIGS[i], CONFIGS[j]) for i in range(3) for j in range(i + 1, 3)]
    ratings = [
        Rating(prompt_id=p, a=a, b=b, rater_id=r, rubric="overall", score=int(rng.integers(-3, 4)))
        for p in prompts
        for a, b in pairs
        for r in ("r0", "r1")
    ]
    responses = [
        Response(
            response_id=f"{p}{c}",
            prompt_id=p,
            config_id=c,
            status=ResponseStatus.timeout if (p, c) == ("p0", CONFIGS[2]) else ResponseStatus.ok,
            text="one two",
            first_audio_s=0.5,
        )
        for p in prompts
        for c in CONFIGS
    ]
    run.write("ratings", ratings, made_by="test")
    run.write("responses", responses, made_by="test")
    return run


def scored(run: RunDir, *scores: Score) -> None:
    run.write("scores", scores, made_by="test")


def score(
    response: str, value: float | None, *, metric: str = "mos", signature: str = "u|1", detail: str = ""
) -> Score:
    return Score(response_id=response, metric=metric, value=value, signature=signature, detail=detail)


def test_values_stand_where_their_prompt_and_configuration_do(run: RunDir) -> None:
    scored(run, *(score(f"p{i}{c}", i + 10 * j) for i in range(5) for j, c in enumerate(CONFIGS)))
    source = Source(path=run.root)
    ratings = load_ratings(source)
    found = load_measured(source, ratings)[0]
    for i in range(5):
        for j, c in enumerate(CONFIGS):
            assert found.values[ratings.prompts.index(f"p{i}"), ratings.data.entities.index(c)] == i + 10 * j
    assert (found.n_responses, found.n_scored, found.reasons, found.direction) == (15, 15, (), "higher")


def test_two_signatures_are_two_metrics(run: RunDir) -> None:
    scored(run, score("p0a/x/y", 1.0), score("p0a/x/y", 2.0, signature="u|2"), score("p1a/x/y", 0.1, metric="wer"))
    source = Source(path=run.root)
    found = {m.name: m for m in load_measured(source, load_ratings(source))}
    assert set(found) == {"mos (u|1)", "mos (u|2)", "wer"}
    assert (found["wer"].direction, found["wer"].label) == ("lower", "Modified WER")
    assert (found["mos (u|2)"].key, found["mos (u|2)"].label) == ("mos", "Predicted MOS (u|2)")


def test_what_is_missing_is_counted_with_its_reason(run: RunDir) -> None:
    rows = [score(f"p{i}{c}", 1.0) for i in range(3) for c in CONFIGS[:2]]
    scored(run, *rows, score("p0c/x/y", None, detail="timeout"), score("p1c/x/y", None, detail="timeout"))
    source = Source(path=run.root)
    found = load_measured(source, load_ratings(source))[0]
    assert (found.n_responses, found.n_scored) == (15, 6)
    assert found.reasons == (("not scored", 7), ("timeout", 2))


def test_metrics_of_words_alone_and_of_other_responses_are_left_out(run: RunDir) -> None:
    words = score("p0a/x/y", None, metric="emotion", detail="happy (0.8)")
    scored(run, words, score("elsewhere", 3.0))
    source = Source(path=run.root)
    with pytest.raises(InputError, match=r"scores\.parquet: no score is of a response that was rated"):
        load_measured(source, load_ratings(source))


def test_a_run_without_scores_and_a_plain_file_say_what_to_do(run: RunDir, tmp_path: Path) -> None:
    source = Source(path=run.root)
    with pytest.raises(InputError, match="the run has no scores; run: vaeval score"):
        load_measured(source, load_ratings(source))
    plain = tmp_path / "ratings.csv"
    plain.write_text("prompt,a,b,rater,score\np,a,b,r,1\n", "utf-8")
    with pytest.raises(InputError, match="is a plain file"):
        load_measured(Source(path=plain), load_ratings(Source(path=plain)))


def test_the_table_of_means_leaves_out_what_was_not_scored(run: RunDir) -> None:
    scored(run, *(score(f"p{i}{c}", float(i)) for i in range(5) for c in CONFIGS[:2]), score("p0c/x/y", None))
    source = Source(path=run.root)
    ratings = load_ratings(source)
    found = system_scores(ratings, load_measured(source, ratings), Level.model, Draws(replicates=50, seed=0))
    by_entity = {one.entity: one for one in found}
    a, c = by_entity["a"], by_entity["c"]
    assert (a.mean, a.n_scored) == (2.0, 5)
    assert a.interval is not None
    assert a.interval.low is not None
    assert a.interval.high is not None
    assert a.interval.low < 2 < a.interval.high
    assert c.interval is not None
    assert (c.mean, c.interval.low, c.n_scored) == (None, None, 0)


def test_the_verb_measures_what_it_needs(run: RunDir, tmp_path: Path) -> None:
    out = tmp_path / "p.csv"
    main(["predictors", str(run.root), "--resamples", "20", "--splits", "5", "--out", str(out)])
    with out.open(encoding="utf-8", newline="") as file:
        rows = {row["metric"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"latency_s", "words"}
    assert rows["words"]["n_scored"] == "14"  # the request that timed out has no words
    assert rows["words"]["reason"].startswith("the metric is the same for all systems")
    assert len(run.read("scores")) == 15 * 8
