"""Make the clips that raters are served: one format for all, no metadata, checked; never the raw file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vaeval_tasks.audio import Clip, read_audio, wav_bytes
from vaeval_tasks.errors import InputError
from vaeval_tasks.files import sha256_bytes, write_bytes
from vaeval_tasks.prompts.loudness import normalised

__all__ = ["CLIPS", "ServedClip", "publish"]

CLIPS = "audio/clips"
"""Where published clips lie in the run folder; they are named by their content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedClip:
    """A clip as it is served: ``file`` is relative to the run folder."""

    file: str
    sha256: str
    seconds: float


def source_file(root: Path, relative: str) -> Path:
    """Return a source file inside the run folder.

    Raises:
        InputError: it is missing, a symbolic link, or outside the folder.
    """
    path = root / relative
    inside = path.resolve().is_relative_to(root.resolve())
    if not inside or path.is_symlink():
        raise InputError("must be a plain file inside the run folder, not a link or a path that leads out", path=path)
    if not path.is_file():
        raise InputError("no such audio file; make the responses again or mend the path", path=path)
    return path


def publish(root: Path, relative: str, *, loudness: float | None = None) -> ServedClip:
    """Publish one source file as a 16-bit mono WAV that holds nothing but its samples.

    The rate stays. With ``loudness`` a single linear gain brings the clip to that integrated loudness
    (ITU-R BS.1770), or as near as a true peak of -1.5 dBTP allows; nothing else of the sound is touched.

    Args:
        root: the run folder.
        relative: the source, relative to it.
        loudness: LUFS, or None to leave the level.

    Raises:
        InputError: the source is no sound, empty or silent, or its loudness cannot be measured. Nothing is
            published then: a raw or silent clip is never served in its place.
    """
    path = source_file(root, relative)
    clip = read_audio(path)
    if clip.silent:
        raise InputError("is empty or silent; leave out the prompt (--on-missing exclude) or mend the file", path=path)
    if loudness is not None:
        clip = _leveled(clip, loudness, path)
    data = wav_bytes(clip)
    sha256 = sha256_bytes(data)
    target = root / CLIPS / f"{sha256}.wav"
    if not target.is_file():
        write_bytes(target, data)
    return ServedClip(file=f"{CLIPS}/{sha256}.wav", sha256=sha256, seconds=clip.seconds)


def _leveled(clip: Clip, wanted: float, path: Path) -> Clip:
    try:
        return normalised(clip, wanted).clip
    except InputError as error:
        raise InputError(f"the loudness cannot be brought to {wanted:g} LUFS ({error})", path=path) from None
