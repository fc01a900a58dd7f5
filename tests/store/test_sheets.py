"""The one reader of files that people give us."""

from __future__ import annotations

import gzip
import io
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.store.schema import PairKind
from vaeval_tasks.store.sheets import SheetRow, flag, pasted_sheet, read_sheet, real

FIELDS = ("id", "text")
ROWS = [{"id": "1", "text": 'a, "b"\nc'}]
FILES = {
    "t.csv": 'id,text\n1,"a, ""b""\nc"\n',
    "bom.csv": '\ufeffid,text\r\n1,"a, ""b""\nc"\r\n',
    "old-mac.csv": 'id,text\r1,"a, ""b""\nc"\r',
    "blank-lines.csv": '\n\nid,text\n\n1,"a, ""b""\nc"\n\n\n',
    "semicolons.csv": 'id;text\n1;"a, ""b""\nc"\n',
    "tabs.csv": 'id\ttext\n1\t"a, ""b""\nc"\n',
    "bars.csv": 'id|text\n1|"a, ""b""\nc"\n',
    "columns.json": '{"id": {"0": "1"}, "text": {"0": "a, \\"b\\"\\nc"}}',
    "lists.json": '{"id": ["1"], "text": ["a, \\"b\\"\\nc"]}',
    "within.json": '{"schema": {"fields": []}, "data": [{"id": "1", "text": "a, \\"b\\"\\nc"}]}',
    "row-numbers.csv": '"",id,text\n"1",1,"a, ""b""\nc"\n',
    "t.tsv": 'id\ttext\n1\t"a, ""b""\nc"\n',
    "t.jsonl": '{"id": "1", "text": "a, \\"b\\"\\nc"}\n\n',
    "t.ndjson": '\n{"id": "1", "text": "a, \\"b\\"\\nc"}\n',
    "t.json": '[{"id": "1", "text": "a, \\"b\\"\\nc"}]',
    "t.yaml": '- id: "1"\n  text: "a, \\"b\\"\\nc"\n',
    "T.YML": '- {id: "1", text: "a, \\"b\\"\\nc"}\n',
}


def cells(path: Path | str, **options: Any) -> list[Any]:
    return [row.cells for row in read_sheet(path, **options).records(FIELDS)]


@pytest.mark.parametrize("name", FILES)
def test_every_form_gives_the_same_rows_and_columns(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8", newline="")
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    for given_path in (path, tmp_path / f"{name}.gz"):
        assert cells(given_path) == ROWS
        column = read_sheet(given_path).column("text")
        assert column.values == ('a, "b"\nc',)
        assert column.codes.tolist() == [0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1", "cp1252"])
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_encodings(tmp_path: Path, name: str, encoding: str) -> None:
    text = {"t.csv": "id,text\n1,Café\n", "t.jsonl": '{"id": "1", "text": "Café"}\n'}[name]
    (tmp_path / name).write_bytes(text.encode(encoding))
    assert cells(tmp_path / name, encoding=encoding) == [{"id": "1", "text": "Café"}]


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        ("id,text\n1,Café\n", "latin-1", "cp1252"),
        ("id,text\n1,“Café”\n", "cp1252", "cp1252"),
        ("id;text\n1;größer, schöner\n", "cp1252", "cp1252"),
        ("id,text\n" + "1,лучше первая система\n" * 9, "cp1251", "cp1251"),
        ("id,text\n" + "1,左の音声の方がずっと良い\n" * 9, "shift_jis", "cp932"),
        ("id,text\n1,Café\n", "utf-16", ""),
        ("id,text\n1,Café\n", "utf-16-le", ""),
        ("id,text\n1,Café\n", "utf-16-be", ""),
        ("id,text\n1,Café\n", "utf-8-sig", ""),
        ("id,text\n1,Café\n", "utf-32", ""),
    ],
)
def test_an_encoding_is_found_and_a_guess_is_said(tmp_path: Path, text: str, encoding: str, found: str) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    sheet = read_sheet(tmp_path / "t.csv", "auto")
    row = text.splitlines()[1]
    assert sheet.column("text").values[0] == row[2:]
    assert [note.split(",")[0] for note in sheet.notes] == ([f"read as {found}"] if found else [])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a;b\n1,5;2,5\n", ("a", "b")),
        ("which, if any;b\n1;2\n1;2\n", ("which, if any", "b")),
        ("a,b;c\n1,2;3\n1,2;3\n", ("a", "b;c")),
        ("a|b|c\nx,y|1|2\n", ("a", "b", "c")),
        ("a\tb\n1\t2, 3\n", ("a", "b")),
        ("only\n1\n", ("only",)),
    ],
)
def test_the_delimiter_is_the_one_that_cuts_the_rows_evenly(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert read_sheet(tmp_path / "t.csv").names == names


def workbook(path: Path, *sheets: list[list[Any]]) -> Path:
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets, 1):
        sheet = book.create_sheet(f"s{number}")
        for at, row in enumerate(rows, 1):
            for column, cell in enumerate(row, 1):
                sheet.cell(at, column, cell)
    book.save(path)
    return path


def test_a_workbook_reads_as_the_csv_of_its_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[None, None], ["id", "n ", "when"], ["007", 7, date(2026, 1, 2)], [None], ["x", 1.5, None]]
    path = workbook(tmp_path / "t.xlsx", [], rows, [["other"], [1]])
    (tmp_path / "t.xlsx.gz").write_bytes(gzip.compress(path.read_bytes()))
    stdin = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    for given_path in (path, tmp_path / "t.xlsx.gz", "-"):
        sheet = read_sheet(given_path)
        assert sheet.names == ("id", "n", "when")
        assert sheet.column("id").values == ("007", "x")
        assert sheet.column("n").values == ("7", "1.5")
        assert sheet.column("when").values == ("2026-01-02", "")
        assert sheet.notes == ("the sheet 's2' is read, not 's3'",)


def test_a_file_that_is_called_another_kind_is_read_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").write_text("id;text\n1;a\n")
    workbook(tmp_path / "t.xlsx.csv", [["id", "text"], [1, "a"]])
    for name, told in (
        ("t.xlsx", "is called .xlsx and holds csv: it is read as that"),
        ("t.xlsx.csv", "is called .csv and holds xlsx: it is read as that"),
    ):
        sheet = read_sheet(tmp_path / name)
        assert sheet.column("text").values == ("a",)
        assert sheet.notes == (told,)


def test_a_workbook_that_is_empty_or_wider_than_its_header_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is empty"):
        read_sheet(workbook(tmp_path / "t.xlsx", []))
    with pytest.raises(InputError, match="row 1: has a cell to the right of the header's 1 columns"):
        read_sheet(workbook(tmp_path / "t.xlsx", [["id"], [1, 2]]))
    with pytest.raises(InputError, match="there are no rows"):
        read_sheet(workbook(tmp_path / "t.xlsx", [["id"]]))


@pytest.mark.parametrize(
    "type_", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_parquet_text_of_every_library(tmp_path: Path, type_: pa.DataType) -> None:
    folder = tmp_path / "year=2026"  # not a column of the file
    folder.mkdir()
    pq.write_table(pa.table({"text": pa.array(["a", None, "a"]).cast(type_)}), folder / "t.parquet")
    sheet = read_sheet(folder / "t.parquet")
    assert sheet.names == ("text",)
    assert sheet.column("text").values == ("a", None)
    assert sheet.column("text").codes.tolist() == [0, 1, 0]


@pytest.mark.parametrize(("column", "said"), [([[1]], "list<"), ([{"a": 1}], "struct<")])
def test_parquet_of_lists_is_refused(tmp_path: Path, column: list[Any], said: str) -> None:
    pq.write_table(pa.table({"id": column}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=f"field 'id': must be text or numbers, not {said}"):
        read_sheet(tmp_path / "t.parquet").column("id")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.json", "t.csv.gz", "t.parquet"])
def test_standard_input_tells_its_kind_by_its_content(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "t.parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / name)
        raw = (tmp_path / name).read_bytes()
    else:
        raw = FILES[name.removesuffix(".gz")].encode()
        raw = gzip.compress(raw) if name.endswith(".gz") else raw
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    assert cells("-") == ROWS


@settings(deadline=None)
@given(st.lists(st.tuples(st.text("ab,\"\n\r;\t 7'é", max_size=4), st.text('x,"\n', max_size=3)), min_size=1))
def test_what_a_csv_writer_writes_comes_back(rows: list[tuple[str, str]]) -> None:
    import csv

    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerows([FIELDS, *rows])
    assert [tuple(row.cells.values()) for row in pasted_sheet(out.getvalue()).records(FIELDS)] == rows


@settings(deadline=None, max_examples=500)
@given(st.text('ab,"\n', max_size=12))
def test_quotes_are_taken_as_a_strict_csv_reader_takes_them(body: str) -> None:
    import csv

    try:
        strict = list(csv.reader(io.StringIO(f"id,text\n{body}", newline=""), strict=True))
    except csv.Error:
        strict = None
    try:
        found: list[Any] | None = [list(row.cells.values()) for row in pasted_sheet(f"id,text\n{body}").records(FIELDS)]
    except InputError as error:
        found = None
        if "quote" in str(error) or "not CSV" in str(error):
            assert strict is None
    if strict is None:
        assert found is None
    elif found is not None:
        assert found == [row for row in strict[1:] if row]


def test_rows_are_numbered_beyond_one_block(tmp_path: Path) -> None:
    line = "p,x,y,r,1\n"
    many = (1 << 24) // len(line) + 10
    (tmp_path / "r.csv").write_text("prompt,a,b,rater,score\n" + line * many + "p,x,y,r\n")
    with pytest.raises(InputError, match=f"row {many + 1}: has 4 cells, the header has 5"):
        read_sheet(tmp_path / "r.csv")


def test_large_columns_are_codes_without_a_python_object_a_row(tmp_path: Path) -> None:
    ids = np.arange(50_000) % 7
    (tmp_path / "r.csv").write_text("id,text\n" + "".join(f"{i},t\n" for i in ids))
    column = read_sheet(tmp_path / "r.csv").column("id")
    assert column.codes.dtype == np.int64
    assert np.array_equal(np.array(column.values).astype(int)[column.codes], ids)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "id,text\n1,a,b\n", "row 1: has 3 cells, the header has 2"),
        ("t.csv", "id,text\n1,a\n\n2\n", "row 2: has 1 cells, the header has 2"),
        ("t.csv", 'id,text\n1,a\n2,"a\n', "row 2: a quote is opened and not closed"),
        ("t.csv", 'id,text\n1,a\n2,"a"b\n3,c\n', "row 2: is not CSV"),
        ("t.csv", 'id,"text\n1,a\n', "a quote is opened and not closed"),
        ("t.csv", "id,text\n1,a\n,b\n", "row 2, field 'id': is blank"),
        ("t.csv", "id,text\n1,a\n  ,b\n", "row 2, field 'id': is blank"),
        ("t.csv", "text\na\n", "field 'id': there is no column id; there are text"),
        ("t.csv", "id,txet\n1,a\n", "row 1: unknown field 'txet'. Did you mean 'text'"),
        ("t.csv", "id, id\n1,a\n", "field 'id': there are two columns"),
        ("t.csv", "id,\n1,a\n", "column 2 has no name"),
        ("t.csv", "id,text\n1,a\n2,b\0\n", "row 2: holds a NUL byte"),
        ("t.csv", "", "is empty"),
        ("t.csv", "\ufeff\n", "is empty"),
        ("t.csv", "id,text\n", "there are no rows"),
        ("t.jsonl", '{"id": 1\n', "row 1: is not JSON"),
        ("t.jsonl", '{"id": 1}\n{"id": 1, "id": 2}\n', "row 2: the field 'id' is there twice"),
        ("t.jsonl", '{"id": 1}\n\n[1]\n', "row 2: must be a mapping .* not a list"),
        ("t.jsonl", '{"id": 1}\n{"text": "a"}\n', "row 2, field 'id': is blank"),
        ("t.jsonl", '{"id": 1}\n{"id": 1, "txet": 2}\n', "row 2: unknown field 'txet'"),
        ("t.jsonl", '{"id": 1}\n{"id": ' + "7" * 5000 + "}\n", "row 2: cannot be read as JSON"),
        ("t.jsonl", '{"": 1}\n', "row 1: a field is named ''"),
        ("t.json", '{"id": 1}', "must hold a list"),
        ("t.json", "[1]", "row 1: must be a mapping"),
        ("t.json", "[" * 100_000, "cannot be read as JSON"),
        ("t.json", "[]", "there are no rows"),
        ("t.yaml", "- a: [", "cannot be read as YAML"),
        ("t.yaml", "- id: 1\n  id: 2\n", "the field 'id' is there twice"),
        ("t.yaml", "- id: 2026-13-45\n", "cannot be read as YAML"),
        ("t.yaml", "- 1: 2\n", "row 1: a field is named 1"),
        ("t.yaml", "- [1]: 2\n", "cannot be read as YAML"),
        ("t.parquet", "PAR1", "cannot be read as parquet"),
        ("t.xlsx", "", "cannot be read as a workbook"),
        ("t.xlsx", "PK\x03\x04", "cannot be read as a workbook"),
        (
            "t.sav",
            "",
            r"cannot read files that end in '.sav'; use .csv, .tsv, .jsonl, .*\.parquet, \.xlsx, .*with \.gz",
        ),
        ("t", "", "is empty"),
        ("t.gz", "x", "cannot be read as gzip"),
        ("t.parquet.gz", "x", "cannot be read as gzip"),
        ("t.csv.gz", "id,text\n", "cannot be read as gzip"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises((InputError, UnknownNameError), match=message) as caught:
        read_sheet(tmp_path / name).records(FIELDS, required=("id",))
    assert str(caught.value).startswith(str(tmp_path / name))
    assert "\n" not in str(caught.value)


def test_damaged_gzip_is_refused_wherever_it_is_damaged(tmp_path: Path) -> None:
    whole = gzip.compress(b"id,text\n" + b"1,a\n" * 1000)
    for at in range(2, len(whole)):
        for raw in (whole[:at], whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]):
            (tmp_path / "t.csv.gz").write_bytes(raw)
            try:
                assert read_sheet(tmp_path / "t.csv.gz").rows == 1000  # a changed time stamp or name harms nothing
            except InputError as error:
                assert "cannot be read as gzip" in str(error)  # noqa: PT017


def test_files_that_are_not_there_folders_and_other_encodings(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_sheet(tmp_path / "t.csv")
    with pytest.raises(InputError, match="no such file"):
        read_sheet(tmp_path / "t.csv.gz")
    with pytest.raises(InputError, match="is a folder, not a file"):
        read_sheet(tmp_path)
    (tmp_path / "t.csv").write_bytes("id,text\n1,caf\xe9\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"row 1: byte 0xe9 is not utf-8; save the file as UTF-8$"):
        read_sheet(tmp_path / "t.csv")
    with pytest.raises(InputError, match="--encoding latin-1"):
        read_sheet(tmp_path / "t.csv", "utf-8")
    (tmp_path / "t.csv").write_bytes("id,text\n1,café\n".encode("utf-16"))
    with pytest.raises(InputError, match="--encoding utf-16"):
        read_sheet(tmp_path / "t.csv", "utf-8")


def row(**values: Any) -> SheetRow:
    return SheetRow(path=Path("t.csv"), number=3, cells=values)


def test_cells_are_read_by_their_type() -> None:
    one = row(a=" x ", n=7, m="2.5", b="yes", l="a; b;", k=["a", "b"], blank=None)
    assert (one.text("a"), one.text("n"), one.text("blank"), one.text("none")) == ("x", "7", "", "")
    assert (one.real("m"), one.real("blank"), one.count("n"), one.count("none")) == (2.5, None, 7, None)
    assert (one.flag("b"), one.flag("blank")) == (True, False)
    assert one.texts("l") == one.texts("k") == one.texts_of("k", "letter", "abc") == ("a", "b")
    assert one.texts("blank") == ()


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", "1_0", "1,5", "x", True, float("nan"), [1], 10**400])
def test_what_is_no_finite_number_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        real(value)
    with pytest.raises(InputError, match=r"^t\.csv, row 3, field 'n': "):
        row(n=value).real("n")


@pytest.mark.parametrize(
    ("read", "value", "said"),
    [
        ("text", ["a"], "must be text, not a list"),
        ("texts", 3, "expected a list of texts"),
        ("texts", ["a", 3], "expected a list of texts"),
        ("count", 1.5, "1.5 is no whole number"),
        ("count", -1, "-1 is no whole number"),
        ("flag", "maybe", "'maybe' is neither true nor false"),
        ("flag", 2, "2 is neither true nor false"),
        ("real", "x" * 500, "…"),
    ],
)
def test_cells_of_another_type_name_their_place(read: str, value: Any, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        getattr(row(c=value), read)("c")
    assert str(caught.value).startswith("t.csv, row 3, field 'c': ")
    assert len(str(caught.value)) < 200


def test_unknown_names_have_a_suggestion_and_a_place() -> None:
    with pytest.raises(UnknownNameError, match=r"t\.csv, row 3, field 'k': unknown kind 'tarp'\. Did you mean 'trap'"):
        row(k="tarp").one_of("k", "kind", PairKind)
    with pytest.raises(UnknownNameError, match="unknown kind 'tarp'"):
        row(k="main;tarp").texts_of("k", "kind", PairKind)
    assert row().one_of("k", "kind", PairKind, PairKind.main) == "main"


def test_flags() -> None:
    assert [flag(value) for value in (True, "TRUE", " yes ", "1", 1, False, "no", 0)] == [True] * 5 + [False] * 3


def test_an_unknown_name_is_told_enum_members_by_their_value() -> None:
    message = str(UnknownNameError("kind", "tarp", list(PairKind)))
    assert message == "unknown kind 'tarp'. Did you mean 'trap'? Known: gold, main, repeat, train, trap."
