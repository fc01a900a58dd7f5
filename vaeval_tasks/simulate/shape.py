"""How big a simulated study is, and how much its raters and prompts vary."""

from __future__ import annotations

from dataclasses import dataclass

from vaeval_tasks.errors import InputError

__all__ = ["Effects", "Shape"]

MOST_TASKS = 10_000_000
"""Tasks of a simulated study at most: some 100 million ratings, which take about 10 GB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Variance shares of what moves one answer beside the planted strengths; the rest is noise.

    The shares are of a Gaussian that is mapped to a logistic, so that the answers of a random rater to
    a random prompt follow the ordinal Bradley-Terry model with the planted strengths exactly: the
    estimators of the board are consistent for the truth that the simulation writes down.
    """

    prompt: float = 0.03
    """Prompt by configuration: how well this configuration did on this prompt."""
    rater_model: float = 0.15
    """Rater by model: a rater's liking for a model."""
    rater_config: float = 0.06
    """Rater by configuration: a rater's liking for a voice."""
    halo: float = 0.35
    """One rater's view of one pair, shared by all rubrics."""
    side: float = 0.005
    """A rater's habit of preferring one side."""
    shared: float = 0.6
    """The part of the prompt and rater effects that all rubrics share, 0 to 1."""
    voice_sd: float = 0.06
    """Standard deviation of a voice's shift from its model, logits (Grok's two voices are as published)."""

    def __post_init__(self) -> None:
        shares = (self.prompt, self.rater_model, self.rater_config, self.halo, self.side)
        if min(shares) < 0 or sum(shares) > 1 or not 0 <= self.shared <= 1 or self.voice_sd < 0:
            raise InputError("variance shares must be 0 or more and sum to at most 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The size of a study; the defaults are the published one."""

    prompts: int = 819
    raters: int = 283
    """Raters of the CMOS collection."""
    raters_per_pair: int = 2
    completion: float = 0.96
    """The share of planned tasks that are done."""
    mos_raters: int = 251
    mos_per_sample: float = 1.55
    """Mean number of raters of one response in the MOS collection; 0 leaves MOS and comments out."""
    comment_rate: float = 0.3
    """The share of MOS tasks with a free-text comment."""

    def __post_init__(self) -> None:
        limits = {
            "prompts": (self.prompts, 1),
            "raters": (self.raters, 1),
            "raters per pair": (self.raters_per_pair, 1),
            "MOS raters": (self.mos_raters, 1),
        }
        for name, (value, low) in limits.items():
            if value < low:
                raise InputError(f"{name} must be at least {low}, got {value}")
        if self.raters_per_pair > self.raters:
            raise InputError(f"{self.raters_per_pair} raters per pair need as many raters, got {self.raters}")
        if not 0 < self.completion <= 1 or not 0 <= self.comment_rate <= 1 or self.mos_per_sample < 0:
            raise InputError("completion must be in (0, 1], the comment rate in [0, 1], MOS per sample 0 or more")
        if self.mos_per_sample > self.mos_raters:
            raise InputError(f"{self.mos_per_sample} raters per sample need as many MOS raters, got {self.mos_raters}")
        # 19 configurations: 95 pairs and 19 responses a prompt
        for what, tasks in (
            ("comparisons", 95 * self.prompts * self.raters_per_pair),
            ("MOS tasks", 19 * self.prompts * self.mos_per_sample),
        ):
            if tasks > MOST_TASKS:
                raise InputError(f"{tasks:,.0f} {what} are more than memory holds; at most {MOST_TASKS:,}")
