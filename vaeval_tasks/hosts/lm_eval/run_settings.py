"""What a run is told by ``--metadata`` and ``--model_args``: where data come from and how answers are scored.

========================  =================================================================
``dataset_path``          a folder in the Hub's layout, or ``sample``; by default the Hub
``revision``              a commit, branch or tag of the Hub data set
``strict``                ``true``: an item with a broken clip or picture is an error, not left out
``inputs``                what lm-eval's own models are given: ``text``, ``images``, ``audio``, joined by ``+``
``run_dir``               the folder for responses, scores and ``results.json``
``profile``               the scorers: ``reference`` (default) or ``offline``
``min_judged``            the share of items that must count, or a task has no score; 0.5 by default
``judge_url`` …           options of the scorers, see :data:`SCORING`
``retry_unjudged``        ``true`` asks again for verdicts that a judge could not give
``predict_only``          ``true``: answers only, to be scored later; so does ``--predict_only`` on a command line
========================  =================================================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.lm_eval.model_identity import model_identity, model_label, refuse_other_model
from vaeval_tasks.metrics.common import Profile
from vaeval_tasks.metrics.guest_scorers import ROLES
from vaeval_tasks.scoring.combine import MIN_JUDGED, check_min_judged
from vaeval_tasks.services.http.request_options import JUDGE_OPTIONS, option_text
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ModelConfig, slug

if TYPE_CHECKING:
    from vaeval_tasks.metrics.profiles import Scorers

__all__ = ["METADATA", "SCORING", "HarnessSettings", "run_folder", "yes"]

SCORING = (
    *("judge_url", "judge_model", "judge_prompts", "utmos_path", "asr_model", "speaker_path", "emotion_path"),
    *JUDGE_OPTIONS,
    *ROLES,
)
"""Options of the scorers, passed on to ``load_scorers``; ``scoring_device`` becomes its ``device``.

A scorer of somebody else's is given by its role: ``speech=package.module:Class``; ``judge=local`` is ours."""

METADATA = (
    *("dataset_path", "revision", "strict", "inputs", "run_dir", "model_name"),
    *("profile", "scoring_device", "min_judged", "retry_unjudged", "predict_only"),
    *SCORING,
)
"""What our hooks read of the metadata; other tasks may have names of their own there."""


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
    min_judged: float = MIN_JUDGED
    items: int | None = None
    """How many documents the task's data have."""
    identity: str = ""
    """What tells the model from others, see :mod:`vaeval_tasks.hosts.lm_eval.model_identity`."""
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
            model_name=model_label(metadata),
            profile=profile,
            scoring=scoring,
            min_judged=check_min_judged(metadata.get("min_judged", MIN_JUDGED)),
            identity=model_identity(metadata, METADATA),
            retry_unjudged=yes(metadata, "retry_unjudged"),
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

    @property
    def scored_by(self) -> tuple[str, str]:
        """Profile and options as JSON: what tells scorers from others."""
        return self.profile, json.dumps(self.scoring, sort_keys=True)

    def of_items(self, items: int) -> HarnessSettings:
        """Return the settings of a task whose data have so many documents."""
        return replace(self, items=items)

    def text_model(self) -> tuple[Path, ModelConfig]:
        """Return the run folder and the configuration of a text-only model's answers."""
        root = run_folder(self.run_dir, self.model_name).resolve()
        return root, ModelConfig(model=self.model_name, provider="text")

    def refuse_other_model(self) -> None:
        """Refuse a run folder that holds the answers of another text-only model of the same name.

        Raises:
            InputError: it does.
        """
        root, config = self.text_model()
        refuse_other_model(RunDir(root), config.config_id, self.identity)

    def to_json(self) -> str:
        """Return the settings as one line of JSON."""
        return json.dumps(asdict(self), sort_keys=True)

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
