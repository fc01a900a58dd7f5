"""What of a model's text it said: reasoning between marks is thought, not said."""

from __future__ import annotations

import re

__all__ = ["split_thoughts"]

_NAMES = r"(?:think|thinking|thought|thoughts|reasoning|reflection)"
_OPEN = rf"(?:<{_NAMES}(?:\s[^<>]{{0,80}})?>|◁think▷|\[THINK\])"
_CLOSE = rf"(?:</{_NAMES}\s*>|◁/think▷|\[/THINK\])"
_BLOCK = re.compile(rf"{_OPEN}(.*?)(?:{_CLOSE}|\Z)", re.DOTALL | re.IGNORECASE)
_UNOPENED = re.compile(rf"\A((?:(?!{_OPEN}).)*?){_CLOSE}", re.DOTALL | re.IGNORECASE)


def split_thoughts(text: str) -> tuple[str, str]:
    """Return what was said, and what was thought: ``<think>…</think>`` and its like.

    A block that is not closed goes to the end; one that was opened in the prompt, as some chat templates do, begins
    at the start.
    """
    if "<" not in text and "◁" not in text and "[" not in text:
        return text, ""
    thoughts: list[str] = []

    def take(found: re.Match[str]) -> str:
        thoughts.append(found.group(1).strip())
        return ""

    said = _BLOCK.sub(take, _UNOPENED.sub(take, text, count=1))
    return (said.strip(), "\n".join(filter(None, thoughts))) if thoughts else (text, "")
