"""Whether two runs may be compared: what they were scored with, the data's revision, and what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vaeval_tasks.errors import InputError
from vaeval_tasks.paired.sides import Key, RunSide
from vaeval_tasks.store.schema import Item

__all__ = ["SharedItems", "different", "shared_items"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedItems:
    """The documents that two runs both answered."""

    keys: tuple[Key, ...]
    tasks: tuple[str, ...]
    notes: tuple[str, ...]
    """What only one of them has, in sentences."""


def shared_items(first: RunSide, second: RunSide, tasks: Sequence[str] = ()) -> SharedItems:
    """Return the documents of the tasks (all, if none is named) that both runs answered.

    Raises:
        InputError: there is none.
    """
    wanted = [task for task in first.tasks if task in second.tasks and (not tasks or task in tasks)]
    keys = sorted(key for key in first.answers if key in second.answers and key[0] in wanted)
    if not keys:
        raise InputError(_nothing(first, second, wanted, tasks))
    notes = []
    for one, other in ((first, second), (second, first)):
        absent = [task for task in one.tasks if task not in other.tasks and (not tasks or task in tasks)]
        if absent:
            notes.append(f"only {one.label} ran {', '.join(absent)}")
        alone = [key for key in one.answers if key not in other.answers and key[0] in wanted]
        if alone:
            notes.append(f"{len(alone)} items are answered by {one.label} only, and left out")
        if one.repeated:
            notes.append(f"{one.label} answered {one.repeated} documents more than once; the newest answer counts")
    return SharedItems(
        keys=tuple(keys), tasks=tuple(t for t in wanted if any(k[0] == t for k in keys)), notes=tuple(notes)
    )


def _nothing(first: RunSide, second: RunSide, wanted: Sequence[str], tasks: Sequence[str]) -> str:
    pair = f"{first.label} and {second.label}"
    if wanted:
        return f"{pair} answered none of the same items of {', '.join(wanted)}"
    asked = f" of {', '.join(tasks)}" if tasks else ""
    return f"{pair} share no scored task{asked}: {', '.join(first.tasks)} against {', '.join(second.tasks)}"


def different(first: RunSide, second: RunSide, shared: SharedItems) -> tuple[str, ...]:
    """Return a sentence for everything that makes the two incomparable; none where nothing does."""
    out = []
    if first.methodology != second.methodology:
        out.append(f"the methodology is {first.methodology!r} against {second.methodology!r}")
    signed: dict[tuple[str, str, str], list[str]] = {}
    revised: dict[tuple[str, str], list[str]] = {}
    for task in shared.tasks:
        one, other = first.tasks[task], second.tasks[task]
        for factor in sorted({*one.scores.signatures, *other.scores.signatures}):
            a, b = (side.scores.signatures.get(factor, "none") for side in (one, other))
            if a != b:
                signed.setdefault((factor, a, b), []).append(task)
        if one.data_revision != other.data_revision:
            pair = (str(one.data_revision or "unknown"), str(other.data_revision or "unknown"))
            if pair[0] != pair[1]:
                revised.setdefault(pair, []).append(task)
    out += [f"{factor} is scored by {a} against {b} ({_some(tasks)})" for (factor, a, b), tasks in signed.items()]
    out += [f"the data's revision is {a} against {b} ({_some(tasks)})" for (a, b), tasks in revised.items()]
    changed = [(key, why) for key in shared.keys if (why := _asked(first.answers[key].item, second.answers[key].item))]
    if changed:
        (task, item), why = changed[0]
        out.append(f"{len(changed)} of {len(shared.keys)} prompts differ, first {task} {item!r} in its {why}")
    return tuple(out)


def _some(tasks: Sequence[str]) -> str:
    return ", ".join(tasks[:2]) + (f" and {len(tasks) - 2} more" if len(tasks) > 2 else "")


def _asked(one: Item, other: Item) -> str:
    """What of a document is not the same, empty where nothing is."""
    if one.question.count("\n") != other.question.count("\n"):
        return "number of turns"
    for field in ("question", "references", "system_prompt", "user_emotion"):
        if getattr(one, field) != getattr(other, field):
            return field.replace("_", " ")
    for field in ("audio", "images"):
        if _media(getattr(one, field)) != _media(getattr(other, field)):
            return field
    return ""


def _media(paths: Sequence[str]) -> list[str]:
    """What is known of files by their names: the cache calls them by their hash, wherever it lies."""
    stems = [Path(path).stem for path in paths]
    return [stem if len(stem) == 64 and set(stem) <= set("0123456789abcdef") else "" for stem in stems]
