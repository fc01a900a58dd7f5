"""The class of our tasks in the harness: each model is asked in the form it takes, and only what it can be asked.

The harness knows two kinds of tasks, with and without media, and models for each. Ours are for all models: one that
speaks reads the document, a text-only one the transcripts, and lm-eval's multimodal ones see and hear.
"""

from __future__ import annotations

import inspect
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask

from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.lm_eval.answer import HarnessAnswer
from vaeval_tasks.hosts.lm_eval.given import Given, GivenAs, given_to, why_unasked
from vaeval_tasks.hosts.lm_eval.media_args import doc_to_audio, doc_to_image
from vaeval_tasks.hosts.lm_eval.messages import messages, rendered
from vaeval_tasks.scoring.suite import TASKS
from vaeval_tasks.store.schema import ResponseStatus

__all__ = ["VoiceTask"]

_FRAMES = 4

log = logging.getLogger(__name__)


def _but_advice(record: logging.LogRecord) -> bool:
    """Keep all but the two lines about ``--metadata`` that lm-eval warns with for each task of ours."""
    message = record.getMessage()
    return "Custom kwargs can be passed to `--metadata`" not in message or message.partition(":")[0] not in TASKS


logging.getLogger("lm_eval.api.task").addFilter(_but_advice)


class VoiceTask(ConfigurableTask):  # type: ignore[misc]
    """One of the 13 tasks.

    Args:
        config: the fields of the task's YAML.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config={name: value for name, value in config.items() if name != "class"})
        self.MULTIMODAL = False  # else the harness refuses text-only models
        self._given = Given()
        self._unasked: Counter[str] = Counter()

    def build_all_requests(self, **options: Any) -> None:
        """Build the requests for the model that is about to be asked.

        Raises:
            InputError: the model is said to take what its class does not, or the harness's cache is to keep media.
        """
        lm = _asked_model(options.get("chat_template"))
        self._given = given_to(lm, self.config.metadata or {})
        if self._given.form is GivenAs.placeholders and hasattr(lm, "lm"):
            raise InputError("--use_cache keys no pictures and sound; leave it out")
        if self._given.form is not GivenAs.document and lm is not None:
            _ask_apart(lm)
        self._unasked.clear()
        super().build_all_requests(**options)
        for reason, number in self._unasked.items():
            log.warning("%s: %d items are not asked and not scored: %s", self.config.task, number, reason)

    def doc_iterator(self, *, samples: list[int] | None = None, **options: Any) -> Any:
        """Return the documents that are asked, each with its number.

        Raises:
            InputError: ``--samples`` names a number that the data do not have.
        """
        size = len(self.eval_docs)
        if wrong := [number for number in samples or () if number not in range(size)]:
            raise InputError(f"--samples: {self.config.task} has items 0 to {size - 1}, not {wrong[0]}")
        return super().doc_iterator(samples=samples, **options)

    def fewshot_context(
        self,
        doc: Mapping[str, Any],
        num_fewshot: int,
        system_instruction: str | None = None,
        apply_chat_template: bool = False,
        chat_template: Callable[..., Any] | None = None,
        **_: Any,
    ) -> Any:
        """Return what the model reads: chat messages in its own form, or one text.

        Raises:
            InputError: pictures or sound are to be given to a server without chat messages.
        """
        if why_unasked(doc, self._given):
            return ""
        given = Given() if self._given.form is GivenAs.document else self._given  # it does not read what comes of this
        chat = messages(doc, given, instruction=system_instruction or "")
        if apply_chat_template and chat_template is not None:
            return rendered(chat, chat_template)
        if not all(isinstance(message["content"], str) for message in chat):
            raise InputError("pictures and sound are given to this model in chat messages: add --apply_chat_template")
        return "\n".join(message["content"] for message in chat)

    def construct_requests(self, doc: Mapping[str, Any], ctx: Any, **options: Any) -> Instance:
        """Return the request of a document, with its pictures and sound where the model takes them beside the text."""
        name, number, repeats = options["metadata"]
        reason = why_unasked(doc, self._given)
        if reason:
            self._unasked[reason] += 1
        arguments: tuple[Any, ...] = (ctx, deepcopy(self.config.generation_kwargs))
        if self._given.form is GivenAs.placeholders and not reason:
            visual = doc_to_image(doc) if self._given.sees else ()
            audio = doc_to_audio(doc) if self._given.hears else ()
            if len(visual) or len(audio):
                arguments += ({"visual": visual, "audio": audio},)
        # asked no times: the harness keeps the document and makes no request
        asked = (name, number, 0 if reason else repeats)
        return Instance(request_type=self.OUTPUT_TYPE, doc=doc, arguments=arguments, idx=0, metadata=asked)

    def apply_filters(self) -> None:
        """Give items that were not asked an answer that says so, then filter as the harness does."""
        for instance in self._instances:
            if not instance.repeats and not instance.resps:
                reason = why_unasked(instance.doc, self._given)
                instance.resps.append(HarnessAnswer(text=reason, status=ResponseStatus.unsupported).encode())
        super().apply_filters()


def _asked_model(chat_template: Any) -> Any:
    """Return the model that is about to be asked: the harness tells a task only its chat template, if that.

    Else it is the ``lm`` of the harness's function that builds the requests; None where that has another name.
    """
    owner = getattr(chat_template, "__self__", None)
    frame = inspect.currentframe()
    for _ in range(_FRAMES):
        if owner is not None or frame is None:
            break
        frame = frame.f_back
        found = frame.f_locals.get("lm") if frame is not None else None
        owner = found if hasattr(found, "generate_until") else None
    return owner


class _Apart:
    """A model's ``generate_until`` that is never called without a request, nor with two kinds of requests at once.

    lm-eval's models take what the first request holds for what all do, and fail where there is none.
    """

    def __init__(self, generate_until: Callable[..., Sequence[str]]) -> None:
        self.generate_until = generate_until

    def __call__(self, requests: Sequence[Instance], **options: Any) -> list[str]:
        out = [""] * len(requests)
        for size in sorted({len(request.args) for request in requests}):
            places = [place for place, request in enumerate(requests) if len(request.args) == size]
            answers = self.generate_until([requests[place] for place in places], **options)
            for place, answer in zip(places, answers, strict=True):
                out[place] = answer
        return out


def _ask_apart(lm: Any) -> None:
    if not isinstance(lm.generate_until, _Apart):
        lm.generate_until = _Apart(lm.generate_until)
