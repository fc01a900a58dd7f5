"""Transcript against script: the word error rate, and whether the end of the script is missing."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

__all__ = ["Compared", "compare", "plain_words"]

# fmt: off
_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
# fmt: on


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A transcript held against the script."""

    wer: float
    """Substitutions, deletions and insertions over the words of the script; may exceed 1."""
    missing_end: int
    """Words at the end of the script that the transcript does not have."""
    words: int
    """Words of the script."""


def plain_words(text: str) -> list[str]:
    """Return the words in lower case, without punctuation and accents, numbers up to 99 written out."""
    text = unicodedata.normalize("NFKD", text.lower()).replace("’", "'")
    kept = "".join(c if c.isalnum() else "" if c == "'" or unicodedata.combining(c) else " " for c in text)
    return [part for word in kept.split() for part in _spelt(word)]


def _spelt(word: str) -> list[str]:
    if not (word.isascii() and word.isdigit()) or len(word) > 2:
        return [word]
    tens, ones = divmod(int(word), 10)
    if tens < 2:
        return [_SMALL[int(word)]]
    return [_TENS[tens - 2], *([_SMALL[ones]] if ones else [])]


def compare(script: str, transcript: str) -> Compared:
    """Compare what was to be said with what was heard.

    Args:
        script: it must have a word.
        transcript: may be empty.
    """
    import jiwer

    edits = jiwer.process_words(" ".join(plain_words(script)), " ".join(plain_words(transcript)))
    words = len(edits.references[0])
    last = edits.alignments[0][-1]
    missing = last.ref_end_idx - last.ref_start_idx if last.type == "delete" else 0
    return Compared(wer=edits.wer, missing_end=missing, words=words)
