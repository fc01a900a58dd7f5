"""CSV that spreadsheets open safely and that gives every text back."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vaeval_tasks.errors import InputError, VaevalError
from vaeval_tasks.store.records_csv import csv_text, escaped, read_csv, unescaped, whole_text, write_csv
from vaeval_tasks.store.schema import Comment, Event, QualityCheck, Rating
from vaeval_tasks.store.tables import read_parquet, write_parquet

ANY = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("=+-@\t\r\n'\",;＝")).map(whole_text)


@settings(deadline=None)
@given(ANY)
@example("=1+1")
@example("'=1+1")
@example("''")
@example('a,"b"\r\nc\rd\ne')
@example("🎧 שלום \u202e")
@example("")
def test_any_text_comes_back_and_none_begins_like_a_formula(text: str) -> None:
    assert unescaped(escaped(text)) == text
    assert not escaped(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝"))


@settings(deadline=None)
@given(texts=st.lists(ANY, min_size=1, max_size=5))
def test_records_come_back_from_csv_and_parquet(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("sheets")
    rows = [Comment(prompt_id=t, config_id="c", rater_id="r", text=t, other_config_id=t) for t in texts]
    write_csv(folder / "c.csv", Comment, rows)
    write_parquet(folder / "c.parquet", Comment, rows)
    assert read_csv(folder / "c.csv", Comment) == rows == read_parquet(folder / "c.parquet", Comment)
    # and by a plain reader, but for the apostrophe
    plain = list(csv.DictReader(io.StringIO((folder / "c.csv").read_bytes().decode(), newline="")))
    assert [unescaped(row["text"]) for row in plain] == texts


def test_numbers_are_left_alone_and_other_types_come_back(tmp_path: Path) -> None:
    rating = Rating(prompt_id="p", a="a", b="b", rater_id="r", rubric="overall", score=-3, left_is_a=None)
    assert csv_text(Rating, [rating]).splitlines()[1] == "p,a,b,r,overall,-3,,,true,main"
    check = QualityCheck(
        rater_id="r",
        study="cmos",
        rule="traps",
        outcome="pass",
        decides="accept",
        detail="",
        rules_version="1",
        value=-0.5,
    )
    event = Event(assignment_id="a", seq=1, kind="play", at="t", client_ms=-5, payload={"part": "left", "n": 2})
    for record, row in ((Rating, rating), (QualityCheck, check), (Event, event)):
        write_csv(tmp_path / "x.csv", record, [row])
        assert read_csv(tmp_path / "x.csv", record) == [row]


def test_what_no_table_holds_is_replaced_by_a_visible_mark() -> None:
    assert whole_text("a\x00b\ud800c") == "a�b�c"
    with pytest.raises(UnicodeEncodeError):
        csv_text(Comment, [Comment(prompt_id="p", config_id="c", rater_id="r", text="\ud800")]).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("rater_id,score\r\nr,x\r\n", "row 1, field 'score': cannot be read, got 'x'"),
        ("rater_id,points\r\nr,1\r\n", "row 1: unknown field 'points'"),
        ("rater_id,score\r\nr\r\n", "row 1: has 1 cells, the header has 2"),
    ],
)
def test_wrong_cells_name_their_place(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "x.csv").write_text(content, newline="")
    with pytest.raises(VaevalError, match=message):
        read_csv(tmp_path / "x.csv", Rating)
    with pytest.raises(InputError, match="no such file"):
        read_csv(tmp_path / "y.csv", Rating)
