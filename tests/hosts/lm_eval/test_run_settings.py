"""What the metadata says about a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.hosts.lm_eval.run_settings import HarnessSettings, run_folder


def test_settings_cross_the_harness_as_text() -> None:
    metadata = {
        "profile": "offline",
        "judge_url": "http://127.0.0.1:1",
        "scoring_device": "cpu",
        "pretrained": "m",
        "x": 1,
    }
    settings = HarnessSettings.from_metadata(metadata)
    assert settings.scoring == {"judge_url": "http://127.0.0.1:1", "device": "cpu"}
    assert (settings.model_name, settings.run_dir) == ("m", "")
    assert HarnessSettings.from_json(settings.to_json()) == settings


def test_wrong_settings() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'reference'"):
        HarnessSettings.from_metadata({"profile": "referense"})
    for text in ("{", '{"colour": "red"}'):
        with pytest.raises(InputError, match="field 'settings'"):
            HarnessSettings.from_json(text)
    with pytest.raises(InputError, match=r"address.*; give --metadata judge_url=URL, profile=offline"):
        HarnessSettings.from_metadata({"profile": "offline", "judge_model": "m"}).scorers()


def test_the_reference_needs_a_judge_and_says_how_to_give_one() -> None:
    with pytest.raises(InputError, match=r"the reference judge needs .*; give --metadata judge_url=URL"):
        HarnessSettings.from_metadata({}).scorers()


def test_run_folders() -> None:
    assert run_folder("", "hf org/Model 7B") == Path("vaeval-runs/hf-org-model-7b")
    assert run_folder("x", "m") == Path("x")
