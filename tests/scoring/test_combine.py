"""The combination reproduces the published scores, and intervals behave."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import score_coverage
from benchmarks.score_coverage import WORLDS
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks.scoring.combine import (
    ItemScores,
    TaskScores,
    combine,
    group_scores,
    product,
    signature_differences,
)
from vaeval_tasks.scoring.suite import FAMILIES, TASKS

DATA = Path(__file__).parent.parent / "data"
# names of the overall table that differ from those of the cell table
ALIASES = {
    "GPT-4o-Audio (2025-06-03)": "GPT-4o-Audio",
    "GLM-4-Voice-9B": "glm-4-voice-9b",
    "Kimi-Audio-7B-Instruct": "Kimi-Audio-7B",
    "LLaMA-Omni2-32B-Bilingual": "LLaMA-Omni2-32B",
    "Step-Audio (130B)": "Step-Audio-130B",
}
WRONG = {("mini-omni2", "viewing_multi_discipline"): 2.99, ("moshika-vis", "viewing_multi_discipline"): 2.99}
"""Scores of the paper that are not the product of its factors, as its overall table prints them."""
FACTORS = ("content", "speech", "consistency")


def scored(*, audible: bool = False, failed: bool = False, **values: float | None) -> ItemScores:
    return ItemScores(values={"audible": float(audible), **values}, failed=failed)


GOOD = scored(content=1.0, audible=True, mos=4.0, wer=0.1, similarity=0.5)


def cells() -> list[dict[str, str]]:
    with (DATA / "voiceassistant_eval_published.csv").open() as file:
        return list(csv.DictReader(file))


def test_published_cells() -> None:
    """268 of the 270 complete cells; the other two are errors of the paper."""
    complete = [row for row in cells() if all(row[k] for k in ("content", "speech", "consistency", "score"))]
    off = {
        (row["model"], row["task"])
        for row in complete
        if abs(product({k: float(row[k]) for k in FACTORS}) - float(row["score"])) > 0.06
    }
    assert len(complete) == 270
    assert off == set(WRONG)


def published(model: str) -> dict[str, TaskScores]:
    rows = {row["task"]: row for row in cells() if row["model"] == model}
    return {
        task: TaskScores(task=task, n=1, score=WRONG.get((model, task), product({k: float(row[k]) for k in FACTORS})))
        for task, row in rows.items()
        if all(row[k] for k in FACTORS)
    }


def overall_rows() -> list[dict[str, str]]:
    with (DATA / "voiceassistant_eval_overall.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("row", overall_rows(), ids=lambda row: row["model"])
def test_published_overall_rows(row: dict[str, str]) -> None:
    groups = group_scores(published(ALIASES.get(row["model"], row["model"])))
    for name in ("listening", "speaking", "viewing", "overall"):
        value = groups[name].value
        if not row[name]:
            assert value is None, name
        else:
            assert value == pytest.approx(float(row[name]), abs=0.0201), name


def test_a_task_by_hand() -> None:
    """Four items: content (1, 0, unjudged, 1), MOS (4, 3, missing, 2), WER' (0, 0.5, missing, 0.1)."""
    items = [
        scored(content=1, audible=True, mos=4, wer=0),
        scored(content=0, audible=True, mos=3, wer=0.5),
        scored(content=None, audible=False, failed=True),
        scored(content=1, audible=True, mos=2, wer=0.1),
    ]
    found = combine("speaking_safety", items)
    content, speech, consistency = (found.factors[name] for name in FACTORS)
    assert content is not None
    assert speech is not None
    assert consistency is not None
    assert found.unrounded is not None
    assert found.factors["similarity"] is None
    assert content.value == pytest.approx(100 * 2 / 3)
    assert content.n == 3
    assert speech.value == pytest.approx(20 * 9 / 4)
    assert consistency.value == pytest.approx(100 * (1 + 0.5 + 0 + 0.9) / 4)
    # rounded: content 66.7, mean MOS 2.25 -> 2.2 (ties to even) -> 44, consistency 60.0
    assert found.score == pytest.approx(66.7 * 44 * 60 / 1e4)
    assert found.unrounded.value == pytest.approx(66.6667 * 45 * 60 / 1e4, abs=1e-3)
    assert (found.n, found.missing, found.unjudged, found.failed, found.unscored) == (4, 1, 1, 1, 0)


def test_roleplay_weighs_each_verdict_by_similarity() -> None:
    items = [
        scored(content=1, audible=True, mos=4, wer=0, similarity=0.8),
        scored(content=1, audible=True, mos=4, wer=0, similarity=0.6),
        scored(content=0, audible=True, mos=4, wer=0, similarity=0.9),
        scored(content=1, audible=False),
    ]
    found = combine("speaking_roleplay", items)
    content, similarity = found.factors["content"], found.factors["similarity"]
    assert content is not None
    assert similarity is not None
    assert content.value == pytest.approx(100 * (0.8 + 0.6 + 0 + 0) / 4)
    assert similarity.value == pytest.approx(100 * (0.8 + 0.6 + 0.9 + 0) / 4)


def test_what_is_absent_says_why() -> None:
    nothing = combine("speaking_safety", [])
    assert nothing.reason == "the model does not take such requests"
    assert nothing.factors == dict.fromkeys(("content", "speech", "consistency", "similarity"))
    unjudged = combine("speaking_safety", [scored(audible=True, mos=4, wer=0)] * 2)
    assert (unjudged.score, unjudged.unjudged, unjudged.reason) == (None, 2, "all 2 answers are unjudged")
    assert unjudged.factors["speech"] is not None
    no_text = combine("speaking_safety", [scored(content=1, audible=True, mos=4)])
    assert (no_text.unscored, no_text.reason) == (1, "no answer has a value for consistency")


def test_groups_are_absent_where_a_member_is() -> None:
    tasks = {task: combine(task, [GOOD] * 3) for task in TASKS}
    whole = group_scores(tasks)
    assert whole["overall"].value == pytest.approx(sum(whole[f].value or 0 for f in FAMILIES) / 3)
    del tasks["listening_music"]
    part = group_scores(tasks)
    assert part["listening"].reason == "not run: listening_music"
    assert part["overall"].reason == "listening: not run: listening_music"
    assert part["speaking"].value == whole["speaking"].value


def test_different_scorers_are_never_averaged() -> None:
    tasks = {t: combine(t, [GOOD], signatures={"speech": "a"}) for t in TASKS}
    tasks["listening_sound"] = combine("listening_sound", [GOOD], signatures={"speech": "b"})
    groups = group_scores(tasks)
    assert groups["listening"].value is None
    assert "speech by different scorers: a (listening_general" in groups["listening"].reason
    assert groups["speaking"].value is not None
    assert groups["overall"].value is None
    for task in FAMILIES["viewing"]:
        tasks[task] = combine(task, [GOOD], signatures={"speech": "c"})
    assert len(signature_differences(list(tasks.values()))) == 1


def test_families_of_different_scorers_have_no_overall() -> None:
    tasks = {t: combine(t, [GOOD], signatures={"speech": t.partition("_")[0]}) for t in TASKS}
    groups = group_scores(tasks)
    assert all(groups[f].value is not None for f in FAMILIES)
    assert groups["overall"].value is None
    assert groups["overall"].reason.startswith("speech by different scorers")


item_scores = st.builds(
    scored,
    content=st.sampled_from([None, 0.0, 1.0]),
    audible=st.booleans(),
    mos=st.none() | st.floats(1, 5),
    wer=st.none() | st.floats(0, 1),
    similarity=st.none() | st.floats(0, 1),
)


@given(st.lists(item_scores, min_size=1, max_size=8), st.sampled_from(["speaking_roleplay", "speaking_safety"]))
def test_intervals_hold_what_is_printed_and_stay_on_the_scale(items: list[ItemScores], task: str) -> None:
    found = combine(task, items, min_judged=0)
    for estimate in (*found.factors.values(), found.unrounded):
        if estimate is not None:
            assert 0 <= estimate.low <= estimate.value <= estimate.high <= 100 + 1e-9
            assert estimate.low < estimate.high
            assert 0 <= estimate.se <= 50
    if found.score is not None:
        assert found.unrounded is not None
        assert found.unrounded.low <= found.score <= found.unrounded.high
    assert (found.score is None) == bool(found.reason)


@given(st.permutations(range(6)))
def test_order_of_items_does_not_change_the_estimate(order: list[int]) -> None:
    items = [scored(content=i % 2, audible=True, mos=1 + i / 2, wer=i / 10) for i in range(6)]
    shuffled = combine("speaking_safety", [items[i] for i in order])
    assert shuffled.score == pytest.approx(combine("speaking_safety", items).score)


def test_a_share_has_the_textbook_standard_error() -> None:
    """Of a share p over n items the standard error is sqrt(p (1 - p) / n) = 100 sqrt(.25 / 400) = 2.5."""
    content = combine("speaking_safety", half_right(400)).factors["content"]
    assert content is not None
    assert content.se == pytest.approx(2.5, rel=0.01)
    assert content.high - content.low == pytest.approx(2 * 1.96 * 2.5, rel=0.01)


def half_right(n: int, *, documents: int | None = None) -> list[ItemScores]:
    """Every other document is right, and every item with it."""
    of = [i * (documents or n) // n for i in range(n)]
    return [
        replace(scored(content=d % 2, audible=True, mos=4 + i % 2 / 10, wer=i % 3 / 30), document=str(d))
        for i, d in enumerate(of)
    ]


def test_items_of_one_document_are_not_independent() -> None:
    """400 items of 40 documents that are right or wrong as a whole say as much as 40 items."""
    apart, together = (combine("speaking_safety", half_right(400, documents=d)) for d in (400, 40))
    forty = combine("speaking_safety", half_right(40))
    widths = [f.factors["content"].high - f.factors["content"].low for f in (apart, together, forty)]  # type: ignore[union-attr]
    assert widths[0] * 3 < widths[1]
    assert widths[1] == pytest.approx(widths[2], rel=0.06)


@pytest.mark.parametrize("n", [1, 5, 20])
@pytest.mark.parametrize("right", [0.0, 1.0])
def test_nothing_collapses_where_all_answers_are_alike(n: int, right: float) -> None:
    """Wilson's interval of 0 or n of n ends at n / (n + 3.84)."""
    found = combine("speaking_safety", [scored(content=right, audible=True, mos=4, wer=0)] * n)
    content, whole = found.factors["content"], found.unrounded
    assert content is not None
    assert whole is not None
    assert content.high - content.low == pytest.approx(100 * (1 - n / (n + 1.96**2)), rel=1e-3)
    assert whole.high - whole.low >= 0.5 * (content.high - content.low)


def test_a_silent_model_has_no_score_of_exactly_nothing() -> None:
    found = combine("speaking_safety", [scored(content=1)] * 20)
    assert found.score == 0
    assert found.unrounded is not None
    assert (found.unrounded.low, found.unrounded.high) == (0, pytest.approx(2.6, abs=0.5))


def test_few_verdicts_make_no_score() -> None:
    """1 verdict of 51 made content 100 [100, 100] and a score."""
    unjudged = scored(audible=True, mos=4, wer=0.1)
    one = combine("speaking_safety", [GOOD] + [unjudged] * 50)
    assert (one.score, one.unrounded, one.factors["content"], one.unjudged) == (None, None, None, 50)
    assert one.reason == "content is known for 1 of 51 answers, fewer than 50 % (min_judged)"
    assert one.thin
    assert combine("speaking_safety", [GOOD] + [unjudged] * 50, min_judged=0.01).score is not None
    half = combine("speaking_safety", [GOOD, unjudged] * 10)
    assert (half.score is not None, half.coverage, half.thin) == (True, 0.5, True)
    assert not combine("speaking_safety", [GOOD] * 18 + [unjudged] * 2).thin
    assert combine("speaking_safety", [GOOD] * 17 + [unjudged] * 3).thin


def test_a_group_says_the_coverage_of_its_thinnest_task() -> None:
    tasks = {task: combine(task, [GOOD] * 20) for task in TASKS}
    tasks["listening_music"] = combine("listening_music", [GOOD] * 15 + [scored(audible=True, mos=4, wer=0)] * 5)
    groups = group_scores(tasks)
    assert [groups[g].coverage for g in ("listening", "speaking", "overall")] == [0.75, 1.0, 0.75]
    for group in groups.values():
        assert group.low is not None
        assert group.value is not None
        assert group.high is not None
        assert group.low < group.value < group.high


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Over 9 worlds of the benchmark, 5 to 100 items: 93 to 97.5 % of 95 % intervals of the score and of content."""
    rng = np.random.default_rng(12)
    held = []
    for world in WORLDS[::2]:
        for n in (5, 20, 100):
            for _ in range(40):
                held.append([*score_coverage.held(combine(world.task, world.items(n, rng)), world.truth)])
    content, speech, consistency, score = np.mean(held, axis=0)
    assert 0.93 <= score <= 0.975
    assert 0.92 <= content <= 0.98
    # where everything was heard the share that is not heard may still be as large as Wilson says
    assert 0.94 <= min(speech, consistency) <= max(speech, consistency) <= 0.995
