"""``vaeval-replay``: answers that exist already, from a run folder or a folder of WAVs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vaeval_tasks.asking.dialogue import Asked
from vaeval_tasks.asking.unit import AskingUnit
from vaeval_tasks.audio import read_audio
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.files import sha256_file
from vaeval_tasks.hosts.lm_eval.model import SpeechLM
from vaeval_tasks.models.protocol import Reply
from vaeval_tasks.store.answers import latest
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ModelConfig, Response, ResponseStatus

__all__ = ["ReplayLM"]


class ReplayLM(SpeechLM):
    """Answers from a folder. What it does not hold is counted as missing.

    Args:
        responses: a run folder, or a folder of ``<item_id>.wav`` with or without ``<item_id>.txt`` (the
            model's own text), directly in it or in folders named after the tasks.
        config_id: of a run folder with several configurations, the one to answer with.
        pretrained: what to call the model; by default the folder's name.
        common: see :class:`~vaeval_tasks.hosts.lm_eval.model.SpeechLM`.

    Raises:
        InputError: there is no such folder, or it holds several configurations.
        UnknownNameError: the run has no such configuration.
    """

    def __init__(self, *, responses: str, config_id: str = "", pretrained: str = "", **common: Any) -> None:
        self.source = Path(responses).expanduser()
        if not self.source.is_dir():
            raise InputError("no such folder; give responses=FOLDER", path=self.source)
        self._recorded = _recorded(RunDir(self.source), config_id)
        config = ModelConfig(model=pretrained or self.source.resolve().name, provider="replay")
        super().__init__(config=config, **common)

    def asked(self, doc: Mapping[str, Any]) -> dict[str, Any]:
        """Return what an answer depends on: also the files that it comes from."""
        wav, text = self._files(doc["task"], doc["item_id"])
        files = [sha256_file(path) if path.is_file() else "" for path in (wav, text)]
        recorded = self._recorded.get((doc["task"], doc["item_id"]))
        return {**super().asked(doc), "files": files, "recorded": recorded.response_id if recorded else ""}

    def identity(self) -> dict[str, str]:
        """Return the folder too: two folders of answers are two models."""
        return super().identity() | {"responses": str(self.source.resolve())}

    def recall(self, unit: AskingUnit) -> Asked:
        """Look the answer up."""
        recorded = self._recorded.get((unit.task, unit.prompt_id))
        if recorded is not None:
            return self._from_run(recorded)
        wav, text = self._files(unit.task, unit.prompt_id)
        words = text.read_text(encoding="utf-8").strip() if text.is_file() else ""
        if not wav.is_file():
            reason = "" if words else f"no {wav.name} in {self.source}"
            status = ResponseStatus.ok if words else ResponseStatus.empty
            return Asked(reply=Reply(status=status, text=words, error=reason))
        return Asked(reply=Reply(status=ResponseStatus.ok, text=words, audio=read_audio(wav)))

    def _from_run(self, recorded: Response) -> Asked:
        reply = Reply(
            status=recorded.status,
            text=recorded.text,
            audio=read_audio(self.source / recorded.path) if recorded.path else None,
            input_transcript=recorded.input_transcript,
            output_transcript=recorded.output_transcript,
            error=recorded.error,
            first_audio_s=recorded.first_audio_s,
            first_byte_s=recorded.first_byte_s,
            speech_pace=recorded.speech_pace,
            total_s=recorded.total_s,
        )
        return Asked(reply=reply, turn=recorded.turn, turn_texts=recorded.turn_texts)

    def _files(self, task: str, item_id: str) -> tuple[Path, Path]:
        """Where the WAV and the text of a document's answer are, or would be."""
        folder = self.source / task
        if not folder.is_dir():
            folder = self.source
        return folder / f"{item_id}.wav", folder / f"{item_id}.txt"


def _recorded(run: RunDir, config_id: str) -> dict[tuple[str, str], Response]:
    """The responses of a run folder by task and document; none for a plain folder."""
    responses = latest(run.responses())
    configs = sorted({r.config_id for r in responses})
    if config_id and config_id not in configs:
        raise UnknownNameError("configuration", config_id, configs, where=str(run.root))
    if not config_id and len(configs) > 1:
        raise InputError(f"holds several configurations; give config_id= one of {', '.join(configs)}", path=run.root)
    return {(r.task, r.prompt_id): r for r in responses if config_id in ("", r.config_id)}
