"""A judge of content on this machine, opt-in (``judge=local``): a small language model that answers Yes or No.

It is asked one short question with a few examples (``content_judge_local.yaml``), and the probability of Yes against No
decides: 0.70 and more is right. It is a small model, lenient to partial and to long wrong answers, so it judges only
kinds of tasks where it was measured on at least 40 labelled answers that it was not tuned on, and the lower bound of
its accuracy (95 %, Wilson) is above 0.75; everything else stays unjudged. What was measured stands in
``content_judge_local_measured.json``, made by ``tests/benchmarks/local_judge.py``, and in the signature. Use it for
smoke tests, not for results.

A reference ``Rule: …`` is no question of judgement: it is counted, as the offline rules do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from vaeval_tasks.errors import MissingDependencyError
from vaeval_tasks.files import sha256_bytes
from vaeval_tasks.metrics.backends import JudgeItem, Scored
from vaeval_tasks.metrics.common import facts, short, signature
from vaeval_tasks.metrics.content_judge_chat import ask_all, not_asked
from vaeval_tasks.metrics.content_judge_prompts import family
from vaeval_tasks.metrics.stated_rules import is_stated_rule, judge_stated_rules
from vaeval_tasks.services import weights
from vaeval_tasks.services.http.chat import ChatAnswer
from vaeval_tasks.services.http.meaning import HttpMeaning
from vaeval_tasks.services.local_llm import LocalLLM

__all__ = [
    "LOCAL",
    "MEASURED",
    "THRESHOLD",
    "WEIGHTS",
    "JudgeMeasured",
    "LocalContentJudge",
    "MeasuredKind",
    "YesNo",
    "YesNoQuestion",
    "load_question",
    "open_judge_model",
    "remark",
]

LOCAL = "local"
"""What it is called where a judge is chosen: ``judge=local``."""
_BACKEND = "judge-local"
WEIGHTS = "qwen2.5-coder-1.5b"
THRESHOLD = 0.70
"""The least P(Yes) of a right answer."""
THREADS = 2
LEAST_ITEMS, LEAST_ACCURACY = 40, 0.75
"""What a kind's measurement needs: labelled answers, and the lower bound of the accuracy."""
MEASURED = Path(__file__).with_name("content_judge_local_measured.json")
_SURE = 0.5
"""Yes and No together must be at least this probable; else the model is saying something else."""
_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNoQuestion:
    """What the model is asked: a question, and for each kind of task a criterion and examples."""

    system: str
    kinds: Mapping[str, Mapping[str, Any]]

    def sha256(self, kind: str) -> str:
        """Return the checksum of all that is asked for a kind: its criterion and examples, and the form of items."""
        return sha256_bytes(json.dumps([self.start(kind), self.kinds[kind]["ask"]], ensure_ascii=False).encode())

    def kind(self, task: str) -> str:
        """Return the kind of a task.

        Raises:
            UnknownNameError: there is no such task.
        """
        family(task)
        return next(name for name, kind in self.kinds.items() if task in kind["tasks"])

    def start(self, kind: str) -> list[dict[str, str]]:
        """Return the messages before the question: the criterion and the examples."""
        about = self.kinds[kind]
        messages = [{"role": "system", "content": self.system.format(criterion=about["criterion"])}]
        for example in about["examples"]:
            item = JudgeItem(
                task=about["tasks"][0],
                question=example["question"],
                answer=example["answer"],
                references=tuple(example.get("references", ())),
                system_prompt=example.get("system_prompt", ""),
                user_emotion=example.get("user_emotion", ""),
            )
            messages.append({"role": "user", "content": self.render(item)})
            messages.append({"role": "assistant", "content": "Yes" if example["right"] else "No"})
        return messages

    def shows(self, kind: str, field: str) -> bool:
        """Whether the model sees a field of the items of a kind: what no example holds was not measured."""
        return any(field in example for example in self.kinds[kind]["examples"])

    def render(self, item: JudgeItem) -> str:
        """Return what is asked about an item; a dialogue holds its questions."""
        kind = self.kind(item.task)
        dialogue = item.answer.startswith("User:")
        lines = (
            ("Role", item.system_prompt if self.shows(kind, "system_prompt") else ""),
            ("User", "" if dialogue else item.question),
            ("The user sounds", item.user_emotion if self.shows(kind, "user_emotion") else ""),
            ("Expected", " / ".join(item.references) if self.shows(kind, "references") else ""),
            ("Dialogue" if dialogue else "Assistant", f"\n{item.answer}" if dialogue else item.answer),
        )
        return "\n".join(
            [*(f"{name}: {text.strip(' ')}" for name, text in lines if text.strip()), self.kinds[kind]["ask"]]
        )


def load_question() -> YesNoQuestion:
    """Read the question that this version asks."""
    path = Path(__file__).with_name("content_judge_local.yaml")
    return YesNoQuestion(**yaml.safe_load(path.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredKind:
    """How often the judge agreed with the labels of one kind of task."""

    question: str
    """The SHA-256 of what was asked, see :meth:`YesNoQuestion.sha256`."""
    n: int
    agreed: int
    auc: float | None = None
    """Of P(Yes); None without right or without wrong answers."""

    @property
    def accuracy(self) -> float:
        """The share of verdicts that agree with the labels."""
        return self.agreed / self.n

    @property
    def low(self) -> float:
        """The lower bound of the accuracy, 95 %, Wilson."""
        from vaeval_tasks.stats.intervals import wilson_interval

        return wilson_interval(self.agreed, self.n).low or 0.0

    @property
    def enough(self) -> bool:
        """Whether the kind may be judged."""
        return self.n >= LEAST_ITEMS and self.low > LEAST_ACCURACY


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeMeasured:
    """What was measured of one model."""

    date: str
    weights: str
    """The SHA-256 of the model."""
    kinds: Mapping[str, MeasuredKind]

    @classmethod
    def load(cls, path: Path = MEASURED) -> JudgeMeasured:
        """Read a measurement."""
        found = json.loads(path.read_text(encoding="utf-8"))
        kinds = {name: MeasuredKind(**kind) for name, kind in found.pop("kinds").items()}
        return cls(kinds=kinds, **found)


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNo:
    """What the model thinks of one item."""

    probability: float | None
    """Of Yes against No; None where there is no answer."""
    reason: str = ""
    """Why there is none."""


def open_judge_model() -> LocalLLM:
    """Load the judge's model.

    Raises:
        MissingWeightsError: the weights were not pulled.
        MissingDependencyError: the ``offline`` extra is not installed.
        ServiceError: the model cannot be loaded.
    """
    return LocalLLM(weights.offline(WEIGHTS), threads=THREADS, timeout_s=_TIMEOUT_S)


class LocalContentJudge:
    """Judge with a small model on this machine what it was measured to judge well enough.

    The model is loaded for a batch and given back after it. Items are asked one after another, those of a kind
    together; the same item gets the same probability whatever else is asked.

    Args:
        open_model: loads the model.
        measured: what may be judged.

    Raises:
        MissingWeightsError: the weights were not pulled; so it shows before anything is asked of anybody.
        MissingDependencyError: the ``offline`` extra is not installed.
    """

    def __init__(
        self, open_model: Callable[[], LocalLLM] | None = None, *, measured: JudgeMeasured | None = None
    ) -> None:
        if open_model is None:
            weights.offline(WEIGHTS)
            if find_spec("xllamacpp") is None:
                raise MissingDependencyError("the judge on this machine", "xllamacpp", extra="offline")
        self._open = open_model or open_judge_model
        self._measured = measured or JudgeMeasured.load()

    @cached_property
    def question(self) -> YesNoQuestion:
        """What is asked."""
        return load_question()

    @cached_property
    def kinds(self) -> dict[str, MeasuredKind]:
        """The kinds that may be judged: only where this very question was measured of this very model."""
        if self._measured.weights != weights.OFFLINE[WEIGHTS].sha256:
            return {}
        return {
            name: kind
            for name, kind in self._measured.kinds.items()
            if kind.enough and name in self.question.kinds and kind.question == self.question.sha256(name)
        }

    @cached_property
    def signature(self) -> str:
        """Model, question and settings, and for each kind that is judged the measured accuracy and of how many."""
        return signature(
            _BACKEND,
            model=WEIGHTS,
            weights=short(weights.OFFLINE[WEIGHTS].sha256),
            question=short(sha256_bytes("".join(map(self.question.sha256, self.question.kinds)).encode())),
            threshold=f"{THRESHOLD:.2f}",
            threads=THREADS,
            measured=self._measured.date,
            right=", ".join(f"{name} {kind.accuracy:.2f} of {kind.n}" for name, kind in self.kinds.items()) or "none",
        )

    def judge(self, items: Sequence[JudgeItem]) -> list[Scored]:
        """Return a verdict for each item, with P(Yes) in its detail; None where the kind was not measured well enough.

        Raises:
            UnknownNameError: a task is not one of the 13.
            ServiceError: the model cannot be loaded, or is gone.
        """
        scored: list[Scored | None] = [self._without_asking(item) for item in items]
        asked = [i for i, found in enumerate(scored) if found is None]
        for i, found in zip(asked, self.weigh([items[i] for i in asked]), strict=True):
            scored[i] = _verdict(found)
        return [found for found in scored if found is not None]

    def _without_asking(self, item: JudgeItem) -> Scored | None:
        kind = self.question.kind(item.task)
        references = [r for r in item.references if r.strip()]
        if any(is_stated_rule(r) for r in references):
            return judge_stated_rules(references, item.answer)
        if kind not in self.kinds:
            return Scored(value=None, detail=f"not measured well enough for {item.task}: {self._measurement(kind)}")
        if self.question.shows(kind, "references") and not references:
            return Scored(value=None, detail="measured with references only, and the item has none")
        return None

    def _measurement(self, kind: str) -> str:
        found = self._measured.kinds.get(kind)
        if found is None or not found.n:
            return f"kind {kind}, no answers"
        return f"kind {kind}, right on {found.agreed} of {found.n} answers, lower bound {found.low:.2f}"

    def weigh(self, items: Sequence[JudgeItem]) -> list[YesNo]:
        """Return P(Yes) of each item, whether or not its kind may be judged.

        Raises:
            UnknownNameError: a task is not one of the 13.
            ServiceError: the model cannot be loaded, or is gone.
        """
        if not items:
            return []
        kinds = [self.question.kind(item.task) for item in items]
        order = sorted(range(len(items)), key=lambda i: kinds[i])
        starts = {kind: self.question.start(kind) for kind in set(kinds)}
        model = self._open()
        try:
            answers, why = ask_all(
                model.client, order, lambda i: model.weigh(starts[kinds[i]], self.question.render(items[i]))
            )
        finally:
            model.close()
        found = {i: _yes_no(answer, why) for i, answer in zip(order, answers, strict=True)}
        return [found[i] for i in range(len(items))]


def remark(signature: str) -> str:
    """Return what a reader of verdicts with this signature must know; empty where this judge did not give them."""
    backend, given = facts(signature)
    if backend != _BACKEND:
        return ""
    return (
        f"judged by a small model on this machine, for smoke tests and not for results; "
        f"measured on labelled answers ({given.get('measured')}), right on {given.get('right')}"
    )


def _yes_no(answer: ChatAnswer | None, why: str) -> YesNo:
    if answer is None:
        return YesNo(probability=None, reason=not_asked(why))
    if not answer.first_token:
        answered = answer.outcome.meaning in (HttpMeaning.ok, HttpMeaning.cut, HttpMeaning.empty)
        return YesNo(probability=None, reason="the answer holds no probabilities" if answered else answer.reason)
    yes, no = (
        math.fsum(math.exp(log) for token, log in answer.first_token.items() if token.strip().lower() == word)
        for word in ("yes", "no")
    )
    if yes + no < _SURE:
        return YesNo(probability=None, reason=f"neither Yes nor No ({answer.text.strip()[:40]!r})")
    return YesNo(probability=yes / (yes + no))


def _verdict(found: YesNo) -> Scored:
    if found.probability is None:
        return Scored(value=None, detail=found.reason)
    return Scored(value=float(found.probability >= THRESHOLD), detail=f"P(yes) {found.probability:.2f}")
