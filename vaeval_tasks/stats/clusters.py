"""Which ratings may depend on each other: chosen here, by what the data name, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vaeval_tasks.stats.draws import Scheme

__all__ = ["SCHEMES", "WAYS", "ClusterChoice", "Clusters", "Unclustered", "choose_clusters", "lacking"]


class Clusters(StrEnum):
    """Which ratings may depend on each other."""

    two_way = "two_way"
    """Those of one rater and those of one prompt."""
    rater = "rater"
    """Those of one rater."""
    prompt = "prompt"
    """Those of one prompt."""
    none = "none"
    """None. Where both are named, what one rater says of one pair on one prompt is one session; elsewhere every rating
    (every unit of a count) is on its own."""


SCHEMES = {
    Clusters.two_way: Scheme.product,
    Clusters.rater: Scheme.rater,
    Clusters.prompt: Scheme.prompt,
    Clusters.none: Scheme.iid,
}
"""How a bootstrap draws such clusters."""
WAYS = {scheme: clusters for clusters, scheme in SCHEMES.items()} | {Scheme.subset: Clusters.two_way}
"""Which clusters a bootstrap's scheme draws."""


class Unclustered(StrEnum):
    """Why ratings cannot be clustered in a way."""

    unnamed = "unnamed"
    raters_unnamed = "raters_unnamed"
    prompts_unnamed = "prompts_unnamed"
    one_rater = "one_rater"
    one_prompt = "one_prompt"
    one_of_each = "one_of_each"
    one_rating = "one_rating"

    @property
    def text(self) -> str:
        """The reason in words."""
        return _TEXTS[self]


_TEXTS = {
    Unclustered.unnamed: "the table names no raters or prompts; ci iid takes ratings as independent",
    Unclustered.raters_unnamed: "the table names no raters",
    Unclustered.prompts_unnamed: "the table names no prompts",
    Unclustered.one_rater: "there is one rater, so nothing tells how raters differ",
    Unclustered.one_prompt: "there is one prompt, so nothing tells how prompts differ",
    Unclustered.one_of_each: "there is one rater and one prompt, so nothing tells how either differs",
    Unclustered.one_rating: "an interval needs two ratings or more",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterChoice:
    """The clusters of a set of ratings."""

    clusters: Clusters | None
    """None: there can be no interval."""
    reason: Unclustered | None = None
    """Why there can be none, or why one of the two ways is left out; None where both are in, or none was wanted."""


def _rater_lacks(n_raters: int | None) -> Unclustered | None:
    if n_raters is None:
        return Unclustered.raters_unnamed
    return Unclustered.one_rater if n_raters < 2 else None


def _prompt_lacks(n_prompts: int | None) -> Unclustered | None:
    if n_prompts is None:
        return Unclustered.prompts_unnamed
    return Unclustered.one_prompt if n_prompts < 2 else None


def lacking(
    clusters: Clusters, n_raters: int | None, n_prompts: int | None, n_ratings: float = 2.0
) -> Unclustered | None:
    """Return why ratings with so many raters and prompts cannot be clustered so; None if they can.

    Args:
        clusters: the way.
        n_raters: None where raters are not named.
        n_prompts: None where prompts are not named.
        n_ratings: the sum of the weights.
    """
    raters = _rater_lacks(n_raters) if clusters in (Clusters.two_way, Clusters.rater) else None
    prompts = _prompt_lacks(n_prompts) if clusters in (Clusters.two_way, Clusters.prompt) else None
    if raters is Unclustered.raters_unnamed and prompts is Unclustered.prompts_unnamed:
        return Unclustered.unnamed
    if raters is Unclustered.one_rater and prompts is Unclustered.one_prompt:
        return Unclustered.one_of_each
    few = Unclustered.one_rating if clusters is Clusters.none and n_ratings < 2 else None
    return raters or prompts or few


def choose_clusters(
    n_raters: int | None, n_prompts: int | None, n_ratings: float = 2.0, *, wanted: Clusters | None = None
) -> ClusterChoice:
    """Return the clusters that the data have: both ways, or the one of which there are two or more.

    Ratings are never taken as independent of themselves: that has to be ``wanted``.

    Args:
        n_raters: None where raters are not named.
        n_prompts: None where prompts are not named.
        n_ratings: the sum of the weights.
        wanted: these and no others.
    """
    ways = (wanted,) if wanted else (Clusters.two_way, Clusters.rater, Clusters.prompt)
    able = [way for way in ways if lacking(way, n_raters, n_prompts, n_ratings) is None]
    first = lacking(ways[0], n_raters, n_prompts, n_ratings)
    if able:
        return ClusterChoice(clusters=able[0], reason=first)
    if wanted is None and first is Unclustered.raters_unnamed:
        first = Unclustered.one_prompt  # prompts are all that is named, and there is one
    return ClusterChoice(clusters=None, reason=first)
