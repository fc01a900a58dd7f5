"""Score the responses of a run: in batches, once per response, and only what was not scored before.

Each response gets rows of these metrics in ``scores.parquet``; ``combine`` makes the task scores of them.

==============  ===================================================================================
``audible``     1 where there is audio above silence, else 0
``mos``         predicted mean opinion score, 1 to 5 (only where audible)
``wer``         modified WER of text and transcript, 0 to 1 (only where audible); detail: the transcript
``similarity``  (cosine + 1) / 2 of the answer's and the role's voice (role-play only)
``emotion``     detail: the emotions heard in the answer (emotion task only)
``content``     1 or 0 by the judge, None where it gave no verdict
==============  ===================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from tqdm import tqdm

from vaeval_tasks.audio import SILENCE_PEAK, Clip, read_audio
from vaeval_tasks.errors import InputError
from vaeval_tasks.metrics.backends import JudgeItem
from vaeval_tasks.metrics.modified_wer import SIGNATURE as WER_SIGNATURE
from vaeval_tasks.metrics.modified_wer import modified_wer
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Item, Response, ResponseStatus, Score

if TYPE_CHECKING:
    from vaeval_tasks.metrics.profiles import Scorers

__all__ = ["AUDIBLE_SIGNATURE", "Job", "ScoreTable", "jobs", "score_jobs", "signatures"]

BATCH = 32
"""Responses whose sound is in memory at once."""

EMOTION_TASK, ROLEPLAY_TASK, DIALOGUE_TASK = "speaking_emotion", "speaking_roleplay", "speaking_multi_round"
EMOTION_MIN = 0.01
"""The paper lists every emotion with a larger probability to the judge."""

AUDIBLE_SIGNATURE = f"audible peak>={SILENCE_PEAK:.3f}"

T = TypeVar("T")


class _Signed(Protocol):
    @property
    def signature(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A response and the document it answers."""

    item: Item
    response: Response


def jobs(responses: Iterable[Response], items: Iterable[Item]) -> list[Job]:
    """Join responses and documents. A study's response (of no task) needs no document; only its sound is scored.

    Raises:
        InputError: a response answers a document that the run folder does not hold.
    """
    known = {(i.task, i.item_id): i for i in items}
    out = []
    for response in responses:
        key = (response.task, response.prompt_id)
        if not response.task:
            out.append(Job(item=Item(item_id=response.prompt_id, task=""), response=response))
            continue
        if key not in known:
            raise InputError(f"response {response.response_id!r} answers {key}, which is not among the run's items")
        out.append(Job(item=known[key], response=response))
    return out


def signatures(scorers: Scorers, task: str) -> dict[str, str]:
    """Return what each factor of a task is scored with; ``none`` where a scorer is not configured."""
    parts: dict[str, _Signed | None] = {
        "content": scorers.judge,
        "speech": scorers.speech,
        "consistency": scorers.recogniser,
    }
    if task == ROLEPLAY_TASK:
        parts["similarity"] = scorers.speaker
    if task == EMOTION_TASK:
        parts["emotion"] = scorers.emotion
    out = {name: part.signature if part is not None else "none" for name, part in parts.items()}
    if scorers.recogniser is not None:
        out["consistency"] += f" + {WER_SIGNATURE}"
    return out


def metric_signatures(scorers: Scorers, task: str) -> dict[str, str]:
    """Return the signature of each metric's rows. An emotion verdict depends on both judge and emotions."""
    parts = signatures(scorers, task)
    out = {"audible": AUDIBLE_SIGNATURE, "mos": parts["speech"], "wer": parts["consistency"]}
    if task and scorers.judge is not None:
        out["content"] = scorers.content_signature(task)
    out.update((name, parts[name]) for name in ("similarity", "emotion") if name in parts)
    return {metric: signature for metric, signature in out.items() if signature != "none"}


class ScoreTable:
    """The scores of a run folder by (response, metric, signature), written back whole and atomically."""

    def __init__(self, run: RunDir) -> None:
        self.run = run
        rows: list[Score] = run.read("scores") if run.has("scores") else []
        self._rows = {(s.response_id, s.metric, s.signature): s for s in rows}

    def get(self, response_id: str, metric: str, signature: str) -> Score | None:
        """Return a score, None where there is none."""
        return self._rows.get((response_id, metric, signature))

    def add(self, scores: Iterable[Score]) -> None:
        """Add scores, in the place of earlier ones, and write the table."""
        self._rows.update(((s.response_id, s.metric, s.signature), s) for s in scores)
        rows = [self._rows[key] for key in sorted(self._rows)]
        self.run.write("scores", rows, made_by="vaeval score", inputs=["responses"])


def score_jobs(work: Sequence[Job], table: ScoreTable, scorers: Scorers) -> None:
    """Score responses and write the scores into the table; what is there with the same signature stays.

    Sound is scored first, so that an unreachable judge loses nothing. Verdicts that a judge did not give
    are asked for again.

    Raises:
        ServiceError: the judge cannot be reached.
        MissingWeightsError: a scorer's weights are absent.
    """
    work = [job for job in work if job.response.status is not ResponseStatus.unsupported]
    sound = [job for job in work if any(_todo(job, table, scorers, metric) for metric in _SOUND)]
    for batch in _batches(sound, "sound"):
        table.add(_score_sound(batch, table, scorers))
    if scorers.judge is None:
        return
    for batch in _batches([job for job in work if _todo(job, table, scorers, "content")], "content"):
        table.add(_judge(batch, table, scorers))


_SOUND = ("audible", "mos", "wer", "similarity", "emotion")


def _batches(work: Sequence[T], label: str) -> Iterator[Sequence[T]]:
    with tqdm(total=len(work), desc=f"score {label}", unit="response", disable=None) as bar:
        for start in range(0, len(work), BATCH):
            batch = work[start : start + BATCH]
            yield batch
            bar.update(len(batch))


def _todo(job: Job, table: ScoreTable, scorers: Scorers, metric: str) -> bool:
    """Whether this response still lacks this metric."""
    wanted = metric_signatures(scorers, job.item.task)
    if metric not in wanted:
        return False
    audible = table.get(job.response.response_id, "audible", AUDIBLE_SIGNATURE)
    if metric not in ("audible", "content") and audible is not None and not audible.value:
        return False
    found = table.get(job.response.response_id, metric, wanted[metric])
    return found is None or (metric == "content" and found.value is None)


def _score_sound(batch: Sequence[Job], table: ScoreTable, scorers: Scorers) -> list[Score]:
    clips = {job.response.response_id: _clip(job.response, table.run) for job in batch}
    heard = {rid: clip for rid, clip in clips.items() if clip is not None}
    out = [
        Score(response_id=rid, metric="audible", value=float(rid in heard), signature=AUDIBLE_SIGNATURE)
        for rid in clips
    ]
    lacking = {m: [j for j in batch if j.response.response_id in heard and _todo(j, table, scorers, m)] for m in _SOUND}
    out += _mos(lacking["mos"], heard, scorers)
    out += _wer(lacking["wer"], heard, scorers)
    out += _similarity(lacking["similarity"], heard, scorers)
    out += _emotion(lacking["emotion"], heard, scorers)
    return out


def _clip(response: Response, run: RunDir) -> Clip | None:
    """The response's sound, None where there is none or only silence."""
    if not response.path:
        return None
    clip = read_audio(run.root / response.path)
    return None if clip.silent else clip


def _row(job: Job, metric: str, scorers: Scorers, value: float | None, detail: str = "") -> Score:
    signature = metric_signatures(scorers, job.item.task)[metric]
    return Score(response_id=job.response.response_id, metric=metric, value=value, signature=signature, detail=detail)


def _mos(work: Sequence[Job], clips: Mapping[str, Clip], scorers: Scorers) -> list[Score]:
    if scorers.speech is None or not work:
        return []
    scored = scorers.speech.score([clips[job.response.response_id] for job in work])
    return [_row(job, "mos", scorers, s.value, s.detail) for job, s in zip(work, scored, strict=True)]


def _wer(work: Sequence[Job], clips: Mapping[str, Clip], scorers: Scorers) -> list[Score]:
    if scorers.recogniser is None or not work:
        return []
    transcripts = scorers.recogniser.transcribe([clips[job.response.response_id] for job in work])
    out = []
    for job, transcript in zip(work, transcripts, strict=True):
        text = _own_text(job.response)
        # sound without text cannot be inconsistent with it: no value, and the task says so
        out.append(_row(job, "wer", scorers, modified_wer(text, transcript) if text else None, transcript))
    return out


def _similarity(work: Sequence[Job], clips: Mapping[str, Clip], scorers: Scorers) -> list[Score]:
    if scorers.speaker is None or not work:
        return []
    answers = scorers.speaker.embed([clips[job.response.response_id] for job in work])
    voices = scorers.speaker.embed([_role(job.item) for job in work])
    out = []
    for job, answer, voice in zip(work, answers, voices, strict=True):
        if answer is None or voice is None:
            reason = "too little speech in the answer" if answer is None else "no role voice to compare with"
            out.append(_row(job, "similarity", scorers, None, reason))
        else:
            out.append(_row(job, "similarity", scorers, (float(answer @ voice) + 1) / 2))
    return out


def _role(item: Item) -> Clip:
    return read_audio(item.role_audio) if item.role_audio else Clip(np.zeros(0, np.float32), 16_000)


def _emotion(work: Sequence[Job], clips: Mapping[str, Clip], scorers: Scorers) -> list[Score]:
    if scorers.emotion is None or not work:
        return []
    found = scorers.emotion.probabilities([clips[job.response.response_id] for job in work])
    out = []
    for job, probabilities in zip(work, found, strict=True):
        ranked = sorted((probabilities or {}).items(), key=lambda pair: -pair[1])
        detail = ", ".join(f"{name} ({p:.2f})" for name, p in ranked if p > EMOTION_MIN)
        out.append(_row(job, "emotion", scorers, None, detail))
    return out


def _judge(batch: Sequence[Job], table: ScoreTable, scorers: Scorers) -> list[Score]:
    answers = {job.response.response_id: _answer(job, table, scorers) for job in batch}
    silent = [job for job in batch if not answers[job.response.response_id]]
    asked = [job for job in batch if answers[job.response.response_id]]
    out = [_row(job, "content", scorers, 0.0, "no answer") for job in silent]
    if not asked or scorers.judge is None:
        return out
    scored = scorers.judge.judge([_judge_item(j, answers[j.response.response_id], table, scorers) for j in asked])
    return out + [_row(job, "content", scorers, s.value, s.detail) for job, s in zip(asked, scored, strict=True)]


def _own_text(response: Response) -> str:
    return response.text or response.output_transcript


def _detail(job: Job, metric: str, table: ScoreTable, scorers: Scorers) -> str:
    signature = metric_signatures(scorers, job.item.task).get(metric, "")
    score = table.get(job.response.response_id, metric, signature)
    return score.detail if score is not None else ""


def _answer(job: Job, table: ScoreTable, scorers: Scorers) -> str:
    """What the judge reads: the model's own text, or the transcript of sound that came without; empty for none."""
    response = job.response
    if response.status in (ResponseStatus.error, ResponseStatus.timeout):
        return ""
    text = _own_text(response) or _detail(job, "wer", table, scorers)
    if job.item.task != DIALOGUE_TASK or len(response.turn_texts) < 2 or not text:
        return text
    questions = job.item.question.split("\n")
    answers = [*response.turn_texts[:-1], text]
    pairs = zip(questions + [""] * (len(answers) - len(questions)), answers, strict=False)
    return "\n".join(f"User: {question}\nAssistant: {answer}" for question, answer in pairs)


def _judge_item(job: Job, answer: str, table: ScoreTable, scorers: Scorers) -> JudgeItem:
    return JudgeItem(
        task=job.item.task,
        question=job.item.question,
        answer=answer,
        references=job.item.references,
        system_prompt=job.item.system_prompt,
        user_emotion=job.item.user_emotion,
        assistant_emotions=_detail(job, "emotion", table, scorers),
    )
