import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import InputError, MissingWeightsError
from vaeval_tasks.metrics.resemblyzer import Resemblyzer, speech_only
from vaeval_tasks.metrics.speaker_similarity import similarities, similarity
from vaeval_tasks.metrics.wespeaker import WeSpeaker, filter_bank


@pytest.fixture(scope="module")
def resemblyzer():
    return Resemblyzer(device="cpu")


@pytest.fixture(scope="module")
def onnx_file(tmp_path_factory):
    """A WeSpeaker-shaped model: the mean and the deviation of each filter over time, [B, T, 80] to [B, 160]."""
    from onnx import TensorProto, helper

    feats = helper.make_tensor_value_info("feats", TensorProto.FLOAT, ["B", "T", 80])
    embs = helper.make_tensor_value_info("embs", TensorProto.FLOAT, ["B", 160])
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    nodes = [
        helper.make_node("ReduceMax", ["feats", "axes"], ["top"], keepdims=0),
        helper.make_node("ReduceL2", ["feats", "axes"], ["size"], keepdims=0),
        helper.make_node("Concat", ["top", "size"], ["embs"], axis=1),
    ]
    graph = helper.make_graph(nodes, "tiny", [feats], [embs], initializer=[axes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path = tmp_path_factory.mktemp("onnx") / "tiny.onnx"
    onnx.save(model, path)
    return path


@pytest.fixture(scope="module")
def wespeaker(onnx_file):
    return WeSpeaker(path=onnx_file, device="cpu")


def test_the_same_voice_is_more_alike_than_another(resemblyzer, allison, reader):
    a1, a2, r1, r2 = resemblyzer.embed([*allison, *reader])
    same = min(similarity(a1, a2), similarity(r1, r2))
    other = max(similarity(a, r) for a in (a1, a2) for r in (r1, r2))
    assert same > other + 0.05


def test_embeddings_are_close_to_the_original_package(resemblyzer, reader, reader_embedding):
    (own,) = resemblyzer.embed(reader[:1])
    assert own.shape == (256,)
    assert np.linalg.norm(own) == pytest.approx(1, abs=1e-5)
    assert own @ reader_embedding > 0.99


@pytest.mark.parametrize("rate", [44100, 48000])
def test_the_rate_does_not_matter(resemblyzer, reader, rate):
    own, other = resemblyzer.embed([reader[0], reader[0].at(rate)])
    assert own @ other > 0.99


def test_a_telephone_band_is_still_the_same_voice(resemblyzer, reader, allison):
    narrow, wide, other = resemblyzer.embed([reader[0].at(8000), reader[0], allison[0]])
    assert narrow @ wide > other @ wide


def test_a_batch_is_its_clips_and_repeats(resemblyzer, allison, reader):
    clips = [*allison, *reader]
    for together, clip in zip(resemblyzer.embed(clips), clips, strict=True):
        (alone,) = resemblyzer.embed([clip])
        assert np.array_equal(together, alone)


def test_too_little_speech_gives_nothing(resemblyzer, reader):
    one_second = Clip(reader[0].samples[:16000], 16000)
    padded = Clip(np.concatenate([one_second.samples, np.zeros(64000, np.float32)]), 16000)
    assert resemblyzer.embed([one_second, padded]) == [None, None]


def test_pauses_are_cut_and_quiet_sound_is_raised(reader):
    speech = reader[0].samples
    with_pause = np.concatenate([speech, np.zeros(48000, np.float32), speech])
    kept = speech_only(with_pause)
    assert len(kept) < 2 * len(speech) + 16000
    quiet = speech_only(speech * np.float32(0.001))
    assert np.sqrt(np.mean(quiet**2)) > 0.02  # -30 dBFS is 0.0316, over speech and pauses


@pytest.mark.parametrize("name", ["resemblyzer", "wespeaker"])
def test_what_holds_no_voice_gives_nothing(name, request, unusable_clips):
    assert request.getfixturevalue(name).embed(list(unusable_clips.values())) == [None] * len(unusable_clips)


def test_wespeaker_runs_the_model_on_the_features(wespeaker, reader):
    (vector,) = wespeaker.embed(reader[:1])
    feats = filter_bank(reader[0].samples)
    expected = np.concatenate([feats.max(axis=0), np.linalg.norm(feats, axis=0)])
    assert vector == pytest.approx(expected / np.linalg.norm(expected), abs=1e-5)


def test_wespeaker_features_are_kaldi_s():
    tone = (0.1 * np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)).astype(np.float32)
    noise = np.random.default_rng(0).normal(0, 1e-3, 16000).astype(np.float32)
    feats = filter_bank(np.concatenate([noise, tone + noise]))
    assert feats.shape == (198, 80)  # snip_edges: 1 + (32000 - 400) // 160
    assert feats.dtype == np.float32
    assert feats.mean(axis=0) == pytest.approx(np.zeros(80), abs=1e-4)  # mean removed
    # Kaldi's mel scale, 80 filters from 20 Hz to 8 kHz: 1127 ln(1 + f / 700) puts 1 kHz at filter
    # (1000.0 - 31.7) / ((2840.0 - 31.7) / 81) - 1 = 26.9
    assert np.argmax(feats[150] - feats[50]) in (26, 27)
    # the scale is that of 16-bit samples: a factor of ten in level is 2 ln 10 = 4.605 in log power
    louder = filter_bank(np.concatenate([tone, 10 * tone]))
    assert louder[150, 27] - louder[40, 27] == pytest.approx(4.605, abs=0.05)


def test_wespeaker_repeats_whatever_the_neighbours(wespeaker, reader, allison):
    clips = [*reader, *allison]
    for together, clip in zip(wespeaker.embed(clips), clips, strict=True):
        assert np.array_equal(together, wespeaker.embed([clip])[0])


def test_another_onnx_model_is_refused(tmp_path, onnx_file, reader):
    model = onnx.load(onnx_file)
    model.graph.output[0].name = model.graph.node[2].output[0] = "out"
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(
        MissingWeightsError, match=r"not a WeSpeaker model: it has inputs \['feats'\], outputs \['out'\]"
    ):
        WeSpeaker(path=tmp_path / "other.onnx", device="cpu").embed(reader)
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(MissingWeightsError, match="cannot be read as an ONNX model"):
        WeSpeaker(path=tmp_path / "text.onnx", device="cpu").embed(reader)


def test_signatures_name_the_encoder(resemblyzer, wespeaker):
    assert resemblyzer.signature == "Resemblyzer|model:resemblyzer-0.1.4|weights:39373b86598f|vad:energy"
    assert wespeaker.signature.startswith("WeSpeaker|model:tiny|weights:")


def test_similarity_is_half_of_one_plus_the_cosine():
    x, y = np.array([1, 0], np.float32), np.array([0, 2], np.float32)
    assert similarity(x, x) == 1
    assert similarity(x, y) == 0.5
    assert similarity(x, -x) == 0


vectors = hnp.arrays(np.float32, 8, elements=st.floats(-100, 100, width=32)).filter(lambda v: np.linalg.norm(v) > 0.1)


@settings(max_examples=50)
@given(vectors, vectors)
def test_similarity_stays_in_the_unit_interval_and_is_symmetric(x, y):
    assert 0 <= similarity(x, y) <= 1
    assert similarity(x, y) == similarity(y, x)


def test_a_pair_that_cannot_be_compared_says_whose_fault_it_is(resemblyzer, reader, unusable_clips):
    silent = unusable_clips["silence"]
    scored = similarities(resemblyzer, [reader[0], silent, reader[0]], [reader[1], reader[0], silent])
    assert scored[0].value > 0.8
    assert [s.detail for s in scored] == [
        "",
        "too little speech in the response",
        "too little speech in the reference voice",
    ]
    with pytest.raises(InputError, match="1 responses but 2 voices"):
        similarities(resemblyzer, reader[:1], reader)
