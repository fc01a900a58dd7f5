"""What an answer ends on where it corrects itself: ``Paris. No wait, Lyon.`` ends on Lyon."""

from __future__ import annotations

import re

from vaeval_tasks.metrics.spoken_text import plain

__all__ = ["corrected"]

_CORRECTION = re.compile(
    r"(?:^|[.,;:!?-]\s*|\s+)(?:oh,? |uh,? |um,? |er,? )?"
    r"(?:no,? wait(?:,? no)?|wait,? no|no,? no|sorry,? no|no,? sorry|sorry,? (?=i mean)|i mean(?:t)?(?: to say)?|"
    r"scratch that|correction|make that|or rather|actually,? no|no,? actually|let me correct (?:that|myself)|"
    r"(?<=[.,;:!?-] )(?:wait|hold on|hang on|no|sorry)(?=[,.:;!]))"
    r"[,.:;!]*\s+(?:sorry[,.]?\s+)?(?:i mean(?:t)?(?: to say)?[,:]?\s+)?",
    re.IGNORECASE,
)


def corrected(answer: str) -> tuple[str, str] | None:
    """Return what an answer said before it corrected itself last, and what it says instead; None where it did not."""
    text = plain(answer).strip()
    found = [m for m in _CORRECTION.finditer(text) if text[m.end() :].strip(" .!?")]
    return (text[: found[-1].start()], text[found[-1].end() :]) if found else None
