"""The machine-readable copy of the board that is embedded in the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vaeval_tasks import __version__
from vaeval_tasks.report.records import Estimate, RubricPage

__all__ = ["SCHEMA_VERSION", "snapshot"]

SCHEMA_VERSION = 1


def _estimate(name: str, estimate: Estimate) -> dict[str, Any]:
    out: dict[str, Any] = {name: estimate.value, "low": estimate.low, "high": estimate.high}
    return out | ({"reason": estimate.reason} if estimate.reason else {})


def snapshot(title: str, pages: Sequence[RubricPage], **about: Any) -> dict[str, Any]:
    """Return the standings and MOS of all rubrics as JSON values.

    Args:
        title: the board's title.
        pages: its rubrics.
        about: the provenance: method, seeds, hashes.
    """
    rubrics = {
        page.rubric.key: {
            "label": page.rubric.label,
            "standings": [
                {
                    "entity": s.entity,
                    **_estimate("elo", s.elo),
                    "rank": s.rank or None,
                    "n_ratings": s.n_ratings,
                    "n_raters": s.n_raters,
                    "n_prompts": s.n_prompts,
                }
                for s in page.standings
            ],
            "mos": [{"entity": o.entity, **_estimate("mos", o.mean), "n_ratings": o.n_ratings} for o in page.opinions],
        }
        for page in pages
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "software": f"vaeval {__version__}",
        "title": title,
        "about": about,
        "rubrics": rubrics,
    }
