"""The page of a comparison in a real browser: no request, no script, players that play, accessible in both themes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import axe_core_python
import pytest
from paired.conftest import TASK, drawn
from playwright.sync_api import Browser

import vaeval_tasks as vaeval
from vaeval_tasks.store.run import RunDir

AXE = Path(axe_core_python.__file__).parent / "axe.min.js"
HOSTILE = '<script>alert(1)</script> & "quotes" \''


@pytest.fixture(scope="session")
def chromium(browser: Browser) -> Browser:
    """The browser that all tests of the session share."""
    return browser


@pytest.fixture
def pages(scored_run: Callable[..., RunDir], tmp_path: Path) -> dict[str, Path]:
    old = scored_run("old", {TASK: drawn(1, 24, right=0.9, item={"question": HOSTILE})})
    new = scored_run("new", {TASK: drawn(2, 24, right=0.4, item={"question": HOSTILE})})
    made = {audio: tmp_path / "pages" / f"{audio}.html" for audio in ("embed", "link")}
    for audio, path in made.items():
        vaeval.compare(old, new, resamples=99, html=path, audio=audio)
    return made


def test_the_page_is_one_small_file_without_network(pages: dict[str, Path]) -> None:
    text = pages["embed"].read_text("utf-8")
    assert len(text) < 1_000_000
    assert "http:" not in text
    assert "https:" not in text
    assert "<script" not in text
    assert text.count("<audio") == text.count("data:audio/mpeg;base64,") > 4
    linked = pages["link"].read_text("utf-8")
    sources = re.findall(r'<audio[^>]* src="([^"]+)"', linked)
    assert len(sources) == text.count("<audio")
    assert all((pages["link"].parent / source).is_file() and source.startswith("../") for source in sources)


@pytest.mark.parametrize("audio", ["embed", "link"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_plays_and_is_accessible(chromium: Browser, pages: dict[str, Path], audio: str, scheme: str) -> None:
    context = chromium.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    page.goto(pages[audio].as_uri())
    assert HOSTILE in page.inner_text("article >> nth=0")
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run()")
    assert [v["id"] for v in found["violations"]] == []
    context.close()


@pytest.mark.parametrize("audio", ["embed", "link"])
def test_the_policy_of_the_page_lets_its_sound_through(chromium: Browser, pages: dict[str, Path], audio: str) -> None:
    context = chromium.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(pages[audio].as_uri())
    load = """async () => { const a = document.querySelector('audio'); a.preload = 'metadata'; a.load();
      return await new Promise(done => { a.onloadedmetadata = () => done(a.duration);
        a.onerror = () => done(-1); setTimeout(() => done(-2), 5000); }); }"""
    assert page.evaluate(load) == pytest.approx(0.1, abs=0.1)
    assert all(url.startswith(("file:", "data:")) for url in asked)
    context.close()
