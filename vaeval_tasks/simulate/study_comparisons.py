"""A simulated study as comparisons in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vaeval_tasks.rubrics import KEYS
from vaeval_tasks.simulate.published_study import CONFIGS
from vaeval_tasks.simulate.rater_answers import NOT_ASKED
from vaeval_tasks.simulate.simulated_study import SimulatedStudy
from vaeval_tasks.stats import Comparisons, comparisons

__all__ = ["study_comparisons"]


def study_comparisons(study: SimulatedStudy, rubrics: Sequence[str] = KEYS, *, by_model: bool = False) -> Comparisons:
    """Return the ratings of a study without writing them: configurations or models, with the side shown."""
    which = np.array([KEYS.index(r) for r in rubrics])
    rubric, task = np.nonzero(study.scores[which] != NOT_ASKED)
    data = comparisons(
        entities=[c.config_id for c in CONFIGS],
        rubrics=rubrics,
        rubric=rubric,
        a=study.tasks.a[task],
        b=study.tasks.b[task],
        score=study.scores[which[rubric], task],
        rater=study.tasks.rater[task],
        prompt=study.tasks.prompt[task],
        side=np.where(study.tasks.left_is_a, 1, -1)[task],
    )
    return data.relabel([c.model for c in CONFIGS]) if by_model else data
