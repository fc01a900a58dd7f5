"""Consistency of a response's text with its sound: the character-level "modified WER".

Source: VoiceAssistant-Eval (arXiv 2509.22651), consistency score. With ``n`` and ``m`` the numbers of
characters of the two texts, lower-cased and without white space::

    WER' = 1                        if min(n, m) < 10 and max(n, m) > 10
         = 0                        if min(n, m) < 10 and max(n, m) <= 10
         = levenshtein / max(n, m)  otherwise

The paper leaves open which strings the distance runs on; here it is the lower-cased, space-free ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from vaeval_tasks.errors import InputError
from vaeval_tasks.metrics.common import signature

__all__ = ["SIGNATURE", "consistency", "modified_wer", "modified_wers"]

SHORT = 10
"""Texts with fewer characters than this are not compared letter by letter."""

SIGNATURE = signature("modified-wer", level="characters", case="lower", spaces="removed")


def _bare(text: str) -> str:
    return "".join(text.lower().split())


def modified_wer(prediction: str, reference: str) -> float:
    """Return the modified WER of two texts, from 0 (same) to 1.

    Args:
        prediction: the response's own text.
        reference: the transcript of its audio. The measure is symmetric.
    """
    import jiwer

    a, b = _bare(prediction), _bare(reference)
    longer = max(len(a), len(b))
    if min(len(a), len(b)) < SHORT:
        return float(longer > SHORT)
    edits = jiwer.process_characters(a, b)
    return float((edits.substitutions + edits.deletions + edits.insertions) / longer)


def modified_wers(predictions: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return the modified WER of each pair.

    Raises:
        InputError: the lists differ in length.
    """
    if len(predictions) != len(references):
        raise InputError(f"{len(predictions)} predictions but {len(references)} references; give one for each")
    return [modified_wer(p, r) for p, r in zip(predictions, references, strict=True)]


def consistency(wers: Sequence[float]) -> float | None:
    """Return ``100 * (1 - mean)`` of modified WERs, None where there are none."""
    return 100.0 * (1.0 - sum(wers) / len(wers)) if wers else None
