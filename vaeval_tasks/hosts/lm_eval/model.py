"""Any speech-to-speech system as a model of lm-evaluation-harness."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval.api.model import LM
from tqdm import tqdm

from vaeval_tasks.audio import Clip, wav_bytes
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.files import sha256_bytes, write_bytes
from vaeval_tasks.generate.kept import append_exchanges, keep_sounds
from vaeval_tasks.hosts.lm_eval.answer import Answer
from vaeval_tasks.hosts.lm_eval.dialogue import Outcome, hold
from vaeval_tasks.hosts.lm_eval.documents import item
from vaeval_tasks.hosts.lm_eval.journal import journal
from vaeval_tasks.hosts.lm_eval.settings import rank, run_folder, world_size
from vaeval_tasks.models.protocol import SpeechModel
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
        self._system: SpeechModel | None = None

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

    async def answer(self, doc: Mapping[str, Any], response_id: str) -> Outcome:
        """Answer one document."""
        if self._system is None:
            self._system = self.open()

        def keep(turn: int, clip: Clip) -> Path:
            path = self._wav(f"{response_id}-turn{turn + 1}")
            write_bytes(path, wav_bytes(clip))
            return path

        return await hold(self._system, self.speech_config, doc, seed=self.seed, keep=keep)

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

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """Answer the requests that the run folder has no answer to, and return one JSON string for each.

        Raises:
            InputError: ``--gen_kwargs`` asks for something; each system takes its own options as model arguments.
            VaevalError: the system can never answer (wrong configuration, missing key or weights).
        """
        if options := {name for request in requests for name in request.args[1]} - {"until"}:
            raise InputError(f"--gen_kwargs {', '.join(sorted(options))} has no effect here; use --model_args")
        book = journal(self.run_root)
        self._note([request.doc for request in requests])
        ids = [self._response_id(request.doc) for request in requests]
        # the harness repeats a request to pad a short rank, and for `repeats`: each is answered once
        pending = {key: request.doc for key, request in zip(ids, requests, strict=True) if not book.answered(key)}
        if pending:
            asyncio.run(self._answer_all(pending, quiet=disable_tqdm or self.rank > 0))
        out = []
        for key, request in zip(ids, requests, strict=True):
            out.append(self._encode(key))
            self.cache_hook.add_partial("generate_until", request.args, out[-1])
        return out

    async def _answer_all(self, pending: Mapping[str, Mapping[str, Any]], *, quiet: bool) -> None:
        gate = asyncio.Semaphore(self.concurrency)
        with tqdm(total=len(pending), desc="answers", unit="item", disable=quiet or None) as bar:

            async def one(response_id: str, doc: Mapping[str, Any]) -> None:
                async with gate:
                    self._keep(doc, response_id, await self.answer(doc, response_id))
                bar.update()

            tasks = [asyncio.create_task(one(response_id, doc)) for response_id, doc in pending.items()]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                if self._system is not None:
                    await self._system.close()
                self._system = None

    def _keep(self, doc: Mapping[str, Any], response_id: str, outcome: Outcome) -> None:
        response = Response(
            response_id=response_id,
            prompt_id=doc["item_id"],
            config_id=self.speech_config.config_id,
            status=outcome.reply.status,
            task=doc["task"],
            turn_texts=outcome.turn_texts,
        )
        run = journal(self.run_root).run
        response = keep_sounds(run, response, outcome.reply, name=response_id, rank=self._rank)
        append_exchanges(run, [(response, outcome.reply)], rank=self._rank)
        journal(self.run_root).add(item(doc), response)

    def _encode(self, response_id: str) -> str:
        response = journal(self.run_root).find(response_id)
        if response is None:
            raise InputError(f"the answer {response_id!r} is not in the run folder", path=self.run_root)
        return Answer(
            text=response.text,
            audio=str(self.run_root / response.path) if response.path else "",
            status=response.status.value,
            response_id=response_id,
            run=str(self.run_root),
        ).encode()

    def _response_id(self, doc: Mapping[str, Any]) -> str:
        key = json.dumps(self.asked(doc), sort_keys=True, default=str)
        return f"{slug(doc['item_id'])}.{sha256_bytes(key.encode())[:16]}"

    def _note(self, docs: Sequence[Mapping[str, Any]]) -> None:
        config = asdict(self.speech_config)
        digest = sha256_bytes(json.dumps(config, sort_keys=True, default=str).encode())
        book = journal(self.run_root)
        book.note("configs", self.speech_config.config_id, {**config, "seed": self.seed, "sha256": digest})
        for task, revision in sorted({(doc["task"], doc["revision"]) for doc in docs}):
            book.note("data", task, revision)

    def _wav(self, name: str) -> Path:
        return journal(self.run_root).run.response_audio / f"{name}.wav"

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Refuse: a system that speaks gives no probabilities of texts."""
        raise InputError("a speech model gives no likelihoods; run it on the voiceassistant_eval tasks")

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        """Refuse: a system that speaks gives no probabilities of texts."""
        raise InputError("a speech model gives no likelihoods; run it on the voiceassistant_eval tasks")

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
        _group().all_gather(parts, tensor)
        return torch.stack(parts)

    def gather_object(self, obj: Any, dst: int = 0) -> list[Any] | None:
        """Return an object from every process on ``dst``, None elsewhere."""
        if self.world_size == 1:
            return [obj]
        parts = [None] * self.world_size if self.rank == dst else None
        _group().gather_object(obj, parts, dst=dst)
        return parts

    def barrier(self) -> None:
        """Wait for the other processes."""
        if self.world_size > 1:
            _group().barrier()


def _group() -> Any:
    """``torch.distributed``, joined by this process. gloo: what is gathered is small and on the CPU."""
    import torch.distributed

    if not torch.distributed.is_initialized():
        # one process may still wait for its last answers long after the others
        torch.distributed.init_process_group("gloo", timeout=timedelta(days=30))
        atexit.register(torch.distributed.destroy_process_group)
    return torch.distributed
