"""The speech models behind ``vaeval lm-eval``: tiny Qwen-Omni checkpoints, and providers on fake services."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import lm_eval.tasks
import pytest
from fakes.fixtures import authority, environment, serve

from vaeval_tasks.cli import main
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.hosts.lm_eval.systems import CascadeLM, ChatAudioLM, ConfiguredLM, OmniLM, RealtimeLM
from vaeval_tasks.models.configs import published, write_configs
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ResponseStatus

__all__ = ["authority", "environment", "serve"]

MAIN = Path(__file__).with_name("omni_main.py")
TASKS = ["listening_sound", "speaking_multi_round", "speaking_roleplay"]
GENERATE = {"thinker_max_new_tokens": 8, "talker_max_new_tokens": 20}


@pytest.fixture
def run_here(monkeypatch, fake_scorers, tmp_path):
    """Run ``vaeval lm-eval`` on the sample data in this process."""
    import torch

    torch.set_num_threads(1)
    monkeypatch.setattr(lm_eval.tasks, "TaskManager", partial(lm_eval.tasks.TaskManager, include_defaults=False))
    fake_scorers()

    def run(model: str, model_args: dict, *tasks: str, root: str = "run", more: tuple[str, ...] = ()) -> RunDir:
        folder = RunDir(tmp_path / root)
        assert main(["lm-eval", *arguments(model, model_args, tasks, folder.root), *more]) == 0
        return folder

    return run


def arguments(model: str, model_args: dict, tasks, root: Path) -> list[str]:
    metadata = json.dumps({"dataset_path": "sample", "run_dir": str(root)})
    return [
        *("--model", model, "--model_args", json.dumps(model_args)),
        *("--tasks", ",".join(tasks), "--metadata", metadata),
    ]


def options(checkpoint: Path) -> dict:
    more = {"token2wav_num_steps": 2} if checkpoint.name.startswith("q25") else {}
    return {"pretrained": str(checkpoint), "speaker": "Ethan", "generate": json.dumps({**GENERATE, **more})}


def answers(run: RunDir) -> dict:
    return {r.response_id: (r.status, r.text, r.sha256, r.turn_texts) for r in run.responses()}


def scores(run: RunDir) -> dict:
    """All of ``results.json`` but what a clock measured."""
    configs = json.loads((run.root / "results.json").read_text())["configs"]
    for config in configs.values():
        for part in (config, *config["tasks"].values()):
            assert part.pop("latency")
    return configs


def test_tiny_qwen25_speaks(run_here, checkpoints):
    run = run_here("vaeval-omni", options(checkpoints["q25"]), "listening_sound", "viewing_multi_discipline")
    by_task = {r.task: r for r in run.responses()}
    heard = by_task["listening_sound"]
    assert heard.status is ResponseStatus.ok
    assert heard.seconds > 0
    import importlib.util

    if importlib.util.find_spec("torchvision") is None:
        assert by_task["viewing_multi_discipline"].status is ResponseStatus.unsupported


@pytest.mark.parametrize(("kind", "tasks"), [("q3", TASKS), ("q25", TASKS[:1])])
def test_a_tiny_omni_gives_the_same_on_one_and_on_two_ranks(run_here, checkpoints, tmp_path, kind, tasks):
    """Two documents a task on one rank, and on two; and one document for two ranks."""
    one = run_here("vaeval-omni", options(checkpoints[kind]), *tasks, root="one")
    spoken = [r for r in one.responses() if r.status is ResponseStatus.ok]
    assert len(one.responses()) == 3 * len(tasks)
    assert len(spoken) > len(tasks) - 1, "random weights may say nothing now and then"
    assert all((one.root / r.path).is_file() and r.seconds > 0.05 for r in spoken)
    assert max(len(r.turn_texts) for r in spoken) > 1 or "speaking_multi_round" not in tasks
    two = launch_two(arguments("vaeval-omni", options(checkpoints[kind]), tasks, tmp_path / "two"))
    assert two.returncode == 0, two.stderr[-3000:]
    both = RunDir(tmp_path / "two")
    assert (both.root / "responses-1.jsonl").is_file()
    assert answers(both) == answers(one)
    assert scores(both) == scores(one)


def launch_two(given: list[str]) -> subprocess.CompletedProcess[str]:
    """Start two processes with Accelerate. Its ``--cpu`` starts one only; without a GPU ``--multi_gpu`` means gloo."""
    launcher = ["accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
    more = ["--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]
    command = [sys.executable, "-m", *launcher, *more, str(MAIN), *given]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "LMEVAL_LOG_LEVEL": "ERROR", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)


def test_fewer_documents_than_ranks_end_both_with_one_line(serve, tmp_path):
    """Neither rank is left waiting for the other, and nobody is asked."""
    fake = serve("openai_realtime")
    given = arguments("vaeval-realtime", {"preset": "gpt-realtime-2.1/minimal/marin"}, TASKS[:1], tmp_path / "run")
    two = launch_two([*given, "--limit", "1"])
    assert two.returncode != 0
    said = f"{TASKS[0]} has 1 documents for 2 processes; start at most 1, or raise --limit"
    assert any(line.endswith(said) for line in two.stderr.splitlines()), two.stderr[-3000:]
    assert fake.sessions == []


@pytest.mark.parametrize(
    ("model", "provider", "model_args"),
    [
        ("vaeval-realtime", "openai_realtime", {"preset": "gpt-realtime-2.1/minimal/marin"}),
        ("vaeval-chat-audio", "chat_audio", {"model": "gpt-audio", "voice": "alloy", "voice_style": "audio"}),
        ("vaeval-cascade", "cascade", {}),
    ],
)
def test_providers(model, provider, model_args, run_here, serve):
    fake = serve(provider)
    run = run_here(model, model_args, "speaking_multi_round")
    assert [r.status for r in run.responses()] == [ResponseStatus.ok] * 3
    for response in run.responses():
        assert response.turn_texts == ("It is four.",) * len(response.turn_texts)
        assert len(response.turn_texts) > 1
        assert (run.root / response.events_path).is_file()
        assert response.request
    asked = len(fake.sessions)
    run_here(model, model_args, "speaking_multi_round")
    assert len(fake.sessions) == asked, "what is answered is not asked for again"


def test_a_model_that_does_not_see_gets_no_viewing_score(run_here, serve):
    fake = serve("xai_realtime")
    preset = {"preset": "grok-voice-think-fast-2.0/none/rex"}
    run = run_here("vaeval-realtime", preset, "viewing_multi_discipline", "listening_sound")
    statuses = {r.task: r.status.value for r in run.responses()}
    assert statuses == {"viewing_multi_discipline": "unsupported", "listening_sound": "ok"}
    assert len(fake.sessions) == 3


def test_options_are_checked(tmp_path):
    with pytest.raises(InputError, match="give preset=NAME"):
        RealtimeLM()
    with pytest.raises(UnknownNameError, match=r"Did you mean 'gpt-realtime-2\.1/xhigh/marin'"):
        RealtimeLM(preset="gpt-realtime-2.1/xhigh/marine")
    with pytest.raises(InputError, match="names 2 configurations; give one"):
        RealtimeLM(preset="nova*")
    with pytest.raises(UnknownNameError, match="unknown provider 'cascade'"):
        RealtimeLM(preset="cascade/default/rachel")
    with pytest.raises(InputError, match="give model=NAME"):
        ChatAudioLM()
    with pytest.raises(UnknownNameError, match="voice_style"):
        ChatAudioLM(model="m", voice_style="side")
    with pytest.raises(InputError, match="must be a JSON object"):
        OmniLM(pretrained="x", generate="[1]")
    with pytest.raises(InputError, match="must be a JSON object"):
        OmniLM(pretrained="x", generate="{")
    assert CascadeLM().speech_config.config_id == "cascade/default/rachel"
    assert ChatAudioLM(model="m", sees=False).open().sees is False if os.environ.get("VAEVAL_CHAT_URL") else True


def test_any_configuration_is_a_model(tmp_path):
    two = tmp_path / "two.yaml"
    write_configs(two, [published()[f"gpt-realtime-2.1/{effort}/marin"] for effort in ("minimal", "xhigh")])
    with pytest.raises(InputError, match=r"give config=NAME \(see: vaeval configs list\) or config=FILE\.yaml"):
        ConfiguredLM.create_from_arg_string("")
    with pytest.raises(InputError, match=r"two\.yaml: names 2 configurations; give one"):
        ConfiguredLM.create_from_arg_string(f"config={two}")
    with pytest.raises(UnknownNameError, match="Did you mean 'gpt-realtime-2"):
        ConfiguredLM.create_from_arg_string(f"config={two},config_id=gpt-realtime-2.1/xhig/marin")
    model = ConfiguredLM.create_from_arg_string(f"config={two},config_id=gpt-realtime-2.1/xhigh/marin")
    assert model.speech_config == published()["gpt-realtime-2.1/xhigh/marin"]
    assert ConfiguredLM.create_from_arg_string("config=cascade/default/rachel").speech_config.provider == "cascade"
