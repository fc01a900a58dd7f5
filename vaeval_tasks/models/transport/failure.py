"""What becomes of a turn whose request failed, by the table of :mod:`vaeval_tasks.services.http.meaning`."""

from __future__ import annotations

import time

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.protocol import Retry
from vaeval_tasks.models.turn import TurnError
from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome
from vaeval_tasks.services.http.retry import too_long
from vaeval_tasks.services.http.secrets import shown_url
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

__all__ = ["failure", "unreachable"]

_WHAT = {
    HttpMeaning.refused: "the key was refused",
    HttpMeaning.absent: "the request was refused",
    HttpMeaning.quota: "the quota is used up, said",
}


def failure(config: ModelConfig, url: str, outcome: HttpOutcome, *, begun: bool = False) -> ServiceError | TurnError:
    """Return the error of a request that failed.

    Args:
        config: the configuration that asks, for the message.
        url: where it asked.
        outcome: what came of it; not ``ok``.
        begun: whether some of the answer had been heard: then asking again would be a second answer.

    Returns:
        A ServiceError where every prompt of the configuration will meet the same (key, model, voice, quota, a wait
        that is too long), else a TurnError, with leave to ask again where that may help.
    """
    where = shown_url(url)
    if outcome.meaning.for_all:
        by = "" if outcome.meaning is HttpMeaning.quota else "by "
        return ServiceError(f"{config.config_id}: {_WHAT[outcome.meaning]} {by}{where} ({outcome.reason})")
    if reason := too_long(outcome, now=time.time()):
        return ServiceError(f"{config.config_id}: {where}: {reason}")
    status = ResponseStatus.refused if outcome.meaning is HttpMeaning.filtered else ResponseStatus.error
    retry = Retry(after_s=outcome.wait_s or 0.0) if outcome.meaning.again and not begun else None
    return TurnError(status, f"{where}: {outcome.reason}", retry)


def unreachable(config: ModelConfig, url: str, error: BaseException) -> ServiceError:
    """Return the error of a service nobody could be reached at; asking again may help."""
    return ServiceError(
        f"{config.config_id}: {shown_url(url)} cannot be reached ({type(error).__name__}: {error}); "
        "check the network and the address",
        retry=True,
    )
