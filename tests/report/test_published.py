from __future__ import annotations

import csv
from pathlib import Path

import pytest

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.report.published import overlap_ranks, published_board
from vaeval_tasks.report.records import Figure
from vaeval_tasks.rubrics import BY_KEY, RUBRICS

HEADER = "family,rubric,model,cmos_elo,cmos_elo_lo,cmos_elo_hi,mos,mos_lo,mos_hi\n"


def write(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "figures.csv"
    path.write_text(header + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def test_the_published_order_of_every_rubric(published: Path) -> None:
    board = published_board(published)
    with published.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [page.rubric for page in board.pages] == list(RUBRICS)
    for page in board.pages:
        as_printed = [r["model"] for r in rows if r["rubric"] == page.rubric.label]  # the source prints best first
        elos = {r["model"]: float(r["cmos_elo"]) for r in rows if r["rubric"] == page.rubric.label}
        assert [s.entity for s in page.standings] == as_printed
        assert [s.elo.value for s in page.standings] == [elos[m] for m in as_printed]


def test_ranks_are_ranges_where_intervals_overlap(published: Path) -> None:
    overall = published_board(published).pages[0]
    # [1130, 1168] and [1109, 1149] overlap; [1050, 1091] is apart; [977, 1009] and [948, 1014] overlap; then two apart
    assert [(s.rank_low, s.rank_high) for s in overall.standings] == [
        (1, 2),
        (1, 2),
        (3, 3),
        (4, 5),
        (4, 5),
        (6, 6),
        (7, 7),
    ]


def test_overlap_ranks_need_every_interval() -> None:
    rows = [Figure(value=2.0, low=1.0, high=3.0), Figure(value=0.0)]
    assert overlap_ranks(rows, 0) is None


def test_rubrics_may_be_keys_or_labels_and_mos_may_be_missing(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "naturalness,X,1010,,",
        "Naturalness,Y,990,,",
        header="rubric,model,cmos_elo,cmos_elo_lo,cmos_elo_hi\n",
    )
    board = published_board(path)
    page = next(p for p in board.pages if p.rubric is BY_KEY["naturalness"])
    assert [s.entity for s in page.standings] == ["X", "Y"]
    assert page.opinions == ()
    assert page.standings[0].rank_low is None
    assert board.left_out[0] == ("Mean opinion scores", "figures.csv has no MOS figures.")
    assert board.pages[0].reason == "The file has no row for this rubric."


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "there are no rows"),
        (["Overall,Overall preference,X,abc,1,2,,,"], "row 1, field 'cmos_elo': 'abc' is not a number"),
        (["Overall,Overall preference,X,nan,1,2,,,"], "row 1, field 'cmos_elo': 'nan' is not a number"),
        (["Overall,Overall preference,X,,1,2,,,"], "row 1, field 'cmos_elo': is blank"),
        (
            ["Overall,Overall preference,X,1000,1001,1002,,,"],
            "row 1, field 'cmos_elo': 1000 is outside of its",
        ),
        (["Overall,Overall preference, ,1000,999,1002,,,"], "row 1, field 'model': is blank"),
        (["Overall,overall,X,1000,,,,,", "Overall,overall,X,1000,,,,,"], "row 2, field 'model': 'X' has a second row"),
    ],
)
def test_bad_cells_are_named(tmp_path: Path, rows: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        published_board(write(tmp_path, *rows))
    assert said in str(caught.value)
    assert "figures.csv" in str(caught.value)


def test_unknown_rubrics_get_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"row 1, field 'rubric'.*Did you mean 'Naturalness'"):
        published_board(write(tmp_path, "Humanness,Naturalnes,X,1000,,,,,"))


def test_missing_columns_and_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no column cmos_elo_lo, cmos_elo_hi; there are rubric, model"):
        published_board(write(tmp_path, "overall,X,1000", header="rubric,model,cmos_elo\n"))
    with pytest.raises(InputError, match="no such file"):
        published_board(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes(HEADER.encode() + "Overall,overall,Café,1,,,,,\n".encode("latin-1"))
    with pytest.raises(InputError, match="byte 0xe9 is not utf-8"):
        published_board(tmp_path / "latin.csv")
