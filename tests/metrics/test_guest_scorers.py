"""Somebody else's scorers: a wrong count or value is one line that names the plug-in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from vaeval_tasks.cli.score import score
from vaeval_tasks.errors import InputError, PluginError, ServiceError, UnknownNameError
from vaeval_tasks.hosts.lm_eval.run_settings import HarnessSettings
from vaeval_tasks.metrics.backends import JudgeItem, Scored
from vaeval_tasks.metrics.content_judge import RulesJudge
from vaeval_tasks.metrics.guest_scorers import ROLES, GuestScorer, open_scorer
from vaeval_tasks.metrics.profiles import load_scorers
from vaeval_tasks.testing import sample_recording

HERE = f"{__name__}:"
CLIPS = [sample_recording(0.2), sample_recording(0.2, seed=1)]
ITEMS = [JudgeItem(task="listening_general", question="q", answer="a")] * 2


class Everything:
    """Plays every role with what it was given; says the right things by default."""

    signature: Any = "everything|version:1"

    def __init__(self, given: Any = None) -> None:
        self.given = given

    def _say(self, right: list[Any]) -> Any:
        if isinstance(self.given, BaseException):
            raise self.given
        return right if self.given is None else self.given

    def judge(self, items: Any) -> Any:
        return self._say([Scored(value=1.0), Scored(value=None, detail="unsure")])

    def score(self, clips: Any) -> Any:
        return self._say([Scored(value=np.float32(4.5)), Scored(value=None)])

    def transcribe(self, clips: Any) -> Any:
        return self._say(["four", ""])

    def embed(self, clips: Any) -> Any:
        return self._say([np.array([0.6, 0.8], np.float32), None])

    def probabilities(self, clips: Any) -> Any:
        return self._say([{"happy": 0.7, "sad": 0.3}, None])


class Unsigned(Everything):
    signature = "  "


class Signed(Everything):
    signature = 7


class Lines(Everything):
    signature = "a\nb"


class Unmade(Everything):
    def __init__(self) -> None:
        raise OSError("no weights")


class Broken(Everything):
    @property
    def signature(self) -> str:  # type: ignore[override]
        raise KeyError("version")


def use(role: str, given: Any) -> Any:
    scorer = GuestScorer(Everything(given), "the scorer 'acme'")
    return getattr(scorer, ROLES[role])(ITEMS if role == "judge" else CLIPS)


@pytest.mark.parametrize("role", ROLES)
def test_each_role_passes_right_values_on(role: str) -> None:
    assert len(use(role, None)) == 2
    scorers = load_scorers("offline", **{role: HERE + "Everything"})
    assert getattr(scorers, role).signature == "everything|version:1"


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], r"gave 0 values for 2 inputs"),
        ([None] * 3, r"gave 3 values for 2 inputs"),
        ("ab", r"must return a list, got str"),
        (7, r"must return a list, got int"),
        (KeyError("x"), r"raised KeyError: 'x'"),
    ],
)
def test_a_wrong_count_names_the_plug_in(role: str, given: Any, message: str) -> None:
    with pytest.raises(PluginError, match=rf"^the scorer 'acme'.*{message}"):
        use(role, given)


@pytest.mark.parametrize(
    ("role", "value", "message"),
    [
        ("judge", Scored(value=0.5), "a Scored of 1, 0 or None, got Scored"),
        ("judge", Scored(value=True), "a Scored of 1, 0 or None"),
        ("judge", 1.0, "a Scored with a text as its detail, got 1.0"),
        ("judge", Scored(value=1.0, detail=None), "a Scored with a text"),  # type: ignore[arg-type]
        ("speech", Scored(value=0.99), "a Scored of a MOS from 1 to 5 or None"),
        ("speech", Scored(value=float("nan")), "a MOS from 1 to 5"),
        ("speech", Scored(value=5.01), "a MOS from 1 to 5"),
        ("speech", Scored(value="4"), "a MOS from 1 to 5"),  # type: ignore[arg-type]
        ("speech", None, "a Scored with a text"),
        ("recogniser", None, "must be text, got None"),
        ("recogniser", b"four", "must be text, got b'four'"),
        ("speaker", np.array([3.0, 4.0]), "a vector of floats of length 1, or None"),
        ("speaker", np.array([np.nan, 1.0]), "a vector of floats of length 1"),
        ("speaker", [0.6, 0.8], "a vector of floats of length 1"),
        ("speaker", np.eye(2), "a vector of floats of length 1"),
        ("emotion", {"happy": 0.9, "sad": 0.9}, "sum to at most 1, or None"),
        ("emotion", {"happy": -0.1}, "probabilities by emotion"),
        ("emotion", {3: 0.1}, "probabilities by emotion"),
        ("emotion", ["happy"], "probabilities by emotion"),
    ],
)
def test_a_value_out_of_range_names_plug_in_and_place(role: str, value: Any, message: str) -> None:
    right = use(role, None)
    with pytest.raises(PluginError, match=r"^the scorer 'acme': value 2 of ") as caught:
        use(role, [right[0], value])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_vectors_of_two_sizes_are_no_voices() -> None:
    with pytest.raises(PluginError, match=r"different sizes: \[1, 2\]"):
        use("speaker", [np.array([1.0]), np.array([0.0, 1.0])])


def test_an_error_of_ours_goes_up() -> None:
    with pytest.raises(ServiceError, match="the judge is asleep"):
        use("judge", ServiceError("the judge is asleep"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Unsigned", r"the speech '.*:Unsigned': signature must be a line of text that is not empty, got ' '"),
        ("Signed", "got 7"),
        ("Lines", "must be a line of text"),
        ("Broken", "raised KeyError: 'version'"),
        ("Unmade", r"the speech '.*:Unmade' cannot be made: OSError: no weights"),
        ("Scored", r"speech: the plug-in '.*:Scored' has no method 'score'"),
        ("Nobody", "has no class 'Nobody'"),
    ],
)
def test_a_scorer_of_the_wrong_kind_shows_before_anything_is_scored(name: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        load_scorers("offline", speech=HERE + name)


def test_roles_and_options() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown role of a scorer 'speach'\. Did you mean 'speech'"):
        open_scorer("speach", HERE + "Everything")
    mine = HERE + "Everything"
    for role, option in {
        "judge": "judge_url",
        "speech": "utmos_path",
        "recogniser": "asr_model",
        "speaker": "speaker_path",
        "emotion": "emotion_path",
    }.items():
        with pytest.raises(InputError, match=f"^{option} does not go with the {role} "):
            load_scorers("offline", **{role: mine, option: "x"})
    assert load_scorers("reference", judge=mine).judge.signature == "everything|version:1", "no address is needed"
    assert isinstance(load_scorers("offline", speech=mine).judge, RulesJudge), "the others are the profile's"


def test_lm_eval_takes_them_as_metadata() -> None:
    settings = HarnessSettings.from_metadata({"profile": "offline", "speech": HERE + "Everything", "speechless": 1})
    assert HarnessSettings.from_json(settings.to_json()).scorers().speech.signature == "everything|version:1"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["speech"], "expected ROLE=NAME such as speech=package.module:Class, got 'speech'"),
        (["speech="], "expected ROLE=NAME"),
        (["speech=a:B", "speech=c:D"], "speech is given twice"),
    ],
)
def test_the_option_is_checked(tmp_path, values: list[str], message: str) -> None:
    (tmp_path / "responses.jsonl").write_text(
        '{"response_id": "a/p", "prompt_id": "p", "config_id": "a", "status": "ok"}\n'
    )
    result = CliRunner().invoke(score, [str(tmp_path), *(word for v in values for word in ("--scorer", v))])
    assert result.exit_code == 2, result
    assert message in result.output
