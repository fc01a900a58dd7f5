"""Questions of one's own in the place of the study's twelve: keys, labels and groups from a small table."""

from __future__ import annotations

from pathlib import Path

from vaeval_tasks.rubrics import Questions, Rubric
from vaeval_tasks.store.sheets import read_sheet

__all__ = ["read_questions"]

_FIELDS = ("key", "label", "text", "group")


def read_questions(path: Path) -> Questions:
    """Return the questions of a file: YAML, or any table, with ``key`` and optionally ``label, text, group``.

    Raises:
        InputError: it cannot be read, a key is missing, or a key or label is there twice.
        UnknownNameError: a field has another name.
    """
    found: dict[str, Rubric] = {}
    names: set[str] = set()
    for row in read_sheet(path).records(_FIELDS, required=("key",)):
        key = row.text("key")
        label = row.text("label") or key
        for field, name in {"key": key.lower(), "label": label.lower()}.items():
            if name in names and not (field == "label" and name == key.lower()):
                raise row.error(f"{name!r} is the name of another question", field)
        names |= {key.lower(), label.lower()}
        group = row.text("group")
        found[key] = Rubric(key=key, label=label, text=row.text("text") or label, family=group, section=group)
    return Questions(rubrics=tuple(found.values()))
