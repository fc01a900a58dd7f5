"""``vaeval lm-eval``: the harness's own command line with our tasks, models and table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from vaeval_tasks.cli import main
from vaeval_tasks.scoring.results import read_results
from vaeval_tasks.store.run import RunDir

Run = Callable[..., str]


def test_a_run_prints_both_tables_and_writes_everything(lm_eval_: Run, hub_folder: Path, tmp_path: Path) -> None:
    out = lm_eval_(
        *("--model", "vaeval-tone", "--model_args", "voice=saw", "--tasks", "voiceassistant_eval_viewing"),
        *("--metadata", f"dataset_path={hub_folder}", "run_dir=run"),
        *("--output_path", "out", "--log_samples"),
    )
    assert "|vae_content " in out
    assert "VoiceAssistant-Eval Viewing" in out
    assert "viewing_multi_discipline" in out.split("tone/default/saw")[1]
    run = RunDir(tmp_path / "run")
    assert run.has("items")
    assert run.has("responses")
    assert run.stale() == []
    files = sorted(path.name.partition("_2")[0] for path in (tmp_path / "out" / "vaeval-tone").iterdir())
    assert files == ["results", "samples_viewing_multi_discipline"]


def test_the_default_run_folder_is_named_after_the_model(lm_eval_: Run, hub_folder: Path, tmp_path: Path) -> None:
    lm_eval_("--model", "dummy", "--tasks", "speaking_safety", "--metadata", f"dataset_path={hub_folder}")
    assert list(read_results(RunDir(tmp_path / "vaeval-runs" / "dummy")).configs) == ["dummy/default/default"]


def test_each_replayed_folder_is_a_model_of_its_own(lm_eval_: Run, hub_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "Wavs A").mkdir()
    arguments = ("--tasks", "speaking_safety", "--metadata", f"dataset_path={hub_folder}")
    out = lm_eval_("--model", "vaeval-replay", "--model_args", "responses=Wavs A", *arguments)
    assert re.search(r"speaking_safety +0\.0 \[0, 66\] .* 2 +2 +0$", out, re.MULTILINE), "both answers are missing"
    assert list(read_results(RunDir(tmp_path / "vaeval-runs" / "vaeval-replay-wavs-a")).configs) == [
        "wavs-a/default/default"
    ]


def test_a_config_file_keeps_its_folders_and_metadata(lm_eval_: Run, hub_folder: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    (more / "mine.yaml").write_text(
        "dataset_path: json\ntask: mine\ntest_split: test\noutput_type: generate_until\n"
        f"dataset_kwargs: {{data_files: {{test: {more / 'docs.json'}}}}}\n"
        "doc_to_text: q\ndoc_to_target: a\nmetric_list: [{metric: exact_match}]\n"
    )
    (more / "docs.json").write_text('{"q": "say lol", "a": "lol"}\n')
    config = {
        "model": "dummy",
        "tasks": ["mine", "speaking_assistant"],
        "include_path": str(more),
        "metadata": {"dataset_path": str(hub_folder), "run_dir": str(tmp_path / "run")},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    out = lm_eval_("run", "--config", "config.yaml", "--limit", "1")
    assert "|mine " in out
    assert (
        read_results(RunDir(tmp_path / "run")).configs["dummy/default/default"].tasks["speaking_assistant"].scores.n
        == 1
    )


@pytest.mark.parametrize("option", ["--use_cache", "--system_instruction", "--cache_requests"])
def test_options_without_effect_are_refused_for_our_models(lm_eval_: Run, option: str) -> None:
    value = "true" if option == "--cache_requests" else "x"
    err = lm_eval_("--model", "vaeval-tone", "--tasks", "speaking_safety", option, value, code=1)
    assert err.startswith(f"Error: {option} ")


def test_generation_options_go_into_the_models_arguments(lm_eval_: Run, hub_folder: Path) -> None:
    data = ("--metadata", f"dataset_path={hub_folder}")
    arguments = ("--model", "vaeval-tone", "--tasks", "speaking_safety", *data, "--gen_kwargs", "temperature=1")
    assert "--gen_kwargs temperature has no effect here; use --model_args" in lm_eval_(*arguments, code=1)


def test_an_unreachable_judge_is_one_line_and_score_finishes_later(
    lm_eval_: Run, hub_folder: Path, fakes: Any, fake_scorers: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_scorers(judge=fakes.FakeJudge(unreachable=True))
    arguments = ("--model", "vaeval-tone", "--tasks", "speaking_safety")
    err = lm_eval_(*arguments, "--metadata", f"dataset_path={hub_folder}", "run_dir=run", code=1)
    assert "Error: the judge at http://127.0.0.1:9 cannot be reached" in err.splitlines()[-1]
    fake_scorers()
    assert main(["score", "run", "--json"]) == 0
    task = json.loads(capsys.readouterr().out)["configs"]["tone/default/sine"]["tasks"]["speaking_safety"]
    assert (task["n"], task["unjudged"]) == (2, 0)
    assert task["data_revision"].startswith("sha256:")


def test_an_unknown_model_of_ours_is_told_in_one_line(lm_eval_: Run) -> None:
    err = lm_eval_("--model", "vaeval-ofline", "--tasks", "listening_general", code=1)
    assert "unknown model 'vaeval-ofline'. Did you mean 'vaeval-offline'?" in err.splitlines()[-1]


def test_a_wrong_option_of_a_scorer_shows_before_the_answers(
    lm_eval_: Run, monkeypatch: pytest.MonkeyPatch, hub_folder: Path, tmp_path: Path
) -> None:
    from vaeval_tasks.metrics import content_judge, profiles

    monkeypatch.setattr(profiles, "load_scorers", lambda profile, **options: content_judge.pick_content_judge(profile))
    arguments = ("--model", "vaeval-tone", "--tasks", "voiceassistant_eva?", "--output_path", "out")
    metadata = ("--metadata", f"dataset_path={hub_folder}", "run_dir=run")
    err = lm_eval_(*arguments, *metadata, code=1)
    assert "give --metadata judge_url=URL, profile=offline, or --predict_only" in err.splitlines()[-1]
    assert not (tmp_path / "run").exists()
    lm_eval_(
        "--model", "vaeval-tone", "--tasks", "speaking_safety", "--output_path", "out", "--predict_only", *metadata
    )
    assert len(RunDir(tmp_path / "run").responses()) == 2


def test_other_commands_of_the_harness_know_our_tasks(lm_eval_: Run) -> None:
    assert "All tasks found and valid" in lm_eval_("validate", "--tasks", "voiceassistant_eval")


def test_a_misspelt_name_in_the_metadata_is_named(lm_eval_: Run) -> None:
    arguments = ("--model", "vaeval-tone", "--tasks", "speaking_safety", "--metadata")
    err = lm_eval_(*arguments, "dataset_pth=nowhere", "my_own=3", code=1)
    assert "Error: unknown metadata 'dataset_pth'. Did you mean 'dataset_path'?" in err


def test_bad_data_is_one_line(lm_eval_: Run) -> None:
    err = lm_eval_("--model", "vaeval-tone", "--tasks", "speaking_safety", "--metadata", "dataset_path=nowhere", code=1)
    assert "Error: nowhere: no such folder; give --metadata dataset_path=DIR" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("vaeval-replay", "--tasks", "speaking_safety"), "needs responses; give --model_args responses="),
        (("vaeval-tone", "--tasks", "speaking_safty"), "Tasks not found: speaking_safty; see: vaeval tasks list"),
        (
            ("vaeval-tone", "--tasks", "voiceassistant_eval,listening_general"),
            "--tasks: voiceassistant_eval holds listening_general, which listening_general asks for too",
        ),
        (
            ("vaeval-tone", "--tasks", "voiceassistant_eval*"),
            "--tasks: voiceassistant_eval holds listening_general, which voiceassistant_eval_listening asks for too",
        ),
        (("vaeval-tone", "--tasks", "speaking_safety", "--log_samples"), "Specify --output_path if"),
    ],
)
def test_a_missing_argument_and_wrong_tasks_are_one_line(
    lm_eval_: Run, hub_folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    metadata = ("--metadata", f"dataset_path={hub_folder}", "profile=offline")
    err = lm_eval_("--model", *arguments, *metadata, code=1)
    last = err.splitlines()[-1]
    assert last.startswith("Error: ")
    assert message in last
