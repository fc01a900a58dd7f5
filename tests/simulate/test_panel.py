"""A simulated panel follows the score that drives it, marks its raters as simulated and never joins others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vaeval_tasks.errors import InputError
from vaeval_tasks.simulate.panel import simulate_panel
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import CHECK_PREFIX, Pair, Prompt, Rater, Response, ResponseStatus, Score

CONFIGS = ("m/x/ann", "m/x/bob")


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """Twenty prompts; the first configuration always has the higher score."""
    run = RunDir(tmp_path)
    prompts = [Prompt(prompt_id=f"p{i}", category="c", difficulty="L1", gates=("reasoning",)) for i in range(20)]
    responses = [
        Response(response_id=f"{p.prompt_id}-{c}", prompt_id=p.prompt_id, config_id=c, status=ResponseStatus.ok)
        for p in prompts
        for c in CONFIGS
    ]
    run.write("prompts", prompts, made_by="test")
    run.write("responses", responses, made_by="test")
    scores = [
        Score(response_id=r.response_id, metric="mos", value=4.0 if r.config_id == CONFIGS[0] else 2.0, signature="s")
        for r in responses
    ]
    run.write("scores", scores, made_by="test")
    pairs = [
        Pair(pair_id=f"x{i}", prompt_id=p.prompt_id, a=CONFIGS[0], b=CONFIGS[1], slots=4) for i, p in enumerate(prompts)
    ]
    run.write("pairs", pairs, made_by="test")
    return run


def test_preference_follows_the_score_and_turns_round_with_it(run: RunDir) -> None:
    simulate_panel(run, raters=8, seed=1)
    ratings = run.read("ratings")
    assert len(ratings) == 20 * 4 * 10, "9 rubrics for all, and the one gate that applies"
    assert {r.rubric for r in ratings} >= {"overall", "reasoning"}
    assert "instruction_following" not in {r.rubric for r in ratings}
    # the scores stand one standard deviation above and below their mean: 1.6 logits apart
    assert np.mean([r.score for r in ratings]) > 0.5
    assert {r.kind for r in run.read("raters")} == {"simulated"}
    mos = {c: np.mean([m.score for m in run.read("mos") if m.config_id == c]) for c in CONFIGS}
    assert mos[CONFIGS[0]] > mos[CONFIGS[1]] + 0.5
    turned = [
        Score(response_id=s.response_id, metric="mos", value=-(s.value or 0), signature="s") for s in run.read("scores")
    ]
    run.write("scores", turned, made_by="test")
    simulate_panel(run, raters=8, seed=1)
    assert np.mean([r.score for r in run.read("ratings")]) < -0.5


def test_the_same_seed_gives_the_same_panel(run: RunDir) -> None:
    simulate_panel(run, seed=3)
    first = run.read("ratings")
    simulate_panel(run, seed=3)
    assert run.read("ratings") == first
    simulate_panel(run, seed=4)
    assert run.read("ratings") != first


def test_it_joins_nobody_and_needs_the_score(run: RunDir) -> None:
    with pytest.raises(InputError, match="no response has the score 'wer'"):
        simulate_panel(run, metric="wer")
    run.write("raters", [Rater(rater_id="r1")], made_by="test")
    with pytest.raises(InputError, match="not mixed with others"):
        simulate_panel(run)
    assert not run.has("ratings")


def test_worse_copies_of_checks_are_not_rated(run: RunDir) -> None:
    copy = Response(response_id="c", prompt_id="p0", config_id=f"{CHECK_PREFIX}noise", status=ResponseStatus.ok)
    run.write("responses", [*run.read("responses"), copy], made_by="test")
    simulate_panel(run)
    assert {m.config_id for m in run.read("mos")} == set(CONFIGS)


def test_ratings_are_stale_only_where_the_score_that_drove_them_changed(run: RunDir) -> None:
    """The demo measures its responses after the panel has rated them: nothing that the ratings came from changed."""
    simulate_panel(run, raters=4)
    scores = run.read("scores")
    other = Score(response_id=scores[0].response_id, metric="latency_s", value=1.0, signature="s")
    run.write("scores", [other, *reversed(scores)], made_by="measure")
    assert run.stale() == []
    run.write("scores", [replace(scores[0], value=0.125), *scores[1:]], made_by="vaeval score")
    said = "made from scores of mos that changed since; make it again (it was made by a simulated panel)"
    assert sorted(run.stale()) == [f"mos: {said}", f"ratings: {said}"]
