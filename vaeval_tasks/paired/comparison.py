"""A whole comparison: two or more runs, their pairs, and what is shown of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from vaeval_tasks import __version__
from vaeval_tasks.analysis.shown import ShownResult
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import InputError
from vaeval_tasks.paired.comparable import SharedItems, different, shared_items
from vaeval_tasks.paired.contrast import (
    LATENCIES,
    ContrastLevel,
    LatencyContrast,
    ScoreContrast,
    latency_contrasts,
    paced_apart,
    score_contrasts,
    with_verdict,
)
from vaeval_tasks.paired.flips import ChangedAnswer, FlippedItem, flipped_items
from vaeval_tasks.paired.sides import RunSide, named_apart
from vaeval_tasks.scoring.registry import factors
from vaeval_tasks.stats.paired import PRODUCT, PairedVerdict, holm, paired_verdict

__all__ = ["ALPHA", "PairedRuns", "RunComparison", "compare_sides"]

ALPHA = 0.05
"""The error of each test and, after Holm, of all of a kind together."""
_SHOWN_FLIPS = 10
_METHOD = (
    "differences are of the printed scores, on the items that both runs answered; 95 % intervals cluster by document; "
    "p by exchanging the runs within documents, after Holm over the rows of a kind and all pairs"
)
_FINDS = "finds: the smallest difference that so many items show with 80 % power in a test at 5 %"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedRuns:
    """Two runs beside each other."""

    first: str
    second: str
    items: int
    marks: tuple[str, ...]
    """What makes them incomparable; empty but where that was allowed."""
    notes: tuple[str, ...]
    scores: tuple[ScoreContrast, ...]
    latencies: tuple[LatencyContrast, ...]
    flips: tuple[FlippedItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunComparison(ShownResult):
    """Runs on the items they share. ``rows``, ``latency``, ``flips`` and ``pairs`` are its parts."""

    runs: Mapping[str, str]
    """The folder of each run, by its name here."""
    pairs: tuple[PairedRuns, ...]
    margin: float | None
    seed: int
    resamples: int

    def tables(self) -> list[Table]:
        """Return the scores, the factors, the times and the flipped items as tables, for every pair."""
        return [table for pair in self.pairs for table in self.pair_tables(pair)]

    def long_table(self) -> Table:
        """Return every row with everything that is known of it, as the CSV has it."""
        rows = tuple(self._rows())
        names = tuple(dict.fromkeys(name for row in rows for name in row))
        return Table(name="compare", title=self._title(), columns=names, rows=rows, digits={}, notes=self._notes())

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``vaeval compare --json`` prints."""
        return {
            "software": f"vaeval {__version__}",
            "runs": [{"name": name, "folder": folder} for name, folder in self.runs.items()],
            "pairs": [
                {
                    "first": p.first, "second": p.second, "items": p.items, "flipped": len(p.flips),
                    "incomparable": list(p.marks), "notes": list(p.notes),
                }
                for p in self.pairs
            ],
            "rows": list(self._rows()),
            "latency": [_latency_row(pair, one) for pair in self.pairs for one in pair.latencies],
            "flips": [_flip_row(pair, flip) for pair in self.pairs for flip in pair.flips],
            "margin": self.margin,
            "level": 0.95,
            "alpha": ALPHA,
            "seed": self.seed,
            "resamples": self.resamples,
            "method": _METHOD,
        }  # fmt: skip

    def parts(self) -> dict[str, list[Mapping[str, Any]]]:
        """Return the rows, the times, the flipped items and the pairs."""
        made = self.to_json()
        return {name: made[name] for name in ("rows", "latency", "flips", "pairs")}

    def _title(self) -> str:
        return "; ".join(f"{p.second} less {p.first}" for p in self.pairs)

    def _notes(self) -> tuple[str, ...]:
        notes = [f"NOT COMPARABLE ({p.first}, {p.second}): {mark}" for p in self.pairs for mark in p.marks]
        return (*notes, *(note for p in self.pairs for note in p.notes), _METHOD)

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        for pair in self.pairs:
            for one in pair.scores:
                yield _score_row(pair, one)

    def pair_tables(self, pair: PairedRuns) -> Iterator[Table]:
        """Return the tables of one pair."""
        marks = tuple(f"NOT COMPARABLE: {mark}" for mark in pair.marks)
        marked = "NOT COMPARABLE, printed as asked: " if marks else ""
        scores = [one for one in pair.scores if one.quantity == PRODUCT]
        reasons = [f"{s.name}: {s.reason}" for s in scores if s.reason and s.level is not ContrastLevel.family]
        lost = sum(flip.change < 0 for flip in pair.flips)
        yield Table(
            name="scores",
            title=f"{marked}{pair.second} less {pair.first}, scores of {pair.items} shared items",
            columns=(
                "task", "first", "second", "difference", "interval", "p", "verdict", "finds", "items", "documents",
                "missing", "left out",
            ),
            rows=tuple(_shown_score(one) for one in scores if one.level is ContrastLevel.task or one.first is not None),
            digits={"first": 2, "second": 2, "difference": 2, "p": 4, "finds": 2},
            notes=(
                *marks, *pair.notes, *reasons,
                f"first is {pair.first}, second {pair.second}; {len(pair.flips)} items flipped, {lost} for the worse",
                _METHOD, _FINDS,
            ),
        )  # fmt: skip
        yield _factor_table(pair)
        if pair.latencies:
            yield Table(
                name="latency",
                title=f"Seconds, {pair.second} less {pair.first}: median of the paired differences",
                columns=("task", "time", "first", "second", "difference", "low", "high", "p", "verdict", "items"),
                rows=tuple(_shown_latency(one) for one in pair.latencies),
                digits=dict.fromkeys(("first", "second", "difference", "low", "high"), 3) | {"p": 4},
                notes=("better is quicker; intervals are of order statistics, p of the sign test, after Holm",),
            )
        if pair.flips:
            shown = pair.flips[:_SHOWN_FLIPS]
            more = len(pair.flips) - len(shown)
            yield Table(
                name="flips",
                title="Items that flipped, the worst first",
                columns=("task", "item", "what", "change", "first text", "second text", "first audio", "second audio"),
                rows=tuple(_shown_flip(flip) for flip in shown),
                digits={"change": 1},
                notes=(f"{more} more: in --json, or with players in --html",) if more else (),
            )


def compare_sides(
    sides: Sequence[RunSide],
    *,
    all_pairs: bool = False,
    tasks: Sequence[str] = (),
    margin: float | None = None,
    drop_margin: float = 0.0,
    allow_different: bool = False,
    resamples: int = 4999,
    seed: int = 0,
) -> RunComparison:
    """Compare every side with the first, or all with each other.

    Args:
        sides: two or more.
        all_pairs: whether each is compared with every other one.
        tasks: only these; all, if none is named.
        margin: points within which scores are taken as equal.
        drop_margin: points of the one-sided test for a drop.
        allow_different: go on where the runs are not comparable, and mark it.
        resamples: exchanges that are drawn.
        seed: of the draws.

    Raises:
        InputError: there is nothing to compare, two sides share no items, or they are not comparable.
    """
    if len(sides) < 2:
        found = ", ".join(side.config for side in sides)
        raise InputError(f"a comparison needs two runs or more, or a run of several configurations; got only {found}")
    named = [_renamed(side, name) for side, name in zip(sides, named_apart(sides), strict=True)]
    chosen = list(combinations(named, 2)) if all_pairs else [(named[0], other) for other in named[1:]]
    pairs = [_pair(first, second, tasks, drop_margin, allow_different, resamples, seed) for first, second in chosen]
    return RunComparison(
        runs={side.label: str(side.run.root) for side in named},
        pairs=_decided(pairs, margin),
        margin=margin,
        seed=seed,
        resamples=resamples,
    )


def _renamed(side: RunSide, label: str) -> RunSide:
    return replace(side, label=label)


def _pair(
    first: RunSide,
    second: RunSide,
    tasks: Sequence[str],
    drop_margin: float,
    allow_different: bool,
    resamples: int,
    seed: int,
) -> PairedRuns:
    shared = shared_items(first, second, tasks)
    marks = different(first, second, shared)
    if marks and not allow_different:
        raise InputError(
            f"{first.label} and {second.label} are not comparable: {'; '.join(marks)}. "
            "Score or run one of them again, or go on with --allow-different"
        )
    return PairedRuns(
        first=first.label,
        second=second.label,
        items=len(shared.keys),
        marks=marks,
        notes=(*shared.notes, *_pace_note(first, second, shared)),
        scores=tuple(score_contrasts(first, second, shared, margin=drop_margin, draws=resamples, seed=seed)),
        latencies=tuple(latency_contrasts(first, second, shared)),
        flips=tuple(flipped_items(first, second, shared)),
    )


def _pace_note(first: RunSide, second: RunSide, shared: SharedItems) -> list[str]:
    apart = sum(paced_apart(first, second, key) for key in shared.keys)
    how = "their speech was sent whole in one run and at the pace it was spoken in the other"
    return [f"times of {apart} of {len(shared.keys)} items are not compared: {how}"] if apart else []


def _decided(pairs: Sequence[PairedRuns], margin: float | None) -> tuple[PairedRuns, ...]:
    """Adjust p values over all pairs and rows of a kind, and say what each difference says."""
    kinds: dict[tuple[str, str], list[tuple[int, int]]] = {}
    times: dict[str, list[tuple[int, int]]] = {}
    for i, pair in enumerate(pairs):
        for j, one in enumerate(pair.scores):
            kinds.setdefault((one.level, one.quantity), []).append((i, j))
        for j, latency in enumerate(pair.latencies):
            times.setdefault(latency.measure, []).append((i, j))
    scores = [list(pair.scores) for pair in pairs]
    latencies = [list(pair.latencies) for pair in pairs]
    for places in kinds.values():
        adjusted = holm([scores[i][j].found.p for i, j in places])
        for (i, j), p in zip(places, adjusted, strict=True):
            verdict = paired_verdict(scores[i][j].found, p, margin=margin, alpha=ALPHA)
            scores[i][j] = with_verdict(scores[i][j], p, verdict)
    for places in times.values():
        adjusted = holm([latencies[i][j].found.p for i, j in places])
        for (i, j), p in zip(places, adjusted, strict=True):
            latencies[i][j] = replace(latencies[i][j], p_holm=p, verdict=_quicker(latencies[i][j], p))
    return tuple(
        replace(pair, scores=tuple(s), latencies=tuple(t)) for pair, s, t in zip(pairs, scores, latencies, strict=True)
    )


def _quicker(latency: LatencyContrast, p: float | None) -> PairedVerdict:
    difference = latency.found.difference
    if p is None or p >= ALPHA or not difference:
        return PairedVerdict.unclear
    return PairedVerdict.better if difference < 0 else PairedVerdict.worse


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"[{low:+.1f}, {high:+.1f}]"


def _shown_score(one: ScoreContrast) -> dict[str, Any]:
    indent = "" if one.level is not ContrastLevel.task else "  "
    missing = "/".join(map(str, one.missing))
    return {
        "task": f"{indent}{one.name}", "first": one.first, "second": one.second, "difference": one.difference,
        "interval": _interval(one.low, one.high), "p": one.p_holm, "verdict": one.verdict.value,
        "finds": one.found.detectable, "items": one.found.items, "documents": one.found.documents,
        "missing": missing, "left out": one.left_out,
    }  # fmt: skip


def _factor_table(pair: PairedRuns) -> Table:
    """The differences of the factors of every task, each with its interval and a mark where it is real."""
    names = tuple(factors())
    rows: dict[str, dict[str, Any]] = {}
    for one in pair.scores:
        if one.quantity in names and one.difference is not None:
            mark = {PairedVerdict.better: "+", PairedVerdict.worse: "-", PairedVerdict.equivalent: "="}
            text = f"{one.difference:+.1f} {_interval(one.low, one.high)}{mark.get(one.verdict, '')}"
            indent = "  " if one.level is ContrastLevel.task else ""
            rows.setdefault(one.name, {"task": f"{indent}{one.name}"})[one.quantity] = text
    return Table(
        name="factors",
        title=f"The factors, {pair.second} less {pair.first}",
        columns=("task", *names),
        rows=tuple(rows.values()),
        digits={},
        notes=("a mark says what the difference says, after Holm: + better, - worse, = within the margin",),
    )


def _shown_latency(one: LatencyContrast) -> dict[str, Any]:
    found = one.found
    return {
        "task": one.task, "time": LATENCIES[one.measure], "first": found.first, "second": found.second,
        "difference": found.difference, "low": found.low, "high": found.high, "p": one.p_holm,
        "verdict": one.verdict.value, "items": found.items,
    }  # fmt: skip


def _short(text: str, length: int = 40) -> str:
    line = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    return line if len(line) <= length else line[: length - 1] + "…"


def _place(path: Path | None) -> str:
    """A path as short as it can be from here."""
    if path is None:
        return "–"
    with suppress(ValueError):  # another drive
        return min(os.path.relpath(path), str(path), key=len)
    return str(path)


def _shown_flip(flip: FlippedItem) -> dict[str, Any]:
    return {
        "task": flip.task, "item": flip.item_id, "what": flip.kind.value, "change": flip.change,
        "first text": _short(flip.first.text or flip.first.transcript),
        "second text": _short(flip.second.text or flip.second.transcript),
        "first audio": _place(flip.first.audio), "second audio": _place(flip.second.audio),
    }  # fmt: skip


def _score_row(pair: PairedRuns, one: ScoreContrast) -> dict[str, Any]:
    found = one.found
    return {
        "first_run": pair.first, "second_run": pair.second, "level": one.level.value, "name": one.name,
        "quantity": one.quantity, "first": one.first, "second": one.second, "difference": one.difference,
        "low": one.low, "high": one.high, "se": found.se, "p": found.p, "p_holm": one.p_holm, "exact": found.exact,
        "verdict": one.verdict.value, "detectable": found.detectable, "unrounded_difference": found.difference,
        "items": found.items, "documents": found.documents, "first_missing": one.missing[0],
        "second_missing": one.missing[1], "left_out": one.left_out, "comparable": not pair.marks, "reason": one.reason,
    }  # fmt: skip


def _latency_row(pair: PairedRuns, one: LatencyContrast) -> dict[str, Any]:
    found = one.found
    return {
        "first_run": pair.first, "second_run": pair.second, "task": one.task, "measure": one.measure,
        "first": found.first, "second": found.second, "difference": found.difference, "low": found.low,
        "high": found.high, "p": found.p, "p_holm": one.p_holm, "verdict": one.verdict.value, "items": found.items,
        "documents": found.documents, "reason": found.reason,
    }  # fmt: skip


def _flip_row(pair: PairedRuns, flip: FlippedItem) -> dict[str, Any]:
    row: dict[str, Any] = {
        "first_run": pair.first, "second_run": pair.second, "task": flip.task, "item_id": flip.item_id,
        "kind": flip.kind.name, "change": flip.change, "question": flip.question, "references": list(flip.references),
    }  # fmt: skip
    for name, answer in (("first", flip.first), ("second", flip.second)):
        row |= {f"{name}_{key}": value for key, value in _answer_row(answer).items()}
    return row


def _answer_row(answer: ChangedAnswer) -> dict[str, Any]:
    return {
        "text": answer.text, "transcript": answer.transcript, "verdict": answer.verdict, "why": answer.why,
        "audio": str(answer.audio) if answer.audio is not None else None, "status": answer.status,
        "score": answer.score,
    }  # fmt: skip
