"""A study of the published size, drawn once."""

from __future__ import annotations

import pytest

from vaeval_tasks.simulate import SimulatedStudy, simulate


@pytest.fixture(scope="session")
def published_study() -> SimulatedStudy:
    """The default study, seed 3."""
    return simulate(seed=3)
