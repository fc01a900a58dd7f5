"""Emotions heard in a voice, for the judge of ``speaking_emotion``.

The paper's recogniser is emotion2vec over seven classes, see :mod:`vaeval_tasks.metrics.emotion2vec`. This backend
takes any ``transformers`` audio classifier whose labels are among the seven.
Offline there is none: the judge is then told that emotions were not measured, and the signature says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import MissingWeightsError
from vaeval_tasks.files import sha256_file
from vaeval_tasks.metrics.common import each_clip, pick_device, require, short, signature, unusable

__all__ = ["CLASSES", "LISTED_ABOVE", "NO_EMOTION_SIGNATURE", "EmotionClassifier", "class_of", "described"]

CLASSES = ("angry", "disgusted", "fearful", "happy", "neutral", "sad", "surprised")
LISTED_ABOVE = 0.01
"""Emotions with a probability above this are listed to the judge (paper)."""
NO_EMOTION_SIGNATURE = signature("emotion", model="none")

MIN_SECONDS = 0.3
_FEATURE = "emotion recognition"
_ALIASES = {
    "ang": "angry", "anger": "angry", "dis": "disgusted", "disgust": "disgusted", "fea": "fearful", "fear": "fearful",
    "hap": "happy", "happiness": "happy", "joy": "happy", "neu": "neutral", "sadness": "sad", "sur": "surprised",
    "surprise": "surprised",
}  # fmt: skip


def described(probabilities: dict[str, float] | None) -> str:
    """Return ``happy (0.81), neutral (0.12)``, likeliest first, without those at or below 0.01; "" for None."""
    likely = sorted((probabilities or {}).items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name} ({p:.2f})" for name, p in likely if p > LISTED_ABOVE)


class EmotionClassifier:
    """Hear emotions with an audio classifier of ``transformers``.

    Labels of emotion2vec (``生气/angry``) and short ones (``ang``) are understood; others (``other``, ``<unk>``) are
    left out, and the probabilities of the seven classes are scaled to sum to 1.

    Args:
        path: a folder of a checkpoint with its feature extractor, or a repository of the Hub.
        device: a torch device; by default CUDA where there is one, else the CPU.
    """

    def __init__(self, path: str | Path, *, device: str | None = None) -> None:
        self._name = str(path)
        self._device = device

    @cached_property
    def signature(self) -> str:
        """Name and checksum of the checkpoint in use."""
        if (file := Path(self._name) / "model.safetensors").is_file():
            return signature("emotion", model=Path(self._name).name, weights=short(sha256_file(file)))
        return signature("emotion", model=self._name, revision=self._model[1].config._commit_hash or "local")

    @cached_property
    def _model(self) -> tuple[Any, Any, Any, Any, dict[int, str]]:
        name = self._name
        torch = require("torch", _FEATURE, extra="reference")
        transformers = require("transformers", _FEATURE, extra="reference")
        try:
            extractor = transformers.AutoFeatureExtractor.from_pretrained(name)
            model = transformers.AutoModelForAudioClassification.from_pretrained(name)
        except (OSError, ValueError) as error:
            raise MissingWeightsError(f"{name}: no audio classifier there ({str(error).splitlines()[0]})") from error
        labels = {i: named for i, label in model.config.id2label.items() if (named := class_of(label))}
        if set(labels.values()) != set(CLASSES):
            raise MissingWeightsError(
                f"{name}: its labels {list(model.config.id2label.values())} do not cover {', '.join(CLASSES)}"
            )
        device = pick_device(torch, self._device)
        return torch, model.eval().to(device), extractor, device, labels

    def probabilities(self, clips: Sequence[Clip]) -> list[dict[str, float] | None]:
        """Return the probability of each of the seven classes for each clip, None where it is silent or too short.

        Raises:
            MissingWeightsError: there is no such checkpoint, or its labels are others.
            MissingDependencyError: torch or transformers is not installed.
        """
        return each_clip(self._one, clips, "emotions", loaded=lambda: self._model)

    def _one(self, clip: Clip) -> dict[str, float] | None:
        if unusable(clip, min_seconds=MIN_SECONDS):
            return None
        torch, model, extractor, device, labels = self._model
        rate = extractor.sampling_rate
        inputs = extractor(clip.at(rate).samples, sampling_rate=rate, return_tensors="pt").to(device)
        with torch.inference_mode():
            shares = model(**inputs).logits[0].softmax(dim=0).tolist()
        heard = {named: sum(shares[i] for i, label in labels.items() if label == named) for named in CLASSES}
        return {named: share / sum(heard.values()) for named, share in heard.items()}


def class_of(label: str) -> str:
    """Return which of the seven classes a checkpoint's label means, "" for none."""
    name = label.rpartition("/")[2].strip().lower()
    name = _ALIASES.get(name, name)
    return name if name in CLASSES else ""
