"""Whether an answer is right, by a judge: a thin shell over ``vaeval_tasks.metrics``."""

import datasets
import evaluate
from vaeval_tasks.hosts.evaluate import speech as hub
from vaeval_tasks.metrics import content_judge

_DESCRIPTION = """\
Decides whether the answers of a voice assistant are correct or good, as VoiceAssistant-Eval does: a judge reads the \
question, references and answer and ends with [Correct] or [Incorrect], [Good] or [Bad]; one clear verdict at the end \
counts, and nothing else does. The reference backend asks any OpenAI-compatible endpoint; the offline backend uses rules, and leaves items \
unjudged where no rule applies."""

_CITATION = """\
@article{wang2025voiceassistanteval,
  title={VoiceAssistant-Eval: Benchmarking AI Assistants across Listening, Speaking, and Viewing},
  journal={arXiv preprint arXiv:2509.22651}, year={2025}}"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (`list` of `str`): the answers' text.
    references (`list` of `list` of `str`): the right answers of each item, possibly none.
    questions (`list` of `str`): what was asked.
    task (`str`): one of the 13 tasks, such as `listening_general`; it decides the criteria.
    verdicts (`list` of `str`): what a judge has written already; then no judge is asked.
    backend (`str`): `offline` (rules) or `reference` (a language model); by default the configuration, else `offline`.
    url, model, prompts (`str`): the endpoint's base, the judge's name there, a folder of other prompts (reference).
    judge_max_tokens … judge_structured: how a language model is asked, as in `vaeval lm-eval --metadata`.

Returns:
    judge_correctness (`float` or None): the share of correct or good among judged items, 0 to 1; higher is better.
    scores (`list`): 1, 0, or None for each item.
    n, n_skipped (`int`): items, and how many have no verdict.
    skipped (`list` of `str`): why, for each of these.
    signature (`str`): judge and prompts; scores compare only where it agrees.

Examples:
    >>> import evaluate
    >>> from vaeval_tasks.paths import metric_module
    >>> judge = evaluate.load(metric_module("judge_correctness"), keep_in_memory=True)
    >>> result = judge.compute(predictions=["A spider has eight legs.", "Six."], references=[["8"], ["8"]],
    ...                        questions=["How many legs has a spider?"] * 2, task="listening_general")
    >>> result["judge_correctness"], result["scores"]
    (0.5, [1.0, 0.0])
    >>> result = judge.compute(verdicts=["Hmm, [Bad]? No.\\n[Good]", "It seems fine."], task="speaking_assistant")
    >>> result["scores"], result["skipped"]
    ([1.0, None], ["row 2: no verdict in the judge's answer (it names none): It seems fine."])
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class JudgeCorrectness(evaluate.Metric):
    """Verdicts on answers."""

    def __init__(self, *args, **kwargs):
        hub.check_init(kwargs)
        super().__init__(*args, **kwargs)

    def _info(self):
        hub.backend_of(None, self.config_name)
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "predictions": text,
                    "references": datasets.Sequence(text),
                    "questions": text,
                    "verdicts": datasets.Sequence(text),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2509.22651"],
        )

    def compute(self, *, predictions=None, references=None, questions=None, verdicts=None, **kwargs):
        """Judge answers, or read verdicts that a judge has given; see the class for the arguments."""
        columns = {"predictions": predictions, "references": references, "questions": questions, "verdicts": verdicts}
        if any(column is not None for column in columns.values()):
            self.add_batch(**columns)
        return super().compute(**kwargs)

    def add_batch(self, *, predictions=None, references=None, questions=None, verdicts=None):
        """Add answers or verdicts; every row is checked before any is added."""
        super().add_batch(**hub.judge_columns(predictions, references, questions, verdicts))

    def add(self, *, prediction=None, reference=None, question=None, verdict=None):
        """Add one answer or one verdict."""
        row = {"predictions": prediction, "references": reference, "questions": question, "verdicts": verdict}
        self.add_batch(**{name: None if value is None else [value] for name, value in row.items()})

    def _compute(
        self, predictions, references, questions, verdicts, task=None, backend=None, url=None, model=None, prompts=None,
        judge_max_tokens=None, judge_temperature=None, judge_reasoning_effort=None, judge_timeout=None,
        judge_concurrency=None, judge_extra_body=None, judge_structured=None,
    ):  # fmt: skip
        values = (judge_max_tokens, judge_temperature, judge_reasoning_effort, judge_timeout, judge_concurrency)
        values = (*values, judge_extra_body, judge_structured)
        request = dict(zip(content_judge.JUDGE_OPTIONS, values, strict=True))
        if any(verdicts):
            family = content_judge.family(task) if task else None
            return hub.result(
                "judge_correctness", [content_judge.parse_verdict(v, family) for [v] in verdicts], "judge-given"
            )
        chosen = content_judge.pick_content_judge(
            hub.backend_of(backend, self.config_name), url=url, model=model, prompts=prompts, request=request
        )
        scored = chosen.judge(hub.judge_items(task, predictions, references, questions))
        return hub.result("judge_correctness", scored, chosen.signature)
