"""Verbs of the collection on runs whose ratings came from elsewhere: one line, and nothing is made or changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.cli import main
from vaeval_tasks.collect.outgoing.export import export
from vaeval_tasks.collect.store.database import open_database
from vaeval_tasks.errors import InputError, RunBusyError
from vaeval_tasks.simulate import Shape, simulate, write_study
from vaeval_tasks.store.check import check
from vaeval_tasks.store.lock import Writer, writing
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Rater, Rating

VERBS = (("export",), ("links",), ("backup",), ("rater", "delete"), ("serve",))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    shape = Shape(prompts=4, raters=4, mos_raters=4)
    return write_study(simulate(shape, seed=1), tmp_path_factory.mktemp("simulated") / "run")


def bytes_of(root: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(root)): p.read_bytes()
        for p in sorted(root.rglob("*"))
        if p.is_file() and ".locks" not in p.parts
    }


def refused(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in args])
    err = capsys.readouterr().err
    assert ended.value.code == 1, err
    assert err.count("\n") == 1, err
    return err


def call(verb: tuple[str, ...], root: Path, *more: object) -> list[object]:
    return [*verb, root, *(["r1"] if verb[0] == "rater" else []), *more]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_simulated_ratings_are_left_alone(
    simulated: RunDir, tmp_path: Path, verb: tuple[str, ...], elsewhere: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    before = bytes_of(simulated.root)
    more = ["--db", tmp_path / "other.sqlite"] if elsewhere else []
    said = refused(capsys, *call(verb, simulated.root, *more))
    assert "were made by vaeval simulate, not collected by the rating app" in said
    assert bytes_of(simulated.root) == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_ratings_that_somebody_put_there_are_left_alone(
    run_of: Callable[..., RunDir], verb: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(prompts=1, configs=2)
    rating = Rating(prompt_id="p000", a="a", b="b", rater_id="r", rubric="overall", score=1)
    run.write("ratings", [rating], made_by="an import")
    (run.root / "run.json").unlink()
    before = bytes_of(run.root)
    assert "something that run.json does not name" in refused(capsys, *call(verb, run.root))
    assert bytes_of(run.root) == before


@pytest.mark.parametrize("verb", [("export",), ("backup",), ("rater", "delete")], ids=lambda verb: verb[0])
def test_without_a_collection_none_is_made(
    run_of: Callable[..., RunDir], tmp_path: Path, verb: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(prompts=1, configs=2)
    before = bytes_of(run.root)
    for more in ([], ["--db", tmp_path / "none.sqlite"]):
        assert "nothing was collected yet; run vaeval serve" in refused(capsys, *call(verb, run.root, *more))
    assert bytes_of(run.root) == before
    assert not (tmp_path / "none.sqlite").exists()


def test_links_want_pairs(run_of: Callable[..., RunDir], capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(prompts=1, configs=2)
    run.write("pairs", [], made_by="test")
    assert "there is nothing to rate yet" in refused(capsys, "links", run.root)
    run.path("pairs").unlink()
    assert "there is nothing to rate yet" in refused(capsys, "links", run.root)
    assert not (run.root / "ratings.sqlite").exists()


def test_an_empty_collection_is_not_exported(run_of: Callable[..., RunDir], capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(prompts=1, configs=2)
    main(["links", str(run.root)])
    assert "nothing was collected yet: no task was given out" in refused(capsys, "export", run.root)
    assert not run.has("ratings")
    assert not (run.root / "export").exists()


def test_an_export_replaces_only_what_the_same_collection_gave(run_of: Any, serve: Any, tmp_path: Path) -> None:
    run = run_of(prompts=2, configs=2)
    with serve(run, dwell=0.0) as study:
        rater = study.rater()
        rater.do(rater.task(), position=1)
        early = tmp_path / "early"
        early.mkdir()
        export(run, study.db)
        main(["backup", str(run.root)])
        for copy in (run.root / "backups").glob("*.sqlite"):
            shutil.copy(copy, early / ("ratings-private.sqlite" if "private" in copy.name else "ratings.sqlite"))
        rater.do(rater.task(), position=1)
        export(run, study.db)
        done = export(run, study.db)  # beside the server, and again
        assert check(run) == []
        before = bytes_of(run.root)
        older = open_database(early / "ratings.sqlite", make=False)
        with pytest.raises(InputError, match=r"assignments\.parquet: holds 2 tasks, the collection only 1"):
            export(run, older)
        older.close()
    other = run_of("other", prompts=2, configs=2)
    with serve(other, dwell=0.0) as study:
        rater = study.rater()
        for _ in range(2):
            rater.do(rater.task(), position=1)
        with pytest.raises(InputError, match=r"raters\.parquet: 1 of its 1 raters are not of this collection"):
            export(run, study.db)
        other.write("pairs", [replace(p, pair_id=f"{p.pair_id}x") for p in other.read("pairs")], made_by="test")
        with pytest.raises(InputError, match="rated pairs are not of this run's design"):
            export(other, study.db)
    after = bytes_of(run.root)
    assert {name: data for name, data in after.items() if "sqlite" not in name} == {
        name: data for name, data in before.items() if "sqlite" not in name
    }
    assert done.raters == 1


def test_a_second_export_is_told_of_the_first(run_of: Any, serve: Any) -> None:
    import threading

    run = run_of(prompts=1, configs=2)
    with serve(run, dwell=0.0) as study:
        rater = study.rater()
        rater.do(rater.task(), position=1)
        told: list[object] = []

        def second() -> None:
            try:
                told.append(export(run, study.db))
            except RunBusyError as error:
                told.append(str(error))

        with writing(run.root, Writer.export):
            thread = threading.Thread(target=second)
            thread.start()
            thread.join()
        assert "is writing here (export)" in str(told[0])
        assert not run.has("ratings")


DAMAGED = {
    "no database": b"this is a text file, and not a short one\n" * 100,
    "a cut header": b"SQLite format 3\0" + b"\xff" * 4000,
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_a_damaged_database_is_one_line_and_stays_as_it_is(
    run_of: Callable[..., RunDir], verb: tuple[str, ...], content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(prompts=1, configs=2)
    (run.root / "ratings.sqlite").write_bytes(content)
    before = bytes_of(run.root)
    said = refused(capsys, *call(verb, run.root))
    assert f"{run.root / 'ratings.sqlite'}: cannot be read as a rating database" in said
    assert "backups" in said
    assert bytes_of(run.root) == before


def test_another_programs_database_is_not_changed(
    run_of: Callable[..., RunDir], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import sqlite3

    path = tmp_path / "history.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE urls (id INTEGER)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    run = run_of(prompts=1, configs=2)
    for verb in VERBS:
        assert "it is another program's" in refused(capsys, *call(verb, run.root, "--db", path))
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.glob("history*")) == ["history.sqlite"]


def test_check_finds_every_dangling_reference(simulated: RunDir, tmp_path: Path) -> None:
    """Each table in turn names what does not exist; an empty table that is there knows nobody."""
    shutil.copytree(simulated.root, tmp_path / "run")
    run = RunDir(tmp_path / "run")
    assert check(run) == []
    kept = {name: run.read(name) for name in ("ratings", "mos", "comments", "raters", "pairs")}
    changes = [
        ("ratings", {"rater_id": "nobody"}, "ratings: 1 values of rater_id are not in raters (nobody)"),
        ("ratings", {"prompt_id": "none"}, "ratings: 1 values of prompt_id are not in prompts (none)"),
        ("ratings", {"b": "zzz"}, "ratings: 1 comparisons are not in pairs"),
        ("mos", {"rater_id": "nobody"}, "mos: 1 values of rater_id are not in raters (nobody)"),
        ("mos", {"config_id": "zzz"}, "mos: 1 values of config_id are not in configurations (zzz)"),
        (
            "comments",
            {"other_config_id": "zzz"},
            "comments: 1 values of other_config_id are not in configurations (zzz)",
        ),
        ("comments", {"rater_id": "nobody"}, "comments: 1 values of rater_id are not in raters (nobody)"),
        ("pairs", {"prompt_id": "none"}, "pairs: 1 values of prompt_id are not in prompts (none)"),
    ]
    configs = {c for p in kept["pairs"] for c in (p.a, p.b)}
    for table, change, said in changes:
        rows = kept[table]
        run.write(table, [replace(rows[0], **change), *rows[1:]], made_by="test")
        assert any(said in problem for problem in check(run, configs=configs)), (table, change)
        run.write(table, rows, made_by="test")
    run.write("raters", [], made_by="test")
    problems = check(run, configs=configs)
    assert any(p.startswith("ratings: ") and "rater_id are not in raters" in p for p in problems)
    run.write("raters", kept["raters"], made_by="test")
    run.write("pairs", [], made_by="test")
    assert any("comparisons are not in pairs" in p for p in check(run, configs=configs))
    run.write("pairs", kept["pairs"], made_by="test")
    run.write("judge_ratings", kept["ratings"][:1], made_by="test")
    run.write("judges", [Rater(rater_id="judge:x", kind="judge")], made_by="test")
    assert any("judge_ratings: 1 values of rater_id are not in judges" in p for p in check(run, configs=configs))
