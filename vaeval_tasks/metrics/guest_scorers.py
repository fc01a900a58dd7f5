"""Somebody else's scorers and judges behind our protocols: what they return is checked before it counts.

A class is named by an entry point of ``vaeval.scorers`` (``vaeval.judges`` for the judge of content), or as
``package.module:Class``. It is called without arguments and follows one protocol of
:mod:`vaeval_tasks.metrics.backends`: its ``signature``, and the one method of its role.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import InputError, PluginError, UnknownNameError, VaevalError, fault
from vaeval_tasks.metrics.backends import JudgeItem, Scored
from vaeval_tasks.metrics.content_judge_local import LOCAL
from vaeval_tasks.plugins import Plugin, PluginGroup, find

__all__ = ["ROLES", "GuestScorer", "open_scorer", "refuse_beside"]

ROLES: dict[str, str] = {
    "judge": "judge",
    "speech": "score",
    "recogniser": "transcribe",
    "speaker": "embed",
    "emotion": "probabilities",
}
"""Role: the method of its protocol."""
_OURS = {("judge", LOCAL): Plugin(name=LOCAL, target="vaeval_tasks.metrics.content_judge_local:LocalContentJudge")}
"""Role and name: what is our own and goes through the same door, as no profile has it."""


class GuestScorer:
    """A scorer that answers for somebody else's; it has the methods of every role and is used for one.

    Args:
        scorer: the object.
        name: what messages call it.
    """

    def __init__(self, scorer: Any, name: str) -> None:
        self._scorer, self._name = scorer, name

    @property
    def signature(self) -> str:
        """The scorer's own.

        Raises:
            PluginError: it is not a line of text.
        """
        found = self._guard(lambda: self._scorer.signature)
        if not isinstance(found, str) or not found.strip() or not found.isprintable():
            raise PluginError(f"{self._name}: signature must be a line of text that is not empty, got {_brief(found)}")
        return found

    def ready(self) -> str:
        """Return what a scorer remarks that checks itself before a run; empty where it has no such method."""
        ready = getattr(self._scorer, "ready", None)
        return str(self._guard(ready) or "") if callable(ready) else ""

    def judge(self, items: Sequence[JudgeItem]) -> list[Scored]:
        """Return a verdict for each item; see :class:`~vaeval_tasks.metrics.backends.ContentJudge`."""
        return self._each("judge", items, lambda one: _scored(one, "1, 0 or None", lambda v: v in (0, 1)))

    def score(self, clips: Sequence[Clip]) -> list[Scored]:
        """Return a MOS for each clip; see :class:`~vaeval_tasks.metrics.backends.SpeechQuality`."""
        return self._each("score", clips, lambda one: _scored(one, "a MOS from 1 to 5 or None", lambda v: 1 <= v <= 5))

    def transcribe(self, clips: Sequence[Clip]) -> list[str]:
        """Return a transcript for each clip; see :class:`~vaeval_tasks.metrics.backends.Recogniser`."""
        return self._each("transcribe", clips, lambda one: "" if isinstance(one, str) else "text")

    def embed(self, clips: Sequence[Clip]) -> list[NDArray[np.float32] | None]:
        """Return a unit vector for each clip; see :class:`~vaeval_tasks.metrics.backends.SpeakerEncoder`."""
        found = self._each("embed", clips, _vector)
        if len(sizes := {len(one) for one in found if one is not None}) > 1:
            raise PluginError(f"{self._name}: embed() gave vectors of different sizes: {sorted(sizes)}")
        return found

    def probabilities(self, clips: Sequence[Clip]) -> list[dict[str, float] | None]:
        """Return emotions for each clip; see :class:`~vaeval_tasks.metrics.backends.EmotionRecogniser`."""
        return self._each("probabilities", clips, _emotions)

    def _each(self, method: str, given: Sequence[Any], wrong: Callable[[Any], str]) -> list[Any]:
        """Call a method for a batch and check that it gives one right value for each input."""
        found = self._guard(lambda: getattr(self._scorer, method)(given))
        if not isinstance(found, list | tuple):
            raise PluginError(f"{self._name}: {method}() must return a list, got {type(found).__name__}")
        if len(found) != len(given):
            raise PluginError(f"{self._name}: {method}() gave {len(found)} values for {len(given)} inputs")
        for number, one in enumerate(found, 1):
            if must_be := wrong(one):
                raise PluginError(f"{self._name}: value {number} of {method}() must be {must_be}, got {_brief(one)}")
        return list(found)

    def _guard(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except VaevalError:
            raise
        except Exception as error:
            raise PluginError(f"{self._name} raised {fault(error)}") from error


def _brief(value: Any) -> str:
    return " ".join(repr(value).split())[:80]


def _number(value: Any) -> bool:
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return real and math.isfinite(value)


def _scored(one: Any, must_be: str, holds: Callable[[float], bool]) -> str:
    """Return what a value should have been, empty where it is."""
    if not isinstance(one, Scored) or not isinstance(one.detail, str):
        return "a Scored with a text as its detail"
    return "" if one.value is None or (_number(one.value) and holds(one.value)) else f"a Scored of {must_be}"


def _vector(one: Any) -> str:
    if one is None:
        return ""
    right = isinstance(one, np.ndarray) and one.dtype.kind == "f" and one.ndim == 1 and bool(np.all(np.isfinite(one)))
    return "" if right and abs(float(np.linalg.norm(one)) - 1) < 1e-2 else "a vector of floats of length 1, or None"


def _emotions(one: Any) -> str:
    if one is None:
        return ""
    right = isinstance(one, Mapping) and all(
        isinstance(name, str) and _number(p) and 0 <= p <= 1 for name, p in one.items()
    )
    return "" if right and sum(one.values()) <= 1.01 else "probabilities by emotion that sum to at most 1, or None"


def refuse_beside(role: str, name: str | None, **options: object) -> None:
    """Refuse an option of our own backend beside somebody else's: nothing would be done with it.

    Raises:
        InputError: there is one; names it.
    """
    if name and (given := [option for option, value in options.items() if value is not None]):
        raise InputError(f"{given[0]} does not go with the {role} {name!r}, which has its own settings; leave one out")


def _found(role: str, name: str) -> Plugin:
    group, kind = (PluginGroup.judges, "judge") if role == "judge" else (PluginGroup.scorers, "scorer")
    return find(group, name, kind=kind, built_in=[ours for of, ours in _OURS if of == role], where=role)


def open_scorer(role: str, name: str) -> GuestScorer:
    """Return the scorer of a name for a role of :data:`ROLES`: somebody else's, or one of ours that is opt-in.

    Raises:
        UnknownNameError: there is no such role, or no such entry point.
        PluginError: the class cannot be imported or made, or lacks the role's method.
    """
    if role not in ROLES:
        raise UnknownNameError("role of a scorer", role, ROLES)
    plugin = _OURS.get((role, name)) or _found(role, name)
    made_by = plugin.load()
    method = ROLES[role]
    if not callable(getattr(made_by, method, None)):
        raise PluginError(f"{role}: the plug-in {plugin} has no method {method!r}; see vaeval_tasks.metrics.backends")
    called = f"the {role} {name!r}"
    try:
        scorer = GuestScorer(made_by(), called)
    except VaevalError:
        raise
    except Exception as error:
        raise PluginError(f"{called} cannot be made: {fault(error)}") from error
    _ = scorer.signature  # a wrong one shows before anything is scored
    return scorer
