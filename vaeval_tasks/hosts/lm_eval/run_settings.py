"""What a run is told by ``--metadata`` and ``--model_args``: where data come from and how answers are scored.

========================  =================================================================
``dataset_path``          a folder in the Hub's layout, or ``sample``; by default the Hub
``revision``              a commit, branch or tag of the Hub data set
``run_dir``               the folder for responses, scores and ``results.json``
``profile``               the scorers: ``reference`` (default) or ``offline``
``judge_url`` …           options of the scorers, see :data:`SCORING`
``retry_unjudged``        ``true`` asks again for verdicts that a judge could not give
``predict_only``          ``true``: answers only, to be scored later; ``--predict_only`` of a command line says so itself
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
from vaeval_tasks.services.http.request_options import JUDGE_OPTIONS, option_text
from vaeval_tasks.store.schema import slug

if TYPE_CHECKING:
    from vaeval_tasks.metrics.profiles import Scorers

__all__ = ["SCORING", "HarnessSettings", "run_folder", "truth"]

SCORING = (
    *("judge_url", "judge_model", "judge_prompts", "utmos_path", "asr_model", "speaker_path", "emotion_path"),
    *JUDGE_OPTIONS,
    *ROLES,
)
"""Options of the scorers, passed on to ``load_scorers``; ``scoring_device`` becomes its ``device``.

A scorer of somebody else's is given by its role: ``speech=package.module:Class``."""


def run_folder(run_dir: str, model_name: str) -> Path:
    """Return the run folder: the one that was asked for, or ``vaeval-runs/<model>`` in the working directory."""
    return Path(run_dir).expanduser() if run_dir else Path("vaeval-runs") / (slug(model_name) or "model")


def truth(name: str, metadata: Mapping[str, Any]) -> bool:
    """Return a setting of the metadata that is true or false, and false where it is absent.

    Raises:
        InputError: it is something else.
    """
    value = str(metadata.get(name, False)).lower()
    if value not in ("true", "false"):
        raise InputError(f"--metadata {name}: expected true or false, got {metadata[name]!r}")
    return value == "true"


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
    retry_unjudged: bool = False
    """Whether verdicts that a judge could not give are asked for once more."""

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> HarnessSettings:
        """Pick our settings out of the harness's metadata.

        Raises:
            UnknownNameError: there is no such profile.
            InputError: ``retry_unjudged`` is neither true nor false.
        """
        from vaeval_tasks.metrics.profiles import check_profile

        profile = str(metadata.get("profile", Profile.reference))
        check_profile(profile)
        scoring = {name: option_text(metadata[name]) for name in SCORING if metadata.get(name) is not None}
        if metadata.get("scoring_device") is not None:
            scoring["device"] = str(metadata["scoring_device"])
        return cls(
            run_dir=str(metadata.get("run_dir", "")),
            model_name=str(metadata.get("model_name") or metadata.get("pretrained") or "model"),
            profile=profile,
            scoring=scoring,
            retry_unjudged=truth("retry_unjudged", metadata),
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
            if "judge_url" in self.scoring or "judge" in self.scoring:
                raise
            raise InputError(
                f"{error}; give --metadata judge_url=URL, profile=offline, or "
                "--predict_only to score later with vaeval score"
            ) from None

    def to_json(self) -> str:
        """Return the settings as one line of JSON."""
        names = ("run_dir", "model_name", "profile", "scoring", "retry_unjudged")
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
