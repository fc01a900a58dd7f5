"""Synthetic voices that need no network: Piper, flite and Pico, each run as a separate program.

Piper is GPL-3: it is started as a program and never imported. Its voice ``joe`` comes with ``vaeval weights pull
offline``. flite (Debian package ``flite``) carries its voices. Pico (SVOX, Apache-2.0) comes with the ``offline`` extra
on x86-64 Linux, so that there is a voice where nothing else was installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol

from vaeval_tasks.audio import Clip, read_audio
from vaeval_tasks.errors import MissingDependencyError, ServiceError, UnknownNameError
from vaeval_tasks.services import weights

__all__ = ["VOICES", "FliteVoice", "PicoVoice", "PiperVoice", "Voice", "installed_voices", "open_voice"]

FLITE = ("slt", "rms", "awb", "kal16")
PIPER = {"joe": "piper-joe"}
PICO = {"pico-us": "en-US", "pico-gb": "en-GB"}
VOICES: tuple[str, ...] = (*PIPER, *FLITE, *PICO)
"""Every voice, the best first."""

_PICO_PROGRAM = (
    "import sys; from py_nanotts import NanoTTS; "
    "sys.stdout.buffer.write(NanoTTS().speak(sys.stdin.read(), voice=sys.argv[1]))"
)


class Voice(Protocol):
    """A synthesiser with one voice; the same text always gives the same samples."""

    name: str

    def say(self, text: str) -> Clip:
        """Speak ``text``; a text without words gives an empty clip."""
        ...

    def close(self) -> None:
        """Stop the program behind the voice."""
        ...


def open_voice(name: str) -> Voice:
    """Return a voice by its name, one of :data:`VOICES`.

    Raises:
        UnknownNameError: there is no such voice.
        MissingDependencyError: its program is not installed.
    """
    if name in PIPER:
        return PiperVoice(name)
    if name in FLITE:
        return FliteVoice(name)
    if name in PICO:
        return PicoVoice(name)
    raise UnknownNameError("offline voice", name, VOICES)


def installed_voices() -> tuple[str, ...]:
    """Return the voices whose programs are here, the best first; nothing is started. Weights are another matter."""
    found: list[str] = []
    if _piper() is not None:
        found += PIPER
    if shutil.which("flite") is not None:
        found += FLITE
    if find_spec("py_nanotts") is not None:
        found += PICO
    return tuple(found)


def _piper() -> str | None:
    # beside this Python first: a virtual environment need not be activated
    return shutil.which("piper", path=str(Path(sys.executable).parent)) or shutil.which("piper")


class FliteVoice:
    """One of flite's voices, a program run for each text."""

    def __init__(self, name: str) -> None:
        if shutil.which("flite") is None:
            raise MissingDependencyError("the offline voice", "flite (Debian: apt-get install flite)")
        self.name = name

    def say(self, text: str) -> Clip:
        """Speak ``text`` at the voice's own rate (8 or 16 kHz)."""
        with tempfile.TemporaryDirectory(prefix="vaeval-flite-") as folder:
            source, wav = Path(folder) / "text", Path(folder) / "speech.wav"
            source.write_text(text, encoding="utf-8")
            command = ["flite", "-voice", self.name, "-f", str(source), "-o", str(wav)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            if done.returncode != 0:
                raise ServiceError(f"flite could not speak with the voice {self.name!r}: {done.stderr.strip()[-200:]}")
            return read_audio(wav)

    def close(self) -> None:
        """Do nothing: no program is left running."""


class PicoVoice:
    """One of Pico's voices at 16 kHz. A process for each text: within one, Pico's noise goes on from text to text."""

    def __init__(self, name: str) -> None:
        if find_spec("py_nanotts") is None:
            raise MissingDependencyError(f"the offline voice {name!r}", "py-nanotts", extra="offline")
        self.name = name

    def say(self, text: str) -> Clip:
        """Speak ``text`` at 16 kHz."""
        if not any(c.isalnum() for c in text):
            return Clip.from_pcm16(b"", 16_000)
        command = [sys.executable, "-c", _PICO_PROGRAM, PICO[self.name]]
        done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=120, check=False)
        if done.returncode != 0:
            reason = done.stderr.decode("utf-8", "replace").strip()[-200:]
            raise ServiceError(f"pico could not speak with the voice {self.name!r}: {reason}")
        return Clip.from_pcm16(done.stdout, 16_000)

    def close(self) -> None:
        """Do nothing: no program is left running."""


class PiperVoice:
    """A Piper voice in one program that stays open: a line of text in, one WAV file out."""

    def __init__(self, name: str) -> None:
        program = _piper()
        if program is None:
            raise MissingDependencyError(f"the offline voice {name!r}", "piper-tts")
        self.name = name
        self._folder = tempfile.TemporaryDirectory(prefix="vaeval-piper-")
        # no noise: the same text gives the same samples
        command = [program, "-m", str(weights.offline(PIPER[name])), "-d", self._folder.name]
        self._process = subprocess.Popen(
            [*command, "--noise-scale", "0", "--noise-w-scale", "0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def say(self, text: str) -> Clip:
        """Speak ``text`` at 22,050 Hz."""
        line = " ".join(text.split())
        if not any(c.isalnum() for c in line):
            return Clip.from_pcm16(b"", 22_050)
        stdin, stderr = self._pipe(self._process.stdin), self._pipe(self._process.stderr)
        heard: list[str] = []
        try:
            stdin.write(line + "\n")
            stdin.flush()
            while "Wrote " not in (reply := stderr.readline()):
                if not reply:
                    raise BrokenPipeError
                heard.append(reply)
        except BrokenPipeError:
            reason = "".join(heard).strip()[-300:] or f"exit code {self._process.wait()}"
            raise ServiceError(f"piper stopped while speaking with the voice {self.name!r}: {reason}") from None
        wav = Path(reply.split("Wrote ", 1)[1].strip())
        clip = read_audio(wav)
        wav.unlink()
        return clip

    def close(self) -> None:
        """End the program."""
        if self._process.stdin and not self._process.stdin.closed:
            with suppress(BrokenPipeError):  # the program may have died with a line unread
                self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()
        self._folder.cleanup()

    def __enter__(self) -> PiperVoice:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        if pipe is None or pipe.closed:
            raise ServiceError("the piper voice was closed")
        return pipe
