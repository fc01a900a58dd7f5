"""Predicted speech quality: a thin shell over ``vaeval_tasks.metrics``."""

import datasets
import evaluate
from vaeval_tasks.hosts.evaluate import speech as hub
from vaeval_tasks.metrics import profiles

_DESCRIPTION = """\
Predicts how people would rate the quality of speech, from 1 (bad) to 5 (excellent), without a reference recording. \
The reference backend is UTMOS22 strong; the offline backend is Distill-MOS, another model whose scores are not UTMOS \
scores, as the result's model and signature say."""

_CITATION = """\
@inproceedings{saeki22c_interspeech,
  title={UTMOS: UTokyo-SaruLab System for VoiceMOS Challenge 2022},
  author={Takaaki Saeki and Detai Xin and Wataru Nakata and Tomoki Koriyama and Shinnosuke Takamichi and Hiroshi Saruwatari},
  booktitle={Proc. Interspeech}, year={2022}}
@inproceedings{stahl2025distillation,
  title={Distillation and Pruning for Scalable Self-Supervised Representation-Based Speech Quality Assessment},
  author={Benjamin Stahl and Hannes Gamper}, booktitle={Proc. ICASSP}, year={2025}}"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (`list`): clips: paths, bytes of sound files, or dicts with `array` and `sampling_rate` (Hz).
    backend (`str`): `offline` (Distill-MOS) or `reference` (UTMOS22 strong); by default the configuration, else `offline`.
    path (`str`): a local UTMOS22 strong checkpoint, for the reference backend; by default it comes from the Hub.
    device (`str`): a torch device; by default CUDA where there is one.
    min_judged (`float`): the share of rows that must have a value, or there is no mean (0.5).

Returns:
    utmos (`float` or None): the mean over the clips that could be scored, 1 to 5; higher is better.
    scores (`list`): a score, or None, for each clip.
    n, n_skipped (`int`): clips, and how many of them could not be scored.
    skipped (`list` of `str`): why, for each of these.
    coverage, reason (`float`, `str`): the share of rows with a value; below `min_judged` there is no mean, and why.
    signature (`str`): backend and checksum; scores compare only where it agrees.
    model (`str`): the model that gave the scores, `DistillMOS` or `UTMOS22-strong`.

Examples:
    >>> import evaluate, math
    >>> from vaeval_tasks.paths import metric_module
    >>> utmos = evaluate.load(metric_module("utmos"), keep_in_memory=True)
    >>> silence = {"array": [0.0] * 16000, "sampling_rate": 16000}
    >>> result = utmos.compute(predictions=[silence])
    >>> result["scores"], result["skipped"]
    ([None], ['row 1: silent (never above -60 dBFS)'])
    >>> tone = {"array": [0.5 * math.sin(0.2 * i) for i in range(16000)], "sampling_rate": 16000}
    >>> result = utmos.compute(predictions=[tone, silence], device="cpu")
    >>> result["n"], result["n_skipped"], 1 <= result["utmos"] <= 5, result["model"]
    (2, 1, True, 'DistillMOS')
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Utmos(evaluate.Metric):
    """Predicted mean opinion score of speech."""

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
            features=datasets.Features({"predictions": hub.audio_features()}),
            reference_urls=["https://arxiv.org/abs/2204.02152", "https://arxiv.org/abs/2502.05356"],
        )

    def add_batch(self, *, predictions=None, **kwargs):
        """Add clips; every row is checked before any is added."""
        super().add_batch(predictions=hub.audio_rows(predictions, "predictions"), **kwargs)

    def add(self, *, prediction=None):
        """Add one clip."""
        self.add_batch(predictions=[prediction])

    def _compute(self, predictions, backend=None, path=None, device=None, min_judged=0.5):
        key = (hub.backend_of(backend, self.config_name), path, device)
        if key not in self._backends:
            self._backends[key] = profiles.speech_quality(key[0], path=path, device=device)
        quality = self._backends[key]
        scored = quality.score(hub.AudioRows(predictions, "predictions"))
        return hub.result(
            "utmos", scored, quality.signature, model=quality.signature.partition("|")[0], min_judged=min_judged
        )
