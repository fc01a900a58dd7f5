"""``vaeval generate``, as a user runs it."""

from __future__ import annotations

import json
import os
import wave
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from vaeval_tasks.asking.ledger import open_for_asking
from vaeval_tasks.asking.pending import make_plan
from vaeval_tasks.asking.runner import generate
from vaeval_tasks.audio import Clip, read_audio, write_wav
from vaeval_tasks.cli import main
from vaeval_tasks.files import sha256_file
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.configs import published, write_configs
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus
from vaeval_tasks.testing.bedrock import ACCESS_KEY
from vaeval_tasks.testing.server import KEY

MARIN = "gpt-realtime-2.1/minimal/marin"
CEDAR = "gpt-realtime-2.1/minimal/cedar"


@pytest.fixture
def run(tmp_path, make_run) -> RunDir:
    """A run with four short prompts."""
    return make_run(tmp_path / "run", 4)


def vaeval(*args: str) -> tuple[int, str]:
    """Run a command; return its exit code and everything it printed."""
    result = CliRunner().invoke(main_command, [str(a) for a in args])
    return result.exit_code, result.output


class main_command:  # noqa: N801 - stands for a click command
    name = "vaeval"

    @staticmethod
    def main(args, prog_name, **_):
        main(list(args))


def rows(run: RunDir) -> list[tuple]:
    """Return what must not depend on when and how often a run was stopped."""
    return [(r.response_id, r.status, r.text, r.path, r.sha256, r.seconds) for r in run.read("responses")]


def exchanges(run: RunDir, response_id: str) -> list[list[dict]]:
    """Return the events of each attempt at a response, in order."""
    rows = [json.loads(line) for line in run.exchanges_log().read_text().splitlines()]
    own = sorted((row for row in rows if row["response_id"] == response_id), key=lambda row: row["attempt"])
    assert [row["attempt"] for row in own] == list(range(1, len(own) + 1))
    return [row["events"] for row in own]


def test_everything_is_kept(run, serve):
    fake = serve("openai_realtime")
    fake.behave("commentary")
    code, out = vaeval("generate", run.root, "--config", MARIN, "--config", CEDAR)
    assert (code, "8 ok" in out) == (0, True), out
    table = {row.split()[0]: row.split() for row in out.splitlines() if row.startswith("gpt-")}
    assert set(table) == {MARIN, CEDAR}
    for _, sent, first, first_90, end, end_90, answers in table.values():
        assert (sent, first_90, end_90, answers) == ("whole", "–", "–", "4"), "a 90 % quantile needs ten"
        assert 0 <= float(first) <= float(end) < 60
    responses = run.read("responses")
    assert len(responses) == len(fake.sessions) == 8
    assert [r.response_id for r in responses] == sorted(f"{c}/p{i:04}" for c in (MARIN, CEDAR) for i in range(4))
    for response in responses:
        path = run.root / response.path
        assert sha256_file(path) == response.sha256
        with wave.open(str(path)) as file:
            form = (file.getnchannels(), file.getsampwidth(), file.getframerate())
        assert form == (1, 2, 24000)
        assert read_audio(path).seconds == response.seconds
        assert read_audio(run.root / response.provisional_path).seconds > 0
        assert (response.text, response.output_transcript) == ("It is four.", "It is four.")
        assert response.usage["total_tokens"] == 30
        assert 0 <= response.first_audio_s <= response.total_s
        assert response.request["session"]["audio"]["output"]["voice"] in ("marin", "cedar")
        assert response.request["audio"].keys() == {"bytes", "sha256", "type", "rate"}
        (events,) = exchanges(run, response.response_id)
        assert {e["direction"] for e in events} == {"sent", "received"}
        heard = [e["message"]["delta"] for e in events if e["message"]["type"] == "response.output_audio.delta"]
        assert all(h.keys() == {"bytes", "sha256"} for h in heard)
        assert sum(h["bytes"] for h in heard) == sum(
            2 * len(read_audio(run.root / p).samples) for p in (response.path, response.provisional_path)
        )
        assert response.created.endswith("+00:00")
    assert run.stale() == []


def test_a_second_run_asks_nothing(run, serve):
    fake = serve("openai_realtime")
    vaeval("generate", run.root, "--config", MARIN)
    before = rows(run)
    code, out = vaeval("generate", run.root)  # the configurations are those of configs.yaml
    assert (code, "nothing was left to ask" in out) == (0, True), out
    assert len(fake.sessions) == 4
    assert rows(run) == before


def test_more_configurations_can_be_added(run, serve):
    fake = serve("openai_realtime")
    vaeval("generate", run.root, "--config", MARIN)
    code, _ = vaeval("generate", run.root, "--config", CEDAR)
    assert (code, len(fake.sessions)) == (0, 8)
    code, out = vaeval("generate", run.root)
    assert (code, "nothing was left" in out) == (0, True)


def test_the_key_is_in_no_file_and_no_log(run, serve, caplog, monkeypatch):
    """Also where every library logs everything it can."""
    caplog.set_level(0)
    for provider in ("xai_realtime", "gemini_live", "nova_sonic", "chat_audio", "openai_realtime", "cascade"):
        serve(provider).behave("happy")
    monkeypatch.setenv("VAEVAL_CHAT_API_KEY", KEY)
    names = ["gr*/high/ara", "ge*/high/zephyr", "nova*/tiffany", "qwen*/ethan", "cascade*"]
    code, out = vaeval("generate", run.root, "--limit", 1, *[part for name in names for part in ("--config", name)])
    assert (code, "5 ok" in out) == (0, True), out
    openai = serve("openai_realtime")
    openai.behave("rate_limit", "happy")
    code, more = vaeval("generate", run.root, "--config", MARIN, "--limit", 1)
    assert (code, "1 retried" in more) == (0, True), more
    secrets = [KEY, ACCESS_KEY]
    for path in run.root.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not [s for s in secrets if s.encode() in content], path
    said = out + more + caplog.text
    assert "Using selector" in said, "the log was on"
    # "Decoded" is what the fake service's own library logs of what it received
    shown = [line for line in said.splitlines() if any(s in line for s in secrets) and "Decoded" not in line]
    assert not shown


def test_a_wrong_key_is_one_line_and_the_run_goes_on_later(run, serve, monkeypatch):
    fake = serve("openai_realtime")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    code, out = vaeval("generate", run.root, "--config", MARIN)
    assert code == 1
    error = [line for line in out.splitlines() if line.startswith("Error:")]
    assert len(error) == 1
    assert "key was refused" in error[0]
    assert "4 responses are still to come; run the same command again" in error[0]
    assert "sk-wrong" not in out
    assert run.responses() == []
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    code, _ = vaeval("generate", run.root, "--config", MARIN)
    assert (code, len(rows(run)), len(fake.sessions)) == (0, 4, 4)


def test_a_missing_key_is_named_before_anything_is_asked(run, serve, monkeypatch):
    fake = serve("openai_realtime")
    monkeypatch.delenv("OPENAI_API_KEY")
    code, out = vaeval("generate", run.root, "--config", MARIN)
    assert code == 1
    assert "OPENAI_API_KEY is not set" in out
    assert fake.sessions == []


def test_one_configuration_that_is_stopped_does_not_stop_the_others(run, serve, tmp_path):
    serve("openai_realtime")
    good = published()[MARIN]
    output = {**good.params["audio"]["output"], "voice": "nobody"}
    bad = replace(good, voice="Nobody", params={**good.params, "audio": {**good.params["audio"], "output": output}})
    write_configs(tmp_path / "mine.yaml", [bad])
    code, out = vaeval("generate", run.root, "--config", MARIN, "--config", str(tmp_path / "mine.yaml"))
    assert code == 1
    assert "refused the settings" in out
    assert "4 ok" in out
    assert {r.config_id for r in run.read("responses")} == {MARIN}


def go(run: RunDir, plan, clock: Clock):
    with open_for_asking(run) as ledger:
        return generate(ledger, plan, clock=clock)


def plan_and_go(run: RunDir, *configs: ModelConfig, clock: Clock | None = None, **options):
    """On a clock that is 50 times as fast the waits of 1, 2 and 4 s are short."""
    return go(run, make_plan(run, list(configs), **options), clock or Clock(50))


def test_an_unreachable_host_is_tried_again_and_then_named(run, config):
    """Port 9 answers nobody."""
    there = config(MARIN, connection={"base_url": "http://127.0.0.1:9"})
    outcome = plan_and_go(run, there)
    assert "cannot be reached" in str(outcome.stopped[MARIN])
    assert run.responses() == []
    assert {r.attempts for r in run.failed_attempts()} == {1, 2, 3}
    assert all("cannot be reached" in r.error for r in run.failed_attempts())


def test_a_failed_attempt_is_kept_and_followed_by_a_fresh_session(run, serve):
    fake = serve("openai_realtime")
    fake.behave("rate_limit", "close_1011", "happy")
    outcome = plan_and_go(run, published()[MARIN], limits={"openai_realtime": 1}, limit=1)
    assert outcome.statuses == {"retried": 2, "ok": 1}
    (response,) = run.responses()
    assert (response.status, response.attempts) == (ResponseStatus.ok, 3)
    first, second = run.failed_attempts()
    assert [(r.attempts, r.status.value) for r in (first, second)] == [(1, "error"), (2, "error")]
    assert "rate_limit_exceeded" in first.error
    assert "1011" in second.error
    assert {r.events_path for r in (first, second, response)} == {"exchanges.jsonl"}
    attempts = exchanges(run, response.response_id)
    assert len(attempts) == 3
    assert "rate_limit_exceeded" in json.dumps(attempts[0])
    assert "response.output_audio.delta" not in json.dumps(attempts[1])
    assert "response.output_audio.delta" in json.dumps(attempts[2])


def test_retries_come_to_an_end(run, serve):
    fake = serve("openai_realtime")
    fake.behave("rate_limit")
    outcome = plan_and_go(run, published()[MARIN], limit=1)
    assert len(fake.sessions) == 4
    assert outcome.statuses == {"retried": 3, "error": 1}
    (response,) = run.responses()
    assert (response.status, response.attempts) == (ResponseStatus.error, 4)


def test_failed_responses_are_asked_again_only_on_demand(run, serve):
    fake = serve("openai_realtime")
    fake.behave("failed_late", "silent", "happy")
    one = {"openai_realtime": 1}
    plan_and_go(run, published()[MARIN], limits=one)
    assert [r.status.value for r in run.responses()] == ["error", "degenerate", "ok", "ok"]
    assert make_plan(run, [published()[MARIN]]).units == ()
    again = make_plan(run, [published()[MARIN]], retry_failed=True)
    assert [unit.prompt_id for unit in again.units] == ["p0000"], "a degenerate answer is an answer"
    plan_and_go(run, published()[MARIN], retry_failed=True)
    assert [(r.status.value, r.attempts) for r in run.responses()] == [
        ("ok", 2),
        ("degenerate", 1),
        ("ok", 1),
        ("ok", 1),
    ]
    assert len(fake.sessions) == 5


def test_a_full_disk_is_one_line_and_the_run_goes_on_later(run, serve):
    """``/dev/full`` takes nothing, as a disk without room."""
    fake = serve("openai_realtime")
    run.responses_log.symlink_to("/dev/full")
    code, out = vaeval("generate", run.root, "--config", MARIN)
    assert code == 1
    errors = [line for line in out.splitlines() if line.startswith("Error:")]
    assert len(errors) == 1
    assert "No space left on device" in errors[0]
    assert "run the same command again" in errors[0]
    run.responses_log.unlink()
    code, out = vaeval("generate", run.root, "--config", MARIN)
    assert (code, len(rows(run))) == (0, 4), out
    assert len(fake.sessions) <= 8


def test_a_bad_prompt_is_counted_and_the_others_are_asked(run, serve):
    fake = serve("openai_realtime")
    write_wav(run.root / "audio/prompts/p0001.wav", Clip(np.zeros(0, np.float32), 16000))
    (run.root / "audio/prompts/p0002.wav").unlink()
    prompts = run.read("prompts")
    prompts[1] = replace(prompts[1], sha256="")
    (run.root / "audio/prompts/p0003.wav").write_bytes(b"another file")
    run.write("prompts", prompts, made_by="test")
    code, out = vaeval("generate", run.root, "--config", MARIN)
    assert (code, "3 error, 1 ok" in out) == (0, True), out
    whys = [r.error for r in run.read("responses")]
    assert whys[0] == ""
    assert "holds no samples" in whys[1]
    assert "has no audio file" in whys[2]
    assert "not the file that prompts.parquet names" in whys[3]
    assert len(fake.sessions) == 1


def test_dry_run(run, serve):
    fake = serve("openai_realtime")
    code, out = vaeval(
        "generate", run.root, "--config", "all", "--dry-run", "--sessions", "5", "--sessions", "cascade=2"
    )
    assert code == 0
    table = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    # 6 configurations x 4 prompts of 0.25 s = 24 requests and 6 s
    assert table["openai_realtime"] == ["6", "24", "0.1", "0", "5"]
    assert table["cascade"] == ["1", "4", "0.0", "0", "2"]
    assert len(table) == 7
    assert fake.sessions == []
    assert not (run.root / "configs.yaml").exists()


def test_a_configuration_keeps_its_meaning_within_a_run(run, serve, tmp_path):
    serve("openai_realtime")
    vaeval("generate", run.root, "--config", MARIN)
    write_configs(tmp_path / "mine.yaml", [replace(published()[MARIN], system_prompt="You are a pirate.")])
    code, out = vaeval("generate", run.root, "--config", str(tmp_path / "mine.yaml"))
    assert code == 1
    assert "not what this run used before" in out


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--config", "gpt-realtime-2.1/minimal/marine"], "Did you mean 'gpt-realtime-2.1/minimal/marin'"),
        ([], "no configuration; name some with --config"),
        (["--config", MARIN, "--sessions", "openai_realtim=3"], "Did you mean"),
        (["--config", MARIN, "--sessions", "0"], "expected a whole number from 1"),
        (["--config", "gone.yaml"], "gone.yaml: no such file"),
    ],
)
def test_bad_options(run, args, why):
    code, out = vaeval("generate", run.root, *args)
    assert code == 1
    assert why in out


def test_a_run_without_prompts(tmp_path):
    code, out = vaeval("generate", tmp_path, "--config", MARIN)
    assert (code, "prompts.parquet: no such file" in out) == (1, True)
    assert vaeval("generate", tmp_path / "gone", "--config", MARIN)[0] == 1


def test_ranks_share_the_work(run):
    plans = [make_plan(run, [published()[MARIN], published()[CEDAR]], rank=r, world=3) for r in range(3)]
    ids = [unit.response_id for plan in plans for unit in plan.units]
    assert len(ids) == len(set(ids)) == 8
    assert max(len(p.units) for p in plans) - min(len(p.units) for p in plans) <= 1


def test_a_share_does_not_depend_on_what_the_others_have_done(run, serve):
    serve("openai_realtime")
    both = [published()[MARIN], published()[CEDAR]]
    second = {unit.response_id for unit in make_plan(run, both, rank=1, world=2).units}
    go(run, make_plan(run, both, rank=0, world=2), Clock(50))
    assert {unit.response_id for unit in make_plan(run, both, rank=1, world=2).units} == second


def test_every_provider_in_one_run(run, serve):
    """All 19 configurations at once, each provider on its own fake."""
    for provider in ("openai_realtime", "xai_realtime", "gemini_live", "chat_audio"):
        serve(provider)
    cascade, bedrock = serve("cascade"), serve("nova_sonic")
    openai = serve("openai_realtime")
    os.environ["VAEVAL_OPENAI_URL"] = openai.url  # the cascade's language model is on another port
    configs = [
        replace(c, connection={**c.connection, "openai_url": cascade.url + "/v1"}) if c.provider == "cascade" else c
        for c in published().values()
    ]
    outcome = plan_and_go(run, *configs, limit=1, clock=Clock(1))
    assert outcome.stopped == {}
    statuses = {r.config_id: r.status.value for r in run.responses() if r.status is not ResponseStatus.ok}
    assert statuses == {}
    assert len(run.responses()) == 19
    assert len(bedrock.sessions) == 2


def test_a_model_in_process(run, checkpoints, tmp_path):
    """Voices of one checkpoint share its weights and are answered in batches."""
    import torch

    torch.set_num_threads(1)
    options = {"thinker_max_new_tokens": 8, "talker_max_new_tokens": 20}
    voices = [
        ModelConfig(
            model="Tiny",
            provider="qwen_omni",
            voice=voice,
            params={"model": str(checkpoints["q3"]), "speaker": voice, "generate": options},
            connection={"batch_size": 2},
        )
        for voice in ("Ethan", "Aiden")
    ]
    write_configs(tmp_path / "tiny.yaml", voices)
    code, out = vaeval("generate", run.root, "--config", str(tmp_path / "tiny.yaml"), "--limit", 2)
    assert code == 0, out
    responses = run.read("responses")
    assert {r.config_id for r in responses} == {"tiny/default/ethan", "tiny/default/aiden"}
    assert len(responses) == 4
    assert {r.status.value for r in responses} <= {"ok", "empty"}
    assert any(r.seconds > 0.05 for r in responses)
