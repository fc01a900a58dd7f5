from __future__ import annotations

import numpy as np
import pytest

from vaeval_tasks.stats import Clusters, Comparisons, Engine, fit, sandwich


def _log_likelihoods(data: Comparisons, theta: np.ndarray) -> np.ndarray:
    """Log probability of each rating, written from the definition."""
    s, t = theta[:-3], theta[-3:]
    tau = np.concatenate([[-np.inf], -t[::-1], t, [np.inf]])
    delta = s[data.a] - s[data.b]
    upper, lower = tau[data.score + 4] - delta, tau[data.score + 3] - delta
    return np.log(1 / (1 + np.exp(-upper)) - 1 / (1 + np.exp(-lower)))


def test_two_way_by_numerical_derivatives(simulate: object) -> None:
    data: Comparisons = simulate([0.6, 0.0, -0.6], n=400, n_raters=9, n_prompts=11, prompt_sd=1.0)  # type: ignore[operator]
    got = fit(data, "r0")
    theta, step, size = np.append(got.strengths, got.thresholds), 1e-4, 6
    unit = step * np.eye(size)
    scores = np.column_stack(
        [(_log_likelihoods(data, theta + u) - _log_likelihoods(data, theta - u)) / (2 * step) for u in unit]
    )
    hessian = np.array(
        [
            [
                sum(
                    i * j * _log_likelihoods(data, theta + i * u + j * v).sum() for i in (1, -1) for j in (1, -1)
                ) / (4 * step**2)
                for v in unit
            ]
            for u in unit
        ]
    )  # fmt: skip
    inverse = np.linalg.pinv(-hessian, rcond=1e-6)  # the constant shift is its null space
    middle = np.zeros((size, size))
    for cluster, sign in ((data.rater, 1), (data.prompt, 1), (data.rater * 100 + data.prompt, -1)):
        sums = np.array([scores[cluster == c].sum(axis=0) for c in np.unique(cluster)])
        middle += sign * sums.T @ sums * len(sums) / (len(sums) - 1)
    expected = (inverse @ middle @ inverse)[:3, :3]
    result = sandwich(data, got)
    np.testing.assert_allclose(result.matrix, expected, atol=2e-5)
    assert result.degrees == 8


def test_few_independent_clusters_fall_back_to_the_careful_side(simulate: object) -> None:
    """Here the difference of covariances has a negative eigenvalue."""
    data: Comparisons = simulate([0.6, 0.0, -0.6], n=250, n_raters=9, n_prompts=11)  # type: ignore[operator]
    got = fit(data, "r0")
    matrix = sandwich(data, got).matrix
    assert np.linalg.eigvalsh(matrix).min() > -1e-12
    assert (np.sqrt(np.diag(matrix)) > 0.8 * got.standard_errors).all()


def test_with_independent_ratings_all_agree_with_the_model(simulate: object) -> None:
    data: Comparisons = simulate([0.6, 0.0, -0.6], n=6000, n_raters=200, n_prompts=200)  # type: ignore[operator]
    got = fit(data, "r0")
    for clusters in Clusters:
        se = np.sqrt(np.diag(sandwich(data, got, clusters=clusters).matrix))
        np.testing.assert_allclose(se, got.standard_errors, rtol=0.2)


@pytest.mark.parametrize("engine", list(Engine))
def test_prompt_effects_widen_the_intervals_that_know_prompts(simulate: object, engine: Engine) -> None:
    data: Comparisons = simulate([0.4, 0.0, -0.4], n=4000, n_raters=100, n_prompts=25, prompt_sd=0.8)  # type: ignore[operator]
    got = fit(data, "r0", engine=engine)
    widths = {c: np.sqrt(np.diag(sandwich(data, got, clusters=c).matrix)) for c in Clusters}
    for wide in (Clusters.two_way, Clusters.prompt):
        for narrow in (Clusters.rater, Clusters.none):
            assert (widths[wide] > 1.5 * widths[narrow]).all()
