"""One event, one fate: what becomes of a turn, by what the service's answer means, in every adapter alike.

What an event means is looked up once, in :mod:`vaeval_tasks.services.http.meaning`, from HTTP statuses, error codes,
error events, close codes and exceptions of a stream. Here each meaning has one status and one consequence.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from vaeval_tasks.errors import ServiceError
from vaeval_tasks.models.protocol import Retry
from vaeval_tasks.services.http.meaning import HttpMeaning, HttpOutcome
from vaeval_tasks.services.http.retry import too_long
from vaeval_tasks.services.http.secrets import shown_url
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

__all__ = ["FATES", "Consequence", "Fate", "TurnError", "failure", "settings_refused", "unreachable"]


class TurnError(Exception):
    """A turn failed in a way that is a result: it becomes a status, not an exception, of the reply."""

    def __init__(self, status: ResponseStatus, reason: str, retry: Retry | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.retry = status, reason, retry


class Consequence(StrEnum):
    """What happens after an event."""

    stop = "stop"
    """The configuration stops; the others go on."""
    again = "again"
    """The prompt is asked again in a fresh session, unless some of the answer had been heard."""
    stands = "stands"
    """The result stands; the next prompt is asked."""
    goes_on = "goes on"
    """The turn goes on, and what was odd is noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What becomes of a turn."""

    status: ResponseStatus
    """Of the response, where there is one."""
    consequence: Consequence
    stops_because: str = ""
    """How the reason begins where a configuration stops."""


_ERROR = ResponseStatus.error
FATES: Mapping[HttpMeaning, Fate] = {
    HttpMeaning.refused: Fate(status=_ERROR, consequence=Consequence.stop, stops_because="the key was refused by"),
    HttpMeaning.absent: Fate(status=_ERROR, consequence=Consequence.stop, stops_because="the request was refused by"),
    HttpMeaning.quota: Fate(status=_ERROR, consequence=Consequence.stop, stops_because="the quota is used up, said"),
    HttpMeaning.setting: Fate(status=_ERROR, consequence=Consequence.stop, stops_because="an option was refused by"),
    HttpMeaning.busy: Fate(status=_ERROR, consequence=Consequence.again),
    HttpMeaning.broken: Fate(status=_ERROR, consequence=Consequence.again),
    HttpMeaning.unreachable: Fate(status=_ERROR, consequence=Consequence.again),
    HttpMeaning.unreadable: Fate(status=_ERROR, consequence=Consequence.again),
    HttpMeaning.expired: Fate(status=_ERROR, consequence=Consequence.again),
    HttpMeaning.interrupted: Fate(status=_ERROR, consequence=Consequence.again),
    HttpMeaning.slow: Fate(status=ResponseStatus.timeout, consequence=Consequence.stands),
    HttpMeaning.empty: Fate(status=ResponseStatus.empty, consequence=Consequence.stands),
    HttpMeaning.filtered: Fate(status=ResponseStatus.refused, consequence=Consequence.stands),
    HttpMeaning.bad_request: Fate(status=_ERROR, consequence=Consequence.stands),
    HttpMeaning.cut: Fate(status=ResponseStatus.ok, consequence=Consequence.goes_on),
}
"""Every meaning but ``ok``. What was cut at the length limit is what the model says under its settings: it is heard,
rated and noted."""


def failure(config: ModelConfig, url: str, outcome: HttpOutcome, *, begun: bool = False) -> ServiceError | TurnError:
    """Return the error of a request or a turn that failed.

    Args:
        config: the configuration that asks, for the message.
        url: where it asked.
        outcome: what came of it; not ``ok``.
        begun: whether some of the answer had been heard: then asking again would be a second answer.

    Returns:
        A ServiceError where every prompt of the configuration will meet the same (key, model, voice, quota, a wait
        that is too long), else a TurnError, with leave to ask again where that may help.
    """
    where, fate = shown_url(url), FATES[outcome.meaning]
    if fate.consequence is Consequence.stop:
        return ServiceError(f"{config.config_id}: {fate.stops_because} {where} ({outcome.reason})")
    if reason := too_long(outcome, now=time.time()):
        return ServiceError(f"{config.config_id}: {where}: {reason}")
    again = fate.consequence is Consequence.again and not begun
    return TurnError(fate.status, f"{where}: {outcome.reason}", Retry(after_s=outcome.wait_s or 0.0) if again else None)


def settings_refused(config: ModelConfig, url: str, outcome: HttpOutcome) -> ServiceError | TurnError:
    """Return the error of a session that failed before anything of a prompt was sent: then it is the settings."""
    if FATES[outcome.meaning].consequence is not Consequence.stands:
        return failure(config, url, outcome)
    return ServiceError(f"{config.config_id}: {shown_url(url)} refused the settings ({outcome.reason})")


def unreachable(config: ModelConfig, url: str, error: BaseException) -> ServiceError:
    """Return the error of a service nobody could be reached at; asking again may help."""
    return ServiceError(
        f"{config.config_id}: {shown_url(url)} cannot be reached ({type(error).__name__}: {error}); "
        "check the network and the address",
        retry=True,
    )
