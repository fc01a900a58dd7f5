"""The judge's prompts, one text file a task, and the verdict that ends its answer.

A prompt file is plain text with placeholders in braces (:data:`PLACEHOLDERS`); other braces stay as they are. Each must
hold ``{answer}`` and name both verdicts of its family: ``[Correct]`` and ``[Incorrect]``, or ``[Good]`` and ``[Bad]``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.files import sha256_bytes
from vaeval_tasks.metrics.backends import JudgeItem, Scored
from vaeval_tasks.services.verdicts import read_label

__all__ = [
    "FAMILIES",
    "PLACEHOLDERS",
    "VERDICT_RULE",
    "Prompts",
    "VerdictWords",
    "family",
    "load_prompts",
    "parse_verdict",
    "reminder",
    "structured_form",
    "structured_schema",
    "verdict_names",
]

VERDICT_RULE = 2
"""The version of how verdicts are read and asked for again; part of a judge's signature."""


class VerdictWords(StrEnum):
    """The two pairs of verdicts."""

    correct = "correct"
    good = "good"


VERDICTS: dict[str, float] = {"correct": 1.0, "incorrect": 0.0, "good": 1.0, "bad": 0.0}
_OF_FAMILY = {VerdictWords.correct: ("correct", "incorrect"), VerdictWords.good: ("good", "bad")}

FAMILIES: dict[str, VerdictWords] = {
    "listening_general": VerdictWords.correct,
    "listening_music": VerdictWords.correct,
    "listening_sound": VerdictWords.correct,
    "listening_speech": VerdictWords.correct,
    "speaking_assistant": VerdictWords.good,
    "speaking_emotion": VerdictWords.good,
    "speaking_instruction_following": VerdictWords.good,
    "speaking_multi_round": VerdictWords.good,
    "speaking_reasoning": VerdictWords.correct,
    "speaking_robustness": VerdictWords.good,
    "speaking_roleplay": VerdictWords.good,
    "speaking_safety": VerdictWords.good,
    "viewing_multi_discipline": VerdictWords.correct,
}
"""The family of each of the 13 tasks (VoiceAssistant-Eval, judge prompts)."""

PLACEHOLDERS = ("question", "references", "answer", "system_prompt", "user_emotion", "assistant_emotions")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_VERDICT = re.compile(r"\[[\s*_]*(correct|incorrect|good|bad)[\s*_.]*\]", re.IGNORECASE)
_NOT_GIVEN = "(not given)"


def family(task: str) -> VerdictWords:
    """Return the family of a task.

    Raises:
        UnknownNameError: there is no such task.
    """
    if task not in FAMILIES:
        raise UnknownNameError("task", task, FAMILIES)
    return FAMILIES[task]


def parse_verdict(text: str, kind: VerdictWords | None = None) -> Scored:
    """Return 1 or 0 by the one verdict that a judge's answer ends with, None with the reason where it names none.

    What counts as a verdict is decided by :func:`vaeval_tasks.services.verdicts.read_label`.

    Args:
        text: the whole answer; it may think aloud, and name verdicts on the way.
        kind: the family that was asked for; by default either.
    """
    found = read_label(text, tuple(VERDICTS))
    reason = found.reason
    if kind is not None and found.label and found.label not in _OF_FAMILY[kind]:
        reason = f"it says {found.label}, which was not asked"
    if reason:
        return Scored(value=None, detail=f"no verdict in the judge's answer ({reason}): {_tail(text)}")
    return Scored(value=VERDICTS[found.label], detail=_tail(text))


def verdict_names(kind: VerdictWords) -> tuple[str, str]:
    """Return the two verdicts of a family as they are written: ``Correct``, ``Incorrect``."""
    right, wrong = _OF_FAMILY[kind]
    return right.capitalize(), wrong.capitalize()


def reminder(kind: VerdictWords, structured: bool) -> str:
    """Return what a judge is told whose answer had no clear verdict; it is asked once more, and only once."""
    right, wrong = verdict_names(kind)
    if structured:
        form = f'one JSON object and nothing else: {{"verdict": "{right}"}} or {{"verdict": "{wrong}"}}'
    else:
        form = f"exactly one verdict in brackets and nothing else: [{right}] or [{wrong}]"
    return f"I could not read one clear verdict in your reply. Do not explain again. Reply with {form}."


def structured_form(kind: VerdictWords) -> str:
    """Return what is added to a prompt where the verdict is asked for as JSON."""
    right, wrong = verdict_names(kind)
    return (
        'Give your whole reply as one JSON object with the keys "reasoning" (your thoughts, in a few sentences) and '
        f'"verdict" ("{right}" or "{wrong}"), in this order, in the place of the brackets.'
    )


def structured_schema(kind: VerdictWords) -> dict[str, object]:
    """Return the JSON schema of such a reply."""
    verdict = {"type": "string", "enum": list(verdict_names(kind))}
    return {
        "type": "object",
        "properties": {"reasoning": {"type": "string"}, "verdict": verdict},
        "required": ["reasoning", "verdict"],
        "additionalProperties": False,
    }


def _tail(text: str) -> str:
    """Return the end of an answer, on one line, short enough for a table."""
    line = " ".join(text.split())
    return line if len(line) <= 300 else f"…{line[-300:]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """The prompts of all 13 tasks."""

    texts: dict[str, str]
    """Task: template."""

    @property
    def sha256(self) -> str:
        """The checksum of all templates, in the order of the tasks' names."""
        return sha256_bytes("\0".join(f"{task}\0{self.texts[task]}" for task in sorted(self.texts)).encode())

    def render(self, item: JudgeItem) -> str:
        """Return what the judge is asked about an item. Empty fields read ``(not given)``.

        Raises:
            UnknownNameError: there is no such task.
        """
        family(item.task)
        values = {
            "question": item.question,
            "references": "\n".join(item.references),
            "answer": _VERDICT.sub(r"(\1)", item.answer),  # quoted back, it must not look like the judge's own
            "system_prompt": item.system_prompt,
            "user_emotion": item.user_emotion,
            "assistant_emotions": item.assistant_emotions,
        }
        # one pass, so that braces inside an answer are never filled in
        return _PLACEHOLDER.sub(
            lambda m: (values[m[1]].strip() or _NOT_GIVEN) if m[1] in values else m[0], self.texts[item.task]
        )


def load_prompts(folder: str | Path | None = None) -> Prompts:
    """Read ``<task>.txt`` of all 13 tasks from a folder, by default our own wording.

    Raises:
        InputError: the folder or a task's file is missing, or a file has an unknown placeholder, no ``{answer}``, or
            does not name both verdicts.
    """
    root = Path(folder) if folder is not None else Path(__file__).parent / "prompts"
    if not root.is_dir():
        raise InputError("no such folder of judge prompts", path=root)
    for path in root.glob("*.txt"):
        if path.stem not in FAMILIES:
            raise InputError(str(UnknownNameError("task", path.stem, FAMILIES)), path=path)
    return Prompts(texts={task: _read(root / f"{task}.txt", kind) for task, kind in FAMILIES.items()})


def _read(path: Path, kind: VerdictWords) -> str:
    if not path.is_file():
        raise InputError("the judge prompt of this task is missing; a folder needs one file for each task", path=path)
    try:
        text = path.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text ({error})", path=path) from None
    used = set(_PLACEHOLDER.findall(text))
    for name in sorted(used - set(PLACEHOLDERS)):
        raise InputError(str(UnknownNameError("placeholder", name, PLACEHOLDERS)), path=path)
    if "answer" not in used:
        raise InputError("has no {answer} placeholder", path=path)
    named = {v.lower() for v in _VERDICT.findall(text)}
    for verdict in _OF_FAMILY[kind]:
        if verdict not in named:
            raise InputError(f"never names the verdict [{verdict.capitalize()}]", path=path)
    return text + "\n"
