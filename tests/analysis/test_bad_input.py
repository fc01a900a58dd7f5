"""Every kind of bad ratings file: one line with file, row and field, exit 1, and nothing written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Rows = list[list[object]]
RANK = ("--resamples", 20)


def edited(rows: Rows, row: int, column: int, value: object) -> Rows:
    """Return the rows with one cell changed; the row is counted from 1."""
    out = [list(r) for r in rows]
    out[row - 1][column] = value
    return out


def refused(done: Any, *parts: str) -> None:
    """Assert one line on stderr that holds the parts, exit 1 and nothing on stdout."""
    assert done.code == 1, done
    assert done.out == ""
    lines = done.err.strip().splitlines()
    assert len(lines) == 1, done.err
    for part in parts:
        assert part in lines[0]


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        (5, 4, "4 is out of range; scores are whole numbers from -3 to 3"),
        (5, -7, "out of range"),
        (5, 1.5, "1.5 is fractional"),
        (5, "good", "'good' is not a number"),
        (5, "NaN", "'NaN' is not a number"),
        (5, "inf", "'inf' is not a number"),
        (5, "", "is blank"),
        (3, " ", "is blank; every row needs an identifier"),
        (0, "", "is blank"),
    ],
)
def test_bad_cells_name_file_row_and_field(
    column: int, value: object, said: str, ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any
) -> None:
    path = ratings_csv(edited(good_rows, 5, column, value))
    field = ("prompt", "a", "b", "rater", "rubric", "score")[column]
    out = path.with_name("board.json")
    refused(invoke("rank", path, "--out", out, *RANK), str(path), "row 5", f"field '{field}'", said)
    assert not out.exists()


def test_the_first_bad_row_is_named(ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any) -> None:
    rows = edited(edited(good_rows, 9, 5, "zz"), 4, 5, "aa")
    refused(invoke("rank", ratings_csv(rows), *RANK), "row 4", "'aa'")


def test_a_pair_of_one(ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any) -> None:
    refused(invoke("rank", ratings_csv(edited(good_rows, 3, 2, "z")), *RANK), "row 3", "a and b are both 'z'")


def test_an_unknown_rubric_has_a_suggestion(ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any) -> None:
    path = ratings_csv(edited(good_rows, 2, 4, "overal"))
    refused(invoke("rank", path, *RANK), str(path), "row 2", "Did you mean 'overall'?", "--any-rubric")
    assert invoke("rank", path, "--any-rubric", "--rubric", "overall", "--json", *RANK).code == 0


def test_a_second_rating_of_a_pair(ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any) -> None:
    mirrored = [good_rows[0][0], good_rows[0][2], good_rows[0][1], *good_rows[0][3:]]
    path = ratings_csv([*good_rows, mirrored])
    refused(invoke("rank", path, *RANK), f"row {len(good_rows) + 1}", "the same rater, pair and rubric as row 1")
    kept = invoke("rank", path, "--duplicates", "keep", "--json", *RANK).json
    last = invoke("rank", path, "--duplicates", "last", "--json", *RANK).json
    assert kept["fit"]["n_ratings"]["overall"] == len(good_rows) + 1
    assert last["fit"]["n_ratings"]["overall"] == len(good_rows)


@pytest.mark.parametrize("missing", ["prompt", "a", "b", "rater", "score"])
def test_a_missing_column(missing: str, ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any) -> None:
    header = [f"{c}_" if c == missing else c for c in ("prompt", "a", "b", "rater", "rubric", "score")]
    refused(invoke("rank", ratings_csv(good_rows, header), *RANK), f"field '{missing}'", "missing", "there are")


@pytest.mark.parametrize("content", ["", "\n", "prompt,a,b,rater,score\n"])
def test_an_empty_file(content: str, tmp_path: Path, invoke: Any) -> None:
    path = tmp_path / "empty.csv"
    path.write_text(content)
    refused(invoke("rank", path), str(path))


def test_latin_1_bytes_name_the_row(tmp_path: Path, invoke: Any) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes("prompt,a,b,rater,score\np,x,y,r1,1\np,x,y,Andr\xe9,1\n".encode("latin-1"))
    refused(invoke("rank", path, "--encoding", "utf-8"), str(path), "row 2", "0xe9", "--encoding latin-1")
    assert "note: read as cp1252" in invoke("rank", path, "--ridge", 0.1, *RANK).out
    assert invoke("rank", path, "--encoding", "latin-1", "--ridge", 0.1, *RANK).code == 0
    refused(invoke("rank", path, "--encoding", "latin-l"), "no encoding 'latin-l'")


@pytest.mark.parametrize("field", ["prompt", "a", "rater"])
def test_mixed_types_in_an_id_column(field: str, tmp_path: Path, invoke: Any) -> None:
    rows = [{"prompt": "p", "a": "x", "b": "y", "rater": "r", "score": 1} for _ in range(3)]
    rows[2][field] = 7
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    refused(invoke("rank", path), str(path), "row 3", f"field '{field}'", "7 is int, row 1 has str")


def test_one_number_in_two_spellings(ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any) -> None:
    rows = edited(edited(good_rows, 1, 3, "1"), 2, 3, "1.0")
    refused(invoke("rank", ratings_csv(rows)), "row 2", "'1.0' and '1' are one number")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{oops", "is not JSON"),
        ("[1]", "must be a mapping (a JSON object)"),
        ('{"prompt": ["p"]}', "not a list"),
    ],
)
def test_bad_json_lines(line: str, said: str, tmp_path: Path, invoke: Any) -> None:
    path = tmp_path / "r.jsonl"
    good = '{"prompt": "p", "a": "x", "b": "y", "rater": "r", "score": 1}'
    path.write_text(f"{good}\n\n{line}\n")
    refused(invoke("rank", path), "row 2", said)


def test_a_ragged_csv_row(ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any) -> None:
    rows = [*good_rows[:3], good_rows[3][:-1], *good_rows[4:]]
    refused(invoke("rank", ratings_csv(rows)), "row 4", "has 5 cells, the header has 6")


def test_text_scores_in_parquet(tmp_path: Path, invoke: Any) -> None:
    path = tmp_path / "r.parquet"
    columns = {"prompt": [1, 2], "a": ["x", "x"], "b": ["y", "y"], "rater": [1.5, 2.0], "score": [1, None]}
    pq.write_table(pa.table(columns), path)
    refused(invoke("rank", path), "row 1", "field 'rater'", "1.5 is no identifier")
    pq.write_table(pa.table(columns | {"rater": [1, 2]}), path)
    refused(invoke("rank", path), "row 2", "field 'score'", "is blank")


def test_bad_counts(ratings_csv: Callable[..., Path], invoke: Any) -> None:
    path = ratings_csv([["x", "y", 1, 2], ["x", "y", -1, -2]], ("a", "b", "score", "count"))
    refused(invoke("rank", path), "row 2", "field 'count'", "counts are 0 or more")


def test_other_files(tmp_path: Path, invoke: Any) -> None:
    refused(invoke("rank", tmp_path / "no.csv"), "no such file")
    (tmp_path / "r.xlsx").write_bytes(b"PK\x03\x04")
    refused(invoke("rank", tmp_path / "r.xlsx"), "r.xlsx", "cannot be read as a workbook")
    (tmp_path / "r.sav").write_bytes(b"$FL2")
    refused(invoke("rank", tmp_path / "r.sav"), ".sav", "use .csv, .tsv, .jsonl, .ndjson, .json, .yaml, .yml, .parquet")
    (tmp_path / "r.parquet").write_bytes(b"PAR1")
    refused(invoke("rank", tmp_path / "r.parquet"), "cannot be read as parquet")
    (tmp_path / "r.csv.gz").write_bytes(b"no gzip")
    refused(invoke("rank", tmp_path / "r.csv.gz"), "cannot be read as gzip")
    refused(invoke("rank", tmp_path), "the run has no ratings")


def test_bad_options(ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any) -> None:
    path = ratings_csv(good_rows)
    refused(invoke("rank", path, "--columns", "scroe=score"), "Did you mean 'score'?")
    refused(invoke("rank", path, "--where", "rubrik=overall"), "Did you mean 'rubric'?")
    refused(invoke("rank", path, "--where", "prompt=p9"), "unknown prompt 'p9'")
    refused(invoke("rank", path, "--rubric", "naturalnes"), "unknown rubric")
    refused(invoke("rank", path, "--difference", "x", "w", *RANK), "unknown entity 'w'")
    refused(invoke("rank", path, "--by", "model"), "is not model/thinking/voice", "--by config")
    refused(invoke("rank", path, "--out", path.with_name("x.txt"), *RANK), ".json, .csv or .md")
    assert invoke("rank", path, "--columns", "score").code == 2
    assert invoke("rank", path, "--engine", "elo").code == 2


def test_disconnected_entities_are_named(ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any) -> None:
    apart = [["p1", "u", "v", "r1", "overall", 1], ["p2", "u", "v", "r1", "overall", -1]]
    done = invoke("rank", ratings_csv([*good_rows, *apart]), *RANK)
    refused(done, "u", "v", "x", "y", "z")


def test_an_undefeated_entity_is_named_and_ridge_is_offered(
    ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any
) -> None:
    wins = [[p, "x", "champion", r, "overall", -3] for p in ("p1", "p2") for r in ("r1", "r2")]
    path = ratings_csv([*good_rows, *wins])
    refused(invoke("rank", path, *RANK), "champion", "ridge")
    rows = invoke("rank", path, "--ridge", 0.1, "--json", *RANK).json["rows"]
    assert rows[0]["entity"] == "champion"


def test_raters_of_several_kinds_are_not_mixed(small_run: Path, tmp_path: Path, invoke: Any) -> None:
    table = pq.read_table(small_run / "raters.parquet").to_pylist()
    for name in ("ratings.parquet", "configs.yaml", "prompts.parquet"):
        (tmp_path / name).write_bytes((small_run / name).read_bytes())
    for i, row in enumerate(r for r in table if "cmos" in r["pools"]):
        row["kind"] = "judge" if i < 10 else "human"
    pq.write_table(pa.Table.from_pylist(table), tmp_path / "raters.parquet")
    refused(invoke("rank", tmp_path, "--rubric", "overall"), "human and judge", "--raters")
    rows = invoke("rank", tmp_path, "--rubric", "overall", "--raters", "judge", "--json", *RANK).json["rows"]
    assert max(r["n_raters"] for r in rows) == 10
    refused(invoke("rank", tmp_path, "--raters", "simulated"), "unknown kind of rater 'simulated'")


def test_two_columns_of_one_name(ratings_csv: Callable[..., Path], good_rows: Rows, invoke: Any) -> None:
    path = ratings_csv(good_rows, ("prompt", "a", "b", "rater", "score", "score"))
    refused(invoke("rank", path), "field 'score'", "two columns")


@pytest.mark.parametrize("content", ["configurations: 3", "- 1", "{", "configurations: [{model: x}]"])
def test_bad_configurations(content: str, small_run: Path, tmp_path: Path, invoke: Any) -> None:
    (tmp_path / "ratings.parquet").write_bytes((small_run / "ratings.parquet").read_bytes())
    (tmp_path / "configs.yaml").write_text(content)
    refused(invoke("rank", tmp_path), "configs.yaml")


@pytest.mark.parametrize(
    ("header", "missing", "guess"),
    [
        ("prompt,a,b,rater,rating", "score", "score=rating"),
        ("prompt,model_a,model_b,rater,score", "a", "a=model_a"),
        ("question_id,a,b,rater,score", "prompt", "prompt=question_id"),
        ("prompt,a,b,Worker ID,score", "rater", "rater=Worker ID"),
        ("prompt,a,b,rater,scroe", "score", "score=scroe"),
        ("prompt,a,b,rater,x", "score", "score=NAME"),
    ],
)
def test_a_missing_column_names_the_option_and_what_may_be_meant(
    header: str, missing: str, guess: str, tmp_path: Path, invoke: Any
) -> None:
    path = tmp_path / "r.csv"
    path.write_text(f"{header}\np,x,y,r,1\n")
    told = f"there are {header.replace(',', ', ')}; name it with --columns {guess}"
    refused(invoke("rank", path), f"field '{missing}': the column is missing", told)


@pytest.mark.parametrize("verb", ["rank", "mos", "agree"])
def test_repeated_ratings_are_counted_and_the_choice_is_named(verb: str, tmp_path: Path, invoke: Any) -> None:
    path = tmp_path / "r.csv"
    if verb == "mos":
        rows = ["p,x,r1,1", "p,y,r1,2", "p,x,r1,3", "p,x,r2,4", "p,x,r2,5"]
        path.write_text("prompt,config,rater,score\n" + "\n".join(rows) + "\n")
    else:
        rows = ["p,x,y,r1,1", "q,x,y,r1,-1", "p,y,x,r1,-1", "p,x,y,r2,0", "p,x,y,r2,-2"]
        path.write_text("prompt,a,b,rater,score\n" + "\n".join(rows) + "\n")
    extra = {"rank": RANK, "mos": RANK, "agree": ("--splits", 0)}[verb]
    refused(
        invoke(verb, path, *extra), "row 3: the same rater", "2 of 5 rows", "--duplicates last", "--duplicates keep"
    )
    for choice, said in (("keep", "all are kept"), ("last", "the last is taken")):
        found = invoke(verb, path, *extra, "--duplicates", choice, "--json").json
        assert any(note.startswith("2 of 5 ratings repeat") and note.endswith(said) for note in found["notes"])
