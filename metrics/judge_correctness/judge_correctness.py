"""Whether an answer is right, by a judge: a thin shell over ``vaeval_tasks.metrics``."""

import datasets
import evaluate
from vaeval_tasks.hosts.evaluate import speech as hub

_DESCRIPTION = """\
Decides whether the answers of a voice assistant are correct or good, as VoiceAssistant-Eval does: a judge reads the \
question, references and answer and ends with [Correct] or [Incorrect], [Good] or [Bad]; one clear verdict at the end \
counts, and nothing else does. The reference backend asks any OpenAI-compatible endpoint; the offline backend uses \
rules, and leaves items unjudged where no rule applies."""

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
    judge (`str`): `local`, a small model on this machine, or one's own class; takes no url, model, prompts or options.
    min_judged (`float`): the share of rows that must have a value, or there is no mean (0.5).
    judge_max_tokens … judge_structured: how a language model is asked, as in `vaeval lm-eval --metadata`.

Returns:
    judge_correctness (`float` or None): the share of correct or good among judged items, 0 to 1; higher is better.
    scores (`list`): 1, 0, or None for each item.
    n, n_skipped (`int`): items, and how many have no verdict.
    skipped (`list` of `str`): why, for each of these.
    coverage, reason (`float`, `str`): the share of rows with a value; below `min_judged` there is no mean, and why.
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
        text, texts = datasets.Value("string"), datasets.Sequence(datasets.Value("string"))
        columns = {"predictions": text, "references": texts, "questions": text, "verdicts": texts}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(columns),
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
        self,
        predictions,
        references,
        questions,
        verdicts,
        task=None,
        backend=None,
        min_judged=0.5,
        judge=None,
        **options,
    ):
        if any(verdicts):
            given = hub.read_verdicts(task, verdicts, {"judge": judge, **options})
            return hub.result("judge_correctness", given, "judge-given", min_judged=min_judged)
        chosen = hub.judge_of(hub.backend_of(backend, self.config_name), judge, options)
        scored = chosen.judge(hub.judge_items(task, predictions, references, questions))
        return hub.result("judge_correctness", scored, chosen.signature, min_judged=min_judged)
