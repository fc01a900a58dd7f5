"""Turns messages with clips and images into the tensors of a Qwen-Omni model.

The official processor needs torchvision for its video part, which speech does not. Where it cannot be loaded, the
tokenizer and the feature extractor of the same checkpoint do the same for text and audio.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.errors import InputError

__all__ = [
    "INPUT_RATE",
    "AudioOnlyProcessor",
    "OmniInput",
    "Processor",
    "audio_tokens_q3",
    "audio_tokens_q25",
    "can_see",
]

INPUT_RATE = 16000
"""Hz."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniInput:
    """One conversation: chat messages, and the clips and images they name, in order."""

    messages: list[dict[str, Any]]
    audio: tuple[NDArray[np.float32], ...]
    """Mono at 16 kHz."""
    images: tuple[Path, ...] = ()
    seed: int = 0


@cache
def can_see() -> bool:
    """Whether images can be taken: torchvision is there, and goes with the torch that is there."""
    try:
        import torchvision  # type: ignore[import-not-found, unused-ignore] # noqa: F401 - a build for another torch fails with a RuntimeError
    except (ImportError, RuntimeError, OSError):
        return False
    return True


def audio_tokens_q3(frames: int) -> int:
    """Return how many tokens Qwen3-Omni makes of so many mel frames (three strided convolutions, per 100 frames)."""
    left = frames % 100
    first = (left - 1) // 2 + 1
    return ((first - 1) // 2 + 1 - 1) // 2 + 1 + (frames // 100) * 13


def audio_tokens_q25(frames: int) -> int:
    """Return how many tokens Qwen2.5-Omni makes of so many mel frames (a strided convolution and a pooling)."""
    return ((frames - 1) // 2 + 1 - 2) // 2 + 1


class AudioOnlyProcessor:
    """Does for text and audio what the official processors do, without torchvision or PIL."""

    sees = False

    def __init__(self, tokenizer: Any, feature_extractor: Any, audio_tokens: Callable[[int], int]) -> None:
        self.tokenizer, self._features, self._audio_tokens = tokenizer, feature_extractor, audio_tokens

    def __call__(self, batch: Sequence[OmniInput]) -> dict[str, Any]:
        """Return the tensors of a batch, padded on the left.

        Raises:
            InputError: a message names another number of clips than there are.
        """
        clips = [clip for item in batch for clip in item.audio]
        tensors: dict[str, Any] = {}
        counts: list[int] = []
        if clips:
            features = self._features(
                clips,
                sampling_rate=INPUT_RATE,
                padding=True,
                truncation=False,
                return_attention_mask=True,
                return_tensors="pt",
            )
            counts = [self._audio_tokens(int(n)) for n in features["attention_mask"].sum(-1)]
            tensors["input_features"] = features["input_features"]
            tensors["feature_attention_mask"] = features["attention_mask"]
        texts = self._texts(batch, counts)
        encoded = self.tokenizer(texts, return_tensors="pt", padding=True, padding_side="left")
        return {"input_ids": encoded["input_ids"], "attention_mask": encoded["attention_mask"], **tensors}

    def _texts(self, batch: Sequence[OmniInput], counts: list[int]) -> list[str]:
        """Return the prompts with each audio mark repeated as often as the clip has tokens."""
        mark, texts, at = self.tokenizer.audio_token, [], 0
        for item in batch:
            text = self.tokenizer.apply_chat_template(item.messages, tokenize=False, add_generation_prompt=True)
            pieces = text.split(mark)
            if len(pieces) - 1 != len(item.audio):
                raise InputError(f"the chat template shows {len(pieces) - 1} clips of {len(item.audio)}")
            own = counts[at : at + len(item.audio)]
            at += len(item.audio)
            texts.append("".join(p + mark * n for p, n in zip(pieces, [*own, 0], strict=True)))
        return texts


class Processor:
    """The checkpoint's official processor."""

    sees = True

    def __init__(self, official: Any) -> None:
        self._official = official
        self.tokenizer = official.tokenizer

    def __call__(self, batch: Sequence[OmniInput]) -> dict[str, Any]:
        """Return the tensors of a batch, padded on the left."""
        from PIL import Image

        texts = [
            self._official.apply_chat_template(item.messages, tokenize=False, add_generation_prompt=True)
            for item in batch
        ]
        audio = [clip for item in batch for clip in item.audio]
        images = [Image.open(path).convert("RGB") for item in batch for path in item.images]
        found = self._official(
            text=texts,
            audio=audio or None,
            images=images or None,
            return_tensors="pt",
            padding=True,
            padding_side="left",
            use_audio_in_video=False,
        )
        return dict(found)
