"""What a simulated rater prefers: planted strengths on the Elo scale, turned into clicks with noise."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.schema import CHECK_PREFIX

__all__ = ["ELO_PER_LOGIT", "Preference", "planted", "read_truth"]

ELO_PER_LOGIT = 400 / math.log(10)
"""Elo points of one unit of the latent scale (a 400-point gap is 10-to-1 odds)."""

_CMOS_CUTS = (-2.2, -1.2, -0.35, 0.35, 1.2, 2.2)
_MOS_CUTS = (-2.0, -0.8, 0.4, 1.6)

_WORSE = 2000.0
"""Elo points by which a worse copy is below the weakest configuration."""


def planted(configs: Sequence[str], *, seed: int, spread: float = 600.0) -> dict[str, float]:
    """Return a strength for each configuration: evenly spaced over ``spread`` Elo points around 1000, shuffled."""
    order = sorted(configs)
    random.Random(seed).shuffle(order)  # noqa: S311 (a simulation)
    step = spread / max(1, len(order) - 1)
    return {config: 1000 + spread / 2 - n * step for n, config in enumerate(order)}


def read_truth(path: Path, configs: set[str]) -> dict[str, float]:
    """Read strengths (Elo points by configuration) from a JSON file.

    Raises:
        InputError: it is not such a file, or a configuration is missing.
    """
    try:
        truth = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read as JSON ({error})", path=path) from None
    if not isinstance(truth, dict) or not all(type(v) in (int, float) for v in truth.values()):
        raise InputError("must be an object of Elo points by configuration", path=path)
    if missing := configs - set(truth):
        raise InputError("the strength of this configuration is missing", path=path, field=min(missing))
    return {name: float(value) for name, value in truth.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """How one simulated rater judges: the ordinal Bradley-Terry model with an error shared by a task's questions."""

    strengths: Mapping[str, float]
    """Elo points by configuration."""
    shared: float = 0.6
    """Standard deviation, in logits, of what all answers to a task have in common (the halo)."""

    def task(self, left: str, right: str | None, rng: random.Random) -> Callable[[], int]:
        """Return a function that gives the clicked step of each question of one task in turn.

        Args:
            left: the configuration on the left, or the only one.
            right: the one on the right, None in a MOS study.
            rng: the rater's randomness.
        """
        # step 0 is the leftmost: "A much better" of a pair, "Bad" of a single response
        if left == right:
            return lambda: len(_CMOS_CUTS) // 2  # the same clip twice
        if right is not None:
            latent = (self._strength(right) - self._strength(left)) / ELO_PER_LOGIT
            cuts: tuple[float, ...] = _CMOS_CUTS
        else:
            latent = (self._strength(left) - 1000) / ELO_PER_LOGIT
            cuts = _MOS_CUTS
        latent += rng.gauss(0, self.shared)

        def click() -> int:
            uniform = min(max(rng.random(), 1e-12), 1 - 1e-12)
            value = latent + math.log(uniform / (1 - uniform))
            return sum(value > cut for cut in cuts)

        return click

    def _strength(self, config: str) -> float:
        """Return the strength of a configuration; a worse copy made for a check is far below all."""
        if config.startswith(CHECK_PREFIX):
            return min(self.strengths.values()) - _WORSE
        return self.strengths[config]
