import hashlib

import numpy as np
import pytest
import torch

from vaeval_tasks.audio import Clip, read_audio
from vaeval_tasks.errors import MissingWeightsError
from vaeval_tasks.metrics import utmos_net
from vaeval_tasks.metrics.distillmos import DistillMos, _windows
from vaeval_tasks.metrics.utmos import Utmos

CLEAN = 4.481200  # distillmos 0.9.1 on the first sentence


@pytest.fixture(scope="module")
def distillmos():
    return DistillMos(device="cpu")


@pytest.fixture
def short(reader):
    """The first two seconds of both sentences."""
    return [Clip(clip.samples[:32000], clip.rate) for clip in reader]


def value(quality, clip):
    (scored,) = quality.score([clip])
    return scored.value


def test_distillmos_gives_the_scores_of_the_original_package(distillmos, reader):
    # distillmos 0.9.1 on the same two files: 4.481200218200684 and 4.297954559326172
    assert [s.value for s in distillmos.score(reader)] == pytest.approx([4.4812, 4.29795], abs=1e-4)


def test_clean_speech_scores_above_the_same_speech_in_noise(distillmos, allison, noisy):
    clip = allison[0]
    clean, mild, strong = (s.value for s in distillmos.score([clip, noisy(clip, 20), noisy(clip, 5)]))
    assert 5 >= clean > mild > strong >= 1
    assert clean - strong > 1


def test_human_speech_scores_above_an_old_synthesiser(distillmos, reader, flite, tmp_path):
    robot = read_audio(flite("He might even have been made amiable himself.", tmp_path, voice="kal"))
    assert value(distillmos, robot) < CLEAN


def test_a_long_clip_is_cut_into_windows_of_at_most_a_second_apart():
    samples = np.arange(16000 * 17 + 77, dtype=np.float32)
    windows = _windows(samples)
    assert windows.shape == (11, 122_880)  # ceil((272077 - 122880) / 16000) + 1
    assert windows[-1, -1] == samples[-1]
    assert np.max(np.diff(windows[:, 0])) <= 16000


def test_distillmos_does_not_follow_the_level(distillmos, reader):
    quiet = Clip(reader[0].samples * np.float32(0.05), reader[0].rate)
    assert value(distillmos, quiet) == pytest.approx(CLEAN, abs=1e-3)


@pytest.mark.parametrize("rate", [44100, 48000])
def test_higher_rates_change_little(distillmos, reader, rate):
    assert value(distillmos, reader[0].at(rate)) == pytest.approx(CLEAN, abs=0.15)


def test_a_telephone_band_scores_lower(distillmos, reader):
    assert value(distillmos, reader[0].at(8000)) < CLEAN


def test_a_distillmos_batch_is_its_clips(distillmos, short):
    assert [s.value for s in distillmos.score(short)] == [value(distillmos, clip) for clip in short]


def test_distillmos_says_what_it_is(distillmos):
    assert distillmos.signature == "DistillMOS|model:distill_mos_v7|weights:b18b3ac60227"


# the checkpoint's names (tarepan/SpeechMOS v1.2.0), written out by hand from those of transformers
_TO_CHECKPOINT = [
    ("wav2vec2.feature_projection.layer_norm.", "wav2vec2.layer_norm."),
    ("wav2vec2.feature_projection.projection.", "wav2vec2.post_extract_proj."),
    ("wav2vec2.masked_spec_embed", "wav2vec2.mask_emb"),
    ("conv_layers.0.layer_norm.", "conv_layers.0.2."),
    (".conv.weight", ".0.weight"),
    ("pos_conv_embed.conv.parametrizations.weight.original0", "pos_conv.0.weight_g"),
    ("pos_conv_embed.conv.parametrizations.weight.original1", "pos_conv.0.weight_v"),
    ("pos_conv_embed.conv.bias", "pos_conv.0.bias"),
    (".attention.", ".self_attn."),
    ("feed_forward.intermediate_dense.", "fc1."),
    ("feed_forward.output_dense.", "fc2."),
]


def checkpoint_name(name):
    for own, theirs in _TO_CHECKPOINT:
        name = name.replace(own, theirs)
    parts = name.split(".")
    if parts[:2] == ["wav2vec2", "encoder"] and parts[2] == "layers" and parts[4] == "layer_norm":
        parts[4] = "self_attn_layer_norm"
    return ".".join(parts)


@pytest.fixture(scope="module")
def small_utmos():
    """UTMOS with one transformer layer, so that its random checkpoint is quick to write."""
    patch = pytest.MonkeyPatch()
    config = utmos_net.Wav2Vec2Config
    patch.setattr(utmos_net, "Wav2Vec2Config", lambda: config(num_hidden_layers=1))
    yield patch
    patch.undo()


@pytest.fixture(scope="module")
def checkpoint(small_utmos, tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("utmos") / "random.pt"
    state = {checkpoint_name(name): tensor for name, tensor in utmos_net.UtmosNet().state_dict().items()}
    torch.save(state, path)
    return path


@pytest.fixture(scope="module")
def utmos(checkpoint):
    return Utmos(path=checkpoint, device="cpu")


def test_the_checkpoint_has_the_names_that_the_paper_s_has(checkpoint):
    names = set(torch.load(checkpoint, weights_only=True))
    assert {
        "domain_emb",
        "judge_emb",
        "blstm.weight_ih_l0_reverse",
        "projection.2.bias",
        "wav2vec2.mask_emb",
        "wav2vec2.layer_norm.weight",
        "wav2vec2.post_extract_proj.weight",
        "wav2vec2.feature_extractor.conv_layers.0.0.weight",
        "wav2vec2.feature_extractor.conv_layers.0.2.weight",
        "wav2vec2.feature_extractor.conv_layers.6.0.weight",
        "wav2vec2.encoder.pos_conv.0.weight_g",
        "wav2vec2.encoder.pos_conv.0.bias",
        "wav2vec2.encoder.layer_norm.weight",
        "wav2vec2.encoder.layers.0.self_attn.k_proj.weight",
        "wav2vec2.encoder.layers.0.self_attn_layer_norm.weight",
        "wav2vec2.encoder.layers.0.fc1.weight",
        "wav2vec2.encoder.layers.0.final_layer_norm.weight",
    } <= names
    assert not [n for n in names if "attention" in n or "feed_forward" in n or "parametrizations" in n]


def test_utmos_loads_every_parameter(utmos, checkpoint):
    state = torch.load(checkpoint, weights_only=True)
    net = utmos._net[1].state_dict()
    assert torch.equal(net["wav2vec2.encoder.layers.0.attention.k_proj.weight"],
                       state["wav2vec2.encoder.layers.0.self_attn.k_proj.weight"])  # fmt: skip
    assert torch.equal(net["wav2vec2.feature_projection.projection.bias"], state["wav2vec2.post_extract_proj.bias"])


def test_utmos_scores_repeat_and_do_not_depend_on_neighbours(utmos, short):
    first = [s.value for s in utmos.score(short)]
    assert all(np.isfinite(v) for v in first)
    assert first == [value(utmos, clip) for clip in short]
    assert first[0] != first[1]


def test_utmos_maps_the_mean_frame_to_the_scale(utmos, short):
    # with a projection that gives 0.5 everywhere: 0.5 * 2 + 3
    last = utmos._net[1].projection[2]
    kept = last.weight.detach().clone(), last.bias.detach().clone()
    with torch.no_grad():
        last.weight.zero_()
        last.bias.fill_(0.5)
    assert value(utmos, short[0]) == pytest.approx(4.0)
    with torch.no_grad():
        last.weight.copy_(kept[0])
        last.bias.copy_(kept[1])


def test_another_models_checkpoint_is_refused(small_utmos, checkpoint, tmp_path, reader):
    state = torch.load(checkpoint, weights_only=True)
    state.pop("judge_emb")
    torch.save(state, tmp_path / "less.pt")
    with pytest.raises(
        MissingWeightsError, match=r"less.pt: not a UTMOS22 strong checkpoint: 1 parameters .*judge_emb"
    ):
        Utmos(path=tmp_path / "less.pt", device="cpu").score(reader)
    torch.save(state | {"judge_emb": torch.zeros(1, 64)}, tmp_path / "shape.pt")
    with pytest.raises(MissingWeightsError, match="judge_emb"):
        Utmos(path=tmp_path / "shape.pt", device="cpu").score(reader)
    (tmp_path / "text.pt").write_text("not a checkpoint")
    with pytest.raises(MissingWeightsError, match="cannot be read as a torch state dict"):
        Utmos(path=tmp_path / "text.pt", device="cpu").score(reader)
    with pytest.raises(MissingWeightsError, match="no such file"):
        Utmos(path=tmp_path / "none.pt").score(reader)


def test_utmos_signature_carries_the_files_checksum(utmos, checkpoint):
    assert utmos.signature.endswith(hashlib.sha256(checkpoint.read_bytes()).hexdigest()[:12])
    assert utmos.signature.startswith("UTMOS22-strong|")


@pytest.mark.parametrize("name", ["distillmos", "utmos"])
def test_what_cannot_be_scored_has_a_reason(name, request, unusable_clips, short):
    quality = request.getfixturevalue(name)
    *scored, real = quality.score([*unusable_clips.values(), short[0]])
    assert [s.value for s in scored] == [None] * len(unusable_clips)
    assert dict(zip(unusable_clips, (s.detail for s in scored), strict=True)) == {
        "silence": "silent (never above -60 dBFS)",
        "no samples": "no samples",
        "10 ms": "shorter than 0.3 s (0.01 s)",
        "NaN": "NaN or infinite samples",
        "below -60 dBFS": "silent (never above -60 dBFS)",
    }
    assert real.value == value(quality, short[0])
