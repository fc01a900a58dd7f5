"""Make what the root README shows: its pictures in ``.github/pictures`` and its printed results.

    python tests/pictures.py                  pictures, and the ranking of tests/data/ratings
    python tests/pictures.py --demo FOLDER    only the table of tasks, of what ``vaeval demo FOLDER`` scored

Printed results stand in README.md between ``<!-- NAME -->`` and ``<!-- /NAME -->``; ``tests/test_readme.py`` compares
them with a fresh run.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from vaeval_tasks.scoring.latency import LATENCIES
from vaeval_tasks.scoring.results import read_results
from vaeval_tasks.scoring.results_text import results_text
from vaeval_tasks.store.run import RunDir

TESTS = Path(__file__).resolve().parent
README = TESTS.parent / "README.md"
PICTURES = TESTS.parent / ".github" / "pictures"
RANKING = "vaeval rank tests/data/ratings/agresti_ribbon_pairs.csv --columns score=rating --ci iid"
"""The command whose output the README shows; it is run at the top of the repository."""
STUDY = "--prompts 120 --raters 80 --mos-raters 60 --seed 1"
VIEW = {"width": 1100, "height": 1000}
"""Of the window, in CSS pixels."""
SCALE, MARGIN = 1.5, 12
"""Pixels of a picture to a CSS pixel; CSS pixels below what is shown."""
COLOURS = 48
"""Of a picture's palette: text on plain grounds needs few."""


def run_verb(*arguments: str) -> str:
    """Run a verb in a process of its own and return what it prints; a failure is raised."""
    command = [sys.executable, "-m", "vaeval_tasks.cli", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=TESTS.parent).stdout


def ranking_block() -> str:
    """Return the command of the ranking, and what it prints now."""
    return f"$ {RANKING}\n{run_verb(*RANKING.split()[1:]).rstrip()}"


def demo_block(folder: Path) -> str:
    """Return the table of tasks of a demo's folder, without the signatures of its scorers and the machine's times."""
    text = results_text(read_results(RunDir(folder / "tasks")))
    times = ("latency ", *(f"  {label} " for label in LATENCIES.values()))
    lines = [line.rstrip() for line in text.splitlines() if not line.startswith(("scored with ", *times))]
    return "\n".join(["$ vaeval demo", *lines])


def block(readme: str, name: str) -> str:
    """Return the printed result between the markers of this name.

    Raises:
        ValueError: the README has no such markers, or has them twice.
    """
    found = re.findall(_MARKED.format(name=name), readme, re.DOTALL)
    if len(found) != 1:
        raise ValueError(f"README.md has {len(found)} blocks {name!r}; it must have one")
    return str(found[0][1])


def with_block(readme: str, name: str, text: str) -> str:
    """Return the README with another printed result between the markers of this name."""
    block(readme, name)
    return re.sub(_MARKED.format(name=name), lambda m: f"{m[1]}{text}{m[3]}", readme, flags=re.DOTALL)


_MARKED = r"(<!-- {name} -->\n```text\n)(.*?)(\n```\n<!-- /{name} -->)"


def board_pictures(browser: Browser, work: Path) -> None:
    """Draw the top of the board of a simulated study, light and dark."""
    run_verb("simulate", str(work / "study"), *STUDY.split())
    run_verb("report", str(work / "study"), "--splits", "200", "--resamples", "200")
    for scheme in ("light", "dark"):
        page = browser.new_page(viewport=VIEW, color_scheme=scheme, device_scale_factor=SCALE)
        page.goto((work / "study" / "site" / "index.html").as_uri())
        save(page, f"board-{scheme}.png", down_to=page.locator("table.ranking").first)
        page.close()


def rating_picture(browser: Browser, work: Path) -> None:
    """Take the rating page at its first questions, after both recordings were heard."""
    tests = collect_tests()
    run = tests.make_run(work / "run", prompts=1, configs=2, seconds=2.0)
    with tests.served_run(run) as study:
        rater = study.rater()
        context = browser.new_context(viewport=VIEW, device_scale_factor=SCALE)
        context.add_cookies([{"name": n, "value": v, "url": study.url} for n, v in rater.http.cookies.items()])
        page = context.new_page()
        page.goto(f"{study.url}/task")
        for clip in page.locator(".clip").all():
            expect(clip.locator(".play")).to_be_enabled()
            clip.locator(".play").click()
            expect(clip.locator(".state")).to_have_text("✓ Heard", timeout=20_000)
        questions = page.locator("form.part:visible .question")
        for number, step in enumerate((1, 2)):
            questions.nth(number).locator(".step").nth(step).click()
        page.mouse.move(0, 0)
        save(page, "rating-page.png", down_to=questions.nth(1))
        context.close()


def save(page: Page, name: str, *, down_to: Locator) -> None:
    """Save the top of a page, down to an element, as a small picture: few colours, so that text stays sharp."""
    page.evaluate("window.scrollTo(0, 0)")
    box = down_to.bounding_box()
    assert box is not None
    shown = {"x": 0, "y": 0, "width": VIEW["width"], "height": box["y"] + box["height"] + MARGIN}
    shot = Image.open(io.BytesIO(page.screenshot(clip=shown))).convert("RGB")
    small = shot.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    PICTURES.mkdir(parents=True, exist_ok=True)
    small.save(PICTURES / name, optimize=True)


def collect_tests() -> ModuleType:
    """Return the module that serves a small made run in the tests of the rating app."""
    spec = importlib.util.spec_from_file_location("collect_conftest", TESTS / "collect" / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def chromium() -> Iterator[Any]:
    """Start Debian's Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--mute-audio"])
        try:
            yield browser
        finally:
            browser.close()


def main() -> None:
    """Make everything, or only the demo's table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--demo", type=Path, metavar="FOLDER", help="the folder of a finished vaeval demo")
    demo = parser.parse_args().demo
    name, text = ("ranking", ranking_block()) if demo is None else ("demo", demo_block(demo))
    README.write_text(with_block(README.read_text("utf-8"), name, text), "utf-8")
    if demo is None:
        with tempfile.TemporaryDirectory() as work, chromium() as browser:
            rating_picture(browser, Path(work))
            board_pictures(browser, Path(work))


if __name__ == "__main__":
    main()
