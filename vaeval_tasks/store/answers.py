"""Which of several responses stands: the newest one. Everybody who needs the answers of a run asks here."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from vaeval_tasks.store.schema import CHECK_PREFIX, Response

__all__ = ["latest", "newest", "study_answers"]

K = TypeVar("K", bound=Hashable)


def newest(responses: Iterable[Response], key: Callable[[Response], K]) -> dict[K, Response]:
    """Return the newest response of each key; of one second the one that comes later."""
    return {key(response): response for response in sorted(responses, key=lambda r: r.created)}


def latest(responses: Iterable[Response]) -> list[Response]:
    """Return the newest response of each configuration to each document or prompt, in a fixed order.

    The worse copies that a study plays as checks are no configuration's answers and are left out.
    """
    own = [response for response in responses if not response.config_id.startswith(CHECK_PREFIX)]
    found = newest(own, lambda r: (r.config_id, r.task, r.prompt_id))
    return [found[key] for key in sorted(found)]


def study_answers(responses: Iterable[Response]) -> dict[tuple[str, str], Response]:
    """Return the newest response to each prompt of a study by (``prompt_id``, ``config_id``), worse copies included."""
    return newest([r for r in responses if not r.task], lambda r: (r.prompt_id, r.config_id))
