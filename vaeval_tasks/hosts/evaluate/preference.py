"""What the three preference modules for ``evaluate`` call: checked columns in, flat plain results out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vaeval_tasks import __version__
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.hosts.evaluate.speech import same_length, strings
from vaeval_tasks.stats import (
    Ci,
    Comparisons,
    Draws,
    Engine,
    Metric,
    RankSettings,
    Weights,
    agreement_of_counts,
    comparisons,
    mos,
    mos_ratings,
    ranking,
    unit_counts,
)
from vaeval_tasks.store.schema import CMOS_MAX, MOS_LEVELS
from vaeval_tasks.store.sheets import pasted_sheet

__all__ = ["agreement_result", "cmos_elo_result", "columns", "mos_result", "pasted"]


def columns(given: Mapping[str, Any], optional: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Check the columns of a module, every row, before anything is added.

    Args:
        given: a list for each column; ``score`` holds numbers, all others text.
        optional: columns that may be None; their rows are then blank.

    Raises:
        InputError: a column is missing, is no list, differs in length, or a row is of the wrong type; names the row,
            counted from 1, and the column.
    """
    out: dict[str, list[Any]] = {}
    for name, column in given.items():
        if column is None and name in optional:
            continue
        out[name] = _numbers(column, name) if name == "score" else _names(column, name)
    same_length(out)
    rows = len(out["score"])
    return {name: out.get(name, [""] * rows) for name in given}


def pasted(text: str, known: Sequence[str]) -> dict[str, list[Any]]:
    """Return the columns of a pasted table, ``score`` as numbers: what the demo pages take.

    Raises:
        InputError: there is no row, or a score is not a number.
        UnknownNameError: the header names a column that the module does not have.
    """
    sheet = pasted_sheet(text)
    rows = sheet.records(known, required=[name for name in sheet.names if name in known])
    return {name: [row.real(name) if name == "score" else row.text(name) for row in rows] for name in sheet.names}


def _names(column: Any, field: str) -> list[str]:
    out = strings(column, field)
    for row, value in enumerate(out, 1):
        if not value.strip():
            raise InputError("is blank", row=row, field=field)
    return out


def _numbers(column: Any, field: str) -> list[float]:
    if column is None:
        raise InputError("is missing", field=field)
    if isinstance(column, str | bytes | Mapping) or not hasattr(column, "__iter__"):
        raise InputError(f"must be a list of numbers, got {type(column).__name__}", field=field)
    out = []
    for row, value in enumerate(column, 1):
        number = value.item() if isinstance(value, np.generic) else value
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise InputError(f"must be a number, got {type(value).__name__}", row=row, field=field)
        if not math.isfinite(number):
            raise InputError(f"{number} is not a number", row=row, field=field)
        if number != int(number):
            raise InputError(f"{number} is fractional; scores are whole numbers", row=row, field=field)
        out.append(float(number))
    return out


def _in_range(score: Sequence[float], low: int, high: int) -> None:
    for row, value in enumerate(score, 1):
        if not low <= value <= high:
            raise InputError(f"{value:g} is out of range; scores go from {low} to {high}", row=row, field="score")


def _in_turn(names: Sequence[str]) -> np.ndarray[Any, Any]:
    """Return codes in the order in which names first appear, as files are read: then a seed draws the same."""
    at = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return np.array([at[name] for name in names], dtype=np.int64)


def _coded(names: Sequence[str]) -> tuple[list[str], np.ndarray[Any, Any]]:
    distinct, codes = np.unique(np.asarray(names, dtype=object).astype(str), return_inverse=True)
    return distinct.tolist(), codes


def _signature(*parts: object) -> str:
    return "|".join(["vaeval", __version__, *map(str, parts)])


def _choice(name: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise UnknownNameError(name, value, known)
    return value


def _known(names: Sequence[str], field: str) -> np.ndarray[Any, Any] | None:
    """Return the codes of a column that may be left out, None where it is.

    Raises:
        InputError: some rows name one, and others, added apart, do not.
    """
    if not any(names):
        return None
    if not all(names):
        said = f"names no {field}, and other rows do; give every row one, or none"
        raise InputError(said, row=names.index("") + 1, field=field)
    return _in_turn(names)


def _paired(a: Sequence[str], b: Sequence[str], score: Sequence[float], rater: Any, prompt: Any) -> Comparisons:
    _in_range(score, -CMOS_MAX, CMOS_MAX)
    for row, (first, second) in enumerate(zip(a, b, strict=True), 1):
        if first == second:
            raise InputError(f"a and b are both {first!r}", row=row, field="b")
    systems, codes = _coded([*a, *b])
    return comparisons(
        entities=systems,
        a=codes[: len(a)],
        b=codes[len(a) :],
        score=np.asarray(score),
        rater=_known(rater, "rater"),
        prompt=_known(prompt, "prompt"),
        scale=CMOS_MAX,
    )


def cmos_elo_result(
    rows: Mapping[str, Sequence[Any]],
    *,
    engine: str = Engine.ordinal,
    ci: str = Ci.bootstrap,
    resamples: int = 1000,
    seed: int = 0,
    ridge: float = 0.0,
) -> dict[str, Any]:
    """Return the Elo of every system, best first, with intervals and rank ranges.

    Raises:
        InputError: a score is out of range, or a pair has one system twice.
        EstimationError: the systems are not connected, or one is undefeated, and ``ridge`` is 0.
        UnknownNameError: an option has an unknown value.
    """
    settings = RankSettings(
        engine=Engine(_choice("engine", engine, list(Engine))),
        ci=Ci(_choice("ci", ci, list(Ci))),
        resamples=resamples,
        seed=seed,
        ridge=ridge,
        threads=1,
    )
    signature = _signature("cmos_elo", engine, ci, f"resamples={resamples}", f"seed={seed}", f"ridge={ridge:g}")
    names = ("systems", "cmos_elo", "low", "high", "rank_low", "rank_high", "n_ratings")
    if not rows["score"]:
        empty: dict[str, Any] = {name: [] for name in names}
        return empty | {"n": 0, "n_skipped": 0, "skipped": [], "reason": "no ratings", "signature": signature}
    data = _paired(rows["a"], rows["b"], rows["score"], rows["rater"], rows["prompt"])
    made = ranking(data, settings)
    (found,) = (one.standings for one in made.rubrics)
    order = sorted(range(len(found.ratings)), key=lambda i: (-found.ratings[i], found.fit.entities[i]))
    values = {
        "systems": found.fit.entities,
        "cmos_elo": found.ratings,
        "low": [i.low for i in found.intervals],
        "high": [i.high for i in found.intervals],
        "rank_low": found.rank_low,
        "rank_high": found.rank_high,
        "n_ratings": [int(c.n_ratings) for c in found.coverage],
    }
    return {
        **{name: [values[name][i] for i in order] for name in names},
        "n": len(data),
        "n_skipped": 0,
        "skipped": [],
        "n_raters": found.fit.n_raters,
        "n_prompts": found.fit.n_prompts,
        "log_likelihood": found.fit.log_likelihood,
        "thresholds": list(found.fit.thresholds),
        "method": made.method,
        "reason": "; ".join(made.notes),
        "signature": signature,
    }


def mos_result(
    rows: Mapping[str, Sequence[Any]], *, pooled: bool = False, resamples: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """Return the mean opinion score of every system, best first, and their mean.

    Raises:
        InputError: a score is not 1 to 5.
    """
    signature = _signature("mos", "pooled" if pooled else "by sample", f"resamples={resamples}", f"seed={seed}")
    base = {"n": len(rows["score"]), "n_skipped": 0, "skipped": [], "signature": signature}
    if not rows["score"]:
        return {"mos": None, "systems": [], "scores": [], "low": [], "high": [], "reason": "no ratings", **base}
    _in_range(rows["score"], MOS_LEVELS[0], MOS_LEVELS[-1])
    names, codes = _coded([name or "all" for name in rows["system"]])
    # without raters every rating is its own
    rater = rows["rater"] if any(rows["rater"]) else [str(i) for i in range(len(rows["score"]))]
    data = mos_ratings(
        entities=names,
        entity=codes,
        score=np.asarray(rows["score"]),
        rater=_in_turn(rater),
        prompt=_in_turn(rows["prompt"]),
        levels=MOS_LEVELS,
    )
    found = sorted(
        mos(data, Draws(replicates=resamples, seed=seed), pooled=pooled), key=lambda s: (-(s.mean or 0), s.entity)
    )
    means = [s.mean for s in found if s.mean is not None]
    reasons = dict.fromkeys(s.reason or s.interval.reason for s in found)
    return {
        "mos": float(np.mean(means)) if means else None,
        "systems": [s.entity for s in found],
        "scores": [s.mean for s in found],
        "low": [s.interval.low for s in found],
        "high": [s.interval.high for s in found],
        "n_ratings": [int(s.coverage.n_ratings) for s in found],
        "n_samples": [s.n_samples for s in found],
        "reason": "; ".join(r for r in reasons if r),
        **base,
    }


def agreement_result(
    rows: Mapping[str, Sequence[Any]],
    *,
    low: int = -CMOS_MAX,
    high: int = CMOS_MAX,
    metric: str = Metric.interval,
    weights: str = Weights.quadratic,
    mirrored: bool = False,
) -> dict[str, Any]:
    """Return Krippendorff's alpha, ICC(1) and Gwet's AC of the units that two raters or more have rated.

    Raises:
        InputError: a score is outside ``low`` to ``high``, a rater rated a unit twice, or ``mirrored`` on a scale that
            is not symmetric.
        UnknownNameError: an option has an unknown value.
    """
    _choice("metric", metric, list(Metric))
    _choice("weights", weights, list(Weights))
    if high <= low or (mirrored and low != -high):
        raise InputError(f"scores from {low} to {high}: high must be above low, and -low for mirrored scores")
    signature = _signature("rater_agreement", metric, weights, f"{low}..{high}", "mirrored" if mirrored else "as is")
    score = np.asarray(rows["score"], dtype=np.int64)
    _in_range(rows["score"], low, high)
    seen: dict[tuple[str, str], int] = {}
    for row, pair in enumerate(zip(rows["unit"], rows["rater"], strict=True), 1):
        if seen.setdefault(pair, row) != row:
            raise InputError(f"rater {pair[1]!r} rated unit {pair[0]!r} in row {seen[pair]} already", row=row)
    if len(score) == 0:
        names = ("rater_agreement", "icc1", "ac2")
        counted = {"n": 0, "n_units": 0, "n_skipped": 0, "skipped": []}
        return {**dict.fromkeys(names), **counted, "reason": "no ratings", "signature": signature}
    values = list(range(low, high + 1))
    unit = _coded(rows["unit"])[1]
    counts = unit_counts(unit, score - low, len(values))
    rated = np.bincount(unit)
    alone = np.flatnonzero(rated[unit] == 1)
    both = np.concatenate([counts, counts[:, ::-1]]) if mirrored else counts
    found = agreement_of_counts(both, values, metric=Metric(metric), weights=Weights(weights))
    return {
        "rater_agreement": found.alpha.value,
        "icc1": found.icc.value,
        "ac2": found.ac.value,
        "n": len(score),
        "n_units": int((rated > 1).sum()),
        "n_skipped": len(alone),
        "skipped": [f"row {i + 1}: the only rating of unit {rows['unit'][i]!r}" for i in alone.tolist()],
        "reason": "; ".join(dict.fromkeys(c.reason for c in (found.alpha, found.icc, found.ac) if c.reason)),
        "signature": signature,
    }
