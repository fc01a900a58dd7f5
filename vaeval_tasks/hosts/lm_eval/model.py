"""Any speech-to-speech system as a model of lm-evaluation-harness."""

from __future__ import annotations

import inspect
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval.api.model import LM

from vaeval_tasks.asking.dialogue import Asked
from vaeval_tasks.asking.ledger import Ledger, open_for_asking
from vaeval_tasks.asking.pending import AskingPlan
from vaeval_tasks.asking.ranks import group, rank, world_size
from vaeval_tasks.asking.runner import generate
from vaeval_tasks.asking.unit import AskingUnit
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.files import sha256_bytes
from vaeval_tasks.hosts.lm_eval.answer import HarnessAnswer
from vaeval_tasks.hosts.lm_eval.documents import item
from vaeval_tasks.hosts.lm_eval.given import TEXT_OPTIONS
from vaeval_tasks.hosts.lm_eval.left_out import note_data
from vaeval_tasks.hosts.lm_eval.model_identity import checkpoint_digest, refuse_other_model
from vaeval_tasks.hosts.lm_eval.preflight import check_asking
from vaeval_tasks.hosts.lm_eval.run_settings import HarnessSettings, run_folder
from vaeval_tasks.models.abilities import sees
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import SpeechModel, Turn, TurnRole
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ModelConfig, Response, slug

if TYPE_CHECKING:
    from lm_eval.api.instance import Instance

__all__ = ["SpeechLM"]


class SpeechLM(LM):
    """A model of the harness that speaks: it answers documents, not their text.

    Each answer is kept in the run folder under a key of everything that was asked and of the model's
    configuration, so that a killed run goes on where it was and another model or prompt asks anew.
    A subclass names its own options, makes the configuration, and opens the system in :meth:`open`.

    Args:
        config: the configuration that is run.
        run_dir: the run folder, shared by all processes; by default ``vaeval-runs/<config_id>``.
        concurrency: requests at once, for systems that wait on a network.
        seed: of local sampling.
        pretrained: only names the folder of ``--output_path``, where a subclass does not use it.
        batch_size: taken from the harness, without effect.
        max_batch_size: taken from the harness, without effect.
        device: taken from the harness; a subclass may use it.
    """

    MULTIMODAL = True
    clock = Clock()
    """Measures waits and time limits."""

    def __init__(
        self,
        *,
        config: ModelConfig,
        run_dir: str = "",
        concurrency: int = 1,
        seed: int = 0,
        pretrained: str = "",
        batch_size: int | str | None = None,
        max_batch_size: int | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__()
        if int(concurrency) < 1:
            raise InputError("concurrency must be at least 1", field="concurrency")
        self.speech_config = config
        self.run_root = run_folder(run_dir, config.config_id).resolve()
        self.concurrency, self.seed = int(concurrency), int(seed)
        self._rank, self._world_size = rank(), world_size()
        self._device = "cpu"  # of the harness's own counts, which are gathered by gloo

    @classmethod
    def create_from_arg_obj(cls, arg_dict: dict[str, Any], additional_config: dict[str, Any] | None = None) -> SpeechLM:
        """Build the model from ``--model_args``.

        Raises:
            UnknownNameError: there is no such argument.
            InputError: one that the model needs is missing.
        """
        known = {name for base in (cls, SpeechLM) for name in inspect.signature(base).parameters}
        known -= {"config", "common"}
        for name in arg_dict:
            if name not in known:
                raise UnknownNameError("model argument", name, known)
        for name, parameter in inspect.signature(cls).parameters.items():
            if (
                parameter.kind is parameter.KEYWORD_ONLY
                and parameter.default is parameter.empty
                and name not in arg_dict
            ):
                raise InputError(f"the model needs {name}; give --model_args {name}=...")
        return cls(**arg_dict, **{k: v for k, v in (additional_config or {}).items() if v is not None})

    @classmethod
    def create_from_arg_string(cls, arg_string: str, additional_config: dict[str, Any] | None = None) -> SpeechLM:
        """Build the model from ``key=value,key2=value2``; see :meth:`create_from_arg_obj`."""
        from lm_eval.utils import simple_parse_args_string

        return cls.create_from_arg_obj(simple_parse_args_string(arg_string), additional_config)

    def open(self) -> SpeechModel:
        """Make the system ready; called only when there is something to answer."""
        raise NotImplementedError

    def sees(self) -> bool | None:
        """Return whether the system takes pictures; None where that shows only when it is open."""
        return sees(self.speech_config)

    def recall(self, unit: AskingUnit) -> Asked | None:
        """Return an answer that exists already, None where the system must be asked."""
        return None

    def asked(self, doc: Mapping[str, Any]) -> dict[str, Any]:
        """Return everything that an answer depends on; media by the names that their content gave them."""
        return {
            "config": asdict(self.speech_config),
            "seed": self.seed,
            "task": doc["task"],
            "item_id": doc["item_id"],
            "system_prompt": doc["system_prompt"],
            "role_audio": Path(doc["role_audio"]).name,
            "turns": [[Path(clip).name for clip in turn] for turn in doc["turns"]],
            "images": [Path(image).name for image in doc["images"]],
        }

    def identity(self) -> dict[str, str]:
        """Return what tells this model from another of the same name: how it is reached, and its weights."""
        config, reached = self.speech_config, self.speech_config.connection.get("base_url", "")
        model, revision = (str(config.params.get(name, "")) for name in ("model", "revision"))
        parts = {"provider": config.provider, "model": model, "revision": revision, "base_url": str(reached)}
        return {name: text for name, text in parts.items() if text} | {"model files": checkpoint_digest(model)}

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """Answer the requests that the run folder has no answer to, and return one JSON string for each.

        A task that is not ours is asked in writing, and its answers are the text; they are kept in a run folder of
        their own, ``other-tasks`` within ours.

        Raises:
            InputError: ``--gen_kwargs`` asks for something, as each system takes its own options as model arguments;
                or another task brings pictures or sound, which only it knows how to ask about.
            VaevalError: the system can never answer (wrong configuration, missing key or weights).
        """
        ours = [request for request in requests if _is_document(request.doc)]
        others = [request for request in requests if not _is_document(request.doc)]
        _refuse_options(ours)
        _refuse_media(others)
        out: dict[int, str] = {}
        if ours:
            found = self._ask([self.unit(r.doc) for r in ours], [r.doc for r in ours], quiet=disable_tqdm)
            out |= {id(r): self._encode(answer) for r, answer in zip(ours, found, strict=True)}
        if others:
            found = self._ask([self._written_unit(request) for request in others], [], quiet=disable_tqdm)
            _refuse_unanswered(others, found)
            out |= {id(r): _until(answer.text, r.args[1]) for r, answer in zip(others, found, strict=True)}
        for request in requests:
            self.cache_hook.add_partial("generate_until", request.args, out[id(request)])
        return [out[id(request)] for request in requests]

    def _ask(self, units: list[AskingUnit], docs: list[Mapping[str, Any]], *, quiet: bool) -> list[Response]:
        """Return the response to each unit; what the run folder has is not asked again."""
        root = self.run_root if docs else self.run_root / "other-tasks"
        with open_for_asking(RunDir(root)) as ledger:
            self._note(ledger, docs)
            # the harness repeats a request to pad a short rank, and for `repeats`: each is answered once
            due = {unit.response_id: unit for unit in units if not ledger.answered(unit.response_id)}
            plan = AskingPlan(
                units=tuple(replace(unit, attempts=ledger.attempts(key)) for key, unit in due.items()),
                sessions={self.speech_config.provider: self.concurrency},
                rank=ledger.rank,
            )
            if due and ledger.rank == 0:
                check_asking(self.run_root, due.values(), sees=self.sees())
            outcome = generate(
                ledger,
                plan,
                open_system=lambda _: self.open(),
                recall=self.recall,
                clock=self.clock,
                quiet=quiet or ledger.rank > 0 or not due,
            )
            for error in outcome.stopped.values():
                raise error
            return [ledger.responses[unit.response_id] for unit in units]

    def _written_unit(self, request: Instance) -> AskingUnit:
        """What is asked of a task that is not ours: its prompt, in writing."""
        name, prompt = str(request.task_name), str(request.args[0])
        key = json.dumps([asdict(self.speech_config), self.seed, name, prompt], sort_keys=True, default=str)
        response_id = f"{slug(name)}-{request.doc_id}.{sha256_bytes(key.encode())[:16]}"
        return AskingUnit(
            response_id=response_id,
            prompt_id=f"{name}-{request.doc_id}",
            config=self.speech_config,
            turns=(Turn(role=TurnRole.user, text=prompt),),
            seeds=(zlib.crc32(f"{self.seed} {prompt}".encode()),),
            task=name,
            stem=response_id,
        )

    def unit(self, doc: Mapping[str, Any]) -> AskingUnit:
        """What is asked about a document."""
        key = json.dumps(self.asked(doc), sort_keys=True, default=str)
        response_id = f"{slug(doc['item_id'])}.{sha256_bytes(key.encode())[:16]}"
        images = tuple(Path(path) for path in doc["images"])
        turns = [Turn(role=TurnRole.user, audio=tuple(Path(clip) for clip in clips)) for clips in doc["turns"]]
        turns[0] = replace(turns[0], images=images)
        return AskingUnit(
            response_id=response_id,
            prompt_id=doc["item_id"],
            config=self.speech_config,
            turns=tuple(turns),
            # mixed with the document's id, so that processes and order do not matter
            seeds=tuple(zlib.crc32(f"{self.seed} {doc['item_id']} {turn}".encode()) for turn in range(len(turns))),
            task=doc["task"],
            system_prompt=doc["system_prompt"],
            role_audio=Path(doc["role_audio"]) if doc["role_audio"] else None,
            item=item(doc),
            stem=response_id,
        )

    def _encode(self, response: Response) -> str:
        return HarnessAnswer(
            text=response.text,
            audio=str(self.run_root / response.path) if response.path else "",
            status=response.status,
            response_id=response.response_id,
            run=str(self.run_root),
        ).encode()

    def _note(self, ledger: Ledger, docs: Sequence[Mapping[str, Any]]) -> None:
        config = asdict(self.speech_config)
        identity = json.dumps(self.identity(), sort_keys=True)
        refuse_other_model(ledger.run, self.speech_config.config_id, identity)
        ledger.note("models", self.speech_config.config_id, identity)
        digest = sha256_bytes(json.dumps(config, sort_keys=True, default=str).encode())
        ledger.note("configs", self.speech_config.config_id, {**config, "seed": self.seed, "sha256": digest})
        for task, revision in sorted({(doc["task"], doc["revision"]) for doc in docs}):
            note_data(ledger, task, revision)
        for task, settings in sorted({(doc["task"], doc.get("settings", "")) for doc in docs}):
            if settings and (items := HarnessSettings.from_json(settings).items):
                ledger.note("items", task, items)

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Refuse: a system that speaks gives no probabilities of texts."""
        raise _no_likelihoods(requests)

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        """Refuse: a system that speaks gives no probabilities of texts."""
        raise _no_likelihoods(requests)

    # What follows is for the harness: --apply_chat_template, and several processes.

    @property
    def tokenizer_name(self) -> str:
        """A name for caches of requests."""
        return slug(self.speech_config.config_id)

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """Return the messages as JSON; the documents are what is answered."""
        return json.dumps(chat_history, ensure_ascii=False)

    def all_gather(self, tensor: Any) -> Any:
        """Return a count from every process, shape (world_size,)."""
        if self.world_size == 1:
            return tensor
        import torch

        parts = [torch.zeros_like(tensor) for _ in range(self.world_size)]
        group().all_gather(parts, tensor)
        return torch.stack(parts)

    def gather_object(self, obj: Any, dst: int = 0) -> list[Any] | None:
        """Return an object from every process on ``dst``, None elsewhere."""
        if self.world_size == 1:
            return [obj]
        parts = [None] * self.world_size if self.rank == dst else None
        group().gather_object(obj, parts, dst=dst)
        return parts

    def barrier(self) -> None:
        """Wait for the other processes."""
        if self.world_size > 1:
            group().barrier()


def _is_document(doc: Any) -> bool:
    """Whether a request is of one of our tasks."""
    return isinstance(doc, Mapping) and {"item_id", "turns"} <= set(doc)


def _tasks(requests: Sequence[Instance]) -> str:
    return ", ".join(sorted({str(request.task_name) for request in requests}))


def _refuse_options(requests: Sequence[Instance]) -> None:
    for request in requests:
        given = request.args[1]
        if options := sorted(name for name in given if name != "until" and given[name] != TEXT_OPTIONS.get(name)):
            raise InputError(f"--gen_kwargs {', '.join(options)} has no effect here; use --model_args")


def _refuse_media(requests: Sequence[Instance]) -> None:
    if media := [request for request in requests if len(request.args) > 2]:
        raise InputError(
            f"{_tasks(media)}: brings pictures or sound in a form of its own; run it with a multimodal model of lm-eval"
        )


def _refuse_unanswered(requests: Sequence[Instance], answers: Sequence[Response]) -> None:
    """Refuse a task of which nothing was answered: all its zeros would say that the system is bad."""
    failed = [answer for answer in answers if answer.status.failed]
    if failed and len(failed) == len(answers):
        raise InputError(
            f"{_tasks(requests)}: the system answers no written question ({failed[0].status}: {failed[0].error}); "
            "run it on the voiceassistant_eval tasks"
        )


def _until(text: str, options: Mapping[str, Any]) -> str:
    """Text up to the first of a task's stops, where lm-eval's models end it."""
    stops = options.get("until") or []
    for stop in [stops] if isinstance(stops, str) else stops:
        if stop:
            text = text.split(stop)[0]
    return text


def _no_likelihoods(requests: Sequence[Instance]) -> InputError:
    return InputError(
        f"a speech model gives no likelihoods of texts, which these tasks need: {_tasks(requests)}; leave them out, or "
        "run them with another --model"
    )
