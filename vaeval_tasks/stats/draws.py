"""Resampling weights of raters and prompts, the same for every rubric, engine and number of threads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Draws", "Scheme"]


class Scheme(StrEnum):
    """What is drawn with replacement, and how a rating is weighted by it."""

    product = "product"
    """Raters and prompts; a rating counts (times its rater was drawn) x (times its prompt was drawn)."""
    subset = "subset"
    """Raters and prompts; a rating counts once if both were drawn at all."""
    rater = "rater"
    prompt = "prompt"
    iid = "iid"
    """Sessions (one rater on one pair), as if they were independent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """A plan of draws: a seed, a scheme and a number of replicates. Equal plans draw equal weights."""

    replicates: int = 1000
    seed: int = 0
    scheme: Scheme = Scheme.product
