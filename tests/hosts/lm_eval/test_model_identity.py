"""A run folder never holds the answers of two models under one name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.lm_eval.hooks import process_results
from vaeval_tasks.hosts.lm_eval.model_identity import checkpoint_digest, model_identity, model_label
from vaeval_tasks.hosts.lm_eval.run_settings import METADATA, HarnessSettings


def test_a_model_is_called_by_its_name_else_by_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    assert model_label({"model_name": "a", "pretrained": "b"}) == "a"
    assert model_label({"model": "gpt-4o", "base_url": "http://x"}) == "gpt-4o"
    assert model_label({}) == "model"
    for words in (["--model", "dummy"], ["--model=dummy"], ["-M", "dummy"]):
        monkeypatch.setattr(sys, "argv", ["/usr/bin/lm_eval", "run", *words, "--tasks", "x"])
        assert model_label({}) == "dummy"


def test_identity_is_of_the_model_alone() -> None:
    given = {"pretrained": "org/m", "dtype": "bfloat16"}
    aside = {
        "batch_size": 8,
        "run_dir": "/r",
        "profile": "offline",
        "config_source": "x",
        "device": "cpu",
        "min_judged": 1,
    }
    assert model_identity(given, METADATA) == model_identity(given | aside, METADATA)
    for other in ({"pretrained": "org/n"}, {"dtype": "float16"}, {"revision": "step2"}, {"peft": "adapter"}):
        assert model_identity(given, METADATA) != model_identity(given | other, METADATA)


def test_another_checkpoint_in_the_same_folder_is_another_model(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(bytes(200_000))
    before = checkpoint_digest(str(tmp_path))
    weights.write_bytes(bytes(199_999) + b"x")
    checkpoint_digest.cache_clear()
    assert checkpoint_digest(str(tmp_path)) not in ("", before)
    assert checkpoint_digest("") == checkpoint_digest("org/m") == ""


def test_two_models_of_one_name_are_refused_before_the_second_answers(
    hub_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bare ``lm_eval`` called both of them "model"."""
    from vaeval_tasks.hosts.lm_eval.dataset import load

    def docs(**arguments: Any) -> Any:
        source = str(Path("speaking_safety.yaml"))
        given = {"dataset_path": str(hub_folder), "run_dir": str(tmp_path), "profile": "offline", **arguments}
        return load(config_source=source, **given)["test"]

    one = {"base_url": "http://a/v1", "model": "m"}
    process_results(docs(**one)[0], ["No."])
    process_results(docs(**one)[1], ["No."])
    with pytest.raises(InputError, match=r"another model that is called m/default/default too \(base_url was http://a"):
        docs(base_url="http://b/v1", model="m")
    docs(base_url="http://b/v1", model="n")  # another name has answers of its own


def test_a_speech_model_of_another_address_is_refused(
    tmp_path: Path, fakes: Any, evaluate: Any, fake_scorers: Any
) -> None:
    fake_scorers()
    evaluate(fakes.ToneLM(run_dir=str(tmp_path)), ["speaking_safety"])

    class Elsewhere(fakes.ToneLM):  # type: ignore[misc, name-defined]
        def identity(self) -> dict[str, str]:
            return super().identity() | {"base_url": "http://elsewhere"}

    lm = Elsewhere(run_dir=str(tmp_path))
    with pytest.raises(InputError, match="base_url was absent, is http://elsewhere"):
        evaluate(lm, ["speaking_safety"])
    assert lm.tone.asked == []


def test_settings_cross_the_harness_with_all_that_is_new() -> None:
    settings = HarnessSettings.from_metadata({"min_judged": "0.3", "pretrained": "m"}).of_items(7)
    assert HarnessSettings.from_json(settings.to_json()) == settings
    assert (settings.min_judged, settings.items) == (0.3, 7)
    with pytest.raises(InputError, match=r"min_judged: must be a share between 0 and 1 such as 0\.5, got '50'"):
        HarnessSettings.from_metadata({"min_judged": "50"})
