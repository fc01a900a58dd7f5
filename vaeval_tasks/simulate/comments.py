"""Free-text comments of simulated MOS raters, with known rates of the ten themes of table A9."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.simulate.task_lists import MosTasks
from vaeval_tasks.simulate.truth import MODEL_OF

__all__ = ["THEME_RATES", "draw_comments"]

# Percent of a model's comments, in the order of published.MODELS (table A9).
THEME_RATES: dict[str, tuple[float, ...]] = {
    "natural": (17.0, 15.4, 17.0, 10.5, 9.2, 10.7, 8.5),
    "robotic": (5.4, 7.7, 4.4, 19.5, 16.9, 23.6, 15.2),
    "warm": (9.1, 8.0, 8.5, 6.0, 6.1, 4.4, 4.1),
    "helpful": (33.9, 33.7, 34.5, 30.4, 29.2, 37.2, 21.3),
    "verbose": (2.8, 2.7, 0.6, 2.1, 14.3, 0.8, 0.5),
    "pacing": (5.5, 5.3, 2.8, 3.6, 5.5, 8.2, 14.6),
    "artifact": (11.6, 10.8, 5.8, 13.3, 24.1, 8.0, 15.2),
    "accent": (4.9, 5.4, 3.1, 4.4, 2.9, 5.3, 10.3),
    "empathetic": (6.3, 5.2, 5.8, 3.2, 2.1, 2.7, 2.5),
    "breathy": (1.9, 1.8, 5.2, 0.7, 0.9, 0.1, 1.6),
}

_SAYINGS: dict[str, tuple[str, ...]] = {
    "natural": ("Sounds like a real person", "Very natural delivery", "It felt human", "A lifelike voice"),
    "robotic": ("Sounds robotic", "A flat, monotone voice", "It was mechanical", "Rather stilted speech"),
    "warm": ("A warm tone", "Friendly and kind", "Pleasant to listen to", "A soothing voice"),
    "helpful": ("Very helpful", "It gave useful tips", "Informative answer", "Solved what I asked"),
    "verbose": ("Far too long", "It rambled on", "Way too wordy", "Needlessly verbose"),
    "pacing": ("Spoke too fast", "The pace was off", "Talks too slowly", "It felt rushed"),
    "artifact": ("There was static", "I heard a glitch", "The audio cut out", "Some background noise"),
    "accent": ("A strange accent", "It mispronounced a name", "Words were pronounced wrong", "An odd foreign accent"),
    "empathetic": ("It showed real empathy", "Understood how I felt", "A compassionate reply", "It was sympathetic"),
    "breathy": ("Audible breathing", "The voice is breathy", "I could hear it inhale", "Too many breaths"),
}
_NEGATED = ("It did not sound robotic.", "No static at all.", "Not too long.", "It wasn't rushed.", "Never glitched.")
_PLAIN = (
    "Okay overall.",
    "Fine.",
    "I would listen again.",
    "Nothing special.",
    "It was what I expected.",
    "Hm, average.",
)


def draw_comments(tasks: MosTasks, rate: float, rng: np.random.Generator) -> tuple[NDArray[np.int64], list[str]]:
    """Return the indices of the tasks that got a comment, and the texts.

    One comment in ten also has a negated mention ("It did not sound robotic."), which is no mention.
    """
    at = np.flatnonzero(rng.random(len(tasks.prompt)) < rate)
    rates = np.array(list(THEME_RATES.values())) / 100
    has = rng.random((len(at), len(rates))) < rates[:, MODEL_OF[tasks.config[at]]].T
    pick = rng.integers(0, 1 << 30, has.shape)
    negate = rng.random(len(at)) < 0.1
    says = list(_SAYINGS.values())
    texts = []
    for i in range(len(at)):
        parts = [f"{says[t][pick[i, t] % len(says[t])]}." for t in np.flatnonzero(has[i])]
        if not parts:
            parts = [_PLAIN[pick[i, 0] % len(_PLAIN)]]
        if negate[i]:
            parts.append(_NEGATED[pick[i, 1] % len(_NEGATED)])
        texts.append(" ".join(parts))
    return at, texts
