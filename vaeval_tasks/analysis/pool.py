"""Who rated and what was asked: the rater pool (table A1) and the prompt counts (table 1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from vaeval_tasks.analysis.load.source import DEGRADED, prompt_level
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.store.schema import Prompt, Rater

__all__ = ["BANDS", "pool_table", "prompt_table"]

# The published bands 56-65 and 65+ overlap at 65, which is counted in 56-65 here.
BANDS: tuple[tuple[str, int, int], ...] = (
    ("18-25", 18, 25),
    ("26-35", 26, 35),
    ("36-45", 36, 45),
    ("46-55", 46, 55),
    ("56-65", 56, 65),
    ("65+", 66, 200),
)


def pool_table(raters: Sequence[Rater], cmos: Iterable[str], mos: Iterable[str]) -> Table:
    """Return table A1: raters by gender and age band, of those whose ratings are in each collection.

    Args:
        raters: what is known of the raters.
        cmos: identifiers of those who rated pairs.
        mos: identifiers of those who rated single responses.
    """
    pools = {"MOS": set(mos), "CMOS": set(cmos)}
    known = {r.rater_id: r for r in raters}
    genders = sorted({known[i].gender or "unknown" for ids in pools.values() for i in ids if i in known})
    order = [g for g in ("M", "F", "Other") if g in genders] + [g for g in genders if g not in ("M", "F", "Other")]
    rows: list[dict[str, Any]] = []
    for gender in [*order, "Total"]:
        for pool, ids in pools.items():
            members = [known[i] for i in ids if i in known and gender in ("Total", known[i].gender or "unknown")]
            counts = {
                band: sum(r.age is not None and low <= r.age <= high for r in members) for band, low, high in BANDS
            }
            unknown = len(members) - sum(counts.values())
            rows.append({"gender": gender, "pool": pool, **counts, "age unknown": unknown, "total": len(members)})
    ages = [r.age for r in known.values() if r.age is not None]
    notes = [f"{len(pools['MOS'] & pools['CMOS'])} raters are in both pools"]
    if ages:
        notes.append(f"mean age {sum(ages) / len(ages):.1f}")
    return Table(
        name="A1",
        title="A1: rater pool by gender and age",
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits={},
        notes=tuple(notes),
    )


def prompt_table(prompts: Sequence[Prompt]) -> Table:
    """Return table 1: prompts by difficulty, the degraded ones counted apart."""
    levels = [prompt_level(p) for p in prompts]
    core = sorted(set(levels) - {DEGRADED})
    rows: list[dict[str, Any]] = [{"difficulty": level, "prompts": levels.count(level)} for level in core]
    rows.append(
        {"difficulty": f"{core[0]}–{core[-1]} core" if core else "core", "prompts": sum(r["prompts"] for r in rows)}
    )
    rows.append({"difficulty": DEGRADED, "prompts": levels.count(DEGRADED)})
    rows.append({"difficulty": "Total", "prompts": len(levels)})
    return Table(
        name="prompts",
        title="Table 1: prompts by difficulty",
        columns=("difficulty", "prompts"),
        rows=tuple(rows),
        digits={},
    )
