"""Prompts x configurations -> responses: concurrent, resumable, and never paid for twice."""

from __future__ import annotations

from vaeval_tasks.generate.engine import generate
from vaeval_tasks.generate.plan import Job, Plan, make_plan

__all__ = ["Job", "Plan", "generate", "make_plan"]
