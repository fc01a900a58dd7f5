"""How the prompts of a set are spread over categories, levels and conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from vaeval_tasks.prompts.manifest import LEVELS
from vaeval_tasks.rubrics import GATED
from vaeval_tasks.store.schema import Condition, Prompt

__all__ = ["DEGRADED", "SetBalance", "set_balance"]

DEGRADED = "degraded"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetBalance:
    """Counts of a prompt set. The degraded prompts are a column of their own, as in the published Table 1."""

    prompts: int
    cells: dict[str, dict[str, int]]
    """Category, then level ``L1`` to ``L5`` (clean prompts) or ``degraded``."""
    conditions: dict[str, int]
    gates: dict[str, int]
    """Prompts that each gated rubric applies to."""

    def text(self) -> str:
        """Return the counts as a table with totals."""
        columns = [*LEVELS, DEGRADED]
        width = max([len("category"), *map(len, self.cells)])
        lines = [f"{'category':{width}}" + "".join(f"{c:>10}" for c in (*columns, "total"))]
        totals: Counter[str] = Counter()
        for name, row in self.cells.items():
            totals.update(row)
            lines.append(_line(name, width, [row[c] for c in columns]))
        lines.append(_line("total", width, [totals[c] for c in columns]))
        for title, counts in (("conditions", self.conditions), ("gated rubrics", self.gates)):
            lines.append(f"{title}: " + ", ".join(f"{n} {name}" for name, n in counts.items()))
        return "\n".join(lines)


def _line(name: str, width: int, counts: list[int]) -> str:
    return f"{name:{width}}" + "".join(f"{n:>10}" for n in (*counts, sum(counts)))


def set_balance(prompts: Iterable[Prompt]) -> SetBalance:
    """Count a prompt set."""
    prompts = list(prompts)
    cells = {c: dict.fromkeys((*LEVELS, DEGRADED), 0) for c in sorted({p.category for p in prompts})}
    for p in prompts:
        cells[p.category][p.difficulty if p.condition is Condition.clean else DEGRADED] += 1
    return SetBalance(
        prompts=len(prompts),
        cells=cells,
        conditions={c.value: sum(p.condition is c for p in prompts) for c in Condition},
        gates={g: sum(g in p.gates for p in prompts) for g in GATED},
    )
