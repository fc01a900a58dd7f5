"""Scores of responses: what each metric gets to see, what is scored again, and what is not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaeval_tasks.audio import Clip, write_wav
from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.metrics.backends import JudgeItem, Scored
from vaeval_tasks.metrics.profiles import Scorers
from vaeval_tasks.scoring.metric import MetricFamily
from vaeval_tasks.scoring.registry import family_metrics
from vaeval_tasks.scoring.scores import score_responses, scored_with, scoring_jobs
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Item, Response, ResponseStatus


@dataclass
class Judge:
    signature: str = "judge"
    seen: list[JudgeItem] = field(default_factory=list)
    verdict: float | None = 1.0
    fails: bool = False
    again: bool = False

    def judge(self, items: Any) -> list[Scored]:
        if self.fails:
            raise ServiceError("out of reach")
        self.seen += items
        return [Scored(value=self.verdict, detail="because", again=self.again) for _ in items]


@dataclass
class Speech:
    signature: str = "speech"
    seen: int = 0

    def score(self, clips: Any) -> list[Scored]:
        self.seen += len(clips)
        return [Scored(value=4.0) for _ in clips]


@dataclass
class Ears:
    signature: str = "ears"

    def transcribe(self, clips: Any) -> list[str]:
        return ["hello wide world" for _ in clips]


@dataclass
class Speaker:
    signature: str = "speaker"

    def embed(self, clips: Any) -> list[Any]:
        """A voice is its loudness: (1, 0) where loud, (0, 1) where not, none where there is no sound."""
        return [None if not len(c.samples) else np.array([1, 0] if c.peak > 0.4 else [0, 1], np.float32) for c in clips]


def item(task: str, number: int = 0, **changes: Any) -> Item:
    return Item(item_id=f"i{number}", task=task, question=f"q{number}", **changes)


def response(task: str, number: int = 0, **changes: Any) -> Response:
    given: dict[str, Any] = {"status": ResponseStatus.ok, "text": "Hello, wide world!", "path": "a.wav"} | changes
    return Response(response_id=f"r{number}", prompt_id=f"i{number}", config_id="m/d/d", task=task, **given)


@pytest.fixture
def run(tmp_path: Path, tone: Clip) -> RunDir:
    write_wav(tmp_path / "a.wav", tone)
    write_wav(tmp_path / "quiet.wav", Clip(tone.samples / 2, tone.rate))
    write_wav(tmp_path / "silent.wav", Clip(tone.samples * 0, tone.rate))
    return RunDir(tmp_path)


@pytest.fixture
def scorers() -> Scorers:
    return Scorers(judge=Judge(), speech=Speech(), recogniser=Ears(), speaker=Speaker(), emotion=None)


def values(run: RunDir) -> dict[tuple[str, str], float | None]:
    return {(s.response_id, s.metric): s.value for s in run.scores()}


def go(run: RunDir, scorers: Scorers, pairs: list[tuple[Item, Response]]) -> dict[tuple[str, str], float | None]:
    score_responses(run, scoring_jobs([r for _, r in pairs], [i for i, _ in pairs]), scorers)
    return values(run)


TASK = "speaking_safety"
NONE = Scorers(judge=None, speech=None, recogniser=None, speaker=None, emotion=None)


def test_sound_silence_and_nothing(run: RunDir, scorers: Scorers) -> None:
    pairs = [
        (item(TASK, 0), response(TASK, 0)),
        (item(TASK, 1), response(TASK, 1, path="silent.wav")),
        (item(TASK, 2), response(TASK, 2, path="")),
    ]
    found = go(run, scorers, pairs)
    assert [found[f"r{n}", "audible"] for n in range(3)] == [1, 0, 0]
    assert found["r0", "mos"] == 4
    # "hello,wideworld!" of 16 characters and "hellowideworld" of 14: two edits
    assert found["r0", "wer"] == pytest.approx(2 / 16)
    assert ("r1", "mos") not in found
    assert ("r2", "wer") not in found
    assert [found[f"r{n}", "content"] for n in range(3)] == [1, 1, 1]


def test_an_answer_of_no_words_is_wrong_without_asking(run: RunDir, scorers: Scorers) -> None:
    pairs = [
        (item(TASK, 0), response(TASK, 0, text="", path="")),
        (item(TASK, 1), response(TASK, 1, text="cut off", path="", status=ResponseStatus.error)),
        (item(TASK, 2), response(TASK, 2, text="")),
        (item(TASK, 3), response(TASK, 3, text="", output_transcript="words of the provider")),
    ]
    found = go(run, scorers, pairs)
    assert (found["r0", "content"], found["r1", "content"]) == (0, 0)
    assert scorers.judge is not None
    assert [i.answer for i in scorers.judge.seen] == ["hello wide world", "words of the provider"]  # type: ignore[attr-defined]
    assert found["r2", "wer"] is None, "sound without text has nothing to be consistent with"


def test_similarity_is_of_roleplay_only(run: RunDir, scorers: Scorers) -> None:
    role = str(run.root / "a.wav")
    task = "speaking_roleplay"
    pairs = [
        (item(task, 0, role_audio=role), response(task, 0)),
        (item(task, 1, role_audio=role), response(task, 1, path="quiet.wav")),
        (item(task, 2), response(task, 2)),
        (item(TASK, 3, role_audio=role), response(TASK, 3)),
    ]
    found = go(run, scorers, pairs)
    # cosine 1 -> 1, cosine 0 -> 0.5
    assert [found[f"r{n}", "similarity"] for n in range(3)] == [1.0, 0.5, None]
    assert ("r3", "similarity") not in found


def test_nothing_is_scored_twice_but_missing_verdicts_are_asked_again(run: RunDir, scorers: Scorers) -> None:
    pairs = [(item(TASK), response(TASK))]
    judge = Judge(verdict=None, again=True)
    speech = Speech()
    go(run, replace(scorers, judge=judge, speech=speech), pairs)
    judge.verdict = 0.0
    found = go(run, replace(scorers, judge=judge, speech=speech), pairs)
    assert (speech.seen, len(judge.seen), found["r0", "content"]) == (1, 2, 0.0)
    go(run, replace(scorers, judge=judge, speech=speech), pairs)
    assert len(judge.seen) == 2


def test_other_scorers_score_anew_beside_the_old(run: RunDir, scorers: Scorers) -> None:
    pairs = [(item(TASK), response(TASK))]
    go(run, scorers, pairs)
    go(run, replace(scorers, speech=Speech(signature="other")), pairs)
    assert sorted(s.signature for s in run.read("scores") if s.metric == "mos") == ["other", "speech"]


def test_an_unreachable_judge_keeps_the_scores_of_sound(run: RunDir, scorers: Scorers) -> None:
    with pytest.raises(ServiceError):
        go(run, replace(scorers, judge=Judge(fails=True)), [(item(TASK), response(TASK))])
    assert {metric for _, metric in values(run)} == {"audible", "mos", "wer"}


def test_scorers_that_are_absent_leave_their_metric_out(run: RunDir) -> None:
    assert go(run, NONE, [(item(TASK), response(TASK))]) == {("r0", "audible"): 1.0}
    assert scored_with(NONE, "speaking_roleplay") == dict.fromkeys(
        ("content", "speech", "consistency", "similarity"), "none"
    )


def test_a_dialogue_is_judged_whole(run: RunDir, scorers: Scorers) -> None:
    task = "speaking_multi_round"
    asked = Item(item_id="i0", task=task, question="one\ntwo")
    go(run, scorers, [(asked, response(task, 0, turn_texts=("first", "Hello, wide world!")))])
    assert scorers.judge is not None
    assert scorers.judge.seen[0].answer == (  # type: ignore[attr-defined]
        "User: one\nAssistant: first\nUser: two\nAssistant: Hello, wide world!"
    )


def test_a_study_response_has_scores_of_sound_and_measures(run: RunDir, scorers: Scorers) -> None:
    score_responses(run, scoring_jobs([response("", 0)], []), scorers)
    measures = {metric.key for metric in family_metrics(MetricFamily.measures)}
    assert {metric for _, metric in values(run)} == {"audible", "mos", "wer"} | measures


def test_a_response_to_an_unknown_document_is_refused() -> None:
    with pytest.raises(InputError, match=r"'r0' answers .*'i0'.*not among the run's items"):
        scoring_jobs([response(TASK)], [])
