from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from vaeval_tasks.analysis.agree.judged import judge_tables, judge_views, load_judged
from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.ratings import load_ratings
from vaeval_tasks.analysis.load.source import Source
from vaeval_tasks.audio import read_audio
from vaeval_tasks.judging.judge_pairs import PairJudgeSettings, judge_pairs
from vaeval_tasks.services.http.chat import ChatClient, ChatOptions
from vaeval_tasks.stats import Draws
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Rater, Rating

DRAWS = Draws(replicates=50, seed=0)


def add_people(run: RunDir, raters: int = 8) -> None:
    """People who mostly prefer the louder one, as the fake judge does."""
    rng = np.random.default_rng(5)
    strength = {"loud/default/x": 1.0, "soft/default/x": 0.0, "quiet/default/x": -1.0}
    ratings = [
        Rating(
            prompt_id=pair.prompt_id,
            a=pair.a,
            b=pair.b,
            rater_id=f"r{r}",
            rubric="overall",
            score=int(np.clip(np.round(strength[pair.a] - strength[pair.b] + rng.normal(0, 1.2)), -3, 3)),
            left_is_a=bool(r % 2),
        )
        for pair in run.read("pairs")
        for r in range(raters)
    ]
    run.write("ratings", ratings, made_by="test")
    run.write("raters", [Rater(rater_id=f"r{r}") for r in range(raters)], made_by="test")


def sign_of(body: dict[str, Any]) -> int:
    """+1 where the first response is the louder one, by its peak."""
    clips = [p["input_audio"]["data"] for p in body["messages"][1]["content"] if p["type"] == "input_audio"]
    first, second = (read_audio(base64.b64decode(clip)).peak for clip in clips[1:])
    return 1 if first > second else -1


def judge_with(run: RunDir, fake: Any, judge: Any, bias: int) -> None:
    """Rate by loudness with some noise of its own, and lean to the first by ``bias`` points."""
    rng = np.random.default_rng(3)

    def reply(body: dict[str, Any], number: int) -> tuple[int, str, dict[str, str]]:
        scores = judge(body, bias)
        noise = int(rng.integers(-1, 2))
        return 200, json.dumps({key: max(-3, min(3, value + noise)) for key, value in scores.items()}), {}

    fake.reply = reply
    client = ChatClient(fake.url, ChatOptions(model=f"bias {bias}", concurrency=1), sleep=lambda _: None)
    judge_pairs(run, client, PairJudgeSettings(rubrics=("overall",)))


@pytest.fixture(scope="module")
def judged_run(stage: Any, tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    """People, a fair judge and one that leans to the first response by two points."""
    run: RunDir = stage.make_run(tmp_path_factory.mktemp("judged"))
    add_people(run)
    with stage.serving() as fake:
        judge_with(run, fake, stage.loudness_judge, bias=0)
        judge_with(run, fake, stage.loudness_judge, bias=2)
    return run


def test_planted_position_bias_is_found_and_none_where_there_is_none(judged_run: RunDir) -> None:
    source = Source(path=judged_run.root)
    views = judge_views(load_ratings(source), load_judged(source), ["overall"], Level.config, DRAWS)
    by_judge = {view.judge.split(":")[1]: view for view in views}
    fair, leaning = by_judge["bias-0"].bias, by_judge["bias-2"].bias
    assert (fair.n_pairs, leaning.n_pairs) == (12, 12)
    assert fair.first_margin == pytest.approx(0, abs=0.5)
    # 2 points planted; scores are cut at 3, so the mean of what is left of them is less
    assert leaning.first_margin == pytest.approx(1.6, abs=0.6)
    assert leaning.beta is not None
    assert leaning.beta > 2 * (leaning.se or np.inf) > 0
    assert abs(fair.beta or 0.0) < leaning.beta
    assert (leaning.flips or 0) > (fair.flips or 0)


def test_a_judge_that_hears_what_people_hear_agrees_with_them(judged_run: RunDir) -> None:
    source = Source(path=judged_run.root)
    view = judge_views(load_ratings(source), load_judged(source), ["overall"], Level.config, DRAWS)[0]
    assert view.accuracy.n > 60
    assert view.accuracy.value is not None
    assert view.accuracy_ceiling is not None
    assert 0.7 < view.accuracy.value <= view.accuracy_ceiling
    assert view.spearman == 1.0
    assert view.board is not None
    assert view.board.ratings[0] > view.board.ratings[2] > view.board.ratings[1]  # loud, quiet, soft by name


def test_people_are_ranked_as_if_there_were_no_judge(judged_run: RunDir) -> None:
    before = load_ratings(Source(path=judged_run.root)).data
    assert before.n_raters == 8
    assert len(before) == 12 * 8


def test_a_judge_of_ties_picks_nothing(run: RunDir, fake_judge: Any) -> None:
    add_people(run)
    fake_judge.reply = lambda body, number: (200, json.dumps({"overall": 0}), {})
    judge_pairs(run, ChatClient(fake_judge.url, ChatOptions(model="ties")), PairJudgeSettings(rubrics=("overall",)))
    source = Source(path=run.root)
    view = judge_views(load_ratings(source), load_judged(source), ["overall"], Level.config, DRAWS)[0]
    assert view.accuracy.value == 0.5
    assert (view.bias.first_margin, view.bias.flips) == (0, 0)


def test_a_judge_without_a_finite_board_says_why(run: RunDir, fake_judge: Any) -> None:
    """A judge that always gives the loudest the most leaves no finite strength, and no number is made up."""
    add_people(run)
    fake_judge.reply = lambda body, number: (200, json.dumps({"overall": 3 * sign_of(body)}), {})
    judge_pairs(run, ChatClient(fake_judge.url, ChatOptions(model="sure")), PairJudgeSettings(rubrics=("overall",)))
    source = Source(path=run.root)
    view = judge_views(load_ratings(source), load_judged(source), ["overall"], Level.config, DRAWS)[0]
    agreement, boards = (table.rows for table in judge_tables([view]))
    assert view.board is None
    assert view.spearman is None
    assert view.reason in agreement[0]["reason"]
    assert "loud/default/x" in view.reason
    assert [row["judge_elo"] for row in boards] == [None, None, None]
    assert all(row["people_elo"] is not None for row in boards)


def test_agree_shows_the_judge(judged_run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    from vaeval_tasks.cli import main

    main(["agree", str(judged_run.root), "--splits", "0", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [row["rubric"] for row in found["judge"]] == ["overall", "overall"]
    assert {row["judge"].split(":")[1] for row in found["judge"]} == {"bias-0", "bias-2"}
    assert found["judge_board"][0]["people_elo"] > found["judge_board"][1]["people_elo"]
    assert found["rows"][0]["n_raters"] == 8
