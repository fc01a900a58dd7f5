"""``vaeval-offline``: recogniser, small language model and synthesiser on this machine."""

from __future__ import annotations

from typing import Any

from vaeval_tasks.hosts.lm_eval.model import SpeechLM
from vaeval_tasks.models.local.offline_system import RECOGNISERS, OfflineModel, offline_config
from vaeval_tasks.models.providers import check_access

__all__ = ["OfflineLM"]


class OfflineLM(SpeechLM):
    """The offline system as a model of the harness.

    Args:
        voice: of :func:`~vaeval_tasks.models.local.offline_system.offline_config`.
        recogniser: likewise.
        common: see :class:`~vaeval_tasks.hosts.lm_eval.model.SpeechLM`.
    """

    def __init__(self, *, voice: str = "joe", recogniser: str = RECOGNISERS[0], **common: Any) -> None:
        config = offline_config(voice, recogniser)
        check_access(config)
        self._model = OfflineModel()
        super().__init__(config=config, **{"concurrency": 2, **common})

    def open(self) -> OfflineModel:
        """Return the system; its parts load when first needed."""
        return self._model
