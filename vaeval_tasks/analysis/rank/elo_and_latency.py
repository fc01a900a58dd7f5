"""What people prefer beside how long they would have waited for it, configuration by configuration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vaeval_tasks.analysis.rank.board import Board, BoardRow
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import EstimationError
from vaeval_tasks.scoring.latency import LatencySummary, latency_summary, paces_of
from vaeval_tasks.stats.quantiles import QuantileEstimate
from vaeval_tasks.store.schema import Response

__all__ = ["LATENCY_NOTE", "LATENCY_TITLE", "EloBesideLatency", "elo_beside_latency", "latency_table"]

LATENCY_TITLE = "Preference beside latency: seconds from the end of the user's speech"
LATENCY_NOTE = "times compare only where the speech was sent in the same way"


@dataclass(frozen=True, slots=True, kw_only=True)
class EloBesideLatency:
    """One configuration."""

    place: BoardRow
    """On the board of configurations, of its first rubric."""
    times: LatencySummary
    paces: tuple[str, ...]
    """How its speech was sent (``SpeechPace``); empty where nothing says so."""

    def quantile(self, measure: str, q: str) -> QuantileEstimate:
        """Return a quantile of a latency, without a value where it was not recorded."""
        return self.times.get(measure, {}).get(q) or QuantileEstimate(value=None, n=0, reason="not recorded")


def elo_beside_latency(board: Board, responses: Iterable[Response]) -> tuple[EloBesideLatency, ...]:
    """Return every ranked configuration with the latency of its answers to the prompts, best first.

    Args:
        board: of configurations.
        responses: of the run.

    Raises:
        EstimationError: no answer of a ranked configuration has a time.
    """
    rows = [row for row in board.rows if row.rubric == board.rows[0].rubric]
    answers: dict[str, list[Response]] = {row.entity: [] for row in rows}
    for response in responses:
        if response.config_id in answers and not response.task:
            answers[response.config_id].append(response)
    found = tuple(
        EloBesideLatency(
            place=row,
            times=latency_summary((answer, answer.prompt_id) for answer in answers[row.entity]),
            paces=tuple(paces_of(answers[row.entity])),
        )
        for row in rows
    )
    if not any(one.times for one in found):
        raise EstimationError("no answer of the run says how long it took")
    return found


def latency_table(found: Iterable[EloBesideLatency]) -> Table:
    """Return the ``latency`` table."""
    shown = {"first_audio": "first_audio_s", "end": "total_s"}
    rows = []
    for one in found:
        row: dict[str, object] = {"config": one.place.entity, "elo": one.place.elo}
        row |= {"elo_low": one.place.low, "elo_high": one.place.high}
        for name, measure in shown.items():
            for q in ("p50", "p90"):
                estimate = one.quantile(measure, q)
                row |= {f"{name}_{q}": estimate.value}
                row |= {f"{name}_{q}_low": estimate.low, f"{name}_{q}_high": estimate.high}
        first = one.quantile("first_audio_s", "p50")
        rows.append(row | {"n_answers": first.n, "speech_sent": ", ".join(one.paces) or None, "reason": first.reason})
    columns = tuple(rows[0])
    digits = dict.fromkeys(columns[4:-3], 2) | dict.fromkeys(columns[1:4], 1)
    return Table(
        name="latency", title=LATENCY_TITLE, columns=columns, rows=tuple(rows), digits=digits, notes=(LATENCY_NOTE,)
    )
