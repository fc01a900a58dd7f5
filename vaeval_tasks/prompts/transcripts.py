"""Transcripts of takes, kept as they come so that an interrupted import goes on where it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vaeval_tasks.audio import Clip
from vaeval_tasks.metrics.backends import Recogniser
from vaeval_tasks.store.log import append_jsonl, read_jsonl

__all__ = ["KeptTranscripts", "Transcript"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What a recogniser heard in a clip."""

    sha256: str
    """Of the clip's samples."""
    signature: str
    """Of the recogniser."""
    text: str


class KeptTranscripts:
    """Transcribe a clip once for each recogniser.

    Args:
        recogniser: the recogniser.
        path: a JSON lines file to keep transcripts in; None to keep none.
    """

    def __init__(self, recogniser: Recogniser, path: Path | None = None) -> None:
        self._recogniser = recogniser
        self._path = path
        kept = read_jsonl(path, Transcript) if path and path.is_file() else ()
        self._known = {(t.sha256, t.signature): t.text for t in kept}

    def __call__(self, clip: Clip) -> str:
        """Return the clip's transcript."""
        key = (clip.sha256, self._recogniser.signature)
        if key not in self._known:
            (text,) = self._recogniser.transcribe([clip])
            self._known[key] = text
            if self._path:
                append_jsonl(self._path, Transcript(sha256=key[0], signature=key[1], text=text))
        return self._known[key]
