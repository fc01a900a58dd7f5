"""Predictors as tables: metrics against rubrics, the combinations, calibration, and what was scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import stdtrit

from vaeval_tasks.analysis.predict.predictors import Combined, Predictor, Predictors
from vaeval_tasks.analysis.predict.system_scores import SystemScore
from vaeval_tasks.analysis.table import Table

__all__ = ["predictor_tables", "predictors_json", "predictors_title", "score_table", "words_about_width"]

COMBINED_TITLE = "The best combination of at most three metrics, on prompts and models it was not made from"
ACCURACY_NOTE = (
    "accuracy is over choices, ties set aside; the interval draws raters, prompts and, for correlations, models"
)
CEILING_NOTES = (
    "the split-half correlation is that of the rankings by two halves of the raters; the ceiling is the most "
    "that a perfect metric could show, the root of its Spearman-Brown correction, itself an estimate: a share "
    "a little over 1 is within its error",
    "the ceiling of the accuracy follows from how often two raters of a pair agree; no metric can beat it",
)
SCORES_TITLE = "Automatic scores of the rated responses: means with 95 % intervals over prompts"

_COEFFICIENTS = ("spearman", "spearman_low", "spearman_high", "kendall", "kendall_low", "kendall_high")
_RATES = ("accuracy", "accuracy_low", "accuracy_high", "accuracy_ceiling", "accuracy_share", "calibration_error")
_DIGITS = dict.fromkeys((*_COEFFICIENTS, "split_half", "ceiling", "share"), 2) | dict.fromkeys(_RATES, 3)


def _numbers(row: Predictor | Combined) -> dict[str, Any]:
    return {
        "spearman": row.spearman.value,
        "spearman_low": row.spearman.low,
        "spearman_high": row.spearman.high,
        "kendall": row.kendall.value,
        "kendall_low": row.kendall.low,
        "kendall_high": row.kendall.high,
        "accuracy": row.accuracy.value,
        "accuracy_low": row.accuracy.low,
        "accuracy_high": row.accuracy.high,
        "n_choices": row.accuracy.n,
        "n_unscored": row.accuracy.unscored,
    }


def _reason(row: Predictor | Combined) -> str:
    return "; ".join(dict.fromkeys(r for r in (row.spearman.reason, row.accuracy.reason) if r))


def _row(row: Predictor) -> dict[str, Any]:
    return {
        "rubric": row.rubric,
        "metric": row.metric,
        "better": row.direction.value,
        **_numbers(row),
        "calibration_error": row.calibration_error,
        "n_systems": row.n_systems,
        "n_responses": row.n_responses,
        "n_scored": row.n_scored,
        "reason": _reason(row),
    }


def _combined(row: Combined) -> dict[str, Any]:
    return {
        "rubric": row.rubric,
        "metrics": ", ".join(f"{m} {w:+.2f}" for m, w in zip(row.metrics, row.weights, strict=True)),
        **_numbers(row),
        "split_half": row.split_half,
        "ceiling": row.ceiling,
        "share": row.share,
        "accuracy_ceiling": row.accuracy_ceiling,
        "accuracy_share": row.accuracy_share,
        "reason": "; ".join(r for r in (row.reason, _reason(row)) if r),
    }


def _calibration(found: Predictors) -> list[dict[str, Any]]:
    return [
        {"rubric": r.rubric, "metric": r.metric, "fifth": i, "predicted": b.predicted, "observed": b.observed, "n": b.n}
        for r in found.rows
        for i, b in enumerate(r.bins, 1)
    ]


def _coverage(found: Predictors) -> list[dict[str, Any]]:
    return [
        {
            "metric": m.name,
            "better": m.direction.value,
            "n_responses": m.n_responses,
            "n_scored": m.n_scored,
            "missing": "; ".join(f"{n} {why}" for why, n in m.reasons[:4]),
            "signature": m.signature,
        }
        for m in found.metrics
    ]


def _table(name: str, title: str, rows: list[dict[str, Any]], notes: tuple[str, ...] = ()) -> Table:
    return Table(
        name=name,
        title=title,
        columns=tuple(rows[0]) if rows else ("rubric",),
        rows=tuple(rows),
        digits=_DIGITS,
        notes=notes,
    )


def words_about_width(found: Predictors) -> tuple[str, ...]:
    """Return in words how wide the intervals are and why.

    The bound is that of a correlation of n pairs: t / sqrt(n - 2 + t^2) with the 97.5 % quantile of n - 2 degrees.
    """
    n_systems, n_models, rows = found.n_systems, found.n_models, found.rows
    out = [
        f"{n_systems} systems of {n_models} models were compared; so few leave a correlation over systems uncertain."
    ]
    if n_models > 2:
        quantile = float(stdtrit(n_models - 2, 0.975))
        bound = quantile / np.sqrt(n_models - 2 + quantile**2)
        out.append(
            f"With {n_models} independent models, a rank correlation below about {bound:.2f} cannot be told from none."
        )
    widths = [
        r.spearman.high - r.spearman.low for r in rows if r.spearman.low is not None and r.spearman.high is not None
    ]
    if widths:
        out.append(
            f"The 95 % intervals of Spearman's rho are {np.median(widths):.2f} wide in the middle case and "
            f"{max(widths):.2f} at most, on a scale from -1 to 1."
        )
        clear = sum(r.spearman.low is not None and (r.spearman.low > 0 or (r.spearman.high or 0) < 0) for r in rows)
        out.append(
            f"{clear} of {len(rows)} intervals keep clear of 0; if no metric told anything, about "
            f"{0.05 * len(rows):.1f} would."
        )
    return tuple(out)


def predictors_title(found: Predictors) -> str:
    """Return the title of the table of metrics against rubrics."""
    return f"Automatic metrics against people's choices, by {found.level.value}, 95 % intervals"


def score_table(found: Sequence[SystemScore]) -> Table:
    """Return the mean scores as a table."""
    rows = [
        {
            "metric": one.metric,
            "better": one.direction.value,
            "entity": one.entity,
            "mean": one.mean,
            "low": one.interval.low if one.interval else None,
            "high": one.interval.high if one.interval else None,
            "n_scored": one.n_scored,
        }
        for one in found
    ]
    return Table(
        name="scores",
        title=SCORES_TITLE,
        columns=tuple(rows[0]) if rows else ("metric",),
        rows=tuple(rows),
        digits={"mean": 2, "low": 2, "high": 2},
    )


def predictor_tables(found: Predictors) -> list[Table]:
    """Return the four tables, the metrics against the rubrics first."""
    combined = _table(
        "predictors_combined",
        COMBINED_TITLE,
        [_combined(row) for row in found.combined],
        CEILING_NOTES,
    )
    return [
        _table(
            "predictors",
            predictors_title(found),
            [_row(row) for row in found.rows],
            (
                *words_about_width(found),
                ACCURACY_NOTE,
            ),
        ),
        combined,
        _table(
            "predictors_calibration",
            "How sure a metric is and how often it is right, in fifths, fitted on other prompts",
            _calibration(found),
        ),
        _table("predictors_metrics", "What was scored", _coverage(found)),
    ]


def predictors_json(found: Predictors) -> dict[str, Any]:
    """Return everything as plain values."""
    return {
        "by": found.level.value,
        "rows": [_row(row) for row in found.rows],
        "combined": [
            {
                **_combined(row),
                "metrics": list(row.metrics),
                "weights": list(row.weights),
                "chosen": dict(row.chosen),
            }
            for row in found.combined
        ],
        "calibration": _calibration(found),
        "metrics": _coverage(found),
        "words": list(words_about_width(found)),
        "resamples": found.draws.replicates,
        "seed": found.draws.seed,
    }
