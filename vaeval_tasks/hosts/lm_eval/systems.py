"""The speech models as models of the harness: realtime providers, chat engines, the cascade, Qwen-Omni in process.

``vaeval`` takes any configuration, also one of a system of your own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.hosts.lm_eval.model import SpeechLM
from vaeval_tasks.hosts.lm_eval.run_settings import yes
from vaeval_tasks.models.configs import select
from vaeval_tasks.models.protocol import SpeechModel
from vaeval_tasks.models.providers import check_access, create_model, provider
from vaeval_tasks.store.schema import ModelConfig

__all__ = ["CascadeLM", "ChatAudioLM", "ConfiguredLM", "OmniLM", "RealtimeLM"]

REALTIME = ("openai_realtime", "xai_realtime", "gemini_live", "nova_sonic")


class _ProviderLM(SpeechLM):
    """A configuration of one of these providers; keys come from the environment."""

    providers: tuple[str, ...]

    def __init__(self, *, config: ModelConfig, concurrency: int | None = None, **common: Any) -> None:
        at_once = concurrency or config.connection.get("sessions") or provider(config.provider).sessions
        super().__init__(config=config, concurrency=at_once, **common)

    @classmethod
    def preset(cls, name: str) -> ModelConfig:
        """Return the one configuration of that name, or of that YAML file.

        Raises:
            InputError: it is not one, or another kind of model speaks to it.
        """
        found = _the_one(name, "preset")
        if found.provider not in cls.providers:
            raise UnknownNameError("provider", found.provider, cls.providers, where=f"preset={name}")
        return found

    def open(self) -> SpeechModel:
        """Return the adapter.

        Raises:
            InputError: a key or an address is missing.
        """
        check_access(self.speech_config)
        return create_model(self.speech_config)


def _the_one(name: str, argument: str, config_id: str = "") -> ModelConfig:
    """Return the one configuration of a name or file; ``config_id`` chooses among several.

    Raises:
        InputError: none is named, or more than one.
        UnknownNameError: there is none of that name.
    """
    if not name:
        raise InputError(f"give {argument}=NAME (see: vaeval configs list) or {argument}=FILE.yaml")
    found = {config.config_id: config for config in select([name])}
    if config_id:
        if config_id not in found:
            raise UnknownNameError("configuration", config_id, found, where=f"{argument}={name}")
        return found[config_id]
    if len(found) != 1:
        raise InputError(f"{argument}={name}: names {len(found)} configurations; give one")
    return next(iter(found.values()))


class ConfiguredLM(_ProviderLM):
    """Any configuration as a model of the harness, also of a system that is not ours: ``config=mine.yaml``.

    Args:
        preset: a published configuration, or a YAML file; in ``--model_args`` it is called ``config``.
        config_id: which one, where the file holds several.
        common: see :class:`~vaeval_tasks.hosts.lm_eval.model.SpeechLM`.
    """

    def __init__(self, *, preset: str = "", config_id: str = "", **common: Any) -> None:
        super().__init__(config=_the_one(preset, "config", config_id), **common)

    @classmethod
    def create_from_arg_obj(cls, arg_dict: dict[str, Any], additional_config: dict[str, Any] | None = None) -> SpeechLM:
        """Build the model from ``--model_args``; see the base class."""
        given = {"preset" if name == "config" else name: value for name, value in arg_dict.items()}
        return super().create_from_arg_obj(given, additional_config)


class RealtimeLM(_ProviderLM):
    """A realtime provider as a model of the harness.

    Args:
        preset: a published configuration, or a YAML file with one.
        common: see :class:`~vaeval_tasks.hosts.lm_eval.model.SpeechLM`.
    """

    providers = REALTIME

    def __init__(self, *, preset: str = "", **common: Any) -> None:
        super().__init__(config=self.preset(preset), **common)


class CascadeLM(_ProviderLM):
    """The cascade as a model of the harness.

    Args:
        preset: a published configuration, or a YAML file with one.
        common: see :class:`~vaeval_tasks.hosts.lm_eval.model.SpeechLM`.
    """

    providers = ("cascade",)

    def __init__(self, *, preset: str = "cascade/default/rachel", **common: Any) -> None:
        super().__init__(config=self.preset(preset), **common)


class ChatAudioLM(_ProviderLM):
    """An OpenAI-compatible engine as a model of the harness.

    Args:
        preset: a published configuration, or a YAML file with one; else the options below.
        base_url: of the engine, such as ``http://localhost:8091/v1``.
        model: the name the engine knows the model by.
        voice: the speaker.
        voice_style: ``top`` (vLLM-Omni, SGLang-Omni) or ``audio`` (OpenAI): where the voice stands in the request.
        audio_part: ``audio_url``, ``input_audio`` or ``audio_b64``: how clips stand in a message.
        stream: whether to ask for a stream.
        sees: whether the model takes images.
        system_prompt: where a task has none.
        common: see :class:`~vaeval_tasks.hosts.lm_eval.model.SpeechLM`.
    """

    providers = ("chat_audio",)

    def __init__(
        self,
        *,
        preset: str = "",
        base_url: str = "",
        model: str = "",
        voice: str = "",
        voice_style: str = "top",
        audio_part: str = "audio_url",
        stream: bool = False,
        sees: bool = True,
        system_prompt: str = "",
        **common: Any,
    ) -> None:
        if preset:
            super().__init__(config=self.preset(preset), **common)
            return
        if not model:
            raise InputError("give model=NAME as the engine knows it, or preset=FILE.yaml")
        if voice_style not in ("top", "audio"):
            raise UnknownNameError("voice_style", voice_style, ("top", "audio"))
        audio = {"audio": {"voice": voice or "alloy", "format": "wav"}}
        spoken = audio if voice_style == "audio" else ({"voice": voice} if voice else {})
        params = {"model": model, "modalities": ["text", "audio"], **spoken}
        connection = {"audio_part": audio_part, "sees": bool(sees), **({"base_url": base_url} if base_url else {})}
        super().__init__(
            config=ModelConfig(
                model=model,
                provider="chat_audio",
                voice=voice or "default",
                system_prompt=system_prompt,
                params={**params, **({"stream": True} if stream else {})},
                connection=connection,
            ),
            **common,
        )

    def open(self) -> SpeechModel:
        """Return the adapter; see the base class."""
        model = super().open()
        return model if self.speech_config.connection.get("sees", True) else Blind(model)


class Blind:
    """A speech model that is known not to take images."""

    sees = False

    def __init__(self, model: SpeechModel) -> None:
        self.respond, self.close = model.respond, model.close


class OmniLM(SpeechLM):
    """Qwen2.5-Omni or Qwen3-Omni in process as a model of the harness. Each rank loads the model on its own device.

    Args:
        pretrained: a model folder or a name of the Hub.
        speaker: the voice.
        system_prompt: where a task has none.
        batch_size: documents answered at once; with more than one, sampling depends on what comes together.
        dtype: ``auto``, ``bfloat16``, ``float32`` …
        attn_implementation: such as ``flash_attention_2``.
        revision: of the Hub.
        device: where Accelerate is not to choose, such as ``cuda:1``.
        device_map: of Accelerate, such as ``balanced``; ``parallelize=True`` is ``auto``.
        parallelize: spread the weights over every GPU.
        trust_remote_code: run code that lies beside the weights; the families here need none.
        generate: further arguments of ``generate`` as JSON, such as ``{"talker_max_new_tokens": 600}``.
        max_new_tokens: of the words.
        temperature: of the words; 0 is greedy, the default.
        common: see :class:`~vaeval_tasks.hosts.lm_eval.model.SpeechLM`.
    """

    def __init__(
        self,
        *,
        pretrained: str,
        speaker: str = "Ethan",
        system_prompt: str = "",
        batch_size: int | str | None = 1,
        dtype: str = "auto",
        attn_implementation: str = "",
        revision: str = "",
        device: str | None = None,
        device_map: str = "",
        parallelize: bool | str = False,
        trust_remote_code: bool | str = False,
        generate: str | dict[str, Any] = "",
        max_new_tokens: int | None = None,
        temperature: float | None = None,
        **common: Any,
    ) -> None:
        if not str(batch_size or 1).isdecimal() or int(batch_size or 1) < 1:
            raise InputError(f"batch_size={batch_size}: nothing finds out by itself what fits; give a whole number")
        at_once = int(batch_size or 1)
        # cuda:0 is what the harness says when nobody has said anything: then Accelerate places the model
        chosen: dict[str, Any] = {"device": device} if device and device not in ("cuda", "cuda:0") else {}
        attention = {"attn_implementation": attn_implementation} if attn_implementation else {}
        named = {"max_new_tokens": max_new_tokens, "temperature": temperature}
        options = _options(generate) | {key: value for key, value in named.items() if value is not None}
        switches = {"parallelize": parallelize, "trust_remote_code": trust_remote_code}
        if spread := device_map or ("auto" if yes(switches, "parallelize") else ""):
            chosen["device_map"] = spread
        if yes(switches, "trust_remote_code"):
            chosen["trust_remote_code"] = True
        config = ModelConfig(
            model=Path(pretrained).name,
            provider="qwen_omni",
            voice=speaker,
            system_prompt=system_prompt,
            params={
                "model": pretrained,
                "speaker": speaker,
                **({"revision": revision} if revision else {}),
                **({"generate": options} if options else {}),
            },
            connection={"batch_size": at_once, "dtype": dtype, **chosen, **attention},
        )
        super().__init__(config=config, **{"concurrency": at_once, **common})

    def open(self) -> SpeechModel:
        """Return the adapter; the weights load at the first question."""
        return create_model(self.speech_config)


def _options(given: str | dict[str, Any]) -> dict[str, Any]:
    """Read the further arguments of ``generate``.

    Raises:
        InputError: they are not a JSON object.
    """
    if not given:
        return {}
    try:
        found = json.loads(given) if isinstance(given, str) else given
    except json.JSONDecodeError as error:
        raise InputError(f"generate= must be a JSON object ({error}); give model_args as JSON too") from None
    if not isinstance(found, dict):
        raise InputError(f"generate= must be a JSON object, got {found!r}")
    return found
