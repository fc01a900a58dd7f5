"""``vaeval-offline``: recogniser, small language model and synthesiser on this machine."""

from __future__ import annotations

from typing import Any

from vaeval_tasks.hosts.lm_eval.model import SpeechLM
from vaeval_tasks.models.local.offline import OfflineModel, offline_config

__all__ = ["OfflineLM"]


class OfflineLM(SpeechLM):
    """The offline system as a model of the harness.

    Args:
        voice: of :func:`~vaeval_tasks.models.local.offline.offline_config`.
        recogniser: likewise.
        threads: of :class:`~vaeval_tasks.models.local.offline.OfflineModel`.
        common: see :class:`~vaeval_tasks.hosts.lm_eval.model.SpeechLM`.
    """

    def __init__(
        self, *, voice: str = "joe", recogniser: str = "whisper-base", threads: int = 2, **common: Any
    ) -> None:
        self._model = OfflineModel(threads=threads)
        super().__init__(config=offline_config(voice, recogniser), **common)

    def open(self) -> OfflineModel:
        """Return the system; its parts load when first needed."""
        return self._model
