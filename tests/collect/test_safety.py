"""Attacks and leaks: what a rater, a stranger or another site must not be able to do or see."""

from __future__ import annotations

import logging
import re
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.collect.web.app import create_app
from vaeval_tasks.collect.web.context import HERE, environment

PLAIN = httpx.Client()  # its certificates are read once; cookies are cleared so that each request is a stranger's


def fetch(url: str, **options: Any) -> httpx.Response:
    PLAIN.cookies.clear()
    return PLAIN.get(url, **options)


def post(url: str, **options: Any) -> httpx.Response:
    PLAIN.cookies.clear()
    return PLAIN.post(url, **options)


INJECTIONS = [
    "'; DROP TABLE ratings;--",
    "' OR '1'='1",
    "1; DELETE FROM raters",
    '" OR ""="',
    "' UNION SELECT rater_id, identity FROM people--",
    "%' OR 1=1 --",
    "'/**/OR/**/1=1#",
    "\\'; DROP TABLE raters; --",
    "admin'--",
    "1) OR (1=1",
    "'; UPDATE ratings SET score=3;--",
    "') OR ('a'='a",
    "1' AND SLEEP(5)--",
    "'||(SELECT 1)||'",
    "${7*7}",
    "{{7*7}}",
    "' HAVING 1=1--",
    "' ORDER BY 1--",
    "x'; VACUUM;--",
    "'; ATTACH DATABASE 'x' AS y;--",
]


def counts(study: Any) -> dict[str, int]:
    with study.db.read() as connection:
        return {
            name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for name, table in store.PUBLIC.tables.items()
        }


def test_text_that_is_sql_stays_text(run_of: Any, serve: Any) -> None:
    with serve(run_of(prompts=3, configs=4), dwell=0.0, prolific=True) as study:
        before = counts(study)
        for n, text in enumerate(INJECTIONS, 1):
            entered = fetch(study.url, params={"PROLIFIC_PID": text, "STUDY_ID": text, "SESSION_ID": text})
            assert entered.status_code == 303
            assert counts(study)["raters"] == before["raters"] + n
            assert fetch(f"{study.url}/join/{text}").status_code in (404, 307)
            assert fetch(f"{study.url}/clip/{text}").status_code in (401, 404)
        browser = study.rater()
        page = browser.task()
        for text in INJECTIONS:
            assert browser.send(page, "PUT", f"answer/{text}", {"position": 1, "ms": 1}).status_code in (404, 422)
            assert browser.http.get("/sound-check", params={"again": text}).status_code in (303, 422)
        browser.do(page, comment="\n".join(INJECTIONS))
        assert study.rows(sa.select(store.comments.c.text)) == [("\n".join(INJECTIONS),)]
        after = counts(study)
        assert after["tasks"] == before["tasks"]
        assert after["clips"] == before["clips"]


def test_no_query_is_put_together_from_text() -> None:
    """Every statement is built by SQLAlchemy; raw SQL is a constant, or PRAGMA and VACUUM of our own words."""
    folder = HERE.parent
    for path in folder.rglob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(r"(text|exec_driver_sql|execute)\(f[\"']", line):
                assert "PRAGMA" in line, f"{path.name}:{number}: {line.strip()}"


PATHS = [
    "../../run.json",
    "..%2f..%2frun.json",
    "%2e%2e/%2e%2e/run.json",
    "%2e%2e%2f%2e%2e%2frun.json",
    "..%252f..%252frun.json",
    "....//....//run.json",
    "..\\..\\run.json",
    "%00/../run.json",
    "/etc/hostname",
]


def test_no_path_leads_out(study: Any) -> None:
    browser = study.rater()
    browser.task()
    for base in ("/clip/", "/static/", "/sound-check/"):
        for path in PATHS:
            # httpx would tidy the path up; the raw one must reach the server
            url = httpx.URL(study.url).copy_with(raw_path=(base + path).encode())
            answer = browser.http.get(url)
            assert answer.status_code in (401, 404, 307), (base, path, answer.status_code)
            assert b"schema_version" not in answer.content


def test_a_clip_row_that_leads_out_of_the_run_is_not_served(study: Any) -> None:
    (study.run.root.parent / "secret.wav").write_bytes(b"secret")
    browser = study.rater()
    page = browser.task()
    with study.db.write() as connection:
        connection.execute(sa.update(store.clips).values(file="../secret.wav"))
    assert {browser.http.get(f"/clip/{link}").status_code for link in page.clips.values()} == {404}


def test_clips_come_in_ranges(study: Any) -> None:
    browser = study.rater()
    link = browser.task().clips["left"]
    whole = browser.http.get(f"/clip/{link}")
    assert (whole.status_code, whole.headers["accept-ranges"]) == (200, "bytes")
    part = browser.http.get(f"/clip/{link}", headers={"Range": "bytes=0-1"})
    assert (part.status_code, part.content) == (206, whole.content[:2])
    assert part.headers["content-range"] == f"bytes 0-1/{len(whole.content)}"
    assert part.headers["content-type"] == "audio/wav"
    assert part.headers["x-content-type-options"] == "nosniff"
    assert part.headers["cache-control"].startswith("private")
    tail = browser.http.get(f"/clip/{link}", headers={"Range": "bytes=-10"})
    assert (tail.status_code, tail.content) == (206, whole.content[-10:])
    assert browser.http.get(f"/clip/{link}", headers={"Range": "bytes=99999999-"}).status_code == 416


def test_ten_thousand_ranges_are_refused_at_once(study: Any) -> None:
    browser = study.rater()
    link = browser.task().clips["left"]
    header = "bytes=" + ",".join(f"{n}-{n}" for n in range(10_000))
    took = []
    for ranges in (header, header[:4000]):  # the first is longer than the server reads of a header
        start = time.process_time()  # the server is a thread of this process
        answer = browser.http.get(f"/clip/{link}", headers={"Range": ranges})
        took.append(time.process_time() - start)
        assert answer.status_code in (400, 416, 431)
    assert took[1] < 0.5  # CPU seconds; a few hundredths where nothing else is done


def test_a_clip_is_only_for_the_rater_who_holds_its_task(study: Any) -> None:
    one, two = study.rater(), study.rater()
    page = one.task()
    link = page.clips["left"]
    assert one.http.get(f"/clip/{link}").status_code == 200
    assert two.http.get(f"/clip/{link}").status_code == 404
    assert fetch(f"{study.url}/clip/{link}").status_code == 401
    one.do(page)
    assert one.http.get(f"/clip/{link}").status_code == 404  # the task is done


def test_a_token_of_another_rater_does_not_exist(study: Any) -> None:
    one, two = study.rater(), study.rater()
    page, own = one.task(), two.task()
    page.task["data-csrf"] = own.task["data-csrf"]
    for method, path in (("POST", "heartbeat"), ("PUT", "answer/overall"), ("POST", "listened"), ("POST", "problem")):
        body = {"position": 1, "ms": 1, "reason": "x"}
        assert two.send(page, method, path, body).status_code == 404
    assert two.submit(page).status_code == 404
    page.task["data-token"] = "0" * 43
    assert two.submit(page).status_code == 404


def test_a_request_of_another_site_is_refused(study: Any) -> None:
    browser = study.rater()
    page = browser.task()
    foreign = [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
    for headers in foreign:
        assert browser.send(page, "POST", "heartbeat", None, **headers).status_code == 403
        form = {"csrf": page.task["data-csrf"]}
        assert browser.http.post("/withdraw", data=form, headers=headers).status_code == 403
        assert post(f"{study.url}/admin/login", data={"password": "x"}, headers=headers).status_code == 403
    own = {"Origin": study.url, "Sec-Fetch-Site": "same-origin"}
    assert browser.send(page, "POST", "heartbeat", None, **own).status_code == 200
    for wrong in ({"csrf": ""}, {"csrf": "wrong"}, {}):
        assert browser.http.post("/withdraw", data=wrong).status_code == 403
    page.task["data-csrf"] = "wrong"
    assert browser.send(page, "POST", "heartbeat").status_code == 403


def test_the_session_cookie_is_signed_and_out_of_reach(study: Any) -> None:
    browser = study.rater()
    cookie = fetch(f"{study.url}/join/{browser.code}").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    value = browser.http.cookies["vaeval_cmos"]
    for forged in (value[:-2], "x" + value, "", "a.b.c"):
        answer = fetch(f"{study.url}/task", headers={"Cookie": f"vaeval_cmos={forged}"})
        assert answer.status_code == 401
    swapped = fetch(f"{study.url}/admin", headers={"Cookie": f"vaeval_admin={value}"})
    assert swapped.status_code == 401  # a rater's cookie under another name opens nothing


def all_routes(routes: Any) -> list[Any]:
    """All routes with a path and methods; FastAPI keeps those of a router below an entry of their own."""
    found = []
    for route in routes:
        if hasattr(route, "original_router"):
            found += all_routes(route.original_router.routes)
        elif hasattr(route, "methods"):
            found.append(route)
    return found


def test_nothing_of_the_operator_opens_without_the_password(study: Any) -> None:
    app = create_app(study.opened.context)
    rater, stranger, admin = study.rater(), httpx.Client(base_url=study.url), study.admin()
    found = []
    for route in all_routes(app.routes):
        if route.path.startswith(("/admin", "/export")) and route.path != "/admin/login":
            for method in route.methods - {"HEAD"}:
                found.append(route.path)
                assert stranger.request(method, route.path).status_code == 401, route.path
                assert rater.http.request(method, route.path).status_code == 403, route.path
    assert "/admin" in found
    assert admin.get("/admin").status_code == 200
    assert {p for p in ("/docs", "/redoc", "/openapi.json") if stranger.get(p).status_code != 404} == set()


def test_the_password_cannot_be_tried_for_long(study: Any) -> None:
    client = httpx.Client(base_url=study.url)
    codes = [client.post("/admin/login", data={"password": f"wrong{n}"}).status_code for n in range(7)]
    assert codes == [403] * 5 + [429] * 2
    right = {"password": study.opened.admin_password}
    assert client.post("/admin/login", data=right).status_code == 429
    study.shift[0] = 61_000
    assert client.post("/admin/login", data=right).status_code == 303


def test_every_template_escapes() -> None:
    evil = "<img src=x onerror=alert(1)>"
    templates = environment()
    assert templates.autoescape is True
    rendered = templates.from_string("{{ x }}").render(x=evil)
    assert "<img" not in rendered
    names = templates.list_templates()
    assert all(name.endswith(".html") for name in names)
    for name in names:
        source = (HERE / "templates" / name).read_text(encoding="utf-8")
        assert "|safe" not in source.replace(" ", ""), name
        assert "autoescape false" not in source, name
        assert not re.search(r"<script(?![^>]*src=)|\son\w+=|style=", source), f"{name}: inline script or style"


def test_a_comment_is_shown_as_text_to_the_operator(study: Any) -> None:
    evil = "<img src=x onerror=alert(1)>"
    browser = study.rater()
    browser.do(browser.task(), comment=evil)
    answer = study.admin().get("/admin")
    assert evil not in answer.text
    assert "&lt;img src=x onerror=alert(1)&gt;" in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy


def everything_a_rater_gets(browser: Any) -> list[httpx.Response]:
    got: list[httpx.Response] = []
    browser.http.event_hooks["response"] = [lambda response: (response.read(), got.append(response))]
    for path in ("/", "/study", "/pause", "/consent", "/done", "/nothing", "/static/task.js", "/static/study.css"):
        browser.http.get(path)
    while (page := browser.task()).task:
        for link in page.clips.values():
            browser.http.get(f"/clip/{link}")
        browser.do(page)
    browser.http.get("/done")
    return got


def test_no_response_tells_which_system_is_heard(study: Any) -> None:
    browser = study.rater()
    got = everything_a_rater_gets(browser)
    assert len(got) > 60
    audio = 0
    for response in got:
        shown = response.content + str(response.headers).encode() + str(response.url).encode()
        assert not re.search(rb"model-|voice-\d|default/", shown), response.url
        if response.headers.get("content-type", "").startswith("audio"):
            audio += 1
            # RIFF, fmt and data only: 44 bytes of header, and no tags
            assert response.content[:4] == b"RIFF"
            assert response.content[12:16] == b"fmt "
            assert response.content[36:40] == b"data"
            assert len(response.content) == 44 + int.from_bytes(response.content[40:44], "little")
            assert "last-modified" not in response.headers
    assert audio == 27


def test_two_raters_get_the_same_clip_under_other_addresses_and_tags(run_of: Any, serve: Any) -> None:
    with serve(run_of(prompts=1, configs=2), dwell=0.0) as study:
        raters = [study.rater(), study.rater()]
        pages = [rater.task() for rater in raters]
        clips = [r.http.get(f"/clip/{p.clips['prompt']}") for r, p in zip(raters, pages, strict=True)]
        assert clips[0].content == clips[1].content
        assert pages[0].clips["prompt"] != pages[1].clips["prompt"]
        assert clips[0].headers["etag"] != clips[1].headers["etag"]


def test_the_log_names_nobody(run_of: Any, serve: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serve(run_of(prompts=1, configs=2), dwell=0.0, prolific=True) as study:
        secret = "5f1a2b3c4d5e6f7a8b9c0d1e"
        fetch(study.url, params={"PROLIFIC_PID": secret, "SESSION_ID": "session-secret"})
        browser = study.rater()
        page = browser.task()
        browser.do(page)
        ours = [r.getMessage() for r in caplog.records if r.name.startswith(("vaeval", "uvicorn"))]
    assert any(message.startswith("GET / 303") for message in ours)
    assert any("/api/task/{token}/submit 200" in message for message in ours)
    hidden = (secret, "session-secret", browser.code, page.task["data-token"], "127.0.0.1")
    assert not [message for message in ours for word in hidden if word in message]


def test_the_room_never_needs_a_model() -> None:
    """Every module of the rating app is imported without torch, transformers and lm_eval."""
    import subprocess
    import sys

    names = [
        "vaeval_tasks.collect." + ".".join(path.relative_to(HERE.parent).with_suffix("").parts)
        for path in HERE.parent.rglob("*.py")
        if "migrations" not in path.parts and path.name != "__init__.py"
    ]

    heavy = "{'torch', 'transformers', 'lm_eval'}"
    code = f"import sys, {', '.join(names)}; print(*({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_links_and_symbolic_links_lead_nowhere(run_of: Any, tmp_path: Path) -> None:
    from vaeval_tasks.collect.store.clips import publish
    from vaeval_tasks.errors import InputError

    run = run_of(prompts=1, configs=2)
    outside = tmp_path / "outside.wav"
    outside.write_bytes((run.root / "audio/prompts/p000.wav").read_bytes())
    (run.root / "link.wav").symlink_to(run.root / "audio/prompts/p000.wav")
    for path in ("../outside.wav", "link.wav", str(outside)):
        with pytest.raises(InputError, match="inside the run folder"):
            publish(run.root, path)
