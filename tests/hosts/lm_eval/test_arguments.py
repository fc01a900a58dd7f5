"""The launcher's arguments: whatever is wrong with them is one line and exit 1, before anything is loaded."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from vaeval_tasks.cli import main
from vaeval_tasks.hosts.lm_eval import launch as launch_module
from vaeval_tasks.scoring.results import read_results
from vaeval_tasks.store.run import RunDir

Run = Callable[..., str]
TASK = "speaking_assistant"


def _one_line(err: str) -> str:
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert last.startswith("Error: ")
    return last


CONFIGS: dict[str, tuple[bytes, str]] = {
    "syntax": (b"model: [unclosed\ntasks: x: y", "is not YAML ("),
    "tab": (b"model: hf\n\ttasks: x", "is not YAML ("),
    "a list": (b"- model\n- tasks\n", "must hold options of lm-eval by name"),
    "a text": (b"just words", "must hold options of lm-eval by name"),
    "empty": (b"", "must hold options of lm-eval by name"),
    "numbers as names": (b"1: 2\n", "must hold options of lm-eval by name"),
    "latin-1": ("model: caf\xe9".encode("latin-1"), "cannot be read ("),
    "binary": (bytes(range(256)), ""),
    "an unknown option": (b"model: vaeval-tone\ntasks: speaking_assistant\nno_such_option: 1\n", "no_such_option"),
    "a list as metadata": (b"model: vaeval-tone\ntasks: speaking_assistant\nmetadata: [1, 2]\n", "--metadata must be"),
    "a limit of words": (b"model: vaeval-tone\ntasks: speaking_assistant\nlimit: few\n", "--limit few: must be"),
    "no tasks": (b"model: vaeval-tone\n", "--tasks is missing"),
    "bad samples": (
        b"model: vaeval-tone\ntasks: speaking_assistant\nsamples: {speaking_assistant: 3}\n",
        "--samples: ",
    ),
    "a bad seed": (b"model: vaeval-tone\ntasks: speaking_assistant\nseed: [a, b]\n", "seed"),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_config_files(lm_eval_: Run, tmp_path: Path, name: str) -> None:
    content, message = CONFIGS[name]
    (tmp_path / "c.yaml").write_bytes(content)
    assert message in _one_line(lm_eval_("run", "--config", "c.yaml", code=1))


ARGUMENTS: dict[str, tuple[tuple[str, ...], str]] = {
    "no config": (("--config", "nowhere.yaml"), "no such file; --config takes"),
    "no tasks": ((), "--tasks is missing"),
    "samples out of range": (("--samples", f'{{"{TASK}": [0, 99]}}'), f"--samples: {TASK} has items 0 to 1, not 99"),
    "negative samples": (("--samples", f'{{"{TASK}": [-1]}}'), "a list of item numbers from 0"),
    "doubled samples": (("--samples", f'{{"{TASK}": [1, 1]}}'), "each once"),
    "no samples": (("--samples", f'{{"{TASK}": []}}'), "a list of item numbers"),
    "words as samples": (("--samples", f'{{"{TASK}": ["a"]}}'), "a list of item numbers"),
    "samples of another task": (("--samples", '{"speaking_safety": [0]}'), "speaking_safety is not among the tasks"),
    "samples of a misspelt task": (("--samples", '{"speaking_asistant": [0]}'), "Did you mean 'speaking_assistant'?"),
    "samples that are no JSON": (("--samples", "{broken"), "argument --samples/-E: invalid"),
    "samples in no file": (("--samples", "nowhere.json"), "neither a JSON object nor a file"),
    "samples with a limit": (("--samples", f'{{"{TASK}": [0]}}', "--limit", "1"), "--samples"),
    "a limit of words": (("--limit", "few"), "argument --limit/-L: invalid float value: 'few'; see: "),
    "an unknown option": (("--limt", "few"), "unrecognized arguments: --limt few"),
    "limit 0": (("--limit", "0"), "--limit 0.0: must be"),
    "negative limit": (("--limit", "-3"), "--limit -3.0: must be"),
    "limit nan": (("--limit", "nan"), "--limit nan: must be"),
    "no folder of tasks": (("--include_path", "nowhere"), "nowhere: no such folder; --include_path"),
    "metadata that is no JSON": (("--metadata", "{broken"), "Invalid JSON"),
    "an unknown inputs": (("--metadata", "inputs=smell"), ""),
    "strict neither on nor off": (("--metadata", "strict=perhaps"), "strict=perhaps must be true or false"),
    "options of generation": (("--gen_kwargs", "temperature=1"), "--gen_kwargs temperature has no effect here"),
    "an output path that is a file": (("--output_path", "taken/out"), "taken: is a file; --output_path takes a folder"),
    "a prefix of a chat template": (("--fewshot_as_multiturn", "true"), "apply_chat_template"),
    "a task given by a broken YAML": (("--tasks", "broken.yaml"), ""),
}
FINE = {"an unknown inputs"}
"""Told only to models that are not ours."""


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(lm_eval_: Run, hub_folder: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "taken").write_text("")
    (tmp_path / "broken.yaml").write_text("task: [unclosed")
    given, message = ARGUMENTS[name]
    tasks = () if name in ("no tasks", "no config") or "--tasks" in given else ("--tasks", TASK)
    data = () if "--metadata" in given else ("--metadata", f"dataset_path={hub_folder}")
    if name in FINE:
        lm_eval_("--model", "vaeval-tone", *tasks, *given, f"dataset_path={hub_folder}")
        return
    assert message in _one_line(lm_eval_("--model", "vaeval-tone", *tasks, *data, *given, code=1))


def test_an_unknown_model_of_the_harness(lm_eval_: Run, hub_folder: Path) -> None:
    err = lm_eval_("--model", "hff", "--tasks", TASK, "--metadata", f"dataset_path={hub_folder}", code=1)
    assert "hff" in _one_line(err)


def test_samples_are_taken(lm_eval_: Run, hub_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps({TASK: [1]}))
    data = ("--metadata", f"dataset_path={hub_folder}", "run_dir=run")
    lm_eval_("--model", "vaeval-tone", "--tasks", TASK, *data, "--samples", "s.json")
    assert {r.prompt_id for r in RunDir(tmp_path / "run").responses()} == {"Speaking_Assistant_1"}


@pytest.mark.parametrize("seed", range(4))
def test_no_combination_of_arguments_ends_in_a_traceback(
    lm_eval_: Run, hub_folder: Path, tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever stands on the line: it runs, or it is an error in one line."""
    rng = random.Random(seed)
    (tmp_path / "binary").write_bytes(rng.randbytes(300))
    values = ["", " ", "0", "-1", "1e9", "nan", "true", "{", "{}", "[]", '{"a": 1}', "a=b=c", "=", ",", "x" * 5000]
    values += ["é\u2028", "binary", str(tmp_path), "/proc/self/mem", TASK, "speaking_*", "voiceassistant_eva", "null"]
    options = ["--tasks", "--model_args", "--limit", "--samples", "--metadata", "--gen_kwargs", "--include_path"]
    options += ["--config", "--num_fewshot", "--seed", "--batch_size", "--output_path", "--apply_chat_template"]
    options += ["--system_instruction", "--device", "--predict_only", "--log_samples", "--strict", "--cache_requests"]
    for _ in range(25):
        some = rng.sample(options, rng.randint(1, 3))
        line = [word for option in some for word in (option, rng.choice(values))[: rng.choice((1, 2, 2, 2))]]
        base = ["--model", "vaeval-tone", "--tasks", TASK, "--metadata", f"dataset_path={hub_folder}"]
        try:
            code = main(["lm-eval", *base, *line])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        err = capsys.readouterr().err
        assert code in (0, 1), line
        if code == 1:
            assert err.splitlines()[-1].startswith("Error: "), (line, err[-300:])


def test_strict_is_an_option(lm_eval_: Run, hub_folder: Path, tmp_path: Path, make_row: Callable[..., Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from vaeval_tasks.sample.build import hub_schema

    rows = [make_row(TASK, 0), make_row(TASK, 1, user_audio_0=b"RIFF garbage")]
    pq.write_table(pa.Table.from_pylist(rows, schema=hub_schema()), tmp_path / f"test_{TASK}.parquet")
    arguments = ("--model", "vaeval-tone", "--tasks", TASK, "--metadata", f"dataset_path={tmp_path}", "run_dir=run")
    assert "item 'Speaking_Assistant_1': the bytes are not a sound" in _one_line(
        lm_eval_(*arguments, "--strict", code=1)
    )
    out = lm_eval_(*arguments)
    assert f"{TASK}: 1 items of the data left out; the first: Speaking_Assistant_1 (user_audio_0)" in out


FOREIGN = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/docs.json}}}}
test_split: test
output_type: {kind}
doc_to_text: q
doc_to_target: a
metric_list: [{{metric: {metric}}}]
{more}
"""


def _foreign(
    folder: Path, name: str, *, kind: str = "generate_until", metric: str = "exact_match", more: str = ""
) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(FOREIGN.format(name=name, folder=folder, kind=kind, metric=metric, more=more))
    (folder / "docs.json").write_text('{"q": "say lol", "a": "lol"}\n{"q": "say lal", "a": "lal"}\n')


def test_our_models_beside_another_task(
    lm_eval_: Run, hub_folder: Path, tmp_path: Path, fakes: Any, monkeypatch: Any
) -> None:
    """In writing, up to the task's stops, whatever its YAML says of sampling; kept, and apart from our responses."""
    from vaeval_tasks.models.protocol import Reply
    from vaeval_tasks.store.schema import ResponseStatus

    asked: list[str] = []

    async def respond(self: Any, conversation: Any, config: Any) -> Reply:
        turn = conversation.turns[-1]
        if turn.audio:
            return await original(self, conversation, config)
        asked.append(turn.text)
        return Reply(
            status=ResponseStatus.ok, text=turn.text.removeprefix("say ") + "STOP and more", audio=fakes.tone(99)
        )

    original = fakes.ToneModel.respond
    monkeypatch.setattr(fakes.ToneModel, "respond", respond)
    _foreign(tmp_path / "more", "other", more="generation_kwargs: {until: [STOP], do_sample: true, temperature: 0.7}")
    arguments = ("--model", "vaeval-tone", "--tasks", f"other,{TASK}", "--include_path", "more")
    data = ("--metadata", f"dataset_path={hub_folder}", "run_dir=run")
    out = lm_eval_(*arguments, *data)
    assert "|other" in out.replace(" ", "")
    assert "|exact_match|↑|1|" in out.replace(" ", "").replace("\u00b1", "+").replace("1.0000", "1")
    assert sorted(asked) == ["say lal", "say lol"]
    run = RunDir(tmp_path / "run")
    assert {r.task for r in run.responses()} == {TASK}
    assert len(RunDir(tmp_path / "run" / "other-tasks").responses()) == 2
    lm_eval_(*arguments, *data)
    assert len(asked) == 2, "kept answers are not asked for again"


@pytest.mark.parametrize("kind", ["loglikelihood", "loglikelihood_rolling"])
def test_a_task_of_likelihoods_is_named(lm_eval_: Run, hub_folder: Path, tmp_path: Path, kind: str) -> None:
    metric = "acc" if kind == "loglikelihood" else "word_perplexity"
    _foreign(tmp_path / "more", "other", kind=kind, metric=metric)
    arguments = ("--model", "vaeval-tone", "--tasks", f"other,{TASK}", "--include_path", "more")
    err = lm_eval_(*arguments, "--metadata", f"dataset_path={hub_folder}", code=1)
    assert "a speech model gives no likelihoods of texts, which these tasks need: other" in _one_line(err)


def test_the_command_line_and_python_give_the_same(
    lm_eval_: Run, hub_folder: Path, tmp_path: Path, evaluate: Any, fakes: Any
) -> None:
    tasks = [TASK, "listening_sound", "viewing_multi_discipline", "speaking_roleplay"]
    data = ("--metadata", f"dataset_path={hub_folder}", "run_dir=one")
    lm_eval_("--model", "vaeval-tone", "--tasks", ",".join(tasks), *data, "--output_path", "out")
    evaluate(fakes.ToneLM(run_dir=str(tmp_path / "two")), tasks)
    one, two = (read_results(RunDir(tmp_path / name)).to_json() for name in ("one", "two"))
    assert one["configs"]["tone/default/sine"] == two["configs"]["tone/default/sine"]
    (written,) = (tmp_path / "out").rglob("results_*.json")
    shown = json.loads(written.read_text())["results"]
    again = evaluate(fakes.ToneLM(run_dir=str(tmp_path / "two")), tasks)["results"]
    for task in tasks:
        same = [name for name in again[task] if name.startswith("vae_")]
        assert {name: shown[task][name] for name in same} == {name: again[task][name] for name in same}


def test_the_advice_about_metadata_is_not_repeated(
    lm_eval_: Run, hub_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lm_eval_("--model", "vaeval-tone", "--tasks", TASK, "--metadata", f"dataset_path={hub_folder}")
    assert "Custom kwargs" not in caplog.text


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs the kernel's table of processes")
@pytest.mark.parametrize(("arguments", "told"), [(("--num_processes", "2"), True), (("--num_processes=1",), False)])
def test_accelerate_that_starts_one_process_is_told(arguments: tuple[str, ...], told: bool, tmp_path: Path) -> None:
    """A parent with accelerate's arguments and environment, as ``accelerate launch --cpu`` leaves them."""
    code = f"from vaeval_tasks.hosts.lm_eval.launch import {launch_module._tell_one_process.__name__} as tell; tell()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}], check=True)"
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true"}
    environment.pop("WORLD_SIZE", None)
    done = subprocess.run(
        [sys.executable, "-c", parent, "launch", *arguments, "--cpu", "x"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("accelerate was asked for 2 processes and started one" in done.stderr) is told


def test_a_config_file_of_yaml_is_read(lm_eval_: Run, hub_folder: Path, tmp_path: Path) -> None:
    config = {"model": "vaeval-tone", "tasks": [TASK], "metadata": {"dataset_path": str(hub_folder), "run_dir": "run"}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
    lm_eval_("run", "--config", "c.yaml", "--metadata", "strict=true")
    assert len(RunDir(tmp_path / "run").responses()) == 2
