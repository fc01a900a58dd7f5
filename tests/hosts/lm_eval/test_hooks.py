"""What the YAMLs name: texts for text-only models, and what is refused of an answer."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.lm_eval.dataset import load
from vaeval_tasks.hosts.lm_eval.hooks import METRICS, doc_to_target, doc_to_text, process_results, score
from vaeval_tasks.store.run import RunDir


def docs(task: str, folder: Path, **metadata: Any) -> list[dict[str, Any]]:
    return list(load(config=task, dataset_path=str(folder), **metadata)["test"])


def test_what_a_text_only_model_reads(hub_folder: Path) -> None:
    def text(task: str) -> str:
        return doc_to_text(docs(task, hub_folder)[0])

    assert text("listening_general") == "question 0 of listening_general"
    assert text("speaking_roleplay") == "Speak like this:\nquestion 0 of speaking_roleplay"
    assert text("speaking_multi_round") == "turn 0\nturn 1\nturn 2"
    view = docs("viewing_multi_discipline", hub_folder)[0]
    assert doc_to_text(view | {"transcripts": [], "question": "Which?"}) == "Which?\nA\nB"


def test_targets(hub_folder: Path) -> None:
    assert doc_to_target(docs("listening_general", hub_folder)[0]) == "four"
    assert doc_to_target(docs("speaking_emotion", hub_folder)[0]) == ""


def test_a_text_answer_is_kept_once(hub_folder: Path, tmp_path: Path) -> None:
    doc = docs("speaking_safety", hub_folder, run_dir=str(tmp_path), model_name="some LM")[0]
    records = process_results(doc, ["I would rather not."])
    assert set(records) == set(METRICS)
    assert len({record["response_id"] for record in records.values()}) == 1
    process_results(doc, ["I would rather not."])
    process_results(doc, [" "])
    found = {r.text: r.status for r in RunDir(tmp_path).responses()}
    assert found == {"I would rather not.": "ok", " ": "empty"}
    assert RunDir(tmp_path).responses()[0].config_id == "some-lm/default/default"
    assert len((tmp_path / "responses.jsonl").read_text().splitlines()) == 2


def test_an_answer_that_is_not_text_is_refused(hub_folder: Path) -> None:
    with pytest.raises(InputError, match="item 'Speaking_Safety_0': the model returned dict, not text"):
        process_results(docs("speaking_safety", hub_folder)[0], [{"text": "x"}])


def test_answers_of_two_configurations_are_never_one_task(hub_folder: Path, tmp_path: Path, fake_scorers: Any) -> None:
    records = [
        process_results(docs("speaking_safety", hub_folder, run_dir=str(tmp_path), model_name=name)[0], ["No."])
        for name in ("one", "two")
    ]
    with pytest.raises(InputError, match="are of 2 configurations; use one run folder"):
        score([record["vae_score"] for record in records])
    assert not math.isnan(score([records[0]["vae_score"]]))
