"""The providers: which adapter speaks to each, which settings it takes, and where its keys and addresses come from.

Ours are the data below. Any other name is somebody else's class (an entry point of ``vaeval.systems``, or
``package.module:Class``), and what it takes is read from the class; see :mod:`vaeval_tasks.models.system`.
Keys are read from the environment when a session is opened and are kept nowhere else.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from inspect import iscoroutinefunction
from string import Template
from typing import Any

from vaeval_tasks.errors import InputError, MissingDependencyError, PluginError
from vaeval_tasks.models.protocol import SpeechModel
from vaeval_tasks.plugins import Plugin, PluginGroup, find
from vaeval_tasks.store.schema import ModelConfig

__all__ = ["PROVIDERS", "Address", "Provider", "address", "check_access", "create_model", "provider", "secret"]

Tree = Mapping[str, Any]
"""Known keys, nested; None allows anything below a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a service is: ``default``, unless the variable or the configuration's ``connection`` says otherwise."""

    variable: str
    default: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One way to reach speech models."""

    name: str
    target: str
    """``module:Class`` of the adapter; the class takes no arguments."""
    params: Tree | None
    """The parameters it takes; None: any."""
    required: tuple[str, ...] = ("model",)
    """Parameters without which nothing can be asked."""
    connection: Tree | None = field(default_factory=dict)
    """Keys of ``connection`` beside those every provider has; None: any."""
    keys: tuple[str, ...] = ()
    """Environment variables that must hold a key."""
    credentials: str = ""
    """``module:function`` that finds the keys of a configuration, where they may stand elsewhere."""
    addresses: Mapping[str, Address] = field(default_factory=dict)
    """Keys of ``connection`` that hold an address."""
    sessions: int = 8
    """How many requests run at once unless the configuration or the command says otherwise."""
    packages: tuple[str, ...] = ()
    """What the class imports beyond the base installation, and"""
    extra: str = ""
    """the extra that brings it."""
    guest: Plugin | None = None
    """Where the class comes from that is not ours."""

    def connection_keys(self, given: Iterable[str]) -> dict[str, Any]:
        """Return the tree of allowed ``connection`` keys; where any is allowed, with those given."""
        own = dict.fromkeys(given) if self.connection is None else self.connection
        return {**own, **dict.fromkeys(self.addresses), **COMMON_CONNECTION}


COMMON_CONNECTION: Tree = {
    "sessions": None,
    "timeouts": {"connect": None, "first_audio": None, "idle": None, "turn": None},
}
_GATE: Tree = {"headers": None, "query": None}
_LIVE: Tree = {"speech_pace": None, **_GATE}
OWN_KEY = frozenset({"authorization", "api-key", "x-goog-api-key", "xi-api-key"})
"""Headers that hold a key: a configuration that brings one needs none of the provider's variables."""
_FORMAT: Tree = {"type": None, "rate": None}
_NOVA_AUDIO: Tree = dict.fromkeys(
    ("mediaType", "sampleRateHertz", "sampleSizeBits", "channelCount", "audioType", "encoding")
)
_RATES: Tree = {"endpoint": None, "input_rate": None, "output_rate": None}

_ALL = (
    Provider(
        name="openai_realtime",
        target="vaeval_tasks.models.adapters.openai_realtime:OpenAIRealtime",
        packages=("websockets",),
        extra="realtime",
        params={
            "model": None,
            "type": None,
            "output_modalities": None,
            "audio": {
                "input": {"format": _FORMAT, "turn_detection": None, "transcription": None, "noise_reduction": None},
                "output": {"format": _FORMAT, "voice": None, "speed": None},
            },
            "reasoning": {"effort": None},
            "max_output_tokens": None,
            "truncation": None,
        },
        required=("model", "audio"),
        connection=_LIVE,
        keys=("OPENAI_API_KEY",),
        addresses={"base_url": Address(variable="VAEVAL_OPENAI_URL", default="https://api.openai.com/v1")},
    ),
    Provider(
        name="xai_realtime",
        target="vaeval_tasks.models.adapters.xai_realtime:XaiRealtime",
        packages=("websockets",),
        extra="realtime",
        params={
            "model": None,
            "session": {
                "voice": None,
                "reasoning": {"effort": None},
                "turn_detection": None,
                "audio": {
                    "input": {"format": _FORMAT, "transcription": None},
                    "output": {"format": _FORMAT, "speed": None},
                },
            },
        },
        required=("model", "session"),
        connection=_LIVE,
        keys=("XAI_API_KEY",),
        addresses={"base_url": Address(variable="VAEVAL_XAI_URL", default="https://api.x.ai/v1")},
    ),
    Provider(
        name="gemini_live",
        target="vaeval_tasks.models.adapters.gemini_live:GeminiLive",
        packages=("websockets",),
        extra="realtime",
        params={
            "model": None,
            "responseModalities": None,
            "speechConfig": None,
            "realtimeInputConfig": {
                "automaticActivityDetection": None,
                "activityHandling": None,
                "turnCoverage": None,
            },
            "thinkingConfig": {"thinkingLevel": None, "includeThoughts": None, "thinkingBudget": None},
            "inputAudioTranscription": None,
            "outputAudioTranscription": None,
            "temperature": None,
            "topP": None,
            "topK": None,
            "maxOutputTokens": None,
            "seed": None,
            "realtimeInput": {"audio": {"mimeType": None}},
        },
        required=("model", "realtimeInput"),
        connection={"api_version": None, **_LIVE},
        keys=("GEMINI_API_KEY",),
        addresses={
            "base_url": Address(variable="VAEVAL_GEMINI_URL", default="https://generativelanguage.googleapis.com")
        },
    ),
    Provider(
        name="nova_sonic",
        target="vaeval_tasks.models.adapters.nova_sonic:NovaSonic",
        packages=("h2",),
        extra="realtime",
        params={
            "model": None,
            "sessionStart": {
                "inferenceConfiguration": dict.fromkeys(("maxTokens", "topP", "temperature")),
                "turnDetectionConfiguration": {"endpointingSensitivity": None},
            },
            "promptStart": {
                "textOutputConfiguration": {"mediaType": None},
                "audioOutputConfiguration": {**_NOVA_AUDIO, "voiceId": None},
            },
            "contentStart": {"audioInputConfiguration": _NOVA_AUDIO},
        },
        required=("model", "sessionStart", "promptStart", "contentStart"),
        connection={"region": None, "profile": None},
        credentials="vaeval_tasks.models.transport.aws_credentials:aws_credentials",
        addresses={
            "base_url": Address(variable="VAEVAL_BEDROCK_URL", default="https://bedrock-runtime.{region}.amazonaws.com")
        },
    ),
    Provider(
        name="cascade",
        target="vaeval_tasks.models.adapters.cascade:Cascade",
        params=dict.fromkeys(
            ("asr_model", "llm_model", "tts_provider", "tts_model", "voice", "language", "reasoning_effort")
        ),
        required=("asr_model", "llm_model", "tts_model", "voice"),
        connection=_RATES,
        keys=("ELEVENLABS_API_KEY", "OPENAI_API_KEY"),
        addresses={
            "elevenlabs_url": Address(variable="VAEVAL_ELEVENLABS_URL", default="https://api.elevenlabs.io"),
            "openai_url": Address(variable="VAEVAL_OPENAI_URL", default="https://api.openai.com/v1"),
        },
    ),
    Provider(
        name="chat_audio",
        target="vaeval_tasks.models.adapters.chat_audio:ChatAudio",
        params={
            "model": None,
            "task": None,
            "speaker": None,
            "voice": None,
            "audio": {"voice": None, "format": None},
            "modalities": None,
            "max_tokens": None,
            "max_completion_tokens": None,
            "temperature": None,
            "top_p": None,
            "seed": None,
            "stream": None,
            "stream_options": None,
            "extra": None,
        },
        connection={**_RATES, **_GATE, "audio_part": None, "engine": None, "sees": None},
        addresses={"base_url": Address(variable="VAEVAL_CHAT_URL")},
        sessions=16,
    ),
    Provider(
        name="qwen_omni",
        target="vaeval_tasks.models.local.qwen_omni:QwenOmni",
        packages=("torch", "transformers", "accelerate"),
        extra="omni",
        params={"model": None, "speaker": None, "revision": None, "generate": None},
        connection=dict.fromkeys(
            ("batch_size", "dtype", "attn_implementation", "device", "device_map", "trust_remote_code")
        ),
        sessions=8,
    ),
    Provider(
        name="offline",
        target="vaeval_tasks.models.local.offline_system:OfflineModel",
        params=dict.fromkeys(("recogniser", "llm", "max_tokens")),
        required=(),
        sessions=2,
    ),
    Provider(name="replay", target="vaeval_tasks.models.local.recorded_system:Replay", params={}, required=()),
)

PROVIDERS: dict[str, Provider] = {p.name: p for p in _ALL}


def provider(name: str, *, where: str = "") -> Provider:
    """Return a provider by name; ``where`` is the place the name stands in.

    Raises:
        UnknownNameError: there is none.
        PluginError: somebody else's class cannot be imported, or is no speech system.
    """
    if name in PROVIDERS:
        return PROVIDERS[name]
    plugin = find(PluginGroup.systems, name, kind="provider", built_in=PROVIDERS, where=where)
    try:
        return _guest(plugin)
    except PluginError as error:
        raise PluginError(f"{where}: {error}" if where else str(error)) from error


@cache
def _guest(plugin: Plugin) -> Provider:
    """Return the provider that somebody else's class is.

    Raises:
        PluginError: it cannot be imported, is no speech system, or says something wrong about itself.
    """
    from vaeval_tasks.models.system import SpeechSystem

    made_by = plugin.load()
    if issubclass(made_by, SpeechSystem):
        if made_by.answer is SpeechSystem.answer:
            raise PluginError(f"the system {plugin} has no method 'answer'")
        if iscoroutinefunction(made_by.answer):
            raise PluginError(
                f"the system {plugin}: answer() is asynchronous; write it without async, or use SpeechModel"
            )
    elif not all(callable(getattr(made_by, method, None)) for method in ("respond", "close")):
        raise PluginError(
            f"the plug-in {plugin} is no speech system: it must be a subclass of "
            "vaeval_tasks.models.system.SpeechSystem, or have the methods respond and close of SpeechModel"
        )
    said = {name: getattr(made_by, name, getattr(SpeechSystem, name)) for name in _SAID}
    for name, (holds, must_be) in _SAID.items():
        if not holds(said[name]):
            raise PluginError(f"the system {plugin}: {name} must be {must_be}, got {said[name]!r:.60}")
    return Provider(
        name=plugin.name,
        target=plugin.target,
        params=_tree(said["params"]),
        required=tuple(said["required"]),
        connection=_tree(said["connection"]),
        keys=tuple(said["keys"]),
        addresses=dict(said["addresses"]),
        sessions=said["sessions"],
        guest=plugin,
    )


def _names(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(name, str) for name in value)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


_SAID: dict[str, tuple[Callable[[Any], bool], str]] = {
    "sees": (lambda v: isinstance(v, bool | property), "True or False"),
    "rate": (lambda v: _whole(v) and 4_000 <= v <= 192_000, "a whole number of Hz from 4000 to 192000"),
    "sessions": (_whole, "a whole number from 1"),
    "params": (lambda v: v is None or isinstance(v, Mapping) or _names(v), "a tuple of names, a mapping or None"),
    "connection": (lambda v: v is None or isinstance(v, Mapping) or _names(v), "a tuple of names, a mapping or None"),
    "required": (_names, "a tuple of names"),
    "keys": (_names, "a tuple of names of environment variables"),
    "addresses": (
        lambda v: isinstance(v, Mapping) and all(isinstance(one, Address) for one in v.values()),
        "a mapping of keys to Address",
    ),
}
"""What a class says about itself: how to tell that it is right, and the words for it."""


def _tree(said: Any) -> Tree | None:
    return said if said is None or isinstance(said, Mapping) else dict.fromkeys(said)


def create_model(config: ModelConfig) -> SpeechModel:
    """Return the adapter a configuration needs; nothing is connected or loaded yet."""
    known = provider(config.provider)
    if known.guest is not None:
        from vaeval_tasks.models.guest_systems import open_guest

        where = {key: address(config, key) for key in known.addresses}
        return open_guest(known.guest.load(), known.name, config, {**config.connection, **where}, known.keys)
    module, _, name = known.target.partition(":")
    model: SpeechModel = getattr(importlib.import_module(module), name)()
    return model


def address(config: ModelConfig, key: str = "base_url") -> str:
    """Return where a service of the configuration is, without a slash at the end.

    The configuration's ``connection`` comes first, then the environment variable, then the provider's own address.

    Raises:
        InputError: a self-hosted provider has no address.
    """
    known = provider(config.provider).addresses[key]
    found = config.connection.get(key) or os.environ.get(known.variable) or known.default
    if not found:
        raise InputError(
            f"{config.config_id}: no address for {config.provider}; set {known.variable} or connection.{key}"
        )
    return str(found).rstrip("/")


def secret(variable: str, config: ModelConfig) -> str:
    """Return a key from the environment.

    Raises:
        InputError: the variable is not set.
    """
    value = os.environ.get(variable, "").strip()
    if not value:
        raise InputError(
            f"{config.config_id}: the environment variable {variable} is not set; {config.provider} needs it"
        )
    return value


def own_headers(config: ModelConfig) -> dict[str, str]:
    """Return the headers that a configuration's ``connection`` adds; ``$NAME`` is that variable of the environment.

    Raises:
        InputError: a variable is not set, or a ``$`` has no name.
    """
    filled = {}
    for name, value in (config.connection.get("headers") or {}).items():
        try:
            filled[str(name)] = Template(str(value)).substitute(os.environ)
        except KeyError as error:
            raise InputError(
                f"{config.config_id}: header {name}: the environment variable {error.args[0]} is not set"
            ) from None
        except ValueError:
            raise InputError(f"{config.config_id}: header {name}: write $NAME of a variable, or $$ for $") from None
    return filled


def check_access(config: ModelConfig) -> None:
    """Look for every package, key and address of a configuration before anything heavy is imported or asked.

    Raises:
        MissingDependencyError: a package is missing.
        InputError: a key or an address is.
    """
    known = provider(config.provider)
    MissingDependencyError.unless_here(config.provider, known.packages, extra=known.extra)
    if known.credentials:
        module, _, name = known.credentials.partition(":")
        getattr(importlib.import_module(module), name)(config)
    headers = own_headers(config)
    for variable in () if OWN_KEY & {name.lower() for name in headers} else known.keys:
        secret(variable, config)
    for key in known.addresses:
        address(config, key)
