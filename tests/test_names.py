"""Names: one class name, one meaning; a file name repeats only where its folder says which; modules stay small."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from statistics import median

import vaeval_tasks

ROOT = Path(vaeval_tasks.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py"))

NAMED_AFTER = {
    "cli": "a module of the command line bears the name of its verb, whatever room does the work",
    "verbs": "a module of the Python door bears the name of its function, which is that of the verb",
    "testing": "a fake bears the name of the adapter or client that it stands in for",
}
"""Folders whose modules take their names from elsewhere, with the reason; any other file name stands once."""


def classes() -> dict[str, list[str]]:
    """Return where each public class is defined, by name."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    return found


def test_no_public_class_name_has_two_meanings() -> None:
    assert not {name: places for name, places in classes().items() if len(places) > 1}


def test_a_file_name_repeats_only_where_the_folder_says_which() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        folder = path.relative_to(ROOT).parent.as_posix()
        if path.name != "__init__.py" and folder not in NAMED_AFTER:
            places[path.name].append(folder)
    assert not {name: folders for name, folders in places.items() if len(folders) > 1}


def test_modules_are_small() -> None:
    lines = {path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert not {name: n for name, n in lines.items() if n > 500}
    assert median(lines.values()) <= 150
