import pytest
import torch
from transformers import Wav2Vec2Config, Wav2Vec2FeatureExtractor, Wav2Vec2ForSequenceClassification

from vaeval_tasks.errors import MissingWeightsError
from vaeval_tasks.metrics.emotion import CLASSES, EmotionClassifier, described

EMOTION2VEC = [
    "生气/angry", "厌恶/disgusted", "恐惧/fearful", "开心/happy", "中立/neutral", "其他/other", "难过/sad",
    "吃惊/surprised", "<unk>",
]  # fmt: skip


def write_checkpoint(folder, labels):
    torch.manual_seed(0)
    config = Wav2Vec2Config(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        conv_dim=(8, 8),
        conv_kernel=(10, 8),
        conv_stride=(8, 8),
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
        classifier_proj_size=8,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    Wav2Vec2ForSequenceClassification(config).save_pretrained(folder)
    Wav2Vec2FeatureExtractor(feature_size=1, sampling_rate=16000, padding_value=0.0).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    return EmotionClassifier(write_checkpoint(tmp_path_factory.mktemp("emotion") / "tiny", EMOTION2VEC), device="cpu")


def test_the_seven_classes_share_all_probability(classifier, reader):
    first, second = classifier.probabilities([reader[0], reader[0].at(44100)])
    assert tuple(first) == CLASSES
    assert sum(first.values()) == pytest.approx(1)
    assert second == pytest.approx(first, abs=0.02)


def test_a_batch_is_its_clips(classifier, reader):
    assert classifier.probabilities(reader) == [classifier.probabilities([clip])[0] for clip in reader]


def test_what_cannot_be_heard_has_no_emotion(classifier, unusable_clips):
    assert classifier.probabilities(list(unusable_clips.values())) == [None] * len(unusable_clips)


def test_the_signature_carries_the_checksum(classifier):
    assert classifier.signature.startswith("emotion|model:tiny|weights:")


def test_every_class_above_one_in_a_hundred_is_listed_likeliest_first():
    heard = {"sad": 0.2, "happy": 0.759, "angry": 0.01, "neutral": 0.0101, "fearful": 0.0209}
    assert described(heard) == "happy (0.76), sad (0.20), fearful (0.02), neutral (0.01)"
    assert described(None) == ""


def test_other_labels_are_refused(tmp_path, reader):
    write_checkpoint(tmp_path / "two", ["calm", "ang"])
    with pytest.raises(MissingWeightsError, match=r"its labels \['calm', 'ang'\] do not cover angry, disgusted"):
        EmotionClassifier(tmp_path / "two", device="cpu").probabilities(reader)


def test_a_folder_without_a_checkpoint_is_refused(tmp_path, reader):
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingWeightsError, match="empty: no audio classifier there"):
        EmotionClassifier(tmp_path / "empty").probabilities(reader)
