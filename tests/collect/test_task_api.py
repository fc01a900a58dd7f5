"""Status codes of the task API over HTTP: late, repeated, replayed, concurrent, incomplete and wrong requests."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from vaeval_tasks.collect.server_clock import MINUTE
from vaeval_tasks.collect.store import database_tables as store

A, R = store.assignments, store.ratings


def ready(study: Any) -> tuple[Any, Any]:
    """A rater who has listened and locked all sections but the last."""
    browser = study.rater()
    page = browser.task()
    browser.listen(page)
    browser.lock(page)
    return browser, page


def rated(study: Any) -> int:
    return len(study.rows(sa.select(R)))


def test_a_task_is_answered_and_the_next_one_is_another(study: Any) -> None:
    browser = study.rater()
    page = browser.task()
    assert browser.do(page, comment="fine").json() == {"stored": len(browser.answers(page)), "next": "/task"}
    following = browser.task()
    assert following.task["data-token"] != page.task["data-token"]
    assert study.rows(sa.select(store.comments.c.text)) == [("fine",)]


def test_repeats_replays_and_other_keys(study: Any) -> None:
    browser, page = ready(study)
    first = browser.submit(page, "key-one-0001")
    assert first.status_code == 200
    n = rated(study)
    again = browser.submit(page, "key-one-0001")
    assert (again.status_code, again.json()) == (200, first.json())
    other_body = browser.submit(page, "key-one-0001", comment="changed my mind")
    assert (other_body.status_code, other_body.json()["error"]) == (409, "other_body")
    other_key = browser.submit(page, "key-two-0002")
    assert (other_key.status_code, other_key.json()["error"]) == (409, "done")
    assert rated(study) == n
    for method, path in (("POST", "heartbeat"), ("POST", "listened"), ("PUT", "answer/overall")):
        assert browser.send(page, method, path, {"position": 1, "ms": 1}).status_code == 409


def test_concurrent_submits_store_once(study: Any) -> None:
    browser, page = ready(study)
    codes: list[int] = []
    barrier = threading.Barrier(6)

    def go(n: int) -> None:
        barrier.wait()
        codes.append(browser.submit(page, f"key-same-{n % 2}").status_code)

    threads = [threading.Thread(target=go, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [200, 200, 200, 409, 409, 409]  # the winner's key, and the other's
    assert rated(study) == len(browser.answers(page))


def test_a_lease_that_is_over_goes_to_another_rater(study: Any) -> None:
    browser, page = ready(study)
    task_id = study.rows(sa.select(A.c.task_id))[0][0]
    study.shift[0] = 31 * MINUTE
    late = browser.submit(page)
    assert (late.status_code, late.json()["error"]) == (410, "lease_over")
    assert rated(study) == 0
    assert len(study.rows(sa.select(store.drafts))) > 0  # the drafts are kept as evidence
    kept = study.rows(sa.select(store.events.c.payload).where(store.events.c.kind == "late_submit"))
    assert json.loads(kept[0][0])["body"].startswith('{"answers"')
    other = study.rater()
    other.task()
    assert study.rows(sa.select(A.c.state).where(A.c.task_id == task_id, A.c.slot == 0)) in (
        [("expired",)],
        [("expired",), ("leased",)],
    )
    slots = study.rows(sa.select(A.c.task_id).where(A.c.state == "leased"))
    assert len(slots) == 1
    assert browser.send(page, "POST", "heartbeat").status_code == 410


def test_heartbeats_extend_the_lease_up_to_its_cap(study: Any) -> None:
    browser, page = ready(study)
    for minutes in (20, 40, 60, 80, 100, 110):
        study.shift[0] = minutes * MINUTE
        left = browser.send(page, "POST", "heartbeat").json()["seconds_left"]
        assert left == pytest.approx(60 * min(30, 120 - minutes), abs=5)
    study.shift[0] = 121 * MINUTE
    assert browser.send(page, "POST", "heartbeat").status_code == 410


@pytest.mark.parametrize("taken", [False, True])
def test_late_answers_count_where_allowed_while_the_slot_is_free(taken: bool, run_of: Any, serve: Any) -> None:
    run = run_of(prompts=1, configs=2, slots=1)
    with serve(run, dwell=0.0, accept_late=True) as study:
        browser, page = ready(study)
        study.shift[0] = 31 * MINUTE
        if taken:
            other = study.rater()
            other.do(other.task())
        late = browser.submit(page)
        assert late.status_code == (410 if taken else 200)
        assert rated(study) == 12
        assert study.rows(sa.select(store.tasks.c.taken)) == [(1,)]


def test_a_restart_loses_no_lease(run_of: Any, serve: Any) -> None:
    run = run_of()
    with serve(run, dwell=0.0) as study:
        browser, page = ready(study)
        code = browser.code
    with serve(run) as study:
        again = type(browser)(study.url, code)
        again.enter()
        back = again.task()
        assert back.task["data-token"] == page.task["data-token"]
        assert back.task["data-stage"] == "4"
        assert again.submit(back).status_code == 200


def test_what_is_no_step_or_no_json_object_is_refused(study: Any) -> None:
    browser, page = ready(study)
    for value in (7, -1, 1.5, "1", True, None, [3]):
        answers = browser.answers(page) | {"overall": {"position": value, "ms": 1}}
        body = {"answers": answers, "comment": ""}
        answer = browser.send(page, "POST", "submit", body, Idempotency_Key="key-00000001")
        assert (answer.status_code, answer.json()["wrong"]) == (422, ["overall"]), value
        assert browser.send(page, "PUT", "answer/overall", {"position": value, "ms": 1}).status_code == 422
    nan = b'{"answers": {"overall": {"position": NaN, "ms": 1}}}'
    for raw in (b"{", b"[]", nan, b"\xff", b"[" * 5000):
        assert browser.send(page, "POST", "submit", raw, Idempotency_Key="key-00000001").status_code == 422, raw[:60]
    assert rated(study) == 0


def test_a_missing_and_a_gated_question_are_named(study: Any) -> None:
    browser, page = ready(study)
    answers = browser.answers(page)
    del answers["naturalness"]
    gated = "reasoning" not in answers
    if gated:
        answers["reasoning"] = {"position": 1, "ms": 1}
    body = {"answers": answers, "comment": ""}
    refused = browser.send(page, "POST", "submit", body, Idempotency_Key="key-00000001")
    assert refused.status_code == 422
    assert refused.json()["missing"] == ["naturalness"]
    assert refused.json()["unknown"] == (["reasoning"] if gated else [])
    assert rated(study) == 0


def test_gated_questions_are_asked_only_where_they_apply(run_of: Any, serve: Any) -> None:
    with serve(run_of(prompts=1, configs=2), dwell=0.0) as study:
        page = study.rater().task()
        assert "reasoning" in page.parts[0]  # prompt 0 has all gates
        assert sum(map(len, page.parts)) == 12
    with serve(run_of("other", prompts=2, configs=2, train=1), dwell=0.0) as study:
        browser = study.rater()
        browser.do(browser.task())  # prompt 0 is the training here
        page = browser.task()
        assert sum(map(len, page.parts)) == 9
        browser.listen(page)
        extra = {key: {"position": 1, "ms": 1} for key in [*page.parts[0], "reasoning"]}
        refused = browser.send(page, "POST", "section/1", extra)
        assert (refused.status_code, refused.json()["unknown"]) == (422, ["reasoning"])
        assert browser.send(page, "PUT", "answer/reasoning", {"position": 1, "ms": 1}).status_code == 422


def test_sections_open_in_order_and_lock(study: Any) -> None:
    browser = study.rater()
    page = browser.task()

    def section(number: int, position: int = 2) -> httpx.Response:
        body = {key: {"position": position, "ms": 1} for key in page.parts[number - 1]}
        return browser.send(page, "POST", f"section/{number}", body)

    assert section(1).status_code == 409  # nothing was heard yet
    browser.listen(page)
    assert section(2).status_code == 409
    assert section(1).json() == {"open": 2}
    assert section(1).json() == {"open": 2}  # the same again changes nothing
    changed = section(1, position=5)
    assert (changed.status_code, changed.json()["error"]) == (409, "locked")
    key = page.parts[0][0]
    assert browser.send(page, "PUT", f"answer/{key}", {"position": 5, "ms": 1}).status_code == 409
    assert browser.submit(page).status_code == 409  # not all sections are locked
    assert (section(2).status_code, section(3).status_code) == (200, 200)
    other = {"answers": browser.answers(page) | {key: {"position": 5, "ms": 1}}, "comment": ""}
    refused = browser.send(page, "POST", "submit", other, Idempotency_Key="key-00000001")
    assert (refused.status_code, refused.json()["changed"]) == (409, [key])
    assert section(4).status_code == 422  # the last one is locked by the submit
    assert browser.submit(page).status_code == 200


def test_the_listening_gate_of_the_server(run_of: Any, serve: Any) -> None:
    with serve(run_of(seconds=0.5)) as study:
        browser = study.rater()
        page = browser.task()
        full = {part: [[0, 0.5]] for part in page.clips}

        def claim(ranges: Any) -> dict[str, Any]:
            answer = browser.send(page, "POST", "listened", ranges)
            assert answer.status_code == 422
            return dict(answer.json())

        assert claim(full)["error"] == "too_fast"  # nothing was played at all
        browser.send(page, "POST", "events", [{"seq": 1, "kind": "play", "at": 0}])
        fast = claim(full)  # as after 16 x speed: all was played, but no time has passed
        assert fast["error"] == "too_fast"
        assert 1000 < fast["wait_ms"] <= 1350  # 0.9 x 3 x 500 ms
        study.shift[0] = 2000
        assert claim(full | {"left": [[0.49, 0.5]]})["parts"] == ["left"]  # as after a seek to the end
        assert claim({"left": [[0, 0.5]]})["error"] == "bad_ranges"
        assert claim(full | {"left": [[0, "x"]]})["error"] == "bad_ranges"
        assert browser.send(page, "POST", "listened", full).json() == {"open": 1}


def test_the_clients_clock_does_not_matter(run_of: Any, serve: Any) -> None:
    with serve(run_of(seconds=0.5)) as study:
        browser = study.rater()
        page = browser.task()
        day = 24 * 60 * MINUTE
        browser.send(page, "POST", "events", [{"seq": 1, "kind": "play", "at": day}])
        browser.send(page, "POST", "events", [{"seq": 2, "kind": "ended", "at": 3 * day}])
        full = {part: [[0, 0.5]] for part in page.clips}
        assert browser.send(page, "POST", "listened", full).json()["error"] == "too_fast"
        times = study.rows(sa.select(store.events.c.client_time, store.events.c.server_time))
        assert [row[0] for row in times] == [day, 3 * day]
        assert all(abs(row[1] - study.opened.context.clock()) < MINUTE for row in times)


def test_what_is_no_event_is_refused(study: Any) -> None:
    browser = study.rater()
    page = browser.task()
    for events in (
        {},
        [1],
        [{"seq": -1, "kind": "play", "at": 0}],
        [{"seq": 1, "kind": "nonsense", "at": 0}],
        [{"seq": 1, "kind": "play", "at": "now"}],
        [{"seq": 1, "kind": "play", "at": 0, "x": "y" * 2000}],
        [{"seq": n, "kind": "play", "at": 0} for n in range(201)],
    ):
        assert browser.send(page, "POST", "events", events).status_code == 422, events


def test_an_event_that_is_reported_twice_is_kept_once(study: Any) -> None:
    browser = study.rater()
    page = browser.task()
    events = [{"seq": 5, "kind": "pause", "at": 1}, {"seq": 5, "kind": "pause", "at": 1}]
    assert browser.send(page, "POST", "events", events).json() == {"stored": 1}
    assert browser.send(page, "POST", "events", events).json() == {"stored": 0}


def test_a_technical_problem_gives_the_task_to_others_only(study: Any) -> None:
    browser = study.rater()
    page = browser.task()
    task_id = study.rows(sa.select(A.c.task_id))[0][0]
    assert browser.send(page, "POST", "problem", {"reason": "crackles"}).json() == {"next": "/task"}
    assert study.rows(sa.select(A.c.state)) == [("withdrawn",)]
    assert study.rows(sa.select(store.tasks.c.taken).where(store.tasks.c.task_id == task_id)) == [(0,)]
    while (following := browser.task()).task:
        browser.do(following)
    mine = study.rows(sa.select(A.c.task_id).where(A.c.state == "done"))
    assert (task_id,) not in mine
    assert len(mine) == 8
    assert browser.submit(page).status_code == 410


def test_left_and_right_become_the_sign_of_the_score(study: Any) -> None:
    """Always 'A much better' (position 0): +3 where a is on the left, -3 where it is on the right."""
    browser = study.rater()
    while (page := browser.task()).task:
        assert browser.do(page, position=0).status_code == 200
    rows = study.rows(sa.select(R.c.score, A.c.left_is_a).join_from(R, A, R.c.assignment_id == A.c.assignment_id))
    assert {tuple(row) for row in rows} == {(3, True), (-3, False)}


def test_too_long_a_body_or_comment_is_refused(study: Any) -> None:
    browser, page = ready(study)
    assert browser.submit(page, comment="x" * 70_000).status_code == 413
    assert browser.submit(page, comment="x" * 5_001).status_code == 422
    assert browser.submit(page, key="short").status_code == 422
    assert browser.submit(page, comment="x" * 5_000).status_code == 200


def test_free_text_survives_as_it_was_written(study: Any) -> None:
    text = '=1+1, "quoted"\r\n;\'é 漢 🎧 \u202ertl'
    browser, page = ready(study)
    assert browser.submit(page, comment=text).status_code == 200
    assert study.rows(sa.select(store.comments.c.text)) == [(text,)]
