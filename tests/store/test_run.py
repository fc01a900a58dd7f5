"""The run folder keeps what made each table and notices when a table has gone stale."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Item, Prompt, Response, ResponseStatus, Score

PROMPT = Prompt(prompt_id="p1", category="advice", difficulty="L1")
RESPONSE = Response(response_id="r1", prompt_id="p1", config_id="c", status=ResponseStatus.error)


def test_tables_and_manifest(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run")
    run.write("prompts", [PROMPT], made_by="vaeval prompts", seed=3)
    assert run.read("prompts") == [PROMPT]
    with pytest.raises(InputError, match=r"pairs\.parquet: no such file; make it with: vaeval pair"):
        run.read("pairs")
    entry = run.manifest()["tables"]["prompts"]
    assert (entry["rows"], entry["made_by"], entry["seed"]) == (1, "vaeval prompts", 3)
    run.note(data_revision="abc")
    assert run.manifest()["about"] == {"data_revision": "abc"}


def test_staleness_is_told(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    run.write("responses", [RESPONSE], made_by="vaeval generate")
    score = Score(response_id="r1", metric="m", value=None, signature="s")
    run.write("scores", [score], made_by="vaeval score", inputs=["responses"])
    assert run.stale() == []
    run.write("responses", [replace(RESPONSE, text="new")], made_by="vaeval generate")
    assert run.stale() == ["scores: made from responses that changed since; run vaeval score again"]
    run.path("scores").write_bytes(b"other")
    assert run.stale()[0].startswith("scores: the file was changed")
    run.path("scores").unlink()
    assert run.stale()[0] == "scores: the file is gone"


def test_the_last_attempt_of_a_response_counts(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    assert run.responses() == []
    run.write("responses", [RESPONSE], made_by="x")
    run.append_response(replace(RESPONSE, response_id="r0"))
    run.append_response(replace(RESPONSE, status=ResponseStatus.ok))
    assert [(r.response_id, r.status) for r in run.responses()] == [("r0", "error"), ("r1", "ok")]


def test_processes_of_one_run_have_their_own_logs(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    for rank, created in ((0, "2026-01-02"), (1, "2026-01-03"), (2, "2026-01-01")):
        run.append("responses", replace(RESPONSE, created=created, text=str(rank)), rank=rank)
        run.append("items", Item(item_id="i", task=f"t{rank}"), rank=rank)
    assert {p.name for p in tmp_path.iterdir()} >= {"responses.jsonl", "responses-1.jsonl", "items-2.jsonl"}
    assert [r.text for r in run.responses()] == ["1"], "the newest attempt counts, whoever made it"
    assert [i.task for i in run.items()] == ["t0", "t1", "t2"]


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such run folder"):
        RunDir.existing(tmp_path / "none")
    with pytest.raises(UnknownNameError, match="Did you mean 'ratings'"):
        RunDir(tmp_path).path("rating")
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read as JSON"):
        RunDir(tmp_path).manifest()
    (tmp_path / "run.json").write_text('{"schema_version": 99}')
    with pytest.raises(InputError, match="newer vaeval"):
        RunDir(tmp_path).manifest()


def test_an_arrow_table_is_written_as_its_records(tmp_path: Path) -> None:
    import pyarrow as pa

    from vaeval_tasks.store import tables
    from vaeval_tasks.store.schema import MosRating

    rows = [MosRating(prompt_id="p", config_id="c", rater_id=f"r{i}", rubric="overall", score=i) for i in (1, 5)]
    table = pa.Table.from_pylist([tables.to_row(row) for row in rows])
    run = RunDir(tmp_path)
    run.write("mos", table, made_by="test")
    assert run.read("mos") == rows
    assert run.manifest()["tables"]["mos"]["rows"] == 2
    with pytest.raises(ValueError, match=r"score|names"):
        run.write("mos", table.drop_columns(["score"]), made_by="test")
    assert run.read("mos") == rows
