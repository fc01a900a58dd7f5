"""emotion2vec+ by funasr's own network: small, with random weights, in the files that the real checkpoint has."""

from __future__ import annotations

import logging
import socket

import pytest
import torch
import yaml

from vaeval_tasks.errors import MissingDependencyError, MissingWeightsError
from vaeval_tasks.metrics import emotion2vec
from vaeval_tasks.metrics.emotion import CLASSES, class_of
from vaeval_tasks.metrics.emotion2vec import Emotion2Vec

# as in the real file, which has 119 bytes
TOKENS = (
    "生气/angry\n厌恶/disgusted\n恐惧/fearful\n开心/happy\n中立/neutral\n其他/other\n难过/sad\n吃惊/surprised\n<unk>"
)
AUDIO = {
    "type": "AUDIO", "prenet_depth": 1, "prenet_layerdrop": 0.0, "prenet_dropout": 0.0, "start_drop_path_rate": 0.0,
    "end_drop_path_rate": 0.0, "num_extra_tokens": 2, "init_extra_token_zero": True, "local_grad_mult": 1.0,
    "use_alibi_encoder": True, "alibi_scale": 1.0, "learned_alibi": False, "alibi_max_pos": None,
    "learned_alibi_scale": True, "learned_alibi_scale_per_head": True, "learned_alibi_scale_per_layer": False,
    "num_alibi_heads": 2, "model_depth": 2, "decoder": None, "extractor_mode": "layer_norm",
    "feature_encoder_spec": "[(8,10,5)]+[(8,3,2)]*4+[(8,2,2)]*2", "conv_pos_width": 9, "conv_pos_groups": 2,
    "conv_pos_depth": 2, "conv_pos_pre_ln": False,
}  # fmt: skip
NETWORK = {
    "depth": 2, "start_drop_path_rate": 0.0, "end_drop_path_rate": 0.0, "num_heads": 2, "norm_eps": 1e-5,
    "norm_affine": True, "encoder_dropout": 0.1, "post_mlp_drop": 0.1, "attention_dropout": 0.1, "layerdrop": 0.05,
    "activation_dropout": 0.0, "dropout_input": 0.0, "embed_dim": 16, "mlp_ratio": 2.0, "layer_norm_first": False,
    "end_of_block_targets": False, "clone_batch": 1, "loss_beta": 0.0, "loss_scale": None, "average_top_k_layers": 2,
    "normalize": True, "modalities": {"audio": AUDIO},
}  # fmt: skip
CONFIG = {
    "model": "Emotion2vec", "model_conf": NETWORK, "tokenizer": "CharTokenizer",
    "tokenizer_conf": {"unk_symbol": "<unk>", "split_with_space": True}, "scope_map": ["d2v_model.", "none"],
}  # fmt: skip


def write(folder, state=None, tokens=TOKENS, config=None):
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(config or CONFIG))
    (folder / "tokens.txt").write_text(tokens, encoding="utf-8")
    torch.save(state if state is not None else {}, folder / "model.pt")
    return folder


@pytest.fixture(scope="module")
def network():
    pytest.importorskip("funasr", reason="the extra emotion is not installed")
    from funasr.models.emotion2vec.model import Emotion2vec

    torch.manual_seed(0)
    model = Emotion2vec(model_conf=NETWORK, vocab_size=9)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model.eval()


@pytest.fixture(scope="module")
def folder(network, tmp_path_factory):
    return write(tmp_path_factory.mktemp("emotion") / "tiny", network.state_dict())


def test_the_seven_classes_share_what_the_network_gives_them(folder, network, reader):
    shares = Emotion2Vec(folder, device="cpu").probabilities([reader[0]])[0]
    assert tuple(shares) == CLASSES
    assert sum(shares.values()) == pytest.approx(1)
    labels = emotion2vec._Labels(TOKENS.split("\n"))
    with torch.inference_mode():
        ((given,), _) = network.inference(
            [reader[0].samples], key=["a"], tokenizer=labels, device="cpu", extract_embedding=False
        )
    assert len(given["labels"]) == 9
    kept = {class_of(name): score for name, score in zip(given["labels"], given["scores"], strict=True)}
    kept.pop("")
    assert shares == pytest.approx({name: kept[name] / sum(kept.values()) for name in CLASSES})
    assert max(shares.values()) - min(shares.values()) > 0.01, "a network that hears nothing tests nothing"


def test_it_is_what_the_documented_loader_of_funasr_gives(folder, reader, monkeypatch):
    from funasr import AutoModel

    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("the network was asked"))
    threads, handlers, level = torch.get_num_threads(), list(logging.root.handlers), logging.root.level
    try:
        theirs = AutoModel(model=str(folder), disable_update=True, disable_pbar=True, device="cpu", log_level="ERROR")
        (given,) = theirs.generate(reader[0].samples, granularity="utterance", extract_embedding=False)
    finally:
        torch.set_num_threads(threads)
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)
    kept = {class_of(name): score for name, score in zip(given["labels"], given["scores"], strict=True)}
    kept.pop("")
    total = sum(kept.values())
    (ours,) = Emotion2Vec(folder, device="cpu").probabilities([reader[0]])
    assert ours == pytest.approx({name: kept[name] / total for name in CLASSES}, abs=1e-5)


def test_another_rate_and_a_batch_give_the_same(folder, reader):
    heard = Emotion2Vec(folder, device="cpu")
    first, second = heard.probabilities([reader[0], reader[0].at(48000)])
    assert second == pytest.approx(first, abs=0.02)
    assert heard.probabilities(reader) == [heard.probabilities([clip])[0] for clip in reader]


def test_what_cannot_be_heard_has_no_emotion(folder, unusable_clips):
    heard = Emotion2Vec(folder, device="cpu").probabilities(list(unusable_clips.values()))
    assert heard == [None] * len(unusable_clips)


@pytest.mark.parametrize("wrap", [lambda s: {"model": s}, lambda s: {f"d2v_model.{k}": v for k, v in s.items()}])
def test_checkpoints_in_the_forms_that_funasr_reads(folder, network, reader, tmp_path, wrap):
    other = write(tmp_path / "wrapped", wrap(network.state_dict()))
    assert Emotion2Vec(other, device="cpu").probabilities(reader[:1]) == Emotion2Vec(
        folder, device="cpu"
    ).probabilities(reader[:1])


def test_a_checkpoint_with_a_tensor_too_few_is_refused_and_not_filled_at_random(network, reader, tmp_path):
    state = network.state_dict()
    del state["proj.weight"]
    lacking = Emotion2Vec(write(tmp_path / "lacking", state), device="cpu")
    with pytest.raises(MissingWeightsError, match=r"model\.pt: 1 of \d+ tensors are missing, such as proj\.weight"):
        lacking.probabilities(reader[:1])
    state = network.state_dict() | {"proj.bias": torch.zeros(4)}
    with pytest.raises(MissingWeightsError, match=r"proj\.bias has the shape \(4,\), not \(9,\)"):
        Emotion2Vec(write(tmp_path / "odd", state), device="cpu").probabilities(reader[:1])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: (f / "model.pt").write_bytes(b"version https://git-lfs"), "no emotion2vec checkpoint"),
        (lambda f: (f / "config.yaml").write_text("model: Paraformer"), "is not the configuration of an Emotion2vec"),
        (lambda f: (f / "config.yaml").write_text("a: [b"), "no YAML"),
        (lambda f: (f / "tokens.txt").write_text("happy\nsad"), "no class 'angry' among"),
    ],
)
def test_files_of_something_else_are_one_line(network, reader, tmp_path, spoil, message):
    other = write(tmp_path / "other", network.state_dict())
    spoil(other)
    with pytest.raises(MissingWeightsError, match=message) as error:
        Emotion2Vec(other, device="cpu").probabilities(reader[:1])
    assert "\n" not in str(error.value)


def test_the_signature_names_model_revision_weights_and_classes(tmp_path):
    own = Emotion2Vec(write(tmp_path / "tiny"))
    assert own.signature.startswith("emotion|model:tiny|revision:local|weights:")
    assert own.signature.endswith("|labels:7of9")


def test_labels_of_the_real_file_are_the_seven_classes_and_two_that_are_left_out():
    assert len(TOKENS.encode()) == 119
    assert [class_of(label) for label in TOKENS.split("\n")] == [
        "angry", "disgusted", "fearful", "happy", "neutral", "", "sad", "surprised", "",
    ]  # fmt: skip


def test_a_check_reads_no_weights_and_names_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(emotion2vec, "find_spec", lambda name: name)
    with pytest.raises(MissingWeightsError, match=r"no config\.yaml there"):
        Emotion2Vec(tmp_path).check()
    Emotion2Vec(write(tmp_path / "tiny")).check()
    monkeypatch.setattr(emotion2vec, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"funasr.*vaeval\[emotion\]"):
        Emotion2Vec(tmp_path / "tiny").check()
