from __future__ import annotations

import numpy as np
import pytest

from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats import Comparisons, Engine, comparisons, fit


def pairs(rows: list[tuple[str, str, int]], entities: str = "wxyz", scale: int = 3) -> Comparisons:
    a, b, score = zip(*rows, strict=True)
    index = entities.index
    return comparisons(
        entities=list(entities), a=[index(i) for i in a], b=[index(i) for i in b], score=score,
        rater=range(len(rows)), prompt=[0] * len(rows), scale=scale,
    )  # fmt: skip


@pytest.mark.parametrize("engine", list(Engine))
def test_parts_that_never_meet_are_named(engine: Engine) -> None:
    data = pairs([("w", "x", 1), ("x", "w", 1), ("y", "z", 1), ("z", "y", 1)])
    with pytest.raises(EstimationError, match=r"2 parts .*: \{'w', 'x'\} \| \{'y', 'z'\}.*--ridge"):
        fit(data, "overall", engine=engine)


def test_an_entity_without_a_comparison_is_named() -> None:
    data = pairs([("w", "x", 1), ("x", "w", 1), ("x", "y", 1), ("y", "x", 2), ("z", "z", 1)])
    with pytest.raises(EstimationError, match="'z' has no comparison with another entity"):
        fit(data, "overall")


@pytest.mark.parametrize("engine", [Engine.ordinal, Engine.fractional])
def test_an_undefeated_entity_is_named_and_a_ridge_gives_a_number(engine: Engine) -> None:
    data = pairs([("w", "x", 1), ("w", "y", 1), ("x", "y", 1), ("y", "x", 1)], "wxy", scale=1)
    with pytest.raises(EstimationError, match=r"'w' won every comparison with 'x', 'y' .*--ridge"):
        fit(data, "overall", engine=engine)
    held = fit(data, "overall", engine=engine, ridge=0.01)
    assert held.strengths[0] > 1
    assert np.isfinite(held.strengths).all()


def test_an_entity_that_always_loses_is_named() -> None:
    data = pairs([("w", "x", 3), ("y", "x", 3), ("w", "y", 1), ("y", "w", 2), ("w", "y", 3), ("y", "w", 3)], "wxy")
    with pytest.raises(EstimationError, match="'x' lost every comparison with the others by the largest score"):
        fit(data, "overall")


def test_one_smaller_margin_bounds_an_undefeated_entity() -> None:
    """A +2 among +3's holds the strength finite, which two categories could not."""
    rows = [("w", "x", 3), ("w", "y", 2), ("x", "y", 1), ("y", "x", 2), ("x", "y", -3), ("w", "x", 3)]
    got = fit(pairs(rows, "wxy"), "overall")
    assert got.strengths.argmax() == 0


def test_a_ridge_joins_parts_too() -> None:
    data = pairs([("w", "x", 1), ("x", "w", 2), ("y", "z", 1), ("z", "y", 3)])
    for engine in Engine:
        assert np.isfinite(fit(data, "overall", engine=engine, ridge=0.1).strengths).all()
