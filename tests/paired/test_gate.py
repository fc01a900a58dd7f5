"""The gate: 1 on a real regression only, files that CI reads, and no verdict where nothing can be compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from paired.conftest import TASK, drawn

from vaeval_tasks.cli import main
from vaeval_tasks.paired.gate_check import GateOutcome, check_gate
from vaeval_tasks.paired.gate_files import gate_markdown, junit, junit_error
from vaeval_tasks.paired.sides import read_sides
from vaeval_tasks.store.run import RunDir

Make = Callable[..., RunDir]
OTHER = "speaking_assistant"


def code(*words: str) -> int:
    try:
        return main(["gate", *words, "--resamples", "999"])
    except SystemExit as left:
        return int(str(left.code))


@pytest.fixture
def fallen(scored_run: Make) -> tuple[str, str]:
    """A run that is much worse in one of two tasks, and its baseline."""
    base = scored_run("base", {TASK: drawn(1, 60, right=0.9), OTHER: drawn(2, 40)})
    new = scored_run("new", {TASK: drawn(3, 60, right=0.3), OTHER: drawn(2, 40)})
    return str(new.root), str(base.root)


def test_a_regression_ends_with_1_one_line_and_files(
    fallen: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, base = fallen
    files = ("--junit", str(tmp_path / "gate.xml"), "--summary", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("before\n")
    assert code(run, "--baseline", base, *files) == 1
    out = capsys.readouterr().out
    assert out.startswith("regression: speaking_safety -")
    assert (out.count("\n"), "speaking_assistant" in out) == (1, False)
    (suite,) = ET.parse(tmp_path / "gate.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    cases = {case.get("name"): case for case in suite}
    failure = cases[TASK].find("failure")
    assert failure is not None
    assert "60 items" in (failure.get("message") or "")
    assert cases[OTHER].find("failure") is None
    text = (tmp_path / "summary.md").read_text()
    assert text.startswith("before\n### vaeval gate: regression: speaking_safety")
    assert "| **regression** speaking_safety |" in text
    assert "items flipped for the worse" in text


def test_no_regression_ends_with_0(fallen: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    run, base = fallen
    assert code(base, "--baseline", run) == 0  # better is no regression
    assert capsys.readouterr().out.startswith("ok: no drop is shown (base/default/default against new/default/default")
    assert code(base, "--baseline", base) == 0
    assert code(run, "--baseline", base, "--tasks", OTHER) == 0
    assert code(run, "--baseline", base, "--margin", "99") == 0
    assert "no drop of more than 99 points" in capsys.readouterr().out


def test_one_quantity_can_be_checked(scored_run: Make) -> None:
    base = scored_run("base", {TASK: drawn(1, 40, mos=4.5)})
    new = scored_run(
        "new", {TASK: [{**a, "mos": a["mos"] - 0.5 - 0.01 * i} for i, a in enumerate(drawn(1, 40, mos=4.5))]}
    )
    words = (str(new.root), "--baseline", str(base.root))
    assert code(*words, "--on", "speech") == 1
    assert code(*words, "--on", "content", "--on", "consistency") == 0


def test_few_items_pass_and_say_what_they_could_find(scored_run: Make, tmp_path: Path) -> None:
    base = scored_run("base", {TASK: drawn(1, 3, right=1)})
    new = scored_run("new", {TASK: drawn(2, 3, right=0)})
    result = check_gate(read_sides(new)[0], read_sides(base)[0])
    (check,) = result.checks
    assert check.outcome is GateOutcome.passed  # 2^3 exchanges: p is 1/8 at best
    assert check.p == pytest.approx(1 / 8)
    assert ", finds " in check.said


def test_what_cannot_be_tested_is_skipped(scored_run: Make) -> None:
    unjudged = [{**a, "content": None} for a in drawn(1, 6)]
    base = scored_run("base", {TASK: unjudged, OTHER: drawn(2, 6)})
    new = scored_run("new", {TASK: unjudged, OTHER: drawn(3, 6)})
    result = check_gate(read_sides(new)[0], read_sides(base)[0])
    assert {c.name: c.outcome for c in result.checks} == {TASK: GateOutcome.skipped, OTHER: result.checks[0].outcome}
    suite = ET.fromstring(junit(result))[0]
    assert suite.get("skipped") == "1"
    assert "not tested speaking_safety: base/default/default: all 6 answers are unjudged" in gate_markdown(result)


def test_a_gate_without_a_verdict_ends_with_2_and_one_line(
    fallen: tuple[str, str], scored_run: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, base = fallen
    other = str(scored_run("other", {TASK: drawn(1, 60)}, signed={"judge": "judge 2"}).root)
    few = str(scored_run("few", {TASK: drawn(1, 30), OTHER: drawn(2, 40)}).root)
    junit_file = tmp_path / "gate.xml"
    for words, said in (
        ((str(tmp_path / "none"), "--baseline", base), "no such run folder"),
        ((other, "--baseline", base), "lacks speaking_assistant, which the baseline has"),
        ((other, "--baseline", base, "--tasks", TASK), "content is scored by judge 1 against judge 2"),
        ((few, "--baseline", base), "has 30 of the baseline's 60 items of speaking_safety"),
        ((run, "--baseline", base, "--tasks", "nothing"), "unknown task 'nothing'"),
    ):
        capsys.readouterr()
        assert code(*words, "--junit", str(junit_file), "--summary", str(tmp_path / "s.md")) == 2
        err = capsys.readouterr().err
        assert err.startswith("Error: ")
        assert err.count("\n") == 1
        assert said in err
        suite = ET.parse(junit_file).getroot()[0]
        assert (suite.get("failures"), suite.get("errors")) == ("0", "1")
    assert "no verdict" in (tmp_path / "s.md").read_text()
    assert code(run) == 2  # usage: no baseline
    assert code(run, "--baseline", base, "--margin", "-1") == 2
    assert code(few, "--baseline", base, "--allow-partial") in (0, 1)
    assert code(other, "--baseline", base, "--tasks", TASK, "--allow-different") in (0, 1)
    assert "NOT COMPARABLE: content is scored by" in capsys.readouterr().out


def test_hostile_text_stays_text(scored_run: Make) -> None:
    bad = "</testsuite>|\x00<script>`"
    base = scored_run("base", {TASK: drawn(1, 20, right=1, item={"question": bad})}, config="a/b/c")
    new = scored_run("new", {TASK: drawn(2, 20, right=0, item={"question": bad})}, config="d/e/f")
    result = check_gate(read_sides(new)[0], read_sides(base)[0])
    ET.fromstring(junit(result))
    assert ET.fromstring(junit_error(bad))[0][0][0].get("message") == "</testsuite>|�<script>`"
    assert "<script>" not in gate_markdown(result)
