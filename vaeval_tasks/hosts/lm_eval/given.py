"""What a model of the harness is given, text only or pictures and sound too, and which items it cannot be asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from vaeval_tasks.errors import InputError, UnknownNameError

__all__ = ["TEXT_OPTIONS", "Given", "GivenAs", "given_to", "why_unasked"]

TEXT_OPTIONS: Mapping[str, Any] = {"until": ["<|endoftext|>"], "max_gen_toks": 1024}
"""The ``generation_kwargs`` of our YAMLs, for models that are not ours: all that ours find in a request."""

INPUTS = ("text", "images", "audio")
"""What ``--metadata inputs=`` may join by ``+``."""


class GivenAs(StrEnum):
    """In which form a model takes pictures and sound."""

    document = "document"
    """Our speech models read the document."""
    text = "text"
    placeholders = "placeholders"
    """``<image>`` and ``<audio>`` in the text, and the media beside it: lm-eval's multimodal models."""
    parts = "parts"
    """Parts of chat messages: servers of the OpenAI protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a model is given."""

    form: GivenAs = GivenAs.text
    sees: bool = False
    hears: bool = False
    most_images: int = 0
    """How many pictures at most; 0: no limit is known."""


_KNOWN = {
    "HFMultimodalLM": Given(form=GivenAs.placeholders, sees=True),
    "VLLM_VLM": Given(form=GivenAs.placeholders, sees=True),
    "HFAUDIOLMQWEN": Given(form=GivenAs.placeholders, hears=True),
    "TemplateAPI": Given(form=GivenAs.parts),
}
"""lm-eval's own classes; a server may have a model of any kind, so that its user must say."""


def given_to(lm: Any, metadata: Mapping[str, Any]) -> Given:
    """Return what a model is given.

    Args:
        lm: the harness's model object.
        metadata: ``inputs`` says it; ``max_images``, an argument of lm-eval's server models, means that one sees.

    Raises:
        UnknownNameError: ``inputs`` names something else.
        InputError: the model's class takes text only.
    """
    from vaeval_tasks.hosts.lm_eval.model import SpeechLM

    inner = getattr(lm, "lm", lm)  # --use_cache wraps the model
    if isinstance(inner, SpeechLM):
        return Given(form=GivenAs.document, sees=True, hears=True)
    names = [base.__name__ for base in type(inner).__mro__]
    found = next((_KNOWN[name] for name in names if name in _KNOWN), None)
    if found is None:
        many = bool(getattr(inner, "MULTIMODAL", False))
        found = Given(form=GivenAs.placeholders, sees=True, hears=True) if many else Given()
    if found.form is GivenAs.parts and metadata.get("max_images"):
        found = replace(found, sees=True, most_images=int(metadata["max_images"]))
    if metadata.get("inputs") is None:
        return found
    stated = str(metadata["inputs"]).replace(" ", "").split("+")
    for name in stated:
        if name not in INPUTS:
            raise UnknownNameError("inputs", name, INPUTS)
    if found.form is GivenAs.text and set(stated) != {"text"}:
        raise InputError(f"inputs={metadata['inputs']}: {type(inner).__name__} of lm-eval takes text only")
    return replace(found, sees="images" in stated, hears="audio" in stated)


def why_unasked(doc: Mapping[str, Any], given: Given) -> str:
    """Return why a model cannot be asked a document; empty where it can."""
    if given.form is GivenAs.document:
        return ""
    if doc["images"] and not given.sees:
        return "the model is given no pictures"
    if given.most_images and len(doc["images"]) > given.most_images:
        return f"the item has {len(doc['images'])} pictures, max_images={given.most_images}"
    if len(doc["turns"][0]) > 1 and not given.hears:
        return "the model is given no sound"
    if not doc["question"] and not given.hears:
        return "the item has no transcript of its question"
    return ""
