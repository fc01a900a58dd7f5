"""Exports of other tools, in the form that their documentation or source gives."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.analysis.load.exports.preference_words import preference

PAIRS = [("x", "y", 1), ("y", "z", 1), ("x", "z", 1), ("y", "x", 1), ("z", "y", 1), ("z", "x", 0)] * 2
"""(a, b, what was said of them): every system wins something."""
SIDE = {1: "left", -1: "right", 0: "tie"}
FAST = ("--ci", "iid")


def table(path: Path, rows: list[dict[str, Any]], delimiter: str = ",") -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter, quoting=csv.QUOTE_MINIMAL)
        writer.writeheader()
        writer.writerows(rows)
    return path


def plain(tmp_path: Path, scores: dict[int, float] | None = None) -> Path:
    rows = [
        {"prompt": f"p{i}", "a": a, "b": b, "rater": f"r{i % 4}", "score": (scores or {}).get(s, s)}
        for i, (a, b, s) in enumerate(PAIRS)
    ]
    return table(tmp_path / "plain.csv", rows)


def lmarena(tmp_path: Path) -> Path:
    said = {1: "model_a", -1: "model_b", 0: "tie (bothbad)"}
    rows = [
        {
            "question_id": f"p{i}", "model_a": a, "model_b": b, "winner": said[s], "judge": f"r{i % 4}",
            "conversation_a": [{"role": "user", "content": "?"}], "turn": 1, "anony": True, "language": "English",
        }
        for i, (a, b, s) in enumerate(PAIRS)
    ]  # fmt: skip
    (tmp_path / "battles.json").write_text(json.dumps(rows))
    return tmp_path / "battles.json"


def kaggle(tmp_path: Path) -> Path:
    rows = [
        {
            "id": f"p{i}", "model_a": a, "model_b": b, "prompt": "[\"?\"]", "winner_model_a": int(s == 1),
            "winner_model_b": int(s == -1), "winner_tie": int(s == 0), "judge": f"r{i % 4}",
        }
        for i, (a, b, s) in enumerate(PAIRS)
    ]  # fmt: skip
    return table(tmp_path / "train.csv", rows)


def label_studio(tmp_path: Path) -> Path:
    def result(s: int) -> dict[str, Any]:
        value = {"selected": SIDE[s]} if s else {"choices": ["tie"]}
        kind = "pairwise" if s else "choices"
        return {"id": "Dx_aB91ISN", "from_name": "cmp", "to_name": "one,two", "type": kind, "value": value}

    rows = [
        {
            "id": i, "created_at": "2021-03-09T21:52:49.513742Z", "project": 83,
            "data": {"prompt": "?", "system1": a, "system2": b},
            "annotations": [
                {"id": 1000 + i, "result": [result(s)], "was_cancelled": False, "completed_by": i % 4},
                {"id": 2000 + i, "result": [result(1)], "was_cancelled": True, "completed_by": 9},
            ],
            "predictions": [],
        }
        for i, (a, b, s) in enumerate(PAIRS)
    ]  # fmt: skip
    (tmp_path / "project.json").write_text(json.dumps(rows))
    return tmp_path / "project.json"


def label_studio_csv(tmp_path: Path) -> Path:
    rows = [
        {
            "annotation_id": 1000 + i, "annotator": f"r{i % 4}@x.org", "cmp": SIDE[s] if s else "tie",
            "created_at": "2021-03-09T21:52:49Z", "id": i, "lead_time": 4.2, "system1": a, "system2": b,
            "updated_at": "2021-03-09T21:52:49Z",
        }
        for i, (a, b, s) in enumerate(PAIRS)
    ]  # fmt: skip
    return table(tmp_path / "project.csv", rows)


def potato_csv(tmp_path: Path) -> Path:
    said = {1: "A", -1: "B", 0: "tie"}
    rows = [
        {"instance_id": f"{i}:{a}:{b}", "user_id": f"r{i % 4}", "preference.selection": said[s]}
        for i, (a, b, s) in enumerate(PAIRS)
    ]
    return table(tmp_path / "annotations.csv", rows)


def potato_jsonl(tmp_path: Path) -> Path:
    said = {1: "A", -1: "B", 0: "tie"}
    rows = [
        {
            "instance_id": f"{i}:{a}:{b}", "user_id": f"r{i % 4}", "labels": {"preference": {"selection": said[s]}},
            "spans": {}, "links": {},
        }
        for i, (a, b, s) in enumerate(PAIRS)
    ]  # fmt: skip
    (tmp_path / "annotations.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path / "annotations.jsonl"


def argilla(tmp_path: Path) -> Path:
    rows = [
        {
            "id": f"p{i}", "status": "completed", "_server_id": f"s{i}", "fields": {"prompt": "?"},
            "metadata": {"model_a": a, "model_b": b}, "suggestions": {}, "vectors": {},
            "responses": {
                "preference": [{"value": SIDE[s], "user_id": f"r{i % 4}"}],
            },
        }
        for i, (a, b, s) in enumerate(PAIRS)
    ]  # fmt: skip
    (tmp_path / "records.json").write_text(json.dumps(rows))
    return tmp_path / "records.json"


def argilla_flat(tmp_path: Path) -> Path:
    rows = [
        {
            "id": f"p{i}", "status": "completed", "prompt": "?", "model_a": a, "model_b": b,
            "preference.responses": [SIDE[s], "left"], "preference.responses.users": [f"r{i % 4}", "r9"],
            "preference.responses.status": ["submitted", "discarded"],
        }
        for i, (a, b, s) in enumerate(PAIRS)
    ]  # fmt: skip
    (tmp_path / "flat.json").write_text(json.dumps(rows))
    return tmp_path / "flat.json"


@pytest.mark.parametrize(
    ("make", "label", "more"),
    [
        (lmarena, "LMArena battles", ()),
        (kaggle, "LMArena battles", ()),
        (label_studio, "Label Studio", ()),
        (label_studio_csv, "Label Studio", ()),
        (potato_csv, "Potato", ("--pattern", r"^\d+:(?P<a>\w+):(?P<b>\w+)$")),
        (potato_jsonl, "Potato", ("--pattern", r"^\d+:(?P<a>\w+):(?P<b>\w+)$")),
        (argilla, "Argilla", ()),
        (argilla_flat, "Argilla", ()),
    ],
)
def test_an_export_of_comparisons_ranks_as_the_same_ratings_do(
    make: Callable[[Path], Path], label: str, more: tuple[str, ...], tmp_path: Path, invoke: Any
) -> None:
    path = make(tmp_path)
    found = invoke("rank", path, *FAST, *more, "--json").json
    wanted = invoke("rank", plain(tmp_path), *FAST, "--json").json
    for one, other in zip(found["rows"], wanted["rows"], strict=True):
        assert (one["entity"], one["n_ratings"], one["n_raters"]) == (other["entity"], other["n_ratings"], 4)
        assert one["elo"] == pytest.approx(other["elo"])
    assert found["notes"][0].startswith(f"read as an export of {label}")
    assert not any("export" in note for note in wanted["notes"])


def test_a_slider_of_jspsych_runs_to_b(tmp_path: Path, invoke: Any) -> None:
    value = {1: 20, -1: 90, 0: 50}
    trials: list[dict[str, Any]] = [
        {"trial_type": "html-slider-response", "trial_index": i, "time_elapsed": 100 * i, "rt": 12,
         "subject_id": f"r{i % 4}", "stimulus": f"{a}|{b}", "response": value[s], "slider_start": 50}
        for i, (a, b, s) in enumerate(PAIRS)
    ]  # fmt: skip
    trials.insert(0, {**trials[0], "trial_type": "instructions", "stimulus": "", "response": ""})
    path = table(tmp_path / "data.csv", trials)
    found = invoke("rank", path, *FAST, "--json").json
    wanted = invoke("rank", plain(tmp_path), *FAST, "--json").json
    assert [row["entity"] for row in found["rows"]] == [row["entity"] for row in wanted["rows"]]
    assert found["rows"][0]["elo"] == pytest.approx(wanted["rows"][0]["elo"])
    assert "12 of 13 trials are ratings" in found["notes"][0]
    turned = invoke("rank", path, *FAST, "--scale", "0..100", "--json").json["rows"]
    assert [row["elo"] for row in turned] == pytest.approx([2000 - row["elo"] for row in found["rows"]][::-1])


def test_a_google_form_is_turned_and_a_key_names_its_systems(tmp_path: Path, invoke: Any) -> None:
    said = {1: "A is much better", -1: "B is better", 0: "About the same"}
    rows = [
        {"Timestamp": "2026/01/01 9:00", "Email Address": f"r{r}@x.org",
         **{f"Pair {i}: which do you prefer?": said[s] for i, (_, _, s) in enumerate(PAIRS)}, "Any comments?": "no"}
        for r in range(3)
    ]  # fmt: skip
    path = table(tmp_path / "form.csv", rows)
    told = invoke("rank", path, *FAST)
    assert told.code == 1
    assert "--key" in told.err
    key = [{"item": f"Pair {i}: which do you prefer?", "a": a, "b": b} for i, (a, b, _) in enumerate(PAIRS)]
    found = invoke("rank", path, *FAST, "--key", table(tmp_path / "key.csv", key), "--json").json
    wanted = invoke("rank", plain(tmp_path), *FAST, "--json").json
    assert [row["entity"] for row in found["rows"]] == [row["entity"] for row in wanted["rows"]]
    assert {row["n_raters"] for row in found["rows"]} == {3}
    assert "12 columns are questions; not Any comments?" in found["notes"][0]


def test_a_grid_of_a_google_form_holds_opinions(tmp_path: Path, invoke: Any) -> None:
    rows = [
        {
            "Timestamp": "9:00",
            "How natural? [x/1.wav]": 4 + r % 2,
            "How natural? [y/1.wav]": 2,
            "How clear? [x/1.wav]": 5,
        }
        for r in range(4)
    ]
    found = invoke("mos", table(tmp_path / "form.csv", rows), "--resamples", 20, "--json").json["rows"]
    assert {(row["rubric"], row["entity"], row["mos"]) for row in found if row["mos"]} == {
        ("How natural?", "x", 4.5), ("How natural?", "y", 2), ("How clear?", "x", 5)
    }  # fmt: skip


def test_webmushra_is_on_0_to_100(tmp_path: Path, invoke: Any) -> None:
    rows = [
        {"session_test_id": "t", "email": f"r{r}@x.org", "age": 30, "session_uuid": f"u{r}", "trial_id": f"p{p}",
         "rating_stimulus": s, "rating_score": score + r, "rating_time": 1, "rating_comment": ""}
        for r in range(3) for p in range(2) for s, score in (("reference", 98), ("C1", 60), ("anchor35", 10))
    ]  # fmt: skip
    result = invoke("mos", table(tmp_path / "mushra.csv", rows), "--resamples", 20)
    assert "Mean opinion score, 0 to 100" in result.out
    found = invoke("mos", tmp_path / "mushra.csv", "--resamples", 20, "--json").json
    assert [(row["entity"], row["mos"], row["n_raters"]) for row in found["rows"]] == [
        ("reference", 99, 3), ("C1", 61, 3), ("anchor35", 11, 3)
    ]  # fmt: skip
    refused = invoke("rank", tmp_path / "mushra.csv")
    assert "holds opinion scores of single responses; use vaeval mos" in refused.err


def session(worker: int, votes: list[tuple[str, int, str]], **more: str) -> dict[str, str]:
    row = {"HITId": "h", "AssignmentId": f"a{worker}", "WorkerId": f"w{worker}", "AssignmentStatus": "Approved"}
    row |= {"Input.TP": "https://x/trap.wav"} | more
    for i, (url, score, order) in enumerate([*votes, ("https://x/trap.wav", 0, "rp")], 1):
        row |= {f"Answer.Q{i}_URL": url, f"Answer.q{i}": str(score), f"Answer.Q{i}_order": order}
    return row


def test_p808_compares_every_clip_with_its_reference(tmp_path: Path, invoke: Any) -> None:
    votes = [("https://x/m0/f0.wav", 2, "rp"), ("https://x/m1/f0.wav", -1, "pr"), ("https://x/m0/f1.wav", -1, "rp"),
             ("https://x/m1/f1.wav", 1, "pr")]  # fmt: skip
    rows = [session(w, votes) for w in range(3)]
    rows.append(session(9, [(url, 3, "rp") for url, _, _ in votes], AssignmentStatus="Rejected"))
    found = invoke("rank", table(tmp_path / "batch.csv", rows), *FAST, "--side", "--json").json
    assert {row["entity"]: row["n_ratings"] for row in found["rows"]} == {"m0": 6, "m1": 6, "reference": 12}
    assert found["rows"][0]["entity"] == "m0"
    assert found["side"][0]["n_ratings"] == 12
    assert "1 rejected assignments are left out; traps and gold clips are left out" in found["notes"][0]
    pattern = r"_(?P<config>c\d+)_(?P<prompt>s\d+)"
    clips = [(f"https://x/D_c{url[-5]}_s{i}.wav", score, order) for i, (url, score, order) in enumerate(votes)]
    renamed = [session(w, clips) for w in range(3)]
    path = table(tmp_path / "flat.csv", renamed)
    assert {r["entity"] for r in invoke("rank", path, *FAST, "--pattern", pattern, "--json").json["rows"]} == {
        "c0", "c1", "reference"
    }  # fmt: skip


def test_p808_acr_and_p835_are_opinions(tmp_path: Path, invoke: Any) -> None:
    rows = [
        {
            "HITId": "h",
            "WorkerId": f"w{w}",
            "Answer.q1_url": "https://x/m0/f0.wav",
            "Answer.q1_sig": 4,
            "Answer.q1_ovrl": 3,
        }
        for w in range(3)
    ]
    found = invoke("mos", table(tmp_path / "p835.csv", rows), "--resamples", 20, "--json").json["rows"]
    assert {(row["rubric"], row["entity"], row["mos"]) for row in found} == {("sig", "m0", 4), ("ovrl", "m0", 3)}


def test_voicemos_has_no_header(tmp_path: Path, invoke: Any) -> None:
    lines = [
        f"sys{s},sys{s}-utt{u}.wav,{3 + s - r % 2},x,{{}}_20-29_L{r}_Female_x_x_no"
        for s in range(2) for u in range(2) for r in range(4)
    ]  # fmt: skip
    (tmp_path / "TRAINSET").write_text("\n".join(lines) + "\n")
    found = invoke("mos", tmp_path / "TRAINSET", "--resamples", 20, "--json").json["rows"]
    assert [(row["entity"], row["mos"], row["n_ratings"], row["n_raters"]) for row in found] == [
        ("sys1", 3.5, 8, 4), ("sys0", 2.5, 8, 4)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("A is much better", 3), ("A is better", 2), ("A is slightly better", 1), ("About the same", 0),
        ("B is better.", -2), ("I strongly prefer B", -3), ("left", 2), ("Model B", -2), ("tie", 0),
        ("No preference", 0),
        ("Response A sounded somewhat better", 1), ("A cat", None), ("maybe A", None), ("3", None), ("Band", None),
    ],
)  # fmt: skip
def test_answers_in_words(answer: str, score: int | None) -> None:
    assert preference(answer) == score


def test_a_format_can_be_named_and_an_unknown_one_is_told(tmp_path: Path, invoke: Any) -> None:
    path = lmarena(tmp_path)
    assert "unknown format 'lmarna'. Did you mean 'lmarena'?" in invoke("rank", path, "--format", "lmarna").err
    told = invoke("rank", path, "--format", "plain").err
    assert "the column is missing" in told
    assert "--columns" in told
    assert "--pattern is no regular expression" in invoke("rank", path, "--pattern", "(").err
