"""Judges of content: rules offline, a language model behind an OpenAI-compatible endpoint for the reference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from vaeval_tasks.errors import InputError
from vaeval_tasks.metrics.common import Profile
from vaeval_tasks.metrics.content_judge_chat import DEFAULT_MODEL, DEFAULT_OPTIONS, ChatContentJudge
from vaeval_tasks.metrics.content_judge_prompts import (
    FAMILIES,
    Prompts,
    VerdictWords,
    family,
    load_prompts,
    parse_verdict,
)
from vaeval_tasks.metrics.content_judge_rules import RulesJudge

__all__ = [
    "DEFAULT_MODEL",
    "FAMILIES",
    "ChatContentJudge",
    "Prompts",
    "RulesJudge",
    "VerdictWords",
    "family",
    "load_prompts",
    "parse_verdict",
    "pick_content_judge",
]


def pick_content_judge(
    profile: str, *, url: str | None = None, model: str | None = None, prompts: str | Path | None = None
) -> ChatContentJudge | RulesJudge:
    """Return the judge at ``url``; without one, the rules, where the profile is ``offline``.

    Raises:
        InputError: the reference profile has no ``url``, the rules were given a model or prompts, or the prompts are
            wrong.
    """
    if url:
        return ChatContentJudge(url, replace(DEFAULT_OPTIONS, model=model or DEFAULT_MODEL), prompts=prompts)
    if profile == Profile.reference:
        raise InputError("the reference judge needs the base of its endpoint, such as http://localhost:8000/v1")
    if model or prompts:
        raise InputError("a judge model or prompts need the judge's address too: the offline rules take neither")
    return RulesJudge()
