"""What a board shows of a run with audio and a judge, and what it says of a run that lacks things."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaeval_tasks.audio import Clip, write_wav
from vaeval_tasks.report.figures import axis_of, branches, row_shades
from vaeval_tasks.report.records import RubricTree
from vaeval_tasks.report.render import render
from vaeval_tasks.report.study_board import ReportSettings, study_board
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Pair, Prompt, Rater, Rating, Response, ResponseStatus

CONFIGS = tuple(f"m{i}/default/v" for i in range(4))
QUICK = ReportSettings(resamples=20, splits=10)


def ratings_of(pairs: list[Pair], raters: list[str], rng: np.random.Generator, judge: bool = False) -> list[Rating]:
    rows = []
    for pair in pairs:
        for rater in raters:
            for first in (True, False) if judge else (True,):
                gap = int(pair.b[1]) - int(pair.a[1])
                score = int(np.clip(np.round(0.7 * gap + rng.normal(0, 1.5)), -3, 3))
                rows.append(
                    Rating(
                        prompt_id=pair.prompt_id,
                        a=pair.a,
                        b=pair.b,
                        rater_id=rater,
                        rubric="overall",
                        score=score,
                        left_is_a=first,
                        assignment_id=f"{pair.pair_id}{first}",
                    )
                )
    return rows


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    """Six prompts, the first two public; four configurations with audio; people and a judge."""
    run = RunDir(tmp_path_factory.mktemp("heard"))
    rng = np.random.default_rng(0)
    clip = Clip(np.float32(0.3) * np.sin(np.arange(4000) / 5).astype(np.float32), 8000)
    prompts, responses, pairs = [], [], []
    for p in range(6):
        path = f"audio/prompts/p{p}.wav"
        write_wav(run.root / path, clip)
        prompts.append(
            Prompt(prompt_id=f"p{p}", category="c", difficulty="L1", path=path, public=p < 2, script=f"script {p}")
        )
        for c in CONFIGS:
            path = f"audio/responses/p{p}-{c[:2]}.wav"
            failed = c == CONFIGS[3] and p == 0
            if not failed:
                write_wav(run.root / path, clip)
            responses.append(
                Response(
                    response_id=f"p{p}{c}",
                    prompt_id=f"p{p}",
                    config_id=c,
                    status=ResponseStatus.timeout if failed else ResponseStatus.ok,
                    path="" if failed else path,
                    text=f"answer of {c}",
                )
            )
        pairs += [
            Pair(pair_id=f"{p}{i}{j}", prompt_id=f"p{p}", a=CONFIGS[i], b=CONFIGS[j])
            for i in range(4)
            for j in range(i + 1, 4)
        ]
    for name, rows in (("prompts", prompts), ("responses", responses), ("pairs", pairs)):
        run.write(name, rows, made_by="test")
    run.write("ratings", ratings_of(pairs, ["r0", "r1", "r2"], rng), made_by="test")
    run.write("raters", [Rater(rater_id=f"r{i}", gender="F", age=30 + i) for i in range(3)], made_by="test")
    run.write("judge_ratings", ratings_of(pairs, ["judge:m:1"], rng, judge=True), made_by="judge")
    run.write("judges", [Rater(rater_id="judge:m:1", kind="judge")], made_by="judge")
    return run


def test_only_public_prompts_can_be_played(heard: RunDir) -> None:
    board = study_board(heard, QUICK)
    assert [s.prompt_id for s in board.samples] == ["p0", "p1"]
    assert [len(s.answers) for s in board.samples] == [3, 4]  # one answer timed out
    html = render(board)
    assert html.count("<audio") == 2 + 3 + 4
    assert "script 1" in html
    for private in ("script 2", "script 3", "script 4", "script 5"):
        assert private not in html
    assert study_board(heard, replace(QUICK, samples=0)).samples == ()


def test_a_judge_is_shown_apart(heard: RunDir, reader: Any) -> None:
    board = study_board(heard, QUICK)
    page = reader(render(board))
    agreement, boards = page.tables["judges"]
    assert agreement[1][:2] == ["Overall preference", "judge:m:1"]
    people = page.tables["overall"][0][1:]
    assert [row[2] for row in boards[1:]] == [row[1].split()[0] for row in people]
    assert {row[-2] for row in people} == {"3"}  # three raters: the judge is none of them
    assert not board.notices


def test_failed_requests_are_counted_on_the_card(heard: RunDir) -> None:
    (heard.root / "configs.yaml").write_text(
        "configurations:\n"
        + "".join(f"- {{model: m{i}, provider: offline, thinking: default, voice: v}}\n" for i in range(4)),
        "utf-8",
    )
    cards = {card.model: card for card in study_board(heard, QUICK).cards}
    assert cards["m3"].counts == "5 ok, 1 timeout"
    assert cards["m0"].counts == "6 ok"
    (heard.root / "configs.yaml").unlink()


def left_out(run: RunDir) -> dict[str, str]:
    return dict(study_board(run, QUICK).left_out)


def copy(run: RunDir, root: Path, *names: str, change: Callable[[Rating], Rating | None] = lambda r: r) -> RunDir:
    """Copy some tables of a run, its ratings changed or dropped."""
    out = RunDir(root)
    for name in names:
        rows = run.read(name)
        kept = [c for c in map(change, rows) if c is not None] if name == "ratings" else rows
        out.write(name, kept, made_by="test")
    return out


def test_a_run_of_ratings_alone_says_what_it_lacks(heard: RunDir, tmp_path: Path) -> None:
    said = left_out(copy(heard, tmp_path, "ratings"))
    assert said["Mean opinion scores"] == "The run has no MOS ratings."
    assert said["Slices by category, difficulty and condition"] == "The run has no prompts."
    assert said["Automatic scores"].startswith("The run has no scores")
    assert said["Comments"] == "The run has no comments."
    assert said["Rater pool"] == "The run has no raters."
    assert said["Systems"] == "The run has no configs.yaml."
    assert said["Voices"] == "No model has two voices that were compared."
    assert "Rubric groups" in said
    assert str(tmp_path) not in " ".join(said.values())


def test_one_rater_gives_intervals_over_prompts_and_the_page_says_so(heard: RunDir, tmp_path: Path) -> None:
    run = copy(heard, tmp_path, "ratings", change=lambda r: r if r.rater_id == "r0" else None)
    board = study_board(run, QUICK)
    assert any("one rater" in notice and "over prompts alone" in notice for notice in board.notices)
    first = board.pages[0].standings[0]
    assert first.elo.value is not None
    assert first.elo.low is not None
    assert first.elo.high is not None
    assert first.elo.low < first.elo.value < first.elo.high
    assert first.rank_low == 1


def test_names_that_tell_no_models_are_ranked_as_they_are(heard: RunDir, tmp_path: Path) -> None:
    run = copy(heard, tmp_path, "ratings", change=lambda r: replace(r, a=r.a[:2], b=r.b[:2]))
    board = study_board(run, QUICK)
    assert set(board.entities) == {"m0", "m1", "m2", "m3"}
    assert dict(board.left_out)["Voices"] == "The names of the configurations tell no models and voices."


def test_slices_of_few_ratings_are_not_ranked(heard: RunDir, tmp_path: Path, reader: Any) -> None:
    run = copy(heard, tmp_path, "ratings")
    prompts = heard.read("prompts")
    run.write("prompts", [replace(p, category="rare" if p.prompt_id == "p0" else "c") for p in prompts], made_by="test")
    html = render(study_board(run, QUICK))
    rows = {row[0]: row for row in reader(html).tables["overall"][1] if row}
    assert rows["rare"] == ["rare", "18", "18 ratings, fewer than 30"]
    assert rows["c"][1] == "90"
    assert len(rows["c"]) == 2 + 4


def test_simulated_and_judge_raters_are_called_what_they_are(heard: RunDir, tmp_path: Path) -> None:
    run = copy(heard, tmp_path, "ratings")
    run.write("raters", [Rater(rater_id=f"r{i}", kind="simulated") for i in range(3)], made_by="test")
    assert study_board(run, QUICK).notices[0].startswith("Simulated raters.")


@pytest.mark.parametrize(
    ("values", "zero", "ends"),
    [([1149, 784, 751, 1168], 1000, (700, 1200)), ([0.93, -0.2], 0, (-0.25, 1)), ([], 1000, (999.9, 1000.1))],
)
def test_axes_are_round_and_hold_everything(values: list[float], zero: float, ends: tuple[float, float]) -> None:
    axis = axis_of(values, zero)
    assert (axis.low, axis.high) == pytest.approx(ends)
    assert zero in axis.ticks
    assert 3 <= len(axis.ticks) <= 8
    assert axis.at(axis.low) == "0.00%"
    assert axis.at(axis.high) == "100.00%"


def test_shades_compare_within_a_row() -> None:
    assert row_shades([1.0, 3.0, None, 2.0]) == (0.0, 1.0, None, 0.5)
    assert row_shades([2.0, 2.0]) == (None, None)
    assert row_shades([5.0]) == (None,)


def test_the_dendrogram_joins_neighbours() -> None:
    tree = RubricTree(labels=("a", "b", "c"), groups=(0, 1, 0), merges=((0, 2, 0.2), (1, 3, 0.8)))
    drawing = branches(tree)
    assert drawing.order == (1, 0, 2)
    assert [b.within for b in drawing.branches] == [True, False]
    low, high = drawing.branches
    assert (low.y1, low.y2) == (39.0, 65.0)  # rows 2 and 3 of 26 pixels: 1.5 and 2.5 of them
    assert (high.y1, high.y2) == (13.0, 52.0)
    assert float(high.x.rstrip("%")) > float(low.x.rstrip("%"))


def test_nothing_on_a_page_is_left_to_the_template_engine(heard: RunDir) -> None:
    html = render(study_board(heard, QUICK))
    assert not re.search(r"\{[{%]|[}%]\}", re.sub(r"<style>.*?</style>|<script.*?</script>", "", html, flags=re.S))


def test_making_a_board_loads_no_speech_model_and_no_harness() -> None:
    code = (
        "import sys, vaeval_tasks.report.study_board, vaeval_tasks.report.render, vaeval_tasks.judging.judge_pairs;"
        "print(sorted({'torch', 'transformers', 'lm_eval', 'datasets', 'evaluate'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
