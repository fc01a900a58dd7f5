"""emotion2vec+, the paper's recogniser of emotions, by the network of ``funasr`` (extra ``emotion``).

Only the network is used. Its loader (``AutoModel``) is not: it looks for a newer version on the network, downloads from
ModelScope whatever is not a local path, sets torch's threads and all random seeds, and leaves tensors that a checkpoint
lacks at random with a printed warning. Here the three files come from a folder or from one pinned revision of the Hub,
and a checkpoint with a tensor too few is refused. ``funasr`` is MIT; the weights are under Alibaba's "FunASR Model Open
Source License Agreement" 1.1 (free to use, modify and share; source and authors must be named): Ziyang Ma et al.,
emotion2vec, https://arxiv.org/abs/2312.15185.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import MissingDependencyError, MissingWeightsError
from vaeval_tasks.files import sha256_file
from vaeval_tasks.metrics.common import pick_device, require, short, signature, unusable
from vaeval_tasks.metrics.emotion import CLASSES, MIN_SECONDS, class_of
from vaeval_tasks.progress import tracked
from vaeval_tasks.services import weights

__all__ = ["Emotion2Vec", "is_emotion2vec"]

NAME = "emotion2vec-plus-large"
RATE = 16_000
_FEATURE = "emotion recognition with emotion2vec"
_CONFIG, _TOKENS, _MODEL = weights.REFERENCE_FOLDERS[NAME].files
_UNUSED = ".decoder."
"""Tensors of pre-training, which hearing emotions does not touch."""


def is_emotion2vec(path: str | Path) -> bool:
    """Whether a folder is a checkpoint in funasr's form."""
    return (Path(path) / _CONFIG).is_file() and (Path(path) / _TOKENS).is_file()


@dataclass(frozen=True, slots=True)
class _Labels:
    """What the network's ``inference`` asks of a tokenizer."""

    token_list: list[str]


class Emotion2Vec:
    """Hear emotions with emotion2vec+.

    The nine outputs (angry, disgusted, fearful, happy, neutral, other, sad, surprised, unknown) become the benchmark's
    seven: ``other`` and unknown are left out, the rest is scaled to sum to 1.

    Args:
        path: a folder with ``config.yaml``, ``tokens.txt`` and ``model.pt``; by default the pinned revision of the Hub.
        device: a torch device; by default CUDA where there is one, else the CPU.
    """

    def __init__(self, path: str | Path | None = None, *, device: str | None = None) -> None:
        self._path = path
        self._device = device

    def check(self) -> None:
        """Look, without loading or fetching anything, whether emotions can be heard.

        Raises:
            MissingDependencyError: funasr is not installed.
            MissingWeightsError: the folder or the cached revision lacks a file.
        """
        for package in ("funasr", "torch"):
            if find_spec(package) is None:
                raise MissingDependencyError(_FEATURE, package, extra="emotion")
        weights.reference_folder(NAME, path=self._path, fetch=False)

    @cached_property
    def _folder(self) -> Path:
        return weights.reference_folder(NAME, path=self._path)

    @cached_property
    def signature(self) -> str:
        """Model, revision (``local`` for a folder of one's own), checksum of the weights, how many classes count."""
        pin = weights.REFERENCE_FOLDERS[NAME]
        revision = "local" if self._path is not None else short(pin.revision)
        checksum = short(sha256_file(self._folder / _MODEL))
        model = NAME if self._path is None else self._folder.name
        return signature("emotion", model=model, revision=revision, weights=checksum, labels="7of9")

    @cached_property
    def _loaded(self) -> tuple[Any, Any, Any, _Labels]:
        torch = require("torch", _FEATURE, extra="emotion")
        network = require("funasr.models.emotion2vec.model", _FEATURE, extra="emotion")
        folder = self._folder
        config = _config(folder / _CONFIG)
        labels = (folder / _TOKENS).read_text(encoding="utf-8").split("\n")
        labels = labels[:-1] if labels[-1] == "" else labels
        if missing := set(CLASSES) - {class_of(label) for label in labels}:
            raise MissingWeightsError(f"{folder / _TOKENS}: no class {min(missing)!r} among {labels}")
        try:
            model = network.Emotion2vec(model_conf=config["model_conf"], vocab_size=len(labels))
            state = torch.load(folder / _MODEL, map_location="cpu", weights_only=True)
            _fill(model, _unwrapped(state), config.get("scope_map") or ())
        except MissingWeightsError as error:
            raise MissingWeightsError(f"{folder / _MODEL}: {error}") from None
        except Exception as error:  # a pickle of something else, a configuration of another network
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise MissingWeightsError(f"{folder}: no emotion2vec checkpoint ({reason})") from error
        device = pick_device(torch, self._device)
        return torch, model.eval().to(device), device, _Labels(labels)

    def probabilities(self, clips: Sequence[Clip]) -> list[dict[str, float] | None]:
        """Return the probability of each of the seven classes for each clip, None where it is silent or too short.

        Raises:
            MissingWeightsError: the files are not there, or are not a checkpoint of this network.
            MissingDependencyError: torch or funasr is not installed.
        """
        return [self._one(clip) for clip in tracked(clips, "emotions", "clip", total=len(clips))]

    def _one(self, clip: Clip) -> dict[str, float] | None:
        if unusable(clip, min_seconds=MIN_SECONDS):
            return None
        torch, model, device, labels = self._loaded
        with torch.inference_mode():
            ((heard,), _) = model.inference(
                [clip.at(RATE).samples],
                key=["clip"],
                tokenizer=labels,
                device=device,
                granularity="utterance",
                extract_embedding=False,
            )
        shares = dict.fromkeys(CLASSES, 0.0)
        for label, share in zip(heard["labels"], heard["scores"], strict=True):
            if name := class_of(label):
                shares[name] += share
        total = sum(shares.values())
        return {name: share / total for name, share in shares.items()} if total > 0 else None


def _config(path: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise MissingWeightsError(f"{path}: no YAML ({str(error).splitlines()[0]})") from None
    if (
        not isinstance(found, dict)
        or found.get("model") != "Emotion2vec"
        or not isinstance(found.get("model_conf"), dict)
    ):
        raise MissingWeightsError(f"{path}: is not the configuration of an Emotion2vec network")
    return found


def _unwrapped(state: Any) -> Mapping[str, Any]:
    for key in ("state_dict", "model_state_dict", "model"):
        if isinstance(state, Mapping) and isinstance(state.get(key), Mapping):
            state = state[key]
    if not isinstance(state, Mapping):
        raise MissingWeightsError("holds no named tensors")
    return state


def _fill(model: Any, state: Mapping[str, Any], scopes: Sequence[str]) -> None:
    """Copy every tensor of a checkpoint, with or without one of the prefixes that the configuration names."""
    prefixes = ["", *(scope for scope in scopes if str(scope).lower() != "none"), "module."]
    own = model.state_dict()
    found = {name: state[p + name] for name in own for p in reversed(prefixes) if p + name in state}
    lacking = [name for name in own if name not in found and _UNUSED not in name]
    if lacking:
        raise MissingWeightsError(f"{len(lacking)} of {len(own)} tensors are missing, such as {lacking[0]}")
    odd = [name for name, tensor in found.items() if tensor.shape != own[name].shape]
    if odd:
        raise MissingWeightsError(
            f"{odd[0]} has the shape {tuple(found[odd[0]].shape)}, not {tuple(own[odd[0]].shape)}"
        )
    model.load_state_dict(own | found)
