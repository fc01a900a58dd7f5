"""The rating app in a real Chromium: journeys by mouse and keyboard, cheats, bad networks, accessibility."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import axe_core_python
import pytest
import sqlalchemy as sa
from playwright.sync_api import BrowserContext, Page, Route, expect

from vaeval_tasks.audio import read_audio
from vaeval_tasks.collect.server_clock import MINUTE
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.simulate.driver import count_beeps

AXE = Path(axe_core_python.__file__).parent / "axe.min.js"
RECORD_AUDIO = """
window.players = [];
const Real = window.Audio;
window.Audio = class extends Real { constructor(...a) { super(...a); window.players.push(this); } };
"""


@pytest.fixture(autouse=True)
def _quick(context: BrowserContext) -> None:
    context.set_default_timeout(20_000)
    expect.set_options(timeout=20_000)


def sign_in(page: Page, study: Any) -> Any:
    """Give the browser the session of a rater who has passed the entry; return the rater's HTTP client."""
    rater = study.rater()
    page.context.add_cookies([{"name": n, "value": v, "url": study.url} for n, v in rater.http.cookies.items()])
    page.add_init_script(RECORD_AUDIO)
    return rater


def open_task(page: Page, study: Any) -> None:
    page.goto(f"{study.url}/task")
    expect(page.locator(".play:not([disabled])")).to_have_count(page.locator(".play").count())


def listen(page: Page) -> None:
    for clip in page.locator(".clip").all():
        clip.locator(".play").click()
        expect(clip.locator(".state")).to_have_text("✓ Heard")


def part(page: Page, number: int) -> Any:
    return page.locator(f"form.part[data-number='{number}']")


def answer(page: Page, number: int, step: int = 1) -> None:
    expect(part(page, number)).to_be_visible()
    for question in part(page, number).locator(".question").all():
        question.locator(".step").nth(step).click()


def next_part(page: Page, number: int) -> None:
    part(page, number).locator(".next").click()


def answer_all_but_last(page: Page, step: int = 1) -> None:
    for number in (1, 2, 3):
        answer(page, number, step)
        next_part(page, number)
    answer(page, 4, step)


def pass_sound_check(page: Page, study: Any) -> str:
    source = page.get_attribute("audio", "src")
    return str(count_beeps(read_audio(page.request.get(f"{study.url}{source}").body())))


def submitted(study: Any) -> int:
    return len(study.rows(sa.select(store.submissions)))


def test_the_whole_journey_by_mouse(page: Page, run_of: Any, serve: Any) -> None:
    with serve(run_of(prompts=2, configs=2, train=1), completion_code="C0DE") as study:
        page.goto(f"{study.url}/join/{study.link()}")
        page.get_by_role("button", name="I agree").click()
        page.get_by_label("Your age in years").fill("17")
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("alert")).to_contain_text("18 or more")
        page.get_by_label("Your age in years").fill("41")
        page.get_by_label("Woman").check()
        page.get_by_role("button", name="Go on").click()
        right = pass_sound_check(page, study)
        page.get_by_label({"2": "3"}.get(right, "2"), exact=True).check()
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("alert")).to_contain_text("not the number of beeps")
        page.get_by_label(pass_sound_check(page, study), exact=True).check()
        page.get_by_role("button", name="Go on").click()
        for heading in ("Practice task", "Task 1"):
            expect(page.get_by_role("heading", level=1)).to_have_text(heading)
            listen(page)
            answer_all_but_last(page)
            page.get_by_label("Anything else you noticed?").fill("a <b>word</b>")
            page.get_by_role("button", name="Submit").click()
        expect(page.locator("#code")).to_have_text("C0DE")
        kinds = study.rows(sa.select(store.assignments.c.kind, store.assignments.c.state))
        assert kinds == [("train", "done"), ("main", "done")]
        scores = study.rows(sa.select(store.ratings.c.position, store.ratings.c.ms))
        assert {row.position for row in scores} == {1}
        assert all(row.ms > 0 for row in scores)
        with study.db.people() as connection:
            person = connection.execute(sa.select(store.people.c.age, store.people.c.gender)).one()
        assert person == (41, "woman")


def press_until(page: Page, selector: str, key: str = "Tab") -> None:
    """Press a key until the focus is on an element that matches."""
    for _ in range(80):
        page.keyboard.press(key)
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"the keyboard never reaches {selector}")


def test_the_whole_journey_by_keyboard(page: Page, run_of: Any, serve: Any) -> None:
    """Nothing but keys: Tab, Enter, Space, arrows, and the digits that play."""
    keys = page.keyboard
    with serve(run_of(prompts=1, configs=2), completion_code="C0DE") as study:
        page.goto(f"{study.url}/join/{study.link()}")
        press_until(page, "button.primary")
        keys.press("Enter")
        page.wait_for_url("**/about-you")
        press_until(page, "#age")
        keys.type("52")
        press_until(page, "[name=gender]")
        keys.press("ArrowUp")
        keys.press("Enter")
        page.wait_for_url("**/sound-check")
        right = int(pass_sound_check(page, study))
        press_until(page, "[name=heard]")
        keys.press("Space")
        for _ in range(right - 2):
            keys.press("ArrowDown")
        keys.press("Enter")
        page.wait_for_url("**/task")
        expect(page.locator(".play:not([disabled])")).to_have_count(3)
        for n, clip in enumerate(page.locator(".clip").all(), 1):
            keys.press(str(n))
            expect(clip.locator(".state")).to_have_text("✓ Heard")
        for number in range(1, 5):
            expect(part(page, number)).to_be_visible()
            assert page.evaluate("document.activeElement.tagName") == "H2"  # the focus follows
            for key in part(page, number).locator(".question").evaluate_all("all => all.map(q => q.dataset.key)"):
                press_until(page, f"[name={key}]")
                keys.press("Space")
                keys.press("ArrowRight")
                keys.press("ArrowRight")
            if number < 4:
                keys.press("Enter")  # on an answer it goes on
        press_until(page, "#comment")
        keys.type("typed 123, no sound")
        press_until(page, ".next")
        keys.press("Enter")
        expect(page.locator("#code")).to_have_text("C0DE")
        assert {row[0] for row in study.rows(sa.select(store.ratings.c.position))} == {2}
        assert study.rows(sa.select(store.comments.c.text)) == [("typed 123, no sound",)]
        plays = study.rows(sa.select(store.events).where(store.events.c.kind == "play"))
        assert len(plays) == 3  # the digits in the comment played nothing


def test_single_keys_can_be_switched_off(page: Page, study: Any) -> None:
    sign_in(page, study)
    open_task(page, study)
    page.get_by_label("play the recordings").uncheck()
    page.locator("h1").click()
    page.keyboard.press("1")
    page.wait_for_timeout(200)
    assert page.evaluate("players.every(p => p.paused)")
    page.reload()
    expect(page.get_by_label("play the recordings")).not_to_be_checked()


def test_a_reload_and_a_second_tab_go_on_where_the_first_was(page: Page, context: BrowserContext, study: Any) -> None:
    sign_in(page, study)
    open_task(page, study)
    page.locator(".clip .play").first.click()
    expect(page.locator(".clip .state").first).to_have_text("✓ Heard")
    page.reload()
    expect(page.locator(".clip .state").first).to_have_text("✓ Heard")  # what was heard need not be heard again
    for clip in page.locator(".clip").all()[1:]:
        clip.locator(".play").click()
        expect(clip.locator(".state")).to_have_text("✓ Heard")
    answer(page, 1, 5)
    next_part(page, 1)
    expect(part(page, 2)).to_be_visible()
    part(page, 2).locator(".question").first.locator(".step").nth(4).click()
    expect(part(page, 2).locator("input:checked")).to_have_count(1)
    expect(page.locator("#net")).to_be_hidden()
    page.wait_for_timeout(300)

    second = context.new_page()
    open_task(second, study)
    assert second.get_attribute("#task", "data-token") == page.get_attribute("#task", "data-token")
    expect(part(second, 2)).to_be_visible()
    expect(part(second, 2).locator("input:checked")).to_have_value("4")
    for number in (2, 3):
        answer(second, number)
        next_part(second, number)
    answer(second, 4)
    next_part(second, 4)
    expect(second.locator("h1")).to_have_text("Task 2")

    part(page, 2).locator(".step").first.click()  # the first tab does not know yet
    expect(page.locator("#alert")).to_contain_text("submitted already")
    page.get_by_role("link", name="Go on with the next task").click()
    expect(page.locator("h1")).to_have_text("Task 2")
    assert submitted(study) == 1
    positions = dict(study.rows(sa.select(store.ratings.c.rubric, store.ratings.c.position)))
    assert positions["response_quality"] == 5
    assert positions["overall"] == 1


def test_offline_and_back_loses_nothing(page: Page, context: BrowserContext, study: Any) -> None:
    sign_in(page, study)
    open_task(page, study)
    context.set_offline(True)
    clip = page.locator(".clip").first
    clip.locator(".play").click()
    expect(clip.locator(".state")).to_have_text("✓ Heard")  # the clips are here already
    expect(page.locator("#net")).to_be_visible()
    context.set_offline(False)
    listen(page)
    answer(page, 1)
    context.set_offline(True)
    next_part(page, 1)
    expect(page.locator("#net")).to_contain_text("You are offline")
    expect(part(page, 2)).to_be_hidden()  # the gate stays shut until the server has agreed
    context.set_offline(False)
    for number in (2, 3):
        answer(page, number)
        next_part(page, number)
    answer(page, 4)
    context.set_offline(True)
    next_part(page, 4)
    expect(page.locator("#net")).to_be_visible()
    assert submitted(study) == 0
    context.set_offline(False)
    expect(page.locator("h1")).to_have_text("Task 2")
    assert submitted(study) == 1


def test_a_lost_reply_still_ends_with_the_code(page: Page, run_of: Any, serve: Any) -> None:
    """The answers arrive, the reply does not: the page sends the same request again, and the code is not lost."""
    with serve(run_of(prompts=1, configs=2), dwell=0.0, completion_code="C0DE") as study:
        sign_in(page, study)
        lost: list[int] = []

        def lose_first(route: Route) -> None:
            if lost:
                route.continue_()
            else:
                lost.append(route.fetch().status)
                route.abort()

        page.route("**/submit", lose_first)
        open_task(page, study)
        listen(page)
        answer_all_but_last(page)
        next_part(page, 4)
        expect(page.locator("#code")).to_have_text("C0DE")
        assert lost == [200]
        assert submitted(study) == 1
        page.reload()
        expect(page.locator("#code")).to_have_text("C0DE")


CHEATS = {
    "mute": "p => { p.muted = true; return p.play(); }",
    "rate": "p => { p.playbackRate = 16; return p.play(); }",
    "all at once": "p => { p.playbackRate = 16; p.muted = true; return p.play(); }",
    "seek": "p => { p.currentTime = p.duration - 0.01; return p.play(); }",
}
STOPPED = "n => new Promise(r => players[n].paused ? r() : players[n].addEventListener('pause', r, { once: true }))"


def test_cheats_do_not_open_the_questions(page: Page, run_of: Any, serve: Any) -> None:
    """A seek to the end fires ``ended`` with 1 % heard; 16 x speed without sound covers all in a moment."""
    with serve(run_of(prompts=1, configs=2, seconds=1.0)) as study:
        sign_in(page, study)
        open_task(page, study)
        page.locator("h1").click()
        for name, cheat in CHEATS.items():
            for n in range(3):
                page.evaluate(f"async () => {{ try {{ await ({cheat})(players[{n}]); }} catch (e) {{}} }}")
                page.evaluate(STOPPED, n)
            if name != "seek":
                expect(page.locator(".clip .state").first).to_have_text("Please play at normal speed, with sound")
                assert page.evaluate("players.every(p => p.playbackRate === 1 && !p.muted)")
            assert page.locator(".clip.heard").count() == 0, name
            expect(part(page, 1)).to_be_hidden()
        assert study.rows(sa.select(store.assignments.c.stage)) == [(0,)]
        page.reload()
        expect(page.locator(".play:not([disabled])")).to_have_count(3)
        listen(page)  # in earnest
        expect(part(page, 1)).to_be_visible()


def test_a_double_click_submits_once(page: Page, study: Any) -> None:
    sign_in(page, study)
    open_task(page, study)
    listen(page)
    for number in (1, 2, 3):
        answer(page, number)
        part(page, number).locator(".next").dblclick()
    answer(page, 4)
    part(page, 4).locator(".next").dblclick()
    expect(page.locator("h1")).to_have_text("Task 2")
    assert submitted(study) == 1
    assert len(study.rows(sa.select(store.assignments))) == 2


def test_a_slow_network_only_takes_longer(page: Page, study: Any) -> None:
    sign_in(page, study)

    def slowly(route: Route) -> None:
        page.wait_for_timeout(250)
        route.continue_()

    page.route("**/clip/*", slowly)
    page.route("**/section/*", slowly)
    page.route("**/submit", slowly)
    page.goto(f"{study.url}/task")
    expect(page.locator(".play").first).to_be_disabled()  # not before it can play
    expect(page.locator(".play:not([disabled])")).to_have_count(3)
    assert study.rows(sa.select(store.events).where(store.events.c.kind == "play")) == []  # nothing plays by itself
    listen(page)
    answer_all_but_last(page)
    next_part(page, 4)
    part(page, 4).locator(".next").click(force=True, no_wait_after=True)
    expect(page.locator("h1")).to_have_text("Task 2")
    assert submitted(study) == 1
    page.unroute_all(behavior="wait")


def test_a_task_that_is_over_is_explained(page: Page, study: Any) -> None:
    sign_in(page, study)
    open_task(page, study)
    study.shift[0] = 31 * MINUTE
    listen(page)
    expect(page.locator("#alert")).to_contain_text("it has gone to somebody else")
    page.get_by_role("link", name="Go on with the next task").click()
    expect(page.locator("h1")).to_have_text("Task 1")


def test_a_recording_that_does_not_load_keeps_the_gate_shut(page: Page, study: Any) -> None:
    sign_in(page, study)
    page.route("**/clip/*", lambda route: route.fulfill(status=200, content_type="audio/wav", body=b"not sound"))
    page.goto(f"{study.url}/task")
    expect(page.locator("#alert")).to_contain_text("could not be loaded")
    expect(page.locator(".play").first).to_be_disabled()
    page.get_by_text("Something does not work").click()
    page.get_by_label("What is the problem?").fill("no sound")
    page.unroute("**/clip/*")
    page.get_by_role("button", name="Skip this task").click()
    expect(page.locator(".play:not([disabled])")).to_have_count(3)
    assert sorted(study.rows(sa.select(store.assignments.c.state))) == [("leased",), ("withdrawn",)]


def axe(page: Page) -> list[str]:
    # the test tool may not be loaded as a script of the page: the page's own policy forbids it
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    return [f"{v['id']}: {v['nodes'][0]['html'][:100]}" for v in found["violations"]]


def check_layout(page: Page) -> None:
    """No sideways scrolling, and what is pressed is at least 44 px high."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.url
    small = page.evaluate(
        """[...document.querySelectorAll('button, a.button, label.step, label.choice, nav a, textarea')]
        .filter(e => e.offsetParent && e.getBoundingClientRect().height < 43.5).map(e => e.outerHTML.slice(0, 80))"""
    )
    assert small == [], page.url


def test_every_page_is_accessible_and_fits(page: Page, run_of: Any, serve: Any) -> None:
    with serve(run_of(prompts=1, configs=2), dwell=0.0, contact="study@example.org") as study:

        def check() -> None:
            assert axe(page) == [], page.url
            for width in (375, 1280):
                page.set_viewport_size({"width": width, "height": 800})
                check_layout(page)

        page.goto(study.url)
        check()
        page.goto(f"{study.url}/nothing")
        check()
        page.goto(f"{study.url}/join/{study.link()}")
        for button in ("I agree", "Go on"):
            check()
            page.get_by_role("button", name=button).click()
        check()
        page.get_by_label(pass_sound_check(page, study), exact=True).check()
        page.get_by_role("button", name="Go on").click()
        expect(page.locator(".play:not([disabled])")).to_have_count(3)
        check()
        listen(page)
        expect(part(page, 1)).to_be_visible()
        next_part(page, 1)  # with every answer missing
        expect(page.locator("#alert")).to_contain_text("every question")
        check()
        answer_all_but_last(page)
        check()
        page.goto(f"{study.url}/pause")
        check()
        open_task(page, study)
        answer(page, 4)
        next_part(page, 4)
        expect(page.locator("#code")).to_be_visible()
        check()
        page.goto(f"{study.url}/admin/login")
        check()
        page.get_by_label("Password").fill(study.opened.admin_password)
        page.get_by_role("button", name="Log in").click()
        expect(page.locator("h1")).to_have_text("CMOS study")
        check()


def test_nothing_a_rater_wrote_runs_in_the_operators_browser(page: Page, study: Any) -> None:
    rater = study.rater()
    rater.do(rater.task(), comment="<img src=x onerror=alert(1)><script>alert(2)</script>")
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(f"{study.url}/admin/login")
    page.get_by_label("Password").fill(study.opened.admin_password)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator(".comments")).to_contain_text("<img src=x onerror=alert(1)>")
    page.wait_for_timeout(300)
    assert dialogs == []


def test_a_mos_study_asks_about_one_response(page: Page, run_of: Any, serve: Any) -> None:
    from vaeval_tasks.store.schema import StudyKind

    with serve(run_of(prompts=1, configs=2), StudyKind.mos, dwell=0.0) as study:
        rater = study.rater()
        page.context.add_cookies([{"name": n, "value": v, "url": study.url} for n, v in rater.http.cookies.items()])
        open_task(page, study)
        assert page.locator(".play .who").all_text_contents() == ["Prompt", "Response"]
        listen(page)
        expect(part(page, 1).locator(".step").nth(4)).to_have_text("Excellent")
        answer_all_but_last(page, 4)
        next_part(page, 4)
        expect(page.locator("h1")).to_have_text("Task 2")
        assert {row[0] for row in study.rows(sa.select(store.ratings.c.score))} == {5}
