"""Metrics are records: adding one touches one file, and everything that lists metrics follows."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import vaeval_tasks.scoring
from vaeval_tasks.analysis.load.entities import Level
from vaeval_tasks.analysis.load.measured import load_measured
from vaeval_tasks.analysis.load.ratings import load_ratings
from vaeval_tasks.analysis.load.source import Source
from vaeval_tasks.analysis.predict.predictor_tables import score_table
from vaeval_tasks.analysis.predict.system_scores import system_scores
from vaeval_tasks.audio import Clip, write_wav
from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.profiles import Scorers
from vaeval_tasks.scoring import metrics
from vaeval_tasks.scoring.metric import Direction, MetricFamily
from vaeval_tasks.scoring.registry import (
    direction_of,
    factors,
    family_metrics,
    find_metric,
    label_of,
    metric_table,
    response_metrics,
)
from vaeval_tasks.scoring.results import RunResults, read_results, score_run
from vaeval_tasks.scoring.results_text import results_text
from vaeval_tasks.stats import Draws
from vaeval_tasks.store.answers import latest
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Item, Rating, Response, ResponseStatus

README = Path(vaeval_tasks.scoring.__file__).parent / "README.md"
CONFIGS = ("a/x/y", "b/x/y")
Adder = Callable[[str, str], None]


@pytest.fixture
def add_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Adder]:
    """Put modules beside those of ``scoring/metrics``, as one who adds a metric does."""
    folder = tmp_path / "added"
    folder.mkdir()
    monkeypatch.setattr(metrics, "__path__", [*metrics.__path__, str(folder)])
    added = []

    def add(name: str, text: str) -> None:
        (folder / f"{name}.py").write_text(text)
        added.append(name)
        response_metrics.cache_clear()

    yield add
    response_metrics.cache_clear()
    for name in added:
        sys.modules.pop(f"{metrics.__name__}.{name}", None)


def recipe() -> str:
    """The module that the README shows."""
    found = re.search(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def table(rows: list[dict[str, str]]) -> str:
    lines = [tuple(rows[0]), ("---",) * len(rows[0]), *(tuple(row.values()) for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def test_the_table_of_the_readme_is_that_of_the_records() -> None:
    assert table(metric_table()) in README.read_text("utf-8")


def test_a_score_that_is_none_of_ours_is_called_by_its_key_and_has_no_direction() -> None:
    assert (label_of("wer"), direction_of("wer")) == ("Modified WER", Direction.less)
    assert (label_of("loudness"), direction_of("loudness")) == ("loudness", Direction.neither)
    assert find_metric("loudness") is None


def test_passes_and_columns_are_in_order() -> None:
    assert [m.key for m in family_metrics(MetricFamily.sound)] == ["audible", "mos", "wer", "similarity", "emotion"]
    assert list(factors()) == ["content", "speech", "consistency", "similarity"]
    assert list(factors("speaking_safety")) == ["content", "speech", "consistency"]


def scores_of(run: RunDir, key: str) -> dict[str, float | None]:
    return {s.response_id: s.value for s in run.scores() if s.metric == key}


class Ears:
    signature = "ears"

    def transcribe(self, clips: list[Clip]) -> list[str]:
        return ["I would rather not." for _ in clips]

    def score(self, clips: list[Clip]) -> list[Scored]:
        return [Scored(value=4.0) for _ in clips]

    def judge(self, items: list[object]) -> list[Scored]:
        return [Scored(value=1.0) for _ in items]


SCORERS = Scorers(judge=Ears(), speech=Ears(), recogniser=Ears(), speaker=None, emotion=None)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """Two rated configurations that answered two prompts and one task each; half of what b says is clipped."""
    run = RunDir(tmp_path / "run")
    wave = 0.5 * np.sin(np.arange(8000) / 4).astype(np.float32)
    write_wav(run.root / "a.wav", Clip(wave, 8000))
    write_wav(run.root / "b.wav", Clip(np.where(np.arange(8000) < 4000, np.float32(1), wave), 8000))
    rows = [
        Response(
            response_id=f"{prompt}{config[0]}", prompt_id=prompt, config_id=config, status=ResponseStatus.ok,
            text="I would rather not.", path=f"{config[0]}.wav", task="speaking_safety" if prompt == "i0" else "",
        )
        for prompt in ("i0", "p0", "p1")
        for config in CONFIGS
    ]  # fmt: skip
    run.write("items", [Item(item_id="i0", task="speaking_safety")], made_by="test")
    run.write("responses", rows, made_by="test")
    ratings = [
        Rating(prompt_id=prompt, a=CONFIGS[0], b=CONFIGS[1], rater_id=rater, rubric="overall", score=1)
        for prompt in ("p0", "p1")
        for rater in ("r0", "r1")
    ]
    run.write("ratings", ratings, made_by="test")
    return run


def test_a_metric_is_one_file(run: RunDir, add_module: Adder) -> None:
    score_run(run, latest(run.responses()), SCORERS)
    before = read_results(run)
    add_module("clipped", recipe())
    score_run(run, latest(run.responses()), SCORERS)
    # scored, where it was not yet
    found = scores_of(run, "clipped")
    assert {name: value for name, value in found.items() if name.endswith("a")} == {"i0a": 0, "p0a": 0, "p1a": 0}
    assert all(found[name] == pytest.approx(0.5, abs=0.001) for name in ("i0b", "p0b", "p1b"))
    # in the results: a factor of its own that changes no score
    for config, expected in zip(CONFIGS, (100, 50), strict=True):
        task = read_results(run).configs[config].tasks["speaking_safety"].scores
        estimate = task.factors["unclipped"]
        assert estimate is not None
        assert estimate.value == pytest.approx(expected, abs=0.1)
        assert task.score == before.configs[config].tasks["speaking_safety"].scores.score
        assert task.signatures["unclipped"] == "clipped peak>=0.999"
    # in the printed table
    text = results_text(read_results(run))
    assert "unclipped" in text.splitlines()[1]
    assert "scored with unclipped: clipped peak>=0.999" in text
    # beside people's ratings, with its label and direction
    source = Source(path=run.root)
    ratings = load_ratings(source)
    measured = {m.key: m for m in load_measured(source, ratings)}
    assert (measured["clipped"].label, measured["clipped"].direction) == ("Clipped", "lower")
    assert measured["clipped"].sign == -1
    found = system_scores(ratings, list(measured.values()), Level.model, Draws(replicates=20, seed=0))
    rows = score_table(found).rows
    assert {row["better"] for row in rows if row["metric"] == "clipped"} == {"lower"}


def test_a_factor_that_multiplies_is_in_the_score(run: RunDir, add_module: Adder) -> None:
    add_module("clipped", recipe().replace("FactorUse.shown", "FactorUse.product"))
    plain, half = score_run(run, latest(run.responses()), SCORERS)
    assert plain.score == pytest.approx(80)  # content 100, MOS 4, no errors
    assert half.score == pytest.approx(40, abs=0.1)


def test_results_stay_readable_when_a_metric_is_gone(run: RunDir, add_module: Adder) -> None:
    add_module("clipped", recipe())
    score_run(run, latest(run.responses()), SCORERS)
    written = read_results(run)
    response_metrics.cache_clear()
    metrics.__path__.pop()
    assert "clipped" not in {m.key for m in response_metrics()}
    assert read_results(run) == written
    assert RunResults.from_json(written.to_json()) == written
    assert "unclipped" not in results_text(written).splitlines()[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('key="clipped"', 'key="wer"'), "two metrics are called 'wer'"),
        (('name="unclipped"', 'name="speech"'), "two metrics are called 'speech'"),
        (('rule="clipped peak>=0.999",', ""), "'clipped' has neither a backend nor a rule"),
    ],
)
def test_a_record_that_cannot_stand_is_refused(add_module: Adder, change: tuple[str, str], message: str) -> None:
    assert change[0] in recipe()
    add_module("clipped", recipe().replace(*change))
    with pytest.raises(ValueError, match=message):
        response_metrics()
