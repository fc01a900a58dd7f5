"""Find themes in free text by a lexicon of words, minding negation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from vaeval_tasks.errors import InputError, UnknownNameError

__all__ = ["DEFAULT", "Lexicon", "Theme", "load_lexicon"]

DEFAULT = Path(__file__).with_name("themes.yaml")
"""The shipped lexicon; its head says how to edit a copy."""

_WORD = re.compile(r"[\w'’]+")
_PUNCTUATION = re.compile(r"[.,;:!?()\n]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """One theme and what tells it."""

    key: str
    label: str
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """Themes, and how negation is told."""

    themes: tuple[Theme, ...]
    reach: int
    """How many words before a term a negator may stand."""
    negator: re.Pattern[str]
    not_negation: re.Pattern[str]
    clause_end: re.Pattern[str]

    def mentions(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Return which text mentions which theme, (texts, themes)."""
        return np.array([[self._mentions(theme, text) for theme in self.themes] for text in texts], dtype=bool).reshape(
            len(texts), len(self.themes)
        )

    def _mentions(self, theme: Theme, text: str) -> bool:
        return any(not self._negated(text[: found.start()]) for found in theme.pattern.finditer(text))

    def _negated(self, before: str) -> bool:
        clause = _PUNCTUATION.split(before)[-1]
        ends = list(self.clause_end.finditer(clause))
        clause = self.not_negation.sub(" ", clause[ends[-1].end() :] if ends else clause)
        near = " ".join(_WORD.findall(clause)[-self.reach :])
        return bool(self.negator.search(near))


def _any_of(terms: Sequence[str]) -> re.Pattern[str]:
    """Compile terms into one pattern: ``*`` is any word ending (or start), a space is white space or a hyphen."""
    parts = [
        re.escape(term.strip()).replace(r"\*", r"[\w]*").replace(r"\ ", r"[\s-]+")
        for term in sorted(terms, key=len, reverse=True)
    ]
    return re.compile(rf"(?<![\w'’])(?:{'|'.join(parts)})(?![\w'’])" if parts else r"(?!)", re.IGNORECASE)


def _terms(section: Mapping[str, Any], key: str, path: Path, where: str) -> list[str]:
    value = section.get(key, [])
    if not isinstance(value, list) or not all(isinstance(term, str) and term.strip() for term in value):
        raise InputError("must be a list of words or phrases", path=path, field=f"{where}.{key}")
    return value


def _check_keys(section: Any, known: set[str], path: Path, where: str) -> Mapping[str, Any]:
    if not isinstance(section, dict):
        raise InputError("must be a mapping of names", path=path, field=where)
    for key in section:
        if key not in known:
            raise UnknownNameError("key", str(key), known, where=f"{path}, {where}")
    return section


def load_lexicon(path: str | Path = DEFAULT) -> Lexicon:
    """Read a lexicon; the shipped one shows the form.

    Raises:
        InputError: the file is missing, is not YAML, or a part of it is not as it must be.
        UnknownNameError: it has a key that is not known.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError("no such file", path=path)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as YAML ({str(error).splitlines()[0]})", path=path) from None
    content = _check_keys(content, {"negation", "themes"}, path, "the file")
    known = {"reach", "negators", "not_negations", "clause_ends"}
    negation = _check_keys(content.get("negation", {}), known, path, "negation")
    reach = negation.get("reach", 4)
    if not isinstance(reach, int) or reach < 0:
        raise InputError("must be a whole number of words, 0 or more", path=path, field="negation.reach")
    themes = []
    listed = content.get("themes") or {}
    for key, given in _check_keys(listed, set(listed), path, "themes").items():
        section = _check_keys(given, {"label", "terms"}, path, f"themes.{key}")
        terms = _terms(section, "terms", path, f"themes.{key}")
        themes.append(Theme(key=str(key), label=str(section.get("label", key)), pattern=_any_of(terms)))
    if not themes:
        raise InputError("names no theme", path=path, field="themes")
    return Lexicon(
        themes=tuple(themes),
        reach=reach,
        negator=_any_of(_terms(negation, "negators", path, "negation")),
        not_negation=_any_of(_terms(negation, "not_negations", path, "negation")),
        clause_end=_any_of(_terms(negation, "clause_ends", path, "negation")),
    )
