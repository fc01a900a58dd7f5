import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import InputError, MissingDependencyError, MissingWeightsError, UnknownNameError
from vaeval_tasks.metrics import common, emotion2vec
from vaeval_tasks.metrics.content_judge import ChatContentJudge, RulesJudge
from vaeval_tasks.metrics.distillmos import DistillMos
from vaeval_tasks.metrics.profiles import load_scorers
from vaeval_tasks.metrics.resemblyzer import Resemblyzer
from vaeval_tasks.metrics.utmos import Utmos
from vaeval_tasks.metrics.wespeaker import WeSpeaker

URL = "http://127.0.0.1:1/v1"
TONE = Clip(np.sin(np.arange(48000) * 0.1).astype(np.float32), 16000)


def test_offline():
    scorers = load_scorers("offline")
    assert isinstance(scorers.judge, RulesJudge)
    assert isinstance(scorers.speech, DistillMos)
    assert isinstance(scorers.speaker, Resemblyzer)
    assert "whisper-base" in scorers.recogniser.signature
    assert scorers.emotion is None
    assert scorers.content_signature("listening_general") == "judge-rules|version:3"
    assert scorers.content_signature("speaking_emotion") == "judge-rules|version:3|emotion|model:none"


def test_offline_takes_a_judge_and_a_smaller_recogniser():
    scorers = load_scorers("offline", judge_url=URL, judge_model="m", asr_model="whisper-tiny.en")
    assert isinstance(scorers.judge, ChatContentJudge)
    assert "|model:m|" in scorers.judge.signature
    assert "whisper-tiny.en" in scorers.recogniser.signature


def test_reference_is_the_papers(tmp_path):
    scorers = load_scorers("reference", judge_url=URL, utmos_path=tmp_path / "u.pt", speaker_path=tmp_path / "s.onnx")
    assert "gpt-oss-20b" in scorers.judge.signature
    assert isinstance(scorers.speech, Utmos)
    assert isinstance(scorers.speaker, WeSpeaker)
    with pytest.raises(MissingWeightsError, match=r"u\.pt: no such file"):
        scorers.speech.score([TONE])
    with pytest.raises(MissingWeightsError, match=r"s\.onnx: no such file"):
        scorers.speaker.embed([TONE])
    assert load_scorers("reference", judge_url=URL, emotion_path="none").emotion is None


@pytest.fixture
def without_funasr(monkeypatch):
    monkeypatch.setattr(emotion2vec, "find_spec", lambda name: None if name == "funasr" else find_spec(name))


def test_the_reference_without_its_emotion_recogniser_says_so_before_anything_is_asked(caplog, without_funasr):
    scorers = load_scorers("reference", judge_url=URL)
    assert scorers.emotion is None
    assert scorers.content_signature("speaking_emotion").endswith("|emotion|model:none")
    (line,) = caplog.messages
    assert "speaking_emotion is judged without them" in line
    assert "pip install 'vaeval[emotion]'" in line


def test_the_reference_without_weights_of_its_emotion_recogniser_says_how_to_get_them(caplog, monkeypatch, tmp_path):
    monkeypatch.setattr(emotion2vec, "find_spec", lambda name: name)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the network was asked"))
    assert load_scorers("reference", judge_url=URL).emotion is None
    (line,) = caplog.messages
    assert "not in the Hub's cache; get them with vaeval weights pull reference --only emotion2vec-plus-large" in line


def test_an_emotion_recogniser_that_was_asked_for_and_cannot_be_used_is_refused_at_once(tmp_path, without_funasr):
    with pytest.raises(MissingWeightsError, match="no such folder"):
        load_scorers("reference", judge_url=URL, emotion_path=tmp_path / "nowhere")
    for name in ("config.yaml", "tokens.txt"):
        (tmp_path / name).write_text("")
    with pytest.raises(MissingDependencyError, match=r"needs the package funasr.*vaeval\[emotion\]"):
        load_scorers("reference", judge_url=URL, emotion_path=tmp_path)


@pytest.mark.parametrize(
    ("profile", "options", "kind", "message"),
    [
        ("ofline", {}, UnknownNameError, "unknown profile 'ofline'. Did you mean 'offline'"),
        ("reference", {}, InputError, "needs the base of its endpoint"),
        ("offline", {"judge_model": "m"}, InputError, "the offline rules take neither"),
        ("offline", {"utmos_path": "u.pt"}, InputError, "Distill-MOS has pinned weights and takes no path"),
        ("offline", {"speaker_path": "s.onnx"}, InputError, "Resemblyzer has pinned weights and takes no path"),
        ("offline", {"judge_url": URL, "judge_prompts": "nowhere"}, InputError, "no such folder of judge prompts"),
    ],
)
def test_options_that_do_not_go_together_are_refused(profile, options, kind, message):
    with pytest.raises(kind, match=message):
        load_scorers(profile, **options)


@pytest.mark.parametrize(
    ("library", "extra", "use"),
    [
        ("torch", "offline", lambda s: s.speech.score([TONE])),
        ("torch", "offline", lambda s: s.speaker.embed([TONE])),
        ("faster_whisper", "offline", lambda s: s.recogniser.transcribe([TONE])),
    ],
)
def test_a_missing_library_names_the_extra(monkeypatch, library, extra, use):
    monkeypatch.setitem(sys.modules, library, None)
    for name in [n for n in sys.modules if n.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingDependencyError, match=rf"needs the package {library}.*vaeval\[{extra}\]"):
        use(load_scorers("offline", device="cpu"))


def test_a_fault_inside_a_library_is_not_called_missing(monkeypatch, tmp_path):
    (tmp_path / "vaeval_broken.py").write_text("import vaeval_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="vaeval_not_there"):
        common.require("vaeval_broken", "this", extra="offline")


def test_loading_a_profile_imports_nothing_heavy():
    code = (
        "import sys; from vaeval_tasks.metrics.profiles import load_scorers; load_scorers('offline'); "
        f"load_scorers('reference', judge_url='{URL}'); "
        "heavy = {'torch', 'transformers', 'faster_whisper', 'onnxruntime', 'evaluate', 'datasets', 'scipy'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
