"""The results of a run as the text that a terminal shows."""

from __future__ import annotations

from vaeval_tasks.scoring.combine import LOW_COVERAGE, GroupScore, ScoreEstimate
from vaeval_tasks.scoring.latency import LATENCIES, QUANTILES
from vaeval_tasks.scoring.registry import factors, response_metrics
from vaeval_tasks.scoring.results import ConfigResults, RunResults, TaskResult
from vaeval_tasks.scoring.suite import FAMILIES, TASKS
from vaeval_tasks.stats.quantiles import QuantileEstimate

__all__ = ["results_text", "task_line"]

_NAME, _WIDTH, _LATENCY = 32, 17, 22


def results_text(results: RunResults) -> str:
    """Return the scores of each configuration: 13 task rows, three family rows, one overall, latency, then notes."""
    return "\n\n".join("\n".join(_block(name, config)) for name, config in results.configs.items())


def _block(name: str, config: ConfigResults) -> list[str]:
    columns = tuple(factors())
    groups = config.groups
    head = "".join(f"{column:>{_WIDTH}}" for column in columns)
    lines = [
        name,
        f"{'':{_NAME}}{head}{'score':>7}{'95 % interval':>{_WIDTH}}{'n':>6}{'missing':>9}{'unjudged':>10}",
    ]
    for family, members in FAMILIES.items():
        lines += [_task_row(task, config.tasks.get(task), columns) for task in members]
        lines.append(_group_row(family, groups[family], columns))
    return [*lines, _group_row("overall", groups["overall"], columns), *_latency(config), *_notes(config)]


def task_line(results: RunResults, task: str) -> str:
    """Return one task's factors and score on a line, for the first configuration that ran it; empty where none did."""
    for config in results.configs.values():
        if task in config.tasks:
            found = config.tasks[task].scores
            parts = [f"{name} {estimate.value:.1f}" for name, estimate in found.factors.items() if estimate is not None]
            return f"{task}: {', '.join(parts)}, score {_number(found.score)} (n = {found.n})"
    return ""


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _cell(estimate: ScoreEstimate | None) -> str:
    if estimate is None:
        return "-".rjust(_WIDTH)
    return f"{estimate.value:.1f} [{estimate.low:.0f}, {estimate.high:.0f}]".rjust(_WIDTH)


def _span(entry: ScoreEstimate | GroupScore | None) -> str:
    if entry is None or entry.low is None or entry.high is None:
        return " " * _WIDTH
    return f"[{entry.low:.1f}, {entry.high:.1f}]".rjust(_WIDTH)


def _task_row(task: str, result: TaskResult | None, columns: tuple[str, ...]) -> str:
    name = f"  {task:{_NAME - 2}}"
    if result is None:
        return f"{name}{'not run':>{_WIDTH}}"
    found = result.scores
    cells = "".join(_cell(found.factors.get(column)) for column in columns)
    counts = f"{found.n:>6}{found.missing:>9}{found.unjudged:>10}"
    part = f"  {result.size} of {result.data_items} items" if result.partial else ""
    return f"{name}{cells}{_number(found.score):>7}{_span(found.unrounded)}{counts}{part}{_covered(found.coverage)}"


def _covered(coverage: float | None) -> str:
    """What stands in the row of a score that many items do not count in."""
    # rounded down: 89.96 % is not 90 %
    return (
        "" if coverage is None or coverage >= LOW_COVERAGE else f"  ! covers {int(1000 * coverage) / 10:g} % of items"
    )


def _group_row(name: str, group: GroupScore, columns: tuple[str, ...]) -> str:
    gap = " " * _WIDTH * len(columns)
    return f"{name:{_NAME}}{gap}{_number(group.value, 2):>7}{_span(group)}{_covered(group.coverage)}".rstrip()


def _latency(config: ConfigResults) -> list[str]:
    """A row for each latency of the answers to all tasks; none where nothing was recorded."""
    if not config.latency:
        return []
    rows = [f"{'latency':{_NAME}}" + "".join(f"{q:>{_LATENCY}}" for q in QUANTILES) + f"{'n':>6}"]
    for name, label in LATENCIES.items():
        if found := config.latency.get(name):
            cells = "".join(_quantile(found.get(q)) for q in QUANTILES)
            rows.append(f"  {label:{_NAME - 2}}{cells}{max(q.n for q in found.values()):>6}")
    return rows


def _quantile(found: QuantileEstimate | None) -> str:
    if found is None or found.value is None:
        return "-".rjust(_LATENCY)
    span = "" if found.low is None or found.high is None else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.value:.2f}{span}".rjust(_LATENCY)


def _notes(config: ConfigResults) -> list[str]:
    """Why a score is absent, what failed, and what the numbers were scored with."""
    tasks = {task: config.tasks[task].scores for task in TASKS if task in config.tasks}
    lines = [f"no score for {task}: {found.reason}" for task, found in tasks.items() if found.reason]
    for task in tasks:
        if gone := config.tasks[task].left_out:
            first = "{item_id} ({column}): {reason}".format_map({"item_id": "", "column": "", "reason": "", **gone[0]})
            lines.append(f"{task}: {len(gone)} items of the data left out; the first: {first}")
    for task, found in tasks.items():
        counts = {"failed": found.failed, "unscored": found.unscored}
        lines += [f"{task}: {n} answers {what}" for what, n in counts.items() if n]
    reading = {m.factor.name: m.reading for m in response_metrics() if m.factor is not None and m.reading}
    lines += [f"{n}: {note}" for n, note in reading.items() if any(f.factors.get(n) for f in tasks.values())]
    remarks = {m.factor.name: m.remark for m in response_metrics() if m.factor is not None and m.remark is not None}
    for name, remark in remarks.items():
        said = {remark(found.signatures[name]) for found in tasks.values() if name in found.signatures}
        lines += [f"{name}: {note}" for note in sorted(said) if note]
    used = sorted({f"{name}: {sig}" for found in tasks.values() for name, sig in found.signatures.items()})
    return lines + [f"scored with {line}" for line in used]
