"""The export, from real databases: signs, pseudonyms, determinism, any text."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from vaeval_tasks.cli import main
from vaeval_tasks.collect.outgoing.codebook import COLUMNS, TABLES
from vaeval_tasks.collect.outgoing.export import Exported, Format, export
from vaeval_tasks.collect.outgoing.origin import EXPORTED
from vaeval_tasks.collect.people import identity
from vaeval_tasks.collect.people.anonymous import payload, without_addresses
from vaeval_tasks.collect.rules.alloc import claim
from vaeval_tasks.collect.rules.questions import asked, gates_of, question_ids, score
from vaeval_tasks.collect.rules.settings import Settings
from vaeval_tasks.collect.rules.standing import withdraw
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.store.database import Database, open_database
from vaeval_tasks.collect.store.importer import import_design
from vaeval_tasks.simulate.driver import drive, sounds_of
from vaeval_tasks.simulate.rater_preference import Preference
from vaeval_tasks.store.check import check
from vaeval_tasks.store.log import read_jsonl
from vaeval_tasks.store.records_csv import read_csv, whole_text
from vaeval_tasks.store.run import RECORDS, RunDir
from vaeval_tasks.store.schema import (
    CHECK_PREFIX,
    CheckOutcome,
    Comment,
    Pair,
    PairKind,
    Rating,
    ResponseStatus,
    StudyKind,
)
from vaeval_tasks.store.tables import arrow_schema

T0 = 1_790_000_000_000
PANEL = "5f2d8c1e9b7a4d3c2e1f0a9b"  # as Prolific writes its ids
MAIL = "jo.doe+study@example.org"


class Collection:
    """A run and its database, into which answers go as the app puts them."""

    def __init__(self, run: RunDir, study: StudyKind = StudyKind.cmos, db: str = "") -> None:
        self.run, self.study = run, study
        self.db: Database = open_database(db or run.root / "ratings.sqlite")
        self.settings: Settings = import_design(run, self.db, study, {"check_every": 4}, now=T0).settings
        self.now = T0

    def rater(self, name: str, kind: str = "human") -> str:
        rater_id = identity.new_rater(self.db, "prolific", name, now=T0, retention_days=30, kind=kind)
        identity.enrol(self.db, self.study, rater_id, now=T0)
        identity.describe_person(self.db, rater_id, gender="woman", age=41)
        return rater_id

    def answer(self, rater_id: str, click: Callable[[sa.Row[Any]], int], comment: str = "", seconds: int = 40) -> bool:
        """Take the next task and answer it: ``click`` gives the step for each question. False where none is left."""
        self.now += 1000
        lease = claim(self.db, self.settings, rater_id, now=self.now)
        if lease is None:
            return False
        begun, self.now = self.now, self.now + 1000 * (20 + seconds)
        table = store.assignments
        with self.db.write() as connection:
            join = sa.and_(store.tasks.c.task_id == table.c.task_id, store.tasks.c.study == table.c.study)
            query = sa.select(table, store.tasks.c.gates, store.tasks.c.a, store.tasks.c.b, store.tasks.c.prompt_id)
            mine = table.c.assignment_id == lease.assignment_id
            row = connection.execute(query.join_from(table, store.tasks, join).where(mine)).one()
            ids = question_ids(connection, self.study)
            for place, key in enumerate(asked(gates_of(row.gates), "last")):
                step = click(row)
                value = score(self.study, step, left_is_a=row.left_is_a)
                about = {"question_id": ids[key], "position": step, "asked": place, "ms": 2000, "score": value}
                connection.execute(
                    sa.insert(store.ratings).values(assignment_id=row.assignment_id, rubric=key, **about)
                )
            done = {"state": "done", "listened": begun + 20_000, "finished": self.now}
            connection.execute(sa.update(table).where(mine).values(**done))
            if comment:
                connection.execute(sa.insert(store.comments).values(assignment_id=row.assignment_id, text=comment))
        return True

    def export(self, *formats: Format, demographics: bool = False) -> Exported:
        return export(self.run, self.db, formats=formats, demographics=demographics)


def likes_first(row: sa.Row[Any]) -> int:
    """Prefer the configuration that comes first in the alphabet, by two steps, wherever it is shown."""
    return 1 if row.left_is_a else 5


def designed(run: RunDir) -> RunDir:
    run.path("pairs").unlink()
    main(["pair", str(run.root), "--checks-every", "3", "--training", "1"])
    return run


@pytest.fixture
def collection(run_of: Callable[..., RunDir]) -> Any:
    made: list[Collection] = []

    def make(study: StudyKind = StudyKind.cmos, **options: Any) -> Collection:
        made.append(Collection(designed(run_of(**options)), study))
        return made[-1]

    yield make
    for one in made:
        one.db.close()


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory, make_run: Callable[..., RunDir]) -> Path:
    """Two raters who answered all they could get, with comments that tell too much, and events; not open."""
    run = designed(make_run(tmp_path_factory.mktemp("answered") / "run", prompts=4, configs=3))
    one = Collection(run)
    rng = random.Random(0)
    for name in (PANEL, "6a3d8c1e9b7a4d3c2e1f0a9c"):
        rater_id = one.rater(name)
        texts = iter([f"write to {MAIL}", "=SUM(1)", "call +1 (555) 010-9999 or 192.168.0.17", f"I am {name}"])
        while one.answer(rater_id, lambda row: rng.randrange(7), comment=next(texts, "")):
            pass
    with one.db.write() as connection:
        events = [
            {"seq": -1, "kind": "late_submit", "payload": json.dumps({"body": MAIL}), "client_time": T0 + 9000},
            {
                "seq": 7000,
                "kind": "play",
                "payload": json.dumps({"part": "left", "n": 1, "ua": MAIL}),
                "client_time": T0,
            },
        ]
        for n, event in enumerate(events):
            values = {"assignment_id": 1, "server_time": T0 + 9000 * (1 - n), **event}
            connection.execute(sa.insert(store.events).values(**values))
    one.db.close()
    return run.root


@pytest.fixture
def collected(answered: Path, tmp_path: Path) -> Any:
    """A copy of the answered collection."""
    shutil.copytree(answered, tmp_path / "run")
    one = Collection(RunDir(tmp_path / "run"))
    yield one
    one.db.close()


def files(run: RunDir) -> dict[str, bytes]:
    names = [run.path(name) for name in TABLES if run.has(name)]
    return {p.name: p.read_bytes() for p in [*names, *sorted((run.root / "export").iterdir())]}


def test_every_answer_is_exported_with_the_sign_of_its_pair(collection: Callable[..., Collection]) -> None:
    one = collection(prompts=4, configs=3)
    rater = one.rater("x")
    while one.answer(rater, likes_first):
        pass
    done = one.export()
    ratings: list[Rating] = one.run.read("ratings")
    with one.db.read() as connection:
        assert len(ratings) == connection.execute(sa.select(sa.func.count()).select_from(store.ratings)).scalar()
    assert done.rows["ratings"] == len(ratings)
    assert {r.score for r in ratings} == {2}  # a is preferred by two steps on either side
    assert {r.left_is_a for r in ratings} == {True, False}
    assert all(r.a < r.b for r in ratings if r.kind is not PairKind.trap)
    pairs = {p.pair_id: p for p in one.run.read("pairs")}
    kinds = Counter(pairs[a.pair_id].kind for a in one.run.read("assignments"))
    assert kinds[PairKind.main] == 8  # 4 prompts x 2 pairs, the other slot is for somebody else
    assert kinds[PairKind.train] == 1
    assert not any(r.use for r in ratings if r.kind is PairKind.train)


def test_the_exported_side_is_the_side_on_which_the_rater_heard_it(collection: Callable[..., Collection]) -> None:
    one = collection(prompts=4, configs=3)
    rater = one.rater("x")
    while one.answer(rater, lambda _row: 0):  # the leftmost answer: the clip on the left is much better
        pass
    one.export()
    links, clips = store.clip_links.c, store.clips.c
    query = sa.select(links.assignment_id, clips.config_id).join_from(
        store.clip_links, store.clips, links.clip_id == clips.clip_id
    )
    with one.db.read() as connection:
        left = {
            f"a{row.assignment_id:07d}": row.config_id for row in connection.execute(query.where(links.part == "left"))
        }
    ratings: list[Rating] = one.run.read("ratings")
    assert {r.left_is_a for r in ratings if r.kind is PairKind.main} == {True, False}
    for r in ratings:
        assert left[r.assignment_id] == (r.a if r.left_is_a else r.b)
        assert r.score == (3 if left[r.assignment_id] == r.a else -3)
    sides = {a.assignment_id: a.left_is_a for a in one.run.read("assignments")}
    assert all(sides[r.assignment_id] is r.left_is_a for r in ratings)


def test_the_same_data_give_the_same_bytes_and_the_checksums_hold(collected: Collection) -> None:
    collected.export(Format.csv, Format.jsonl)
    first = files(collected.run)
    assert set(first) == {
        *(f"{t}.{form}" for t in TABLES if t != "mos" for form in ("parquet", "csv", "jsonl")),
        "codebook.md",
        "SHA256SUMS",
    }
    collected.db.close()
    with open_database_again(collected.run) as again:
        export(collected.run, again, formats=[Format.csv, Format.jsonl])
    assert files(collected.run) == first
    folder = collected.run.root / "export"
    checked = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=folder, capture_output=True, text=True, check=True)
    assert checked.stdout.count(": OK") == 6 * 3 + 1
    assert collected.run.stale() == []
    tables = collected.run.manifest()["tables"]
    assert tables["ratings"]["rules_version"] == "1"


class open_database_again:  # noqa: N801
    def __init__(self, run: RunDir) -> None:
        self.db = open_database(run.root / "ratings.sqlite")

    def __enter__(self) -> Database:
        return self.db

    def __exit__(self, *_: object) -> None:
        self.db.close()


def test_csv_jsonl_and_parquet_hold_the_same(collected: Collection) -> None:
    collected.export(Format.csv, Format.jsonl)
    for name in TABLES:
        if collected.run.has(name):
            rows = collected.run.read(name)
            folder = collected.run.root / "export"
            assert read_csv(folder / f"{name}.csv", RECORDS[name]) == rows
            assert list(read_jsonl(folder / f"{name}.jsonl", RECORDS[name])) == rows
    assert b"'=SUM(1)" in files(collected.run)["comments.csv"]
    assert b'"=SUM(1)"' in files(collected.run)["comments.jsonl"]


def test_nothing_exported_says_who_the_raters_are(collected: Collection) -> None:
    collected.export(Format.csv, Format.jsonl)
    with collected.db.read() as connection:
        known = [r.rater_id for r in connection.execute(sa.select(store.raters))]
        hashes = [r.identity_hash for r in connection.execute(sa.select(store.raters))]
        tokens = [r.token for r in connection.execute(sa.select(store.assignments))]
    secrets = [identity.key(collected.db, name) for name in ("export", "identity", "session")]
    told = [
        PANEL,
        "6a3d8c1e9b7a4d3c2e1f0a9c",
        MAIL,
        "010-9999",
        "192.168.0",
        "woman",
        *known,
        *hashes,
        *tokens,
        *secrets,
    ]
    told.append(collected.settings.completion_code or "no code")
    for name, data in files(collected.run).items():
        text = str(RunDir(collected.run.root).read(name.split(".")[0])) if name.endswith("parquet") else data.decode()
        for secret in told:
            assert secret not in text, (name, secret)
    assert "[removed]" in files(collected.run)["comments.csv"].decode()
    ids = {r.rater_id for r in collected.run.read("raters")}
    assert len(ids) == 2
    assert ids == {r.rater_id for r in collected.run.read("ratings")}
    (played, late) = [e for e in collected.run.read("events") if e.assignment_id == "a0000001"]
    assert (played.kind, played.seq, played.client_ms, played.payload) == ("play", 1, 0, {"n": 1, "part": "left"})
    assert (late.kind, late.seq, late.client_ms, late.payload) == ("late_submit", 2, 9000, {})


def test_demographics_come_only_when_asked_for(collected: Collection) -> None:
    collected.export()
    assert {(r.gender, r.age) for r in collected.run.read("raters")} == {("", None)}
    collected.export(demographics=True)
    assert {(r.gender, r.age) for r in collected.run.read("raters")} == {("woman", 41)}


def test_pseudonyms_stay_within_a_collection_and_differ_between_two(collection: Callable[..., Collection]) -> None:
    names = []
    for folder in ("one", "two"):
        one = collection(name=folder, prompts=3, configs=3)
        one.answer(one.rater("the same person"), likes_first)
        one.export()
        names.append(one.run.read("raters")[0].rater_id)
    assert names[0] != names[1]


def test_the_codebook_explains_every_column(collected: Collection) -> None:
    assert set(COLUMNS) == set(TABLES)
    for name, columns in COLUMNS.items():
        assert list(columns) == arrow_schema(RECORDS[name]).names
    collected.export()
    book = (collected.run.root / "export" / "codebook.md").read_text()
    assert "| cmos | overall | 1 | Overall, which response do you prefer? |" in book
    assert "| trap_share | 0.5 |" in book
    assert "| coverage | 0.95 |" in book
    assert "completion_code" not in book


def test_corrections_count_and_the_withdrawn_stay_marked(collected: Collection) -> None:
    with collected.db.write() as connection:
        first = connection.execute(sa.select(store.ratings)).first()
        for score_ in (0, -1):
            values = {"assignment_id": first.assignment_id, "rubric": first.rubric, "made": T0, "reason": "slip"}
            connection.execute(sa.insert(store.rating_revisions).values(score=score_, **values))
        quitter = connection.execute(sa.select(store.raters.c.rater_id)).scalars().first()
    withdraw(collected.db, collected.settings, quitter, now=T0)
    before = collected.export().rows["ratings"]
    rows: list[Rating] = collected.run.read("ratings")
    corrected = [r for r in rows if r.assignment_id == f"a{first.assignment_id:07d}" and r.rubric == first.rubric]
    assert [r.score for r in corrected] == [-1]
    gone = {a.assignment_id for a in collected.run.read("assignments") if a.state == "withdrawn"}
    assert len(gone) > 8
    assert not any(r.use for r in rows if r.assignment_id in gone)
    with collected.db.read() as connection:
        assert before == connection.execute(sa.select(sa.func.count()).select_from(store.ratings)).scalar()


def test_raters_carry_their_reasons(collection: Callable[..., Collection]) -> None:
    one = collection(prompts=6, configs=3)
    good, bad = one.rater("good"), one.rater("bad")
    rng = random.Random(1)

    def fair(row: sa.Row[Any]) -> int:
        if row.kind == "trap":
            return 3
        if row.kind == "gold":
            return 6 if row.a.startswith("check/") == row.left_is_a else 0
        return rng.randrange(7)

    while one.answer(good, fair):
        pass
    while one.answer(bad, lambda row: 0, seconds=3):
        pass
    check = {"study": StudyKind.cmos, "name": "prolific", "made": T0, "detail": "time-out"}
    with one.db.write() as connection:
        connection.execute(sa.insert(store.checks).values(rater_id=good, outcome=CheckOutcome.unknown, **check))
    done = one.export()
    assert (done.raters, done.accepted, done.used) == (2, 1, 1)
    by_use = {r.use: r for r in one.run.read("raters")}
    assert by_use[True].reasons == ()
    assert set(by_use[False].reasons) >= {"cmos:traps", "cmos:straight_lining", "cmos:speed", "cmos:sides"}
    assert {r.rater_id for r in one.run.read("ratings") if r.use} == {by_use[True].rater_id}
    checks = one.run.read("quality")
    unknown = next(c for c in checks if c.rule == "prolific")
    assert (unknown.outcome, unknown.detail) == ("unknown", "time-out")
    assert {c.assignment_id for c in checks if c.rule == "fast"} >= {
        a.assignment_id for a in one.run.read("assignments") if a.rater_id == by_use[False].rater_id
    } - {c.assignment_id for c in checks if c.rule == "training"}


def test_a_mos_study_fills_its_own_table(
    collection: Callable[..., Collection], capsys: pytest.CaptureFixture[str]
) -> None:
    one = collection(StudyKind.mos, prompts=3, configs=3)
    rater = one.rater("x")
    while one.answer(rater, lambda row: 4, comment="fine"):
        pass
    one.db.close()
    capsys.readouterr()
    main(["export", str(one.run.root), "--json", "--format", "csv"])
    done = json.loads(capsys.readouterr().out)
    assert "ratings" not in done["rows"]
    mos = one.run.read("mos")
    assert {m.score for m in mos} == {5}
    assert done["rows"]["mos"] == len(mos)
    assert not any(m.use for m in mos if m.config_id.startswith("check/"))
    assert {c.other_config_id for c in one.run.read("comments")} == {""}
    assert one.run.read("raters")[0].pools == ("mos",)
    assert check(one.run) == []


def test_postgresql_gives_the_same_export_as_sqlite(run_of: Callable[..., RunDir], postgres: str) -> None:
    run = designed(run_of(prompts=3, configs=3))
    told = {}
    for db in ("", postgres):
        one = Collection(run, db=db)
        rater = one.rater("x")
        for n in range(5):
            one.answer(rater, lambda row: (len(row.prompt_id) + row.left_is_a) % 7, comment=f"- {n} שלום")
        one.db.close()
        main(["export", str(run.root), "--format", "csv", *(["--db", db] if db else [])])
        rows = [run.read(name) for name in ("ratings", "comments", "assignments")]
        told[db] = [replace(r, rater_id="x") for table in rows for r in table]
        for name in EXPORTED:  # what one collection gave is not replaced by another's
            run.path(name).unlink(missing_ok=True)
    assert told[""] == told[postgres]
    assert len(told[""]) > 50


TEXTS = st.text() | st.text(st.sampled_from(list("=+-@'\",;\r\n\t🎧שa\u202e")))


@pytest.fixture(scope="module")
def text_run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An empty run with its migrated database, for many small exports."""
    run = RunDir(tmp_path_factory.mktemp("texts"))
    database = open_database(run.root / "ratings.sqlite")
    yield run, database
    database.close()


@settings(deadline=None, max_examples=12)
@given(texts=st.lists(TEXTS, min_size=1, max_size=6))
@example(texts=["a\x00b", "=1", "'=1", 'a,"b"\r\nc', "🎧", "שלום"])
def test_any_comment_comes_out_of_every_format(texts: list[str], text_run: tuple[RunDir, Database]) -> None:
    run, database = text_run
    stored = [whole_text(t) for t in texts if t.strip()]
    assume(stored)
    fill(database, stored)
    with database.read() as connection:
        tasks = connection.execute(sa.select(store.tasks)).all()
    run.write("pairs", [Pair(pair_id=t.task_id, prompt_id=t.prompt_id, a="a", b="b") for t in tasks], made_by="test")
    for name in EXPORTED:  # an export never replaces a table by a smaller one
        run.path(name).unlink(missing_ok=True)
    export(run, database, formats=list(Format))
    wanted = [without_addresses(t) for t in stored]
    got: list[Comment] = run.read("comments")
    assert [c.text for c in got] == wanted
    assert read_csv(run.root / "export/comments.csv", Comment) == got
    assert list(read_jsonl(run.root / "export/comments.jsonl", Comment)) == got


def fill(database: Database, texts: list[str]) -> None:
    """Put comments, each on an assignment of its own, in place of what the database holds."""
    with database.write() as connection:
        for table in (store.comments, store.assignments, store.tasks, store.studies, store.raters):
            connection.execute(sa.delete(table))
        rater = {"rater_id": "r1", "identity_hash": "h", "source": "link", "kind": "human", "created": 0}
        connection.execute(sa.insert(store.raters).values(**rater))
        study = {"study": "cmos", "settings": "{}", "design_sha256": "", "created": 0}
        connection.execute(sa.insert(store.studies).values(**study))
        for n, text in enumerate(texts, 1):
            task = {
                "a": "a",
                "b": "b",
                "kind": "main",
                "wave": 1,
                "slots": 1,
                "left_is_a": True,
                "stratum": "",
                "gates": "[]",
            }
            connection.execute(
                sa.insert(store.tasks).values(study="cmos", task_id=f"t{n}", prompt_id="p", shuffle=n, **task)
            )
            given_ = {
                "token": f"k{n}",
                "study": "cmos",
                "task_id": f"t{n}",
                "kind": "main",
                "rater_id": "r1",
                "slot": 0,
            }
            connection.execute(
                sa.insert(store.assignments).values(
                    assignment_id=n, left_is_a=True, state="done", lease_until=0, started=0, **given_
                )
            )
            connection.execute(sa.insert(store.comments).values(assignment_id=n, text=text))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("mail me: a.b@c.org!", "mail me: [removed]!"),
        ("see https://x.org/y?z and www.a.de", "see [removed] and [removed]"),
        ("10.0.0.1 and fe80:0:0:0:1", "[removed] and [removed]"),
        (f"id {PANEL}", "id [removed]"),
        ("call 030 123 45 67", "call [removed]"),
        ("ask @jodoe_1", "ask [removed]"),
        ("A was 3 times better, 10/10 at 9:30", "A was 3 times better, 10/10 at 9:30"),
        ("loud @ the end", "loud @ the end"),
    ],
)
def test_addresses_are_taken_out_of_texts(text: str, left: str) -> None:
    assert without_addresses(text) == left


def test_only_known_keys_of_an_event_are_told() -> None:
    sent = {"part": "left", "n": 2, "to": 1.5, "muted": True, "reason": f"by {MAIL}", "ip": "1.2.3.4", "rate": "x"}
    assert payload(json.dumps(sent)) == {"part": "left", "n": 2, "to": 1.5, "muted": True, "reason": "by [removed]"}


def test_without_a_collection_the_next_step_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["export", str(tmp_path)])
    assert "run vaeval serve" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_simulated_raters_know_the_checks_and_pass_them_over_http(
    run_of: Callable[..., RunDir], serve: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run = designed(run_of(prompts=5, configs=3))
    systems = sorted({r.config_id for r in run.responses() if not r.config_id.startswith(CHECK_PREFIX)})
    strengths = {config: 1000.0 + 400 * n for n, config in enumerate(systems)}
    with serve(run, simulated=True, dwell=0.0, check_every=2) as served:
        outcomes = drive(served.url, Preference(strengths=strengths), sounds_of(run), raters=2, seed=1)
        done = export(run, served.db)
    assert all(o.code for o in outcomes)
    assert (done.raters, done.accepted, done.used) == (2, 2, 2)
    checks = {(c.rule, c.outcome) for c in run.read("quality") if not c.assignment_id}
    assert ("traps", "pass") in checks
    assert ("traps", "fail") not in checks
    assert {r.kind for r in run.read("raters")} == {"simulated"}
    gold = [r for r in run.read("ratings") if r.kind is PairKind.gold and r.rubric == "overall"]
    assert gold
    assert all((r.score > 1) == r.b.startswith("check/") for r in gold)
    assert check(run) == []


def test_a_failed_answer_with_sound_is_rated_like_any_other(collection: Callable[..., Collection]) -> None:
    one = collection(prompts=3, configs=3)
    run = one.run
    long = next(r for r in run.responses() if not r.config_id.startswith(CHECK_PREFIX))
    run.append_response(replace(long, status=ResponseStatus.degenerate, error="the audio runs to 300 s"))
    imported = import_design(run, one.db, StudyKind.cmos, {}, now=T0)
    assert imported.excluded == ()
