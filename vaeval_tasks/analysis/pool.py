"""Who rated and what was asked: the rater pool (table A1) and the prompt counts (table 1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vaeval_tasks.analysis.load.source import DEGRADED, prompt_level
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.store.schema import Prompt, Rater

__all__ = [
    "BANDS",
    "POOL_TITLE",
    "PROMPTS_TITLE",
    "PoolCount",
    "PromptCounts",
    "RaterPool",
    "pool_notes",
    "pool_table",
    "prompt_counts",
    "prompt_rows",
    "prompt_table",
    "rater_pool",
]

POOL_TITLE = "A1: rater pool by gender and age"
PROMPTS_TITLE = "Table 1: prompts by difficulty"
# The published bands 56-65 and 65+ overlap at 65, which is counted in 56-65 here.
BANDS: tuple[tuple[str, int, int], ...] = (
    ("18-25", 18, 25),
    ("26-35", 26, 35),
    ("36-45", 36, 45),
    ("46-55", 46, 55),
    ("56-65", 56, 65),
    ("65+", 66, 200),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCount:
    """Raters of one gender, or all of them, in one collection."""

    gender: str
    pool: str
    """``MOS`` or ``CMOS``."""
    by_age: tuple[int, ...]
    """How many in each of :data:`BANDS`."""
    age_unknown: int

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.by_age) + self.age_unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterPool:
    """Who rated."""

    rows: tuple[PoolCount, ...]
    in_both: int
    """Raters of pairs who also rated single responses."""
    mean_age: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCounts:
    """Prompts by difficulty, the degraded ones counted apart."""

    core: tuple[tuple[str, int], ...]
    """(difficulty, prompts), easiest first."""
    degraded: int


def rater_pool(raters: Sequence[Rater], cmos: Iterable[str], mos: Iterable[str]) -> RaterPool:
    """Count the raters by gender and age band, of those whose ratings are in each collection.

    Args:
        raters: what is known of the raters.
        cmos: identifiers of those who rated pairs.
        mos: identifiers of those who rated single responses.
    """
    pools = {"MOS": set(mos), "CMOS": set(cmos)}
    known = {r.rater_id: r for r in raters}
    genders = sorted({known[i].gender or "unknown" for ids in pools.values() for i in ids if i in known})
    order = [g for g in ("M", "F", "Other") if g in genders] + [g for g in genders if g not in ("M", "F", "Other")]
    rows = []
    for gender in [*order, "Total"]:
        for pool, ids in pools.items():
            members = [known[i] for i in ids if i in known and gender in ("Total", known[i].gender or "unknown")]
            counts = tuple(sum(r.age is not None and low <= r.age <= high for r in members) for _, low, high in BANDS)
            rows.append(PoolCount(gender=gender, pool=pool, by_age=counts, age_unknown=len(members) - sum(counts)))
    ages = [r.age for r in known.values() if r.age is not None]
    return RaterPool(
        rows=tuple(rows),
        in_both=len(pools["MOS"] & pools["CMOS"]),
        mean_age=sum(ages) / len(ages) if ages else None,
    )


def pool_table(found: RaterPool) -> Table:
    """Return table A1."""
    rows = [
        {
            "gender": one.gender,
            "pool": one.pool,
            **{band: n for (band, _, _), n in zip(BANDS, one.by_age, strict=True)},
            "age unknown": one.age_unknown,
            "total": one.total,
        }
        for one in found.rows
    ]
    return Table(
        name="A1",
        title=POOL_TITLE,
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits={},
        notes=pool_notes(found),
    )


def pool_notes(found: RaterPool) -> tuple[str, ...]:
    """Return in words what the counts do not say."""
    both = f"{found.in_both} raters are in both pools"
    return (both,) if found.mean_age is None else (both, f"mean age {found.mean_age:.1f}")


def prompt_counts(prompts: Sequence[Prompt]) -> PromptCounts:
    """Count the prompts of each difficulty."""
    levels = [prompt_level(p) for p in prompts]
    core = sorted(set(levels) - {DEGRADED})
    return PromptCounts(core=tuple((level, levels.count(level)) for level in core), degraded=levels.count(DEGRADED))


def prompt_rows(found: PromptCounts) -> list[tuple[str, int]]:
    """Return (name, prompts) of every row of table 1, with the sums of the core and of all."""
    core = sum(n for _, n in found.core)
    name = f"{found.core[0][0]}–{found.core[-1][0]} core" if found.core else "core"
    return [*found.core, (name, core), (DEGRADED, found.degraded), ("Total", core + found.degraded)]


def prompt_table(found: PromptCounts) -> Table:
    """Return table 1."""
    return Table(
        name="prompts",
        title=PROMPTS_TITLE,
        columns=("difficulty", "prompts"),
        rows=tuple({"difficulty": name, "prompts": n} for name, n in prompt_rows(found)),
        digits={},
    )
