"""What may be asked of ``generate``: an Omni model's own names, and those that users of other models write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vaeval_tasks.errors import InputError, UnknownNameError

__all__ = ["OmniOptions", "omni_options"]

_WORDS = {
    "max_new_tokens": "thinker_max_new_tokens",
    "max_gen_toks": "thinker_max_new_tokens",
    "temperature": "thinker_temperature",
    "do_sample": "thinker_do_sample",
    "top_p": "thinker_top_p",
    "top_k": "thinker_top_k",
    "repetition_penalty": "thinker_repetition_penalty",
}
"""Names without a prefix are about the words."""
_EACH = (
    *("max_new_tokens", "min_new_tokens", "do_sample", "temperature", "top_p", "top_k", "min_p"),
    *("repetition_penalty", "no_repeat_ngram_size", "num_beams", "length_penalty", "eos_token_id"),
)
_SOUND = ("token2wav_num_steps", "token2wav_guidance_scale", "token2wav_sway_coefficient")
_KNOWN = (*_WORDS, *(f"{part}_{name}" for part in ("thinker", "talker") for name in _EACH), *_SOUND, "return_audio")


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniOptions:
    """Arguments of ``generate``, and whether speech is wanted."""

    arguments: Mapping[str, Any]
    speaks: bool = True

    @property
    def of_thinker(self) -> dict[str, Any]:
        """The arguments about the words, without their prefix."""
        prefix = "thinker_"
        return {key[len(prefix) :]: value for key, value in self.arguments.items() if key.startswith(prefix)}


def omni_options(given: Mapping[str, Any]) -> OmniOptions:
    """Read options: ``thinker_*`` (the words), ``talker_*`` (the speech), ``token2wav_*``, ``return_audio``.

    ``max_new_tokens``, ``temperature``, ``do_sample``, ``top_p``, ``top_k`` and ``repetition_penalty`` are about the
    words; a temperature above 0 samples.

    Raises:
        UnknownNameError: there is no such option; the message has the likeliest.
        InputError: ``return_audio`` is no truth value, or an option is named twice.
    """
    arguments: dict[str, Any] = {}
    speaks = True
    for name, value in given.items():
        if name not in _KNOWN:
            raise UnknownNameError("option of generate", str(name), _KNOWN)
        if name == "return_audio":
            if not isinstance(value, bool):
                raise InputError(f"generate: return_audio must be true or false, not {value!r}")
            speaks = value
            continue
        target = _WORDS.get(name, name)
        if target in arguments:
            raise InputError(f"generate: {name} and another option say the same ({target}); keep one")
        arguments[target] = value
    warm = arguments.get("thinker_temperature")
    if warm is not None and "thinker_do_sample" not in arguments:
        arguments["thinker_do_sample"] = bool(warm)
    if warm == 0:
        del arguments["thinker_temperature"]  # transformers wants it above 0, and greedy words have none
    return OmniOptions(arguments=arguments, speaks=speaks)
