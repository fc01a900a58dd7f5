"""Our models beside the harness's own."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from lm_eval.api.registry import get_model, model_registry

from vaeval_tasks.hosts.lm_eval.model import SpeechLM
from vaeval_tasks.hosts.lm_eval.register import MODELS, register


@pytest.mark.parametrize("name", MODELS)
def test_each_model_is_found_by_name_and_is_one_that_speaks(name: str) -> None:
    register()
    register()
    found = get_model(name)
    assert issubclass(found, SpeechLM)
    assert found.MULTIMODAL


def test_the_harness_keeps_its_own_models() -> None:
    register()
    assert {"hf", "vllm", "dummy"} < set(model_registry.keys())


def test_the_entry_points_name_the_same_models(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["lm_eval.models"] == MODELS
