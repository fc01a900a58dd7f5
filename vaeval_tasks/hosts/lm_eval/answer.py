"""An answer crosses lm-eval as one JSON string that names a WAV; a plain string is a text-only answer."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from vaeval_tasks.errors import InputError
from vaeval_tasks.store.schema import ResponseStatus

__all__ = ["ANSWER_VERSION", "HarnessAnswer"]

ANSWER_VERSION = 1
_MARK = "vaeval_answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessAnswer:
    """What the harness carries from the model to the metrics."""

    text: str = ""
    audio: str = ""
    """The absolute path of the WAV, empty where there is none."""
    status: ResponseStatus = ResponseStatus.ok
    response_id: str = ""
    """The response in the run folder, empty for a text-only answer."""
    run: str = ""
    """The absolute path of the run folder."""

    def encode(self) -> str:
        """Return the answer as one line of JSON."""
        return json.dumps({_MARK: ANSWER_VERSION, **asdict(self)}, ensure_ascii=False)

    @classmethod
    def decode(cls, raw: str) -> HarnessAnswer:
        """Read an answer; text that is not one of our answers is the answer's own text.

        Raises:
            InputError: the answer is of a newer version, or holds other fields or an unknown status.
        """
        try:
            parsed = json.loads(raw) if raw.lstrip().startswith("{") else None
        except json.JSONDecodeError:
            parsed = None
        if not isinstance(parsed, dict) or _MARK not in parsed:
            return cls(text=raw)
        if parsed.pop(_MARK) != ANSWER_VERSION:
            raise InputError(f"the answer is not of version {ANSWER_VERSION}; use the vaeval that made it")
        try:
            status = ResponseStatus(parsed.pop("status", ResponseStatus.ok))
            return cls(**parsed, status=status)
        except (TypeError, ValueError) as error:
            raise InputError(f"the answer cannot be read ({error})") from None
