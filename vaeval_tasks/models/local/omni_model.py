"""Qwen2.5-Omni and Qwen3-Omni in transformers: loading with Accelerate's placement, and speaking in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import InputError, MissingDependencyError, MissingWeightsError, ServiceError, UnknownNameError
from vaeval_tasks.models.local.omni_options import OmniOptions
from vaeval_tasks.models.local.omni_processor import (
    AudioOnlyProcessor,
    OmniInput,
    Processor,
    audio_tokens_q3,
    audio_tokens_q25,
    can_see,
)

__all__ = ["OUTPUT_RATE", "OmniModel", "OmniOutput"]

OUTPUT_RATE = 24000
"""Hz."""

DEFAULTS: Mapping[str, Any] = {
    "thinker_max_new_tokens": 1024,
    "thinker_do_sample": False,
    "talker_max_new_tokens": 2048,
}
"""The words are greedy; speech is sampled as the model's own settings say, up to 164 s."""


_NO_SPEECH = "stack expects a non-empty TensorList"
"""What transformers 5.24 raises where the talker ends before its first code: an answer without sound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniOutput:
    """What was said, in words and in sound."""

    text: str
    audio: Clip | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """How the two families differ."""

    model_class: str
    audio_tokens: Callable[[int], int]
    speakers: Callable[[Any], list[str]]
    arguments: Callable[[Any, Any], dict[str, Any]]
    """Arguments of ``generate``, from the model and the tokenizer."""
    system_prompt: str = ""
    """With which it was taught to speak; what else a system turn says stands after it."""


def _q25_arguments(model: Any, tokenizer: Any) -> dict[str, Any]:
    talker = model.config.talker_config
    ends = [talker.tts_codec_pad_token_id, talker.tts_codec_end_token_id]
    return {"generation_mode": "audio", "talker_eos_token_id": ends}


_KINDS = {
    "qwen3_omni_moe": _Kind(
        model_class="Qwen3OmniMoeForConditionalGeneration",
        audio_tokens=audio_tokens_q3,
        speakers=lambda model: list(model.config.talker_config.speaker_id),
        arguments=lambda model, tokenizer: {"return_audio": True, "thinker_eos_token_id": tokenizer.eos_token_id},
    ),
    "qwen2_5_omni": _Kind(
        model_class="Qwen2_5OmniForConditionalGeneration",
        audio_tokens=audio_tokens_q25,
        speakers=lambda model: list(model.speaker_map),
        arguments=_q25_arguments,
        # from its model card; transformers warns that speech may not work without it
        system_prompt="You are Qwen, a virtual human developed by the Qwen Team, Alibaba Group, capable of perceiving "
        "auditory and visual inputs, as well as generating text and speech.",
    ),
}


class OmniModel:
    """A loaded model. Use :meth:`load`."""

    def __init__(self, model: Any, processor: Processor | AudioOnlyProcessor, kind: _Kind) -> None:
        self._model, self._kind = model, kind
        self.processor = processor

    @classmethod
    def load(
        cls,
        path: str,
        *,
        revision: str | None = None,
        dtype: str = "auto",
        attn_implementation: str | None = None,
        device: str | None = None,
        device_map: str | dict[str, Any] | None = None,
        trust_remote_code: bool = False,
    ) -> OmniModel:
        """Load a checkpoint.

        Args:
            path: a folder, or a name of the Hub.
            revision: of the Hub.
            dtype: ``auto`` (the checkpoint's), ``float32``, ``bfloat16`` …
            attn_implementation: ``sdpa``, ``flash_attention_2`` …
            device: such as ``cuda:1``; by default where Accelerate places it.
            device_map: of Accelerate, such as ``auto`` or ``balanced``, instead of a device.
            trust_remote_code: run code that lies beside the weights; the families here need none.

        Raises:
            MissingDependencyError: transformers or Accelerate is missing.
            MissingWeightsError: there is no such checkpoint.
            UnknownNameError: it is not a Qwen-Omni.
            InputError: both a device and a device map are given.
        """
        try:
            import transformers

            placement = _placement(device, device_map)
        except ImportError:
            raise MissingDependencyError("qwen_omni", "transformers", extra="omni") from None
        try:
            config = transformers.AutoConfig.from_pretrained(
                path, revision=revision, trust_remote_code=trust_remote_code
            )
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            if "trust_remote_code" in str(error):
                raise MissingWeightsError(
                    f"{path}: needs code that lies beside its weights, and is none of {', '.join(_KINDS)}; serve it "
                    "by an engine and ask it by chat_audio"
                ) from None
            raise MissingWeightsError(f"{path}: neither a model folder nor a model of the Hub ({reason})") from None
        if config.model_type not in _KINDS:
            raise UnknownNameError("kind of Omni model", config.model_type, _KINDS, where=str(path))
        kind = _KINDS[config.model_type]
        extra = {"attn_implementation": attn_implementation} if attn_implementation else {}
        try:
            model = getattr(transformers, kind.model_class).from_pretrained(
                path, revision=revision, dtype=dtype, **placement, **extra
            )
        except Exception as error:  # files that are broken or of another kind fail in as many ways as there are readers
            reason = " ".join(str(error).split())[:300]
            raise MissingWeightsError(f"{path}: the weights cannot be loaded ({reason})") from None
        return cls(model.eval(), _processor(path, revision, kind), kind)

    @property
    def speaks(self) -> bool:
        """Whether the checkpoint has a talker; without one there are words only."""
        return bool(getattr(self._model, "has_talker", True))

    @property
    def system_prompt(self) -> str:
        """With which the model was taught to speak, empty where with none."""
        return self._kind.system_prompt

    @property
    def sees(self) -> bool:
        """Whether it takes images."""
        return self.processor.sees

    def speaker(self, name: str) -> str:
        """Return a voice as the model spells it.

        Raises:
            UnknownNameError: there is no such voice.
        """
        if not self.speaks:
            return ""
        voices = self._kind.speakers(self._model)
        for voice in voices:
            if voice.lower() == name.lower():
                return voice
        raise UnknownNameError("speaker", name, voices)

    def respond(self, batch: Sequence[OmniInput], speaker: str, options: OmniOptions) -> list[OmniOutput]:
        """Answer a batch.

        Args:
            batch: the conversations; the seed of the first seeds the sampling of all.
            speaker: the voice.
            options: what replaces the defaults.

        Raises:
            UnknownNameError: there is no such voice.
            ServiceError: the memory of the device does not suffice.
        """
        arguments = {
            **DEFAULTS,
            **self._kind.arguments(self._model, self.processor.tokenizer),
            "speaker": self.speaker(speaker),
            **options.arguments,
        }
        try:
            if not (self.speaks and options.speaks):
                ids, sound = self._words(batch, replace(options, arguments=arguments)), [None] * len(batch)
            else:
                ids, sound = self._generate(batch, arguments)
        except RuntimeError as error:
            if _NO_SPEECH not in str(error):
                raise
            if len(batch) > 1:  # one of them would not speak: the others shall
                return [output for item in batch for output in self.respond([item], speaker, options)]
            ids, sound = self._words(batch, replace(options, arguments=arguments)), [None]
        texts = self.processor.tokenizer.batch_decode(ids, skip_special_tokens=True)
        clips = sound if isinstance(sound, list) else [sound]
        return [OmniOutput(text=t.strip(), audio=_clip(c)) for t, c in zip(texts, clips, strict=True)]

    def _words(self, batch: Sequence[OmniInput], options: OmniOptions) -> Any:
        """Return the new tokens of the thinker alone, shape (batch, tokens)."""
        end = {"eos_token_id": self.processor.tokenizer.eos_token_id}
        return self._generate(batch, {**end, **options.of_thinker}, self._model.thinker)

    def _generate(self, batch: Sequence[OmniInput], arguments: Mapping[str, Any], part: Any = None) -> Any:
        """Return the new tokens, shape (batch, tokens), and of the whole model the sound too."""
        import torch

        inputs = self.processor(batch)
        length = inputs["input_ids"].shape[1]
        torch.manual_seed(batch[0].seed)
        try:
            with torch.inference_mode():
                found = (part or self._model).generate(**self._placed(inputs), **arguments)
        except torch.OutOfMemoryError as error:
            raise ServiceError(
                f"out of memory with {len(batch)} conversations at once; lower batch_size "
                f"({str(error).splitlines()[0]})"
            ) from None
        if isinstance(found, tuple):
            return found[0][:, length:], found[1]
        return found[:, length:]

    def _placed(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Move the tensors to the model; what is real gets its precision."""
        device, dtype = self._model.device, self._model.dtype
        return {
            key: value.to(device, dtype) if value.is_floating_point() else value.to(device)
            for key, value in inputs.items()
        }


def _clip(sound: Any) -> Clip | None:
    if sound is None:
        return None
    samples = sound.reshape(-1).float().cpu().numpy().astype(np.float32)
    return Clip(samples, OUTPUT_RATE) if len(samples) else None


def _placement(device: str | None, device_map: str | dict[str, Any] | None = None) -> dict[str, Any]:
    """Return where the weights go: one process may use every GPU, several processes have one each."""
    from accelerate import PartialState

    if device and device_map:
        raise InputError("give device or device_map, not both")
    if device_map:
        return {"device_map": device_map}
    state = PartialState()
    if device:
        return {"device_map": {"": device}}
    if state.device.type == "cpu":
        return {}
    return {"device_map": {"": state.device} if state.num_processes > 1 else "auto"}


def _processor(path: str, revision: str | None, kind: _Kind) -> Processor | AudioOnlyProcessor:
    import transformers

    if can_see():
        try:
            official = transformers.AutoProcessor.from_pretrained(path, revision=revision)
        except (ImportError, AttributeError, ValueError, OSError, TypeError) as error:
            reason = " ".join(str(error).split())[:300]
            raise MissingWeightsError(f"{path}: its processor cannot be loaded ({reason})") from None
        if hasattr(official, "apply_chat_template") and hasattr(official, "tokenizer"):
            return Processor(official)
    return AudioOnlyProcessor(
        transformers.AutoTokenizer.from_pretrained(path, revision=revision),
        transformers.AutoFeatureExtractor.from_pretrained(path, revision=revision),
        kind.audio_tokens,
    )
