"""What a run is told by ``--metadata`` and ``--model_args``: where data come from and how answers are scored.

========================  =================================================================
``dataset_path``          a folder in the Hub's layout, or ``sample``; by default the Hub
``revision``              a commit, branch or tag of the Hub data set
``strict``                ``true``: an item with a broken clip or picture is an error, not left out
``inputs``                what lm-eval's own models are given: ``text``, ``images``, ``audio``, joined by ``+``
``run_dir``               the folder for responses, scores and ``results.json``
``profile``               the scorers: ``reference`` (default) or ``offline``
``judge_url`` …           options of the scorers, see :data:`SCORING`
========================  =================================================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaeval_tasks.errors import InputError
from vaeval_tasks.metrics.common import Profile
from vaeval_tasks.metrics.guest_scorers import ROLES
from vaeval_tasks.store.schema import slug

if TYPE_CHECKING:
    from vaeval_tasks.metrics.profiles import Scorers

__all__ = ["SCORING", "HarnessSettings", "run_folder", "yes"]

SCORING = (
    *("judge_url", "judge_model", "judge_prompts", "utmos_path", "asr_model", "speaker_path", "emotion_path"),
    *ROLES,
)
"""Options of the scorers, passed on to ``load_scorers``; ``scoring_device`` becomes its ``device``.

A scorer of somebody else's is given by its role: ``speech=package.module:Class``."""


def yes(metadata: Mapping[str, Any], name: str) -> bool:
    """Return a setting that is on or off; off where it is not given.

    Raises:
        InputError: it is something else.
    """
    given = str(metadata.get(name, False)).lower()
    if given not in ("true", "false", "1", "0"):
        raise InputError(f"{name}={metadata[name]} must be true or false", field=name)
    return given in ("true", "1")


def run_folder(run_dir: str, model_name: str) -> Path:
    """Return the run folder: the one that was asked for, or ``vaeval-runs/<model>`` in the working directory."""
    return Path(run_dir).expanduser() if run_dir else Path("vaeval-runs") / (slug(model_name) or "model")


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessSettings:
    """What the hooks need to know; it crosses lm-eval as JSON text inside each document."""

    run_dir: str = ""
    """The run folder; an answer of our own models names its own."""
    model_name: str = ""
    """What a model is called that does not say so itself."""
    profile: str = Profile.reference
    scoring: dict[str, str] = field(default_factory=dict)
    """Keyword arguments of ``load_scorers``."""

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> HarnessSettings:
        """Pick our settings out of the harness's metadata.

        Raises:
            UnknownNameError: there is no such profile.
        """
        from vaeval_tasks.metrics.profiles import check_profile

        profile = str(metadata.get("profile", Profile.reference))
        check_profile(profile)
        scoring = {name: str(metadata[name]) for name in SCORING if metadata.get(name) is not None}
        if metadata.get("scoring_device") is not None:
            scoring["device"] = str(metadata["scoring_device"])
        return cls(
            run_dir=str(metadata.get("run_dir", "")),
            model_name=str(metadata.get("model_name") or metadata.get("pretrained") or "model"),
            profile=profile,
            scoring=scoring,
        )

    def scorers(self) -> Scorers:
        """Return the scorers; none loads its weights before it is used.

        Raises:
            InputError: an option does not go with the profile, or one is lacking; the message says how to give it.
        """
        from vaeval_tasks.metrics import profiles

        try:
            return profiles.load_scorers(self.profile, **self.scoring)
        except InputError as error:
            raise InputError(
                f"{error}; give --metadata judge_url=URL, profile=offline, or "
                "--predict_only to score later with vaeval score"
            ) from None

    def to_json(self) -> str:
        """Return the settings as one line of JSON."""
        names = ("run_dir", "model_name", "profile", "scoring")
        return json.dumps({name: getattr(self, name) for name in names}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> HarnessSettings:
        """Read what :meth:`to_json` wrote.

        Raises:
            InputError: the text is something else.
        """
        try:
            return cls(**json.loads(text))
        except (TypeError, json.JSONDecodeError) as error:
            raise InputError(f"the document's settings cannot be read ({error})", field="settings") from None
