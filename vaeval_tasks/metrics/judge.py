"""Judges of content: rules offline, a language model behind an OpenAI-compatible endpoint for the reference."""

from __future__ import annotations

from vaeval_tasks.metrics.judge_http import DEFAULT_MODEL, HttpJudge
from vaeval_tasks.metrics.judge_prompts import FAMILIES, Family, Prompts, family, load_prompts, parse_verdict
from vaeval_tasks.metrics.judge_rules import RulesJudge

__all__ = [
    "DEFAULT_MODEL",
    "FAMILIES",
    "Family",
    "HttpJudge",
    "Prompts",
    "RulesJudge",
    "family",
    "load_prompts",
    "parse_verdict",
]
