"""Runs beside each other: the numbers are those that are printed, and what cannot be compared is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from paired.conftest import TASK, drawn, scorers

import vaeval_tasks as vaeval
from vaeval_tasks.cli import main
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.paired.comparison import RunComparison
from vaeval_tasks.scoring.results import read_results, score_run
from vaeval_tasks.scoring.suite import FAMILIES, TASKS
from vaeval_tasks.store.answers import latest
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Response, ResponseStatus

Make = Callable[..., RunDir]
FEW = {"resamples": 99}


def row(found: RunComparison, name: str, quantity: str = "score", pair: int = 0) -> Any:
    return next(s for s in found.pairs[pair].scores if (s.name, s.quantity) == (name, quantity))


def results(run: RunDir) -> Any:
    (config,) = read_results(run).configs.values()
    return config


def test_the_difference_is_that_of_the_printed_scores(scored_run: Make) -> None:
    """All 13 tasks, all shared: every number is the one in results.json."""
    old, new = (
        scored_run(name, {task: drawn(50 * j + i, 6) for i, task in enumerate(TASKS)})
        for j, name in enumerate(("old", "new"))
    )
    found = vaeval.compare(old, new, **FEW)
    for task, result in results(old).tasks.items():
        one = row(found, task)
        assert one.first == pytest.approx(result.scores.score)
        assert one.difference == pytest.approx(results(new).tasks[task].scores.score - result.scores.score)
        for name, estimate in result.scores.factors.items():
            if estimate is not None:
                assert row(found, task, name).first == pytest.approx(estimate.value)
    for group in (*FAMILIES, "overall"):
        assert row(found, group).first == pytest.approx(results(old).groups[group].value)
        assert row(found, group).second == pytest.approx(results(new).groups[group].value)
    listening = [row(found, task, "speech").difference for task in FAMILIES["listening"]]
    assert row(found, "listening", "speech").difference == pytest.approx(sum(listening) / 4)
    assert row(found, "speaking_roleplay", "similarity").first is not None
    role_play = row(found, "speaking_roleplay")
    assert (role_play.found.documents, role_play.low) == (1, None)  # all in one role
    assert row(found, "overall").low is None
    assert "speaking_roleplay: there is one document" in row(found, "overall").reason


def test_the_whole_has_an_interval_and_a_p_value(scored_run: Make) -> None:
    """Tasks without items in common: the variances add, over families of 4, 8 and 1 tasks."""
    tasks = {task: drawn(i, 5) for i, task in enumerate(TASKS) if task != "speaking_roleplay"}
    lower = {task: drawn(90 + i, 5, right=0.1) for i, task in enumerate(tasks)}
    play = [{**a, "item": {"images": (f"/{i}.png",)}} for i, a in enumerate(drawn(70, 5))]
    old = scored_run("old", {**tasks, "speaking_roleplay": play})
    new = scored_run("new", {**lower, "speaking_roleplay": play})
    found = vaeval.compare(old, new)
    one = row(found, "overall")
    assert one.verdict == "worse"
    assert one.found.p < 0.01
    assert one.low < one.difference < one.high < 0
    parts = {task: row(found, task).found.se / (3 * len(members)) for members in FAMILIES.values() for task in members}
    assert one.found.se == pytest.approx(sum(se**2 for se in parts.values()) ** 0.5)


def test_only_shared_items_count(scored_run: Make) -> None:
    both = drawn(1, 20)
    old = scored_run("old", {TASK: both})
    new = scored_run("new", {TASK: both[5:]}, first=5)
    part = scored_run("part", {TASK: both[5:]})
    found = vaeval.compare(old, new, **FEW)
    assert row(found, TASK).first == pytest.approx(results(part).tasks[TASK].scores.score)
    assert row(found, TASK).difference == 0
    assert found.pairs[0].items == 15
    assert "5 items are answered by old/default/default only, and left out" in found.pairs[0].notes


def test_what_one_run_has_no_value_of_counts_in_neither(scored_run: Make) -> None:
    given = drawn(2, 12)
    hole = [*given[:3], {**given[3], "content": None}, *given[4:]]
    found = vaeval.compare(scored_run("old", {TASK: hole}), scored_run("new", {TASK: given}), **FEW)
    content = row(found, TASK, "content")
    assert (content.difference, content.found.items, content.left_out) == (0, 11, 1)
    assert row(found, TASK, "speech").found.items == 12


def test_an_answer_without_sound_counts_0_and_is_shown(scored_run: Make) -> None:
    given = drawn(3, 10)
    silent = [{**given[0], "audible": False}, *given[1:]]
    found = vaeval.compare(scored_run("old", {TASK: given}), scored_run("new", {TASK: silent}), **FEW)
    speech = row(found, TASK, "speech")
    assert speech.second == pytest.approx(speech.first - 20 * given[0]["mos"] / 10)
    assert speech.missing == (0, 1)
    assert found.to_json()["flips"][0]["kind"] in ("silenced", "lost")


def test_a_real_difference_is_found_and_flips_come_worst_first(scored_run: Make) -> None:
    old = scored_run("old", {TASK: drawn(4, 60, right=0.95)})
    new = scored_run("new", {TASK: drawn(5, 60, right=0.3)})
    found = vaeval.compare(old, new, margin=2)
    one = row(found, TASK)
    assert one.verdict == "worse"
    assert one.high < 0
    assert one.found.detectable > 0
    flips = found.pairs[0].flips
    assert [flip.change for flip in flips] == sorted(flip.change for flip in flips)
    worst = flips[0]
    assert (worst.first.text, worst.second.text) == ("right or wrong", "wrong or wrong")
    assert worst.second.audio is not None
    assert worst.second.audio.is_file()
    assert (worst.second.why, worst.second.transcript) == ("judged wrong", "right or wrong")
    turned = vaeval.compare(new, old, margin=2)
    assert row(turned, TASK).difference == pytest.approx(-one.difference)
    assert row(turned, TASK).verdict == "better"


def test_a_run_against_itself_is_equal_but_not_for_certain(scored_run: Make) -> None:
    run = scored_run("old", {TASK: drawn(6, 30)})
    found = vaeval.compare(run, run, **FEW)
    one = row(found, TASK)
    assert (one.difference, one.found.p, one.verdict) == (0, 1, "cannot tell")
    assert one.low < 0 < one.high
    speech = row(found, TASK, "speech")
    assert (speech.low, speech.verdict) == (None, "cannot tell")
    assert "nothing tells" in speech.reason
    assert found.pairs[0].flips == ()
    assert len(set(found.runs)) == 2


def test_one_item(scored_run: Make) -> None:
    old, new = scored_run("old", {TASK: drawn(7, 1)}), scored_run("new", {TASK: drawn(8, 1)})
    one = row(vaeval.compare(old, new, **FEW), TASK)
    assert (one.low, one.found.detectable, one.verdict) == (None, None, "cannot tell")
    assert one.reason.startswith("there is one document")


def test_items_on_one_recording_are_one_document(scored_run: Make) -> None:
    given = [{**a, "item": {"audio": (f"/cache/{i // 3}.wav",)}} for i, a in enumerate(drawn(9, 12))]
    old, new = scored_run("old", {TASK: given}), scored_run("new", {TASK: given})
    assert row(vaeval.compare(old, new, **FEW), TASK).found.documents == 4


def test_latency_is_compared_where_it_was_recorded(scored_run: Make) -> None:
    given = drawn(10, 30)
    slower = [{**a, "latency": a["latency"] + 0.3 + 0.01 * i} for i, a in enumerate(given)]
    found = vaeval.compare(scored_run("old", {TASK: given}), scored_run("new", {TASK: slower}), **FEW)
    first = found.pairs[0].latencies[0]
    assert (first.task, first.measure, first.verdict) == (TASK, "first_audio_s", "worse")
    assert first.found.difference == pytest.approx(0.445)
    assert first.found.low < 0.445 < first.found.high
    assert all(one.measure != "total_s" for one in found.pairs[0].latencies)


def test_times_of_speech_that_was_sent_otherwise_are_not_compared(scored_run: Make) -> None:
    given = drawn(10, 30)
    old = scored_run("old", {TASK: [{**a, "pace": "whole"} for a in given]})
    fed = scored_run("fed", {TASK: [{**a, "pace": "spoken"} for a in given]})
    found = vaeval.compare(old, fed, **FEW)
    assert not found.pairs[0].latencies
    assert any("times of 30 of 30 items are not compared" in note for note in found.pairs[0].notes)
    unsaid = scored_run("unsaid", {TASK: given})
    assert vaeval.compare(old, unsaid, **FEW).pairs[0].latencies, "older runs do not say"


def test_three_runs_against_the_first_or_all_pairs_with_holm_over_all(scored_run: Make) -> None:
    runs = [scored_run(name, {TASK: drawn(i, 30)}) for i, name in enumerate("abc")]
    found = vaeval.compare(*runs, **FEW)
    assert [(p.first[0], p.second[0]) for p in found.pairs] == [("a", "b"), ("a", "c")]
    every = vaeval.compare(*runs, all_pairs=True, **FEW)
    assert [(p.first[0], p.second[0]) for p in every.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    raw = sorted(row(every, TASK, pair=i).found.p for i in range(3))
    assert min(row(every, TASK, pair=i).p_holm for i in range(3)) == pytest.approx(min(1, 3 * raw[0]))


def test_one_folder_with_two_configurations(scored_run: Make) -> None:
    scored_run("both", {TASK: drawn(1, 8)}, config="m/a/d")
    run = scored_run("both", {TASK: drawn(2, 8)}, config="m/b/d")
    found = vaeval.compare(run, **FEW)
    assert list(found.runs) == ["m/a/d", "m/b/d"]
    named = vaeval.compare(f"{run.root}@m/b/d", f"{run.root}@m/a/d", **FEW)
    assert row(named, TASK).difference == pytest.approx(-row(found, TASK).difference)
    other = scored_run("other", {TASK: drawn(3, 8)})
    with pytest.raises(InputError, match=r"holds several configurations; name one as .*@m/a/d"):
        vaeval.compare(other, run)
    with pytest.raises(UnknownNameError, match=r"unknown configuration 'm/c/d'\. Did you mean"):
        vaeval.compare(f"{run.root}@m/c/d", other)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"signed": {"judge": "judge 2"}}, "content is scored by judge 1 against judge 2 (speaking_safety)"),
        ({"signed": {"speech": "speech 2"}}, "speech is scored by speech 1 against speech 2"),
        ({"revision": "def"}, "the data's revision is abc against def (speaking_safety)"),
        (
            {"items": {"references": ("left",)}},
            "9 of 9 prompts differ, first speaking_safety 'i0000' in its references",
        ),
        ({"items": {"question": "One?\nTwo?"}}, "prompts differ, first speaking_safety 'i0000' in its number of turns"),
        ({"items": {"audio": (f"/x/{'a' * 64}.wav",)}}, "'i0000' in its audio"),
    ],
)
def test_what_does_not_compare_is_refused_by_default_and_marked_on_request(
    scored_run: Make, changes: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = scored_run("old", {TASK: drawn(1, 9)}), scored_run("new", {TASK: drawn(2, 9)}, **changes)
    with pytest.raises(InputError, match="not comparable") as caught:
        vaeval.compare(old, new, **FEW)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    found = vaeval.compare(old, new, allow_different=True, **FEW)
    assert said in found.pairs[0].marks[0]
    assert row(found, TASK).difference is not None
    assert not found.to_pandas()["comparable"].any()
    assert main(["compare", str(old.root), str(new.root), "--allow-different", "--resamples", "99"]) == 0
    assert capsys.readouterr().out.startswith("NOT COMPARABLE, printed as asked: ")


def test_the_same_media_in_another_cache_are_the_same(scored_run: Make) -> None:
    sha = "b" * 64
    old = scored_run("old", {TASK: drawn(1, 5)}, items={"audio": (f"/here/{sha}.wav",)})
    new = scored_run("new", {TASK: drawn(2, 5)}, items={"audio": (f"/there/{sha}.wav",)})
    assert vaeval.compare(old, new, **FEW).pairs[0].marks == ()


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as left:
        main(["compare", *words])
    assert left.value.code == 1
    said = capsys.readouterr().err
    assert said.startswith("Error: ")
    assert said.count("\n") == 1
    return said


def test_what_is_no_scored_run_is_refused_in_one_line(
    scored_run: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = str(scored_run("good", {TASK: drawn(1, 5)}).root)
    assert "no such run folder" in refused(capsys, good, str(tmp_path / "none"))
    (tmp_path / "empty").mkdir()
    assert "holds no answers" in refused(capsys, good, str(tmp_path / "empty"))
    unscored = scored_run("unscored", {TASK: drawn(1, 5)}, score=False)
    assert "is not scored yet; run: vaeval score" in refused(capsys, good, str(unscored.root))
    other = scored_run("other", {"speaking_assistant": drawn(1, 5)})
    assert "share no scored task" in refused(capsys, good, str(other.root))
    later = scored_run("later", {TASK: drawn(1, 5)}, first=5)
    assert "answered none of the same items of speaking_safety" in refused(capsys, good, str(later.root))
    assert "needs two runs or more" in refused(capsys, good)
    assert "unknown task 'speaking_safty'. Did you mean" in refused(capsys, good, good, "--tasks", "speaking_safty")
    assert "name a .json, .csv or .md file" in refused(capsys, good, good, "--out", "x.txt")


def test_a_studys_run_is_refused(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "study")
    run.append("responses", Response(response_id="r", prompt_id="p", config_id="m/d/d", status=ResponseStatus.ok))
    with pytest.raises(InputError, match="a study's answers"):
        vaeval.compare(run, run)


def test_damaged_or_lost_scores_are_told(scored_run: Make, capsys: pytest.CaptureFixture[str]) -> None:
    good = str(scored_run("good", {TASK: drawn(1, 5)}).root)
    bad = scored_run("bad", {TASK: drawn(1, 5)})
    log = bad.root / "scores.jsonl"
    lines = log.read_text().splitlines()
    log.write_text("\n".join([lines[0], "{broken", *lines[2:]]) + "\n")
    assert "scores.jsonl" in refused(capsys, good, str(bad.root))
    log.write_bytes(b"")
    (bad.root / "scores.parquet").write_bytes(b"PAR1 nonsense")
    assert "scores.parquet" in refused(capsys, good, str(bad.root))
    (bad.root / "scores.parquet").unlink()
    assert "scores of 'bad/default/default' that are not in the folder" in refused(capsys, good, str(bad.root))
    (bad.root / "results.json").write_text("{")
    assert "results.json" in refused(capsys, good, str(bad.root))


def test_a_run_of_0_1_0_has_its_scores_in_the_table_only(scored_run: Make) -> None:
    old, new = scored_run("old", {TASK: drawn(1, 8)}), scored_run("new", {TASK: drawn(2, 8)})
    now = vaeval.compare(old, new, **FEW)
    (old.root / "scores.jsonl").unlink()
    (old.root / "responses.jsonl").unlink()
    (old.root / "items.jsonl").unlink()
    assert vaeval.compare(old, new, **FEW) == now


def test_scores_of_earlier_scorers_do_not_count(scored_run: Make) -> None:
    """A run that was scored twice is compared by what its results were made of."""
    old, new = scored_run("old", {TASK: drawn(1, 8)}), scored_run("new", {TASK: drawn(2, 8)})
    before = vaeval.compare(old, new, **FEW)
    for run in (old, new):
        score_run(run, latest(run.responses()), scorers(speech="speech 2"))
        score_run(run, latest(run.responses()), scorers())
    assert vaeval.compare(old, new, **FEW).to_json()["rows"] == before.to_json()["rows"]


def test_an_answer_that_was_given_again_counts_once(scored_run: Make) -> None:
    old, new = scored_run("old", {TASK: drawn(1, 6)}), scored_run("new", {TASK: drawn(1, 6)}, score=False)
    extra = new.responses()[0]
    new.append("responses", replace(extra, response_id="again", created="2027-01-01T00:00:00+00:00"))
    score_run(new, latest(new.responses()), scorers())
    found = vaeval.compare(old, new, **FEW)
    assert found.pairs[0].items == 6
    assert "new/default/default answered 1 documents more than once; the newest answer counts" in found.pairs[0].notes


def test_unsupported_items_are_shared_by_nobody(scored_run: Make) -> None:
    given = drawn(1, 6)
    part = [{**given[0], "status": ResponseStatus.unsupported}, *given[1:]]
    found = vaeval.compare(scored_run("old", {TASK: given}), scored_run("new", {TASK: part}), **FEW)
    assert row(found, TASK).found.items == 5


def test_a_task_that_a_run_has_no_score_of_has_no_difference(scored_run: Make) -> None:
    unjudged = [{**a, "content": None} for a in drawn(1, 6)]
    found = vaeval.compare(scored_run("old", {TASK: drawn(1, 6)}), scored_run("new", {TASK: unjudged}), **FEW)
    one = row(found, TASK)
    assert (one.difference, one.found.p) == (None, None)
    assert one.reason == "new/default/default: all 6 answers are unjudged"
    assert row(found, TASK, "speech").difference == 0


def test_json_csv_markdown_and_frames_say_the_same(
    scored_run: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = (str(scored_run(name, {TASK: drawn(i, 9)}).root) for i, name in enumerate(("old", "new")))
    made = tmp_path / "out.csv"
    assert main(["compare", old, new, "--json", "--out", str(made), "--resamples", "99"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(json.dumps(vaeval.compare(old, new, resamples=99).to_json()))
    import pandas as pd

    frame = pd.read_csv(made)
    assert list(frame["name"]) == [r["name"] for r in printed["rows"]]
    assert frame["difference"][0] == pytest.approx(printed["rows"][0]["difference"])
    assert main(["compare", old, new, "--out", str(tmp_path / "out.md"), "--resamples", "99"]) == 0
    text = capsys.readouterr().out
    assert "finds: the smallest difference" in text
    assert TASK in (tmp_path / "out.md").read_text()
    shown = repr(vaeval.compare(old, new, resamples=99))
    assert shown.startswith("new/default/default less old/default/default")
    assert set(vaeval.compare(old, new, resamples=99).parts()) == {"rows", "latency", "flips", "pairs"}


@pytest.mark.parametrize(
    "options",
    [{"margin": -1}, {"margin": float("nan")}, {"resamples": 3}, {"seed": -1}, {"audio": "loud"}, {"tasks": "x"}],
)
def test_wrong_options_are_told(scored_run: Make, options: dict[str, Any]) -> None:
    run = scored_run("old", {TASK: drawn(1, 3)})
    with pytest.raises((InputError, UnknownNameError)):
        vaeval.compare(run, run, **options)


def test_the_examples_of_the_manual_run(
    scored_run: Make, tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manual = (repository / "vaeval_tasks" / "paired" / "README.md").read_text("utf-8")
    for i, name in enumerate(("old", "new", "newer")):
        scored_run(f"runs/{name}", {TASK: drawn(i, 9)}, config=f"{name}/d/d")
    for config in ("m/a/d", "m/b/d"):
        scored_run("runs/both", {TASK: drawn(1, 9)}, config=config)
    monkeypatch.chdir(tmp_path)
    bash = manual.split("```bash\n")[1].partition("```")[0]
    for line in bash.splitlines():
        words = line.partition("#")[0].split()[1:]
        assert main([*words, "--resamples", "99"]) == 0
    exec(compile(manual.split("```python\n")[1].partition("```")[0], "README.md", "exec"), {})  # it is ours
    assert {"compare.html", "compare.csv", "gate.xml", "summary.md"} <= {path.name for path in tmp_path.iterdir()}
