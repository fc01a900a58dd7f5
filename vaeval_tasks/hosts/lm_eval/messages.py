"""A document as chat messages for a model that is not ours: a role as the system message, each user turn as a turn."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vaeval_tasks.audio import read_audio, wav_bytes
from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.lm_eval.given import Given, GivenAs

__all__ = ["messages", "plain_text", "rendered"]

IMAGE, AUDIO = "<image>", "<audio>"
"""What lm-eval's multimodal models replace by their own tokens."""
_MIME = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "bmp": "image/bmp", "webp": "image/webp"}

Message = dict[str, Any]


def plain_text(doc: Mapping[str, Any]) -> str:
    """Return all that is said to the model as one text: the role, then each turn."""
    return "\n".join(str(message["content"]) for message in messages(doc, Given()))


def messages(doc: Mapping[str, Any], given: Given, *, instruction: str = "") -> list[Message]:
    """Return the chat messages of a document.

    Args:
        doc: the document.
        given: what the model is given. One that hears gets the clips, another the transcripts.
        instruction: a system instruction of the user's, before that of the document.
    """
    system = "\n".join(text for text in (instruction, _without_marks(doc["system_prompt"])) if text)
    turns = _spoken(doc, given) if given.hears else _written(doc)
    if given.sees and doc["images"]:
        turns[0] = _pictures(doc["images"], given) + turns[0]
    users = [{"role": "user", "content": _content(turn)} for turn in turns]
    return ([{"role": "system", "content": system}] if system else []) + users


Part = str | Message
"""A piece of a message: text, or a part of the OpenAI protocol."""


def _without_marks(text: str) -> str:
    """Text without the marks of media: those of the data mean the role's voice, which a text cannot hold."""
    return " ".join(text.replace(IMAGE, " ").replace(AUDIO, " ").split(" ")).strip()


def _written(doc: Mapping[str, Any]) -> list[list[Part]]:
    if len(doc["transcripts"]) == len(doc["turns"]):
        return [[_without_marks(text)] for text in doc["transcripts"]]
    lines = [doc["question"]]
    if not doc["transcripts"]:
        # the options are read aloud, so a transcript holds them; the raw question does not
        lines += doc["options"]
    return [["\n".join(_without_marks(line) for line in lines if line)]]


def _spoken(doc: Mapping[str, Any], given: Given) -> list[list[Part]]:
    if given.form is GivenAs.placeholders:
        return [[AUDIO * len(clips)] for clips in doc["turns"]]
    return [[_sound_part(clip) for clip in clips] for clips in doc["turns"]]


def _sound_part(path: str) -> Message:
    data = base64.b64encode(wav_bytes(read_audio(path))).decode("ascii")  # WAV is the one form that all servers take
    return {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}


def _pictures(paths: Sequence[str], given: Given) -> list[Part]:
    if given.form is GivenAs.placeholders:
        return [f"{IMAGE}\n" * len(paths)]
    return [_picture_part(Path(path)) for path in paths]


def _picture_part(path: Path) -> Message:
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{_MIME[path.suffix[1:]]};base64,{data}"}}


def _content(parts: list[Part]) -> str | list[Message]:
    if all(isinstance(part, str) for part in parts):
        return "".join(str(part) for part in parts)
    return [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]


def rendered(chat: list[Message], template: Callable[[list[Message]], Any]) -> Any:
    """Return messages in the model's own form.

    Some templates take no system message, or no second user message before an answer; theirs are joined then.

    Args:
        chat: the messages.
        template: the model's ``apply_chat_template``.

    Raises:
        InputError: it takes none of the forms.
    """
    fault: Exception | None = None
    for form in (chat, _one_question(chat), _no_system(_one_question(chat))):
        try:
            return template([dict(message) for message in form])  # some change what they are given
        except Exception as error:  # a template raises what its author, Jinja or the tokenizer finds right
            fault = fault or error
    raise InputError(
        f"the model's chat template refuses the conversation ({(str(fault).splitlines() or [''])[0]}); leave out "
        "--apply_chat_template, or give another template"
    )


def _one_question(chat: list[Message]) -> list[Message]:
    users = [message["content"] for message in chat if message["role"] == "user"]
    system = [message for message in chat if message["role"] == "system"]
    if all(isinstance(content, str) for content in users):
        return [*system, {"role": "user", "content": "\n".join(users)}]
    parts = [[{"type": "text", "text": c}] if isinstance(c, str) else c for c in users]
    return [*system, {"role": "user", "content": [part for turn in parts for part in turn]}]


def _no_system(chat: list[Message]) -> list[Message]:
    if chat[0]["role"] != "system":
        return chat
    text, content = chat[0]["content"], chat[1]["content"]
    joined = f"{text}\n{content}" if isinstance(content, str) else [{"type": "text", "text": text}, *content]
    return [{"role": "user", "content": joined}]
