"""Whether the answer is right or good, by a judge who reads its text."""

from __future__ import annotations

from vaeval_tasks.metrics.backends import ContentJudge, JudgeItem, Scored
from vaeval_tasks.metrics.content_judge_local import remark
from vaeval_tasks.scoring.metric import (
    Direction,
    MetricFamily,
    ResponseMetric,
    ScoringBatch,
    ScoringJob,
    TaskFactor,
    own_text,
)
from vaeval_tasks.scoring.suite import DIALOGUE_TASK

__all__ = ["METRICS"]


def _content(batch: ScoringBatch) -> list[Scored]:
    judge: ContentJudge = batch.backend
    answers = [_answer(job, batch) for job in batch.jobs]
    asked = [_item(job, answer, batch) for job, answer in zip(batch.jobs, answers, strict=True) if answer]
    verdicts = iter(judge.judge(asked) if asked else [])
    # an answer of no words is wrong without asking
    return [next(verdicts) if answer else Scored(value=0.0, detail="no answer") for answer in answers]


def _answer(job: ScoringJob, batch: ScoringBatch) -> str:
    """What the judge reads: the model's own text, or the transcript of sound that came without; empty for none."""
    response = job.response
    if response.status.failed:
        return ""
    text = own_text(response) or batch.detail(job, "wer")
    if job.item.task != DIALOGUE_TASK or len(response.turn_texts) < 2 or not text:
        return text
    questions = job.item.question.split("\n")
    answers = [*response.turn_texts[:-1], text]
    pairs = zip(questions + [""] * (len(answers) - len(questions)), answers, strict=False)
    return "\n".join(f"User: {question}\nAssistant: {answer}" for question, answer in pairs)


def _item(job: ScoringJob, answer: str, batch: ScoringBatch) -> JudgeItem:
    return JudgeItem(
        task=job.item.task,
        question=job.item.question,
        answer=answer,
        references=job.item.references,
        system_prompt=job.item.system_prompt,
        user_emotion=job.item.user_emotion,
        assistant_emotions=batch.detail(job, "emotion"),
    )


METRICS = (
    ResponseMetric(
        key="content",
        label="Judge correctness",
        about="1 or 0 by the judge, none where it gave no verdict",
        direction=Direction.more,
        family=MetricFamily.judge,
        place=10,
        score=_content,
        backend="judge",
        # a verdict on empathy depends on the emotions that the judge was told too
        sign=lambda scorers, task: scorers.content_signature(task),
        studies=False,
        ask_again=True,
        published="judge-llm|model:gpt-oss-20b",
        factor=TaskFactor(name="content", gain=100),
        remark=remark,
    ),
)
"""What a judge says of the words."""
