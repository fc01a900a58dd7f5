"""What the judge is told and asked, and how its answer is read."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from vaeval_tasks.files import sha256_bytes
from vaeval_tasks.rubrics import RUBRICS, Rubric
from vaeval_tasks.services.verdicts import final_text, json_objects
from vaeval_tasks.store.schema import CMOS_MAX, Prompt

__all__ = [
    "INSTRUCTIONS",
    "REMINDER",
    "AudioPart",
    "PairVerdict",
    "instructions_sha256",
    "messages",
    "questions",
    "read_verdict",
    "scores_schema",
]

INSTRUCTIONS = """\
You compare two spoken responses to the same spoken request. You hear the request, then response 1, then response 2. \
Judge what you hear: what is said, how it is said, and how it sounds. Do not let length or order sway you, and judge \
every question on its own.

Answer each question with a whole number:
 3  response 1 is much better
 2  response 1 is better
 1  response 1 is slightly better
 0  about the same
-1  response 2 is slightly better
-2  response 2 is better
-3  response 2 is much better

Reply with one JSON object and nothing else. It has exactly these keys, each with a number from -3 to 3:"""
REMINDER = """\
I could not use your reply: {reason}. Do not explain. Reply with one JSON object and nothing else, with exactly the \
keys you were given, each with a whole number from -3 to 3."""


class AudioPart(StrEnum):
    """How a clip stands in a message."""

    input_audio = "input_audio"
    """OpenAI, vLLM."""
    audio_url = "audio_url"
    """vLLM, vLLM-Omni, SGLang: a data URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdict:
    """The judge's answer to every question, positive where response 1 is better; empty with the reason if unusable."""

    scores: dict[str, int] = field(default_factory=dict)
    reason: str = ""


def questions(prompt: Prompt, rubrics: Sequence[str] = ()) -> tuple[Rubric, ...]:
    """Return the questions that apply to a prompt, in the order of the rubric.

    Args:
        prompt: its gates decide on the gated questions.
        rubrics: only these keys, if any are named.
    """
    return tuple(r for r in RUBRICS if (not r.gated or r.key in prompt.gates) and (not rubrics or r.key in rubrics))


def instructions_sha256() -> str:
    """Return the checksum of everything the judge is told; another text makes another rater."""
    return sha256_bytes("\n".join([INSTRUCTIONS, *(f"{r.key}: {r.text}" for r in RUBRICS)]).encode("utf-8"))


def _clip(wav: bytes, part: AudioPart) -> dict[str, Any]:
    data = base64.b64encode(wav).decode("ascii")
    if part is AudioPart.input_audio:
        return {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}
    return {"type": "audio_url", "audio_url": {"url": f"data:audio/wav;base64,{data}"}}


def messages(
    asked: Sequence[Rubric], request: bytes, first: bytes, second: bytes, part: AudioPart
) -> list[dict[str, Any]]:
    """Return the chat: instructions, the questions, and the three WAV files in the order they are named."""
    listed = "\n".join(f'"{r.key}": {r.text}' for r in asked)
    content: list[dict[str, Any]] = [{"type": "text", "text": "The request:"}, _clip(request, part)]
    content += [{"type": "text", "text": "Response 1:"}, _clip(first, part)]
    content += [{"type": "text", "text": "Response 2:"}, _clip(second, part)]
    content.append({"type": "text", "text": "Your JSON object:"})
    return [{"role": "system", "content": f"{INSTRUCTIONS}\n{listed}"}, {"role": "user", "content": content}]


def scores_schema(asked: Sequence[Rubric]) -> dict[str, Any]:
    """Return the JSON schema of an answer to these questions."""
    score = {"type": "integer", "enum": list(range(-CMOS_MAX, CMOS_MAX + 1))}
    keys = [r.key for r in asked]
    return {
        "type": "object",
        "properties": dict.fromkeys(keys, score),
        "required": keys,
        "additionalProperties": False,
    }


def read_verdict(text: str, asked: Sequence[Rubric]) -> PairVerdict:
    """Read the one JSON object in an answer; reasoning, words or a code fence around it do not matter.

    An answer that leaves a question out, adds one, or gives anything but a whole number in range is unusable: to
    keep its good half would favour the questions that are easy to answer. So is one that holds several objects.
    """
    said = final_text(text)
    objects = [content for _, _, content in json_objects(said)]
    if not objects:
        return PairVerdict(reason="not JSON" if "{" in said else "no JSON object in the answer")
    if any(content != objects[0] for content in objects):
        return PairVerdict(reason="several JSON objects in the answer")
    found = objects[0]
    keys = [r.key for r in asked]
    if set(found) != set(keys):
        missing = [key for key in keys if key not in found]
        more = sorted(set(found) - set(keys))
        wrong = [f"without {', '.join(missing)}"] * bool(missing) + [f"with {', '.join(more)}"] * bool(more)
        return PairVerdict(reason=f"an answer {' and '.join(wrong)}")
    scores = {}
    for key in keys:
        value = found[key]
        if isinstance(value, bool) or value not in range(-CMOS_MAX, CMOS_MAX + 1):
            return PairVerdict(reason=f"{key} is {value!r}, not a whole number from -3 to 3")
        scores[key] = int(value)
    return PairVerdict(scores=scores)
