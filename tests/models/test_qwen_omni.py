"""Qwen-Omni in process, with tiny checkpoints of random weights: the real classes, the real generate()."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vaeval_tasks.errors import InputError, MissingWeightsError, ServiceError, UnknownNameError
from vaeval_tasks.models.local.batching import Batcher
from vaeval_tasks.models.local.omni_model import OUTPUT_RATE, OmniModel
from vaeval_tasks.models.local.omni_options import omni_options
from vaeval_tasks.models.local.omni_processor import AudioOnlyProcessor, OmniInput, audio_tokens_q3, audio_tokens_q25
from vaeval_tasks.models.local.qwen_omni import QwenOmni
from vaeval_tasks.models.protocol import Conversation, Turn
from vaeval_tasks.store.schema import ModelConfig, ResponseStatus

SHORT = {"thinker_max_new_tokens": 8, "talker_max_new_tokens": 20}
KINDS = ("q3", "q25")


@pytest.fixture(scope="session")
def loaded(checkpoints) -> dict[str, OmniModel]:
    import torch

    torch.set_num_threads(1)
    return {kind: OmniModel.load(str(path)) for kind, path in checkpoints.items()}


def omni(path: Path, kind: str, **connection) -> ModelConfig:
    steps = {"token2wav_num_steps": 2} if kind == "q25" else {}
    return ModelConfig(
        model=f"tiny {kind}",
        provider="qwen_omni",
        voice="Ethan",
        system_prompt="You are a helpful voice assistant.",
        params={"model": str(path), "speaker": "Ethan", "generate": {**SHORT, **steps}},
        connection=connection,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_speech_in_text_and_speech_out(kind, checkpoints, loaded, ask, short_prompt, monkeypatch):
    model = QwenOmni()
    monkeypatch.setattr(OmniModel, "load", lambda *a, **k: loaded[kind])
    config = omni(checkpoints[kind], kind)
    first = ask(model, config, short_prompt, seed=7)
    assert first.status is ResponseStatus.ok, first.error
    assert (first.audio.rate, first.audio.silent) == (OUTPUT_RATE, False)
    assert first.request["audio"][0]["bytes"] == 8000 * 4
    if kind == "q3":  # 20 tokens are 19 codes of 1920 samples; a chunk of codes loses 555
        assert len(first.audio.samples) == 19 * 1920 - 555
    again = ask(QwenOmni(), config, short_prompt, seed=7)
    assert again.audio.sha256 == first.audio.sha256, "the same seed gives the same speech"
    assert again.text == first.text
    assert ask(QwenOmni(), config, short_prompt, seed=8).audio.sha256 != first.audio.sha256
    other = replace(config, params={**config.params, "speaker": "AIDEN" if kind == "q3" else "CHELSIE"})
    assert ask(QwenOmni(), other, short_prompt, seed=7).audio.sha256 != first.audio.sha256


@pytest.mark.parametrize("kind", KINDS)
def test_a_talker_that_says_nothing_leaves_the_words(kind, checkpoints, loaded, ask, short_prompt, monkeypatch):
    """The talker may end before its first code, which transformers does not survive."""

    def mute(*args, **options):
        raise RuntimeError("stack expects a non-empty TensorList")

    monkeypatch.setattr(OmniModel, "load", lambda *a, **k: loaded[kind])
    config = omni(checkpoints[kind], kind, batch_size=2)
    spoken = ask(QwenOmni(), config, short_prompt)
    monkeypatch.setattr(loaded[kind]._model, "generate", mute)
    reply = ask(QwenOmni(), config, short_prompt)
    assert (reply.status, reply.audio) == (ResponseStatus.empty, None)
    assert reply.text == spoken.text
    item = OmniInput(messages=[{"role": "user", "content": [{"type": "audio"}]}], audio=(np.zeros(3200, np.float32),))
    assert [o.audio for o in loaded[kind].respond([item, item], "Ethan", omni_options(SHORT))] == [None, None]


@pytest.mark.parametrize("kind", KINDS)
def test_requests_that_come_together_are_one_batch(kind, checkpoints, loaded, short_prompt, prompt, monkeypatch):
    monkeypatch.setattr(OmniModel, "load", lambda *a, **k: loaded[kind])
    sizes = []
    respond = OmniModel.respond
    monkeypatch.setattr(
        OmniModel, "respond", lambda self, batch, *a: sizes.append(len(batch)) or respond(self, batch, *a)
    )
    config = omni(checkpoints[kind], kind, batch_size=2)

    async def both():
        model = QwenOmni()
        asked = [Conversation(turns=(Turn(role="user", audio=(p,)),)) for p in (short_prompt, prompt, short_prompt)]
        return await asyncio.gather(*[model.respond(c, config) for c in asked])

    replies = asyncio.run(both())
    assert sizes == [2, 1]
    assert [r.status for r in replies] == [ResponseStatus.ok] * 3


def test_a_dialogue_with_a_role(checkpoints, loaded, ask, short_prompt, prompt, monkeypatch):
    monkeypatch.setattr(OmniModel, "load", lambda *a, **k: loaded["q3"])
    turns = (
        Turn(role="user", audio=(short_prompt,)),
        Turn(role="assistant", text="hello"),
        Turn(role="user", audio=(short_prompt, short_prompt)),
    )
    config = omni(checkpoints["q3"], "q3")
    reply = ask(QwenOmni(), config, turns=turns, system_prompt="Speak so: <audio>", role_audio=prompt)
    assert reply.status is ResponseStatus.ok, reply.error
    roles = [(m["role"], [part["type"] for part in m["content"]]) for m in reply.request["messages"]]
    assert roles == [("system", ["text"]), ("user", ["audio"] * 2), ("assistant", ["text"]), ("user", ["audio"] * 2)]
    assert reply.request["audio"][0]["bytes"] == 6 * 16000 * 4, "the role's voice comes first"


@pytest.mark.skipif(importlib.util.find_spec("torchvision") is not None, reason="torchvision is there: it sees")
def test_without_torchvision_it_does_not_see(checkpoints, loaded, ask, short_prompt, tmp_path, monkeypatch):
    monkeypatch.setattr(OmniModel, "load", lambda *a, **k: loaded["q3"])
    model = QwenOmni()
    assert not model.sees
    turns = (Turn(role="user", audio=(short_prompt,), images=(tmp_path / "see.png",)),)
    reply = ask(model, omni(checkpoints["q3"], "q3"), turns=turns)
    assert reply.status is ResponseStatus.unsupported
    assert "torchvision" in reply.error


def test_wrong_names_are_one_line(loaded, tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'ethan'"):
        loaded["q3"].speaker("Ethen")
    with pytest.raises(MissingWeightsError, match="neither a model folder nor a model of the Hub"):
        OmniModel.load(str(tmp_path / "nothing"))
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(UnknownNameError, match="unknown kind of Omni model 'bert'"):
        OmniModel.load(str(tmp_path))


@pytest.mark.parametrize("kind", KINDS)
def test_the_audio_only_processor_gives_the_official_tensors(kind, checkpoints):
    """Of speech of 0.2 to 31 s, two at a time. The official class wants image parts; it gets stand-ins."""
    import torch
    import transformers

    base = transformers.Qwen3OmniMoeProcessor if kind == "q3" else transformers.Qwen2_5OmniProcessor

    class Official(base):
        def check_argument_for_proper_class(self, argument_name, argument):
            return type(argument)

    class Unused:
        model_input_names: tuple = ()
        merge_size = temporal_patch_size = 2

        def to_dict(self):
            return {}

    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoints[kind])
    features = transformers.AutoFeatureExtractor.from_pretrained(checkpoints[kind])
    ours = AudioOnlyProcessor(tokenizer, features, audio_tokens_q3 if kind == "q3" else audio_tokens_q25)
    official = Official(
        image_processor=Unused(),
        video_processor=Unused(),
        feature_extractor=features,
        tokenizer=tokenizer,
        chat_template=tokenizer.chat_template,
    )
    messages = [{"role": "user", "content": [{"type": "audio", "audio": "x.wav"}]}]
    for seconds in ([1.3, 2.7], [0.2, 0.21], [31.0, 4.0]):
        clips = [np.full(int(s * 16000), 0.1, np.float32) for s in seconds]
        text = official.apply_chat_template([messages] * 2, tokenize=False, add_generation_prompt=True)
        theirs = official(text=text, audio=clips, return_tensors="pt", padding=True)
        mine = ours([OmniInput(messages=messages, audio=(clip,)) for clip in clips])
        names = list(mine) if kind == "q3" else ["input_ids", "attention_mask"]  # 2.5 pads its mels to 300 s
        for name in names:
            assert torch.equal(theirs[name].to(mine[name].dtype), mine[name]), (seconds, name)


def test_clips_and_marks_must_agree(loaded):
    messages = [{"role": "user", "content": [{"type": "audio"}]}]
    clip = np.zeros(3200, np.float32)
    with pytest.raises(InputError, match="shows 1 clips of 2"):
        loaded["q3"].processor([OmniInput(messages=messages, audio=(clip, clip))])


def test_batches():
    """Those who come while another batch runs go together; a failure reaches all of a batch and nobody else."""
    seen: list[list[int]] = []
    busy = threading.Event()

    def work(batch: list[int]) -> list[int]:
        seen.append(batch)
        busy.set()
        time.sleep(0.05)
        if 5 in batch:
            raise ValueError("five")
        return [n * 10 for n in batch]

    async def go():
        batcher: Batcher[int, int] = Batcher(work, 3, 0.005)
        first = [asyncio.ensure_future(batcher.submit(n)) for n in range(2)]
        await asyncio.to_thread(busy.wait)
        later = [asyncio.ensure_future(batcher.submit(n)) for n in range(2, 7)]
        return await asyncio.gather(*first, *later, return_exceptions=True)

    results = asyncio.run(go())
    assert seen == [[0, 1], [2, 3, 4], [5, 6]]
    assert results[:5] == [0, 10, 20, 30, 40]
    assert [type(r) for r in results[5:]] == [ValueError, ValueError]


def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


@pytest.mark.parametrize("kind", KINDS)
def test_on_a_gpu_bf16_gives_finite_speech_at_batch_1_and_4(kind, checkpoints, prompt, capsys):
    """Needs a GPU. Prints the ratio of the throughputs of batch 4 and batch 1."""
    if not has_gpu():
        pytest.skip("needs a GPU: bf16 on CUDA")
    from vaeval_tasks.audio import read_audio

    model = OmniModel.load(str(checkpoints[kind]), dtype="bfloat16", device="cuda:0")
    clip = read_audio(prompt).samples
    messages = [{"role": "user", "content": [{"type": "audio"}]}]
    item = OmniInput(messages=messages, audio=(clip,))
    rates = {}
    for size in (1, 4):
        model.respond([item] * size, "Ethan", omni_options(SHORT))
        began = time.perf_counter()
        outputs = model.respond([item] * size, "Ethan", omni_options(SHORT))
        rates[size] = size / (time.perf_counter() - began)
        assert all(np.isfinite(o.audio.samples).all() and len(o.audio.samples) for o in outputs)
    with capsys.disabled():
        print(f"\n{kind}: batch 4 answers {rates[4] / rates[1]:.2f} times as fast as batch 1")


@pytest.fixture(scope="session")
def mute(checkpoints, tmp_path_factory) -> dict[str, Path]:
    """The same checkpoints without their talkers, as the Thinking models are published."""
    import torch
    import transformers

    found = {}
    for kind, path in checkpoints.items():
        folder = found[kind] = tmp_path_factory.mktemp(f"mute-{kind}")
        shutil.copytree(path, folder, dirs_exist_ok=True)
        config = transformers.AutoConfig.from_pretrained(folder)
        config.enable_audio_output = False
        name = {"q3": "Qwen3OmniMoeForConditionalGeneration", "q25": "Qwen2_5OmniForConditionalGeneration"}[kind]
        torch.manual_seed(1)
        for old in folder.glob("*.safetensors*"):
            old.unlink()
        getattr(transformers, name)(config).save_pretrained(folder)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_without_a_talker_answers_in_words_and_says_so(kind, mute, ask, short_prompt):
    reply = ask(QwenOmni(), omni(mute[kind], kind), short_prompt)
    assert (reply.status, reply.audio) == (ResponseStatus.empty, None)
    assert "the checkpoint has no talker: it answers in words only" in reply.error
    assert reply.text == ask(QwenOmni(), omni(mute[kind], kind), short_prompt).text


@pytest.mark.parametrize("kind", KINDS)
def test_words_alone_may_be_asked_for_and_are_those_that_are_spoken(
    kind, checkpoints, loaded, ask, short_prompt, monkeypatch
):
    monkeypatch.setattr(OmniModel, "load", lambda *a, **k: loaded[kind])
    spoken = ask(QwenOmni(), omni(checkpoints[kind], kind), short_prompt)
    config = omni(checkpoints[kind], kind)
    config.params["generate"]["return_audio"] = False
    written = ask(QwenOmni(), config, short_prompt)
    assert (written.audio, written.text) == (None, spoken.text)
    assert "return_audio is false" in written.error


def test_the_sentence_of_the_model_card_begins_every_system_turn(checkpoints, loaded, ask, short_prompt, monkeypatch):
    monkeypatch.setattr(OmniModel, "load", lambda *a, **k: loaded["q25"])
    config = omni(checkpoints["q25"], "q25")
    first, second = ask(QwenOmni(), config, short_prompt).request["messages"][0]["content"]
    assert first["text"].startswith("You are Qwen, a virtual human developed by the Qwen Team, Alibaba Group, capable")
    assert second["text"] == "You are a helpful voice assistant."
    plain = ask(QwenOmni(), replace(config, system_prompt=""), short_prompt).request["messages"][0]
    assert (plain["role"], [part["text"] for part in plain["content"]]) == ("system", [first["text"]])
    monkeypatch.setattr(OmniModel, "load", lambda *a, **k: loaded["q3"])
    bare = ask(QwenOmni(), replace(omni(checkpoints["q3"], "q3"), system_prompt=""), short_prompt)
    assert [m["role"] for m in bare.request["messages"]] == ["user"], "Qwen3-Omni asks for none"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"max_new_tokens": 5}, {"thinker_max_new_tokens": 5}),
        ({"temperature": 0.7}, {"thinker_temperature": 0.7, "thinker_do_sample": True}),
        ({"temperature": 0}, {"thinker_do_sample": False}),
        ({"temperature": 0.5, "do_sample": False}, {"thinker_temperature": 0.5, "thinker_do_sample": False}),
        ({"talker_temperature": 0.5, "token2wav_num_steps": 4}, {"talker_temperature": 0.5, "token2wav_num_steps": 4}),
    ],
)  # fmt: skip
def test_options_as_users_of_other_models_write_them(given, expected):
    assert omni_options(given).arguments == expected
    assert omni_options(given).speaks


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            {"taker_max_new_tokens": 5},
            "Did you mean 'talker_max_new_tokens'",
        ),
        ({"thinker_max_tokens": 5}, "Did you mean 'thinker_max_new_tokens'"),
        ({"return_audio": "no"}, "return_audio must be true or false, not 'no'"),
        ({"max_new_tokens": 5, "thinker_max_new_tokens": 6}, "keep one"),
    ],
)
def test_an_option_that_cannot_be_stops_the_configuration(
    given, why, checkpoints, loaded, ask, short_prompt, monkeypatch
):
    monkeypatch.setattr(OmniModel, "load", lambda *a, **k: loaded["q3"])
    config = omni(checkpoints["q3"], "q3")
    config.params["generate"] = given
    with pytest.raises(ServiceError, match=why):
        ask(QwenOmni(), config, short_prompt)


@pytest.mark.parametrize("size", ["auto", 0, 2.5, True])
def test_a_batch_size_that_cannot_be_is_one_line(size, checkpoints, loaded, ask, short_prompt, monkeypatch):
    monkeypatch.setattr(OmniModel, "load", lambda *a, **k: loaded["q3"])
    with pytest.raises(ServiceError, match="batch_size must be a whole number from 1"):
        ask(QwenOmni(), omni(checkpoints["q3"], "q3", batch_size=size), short_prompt)


def test_placement_and_precision_reach_the_loader(checkpoints, monkeypatch):
    import transformers

    seen = {}
    name = "Qwen3OmniMoeForConditionalGeneration"
    real = getattr(transformers, name).from_pretrained
    monkeypatch.setattr(
        getattr(transformers, name), "from_pretrained", lambda path, **k: seen.update(k) or real(path, **k)
    )
    OmniModel.load(str(checkpoints["q3"]), device_map="cpu", dtype="float32", attn_implementation="eager")
    assert (seen["device_map"], seen["dtype"], seen["attn_implementation"]) == ("cpu", "float32", "eager")
    with pytest.raises(InputError, match="give device or device_map, not both"):
        OmniModel.load(str(checkpoints["q3"]), device_map="auto", device="cpu")


def test_a_folder_that_needs_its_own_code_is_one_line_and_asks_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("it asked at the terminal"))
    about = {"model_type": "minicpmo", "auto_map": {"AutoConfig": "configuration_minicpm.MiniCPMOConfig"}}
    (tmp_path / "config.json").write_text(json.dumps(about))
    (tmp_path / "configuration_minicpm.py").write_text("raise SystemExit('run')")
    with pytest.raises(MissingWeightsError, match=r"needs code that lies beside its weights.*chat_audio"):
        OmniModel.load(str(tmp_path))


def test_weights_that_are_broken_are_one_line(checkpoints, tmp_path):
    shutil.copytree(checkpoints["q3"], tmp_path / "broken")
    next((tmp_path / "broken").glob("*.safetensors")).write_bytes(b"no weights")
    with pytest.raises(MissingWeightsError, match="the weights cannot be loaded") as raised:
        OmniModel.load(str(tmp_path / "broken"))
    assert "\n" not in str(raised.value)


def test_a_processor_that_fails_is_not_taken_for_blindness(checkpoints, monkeypatch):
    """Where torchvision is there, what else goes wrong is an error."""
    import transformers

    from vaeval_tasks.models.local import omni_model

    monkeypatch.setattr(omni_model, "can_see", lambda: True)

    def broken(*_, **__):
        raise ValueError("the preprocessor's file is damaged")

    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", broken)
    with pytest.raises(MissingWeightsError, match="its processor cannot be loaded"):
        OmniModel.load(str(checkpoints["q3"]))
