"""Planted truth: what drives preference is found, what does not is not, and nothing beats the ceiling."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.measured import MeasuredMetric
from vaeval_tasks.analysis.load.ratings import Ratings
from vaeval_tasks.analysis.predict.combinations import combine
from vaeval_tasks.analysis.predict.pairs import accuracy_ceiling, calibration, choices, differences
from vaeval_tasks.analysis.predict.predictor_tables import predictor_tables, predictors_json, words_about_width
from vaeval_tasks.analysis.predict.predictors import Predictor, Predictors, predict
from vaeval_tasks.analysis.predict.system_scores import ceiling
from vaeval_tasks.analysis.table import plain
from vaeval_tasks.scoring.metric import Direction
from vaeval_tasks.stats import Draws, comparisons
from vaeval_tasks.stats.rank_correlation import rank_correlations

PROMPTS, RATERS, PER_PROMPT = 150, 60, 8
DRAWS = Draws(replicates=200, seed=1)


@dataclass(frozen=True)
class Planted:
    """Ratings that follow ``good`` (and something unmeasured), and the true correlation of each metric."""

    ratings: Ratings
    metrics: list[MeasuredMetric]
    truth: dict[str, float]


def measured(name: str, values: np.ndarray, rated: np.ndarray) -> MeasuredMetric:
    kept = np.where(rated, values, np.nan)
    n = int(np.isfinite(kept).sum())
    about = {"key": name, "name": name, "label": name, "signature": "s", "direction": Direction.more}
    return MeasuredMetric(**about, values=kept, n_responses=int(rated.sum()), n_scored=n)  # type: ignore[arg-type]


def plant(seed: int, *, unmeasured: float, models: int = 7) -> Planted:
    rng = np.random.default_rng(seed)
    configs = tuple(sorted(f"m{i}/t/v{j}" for i in range(models) for j in range(2)))
    model = np.array([int(c[1 : c.index("/")]) for c in configs])
    n = len(configs)
    good = rng.normal(0, 0.6, models)[model] + rng.normal(0, 0.15, n) + rng.normal(0, 0.8, (PROMPTS, n))
    noise = rng.normal(0, 0.8, (PROMPTS, n))
    quality = good + unmeasured * rng.normal(0, 0.6, models)[model]
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n)])
    drawn = [pairs[rng.choice(len(pairs), PER_PROMPT, replace=False)] for _ in range(PROMPTS)]
    a, b = np.repeat(np.concatenate(drawn), 2, axis=0).T
    prompt = np.repeat(np.arange(PROMPTS), 2 * PER_PROMPT)
    delta = quality[prompt, a] - quality[prompt, b]
    cuts = np.array([-2.2, -1.3, -0.3, 0.3, 1.3, 2.2])
    score = ((rng.logistic(0, 1, len(prompt)) + delta)[:, None] > cuts).sum(axis=1) - 3
    data = comparisons(entities=configs, a=a, b=b, score=score, rater=rng.integers(RATERS, size=len(a)), prompt=prompt)
    ratings = Ratings(
        path=Path("planted"),
        data=data,
        prompts=tuple(f"p{i}" for i in range(PROMPTS)),
        raters=tuple(f"r{i}" for i in range(RATERS)),
    )
    rated = np.zeros((PROMPTS, n), dtype=bool)
    rated[prompt, a] = rated[prompt, b] = True
    strengths = quality.mean(axis=0)
    return Planted(
        ratings=ratings,
        metrics=[measured("good", good, rated), measured("noise", noise, rated)],
        truth={
            name: float(rank_correlations(values.mean(axis=0), strengths).rho[0])
            for name, values in (("good", good), ("noise", noise))
        },
    )


def run(planted: Planted) -> Predictors:
    return predict(
        planted.ratings, planted.metrics, ["overall"], level=Level.config, draws=DRAWS, splits=100, threads=1
    )


def row(found: Predictors, metric: str) -> Predictor:
    return next(r for r in found.rows if r.metric == metric)


@pytest.fixture(scope="module")
def partly() -> list[tuple[Planted, Predictors]]:
    """Eight studies in which the metric drives preference together with something that is not measured."""
    planted = [plant(seed, unmeasured=1.0) for seed in range(8)]
    return [(p, run(p)) for p in planted]


def test_a_metric_that_drives_preference_is_found_with_the_truth_inside(
    partly: list[tuple[Planted, Predictors]],
) -> None:
    inside = 0
    for planted, found in partly:
        good = row(found, "good")
        assert good.spearman.low is not None
        assert good.spearman.high is not None
        inside += good.spearman.low <= planted.truth["good"] <= good.spearman.high
        assert good.accuracy.low is not None
        assert good.accuracy.low > 0.6  # single choices leave no doubt
        assert good.spearman.value == pytest.approx(planted.truth["good"], abs=0.25)
    assert inside == 8


def test_where_it_drives_everything_the_correlation_is_clear_of_zero() -> None:
    for seed in range(3):
        planted = plant(seed, unmeasured=0.0)
        assert planted.truth["good"] == pytest.approx(1.0)
        good = row(run(planted), "good")
        assert good.spearman.low is not None
        assert good.spearman.low > 0.5
        assert good.spearman.high == pytest.approx(1.0, abs=0.01)  # the truth is at the very end of the scale
        assert good.kendall.low is not None
        assert good.kendall.low > 0.4


def test_an_unrelated_metric_reports_no_relation(partly: list[tuple[Planted, Predictors]]) -> None:
    chance = systems = 0
    for _, found in partly:
        noise = row(found, "noise")
        assert noise.accuracy.low is not None
        assert noise.accuracy.high is not None
        chance += noise.accuracy.low <= 0.5 <= noise.accuracy.high
        assert noise.spearman.low is not None
        assert noise.spearman.high is not None
        systems += noise.spearman.low <= 0 <= noise.spearman.high
        assert "noise" not in found.combined[0].metrics
    assert chance >= 7  # 95 % intervals over 8 studies
    assert systems >= 7


def test_the_held_out_combination_does_not_beat_the_ceiling(partly: list[tuple[Planted, Predictors]]) -> None:
    for _, found in partly:
        best = found.combined[0]
        assert best.metrics == ("good",)
        assert best.spearman.value is not None
        assert best.ceiling is not None
        assert best.spearman.value < best.ceiling <= 1
        assert best.accuracy.value is not None
        assert best.accuracy_ceiling is not None
        assert best.accuracy.value < best.accuracy_ceiling
        assert best.accuracy_share is not None
        assert 0 < best.accuracy_share < 1


def test_a_combination_of_noise_predicts_nothing_on_what_it_has_not_seen() -> None:
    rng = np.random.default_rng(3)
    planted = plant(0, unmeasured=0.0)
    rated = np.isfinite(planted.metrics[0].values)
    noise = [measured(f"n{i}", rng.normal(size=rated.shape), rated) for i in range(12)]
    chosen = choices(planted.ratings.data, "overall")
    gaps = [differences(chosen, m) for m in noise]
    model = [int(c[1]) for c in planted.ratings.data.entities]
    found = combine(chosen, gaps, [m.name for m in noise], model, seed=0)
    right = (1 + np.sign(found.gaps) * chosen.sign) / 2
    assert right.mean() == pytest.approx(0.5, abs=0.03)
    assert len(found.metrics) <= 3


def test_a_held_out_prediction_knows_neither_its_models_nor_its_prompts() -> None:
    """Change every answer on one pair of models: its own predictions must stay as they were."""
    planted = plant(0, unmeasured=1.0)
    chosen = choices(planted.ratings.data, "overall")
    gaps = [differences(chosen, m) for m in planted.metrics]
    model = np.array([int(c[1]) for c in planted.ratings.data.entities])
    names = [m.name for m in planted.metrics]
    before = combine(chosen, gaps, names, model, seed=0)
    pair = np.sort(np.stack([model[chosen.a], model[chosen.b]]), axis=0)
    mine = (pair[0] == 0) & (pair[1] == 1)
    chosen.sign[mine] *= -1
    after = combine(chosen, gaps, names, model, seed=0)
    assert np.array_equal(before.gaps[mine], after.gaps[mine])
    assert not np.array_equal(before.gaps[~mine], after.gaps[~mine])


def test_too_few_models_are_said_to_be_too_few() -> None:
    planted = plant(0, unmeasured=0.0, models=3)
    found = run(planted)
    assert found.combined[0].metrics == ()
    assert "takes 4 or more; there are 3" in found.combined[0].reason
    assert found.combined[0].share is None
    assert words_about_width(found)[0].startswith("6 systems of 3 models")


def test_missing_values_are_counted_and_explained() -> None:
    planted = plant(0, unmeasured=0.0)
    values = planted.metrics[0].values.copy()
    values[:, 0] = np.nan  # one system was never scored
    values[10:, 1] = np.nan
    rated = np.isfinite(planted.metrics[0].values)
    found = predict(
        planted.ratings, [measured("holes", values, rated)], ["overall"], level=Level.config, draws=DRAWS, splits=20
    )
    holes = found.rows[0]
    assert holes.spearman.value is None
    assert holes.spearman.reason == "no value of m0/t/v0"
    assert holes.accuracy.value is not None
    assert holes.accuracy.unscored > 0
    assert holes.accuracy.n + holes.accuracy.unscored == len(choices(planted.ratings.data, "overall").sign)
    plain(predictors_json(found))  # no NaN in it


def test_the_ceiling_of_accuracy_by_hand() -> None:
    # Two raters per pair; 3 of 4 pairs agree: g = 3/4, so the bound is (1 + sqrt(1/2)) / 2 = 0.854
    data = comparisons(
        entities=("a", "b"),
        a=[0] * 8,
        b=[1] * 8,
        score=[1, 2, 1, 3, -1, -2, 1, -1],
        rater=[0, 1] * 4,
        prompt=[0, 0, 1, 1, 2, 2, 3, 3],
    )
    assert accuracy_ceiling(choices(data, "overall")) == pytest.approx((1 + np.sqrt(0.5)) / 2)
    single = comparisons(entities=("a", "b"), a=[0], b=[1], score=[1], rater=[0], prompt=[0])
    assert accuracy_ceiling(choices(single, "overall")) is None


def test_the_ceiling_of_a_ranking_by_hand() -> None:
    assert ceiling(0.8) == pytest.approx(np.sqrt(1.6 / 1.8))
    assert ceiling(1.0) == 1.0
    assert ceiling(0.0) is None
    assert ceiling(None) is None


def test_calibration_of_a_logistic_metric_is_good() -> None:
    planted = plant(2, unmeasured=0.0)
    chosen = choices(planted.ratings.data, "overall")
    bins = calibration(chosen, differences(chosen, planted.metrics[0]), seed=0)
    assert len(bins) == 5
    assert sum(b.n for b in bins) == len(chosen.sign)
    for b in bins:
        assert b.predicted == pytest.approx(b.observed, abs=0.07)
    assert bins[0].predicted < bins[-1].predicted


def test_tables_say_how_wide_intervals_are_and_why(partly: list[tuple[Planted, Predictors]]) -> None:
    found = partly[0][1]
    tables = predictor_tables(found)
    assert [t.name for t in tables] == [
        "predictors",
        "predictors_combined",
        "predictors_calibration",
        "predictors_metrics",
    ]
    said = " ".join(tables[0].notes)
    assert "14 systems of 7 models" in said
    assert "below about 0.75 cannot be told from none" in said  # t(5) = 2.571: 2.571 / sqrt(5 + 6.61) = 0.754
    assert "wide in the middle case" in said


def test_the_same_seed_gives_the_same_numbers_for_any_number_of_threads(
    partly: list[tuple[Planted, Predictors]],
) -> None:
    planted, found = partly[0]
    again = predict(
        planted.ratings, planted.metrics, ["overall"], level=Level.config, draws=DRAWS, splits=100, threads=2
    )
    assert predictors_json(again) == predictors_json(found)
