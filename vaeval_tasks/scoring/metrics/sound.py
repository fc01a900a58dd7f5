"""What is heard in a response: whether anything is, how good it sounds, what is said, in which voice and mood."""

from __future__ import annotations

import numpy as np

from vaeval_tasks.audio import SILENCE_PEAK, Clip, read_audio
from vaeval_tasks.metrics.backends import EmotionRecogniser, Recogniser, Scored, SpeakerEncoder, SpeechQuality
from vaeval_tasks.metrics.emotion import described
from vaeval_tasks.metrics.modified_wer import SIGNATURE as WER_RULE
from vaeval_tasks.metrics.modified_wer import modified_wer
from vaeval_tasks.scoring.metric import (
    AUDIBLE,
    Direction,
    FactorUse,
    MetricFamily,
    ResponseMetric,
    ScoringBatch,
    TaskFactor,
    own_text,
)
from vaeval_tasks.scoring.suite import EMOTION_TASK, ROLEPLAY_TASK
from vaeval_tasks.store.schema import Item

__all__ = ["METRICS"]


def _audible(batch: ScoringBatch) -> list[Scored]:
    for job in batch.jobs:
        batch.clip(job)  # a file that is gone is an error here, not an answer without sound
    return [Scored(value=float(job.response.sound(batch.root) is not None)) for job in batch.jobs]


def _mos(batch: ScoringBatch) -> list[Scored]:
    speech: SpeechQuality = batch.backend
    return speech.score(batch.clips())


def _wer(batch: ScoringBatch) -> list[Scored]:
    recogniser: Recogniser = batch.backend
    transcripts = recogniser.transcribe(batch.clips())
    out = []
    for job, transcript in zip(batch.jobs, transcripts, strict=True):
        text = own_text(job.response)
        # sound without text cannot be inconsistent with it: no value, and the task says so
        out.append(Scored(value=modified_wer(text, transcript) if text else None, detail=transcript))
    return out


def _similarity(batch: ScoringBatch) -> list[Scored]:
    speaker: SpeakerEncoder = batch.backend
    answers = speaker.embed(batch.clips())
    voices = speaker.embed([_role(job.item) for job in batch.jobs])
    out = []
    for answer, voice in zip(answers, voices, strict=True):
        if answer is None or voice is None:
            reason = "too little speech in the answer" if answer is None else "no role voice to compare with"
            out.append(Scored(value=None, detail=reason))
        else:
            out.append(Scored(value=(float(answer @ voice) + 1) / 2))
    return out


def _role(item: Item) -> Clip:
    return read_audio(item.role_audio) if item.role_audio else Clip(np.zeros(0, np.float32), 16_000)


def _emotion(batch: ScoringBatch) -> list[Scored]:
    emotion: EmotionRecogniser = batch.backend
    found = emotion.probabilities(batch.clips())
    return [Scored(value=None, detail=described(probabilities)) for probabilities in found]


METRICS = (
    ResponseMetric(
        key=AUDIBLE,
        label="Audible",
        about="1 where there is audio above silence (-60 dBFS), else 0",
        direction=Direction.more,
        family=MetricFamily.sound,
        place=20,
        score=_audible,
        rule=f"audible peak>={SILENCE_PEAK:.3f}",
    ),
    ResponseMetric(
        key="mos",
        label="Predicted MOS",
        about="predicted mean opinion score of the speech, 1 to 5",
        unit="MOS",
        direction=Direction.more,
        family=MetricFamily.sound,
        place=30,
        score=_mos,
        backend="speech",
        audible_only=True,
        published="UTMOS22-strong|",
        factor=TaskFactor(name="speech", gain=20, unit=20),
    ),
    ResponseMetric(
        key="wer",
        label="Modified WER",
        about="disagreement of text and transcript, 0 to 1; the detail is the transcript",
        direction=Direction.less,
        family=MetricFamily.sound,
        place=40,
        score=_wer,
        backend="recogniser",
        rule=WER_RULE,
        audible_only=True,
        published="faster-whisper|model:large-v3|",
        factor=TaskFactor(name="consistency", gain=-100, zero=1),
    ),
    ResponseMetric(
        key="similarity",
        label="Speaker similarity",
        about="(cosine + 1) / 2 of the answer's voice and the role's, 0 to 1",
        direction=Direction.more,
        family=MetricFamily.sound,
        place=50,
        score=_similarity,
        backend="speaker",
        studies=False,
        tasks=(ROLEPLAY_TASK,),
        audible_only=True,
        published="WeSpeaker|",
        factor=TaskFactor(name="similarity", gain=100, use=FactorUse.weight),
        # cosines of six speakers' clips: 0.538 +- 0.083 of different ones, 0.848 +- 0.060 of one and the same
        reading="with Resemblyzer two different people score 77 on average, one and the same person 92",
    ),
    ResponseMetric(
        key="emotion",
        label="Emotions heard",
        about="the emotions heard in the answer, for the judge, in words",
        direction=Direction.neither,
        family=MetricFamily.sound,
        place=60,
        score=_emotion,
        backend="emotion",
        studies=False,
        tasks=(EMOTION_TASK,),
        audible_only=True,
        words_only=True,
        reported="emotion",
    ),
)
"""What the backends of a profile hear."""
