"""What is kept of a reply in a run folder: its sounds as files, everything sent and received, a record of the rest."""

from __future__ import annotations

import json
from dataclasses import replace

from vaeval_tasks.audio import wav_bytes
from vaeval_tasks.files import sha256_bytes, write_bytes
from vaeval_tasks.models.protocol import Reply
from vaeval_tasks.models.transport.record import audio_stub
from vaeval_tasks.store.run import RunDir, now
from vaeval_tasks.store.schema import Response, slug

__all__ = ["exchange_line", "file_name", "keep_sounds"]


def file_name(name: str) -> str:
    """Return a file name for an id: its slug, and a hash where the slug alone could be another id's."""
    plain = slug(name)[:120]
    return plain if plain == name else f"{plain}-{sha256_bytes(name.encode())[:8]}"


def keep_sounds(run: RunDir, response: Response, reply: Reply, *, name: str, rank: int = 0) -> Response:
    """Write a reply's sounds and return the response with their paths and everything else the reply holds.

    Files: ``audio/responses/NAME.wav`` (the final audio) and ``NAME.provisional.wav`` beside it, each written whole or
    not at all.

    Args:
        run: the run folder.
        response: the ids and the number of attempts.
        reply: what came of the last attempt.
        name: of the files, with slashes between folders.
        rank: the number of the process, which has its own log of exchanges.
    """
    root, folder = str(run.root), run.response_audio.relative_to(run.root).as_posix()
    wav = provisional = ""
    sound = wav_bytes(reply.audio) if reply.audio is not None and len(reply.audio.samples) else b""
    if sound:
        wav = f"{folder}/{name}.wav"
        write_bytes(f"{root}/{wav}", sound)
    if reply.provisional is not None:
        provisional = f"{folder}/{name}.provisional.wav"
        write_bytes(f"{root}/{provisional}", wav_bytes(reply.provisional))

    return replace(
        response,
        status=reply.status,
        text=reply.text,
        path=wav,
        sha256=sha256_bytes(sound) if sound else "",
        sampling_rate=reply.audio.rate if reply.audio is not None and sound else 0,
        seconds=reply.audio.seconds if reply.audio is not None else 0.0,
        provisional_path=provisional,
        input_transcript=reply.input_transcript,
        output_transcript=reply.output_transcript,
        thoughts=reply.thoughts,
        first_audio_s=reply.first_audio_s,
        first_byte_s=reply.first_byte_s,
        speech_pace=reply.speech_pace,
        total_s=reply.total_s,
        error=reply.error,
        usage=reply.usage,
        request=reply.request,
        events_path=run.exchanges_log(rank).name if reply.events else "",
        created=now(),
    )


def exchange_line(response: Response, reply: Reply) -> str:
    """Return everything sent and received in one attempt as a line of JSON, with audio as length and hash.

    The hash is taken here and not when the audio comes: what happens between two messages makes the others wait.
    Empty where nothing was recorded.
    """
    if not reply.events:
        return ""
    about = {"response_id": response.response_id, "attempt": response.attempts}
    if response.turn:
        about["turn"] = response.turn
    return json.dumps({**about, "events": reply.events}, ensure_ascii=False, default=audio_stub) + "\n"
