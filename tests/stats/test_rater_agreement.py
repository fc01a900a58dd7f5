from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vaeval_tasks.errors import EstimationError, UnknownNameError
from vaeval_tasks.stats import Comparisons, Orientation, agreement, agreement_of_counts, comparisons, unit_counts


def shared(*, flip: bool = False) -> Comparisons:
    """Three units of two ratings and one of one, on two entities."""
    score = np.array([3, 2, -1, -1, 0, 1, 2])
    return comparisons(
        entities=["x", "y"],
        a=np.full(7, int(flip)),
        b=np.full(7, 1 - int(flip)),
        score=-score if flip else score,
        prompt=[0, 0, 1, 1, 2, 2, 3],
        rater=[0, 1, 0, 1, 0, 1, 0],
        side=[1, 1, -1, -1, 1, -1, 1],
    )


def test_units_raters_and_singles_are_counted() -> None:
    got = agreement(shared(), ["overall"])
    assert (got.n_units, got.n_single, got.n_ratings, got.n_raters, got.n_prompts) == (3, 1, 6, 2, 3)


def test_mirrored_alpha_by_hand() -> None:
    """Do = mean of squared differences in pairs = (1 + 0 + 1) / 3; mirrored, the 12 ratings sum to 0.

    De = 2 * sum y^2 / (n - 1) * n / n with sum y^2 = 2 (9 + 4 + 1 + 1 + 0 + 1) = 32 and n = 12: 2 * 32 / 11 = 64/11.
    """
    got = agreement(shared(), ["overall"])
    assert got.alpha.observed == pytest.approx(2 / 3)
    assert got.alpha.expected == pytest.approx(64 / 11)
    assert got.alpha.value == pytest.approx(1 - (2 / 3) / (64 / 11))


def test_mirrored_does_not_depend_on_labels_and_by_id_does(simulate: object) -> None:
    one, two = agreement(shared(), ["overall"]), agreement(shared(flip=True), ["overall"])
    assert one == two
    data: Comparisons = simulate([1.0, 0.0, -1.0], n_prompts=5, n=300)  # type: ignore[operator]
    turned = replace(data, a=2 - data.a, b=2 - data.b)
    for rubrics in (["r0"],):
        left, right = (agreement(d, rubrics) for d in (data, turned))
        assert left.alpha.value == pytest.approx(right.alpha.value, abs=1e-12)
        assert left.ac.value == pytest.approx(right.ac.value, abs=1e-12)


def test_presented_needs_the_side() -> None:
    got = agreement(shared(), ["overall"], orientation=Orientation.presented)
    assert got.alpha.value != agreement(shared(), ["overall"], orientation=Orientation.by_id).alpha.value
    blind = replace(shared(), side=np.zeros(7, dtype=np.int64))
    with pytest.raises(EstimationError, match="needs to know which side"):
        agreement(blind, ["overall"], orientation=Orientation.presented)


def test_a_family_pools_units(simulate: object) -> None:
    data: Comparisons = simulate([[1.0, 0.0], [0.0, 0.5]], n_prompts=15, n=90)  # type: ignore[operator]
    parts = [agreement(data, [rubric]) for rubric in data.rubrics]
    pooled = agreement(data, list(data.rubrics))
    assert pooled.n_units == sum(part.n_units for part in parts)
    assert min(p.alpha.value for p in parts) < pooled.alpha.value < max(p.alpha.value for p in parts)
    with pytest.raises(UnknownNameError):
        agreement(data, ["r7"])


def test_weights_are_ratings() -> None:
    data = shared()
    weighted = replace(data, weight=np.full(7, 2.0))
    assert agreement(weighted, ["overall"]).n_units == 4
    parts = agreement(replace(data, weight=np.full(7, 0.5)), ["overall"])
    assert {(one.value, one.reason.split(",")[0]) for one in (parts.alpha, parts.icc, parts.ac)} == {
        (None, "counts are fractional")
    }


def test_counts_of_another_scale() -> None:
    counts = unit_counts([0, 0, 1, 1, 2], [0, 1, 4, 4, 2], 5)
    got = agreement_of_counts(counts, range(1, 6), n_raters=2, n_prompts=3)
    assert (got.n_units, got.n_single, got.n_ratings, got.n_raters) == (2, 1, 4, 2)
    assert got.alpha.value is not None
