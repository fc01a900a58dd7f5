"""What services do, as a study meets it: a broken answer is one error; used-up quota stops its configuration."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from vaeval_tasks.cli import main
from vaeval_tasks.store.schema import ResponseStatus

SYSTEMS = {
    "openai_realtime": ("gpt-realtime-2.1/minimal/marin", "failed_quota"),
    "gemini_live": ("gemini-3.1-flash-live/minimal/zephyr", "quota_1011"),
    "cascade": ("cascade/default/rachel", "tts_quota_as_sound"),
}
BROKEN = {
    "openai_realtime": ("response.output_audio_transcript.done", {"type": "response.output_audio_transcript.done"}),
    "gemini_live": ("serverContent.generationComplete", {"serverContent": []}),
    "cascade": ("text-to-speech", b"\x1a\x45\xdf\xa3 no sound at all"),
}


def generate(*args: object) -> tuple[int, str]:
    """Run the verb as a user does."""

    class Verb:
        name = "vaeval"

        @staticmethod
        def main(args, prog_name, **_):
            main(list(args))

    result = CliRunner().invoke(Verb, ["generate", *map(str, args)])  # type: ignore[arg-type]
    return result.exit_code, result.output


@pytest.mark.parametrize("provider", SYSTEMS)
def test_used_up_quota_stops_its_configuration_at_once_and_says_so(provider, tmp_path, make_run, serve):
    name, behaviour = SYSTEMS[provider]
    run = make_run(tmp_path / "run", 12)
    other = serve("xai_realtime")
    fake = serve(provider)
    fake.behave("happy", "happy", behaviour)
    code, out = generate(run.root, "--config", name, "--config", "grok*/none/rex", "--sessions", 1)
    assert code == 1, out
    assert "the quota is used up" in out
    assert len(fake.sessions) == 3, "nothing is asked after it"
    assert len(other.sessions) == 12, "the others go on"
    done = [r for r in run.read("responses") if r.config_id == name]
    assert [r.status for r in done] == [ResponseStatus.ok] * 2, "what was not asked is no error"


@pytest.mark.parametrize("provider", BROKEN)
def test_a_broken_answer_is_one_error_and_the_run_goes_on(provider, tmp_path, make_run, serve):
    run = make_run(tmp_path / "run", 3)
    fake = serve(provider)
    event, content = BROKEN[provider]
    if isinstance(content, dict) and "type" in content:
        content["transcript"] = ["no text"]
    fake.instead(event, content)
    code, out = generate(run.root, "--config", SYSTEMS[provider][0], "--limit", 1)
    assert "1 error" in out, (code, out)
    (broken,) = run.read("responses")
    assert broken.status is ResponseStatus.error
    assert broken.error
    log = [json.loads(line) for line in run.exchanges_log().read_text("utf-8").splitlines()]
    assert len(log) == 1, "the sound had begun: it is asked once"
    assert log[0]["events"][-1]["direction"] == "received"
    fake.restore()
    code, out = generate(run.root, "--config", SYSTEMS[provider][0])
    assert {r.status for r in run.read("responses") if r.prompt_id != broken.prompt_id} == {ResponseStatus.ok}
