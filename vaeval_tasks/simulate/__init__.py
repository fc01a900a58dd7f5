"""Whole preference studies with known truth, in the published shape or any other."""

from vaeval_tasks.simulate.shape import Effects, Shape
from vaeval_tasks.simulate.simulated_study import SimulatedStudy, simulate, write_study

__all__ = ["Effects", "Shape", "SimulatedStudy", "simulate", "write_study"]
