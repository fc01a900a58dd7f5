"""Consistency of a response's text with its speech: a thin shell over ``vaeval_tasks.metrics``."""

import datasets
import evaluate
from vaeval_tasks.hosts.evaluate import speech as hub
from vaeval_tasks.metrics import modified_wer
from vaeval_tasks.metrics.backends import Scored

_DESCRIPTION = """\
Measures how far the text of a spoken response and the transcript of its speech differ, from 0 (same) to 1: the \
character-level modified WER of VoiceAssistant-Eval. Both are lower-cased and white space is removed; if one has fewer \
than 10 characters the result is 1 where the other has more than 10 and 0 otherwise, else it is the Levenshtein \
distance divided by the longer length."""

_CITATION = """\
@article{wang2025voiceassistanteval,
  title={VoiceAssistant-Eval: Benchmarking AI Assistants across Listening, Speaking, and Viewing},
  journal={arXiv preprint arXiv:2509.22651}, year={2025}}"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (`list` of `str`): the response's own text.
    references (`list` of `str`): the transcript of the response's speech.

Returns:
    modified_wer (`float` or None): the mean, 0 to 1; lower is better. None for empty lists.
    consistency (`float` or None): 100 * (1 - mean); higher is better.
    scores (`list` of `float`): the value of each pair.
    n, n_skipped (`int`): pairs, and how many were skipped (always 0: any two texts have a value).
    skipped (`list` of `str`): always empty.
    coverage, reason (`float`, `str`): the share of rows with a value; below `min_judged` there is no mean, and why.
    signature (`str`): how the texts were compared.

Examples:
    >>> import evaluate
    >>> from vaeval_tasks.paths import metric_module
    >>> wer = evaluate.load(metric_module("modified_wer"), keep_in_memory=True)
    >>> wer.compute(predictions=["The answer is Paris."], references=["the answer is paris"])["scores"]  # 1 of 17
    [0.058823529411764705]
    >>> result = wer.compute(predictions=["Yes.", "Yes."], references=["Yes!", "A quite different sentence."])
    >>> result["scores"], result["modified_wer"], result["consistency"]
    ([0.0, 1.0], 0.5, 50.0)
    >>> wer.compute(predictions=[], references=[])["modified_wer"] is None
    True
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class ModifiedWer(evaluate.Metric):
    """Character-level disagreement of text and speech."""

    def __init__(self, *args, **kwargs):
        hub.check_init(kwargs)
        super().__init__(*args, **kwargs)

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
            reference_urls=["https://arxiv.org/abs/2509.22651"],
        )

    def add_batch(self, *, predictions=None, references=None, **kwargs):
        """Add pairs of texts; every row is checked before any is added."""
        columns = {
            "predictions": hub.strings(predictions, "predictions"),
            "references": hub.strings(references, "references"),
        }
        hub.same_length(columns)
        super().add_batch(**columns, **kwargs)

    def add(self, *, prediction=None, reference=None):
        """Add one pair of texts."""
        self.add_batch(predictions=[prediction], references=[reference])

    def _compute(self, predictions, references):
        wers = modified_wer.modified_wers(predictions, references)
        return hub.result(
            "modified_wer",
            [Scored(value=value) for value in wers],
            modified_wer.SIGNATURE,
            consistency=modified_wer.consistency(wers),
        )
