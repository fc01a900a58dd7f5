"""Simulated studies: the published counts, the planted truth, the run folder."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from vaeval_tasks.errors import InputError
from vaeval_tasks.models.configs import published
from vaeval_tasks.rubrics import KEYS
from vaeval_tasks.simulate import Effects, Shape, SimulatedStudy, simulate, write_study
from vaeval_tasks.simulate.people import scaled_counts
from vaeval_tasks.simulate.published_study import AGE_BANDS, CONFIGS, GATE_SHARES, MODELS, POOL, elo_matrix, mos_matrix
from vaeval_tasks.simulate.rater_answers import NOT_ASKED
from vaeval_tasks.simulate.study_comparisons import study_comparisons
from vaeval_tasks.simulate.truth import MODEL_OF, answer_probabilities, plant, true_model_elo
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Condition


def test_there_are_19_configurations_of_7_models() -> None:
    assert {c.config_id: c for c in CONFIGS} == published()  # one list: what `vaeval configs list` shows
    assert len({c.config_id for c in CONFIGS}) == 19
    assert [sum(c.model == m for c in CONFIGS) for m in MODELS] == [4, 2, 4, 4, 2, 1, 2]


def test_table_a10_is_whole_and_its_rows_average_1000() -> None:
    assert (elo_matrix() > 700).all()
    assert np.abs(elo_matrix().mean(axis=1) - 1000).max() < 0.2
    assert ((mos_matrix() > 2.5) & (mos_matrix() < 5)).all()


def test_prompts_have_the_published_counts(published_study: SimulatedStudy) -> None:
    counts = Counter(p.difficulty or "Degraded" for p in published_study.prompts)
    assert counts == {"L1": 156, "L2": 157, "L3": 160, "L4": 156, "L5": 145, "Degraded": 45}
    assert all((p.condition is Condition.clean) == bool(p.difficulty) for p in published_study.prompts)
    assert len({p.category for p in published_study.prompts}) == 11
    for key, share in GATE_SHARES.items():
        assert sum(key in p.gates for p in published_study.prompts) == round(share * 819)


def test_raters_are_those_of_table_a1(published_study: SimulatedStudy) -> None:
    raters = published_study.raters
    bands = [(int(b[:2]), int(b[3:])) if "-" in b else (66, 200) for b in AGE_BANDS]
    for cell in POOL:
        low, high = bands[AGE_BANDS.index(cell.band)]
        inside = [r for r in raters if r.gender == cell.gender and r.age is not None and low <= r.age <= high]
        assert sum("cmos" in r.pools for r in inside) == cell.cmos
        assert sum("mos" in r.pools for r in inside) == cell.mos
    assert sum(len(r.pools) == 2 for r in raters) == 166
    assert {r.kind for r in raters} == {"simulated"}


def test_pairs_are_balanced_and_cover_every_prompt(published_study: SimulatedStudy) -> None:
    tasks = published_study.tasks
    assert len(published_study.pairs) == 8190
    planned = {(int(p), int(a), int(b)) for p, a, b in zip(tasks.prompt, tasks.a, tasks.b, strict=True)}
    rate = Counter((a, b) for _, a, b in planned)
    assert {tuple(sorted(pair)) for pair in rate} == set(combinations(range(19), 2))
    assert max(rate.values()) <= 49  # 8,190 pairs over 171 are 47 to 49 each, less those that nobody finished
    assert 15_500 < len(tasks.prompt) < 15_950  # 96 % of 16,380
    assert 150_000 < (published_study.scores != NOT_ASKED).sum() < 156_000
    sessions = Counter(zip(tasks.rater.tolist(), tasks.prompt.tolist(), strict=True))
    assert max(sessions.values()) == 1  # nobody hears a prompt twice
    load = np.bincount(tasks.rater)
    assert load.max() - load.min() < 25


def test_both_sides_are_shown_equally_often(published_study: SimulatedStudy) -> None:
    assert abs(published_study.tasks.left_is_a.mean() - 0.5) < 0.01


def test_the_marginal_distribution_of_answers_is_exactly_the_ordinal_model() -> None:
    # every variance share at once, two configurations far apart: the shares must not distort the marginal
    study = simulate(Shape(prompts=342, raters=60, mos_per_sample=0), seed=5)
    k = KEYS.index("naturalness")
    tasks = study.tasks
    delta = study.truth.strengths[k, tasks.a] - study.truth.strengths[k, tasks.b]
    expected = answer_probabilities(delta, study.truth.thresholds[k]).sum(axis=0)
    seen = np.bincount(study.scores[k] + 3, minlength=7)
    # clustered draws vary more than independent ones: 5 % of the ratings is ample for a wrong link or sign
    assert np.abs(seen - expected).max() < 0.05 * len(delta)
    assert np.corrcoef(seen, expected)[0, 1] > 0.98


def test_a_study_is_a_function_of_its_seed() -> None:
    shape = Shape(prompts=20, raters=30, mos_raters=20)
    first, again, other = simulate(shape, seed=1), simulate(shape, seed=1), simulate(shape, seed=2)
    assert (first.scores == again.scores).all()
    assert first.comments == again.comments
    assert first.scores.shape != other.scores.shape or (first.scores != other.scores).any()


def test_the_truth_of_pooled_models_is_near_the_published_board() -> None:
    truth = plant(np.random.default_rng(0), Effects())
    board = true_model_elo(truth)["overall"]
    for i, model in enumerate(MODELS):
        assert board[model] == pytest.approx(elo_matrix()[0, i], abs=6)
    assert sum(board.values()) / 7 == pytest.approx(1000)


def test_without_voice_differences_the_pooled_truth_is_the_planted_one_exactly() -> None:
    truth = plant(np.random.default_rng(0), Effects(voice_sd=0))
    strengths = truth.strengths.copy()
    for m in range(len(MODELS)):
        strengths[:, m == MODEL_OF] = strengths[:, m == MODEL_OF].mean(axis=1, keepdims=True)
    pooled = type(truth)(strengths=strengths, thresholds=truth.thresholds, mos=truth.mos)
    board = true_model_elo(pooled)
    for k, key in enumerate(KEYS):
        centred = elo_matrix()[k] - elo_matrix()[k].mean() + 1000
        assert [board[key][m] for m in MODELS] == pytest.approx(list(centred), abs=1e-6)


@pytest.mark.parametrize(("counts", "total"), [((3, 3, 3), 10), ((1, 0, 5), 3), ((156, 157, 160), 473), ((2, 2), 0)])
def test_scaled_counts_add_up(counts: tuple[int, ...], total: int) -> None:
    out = scaled_counts(counts, total)
    assert out.sum() == total
    assert (out >= 0).all()
    if total == sum(counts):
        assert tuple(out) == counts


def test_mos_means_are_the_planted_ones(published_study: SimulatedStudy) -> None:
    tasks = published_study.mos_tasks
    assert tasks is not None
    k = KEYS.index("overall")
    for m in range(len(MODELS)):
        seen = published_study.mos_scores[k, MODEL_OF[tasks.config] == m]
        # 251 raters with a leniency of .35 leave .022; three of them and a little for prompts
        assert seen.mean() == pytest.approx(mos_matrix()[k, m], abs=0.09)


def test_the_run_folder_holds_every_table_and_the_truth(tmp_path: Path) -> None:
    study = simulate(Shape(prompts=19, raters=25, mos_raters=20), seed=2)
    run = write_study(study, tmp_path / "run")
    assert RunDir.existing(tmp_path / "run").stale() == []
    ratings = run.read("ratings")
    assert len(ratings) == (study.scores != NOT_ASKED).sum()
    assert all(r.a < r.b for r in ratings)
    assert len(run.read("mos")) == (study.mos_scores != NOT_ASKED).sum()
    assert len(run.read("comments")) == len(study.comments)
    pairs = {(p.prompt_id, p.a, p.b) for p in run.read("pairs")}
    assert {(r.prompt_id, r.a, r.b) for r in ratings} <= pairs
    truth = json.loads((tmp_path / "run" / "truth.json").read_text())
    assert set(truth["model_elo"]) == set(KEYS)
    assert truth["seed"] == 2
    with pytest.raises(InputError, match="already holds a run"):
        write_study(study, tmp_path / "run")


def test_the_written_scores_keep_sign_and_side(tmp_path: Path) -> None:
    study = simulate(Shape(prompts=12, raters=25, mos_per_sample=0), seed=4)
    run = write_study(study, tmp_path)
    data = study_comparisons(study)
    ids = [c.config_id for c in CONFIGS]
    expected = Counter()
    for i in range(len(data)):
        a, b, y, side = ids[data.a[i]], ids[data.b[i]], int(data.score[i]), int(data.side[i])
        if a > b:
            a, b, y, side = b, a, -y, -side
        expected[(a, b, data.rubrics[data.rubric[i]], y, side == 1)] += 1
    assert Counter((r.a, r.b, r.rubric, r.score, r.left_is_a) for r in run.read("ratings")) == expected


@pytest.mark.parametrize(
    "bad", [{"prompts": 0}, {"raters": 1, "raters_per_pair": 2}, {"completion": 0}, {"mos_per_sample": -1}]
)
def test_impossible_shapes_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(InputError):
        Shape(**bad)


def test_variance_shares_must_leave_room() -> None:
    with pytest.raises(InputError, match="at most 1"):
        Effects(halo=0.9, prompt=0.2)
