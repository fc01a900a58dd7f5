"""Prompts x configurations -> responses: concurrent, resumable, and never paid for twice."""

from __future__ import annotations

from vaeval_tasks.generate.plan import Job, Plan, make_plan
from vaeval_tasks.generate.runner import generate

__all__ = ["Job", "Plan", "generate", "make_plan"]
