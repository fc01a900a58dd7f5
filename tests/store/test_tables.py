"""Records survive every file format, and a bad field is named by file, row and column."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.store import tables
from vaeval_tasks.store.schema import Condition, Prompt, Rating, Response, ResponseStatus

RESPONSE = Response(
    response_id="r1",
    prompt_id="p1",
    config_id="m/default/v",
    status=ResponseStatus.timeout,
    turn_texts=("one", "two"),
    usage={"tokens": 3, "nested": {"ä": [1, None]}},
    first_audio_s=None,
    total_s=1.5,
)


def test_parquet_round_trip(tmp_path: Path) -> None:
    rows = [RESPONSE, replace(RESPONSE, response_id="r2", first_audio_s=0.25, error='line\nbreak, "quoted"')]
    tables.write_parquet(tmp_path / "r.parquet", Response, rows)
    assert tables.read_parquet(tmp_path / "r.parquet", Response) == rows


text = st.text(st.characters(codec="utf-8"), max_size=30)


@given(text, st.lists(text, max_size=3).map(tuple), st.floats(allow_nan=False, allow_infinity=False))
def test_rows_round_trip_any_text(words: str, gates: tuple[str, ...], seconds: float) -> None:
    prompt = Prompt(
        prompt_id="p", category=words, difficulty="L1", condition=Condition.indoor, gates=gates, seconds=seconds
    )
    assert tables.from_row(Prompt, json.loads(json.dumps(tables.to_row(prompt)))) == prompt


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": 1.5}, "row 7, field 'score'"),
        ({"score": True}, "row 7, field 'score'"),
        ({"score": "1"}, "row 7, field 'score'"),
        ({"rater_id": None}, "row 7, field 'rater_id'"),
        ({"kind": "nonsense"}, "row 7, field 'kind'"),
    ],
)
def test_a_bad_field_is_named(change: dict[str, object], message: str) -> None:
    row = {"prompt_id": "p", "a": "a", "b": "b", "rater_id": "r", "rubric": "overall", "score": 1} | change
    with pytest.raises(InputError, match=message):
        tables.from_row(Rating, row, path="ratings.jsonl", number=7)


def test_missing_and_unknown_fields_are_named() -> None:
    with pytest.raises(InputError, match="field 'prompt_id': the field is missing"):
        tables.from_row(Rating, {})
    with pytest.raises(UnknownNameError, match="Did you mean 'rubric'"):
        tables.from_row(Rating, {"rubrik": "overall"}, path="x.jsonl", number=1)


def test_unreadable_parquet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        tables.read_parquet(tmp_path / "none.parquet", Rating)
    (tmp_path / "bad.parquet").write_bytes(b"nonsense")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        tables.read_parquet(tmp_path / "bad.parquet", Rating)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="field 'b'"):
        tables.read_parquet_table(tmp_path / "other.parquet", ["a", "b"])


def test_a_failed_write_leaves_the_old_table(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    tables.write_parquet(path, Response, [RESPONSE])
    with pytest.raises(pa.ArrowInvalid):
        tables.write_parquet(path, Response, [replace(RESPONSE, seconds="long")])  # type: ignore[arg-type]
    assert tables.read_parquet(path, Response) == [RESPONSE]
    assert [p.name for p in tmp_path.iterdir()] == ["r.parquet"]
