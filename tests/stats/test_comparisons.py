from __future__ import annotations

import numpy as np
import pytest

from vaeval_tasks.errors import EstimationError, UnknownNameError
from vaeval_tasks.stats import Comparisons, comparisons
from vaeval_tasks.stats.cells import count_cells, session_codes
from vaeval_tasks.stats.comparisons import recode


def columns(**changes: object) -> dict[str, object]:
    made: dict[str, object] = {
        "entities": ["x", "y", "z"],
        "a": [0, 1, 2, 0],
        "b": [1, 0, 0, 0],
        "score": [3, -1, 0, 2],
        "rater": [70, 7, 7, 9_000_000_000],
        "prompt": [1, 1, 5, 5],
    }
    return made | changes


def test_codes_are_made_dense_and_rows_without_weight_dropped() -> None:
    data = comparisons(**columns(weight=[1, 0, 2.5, 1]))
    assert data.rater.tolist() == [1, 0, 2]
    assert (data.n_raters, data.n_prompts, len(data)) == (3, 2, 3)
    assert data.weight.tolist() == [1, 2.5, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": [3, -1, 0, 4]}, r"column 'score', row 4: 4 is not a whole number from -3 to 3"),
        ({"score": [3, -1, 0.5, 1]}, r"column 'score', row 3: 0.5 is not"),
        ({"score": [3, float("nan"), 0, 1]}, r"column 'score', row 2: nan is not"),
        ({"score": ["3", "1", "0", "1"]}, r"column 'score' must hold whole numbers"),
        ({"a": [0, 1, 3, 0]}, r"column 'a', row 3: 3 is not a whole number from 0 to 2"),
        ({"rater": [0, -1, 0, 0]}, r"column 'rater', row 2: -1 is not a whole number from 0$"),
        ({"b": [1, 0]}, r"column 'b' has shape \(2,\), but there are 4 scores"),
        ({"weight": [1, -1, 1, 1]}, r"column 'weight', row 2: -1.0 is not a finite number >= 0"),
        ({"weight": [1, 1, float("inf"), 1]}, r"column 'weight', row 3: inf"),
        ({"side": [1, 2, 0, 0]}, r"column 'side', row 2: 2 is not a whole number from -1 to 1"),
    ],
)
def test_a_bad_column_is_named_with_its_row(change: dict[str, object], message: str) -> None:
    with pytest.raises(EstimationError, match=message):
        comparisons(**columns(**change))


def test_relabel_pools_entities_and_keeps_their_own_rows() -> None:
    pooled = comparisons(**columns()).relabel(["M", "M", "N"])
    assert pooled.entities == ("M", "N")
    assert pooled.a.tolist() == [0, 0, 1, 0]
    assert len(pooled) == 4
    with pytest.raises(ValueError, match="needs 3 names, got 1"):
        comparisons(**columns()).relabel(["M"])


def test_subset_only_and_used_name_what_is_left() -> None:
    data = comparisons(**columns(rubrics=["p", "q"], rubric=[0, 0, 1, 1]))
    assert data.only("p").rubrics == ("p",)
    assert data.only("p").used().entities == ("x", "y")
    assert data.subset([True, False, False, False]).n_raters == 1
    with pytest.raises(UnknownNameError, match="Did you mean 'q'"):
        data.only("qq")
    assert data.entity_code("z") == 2
    with pytest.raises(UnknownNameError, match="unknown entity 'w'"):
        data.entity_code("w")


def test_coverage_counts_a_row_within_an_entity_once() -> None:
    first = comparisons(**columns()).coverage()[0]
    assert (first.n_ratings, first.n_raters, first.n_prompts) == (4.0, 3, 2)


def test_cells_do_not_depend_on_which_entity_is_called_a(simulate: object) -> None:
    data: Comparisons = simulate([0.5, 0.0, -0.5])  # type: ignore[operator]
    turned = comparisons(
        entities=data.entities, rubrics=data.rubrics, a=data.b, b=data.a, score=-data.score, rater=data.rater,
        prompt=data.prompt, rubric=data.rubric,
    )  # fmt: skip
    one, two = count_cells(data)[0], count_cells(turned)[0]
    np.testing.assert_array_equal(one.counts, two.counts)
    assert one.counts.sum() == len(data)
    assert (one.first < one.second).all()
    np.testing.assert_array_equal(session_codes(data), session_codes(turned))


def test_recode_of_sparse_and_of_dense_codes_agree() -> None:
    codes = np.array([10**12, 3, 3, 7])
    assert recode(codes)[0].tolist() == [2, 0, 0, 1]
    assert recode(np.array([9, 3, 3, 7]))[0].tolist() == [2, 0, 0, 1]
    assert recode(np.array([], dtype=np.int64))[1] == 0
