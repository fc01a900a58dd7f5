"""Hold the conversation of one document: every user turn in order, the model's own answers in between."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vaeval_tasks.audio import Clip
from vaeval_tasks.models.protocol import Conversation, Reply, SpeechModel, Turn
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

__all__ = ["Outcome", "hold"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The reply to the last turn, and the texts of the answers to all turns."""

    reply: Reply
    turn_texts: tuple[str, ...] = ()


async def hold(
    model: SpeechModel,
    config: ModelConfig,
    doc: Mapping[str, Any],
    *,
    seed: int,
    keep: Callable[[int, Clip], Path],
) -> Outcome:
    """Ask a model a document.

    The history of a dialogue is the model's own earlier answers, text and sound. A turn that fails ends it.

    Args:
        model: the system.
        config: how it is asked.
        doc: the document.
        seed: of the run; mixed with the document's id, so that processes and order do not matter.
        keep: writes the sound of an earlier answer, given its turn, and returns the file.

    Returns:
        The outcome; of a model that does not see, asked about images, one of status ``unsupported``.
    """
    if doc["images"] and not model.sees:
        return Outcome(reply=Reply(status=ResponseStatus.unsupported, error="the model does not take images"))
    turns: list[Turn] = []
    texts: list[str] = []
    for number, clips in enumerate(doc["turns"]):
        images = tuple(Path(path) for path in doc["images"]) if number == 0 else ()
        turns.append(Turn(role="user", audio=tuple(Path(clip) for clip in clips), images=images))
        conversation = Conversation(
            turns=tuple(turns),
            system_prompt=doc["system_prompt"],
            role_audio=Path(doc["role_audio"]) if doc["role_audio"] else None,
            seed=zlib.crc32(f"{seed} {doc['item_id']} {number}".encode()),
        )
        reply = await model.respond(conversation, config)
        text = reply.text or reply.output_transcript
        texts.append(text)
        last = number == len(doc["turns"]) - 1
        if last or reply.status is not ResponseStatus.ok:
            break
        # for systems that take history as text: what the system itself heard
        turns[-1] = replace(turns[-1], text=reply.input_transcript)
        sound = (keep(number, reply.audio),) if reply.audio is not None else ()
        turns.append(Turn(role="assistant", audio=sound, text=text))
    if not last:
        # what came of an earlier turn is not the answer to the last one
        reply = replace(reply, text="", audio=None, output_transcript="", error=f"turn {number + 1}: {reply.error}")
    return Outcome(reply=reply, turn_texts=tuple(texts))
