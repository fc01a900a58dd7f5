"""Fixtures of the board's tests: simulated runs, a reader of the page's tables, and a browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser

from vaeval_tasks.simulate import Shape, simulate, write_study
from vaeval_tasks.simulate.published_study import CONFIGS
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Response, ResponseStatus, Score


@pytest.fixture(scope="session")
def published(repository: Path) -> Path:
    """The published figures (source: tests/data/README.md)."""
    return repository / "tests" / "data" / "dai_s2s_st_published.csv"


def add_scores(run: RunDir, configs: list[str], prompts: list[str]) -> None:
    """Give every response its times and two scores; one configuration lacks the second, one was asked in two ways."""
    rng = np.random.default_rng(0)
    responses, scores = [], []
    for number, prompt in enumerate(prompts):
        for i, config in enumerate(configs):
            name = f"{prompt}:{config}"
            first = float(0.5 + 0.1 * i + rng.exponential(0.5))
            responses.append(
                Response(
                    response_id=name,
                    prompt_id=prompt,
                    config_id=config,
                    status=ResponseStatus.ok,
                    text="a b",
                    first_audio_s=first,
                    total_s=first + 2,
                    speech_pace="spoken" if i == 1 and number % 2 else "whole",
                )
            )
            scores.append(
                Score(
                    response_id=name, metric="mos", value=float(3 + 0.05 * i + rng.normal(0, 0.2)), signature="utmos|1"
                )
            )
            missing = i == 0
            scores.append(
                Score(
                    response_id=name,
                    metric="wer",
                    value=None if missing else float(rng.uniform(0, 0.2)),
                    signature="asr|1",
                    detail="no audio" if missing else "",
                )
            )
    run.write("responses", responses, made_by="test")
    run.write("scores", scores, made_by="test")


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    """A small simulated study of three rubrics, with automatic scores."""
    root = tmp_path_factory.mktemp("small")
    study = simulate(Shape(prompts=60, raters=24, mos_raters=20, mos_per_sample=1.0), seed=4)
    write_study(study, root)
    run = RunDir(root)
    kept = [r for r in run.read("ratings") if r.rubric in ("overall", "naturalness", "reasoning")]
    run.write("ratings", kept, made_by="test")
    add_scores(run, [c.config_id for c in CONFIGS], [p.prompt_id for p in study.prompts])
    return run


@dataclass
class Page:
    """What a reader of the page's source sees."""

    tables: dict[str, list[list[list[str]]]] = field(default_factory=dict)
    """Per section or rubric id: its tables as rows of cell texts."""
    texts: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self._ids: list[tuple[str, str]] = []
        self._cell: list[str] | None = None
        self._skip = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known: dict[str, Any] = dict(attrs)
        if tag in ("section", "article"):
            self._ids.append((tag, known.get("id") or ""))
        if tag in ("style", "script", "svg"):
            self._skip += 1
        here = next((i for _, i in reversed(self._ids) if i), "")
        if tag == "table":
            self.page.tables.setdefault(here, []).append([])
        elif tag == "tr":
            self.page.tables[here][-1].append([])
        elif tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("section", "article") and self._ids:
            self._ids.pop()
        if tag in ("style", "script", "svg"):
            self._skip -= 1
        if tag in ("td", "th") and self._cell is not None:
            here = next(i for _, i in reversed(self._ids) if i)
            self.page.tables[here][-1][-1].append(" ".join(" ".join(self._cell).split()))
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._skip:
            return
        self.page.texts.append(data)
        if self._cell is not None:
            self._cell.append(data)


def read_page(html: str) -> Page:
    """Read the page's tables as a machine would."""
    reader = _Reader()
    reader.feed(html)
    return reader.page


@pytest.fixture(scope="session")
def reader() -> Any:
    """:func:`read_page`."""
    return read_page


@pytest.fixture(scope="session")
def chromium(browser: Browser) -> Browser:
    """The browser that all tests of the session share."""
    return browser
