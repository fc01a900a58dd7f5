"""Configurations as data: the published ones, and files of the user's own."""

from __future__ import annotations

import pytest
import yaml
from click.testing import CliRunner

from vaeval_tasks.cli.configs import configs
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.models.configs import dump_configs, load_configs, published, select, write_configs
from vaeval_tasks.models.protocol import SpeechModel
from vaeval_tasks.models.providers import PROVIDERS, address, create_model, secret

MARIN = "gpt-realtime-2.1/xhigh/marin"


def mine(tmp_path, *changes: tuple[str, object], drop: str = "") -> str:
    """Write a changed copy of a published configuration and return its path."""
    content = yaml.safe_load(dump_configs([published()[MARIN]]))
    for path, value in changes:
        place = content["configurations"][0]
        *keys, last = path.split(".")
        for key in keys:
            place = place[key]
        place[last] = value
    if drop:
        del content["configurations"][0][drop]
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(content))
    return str(file)


def test_what_is_shown_can_be_read_again(tmp_path):
    everything = list(published().values())
    write_configs(tmp_path / "all.yaml", everything)
    assert load_configs(tmp_path / "all.yaml") == everything


def test_every_provider_has_an_adapter():
    for config in published().values():
        model = create_model(config)
        assert isinstance(model.sees, bool)
        assert all(hasattr(model, name) for name in ("respond", "close"))
    assert {c.provider for c in published().values()} == set(PROVIDERS) - {"qwen_omni", "offline", "replay"}
    assert SpeechModel.__doc__


@pytest.mark.parametrize(
    ("change", "value", "why"),
    [
        ("voise", "x", "unknown field 'voise'. Did you mean 'voice'"),
        ("provider", "openai", "unknown provider 'openai'"),
        ("params.reasonin", {}, "unknown key 'reasonin'. Did you mean 'reasoning'"),
        ("params.audio.input.turn_detections", None, "params.audio.input: unknown key 'turn_detections'. Did you mean"),
        ("params.audio", "24000", "params.audio: expected a mapping, got '24000'"),
        ("connection.base_ur", "x", "connection: unknown key 'base_ur'. Did you mean 'base_url'"),
        ("connection.timeouts.turns", 3, "timeouts: unknown key 'turns'. Did you mean 'turn'"),
        ("connection.timeouts.turn", -3, "timeouts.turn: expected a positive number of seconds, got -3"),
        ("connection.sessions", 0, "sessions: expected a whole number from 1, got 0"),
        ("connection.speech_pace", "slow", "speech_pace: expected whole or spoken, got 'slow'"),
        ("params", {"audio": {}}, "params.model is missing; openai_realtime needs it"),
        ("voice", 3, "field 'voice': expected str, got 3"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, change, value, why):
    with pytest.raises((InputError, UnknownNameError)) as caught:
        load_configs(mine(tmp_path, (change, value)))
    assert why in str(caught.value)
    assert "mine.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected the key 'configurations'"),
        ("configurations: []", "at least one configuration"),
        ("configuration: []", "Did you mean 'configurations'"),
        ("configurations: [3]", "row 1: a configuration must be a mapping"),
        ("configurations: {a: [}", "cannot be read as YAML"),
        (
            "configurations: [{model: x, thinking: off}]",
            "field 'thinking': YAML reads a bare on, off, yes or no as true",
        ),
        ("configurations: [{model: x}]", "field 'provider': the field is missing"),
    ],
)
def test_files_that_are_no_configurations(tmp_path, text, why):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises((InputError, UnknownNameError)) as caught:
        load_configs(file)
    assert why in str(caught.value)


def test_windows_line_ends_and_a_byte_order_mark(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + dump_configs([published()[MARIN]]).replace("\n", "\r\n").encode())
    assert load_configs(file) == [published()[MARIN]]


def test_selection(tmp_path):
    assert len(select(["all"])) == 19
    assert [c.config_id for c in select(["nova*"])] == ["nova-2-sonic/default/tiffany", "nova-2-sonic/default/matthew"]
    assert len(select(["gpt-realtime-2.1/*", MARIN])) == 4, "a name that comes twice counts once"
    with pytest.raises(UnknownNameError, match="Did you mean 'nova-2-sonic/default/matthew'"):
        select(["nova-2-sonic/default/mathew"])
    with pytest.raises(InputError, match="two configurations are called"):
        select([MARIN, mine(tmp_path, ("system_prompt", "You are a pirate."))])


def test_where_a_service_is(monkeypatch, config):
    monkeypatch.delenv("VAEVAL_OPENAI_URL")
    assert address(config(MARIN)) == "https://api.openai.com/v1"
    monkeypatch.setenv("VAEVAL_OPENAI_URL", "http://localhost:1/v1/")
    assert address(config(MARIN)) == "http://localhost:1/v1"
    assert address(config(MARIN, connection={"base_url": "http://localhost:2"})) == "http://localhost:2"
    assert secret("OPENAI_API_KEY", config(MARIN))


def test_the_command_line():
    shown = CliRunner().invoke(configs, ["show", "grok*/none/rex"])
    assert shown.exit_code == 0
    (row,) = yaml.safe_load(shown.output)["configurations"]
    assert row["params"]["session"]["turn_detection"] == {"type": None}
    listed = CliRunner().invoke(configs, ["list"])
    assert [line.split()[0] for line in listed.output.splitlines()] == list(published())
    assert "needs ELEVENLABS_API_KEY, OPENAI_API_KEY" in listed.output
