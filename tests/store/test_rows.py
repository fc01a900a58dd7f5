"""Rows of files that people wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.store.rows import field_list, read_rows
from vaeval_tasks.store.schema import PairKind

FIELDS = ("id", "text")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", 'id,text\n1,"a, ""b""\nc"\n'),
        ("bom.csv", '\ufeffid,text\r\n1,"a, ""b""\nc"\r\n'),
        ("t.tsv", 'id\ttext\n1\t"a, ""b""\nc"\n'),
        ("t.jsonl", '{"id": "1", "text": "a, \\"b\\"\\nc"}\n\n'),
        ("t.json", '[{"id": "1", "text": "a, \\"b\\"\\nc"}]'),
        ("t.yaml", '- id: "1"\n  text: "a, \\"b\\"\\nc"\n'),
    ],
)
def test_every_format_gives_the_same_rows(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    assert read_rows(tmp_path / name, FIELDS, required=FIELDS) == [{"id": "1", "text": 'a, "b"\nc'}]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "id,text\n1,a,b\n", "row 1: has not the 2 fields"),
        ("t.csv", 'id,text\n1,"a\n', "is not CSV"),
        ("t.csv", "id,text\n1,a\n,b\n", "row 2, field 'id': the field is missing"),
        ("t.csv", "id,txet\n1,a\n", "row 1: unknown field 'txet'. Did you mean 'text'"),
        ("t.jsonl", '{"id": 1\n', "line 1 is not JSON"),
        ("t.jsonl", "[1]\n", "row 1: expected a mapping"),
        ("t.json", '{"id": 1}', "must hold a list"),
        ("t.yaml", "- a: [", "cannot be read as YAML"),
        ("t.xlsx", "", "unknown file ending '.xlsx'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises((InputError, UnknownNameError), match=message):
        read_rows(tmp_path / name, FIELDS, required=("id",))


def test_missing_and_latin1_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_rows(tmp_path / "t.csv", FIELDS, required=())
    (tmp_path / "t.csv").write_bytes("id,text\n1,caf\xe9\n".encode("latin-1"))
    with pytest.raises(InputError, match="is not UTF-8"):
        read_rows(tmp_path / "t.csv", FIELDS, required=())


def test_a_field_of_several_texts() -> None:
    where = {"path": "t.csv", "row": 1, "field": "gates"}
    assert field_list("a; b;", **where) == ("a", "b")  # type: ignore[arg-type]
    assert field_list(["a", "b"], **where) == ("a", "b")  # type: ignore[arg-type]
    assert field_list(None, **where) == field_list("", **where) == ()  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"t\.csv, row 1, field 'gates'"):
        field_list(3, **where)  # type: ignore[arg-type]


def test_an_unknown_name_is_told_enum_members_by_their_value() -> None:
    message = str(UnknownNameError("kind", "tarp", list(PairKind)))
    assert message == "unknown kind 'tarp'. Did you mean 'trap'? Known: gold, main, repeat, train, trap."
