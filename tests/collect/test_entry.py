"""Ways in and out: links, open entry, Prolific, simulated raters; consent, completion code, leaving."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from starlette.responses import JSONResponse

from vaeval_tasks.audio import read_audio
from vaeval_tasks.collect import watch
from vaeval_tasks.collect.beeps import BEEPS, beeps, count_for, record_check
from vaeval_tasks.collect.people import identity
from vaeval_tasks.collect.people.prolific import Prolific, verify
from vaeval_tasks.collect.server_clock import MINUTE, now_ms
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.web.app import create_app
from vaeval_tasks.errors import InputError
from vaeval_tasks.simulate.driver import TaskPage, count_beeps
from vaeval_tasks.store.schema import CheckOutcome

SHARED = httpx.create_ssl_context()
PARAMETERS = {"PROLIFIC_PID": "5f1a2b3c", "STUDY_ID": "s1", "SESSION_ID": "x1"}


def visitor(study: Any) -> httpx.Client:
    return httpx.Client(base_url=study.url, verify=SHARED, timeout=30)


def at(client: httpx.Client, path: str = "/study") -> str:
    """Where a rater who opens a page ends up."""
    return str(client.get(path, follow_redirects=True).url.path)


def test_the_steps_come_in_order_and_none_can_be_skipped(study: Any) -> None:
    client = visitor(study)
    assert client.get("/task").status_code == 401
    code = study.link()
    assert at(client, f"/join/{code}") == "/consent"
    for later in ("/task", "/sound-check", "/about-you", "/done", "/pause", "/withdrawn"):
        assert at(client, later) == "/consent", later
    page = TaskPage(client.get("/consent").text)
    client.post("/consent", data=page.fields)
    assert at(client) == "/about-you"
    assert at(client, "/task") == "/about-you"
    for age in ("17", "121", "abc", "-5", "41.5", "４１"):
        assert client.post("/about-you", data=page.fields | {"age": age}).status_code == 422, age
    assert client.post("/about-you", data=page.fields | {"age": "41", "gender": "x"}).status_code == 422
    client.post("/about-you", data=page.fields | {"age": " 41 ", "gender": "man"})
    assert at(client) == "/sound-check"
    page = TaskPage(client.get("/sound-check").text)
    sound = read_audio(client.get(f"/sound-check/{page.fields['nonce']}.wav").content)
    wrong = "2" if count_beeps(sound) != 2 else "3"
    client.post("/sound-check", data=page.fields | {"heard": wrong})
    assert at(client) == "/sound-check"
    client.post("/sound-check", data=page.fields | {"heard": str(count_beeps(sound))})
    assert at(client) == "/task"
    outcomes = study.rows(sa.select(store.checks.c.name, store.checks.c.outcome).order_by(store.checks.c.check_id))
    assert outcomes == [("sound", "fail"), ("sound", "pass")]
    other = visitor(study)
    assert at(other, f"/join/{code}") == "/task"  # another device, the same person


@pytest.mark.parametrize("count", BEEPS)
def test_the_beeps_can_be_counted(count: int) -> None:
    assert count_beeps(read_audio(beeps(count))) == count


def test_the_number_of_beeps_depends_on_key_rater_and_try() -> None:
    drawn = {count_for("key", "r1", str(n)) for n in range(50)}
    assert drawn == set(BEEPS)
    assert [count_for("key", "r1", str(n)) for n in range(50)] != [count_for("other", "r1", str(n)) for n in range(50)]


def test_two_browsers_are_two_raters(study: Any) -> None:
    one, two = study.rater(), study.rater()
    assert one.task().task["data-token"] != two.task().task["data-token"]
    assert len(study.rows(sa.select(store.raters))) == 2


def test_an_unknown_link_is_refused_kindly(study: Any) -> None:
    answer = visitor(study).get("/join/nobody")
    assert answer.status_code == 404
    assert "not known here" in answer.text
    assert visitor(study).get("/").status_code == 200
    assert visitor(study).post("/join").status_code == 403
    assert visitor(study).post("/simulated/join", data={"name": "x"}).status_code == 403
    assert visitor(study).get("/", params=PARAMETERS).status_code == 403
    assert visitor(study).post("/simulated/join").status_code == 422


def test_an_open_study_lets_anybody_in(run_of: Any, serve: Any) -> None:
    with serve(run_of(prompts=1, configs=2), open_entry=True) as study:
        client = visitor(study)
        assert "Take part" in client.get("/").text
        assert client.post("/join", follow_redirects=True).url.path == "/consent"
        assert study.rows(sa.select(store.raters.c.source, store.raters.c.kind)) == [("open", "human")]


def test_a_simulated_study_has_no_people(run_of: Any, serve: Any) -> None:
    with serve(run_of(prompts=1, configs=2), simulated=True, open_entry=True, prolific=True) as study:
        client = visitor(study)
        assert "Simulated study" in client.get("/").text
        assert client.post("/join").status_code == 403
        assert client.get("/", params=PARAMETERS).status_code == 403
        assert client.get(f"/join/{study.link()}").status_code == 404
        assert client.post("/simulated/join", data={"name": "s1"}).status_code == 200
        kinds = study.rows(sa.select(store.raters.c.kind).where(store.raters.c.source == "simulated"))
        assert kinds == [("simulated",)]


def test_prolific_participants_are_known_by_their_id_alone(run_of: Any, serve: Any) -> None:
    with serve(run_of(prompts=1, configs=2), prolific=True, completion_code="C0DE", dwell=0.0) as study:
        client = visitor(study)
        first = client.get("/", params=PARAMETERS)
        assert (first.status_code, first.headers["location"]) == (303, "/study")  # the id leaves the address bar
        visitor(study).get("/", params=PARAMETERS | {"SESSION_ID": "x2"})
        assert len(study.rows(sa.select(store.raters))) == 1
        visitor(study).get("/", params=PARAMETERS | {"PROLIFIC_PID": "another"})
        stored = study.rows(sa.select(store.raters))
        assert len(stored) == 2
        assert "5f1a2b3c" not in str(stored)
        for bad in ("x" * 200, "a\x00b", "a\nb"):
            assert client.get("/", params=PARAMETERS | {"PROLIFIC_PID": bad}).status_code == 422
        assert len(study.rows(sa.select(store.raters))) == 2


def test_the_code_comes_after_the_last_answer_and_stays(run_of: Any, serve: Any) -> None:
    with serve(run_of(prompts=1, configs=2), dwell=0.0, completion_code="C0DE", prolific=True) as study:
        rater = study.rater()
        assert "C0DE" not in rater.http.get("/done", follow_redirects=True).text
        assert rater.do(rater.task()).status_code == 200
        page = rater.task()
        assert page.code == "C0DE"
        assert "https://app.prolific.com/submissions/complete?cc=C0DE" in rater.http.get("/done").text
        again = type(rater)(study.url, rater.code)
        assert again.enter().code == "C0DE"  # on return, on another device


def test_nobody_new_is_admitted_without_a_task(run_of: Any, serve: Any) -> None:
    with serve(run_of(prompts=1, configs=2, slots=1), dwell=0.0, full_code="FULL", open_entry=True) as study:
        first = study.rater()
        first.task()
        late = visitor(study).post("/join")
        assert late.status_code == 409
        assert "FULL" in late.text
        assert len(study.rows(sa.select(store.raters))) == 1
        study.shift[0] = 31 * MINUTE  # the task was abandoned, but the lease is only ended by a claim
        assert first.do(first.task()).status_code == 200


def test_who_leaves_is_out_and_their_slots_are_open(study: Any) -> None:
    rater = study.rater()
    rater.do(rater.task())
    page = rater.task()
    csrf = {"csrf": page.task["data-csrf"]}
    assert rater.http.post("/withdraw", data=csrf, follow_redirects=True).url.path == "/withdrawn"
    assert at(rater.http, "/task") == "/withdrawn"
    assert rater.submit(page).status_code == 410
    assert {row[0] for row in study.rows(sa.select(store.tasks.c.taken))} == {0}
    assert len(study.rows(sa.select(store.ratings))) >= 9  # what was answered stays


def test_pausing_keeps_the_task(study: Any) -> None:
    rater = study.rater()
    page = rater.task()
    answer = rater.http.get("/pause")
    assert "30 minutes" in answer.text
    study.shift[0] = 20 * MINUTE
    assert rater.task().task["data-token"] == page.task["data-token"]


def test_a_break_is_offered_after_some_tasks(run_of: Any, serve: Any) -> None:
    with serve(run_of(prompts=2, configs=3), dwell=0.0, break_every=2) as study:
        rater = study.rater()
        rest = []
        for _ in range(5):
            html = rater.http.get("/task").text
            rest.append('id="rest"' in html)
            rater.do(TaskPage(html))
    assert rest == [False, False, True, False, True]


def test_personal_data_can_be_deleted_and_do_not_stay_for_ever(study: Any) -> None:
    rater = study.rater()
    rater.do(rater.task())
    rater_id = study.rows(sa.select(store.raters.c.rater_id))[0][0]
    identity.describe_person(study.db, rater_id, gender="man", age=33)
    ratings = study.rows(sa.select(store.ratings))
    identity.delete_person(study.db, rater_id)
    with study.db.people() as connection:
        assert connection.execute(sa.select(store.people)).all() == []
    assert study.rows(sa.select(store.ratings)) == ratings
    assert identity.find_by_identity(study.db, "link", rater.code) is None  # nor recognised again
    with pytest.raises(InputError, match="no personal data"):
        identity.delete_person(study.db, rater_id)
    old = identity.new_rater(study.db, "link", "old", now=now_ms() - 366 * 24 * 60 * MINUTE, retention_days=365)
    new = identity.new_rater(study.db, "link", "new", now=now_ms(), retention_days=365)
    assert identity.purge(study.db, now=now_ms()) == 1
    with study.db.people() as connection:
        assert connection.execute(sa.select(store.people.c.rater_id)).scalars().all() == [new]
    assert old in {row[0] for row in study.rows(sa.select(store.raters.c.rater_id))}


@pytest.fixture
def fake_prolific(serve_app: Any) -> Iterator[str]:
    """A local stand-in for Prolific's submissions API."""
    app = FastAPI()

    @app.get("/submissions/{session}/")
    def submission(session: str) -> JSONResponse:
        if session == "slow":
            time.sleep(1.0)
        if session == "broken":
            return JSONResponse({}, status_code=503)
        if session == "missing":
            return JSONResponse({}, status_code=404)
        return JSONResponse({"id": session, "participant_id": "5f1a2b3c", "status": "ACTIVE"})

    with serve_app(app) as url:
        yield url


@pytest.mark.parametrize(
    ("participant", "session", "outcome"),
    [
        ("5f1a2b3c", "x1", "pass"),
        ("somebody", "x1", "fail"),
        ("5f1a2b3c", "missing", "fail"),
        ("5f1a2b3c", "broken", "unknown"),
        ("5f1a2b3c", "slow", "unknown"),
    ],
)
def test_a_checker_that_fails_is_not_a_rater_that_fails(
    participant: str, session: str, outcome: str, fake_prolific: str
) -> None:
    asked = Prolific(token="t", api=fake_prolific, timeout=0.4)
    assert verify(asked, participant, session)[0] == outcome


def test_a_checker_that_is_not_there_is_unknown_and_admits(run_of: Any, serve: Any, serve_app: Any) -> None:
    with serve(run_of(prompts=1, configs=2), prolific=True) as study:
        dead = Prolific(token="t", api="http://127.0.0.1:9")
        with serve_app(create_app(replace(study.opened.context, prolific=dead))) as url:
            assert httpx.get(url, params=PARAMETERS, verify=SHARED).status_code == 303
        assert study.rows(sa.select(store.checks.c.name, store.checks.c.outcome)) == [("prolific", "unknown")]


def test_a_falling_pass_rate_raises_an_alarm(study: Any) -> None:
    rater_id = study.rater().code and study.rows(sa.select(store.raters.c.rater_id))[0][0]
    settings = study.opened.context.settings

    def record(outcome: CheckOutcome, times: int, now: int) -> None:
        with study.db.write() as connection:
            for _ in range(times):
                record_check(connection, settings.study, rater_id, "prolific", outcome, "", now=now)

    hour = 60 * MINUTE
    start = now_ms() // hour * hour - 3 * hour
    record(CheckOutcome.passed, 9, start)
    record(CheckOutcome.failed, 1, start)
    record(CheckOutcome.passed, 8, start + hour)
    record(CheckOutcome.unknown, 2, start + hour)  # an outage
    with study.db.read() as connection:
        rates = [r for r in watch.check_rates(connection, settings, now=now_ms()) if r.name == "prolific"]
    assert [(r.rate, r.alarm) for r in rates] == [(0.8, True), (0.9, False)]
    assert "look at the checker" in study.admin().get("/admin").text


def webhook(url: str, secret: str, event: Any, event_id: str, *, age: float = 0) -> httpx.Response:
    body, stamp = json.dumps(event).encode(), str(int(time.time() - age))
    signature = base64.b64encode(hmac.new(secret.encode(), stamp.encode() + body, hashlib.sha256).digest()).decode()
    headers = {"X-Prolific-Request-Timestamp": stamp, "X-Prolific-Request-Signature": signature, "X-Event-Id": event_id}
    return httpx.post(f"{url}/prolific/webhook", content=body, headers=headers, verify=SHARED)


def test_a_returned_submission_frees_its_task_at_once(run_of: Any, serve: Any, serve_app: Any) -> None:
    with serve(run_of(prompts=1, configs=2), prolific=True) as study:
        access = Prolific(webhook_secret="s")
        with serve_app(create_app(replace(study.opened.context, prolific=access))) as url:
            httpx.get(url, params=PARAMETERS, verify=SHARED)
            rater_id = study.rows(sa.select(store.raters.c.rater_id))[0][0]
            from vaeval_tasks.collect.rules import alloc

            alloc.claim(study.db, study.opened.context.settings, rater_id, now=now_ms())
            returned = {"status": "RETURNED", "participant_id": PARAMETERS["PROLIFIC_PID"]}
            assert webhook(url, "wrong", returned, "e0").status_code == 403
            assert webhook(url, "s", returned, "e0", age=600).status_code == 403
            assert webhook(url, "s", returned, "").status_code == 422
            assert webhook(url, "s", returned | {"status": "ACTIVE"}, "e1").json() == {"freed": False}
            assert webhook(url, "s", returned | {"participant_id": "x"}, "e2").json() == {"freed": False}
            assert webhook(url, "s", returned, "e3").json() == {"freed": True}
            assert study.rows(sa.select(store.assignments.c.state)) == [("expired",)]
            alloc.claim(study.db, study.opened.context.settings, rater_id, now=now_ms())  # back again
            assert webhook(url, "s", returned, "e3").json() == {"freed": False}  # delivered twice
            assert study.rows(sa.select(store.tasks.c.taken)) == [(1,)]
        with serve_app(create_app(study.opened.context)) as url:
            assert webhook(url, "", returned, "e4").status_code == 403  # no secret: no webhook
