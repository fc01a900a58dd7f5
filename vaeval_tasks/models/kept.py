"""What is kept of a reply in a run folder: its sound, its provisional sound, its events, and a record of the rest."""

from __future__ import annotations

from dataclasses import replace

from vaeval_tasks.audio import wav_bytes
from vaeval_tasks.files import sha256_bytes, write_bytes, write_text
from vaeval_tasks.models.protocol import Reply
from vaeval_tasks.models.record import event_line
from vaeval_tasks.run import RunDir, now
from vaeval_tasks.schema import Response, slug

__all__ = ["file_name", "keep_reply"]


def file_name(name: str) -> str:
    """Return a file name for an id: its slug, and a hash where the slug alone could be another id's."""
    plain = slug(name)[:120]
    return plain if plain == name else f"{plain}-{sha256_bytes(name.encode())[:8]}"


def keep_reply(run: RunDir, response: Response, reply: Reply, *, name: str) -> Response:
    """Write a reply's files and return the response with its paths and everything else the reply holds.

    Files: ``audio/responses/NAME.wav`` (the final audio), ``NAME.provisional.wav`` beside it, and
    ``events/NAME.ATTEMPT.jsonl``. Each is written whole or not at all.

    Args:
        run: the run folder.
        response: the ids and the number of attempts.
        reply: what came of the last attempt.
        name: of the files, with slashes between folders.
    """
    root, folder = str(run.root), run.response_audio.relative_to(run.root).as_posix()
    wav = provisional = events = ""
    sound = wav_bytes(reply.audio) if reply.audio is not None and len(reply.audio.samples) else b""
    if sound:
        wav = f"{folder}/{name}.wav"
        write_bytes(f"{root}/{wav}", sound)
    if reply.provisional is not None:
        provisional = f"{folder}/{name}.provisional.wav"
        write_bytes(f"{root}/{provisional}", wav_bytes(reply.provisional))
    if reply.events:
        events = f"events/{name}.{response.attempts}.jsonl"
        write_text(f"{root}/{events}", "".join(map(event_line, reply.events)))

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
        total_s=reply.total_s,
        error=reply.error,
        usage=reply.usage,
        request=reply.request,
        events_path=events,
        created=now(),
    )
