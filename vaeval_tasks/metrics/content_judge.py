"""Judges of content: rules offline, a language model behind an OpenAI-compatible endpoint for the reference."""

from __future__ import annotations

from collections.abc import Mapping
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
from vaeval_tasks.services.http.request_options import JUDGE_OPTIONS, with_options

__all__ = [
    "DEFAULT_MODEL",
    "FAMILIES",
    "JUDGE_OPTIONS",
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
    profile: str,
    *,
    url: str | None = None,
    model: str | None = None,
    prompts: str | Path | None = None,
    request: Mapping[str, object] | None = None,
) -> ChatContentJudge | RulesJudge:
    """Return the judge at ``url``; without one, the rules, where the profile is ``offline``.

    Args:
        profile: ``offline`` or ``reference``.
        url: the endpoint's base.
        model: the judge's name there.
        prompts: a folder of other prompts.
        request: options of :data:`~vaeval_tasks.services.http.request_options.JUDGE_OPTIONS`; None is not given.

    Raises:
        InputError: the reference profile has no ``url``, the rules were given a model, prompts or options, or the
            prompts or an option are wrong.
        UnknownNameError: there is no such option.
    """
    options = with_options(replace(DEFAULT_OPTIONS, model=model or DEFAULT_MODEL), request or {})
    if url:
        return ChatContentJudge(url, options, prompts=prompts)
    if profile == Profile.reference:
        raise InputError("the reference judge needs the base of its endpoint, such as http://localhost:8000/v1")
    if model or prompts:
        raise InputError("a judge model or prompts need the judge's address too: the offline rules take neither")
    if given := [name for name, value in (request or {}).items() if value is not None]:
        raise InputError(f"{given[0]} needs the judge's address too: the offline rules ask nobody")
    return RulesJudge()
