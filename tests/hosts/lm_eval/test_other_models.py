"""lm-eval's own models on our tasks: text-only ones, ones that see or hear, servers of the OpenAI protocol."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lm_eval.api.model import LM

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.hosts.lm_eval.given import Given, GivenAs, given_to
from vaeval_tasks.hosts.lm_eval.messages import messages, rendered
from vaeval_tasks.scoring.results import read_results
from vaeval_tasks.store.run import RunDir


class Text(LM):
    """A text-only model that keeps what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Any] = []

    def generate_until(self, requests: list[Any]) -> list[str]:
        assert requests, "lm-eval's own models fail without a request"
        assert len({len(request.args) for request in requests}) == 1
        self.asked += requests
        return [f"answer to {request.args[0]}" for request in requests]

    def loglikelihood(self, requests: Any) -> Any:
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood

    def apply_chat_template(self, chat_history: Any, add_generation_prompt: bool = True) -> str:
        return " | ".join(f"{m['role']}: {m['content']}" for m in chat_history)

    def chat_template(self, chat_template: Any = False) -> str:
        return ""

    @property
    def tokenizer_name(self) -> str:
        return "text"


class Multimodal(Text):
    MULTIMODAL = True


def _metadata(tmp_path: Path, **more: Any) -> dict[str, Any]:
    return {"run_dir": str(tmp_path / "run"), "model_name": "text", **more}


def test_a_text_only_model_is_asked_what_it_can_be_asked(
    tmp_path: Path, evaluate: Any, fake_scorers: Any, caplog: pytest.LogCaptureFixture
) -> None:
    model = Text()
    tasks = ["listening_sound", "speaking_multi_round", "speaking_roleplay", "viewing_multi_discipline"]
    with caplog.at_level(logging.WARNING, logger="vaeval_tasks"):
        results = evaluate(model, tasks, metadata=_metadata(tmp_path), log_samples=True)
    assert {request.task_name for request in model.asked} == {"speaking_multi_round", "speaking_roleplay"}
    assert all(
        request.args[1] == {"until": ["<|endoftext|>"], "max_gen_toks": 1024} | request.args[1]
        for request in model.asked
    )
    assert not any("<audio>" in request.args[0] for request in model.asked)
    assert "listening_sound: 2 items are not asked and not scored: the model is given no sound" in caplog.messages
    assert "viewing_multi_discipline: 2 items are not asked and not scored: the model is given no pictures" in (
        caplog.messages
    )
    assert math.isnan(results["results"]["listening_sound"]["vae_score,none"])
    assert len(results["samples"]["listening_sound"]) == 2, "log_samples holds what was not asked too"
    run = RunDir(tmp_path / "run")
    unasked = [r for r in run.responses() if r.task == "listening_sound"]
    assert {(r.status, r.error) for r in unasked} == {("unsupported", "the model is given no sound")}
    scores = read_results(run).configs["text/default/default"].tasks
    assert scores["listening_sound"].scores.score is None
    assert scores["listening_sound"].scores.n == 0
    assert scores["speaking_roleplay"].scores.n == 2


def test_nothing_to_ask_is_no_crash(tmp_path: Path, evaluate: Any, fake_scorers: Any) -> None:
    """A model is never called without a request, which lm-eval's own do not survive."""
    model = Text()
    results = evaluate(model, ["listening_music"], metadata=_metadata(tmp_path))
    assert model.asked == []
    assert math.isnan(results["results"]["listening_music"]["vae_score,none"])


def test_turns_are_turns_and_a_role_is_the_system_message(tmp_path: Path, evaluate: Any, fake_scorers: Any) -> None:
    model = Text()
    evaluate(
        model,
        ["speaking_multi_round", "speaking_roleplay"],
        metadata=_metadata(tmp_path),
        apply_chat_template=True,
        system_instruction="Be kind.",
    )
    prompts = {request.args[0] for request in model.asked}
    assert "system: Be kind. | user: turn 0 | user: turn 1 | user: turn 2" in prompts
    assert "system: Be kind.\nSpeak like this: | user: question 0 of speaking_roleplay" in prompts


DOC = {
    "system_prompt": "You are <audio> a pirate.",
    "question": "One\nTwo",
    "transcripts": ["One", "Two"],
    "turns": [["a.wav"], ["b.wav"]],
    "images": [],
    "options": [],
}


def _strict(roles: str) -> Callable[[list[dict[str, Any]]], str]:
    """The chat template of a model that takes these roles only, as many raise."""
    from jinja2 import TemplateError

    def template(chat: list[dict[str, Any]]) -> str:
        said = " ".join(message["role"] for message in chat)
        if said != roles:
            raise TemplateError("Conversation roles must alternate user/assistant/user/assistant/...")
        return " / ".join(message["content"] for message in chat)

    return template


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ("system user user", "You are  a pirate. / One / Two"),
        ("system user", "You are  a pirate. / One\nTwo"),
        ("user", "You are  a pirate.\nOne\nTwo"),
    ],
)
def test_a_template_that_takes_less(roles: str, expected: str) -> None:
    found = rendered(messages(DOC, Given()), _strict(roles))
    assert " ".join(found.split()) == " ".join(expected.split())


def test_a_template_that_takes_nothing_is_one_line() -> None:
    with pytest.raises(InputError, match="chat template refuses the conversation \\(Conversation roles must"):
        rendered(messages(DOC, Given()), _strict("tool"))


def test_a_multimodal_model_sees_and_hears(tmp_path: Path, evaluate: Any, fake_scorers: Any, hub_folder: Path) -> None:
    model = Multimodal()
    tasks = ["listening_sound", "speaking_multi_round", "viewing_multi_discipline"]
    evaluate(model, tasks, metadata=_metadata(tmp_path))
    by_task = {request.task_name: request for request in model.asked}
    assert set(by_task) == set(tasks)
    prompt, _, media = by_task["viewing_multi_discipline"].args
    assert prompt == "<image>\n" * 5 + "<audio>"
    assert [picture.mode for picture in media["visual"]] == ["RGB"] * 5
    prompt, _, media = by_task["listening_sound"].args
    assert prompt == "<audio><audio>"
    assert [clip["sampling_rate"] for clip in media["audio"]] == [16_000, 16_000]
    assert all(clip["array"].dtype == np.float32 and len(clip["array"]) == 3200 for clip in media["audio"])
    assert by_task["speaking_multi_round"].args[0].count("<audio>") == 7


@pytest.fixture(scope="module")
def tiny_llava(tmp_path_factory: pytest.TempPathFactory, fakes: Any) -> Path:
    pytest.importorskip("transformers")
    import importlib

    folder = tmp_path_factory.mktemp("llava")
    importlib.import_module("tiny_llava").make(folder)
    return folder


@pytest.mark.parametrize("chat", [False, True])
def test_hf_multimodal_sees(
    tmp_path: Path, evaluate: Any, fake_scorers: Any, tiny_llava: Path, monkeypatch: pytest.MonkeyPatch, chat: bool
) -> None:
    """A real checkpoint of random weights, with questions without pictures in the same call."""
    from lm_eval.models.hf_vlms import HFMultimodalLM

    seen: list[int] = []
    original = HFMultimodalLM.tok_batch_multimodal_encode

    def encode(self: Any, strings: Any, images: Any, **options: Any) -> Any:
        seen.extend(len(some) for some in images)
        found = original(self, strings, images, **options)
        assert found["pixel_values"].shape[0] == 5
        return found

    monkeypatch.setattr(HFMultimodalLM, "tok_batch_multimodal_encode", encode)
    evaluate(
        "hf-multimodal",
        ["viewing_multi_discipline", "speaking_assistant", "listening_sound"],
        model_args={"pretrained": str(tiny_llava), "dtype": "float32"},
        device="cpu",
        batch_size=1,
        apply_chat_template=chat,
        gen_kwargs={"max_gen_toks": 8},
        metadata=_metadata(tmp_path),
    )
    assert seen == [5, 5]
    status = {(r.task, str(r.status)) for r in RunDir(tmp_path / "run").responses()}
    assert ("listening_sound", "unsupported") in status
    assert ("viewing_multi_discipline", "unsupported") not in status
    assert not any(task == "speaking_assistant" and status == "unsupported" for task, status in status)


def test_what_hf_audiolm_qwen_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.4.13 registers it under a class that is not there, and it asks for a GPU and a processor of transformers 4."""
    import importlib

    from lm_eval.api.registry import model_registry

    monkeypatch.delitem(model_registry._objs, "hf-audiolm-qwen", raising=False)
    cls = importlib.import_module("lm_eval.models.hf_audiolm").HFAUDIOLMQWEN
    assert given_to(cls.__new__(cls), {}) == Given(form=GivenAs.placeholders, hears=True)


@pytest.fixture
def chat_server(fakes: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    import importlib

    with importlib.import_module("strict_chat").strict_chat() as served:
        yield served


def _chat(evaluate: Any, url: str, tasks: list[str], tmp_path: Path, **metadata: Any) -> Any:
    arguments = {"model": "some", "base_url": url, "max_retries": 1, **metadata.pop("model_args", {})}
    return evaluate(
        "local-chat-completions",
        tasks,
        model_args=arguments,
        apply_chat_template=True,
        metadata=_metadata(tmp_path, **metadata),
    )


def test_chat_completions_of_a_text_model(
    tmp_path: Path, evaluate: Any, fake_scorers: Any, chat_server: tuple[str, list[dict[str, Any]]]
) -> None:
    url, got = chat_server
    _chat(evaluate, url, ["speaking_multi_round", "speaking_roleplay", "listening_sound"], tmp_path)
    assert len(got) == 4
    assert all(body["stop"] and body["max_tokens"] == 1024 for body in got)
    roles = sorted(" ".join(message["role"] for message in body["messages"]) for body in got)
    assert roles == ["system user", "system user", "user user user", " ".join(["user"] * 7)]
    assert {r.text for r in RunDir(tmp_path / "run").responses() if r.status == "ok"} == {"four"}


@pytest.mark.parametrize(("inputs", "sees", "hears"), [("text+images", 1, 0), ("audio", 0, 1), ("images+audio", 1, 1)])
def test_chat_completions_with_pictures_and_sound(
    tmp_path: Path,
    evaluate: Any,
    fake_scorers: Any,
    chat_server: tuple[str, list[dict[str, Any]]],
    inputs: str,
    sees: int,
    hears: int,
) -> None:
    url, got = chat_server
    _chat(evaluate, url, ["viewing_multi_discipline", "listening_sound", "speaking_assistant"], tmp_path, inputs=inputs)
    assert len(got) == 2 * (sees + hears + 1)
    shapes = {_shape(body["messages"][-1]["content"]) for body in got}
    question = "A" if hears else "T"
    assert shapes == {*(["IIIII" + question] if sees else []), *(["AA"] if hears else []), "A" if hears else "text"}


def _shape(content: Any) -> str:
    """A letter for each part of a message: text, image, audio."""
    letters = {"text": "T", "image_url": "I", "input_audio": "A"}
    return "text" if isinstance(content, str) else "".join(letters[part["type"]] for part in content)


def test_max_images_of_a_server_means_that_it_sees(
    tmp_path: Path, evaluate: Any, fake_scorers: Any, chat_server: tuple[str, list[dict[str, Any]]]
) -> None:
    url, got = chat_server
    metadata = {"max_images": 5, "model_args": {"max_images": 5}}
    _chat(evaluate, url, ["viewing_multi_discipline"], tmp_path, **metadata)
    assert [_shape(body["messages"][0]["content"]) for body in got] == ["IIIIIT"] * 2
    got.clear()
    _chat(evaluate, url, ["viewing_multi_discipline"], tmp_path / "b", **(metadata | {"max_images": 2}))
    assert got == []
    reasons = {r.error for r in RunDir(tmp_path / "b" / "run").responses()}
    assert reasons == {"the item has 5 pictures, max_images=2"}


def test_inputs_that_are_none(tmp_path: Path, evaluate: Any, fake_scorers: Any) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown inputs 'image'. Did you mean 'images'\?"):
        evaluate(Multimodal(), ["speaking_assistant"], metadata=_metadata(tmp_path, inputs="image"))
    with pytest.raises(InputError, match="inputs=images: Text of lm-eval takes text only"):
        evaluate(Text(), ["speaking_assistant"], metadata=_metadata(tmp_path, inputs="images"))


def test_the_harness_cache_keys_no_media(tmp_path: Path, evaluate: Any, fake_scorers: Any) -> None:
    options = {"metadata": _metadata(tmp_path), "use_cache": str(tmp_path / "cache")}
    with pytest.raises(InputError, match="--use_cache keys no pictures and sound"):
        evaluate(Multimodal(), ["viewing_multi_discipline"], **options)
    model = Text()
    evaluate(model, ["speaking_assistant"], **options)
    assert len(model.asked) == 2, "a text-only model is asked through the cache"
