"""``report``: the board as one HTML page, of a run or of ready-made figures. In Python it is called ``board``."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vaeval_tasks.analysis.shown import ShownResult
from vaeval_tasks.analysis.table import Table, rank_range
from vaeval_tasks.files import write_text
from vaeval_tasks.progress import progress_bar
from vaeval_tasks.report.published import published_board
from vaeval_tasks.report.records import BoardPage
from vaeval_tasks.report.render import render
from vaeval_tasks.report.study_board import ReportSettings, study_board
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.verbs.options import FEWEST_DRAWS, MOST_DRAWS, whole
from vaeval_tasks.verbs.source import rater_kind, run_folder

__all__ = ["DrawnBoard", "board", "board_of_figures", "board_of_run"]

_COLUMNS = ("rubric", "rank", "entity", "elo", "low", "high", "n_ratings", "n_raters", "n_prompts")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DrawnBoard(ShownResult):
    """A board as a page. In a notebook it shows itself; its script runs apart from the notebook's."""

    page: BoardPage
    html: str
    """The whole page; it needs no network."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file and return its path."""
        where = Path(path)
        write_text(where, self.html)
        return where

    def tables(self) -> list[Table]:
        """Return the standings of every rubric as a table."""
        return [
            Table(
                name="standings",
                title=f"{self.page.title}: {', '.join(self.page.summary)}; {len(self.html) / 1e6:.1f} MB of HTML",
                columns=_COLUMNS,
                rows=tuple({**row, "rank": rank_range(row["rank_low"], row["rank_high"])} for row in self._rows()),
                digits={"elo": 0, "low": 0, "high": 0},
                notes=self.page.notices,
            )
        ]

    def to_json(self) -> dict[str, Any]:
        """Return title and standings as plain values."""
        return {"title": self.page.title, "rows": self._rows()}

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "rubric": page.rubric.key,
                "entity": one.entity,
                "elo": one.elo.value,
                "low": one.elo.low,
                "high": one.elo.high,
                "rank_low": one.rank_low,
                "rank_high": one.rank_high,
                "n_ratings": one.n_ratings,
                "n_raters": one.n_raters,
                "n_prompts": one.n_prompts,
            }
            for page in self.page.pages
            for one in page.standings
        ]

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.page.title)}" '
            'sandbox="allow-scripts allow-downloads" width="100%" height="700" style="border:0"></iframe>'
        )


def board(
    source: str | os.PathLike[str] | RunDir,
    *,
    out: str | os.PathLike[str] | None = None,
    title: str = "Preference board",
    raters: str | None = None,
    splits: int = 20_000,
    samples: int = 3,
    seed: int = 0,
    resamples: int = 1000,
    progress: bool = True,
) -> DrawnBoard:
    """Draw the board of a run, or of a file of ready-made Elo and MOS figures, as ``vaeval report`` does.

    Example::

        page = vaeval.board("study")
        page.save("board.html")

    Args:
        source: a run folder; or a file of figures (rubric, model, cmos_elo, cmos_elo_lo, cmos_elo_hi, …), of which
            title and out are all that can be chosen.
        out: write the page there too.
        title: of the page.
        raters: ``human`` or ``simulated``, where a run holds several kinds.
        splits: rater halves, up to 1,000,000.
        samples: public prompts to play.
        seed: of everything drawn.
        resamples: of the bootstrap, 20 to 1,000,000.
        progress: show a bar on a terminal or in a notebook.

    Raises:
        InputError: the run has no ratings, a file is not as it must be, or an option is wrong.
        EstimationError: the ratings cannot be ranked.
    """
    if isinstance(source, RunDir) or Path(source).is_dir():
        made = board_of_run(
            run_folder(source),
            title=title,
            raters=raters,
            splits=splits,
            samples=samples,
            seed=seed,
            resamples=resamples,
            progress=progress,
        )
    else:
        made = board_of_figures(Path(source), title=title)
    if out is not None:
        made.save(out)
    return made


def board_of_run(
    run: RunDir,
    *,
    title: str,
    raters: str | None,
    splits: int,
    samples: int,
    seed: int,
    resamples: int,
    progress: bool = True,
) -> DrawnBoard:
    """Draw the board of a run; see :func:`board`."""
    settings = ReportSettings(
        title=str(title),
        rater_kind=rater_kind(raters, ("human", "simulated")),
        resamples=whole("resamples", resamples, FEWEST_DRAWS, MOST_DRAWS),
        splits=whole("splits", splits, 0, MOST_DRAWS),
        seed=whole("seed", seed, 0),
        samples=whole("samples", samples, 0),
    )
    total = 2 * settings.resamples + 2 * settings.splits
    with progress_bar(total, "board", "draw", shown=progress) as bar:
        page = study_board(run, settings, progress=bar.update)
    return DrawnBoard(page=page, html=render(page))


def board_of_figures(path: Path, *, title: str) -> DrawnBoard:
    """Draw the board of a file of ready-made figures; see :func:`board`."""
    page = published_board(path, title=str(title))
    return DrawnBoard(page=page, html=render(page))
