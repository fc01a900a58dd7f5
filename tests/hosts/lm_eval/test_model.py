"""The model side: dialogues, resuming, failures, and what makes an answer be asked for again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vaeval_tasks.audio import read_audio
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.hosts.lm_eval.answer import HarnessAnswer
from vaeval_tasks.hosts.lm_eval.dataset import load
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ResponseStatus

Ask = Callable[..., list[HarnessAnswer]]


@pytest.fixture
def ask(hub_folder: Path) -> Ask:
    """HarnessAnswer the documents of a task without the rest of the harness."""

    def run(lm: Any, task: str, **changes: Any) -> list[HarnessAnswer]:
        docs = [doc | changes for doc in load(config=task, dataset_path=str(hub_folder))["test"]]
        requests = [SimpleNamespace(doc=doc, args=("text", {"until": []})) for doc in docs]
        return [HarnessAnswer.decode(raw) for raw in lm.generate_until(requests)]

    return run


def test_an_answer_is_kept_and_not_asked_for_again(tmp_path: Path, fakes: Any, ask: Ask) -> None:
    first = fakes.ToneModel()
    answers = ask(fakes.ToneLM(model=first, run_dir=str(tmp_path)), "listening_general")
    assert len(first.asked) == 2
    assert [len(c.turns[0].audio) for c in first.asked] == [2, 2]
    assert read_audio(answers[0].audio).seconds == pytest.approx(0.2, abs=0.01)
    response = RunDir(tmp_path).responses()[0]
    assert (response.status, response.task, response.config_id) == ("ok", "listening_general", "tone/default/sine")
    again = fakes.ToneModel()
    assert ask(fakes.ToneLM(model=again, run_dir=str(tmp_path)), "listening_general") == answers
    assert again.asked == []


@pytest.mark.parametrize(
    ("options", "changes"), [({"voice": "saw"}, {}), ({"seed": 1}, {}), ({}, {"system_prompt": "Be brief."})]
)
def test_another_model_or_prompt_asks_anew(
    tmp_path: Path, fakes: Any, ask: Ask, options: dict[str, Any], changes: dict[str, Any]
) -> None:
    ask(fakes.ToneLM(run_dir=str(tmp_path)), "speaking_safety")
    other = fakes.ToneModel()
    ask(fakes.ToneLM(model=other, run_dir=str(tmp_path), **options), "speaking_safety", **changes)
    assert len(other.asked) == 2


def test_a_killed_run_goes_on(tmp_path: Path, fakes: Any, ask: Ask) -> None:
    killed = fakes.ToneModel(stop_after=1)
    with pytest.raises(KeyboardInterrupt):
        ask(fakes.ToneLM(model=killed, run_dir=str(tmp_path)), "speaking_safety")
    rest = fakes.ToneModel()
    answers = ask(fakes.ToneLM(model=rest, run_dir=str(tmp_path)), "speaking_safety")
    assert (len(killed.asked), len(rest.asked)) == (1, 1)
    assert all(answer.audio for answer in answers)


def test_a_failure_is_recorded_and_asked_again(tmp_path: Path, fakes: Any, ask: Ask) -> None:
    failing = fakes.ToneModel(fail={"1": ResponseStatus.timeout, "2": ResponseStatus.refused})
    answers = ask(fakes.ToneLM(model=failing, run_dir=str(tmp_path)), "speaking_safety")
    assert [(a.status, a.audio) for a in answers] == [("timeout", ""), ("refused", "")]
    again = fakes.ToneModel()
    answers = ask(fakes.ToneLM(model=again, run_dir=str(tmp_path)), "speaking_safety")
    assert [a.status for a in answers] == ["ok", "refused"]
    assert len(again.asked) == 1


def test_a_dialogue_carries_the_models_own_answers(tmp_path: Path, fakes: Any, ask: Ask) -> None:
    model = fakes.ToneModel()
    ask(fakes.ToneLM(model=model, run_dir=str(tmp_path)), "speaking_multi_round")
    last = model.asked[2].turns
    assert [turn.role for turn in last] == ["user", "assistant", "user", "assistant", "user"]
    assert last[1].text.startswith(fakes.WORDS)
    assert read_audio(last[1].audio[0]).peak > 0.2
    assert len(model.asked) == 3 + 7
    assert len({c.seed for c in model.asked}) == 10
    responses = {r.prompt_id: r for r in RunDir(tmp_path).responses()}
    assert len(responses["Speaking_Multi_Round_1"].turn_texts) == 7
    assert responses["Speaking_Multi_Round_1"].text == responses["Speaking_Multi_Round_1"].turn_texts[-1]


def test_a_dialogue_ends_at_a_failed_turn(tmp_path: Path, fakes: Any, ask: Ask) -> None:
    model = fakes.ToneModel(fail={"2": ResponseStatus.error})
    ask(fakes.ToneLM(model=model, run_dir=str(tmp_path)), "speaking_multi_round")
    failed = RunDir(tmp_path).responses()[0]
    assert (failed.status, failed.text, failed.path, len(failed.turn_texts)) == ("error", "", "", 2)
    assert failed.error == "turn 2: made to fail"


def test_images_and_role_voices_reach_the_model(tmp_path: Path, fakes: Any, ask: Ask) -> None:
    model = fakes.ToneModel()
    lm = fakes.ToneLM(model=model, run_dir=str(tmp_path))
    ask(lm, "viewing_multi_discipline")
    ask(lm, "speaking_roleplay")
    assert [len(c.turns[0].images) for c in model.asked] == [5, 5, 0, 0]
    assert model.asked[2].role_audio is not None
    assert "<audio>" in model.asked[2].system_prompt


def test_a_model_that_does_not_see_is_not_asked(tmp_path: Path, fakes: Any, ask: Ask) -> None:
    blind = fakes.ToneModel(sees=False)
    answers = ask(fakes.ToneLM(model=blind, run_dir=str(tmp_path)), "viewing_multi_discipline")
    assert [a.status for a in answers] == ["unsupported"] * 2
    assert blind.asked == []


def test_concurrency_gives_the_same_answers(tmp_path: Path, fakes: Any, ask: Ask) -> None:
    one = ask(fakes.ToneLM(run_dir=str(tmp_path / "a")), "speaking_multi_round")
    many = ask(fakes.ToneLM(run_dir=str(tmp_path / "b"), concurrency=4), "speaking_multi_round")
    assert [(a.response_id, a.text) for a in one] == [(a.response_id, a.text) for a in many]


def test_arguments(fakes: Any, tmp_path: Path) -> None:
    lm = fakes.ToneLM.create_from_arg_string(f"voice=saw,run_dir={tmp_path}", {"device": "cuda:0", "batch_size": None})
    assert (lm.speech_config.voice, lm.device, lm.rank, lm.world_size) == ("saw", "cpu", 0, 1)
    with pytest.raises(UnknownNameError, match=r"unknown model argument 'voise'. Did you mean 'voice'"):
        fakes.ToneLM.create_from_arg_string("voise=saw")
    with pytest.raises(InputError, match="concurrency must be at least 1"):
        fakes.ToneLM(concurrency=0)
    with pytest.raises(InputError, match="gives no likelihoods"):
        lm.loglikelihood([])
    assert lm.apply_chat_template([{"role": "user", "content": "hi"}]) == '[{"role": "user", "content": "hi"}]'
