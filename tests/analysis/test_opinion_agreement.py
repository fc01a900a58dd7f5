"""Agreement on opinion scores, by the metric that the scale has, and split halves of their raters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

CANONICAL = (
    "1 2 3 3 2 1 4 1 2 * * *",
    "1 2 3 3 2 2 4 1 2 5 * 3",
    "* 3 3 3 2 3 4 2 2 5 1 *",
    "1 2 3 3 2 4 4 1 2 5 1 *",
)
"""Krippendorff's data: raters by units, * where nothing was said."""
SHROUT_FLEISS = ((9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7))


def opinions(path: Path, rows: list[tuple[object, ...]]) -> Path:
    path.write_text("prompt,config,rater,score\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("metric", "alpha"), [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107), ("ratio", 0.797403)]
)
def test_krippendorffs_data(metric: str, alpha: float, tmp_path: Path, invoke: Any) -> None:
    rows = [
        (f"p{u}", "x", f"r{r}", score)
        for r, line in enumerate(CANONICAL) for u, score in enumerate(line.split()) if score != "*"
    ]  # fmt: skip
    path = opinions(tmp_path / "m.csv", [(*row,) for row in rows])
    found = invoke("agree", path, "--metric", metric, "--splits", 0, "--json").json["rows"][0]
    assert found["alpha"] == pytest.approx(alpha, abs=1e-6)
    assert (found["n_units"], found["n_single"], found["n_raters"]) == (11, 1, 4)


def test_shrout_and_fleiss(tmp_path: Path, invoke: Any) -> None:
    rows = [(f"p{u}", "x", f"r{r}", s) for u, line in enumerate(SHROUT_FLEISS) for r, s in enumerate(line)]
    found = invoke("agree", opinions(tmp_path / "m.csv", rows), "--splits", 0, "--json").json
    assert found["rows"][0]["icc"] == pytest.approx(0.165742, abs=1e-6)
    assert found["notes"] == ["scores are taken to be on 0..10; --scale declares another"]


def test_halves_of_four_raters_are_all_there_are(tmp_path: Path, invoke: Any) -> None:
    rng = np.random.default_rng(3)
    score = np.clip(np.round(3 + np.arange(5)[:, None, None] * 0.4 - 0.8 + rng.normal(0, 1.2, (5, 3, 4))), 1, 5)
    rows = [(f"p{p}", f"s{c}", f"r{r}", int(score[c, p, r])) for c in range(5) for p in range(3) for r in range(4)]
    half = invoke("agree", opinions(tmp_path / "m.csv", rows), "--splits", 4000, "--json").json["split_half"][0]
    ways = [([0, r], [o for o in (1, 2, 3) if o != r]) for r in (1, 2, 3)]
    by_hand = [spearmanr(score[:, :, a].mean((1, 2)), score[:, :, b].mean((1, 2))).statistic for a, b in ways]
    assert half["rho"] == pytest.approx(np.mean(by_hand), abs=0.02)
    assert half["rho_full"] == pytest.approx(2 * half["rho"] / (1 + half["rho"]))
    assert (half["n_splits"], half["n_entities"], half["n_raters"]) == (4000, 5, 4)
    again = invoke("agree", tmp_path / "m.csv", "--splits", 100, "--seed", 2, "--json").out
    assert again == invoke("agree", tmp_path / "m.csv", "--splits", 100, "--seed", 2, "--json").out


def test_comparisons_have_a_metric_and_a_stepped_up_half_too(tmp_path: Path, invoke: Any) -> None:
    rows = [
        f"p{p},{pair},r{r},{(p * p + r) % 5 - 2}" for p in range(12) for r in range(4) for pair in ("x,y", "y,z", "x,z")
    ]
    (tmp_path / "r.csv").write_text("prompt,a,b,rater,score\n" + "\n".join(rows) + "\n")
    found = {
        metric: invoke("agree", tmp_path / "r.csv", "--metric", metric, "--splits", 20, "--json").json
        for metric in ("interval", "nominal", "ordinal")
    }
    assert len({one["rows"][0]["alpha"] for one in found.values()}) == 3
    for half in found["interval"]["split_half"]:
        rho = half["rho"]
        assert half["rho_full"] == (pytest.approx(2 * rho / (1 + rho)) if rho is not None and rho > 0 else None)
    assert "comparisons have both signs" in invoke("agree", tmp_path / "r.csv", "--metric", "ratio").err


def test_fractional_counts_have_no_agreement_but_halves(tmp_path: Path, invoke: Any) -> None:
    rows = [f"p{p},x,y,r{r},{(p + r) % 3 - 1},{1 + (p % 2) / 2}" for p in range(6) for r in range(4)]
    (tmp_path / "r.csv").write_text("prompt,a,b,rater,score,count\n" + "\n".join(rows) + "\n")
    found = invoke("agree", tmp_path / "r.csv", "--splits", 20, "--json").json
    assert found["rows"][0]["alpha"] is None
    assert "counts are fractional" in found["rows"][0]["reason"]
    assert found["split_half"]


def test_one_rater_cannot_be_halved(tmp_path: Path, invoke: Any) -> None:
    path = opinions(tmp_path / "m.csv", [("p", "x", "r", 3), ("p", "y", "r", 4)])
    assert "one rater, who cannot be halved; --splits 0" in invoke("agree", path).err
    assert invoke("agree", path, "--splits", 0, "--json").json["rows"][0]["alpha"] is None
