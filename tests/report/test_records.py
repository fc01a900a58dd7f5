"""The page is made from records: names that look like our own notation change nothing, ratings are read once."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vaeval_tasks.report
from vaeval_tasks.analysis.load.source import Source
from vaeval_tasks.analysis.study_analysis import AnalysisSettings, Lacking, StudyAnalysis, study_tables
from vaeval_tasks.report.records import Figure
from vaeval_tasks.report.render import render, snapshot, written
from vaeval_tasks.report.study_board import ReportSettings, study_board
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Comment, Rating

QUICK = ReportSettings(resamples=20, splits=10)
MODELS = ("X", "X low", "n.s.", "1-3")
"""Names that the columns, marks and ranks of the tables could be taken for."""


def config(model: str, voice: str = "v") -> str:
    return f"{model}/default/{voice}"


@pytest.fixture
def odd(tmp_path: Path) -> RunDir:
    """Four models, the first with two voices, and comments that praise ``X low`` alone."""
    run = RunDir(tmp_path / "odd")
    rng = np.random.default_rng(1)
    configs = [config("X", "n.s."), *(config(model) for model in MODELS)]
    ratings, comments = [], []
    for p in range(8):
        for r in range(4):
            for i, first in enumerate(configs):
                for second in configs[i + 1 :]:
                    a, b = sorted((first, second))
                    ratings.append(
                        Rating(
                            prompt_id=f"p{p}",
                            a=a,
                            b=b,
                            rater_id=f"r{r}",
                            rubric="overall",
                            score=int(rng.integers(-3, 4)),
                        )
                    )
            for name in configs:
                text = "a natural voice" if name == config("X low") else "nothing to say"
                comments.append(Comment(prompt_id=f"p{p}", config_id=name, rater_id=f"r{r}", text=text))
    run.write("ratings", ratings, made_by="test")
    run.write("comments", comments, made_by="test")
    return run


def test_names_that_look_like_columns_are_told_apart(odd: RunDir, reader: Any) -> None:
    board = study_board(odd, QUICK)
    (grid,) = next(s for s in board.sections if s.key == "comments").grids
    heads = [column.head for column in grid.columns]
    assert sorted(heads[1:]) == sorted(MODELS)
    cells = [pair for row in grid.rows for pair in zip(heads, row, strict=True)]
    praised = {head for head, cell in cells if isinstance(cell, Figure) and cell.value}
    assert praised == {"X low"}
    page = reader(render(board))
    assert len(page.tables["comments"][0][0]) == 1 + len(MODELS)


def test_names_that_look_like_marks_and_ranks_change_none(odd: RunDir) -> None:
    board = study_board(odd, QUICK)
    (group,) = board.voices
    assert {group.first, group.second} == {"n.s.", "v"}
    for row in group.rows:
        assert row.margin.low is not None
        assert row.margin.high is not None
        assert row.significant is not (row.margin.low <= 0 <= row.margin.high)
    placed = snapshot(board)["rubrics"]["overall"]["standings"]
    for shown, row in zip(placed, board.pages[0].standings, strict=True):
        low, high = row.rank_low, row.rank_high
        assert shown["rank"] == (f"{low}" if low == high else f"{low}-{high}")


def test_the_ratings_are_read_once(odd: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[str] = Counter()
    sheet = Source.sheet

    def counted(self: Source, table: str) -> Any:
        read[table] += 1
        return sheet(self, table)

    monkeypatch.setattr(Source, "sheet", counted)
    study_board(odd, QUICK)
    assert read == {"ratings": 1, "comments": 1}


def test_a_part_is_computed_once_or_says_why_not(odd: RunDir) -> None:
    study = StudyAnalysis(source=Source(path=odd.root), settings=AnalysisSettings(resamples=20, splits=0))
    assert study.board is study.board
    assert study.split_half == Lacking(reason="--splits is 0")
    assert study.mos == Lacking(reason="the run has no MOS ratings")
    made = study_tables(study)
    names = {table.name for table in made.tables}
    assert {"A2", "A9", "A10", "board", "head_to_head"} <= names
    assert not names & set(made.missing)
    assert made.missing["A3"] is not None


def test_a_table_without_rows_is_a_table_that_the_run_lacks(odd: RunDir) -> None:
    """As the export of a study writes it in which nobody left a comment."""
    for table in ("comments", "mos", "judge_ratings"):
        odd.write(table, [], made_by="test")
    study = StudyAnalysis(source=Source(path=odd.root), settings=AnalysisSettings(resamples=20, splits=10))
    assert study.themes == Lacking(reason="the run has no comments")
    assert study.mos == Lacking(reason="the run has no MOS ratings")
    assert dict(study_board(odd, QUICK).left_out)["Comments"] == "The run has no comments."
    assert study_tables(study).missing["A9"] == Lacking(reason="the run has no comments")


def test_a_reason_on_the_page_names_no_place_on_the_machine(odd: RunDir) -> None:
    silent = [Comment(prompt_id="p0", config_id=config("X"), rater_id="r0", text=" ")]
    odd.write("comments", silent, made_by="test")
    study = StudyAnalysis(source=Source(path=odd.root), settings=AnalysisSettings(resamples=20, splits=10))
    assert isinstance(study.themes, Lacking)
    assert study.themes.path == odd.path("comments")
    board = study_board(odd, QUICK)
    assert dict(board.left_out)["Comments"] == "There is no comment on a single response."
    assert str(odd.root) not in render(board)


def test_a_cell_is_written_as_the_tables_print_it() -> None:
    from vaeval_tasks.report.records import GridColumn

    two = GridColumn(head="x", digits=2)
    assert written(Figure(value=1.005, low=None, high=None), two) == "1.00"
    assert written(Figure(value=-0.5, low=-1.0, high=0.125), two) == "-0.50 [-1.00,\u00a00.12]"
    assert [written(x, two) for x in (None, 3, True, "n.s.")] == ["–", "3", "yes", "n.s."]
    assert written(0.5, GridColumn(head="x")) == "0.500"


def test_no_module_of_the_page_reads_a_table() -> None:
    """A table is text for a file: the page may pass it on as a download, and take nothing from it."""
    for path in Path(vaeval_tasks.report.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        taken = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
        assert not {name for name in taken if name == "Table" or name.endswith("_table")}, path.name
        read = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not read & {"cells", "markdown", "notes", "removeprefix", "startswith", "partition"}, path.name
