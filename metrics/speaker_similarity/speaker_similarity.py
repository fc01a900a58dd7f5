"""Likeness of two voices: a thin shell over ``vaeval_tasks.metrics``."""

import datasets
import evaluate
from vaeval_tasks.hosts.evaluate import speech as hub
from vaeval_tasks.metrics import profiles
from vaeval_tasks.metrics import speaker_similarity

_DESCRIPTION = """\
Measures how alike the voices of two clips are, from 0 to 1: (cosine + 1) / 2 of their speaker embeddings. The \
reference backend is WeSpeaker ResNet34-LM; the offline backend is Resemblyzer. Scores of the two do not compare."""

_CITATION = """\
@inproceedings{wang2023wespeaker,
  title={Wespeaker: A research and production oriented speaker embedding learning toolkit},
  author={Wang, Hongji and Liang, Chengdong and Wang, Shuai and Chen, Zhengyang and Zhang, Binbin and Xiang, Xu and Deng, Yanlei and Qian, Yanmin},
  booktitle={Proc. ICASSP}, year={2023}}
@inproceedings{wan2018generalized,
  title={Generalized End-to-End Loss for Speaker Verification},
  author={Wan, Li and Wang, Quan and Papir, Alan and Moreno, Ignacio Lopez}, booktitle={Proc. ICASSP}, year={2018}}"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (`list`): clips: paths, bytes of sound files, or dicts with `array` and `sampling_rate` (Hz).
    references (`list`): the voices they are to resemble, in the same forms.
    backend (`str`): `offline` (Resemblyzer) or `reference` (WeSpeaker); by default the configuration, else `offline`.
    path (`str`): a local WeSpeaker ONNX file, for the reference backend; by default it comes from the Hub.
    device (`str`): a torch device; by default CUDA where there is one.
    min_judged (`float`): the share of rows that must have a value, or there is no mean (0.5).

Returns:
    speaker_similarity (`float` or None): the mean over the pairs that could be scored, 0 to 1; higher is more alike.
    scores (`list`): a similarity, or None, for each pair.
    n, n_skipped (`int`): pairs, and how many of them could not be scored.
    skipped (`list` of `str`): why, for each of these.
    coverage, reason (`float`, `str`): the share of rows with a value; below `min_judged` there is no mean, and why.
    signature (`str`): encoder and checksum; scores compare only where it agrees.

Examples:
    >>> import evaluate
    >>> from vaeval_tasks.paths import metric_module
    >>> similarity = evaluate.load(metric_module("speaker_similarity"), keep_in_memory=True)
    >>> silence = {"array": [0.0] * 32000, "sampling_rate": 16000}
    >>> result = similarity.compute(predictions=[silence], references=[silence])
    >>> result["scores"], result["skipped"]
    ([None], ['row 1: too little speech in the response'])
    >>> import numpy as np
    >>> hum = {"array": np.random.default_rng(0).normal(0, 0.1, 32000), "sampling_rate": 16000}
    >>> round(similarity.compute(predictions=[hum], references=[hum], device="cpu")["speaker_similarity"], 6)
    1.0
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class SpeakerSimilarity(evaluate.Metric):
    """Likeness of voices."""

    def __init__(self, *args, **kwargs):
        hub.check_init(kwargs)
        self._backends = {}
        super().__init__(*args, **kwargs)

    def _info(self):
        hub.backend_of(None, self.config_name)
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features({"predictions": hub.audio_features(), "references": hub.audio_features()}),
            reference_urls=["https://arxiv.org/abs/2210.17016", "https://arxiv.org/abs/1710.10467"],
        )

    def add_batch(self, *, predictions=None, references=None, **kwargs):
        """Add pairs of clips; every row is checked before any is added."""
        columns = {
            "predictions": hub.audio_rows(predictions, "predictions"),
            "references": hub.audio_rows(references, "references"),
        }
        hub.same_length(columns)
        super().add_batch(**columns, **kwargs)

    def add(self, *, prediction=None, reference=None):
        """Add one pair of clips."""
        self.add_batch(predictions=[prediction], references=[reference])

    def _compute(self, predictions, references, backend=None, path=None, device=None, min_judged=0.5):
        key = (hub.backend_of(backend, self.config_name), path, device)
        if key not in self._backends:
            self._backends[key] = profiles.speaker_encoder(key[0], path=path, device=device)
        clips = hub.AudioRows(predictions, "predictions"), hub.AudioRows(references, "references")
        scored = speaker_similarity.similarities(self._backends[key], *clips)
        return hub.result("speaker_similarity", scored, self._backends[key].signature, min_judged=min_judged)
