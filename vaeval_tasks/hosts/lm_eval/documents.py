"""One row of the data set becomes one document: paths instead of bytes, every trap of the data undone."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.lm_eval import media_cache
from vaeval_tasks.store.schema import Item

__all__ = ["COLUMNS", "FIELDS", "IMAGES", "TURNS", "document", "item", "unwrap"]

TURNS = [f"user_audio_{i}" for i in range(7)]
IMAGES = [f"image_{i}" for i in range(5)]
COLUMNS = ["id", "system_prompt", "role_audio", "sound_audio", *TURNS, *IMAGES, "ref_answers", "extra"]
"""The columns that are read; ``category1`` and ``category2`` repeat the config's name."""

FIELDS: dict[str, str] = {
    "item_id": "text",
    "task": "text",
    "question": "text",
    "references": "list",
    "system_prompt": "text",
    "role_name": "text",
    "role_audio": "text",
    "user_emotion": "text",
    "turns": "lists",
    "images": "list",
    "transcripts": "list",
    "options": "list",
    "revision": "text",
    "settings": "text",
}
"""The fields of a document. ``turns`` holds the paths of the clips of each user turn, in playing order."""


def unwrap(references: list[str]) -> list[str]:
    """Unwrap a reference that is itself the text of a Python list, without evaluating code.

    ``["['a', 'b']"]`` gives ``["a", "b"]``; anything else stays as it is.
    """
    if len(references) != 1 or not (references[0].strip().startswith("[") and references[0].strip().endswith("]")):
        return references
    try:
        inner = ast.literal_eval(references[0].strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return references
    if not isinstance(inner, list) or not all(isinstance(text, str) for text in inner):
        return references
    return inner


def _texts(value: Any) -> list[str]:
    """A list cell as texts, null entries as empty ones in their place; nothing where all are empty."""
    values = value if isinstance(value, list) else [value]
    texts = ["" if text is None else str(text) for text in values]
    return texts if any(texts) else []


def _line(text: str) -> str:
    return " ".join(text.split())


def _raw_question(extra: Mapping[str, Any]) -> str:
    text = str(extra.get("raw_question") or "")
    return "" if text.strip() == "[]" else text


def _media(row: Mapping[str, Any], columns: list[str], *, image: bool = False) -> list[str]:
    """The cached paths of the used cells, which must come first and without a gap."""
    found: list[str] = []
    for position, column in enumerate(columns):
        try:
            data = media_cache.cell_bytes(row[column])
            path = media_cache.keep(data, image=image) if data else ""
        except InputError as error:
            raise InputError(error.reason, field=column) from None
        if path and len(found) < position:
            raise InputError(f"the item has this cell but not {columns[len(found)]!r}", field=column)
        if path:
            found.append(path)
    return found


def document(
    row: Mapping[str, Any], task: str, *, needs: str = "", revision: str = "", settings: str = ""
) -> dict[str, Any]:
    """Turn a row of the Hub's schema into a document whose media are files.

    Args:
        row: the columns of :data:`COLUMNS`.
        task: the task, which is the config's name.
        needs: a column without which an item of this task cannot be answered, or empty.
        revision: the revision of the data.
        settings: the scoring settings as JSON, carried along for the hooks.

    Raises:
        InputError: a clip or picture that is needed is absent or broken; ``field`` is its column.
    """
    extra = row["extra"] or {}
    turns = [[path] for path in _media(row, TURNS)]
    images = _media(row, IMAGES, image=True)
    sound, role = _media(row, ["sound_audio"]), _media(row, ["role_audio"])
    if not turns:
        raise InputError("the item has no spoken question", field="user_audio_0")
    if needs and not {"sound_audio": sound, "image_0": images}[needs]:
        raise InputError(f"an item of {task} cannot be answered without it", field=needs)
    turns[0] = sound + turns[0]
    transcripts = [_line(text) for text in _texts(extra.get("user_audio_transcripts"))]
    return {
        "item_id": str(row["id"]),
        "task": task,
        "question": "\n".join(transcripts) or _raw_question(extra),
        "references": unwrap(_texts(row["ref_answers"])),
        "system_prompt": row["system_prompt"] or "",
        "role_name": extra.get("role_name") or "",
        "role_audio": role[0] if role else "",
        "user_emotion": ", ".join(_texts(extra.get("user_audio_emotion"))),
        "turns": turns,
        "images": images,
        "transcripts": transcripts,
        "options": _texts(extra.get("raw_options")),
        "revision": revision,
        "settings": settings,
    }


def item(doc: Mapping[str, Any]) -> Item:
    """Return the record of a document that the run folder keeps."""
    return Item(
        item_id=doc["item_id"],
        task=doc["task"],
        question=doc["question"],
        references=tuple(doc["references"]),
        system_prompt=doc["system_prompt"],
        role_audio=doc["role_audio"],
        user_emotion=doc["user_emotion"],
        audio=tuple(path for turn in doc["turns"] for path in turn),
        images=tuple(doc["images"]),
    )
