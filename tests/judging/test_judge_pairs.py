from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.judging.instructions import AudioPart, questions
from vaeval_tasks.judging.judge_pairs import JudgementStatus, PairJudgeSettings, judge_pairs, judgements
from vaeval_tasks.services.http.chat import ChatClient, ChatOptions
from vaeval_tasks.services.http.retry import RetryRule
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Prompt


def client_of(fake: Any, *, retries: int = 4, sleep: Any = lambda _: None, **options: Any) -> ChatClient:
    options = {"model": "m", "concurrency": 3, **options}
    return ChatClient(fake.url, ChatOptions(retry=RetryRule(retries=retries), **options), sleep=sleep)


SETTINGS = PairJudgeSettings()


def test_every_pair_is_judged_in_both_orders_with_its_own_questions(run: RunDir, fake_judge: Any) -> None:
    done = judge_pairs(run, client_of(fake_judge), SETTINGS)
    assert (done.asked, done.ok, done.malformed, done.unanswered, done.skipped) == (24, 24, 0, 0, 0)
    rows = run.read("judge_ratings")
    # 12 pairs x 2 orders x 9 questions, and the reasoning question on the 3 pairs of the first prompt
    assert len(rows) == done.ratings == 24 * 9 + 6
    assert {r.prompt_id for r in rows if r.rubric == "reasoning"} == {"p0"}
    overall = [r for r in rows if r.rubric == "overall"]
    assert {(r.prompt_id, r.a, r.b, r.left_is_a) for r in overall} == {
        (p.prompt_id, p.a, p.b, first) for p in run.read("pairs") for first in (True, False)
    }
    # the loud one is a in its pairs, so a judge of loudness gives a positive score whichever comes first
    assert {r.score > 0 for r in overall if r.a.startswith("loud")} == {True}
    assert [r.kind for r in run.read("judges")] == ["judge"]
    assert not run.has("ratings")
    assert not run.has("raters")


def test_the_judge_hears_request_then_both_responses_in_the_stated_order(run: RunDir, fake_judge: Any) -> None:
    settings = PairJudgeSettings(pairs=1, rubrics=("overall",), audio_part=AudioPart.audio_url)
    judge_pairs(run, client_of(fake_judge, concurrency=1), settings)
    from_test = [body["messages"][1]["content"] for body in fake_judge.bodies]
    texts = [[p["text"] for p in content if p["type"] == "text"] for content in from_test]
    assert texts == [["The request:", "Response 1:", "Response 2:", "Your JSON object:"]] * 2
    clips = [[p["audio_url"]["url"] for p in content if p["type"] == "audio_url"] for content in from_test]
    assert clips[0] == [clips[1][0], clips[1][2], clips[1][1]]
    assert '"overall": Overall, which response do you prefer?' in fake_judge.bodies[0]["messages"][0]["content"]


def test_an_interrupted_run_goes_on_where_it_stopped(run: RunDir, fake_judge: Any) -> None:
    whole = fake_judge.reply
    fake_judge.reply = lambda body, number: whole(body, number) if number <= 10 else (503, "busy", {})
    first = judge_pairs(run, client_of(fake_judge, retries=0), SETTINGS)
    assert first.ok == 10
    assert first.unanswered == 14
    before = len(fake_judge.bodies)
    fake_judge.reply = whole
    second = judge_pairs(run, client_of(fake_judge), SETTINGS)
    assert (second.resumed, second.asked, second.ok) == (10, 14, 14)
    assert len(fake_judge.bodies) == before + 14
    again = judge_pairs(run, client_of(fake_judge), SETTINGS)
    assert (again.asked, again.resumed, again.ratings) == (0, 24, second.ratings)


def test_rate_limits_are_waited_for_as_asked(run: RunDir, fake_judge: Any) -> None:
    whole, pauses = fake_judge.reply, []
    fake_judge.reply = lambda body, number: (
        whole(body, number) if number % 2 == 0 else (429, "slow down", {"Retry-After": "7"})
    )
    client = client_of(fake_judge, concurrency=1, sleep=pauses.append)
    settings = PairJudgeSettings(pairs=2, rubrics=("overall",))
    done = judge_pairs(run, client, settings)
    assert (done.ok, done.unanswered) == (4, 0)
    assert pauses == [7.0] * 4
    assert {j.attempts for j in judgements(run)} == {2}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("I prefer the first.", "no JSON object in the answer"),
        ("{not json}", "not JSON"),
        ('{"overall": 4}', "overall is 4"),
        ('{"overall": 1.5}', "overall is 1.5"),
        ('{"overall": NaN}', "overall is nan"),
        ('{"overall": true}', "overall is True"),
        ('{"overall": "2"}', "overall is '2'"),
        ('{"engagement": 1}', "without overall and with engagement"),
        ("", "an empty answer"),
    ],
)
def test_malformed_answers_are_counted_and_never_become_ratings(
    run: RunDir, fake_judge: Any, content: str, why: str
) -> None:
    fake_judge.reply = lambda body, number: (200, content, {})
    settings = PairJudgeSettings(pairs=1, rubrics=("overall",))
    done = judge_pairs(run, client_of(fake_judge), settings)
    assert (done.ok, done.malformed, done.ratings) == (0, 2, 0)
    assert done.reasons[0][1] == 2
    assert why in done.reasons[0][0]
    assert not run.has("judge_ratings")
    fake_judge.reply = lambda body, number: (200, 'Sure:\n```json\n{"overall": -2}\n```', {})
    assert judge_pairs(run, client_of(fake_judge), settings).asked == 0
    again = judge_pairs(
        run, client_of(fake_judge), PairJudgeSettings(pairs=1, rubrics=("overall",), retry_malformed=True)
    )
    assert (again.ok, again.malformed, again.ratings) == (2, 0, 2)
    assert {(r.left_is_a, r.score) for r in run.read("judge_ratings")} == {(True, -2), (False, 2)}


def test_an_endpoint_that_refuses_stops_at_once(run: RunDir, fake_judge: Any) -> None:
    fake_judge.reply = lambda body, number: (401, "bad key", {})
    with pytest.raises(ServiceError, match="refused: HTTP 401: bad key"):
        judge_pairs(run, client_of(fake_judge), SETTINGS)
    assert len(fake_judge.bodies) <= 4


def test_an_endpoint_that_is_gone_is_not_asked_for_ever(run: RunDir, fake_judge: Any) -> None:
    fake_judge.reply = lambda body, number: (500, "down", {})
    with pytest.raises(ServiceError, match="gave no answer: HTTP 500: down"):
        judge_pairs(run, client_of(fake_judge, retries=1), SETTINGS)
    assert len(fake_judge.bodies) < 2 * 24
    assert judgements(run) == []


def test_pairs_without_audio_are_left_out_and_counted(run: RunDir, fake_judge: Any) -> None:
    (run.root / "audio" / "responses" / "p1-loud.wav").unlink()
    done = judge_pairs(run, client_of(fake_judge), SETTINGS)
    assert (done.skipped, done.ok) == (2, 20)
    for path in (run.root / "audio" / "responses").iterdir():
        path.unlink()
    with pytest.raises(InputError, match="no pair has a prompt and two responses with audio"):
        judge_pairs(run, client_of(fake_judge), SETTINGS)


def test_two_judges_are_two_raters(run: RunDir, fake_judge: Any) -> None:
    for model in ("one", "two"):
        judge_pairs(run, client_of(fake_judge, model=model), PairJudgeSettings(pairs=2))
    assert len(run.read("judges")) == 2
    assert {j.status for j in judgements(run)} == {JudgementStatus.ok}
    assert run.manifest()["tables"]["judge_ratings"]["models"] == {
        r.rater_id: r.rater_id.split(":")[1] for r in run.read("judges")
    }


def test_the_key_comes_from_the_environment_and_is_written_nowhere(
    run: RunDir, fake_judge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAEVAL_JUDGE_API_KEY", "sk-secret")
    judge_pairs(run, client_of(fake_judge), PairJudgeSettings(pairs=1))
    assert set(fake_judge.keys) == {"Bearer sk-secret"}
    for path in run.root.rglob("*"):
        assert not path.is_file() or b"sk-secret" not in path.read_bytes()


def test_questions_follow_gates_and_the_wanted_rubrics() -> None:
    plain = Prompt(prompt_id="p", category="c", difficulty="L1")
    gated = Prompt(prompt_id="p", category="c", difficulty="L1", gates=("reasoning", "instruction_following"))
    assert len(questions(plain)) == 9
    assert [q.key for q in questions(gated, ("reasoning", "overall"))] == ["overall", "reasoning"]


def test_the_verb(run: RunDir, fake_judge: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from vaeval_tasks.cli import main

    args = ["judge", str(run.root), "--model", "m", "--url", fake_judge.url, "--pairs", "2", "--rubric", "overall"]
    main(args)
    assert "4 answered, 0 malformed, 0 without an answer" in capsys.readouterr().out
    fake_judge.reply = lambda body, number: (200, json.dumps({"overall": 9}), {})
    main([*args[:-4], "--pairs", "3"])
    assert "malformed" in capsys.readouterr().out
    with pytest.raises(SystemExit) as caught:
        main(["judge", str(run.root), "--model", "m", "--url", "ftp://x"])
    assert caught.value.code == 1
    assert "must start with http" in capsys.readouterr().err


def test_no_run_no_judge(tmp_path: Path, fake_judge: Any) -> None:
    with pytest.raises(InputError, match=r"pairs\.parquet"):
        judge_pairs(RunDir(tmp_path), client_of(fake_judge), SETTINGS)
