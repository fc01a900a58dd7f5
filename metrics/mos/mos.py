"""Mean opinion scores: a thin shell over ``vaeval_tasks.analysis`` and ``vaeval_tasks.stats``."""

import datasets
import evaluate
from vaeval_tasks.hosts.evaluate import preference as hub
from vaeval_tasks.hosts.evaluate.speech import check_init

_DESCRIPTION = """\
Summarises opinion scores from 1 (bad) to 5 (excellent) that people gave to single responses: the scores of a sample \
are averaged over its raters, then the samples of a system over its prompts, with intervals that take raters and \
prompts as drawn at random."""

_CITATION = """\
@misc{itu2018p808,
  title={Subjective evaluation of speech quality with a crowdsourcing approach},
  author={{ITU-T Recommendation P.808}}, year={2018}}"""

_KWARGS_DESCRIPTION = """
Args:
    score (`list` of numbers): whole numbers from 1 to 5.
    system (`list` of `str`, optional): what was rated; one system, `all`, if left out.
    prompt (`list` of `str`, optional): a sample is a system's response to a prompt.
    rater (`list` of `str`, optional): who rated; each rating is its own rater if left out.
    pooled (`bool`): average over ratings at once, not over samples; False.
    resamples, seed (`int`): of the bootstrap, 1000 and 0.

Returns:
    mos (`float` or None): the mean of the systems' scores, 1 to 5; higher is better.
    systems (`list` of `str`), scores (`list` of `float`): every system's MOS, best first.
    low, high (`list`): 95 % intervals; None where there is none, see `reason`.
    n, n_skipped (`int`), skipped (`list`): ratings, and those left out (none: a wrong row is refused).
    n_ratings, n_samples (`list` of `int`), reason, signature.

Examples:
    >>> import evaluate
    >>> from vaeval_tasks.paths import metric_module
    >>> mos = evaluate.load(metric_module("mos"), keep_in_memory=True)
    >>> result = mos.compute(score=[5, 4, 4, 2], system=["x", "x", "x", "y"], prompt=["1", "1", "2", "1"])
    >>> result["systems"], result["scores"], result["mos"]
    (['x', 'y'], [4.25, 2.0], 3.125)
    >>> mos.compute(score=[5, 4, 4], prompt=["1", "1", "2"], pooled=True)["scores"]
    [4.333333333333333]
"""

_TEXT = ("system", "prompt", "rater")


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Mos(evaluate.Measurement):
    """Mean opinion scores of systems."""

    def __init__(self, *args, **kwargs):
        check_init(kwargs)
        super().__init__(*args, **kwargs)

    def _info(self):
        features = {name: datasets.Value("string") for name in _TEXT} | {"score": datasets.Value("float64")}
        return evaluate.MeasurementInfo(
            module_type="measurement",
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(features),
            reference_urls=["https://www.itu.int/rec/T-REC-P.808"],
        )

    def compute(self, *, score=None, system=None, prompt=None, rater=None, **kwargs):
        """Summarise these scores, or those added before; see the class for the arguments."""
        if any(column is not None for column in (score, system, prompt, rater)):
            self.add_batch(score=score, system=system, prompt=prompt, rater=rater)
        return super().compute(**kwargs)

    def add_batch(self, *, score=None, system=None, prompt=None, rater=None):
        """Add scores; every row is checked before any is added."""
        given = {"system": system, "prompt": prompt, "rater": rater, "score": score}
        super().add_batch(**hub.columns(given, optional=_TEXT))

    def add(self, *, score=None, system=None, prompt=None, rater=None):
        """Add one score."""
        row = {"score": score, "system": system, "prompt": prompt, "rater": rater}
        self.add_batch(**{name: None if value is None else [value] for name, value in row.items()})

    def _compute(self, system, prompt, rater, score, pooled=False, resamples=1000, seed=0):
        rows = {"system": system, "prompt": prompt, "rater": rater, "score": score}
        return hub.mos_result(rows, pooled=pooled, resamples=resamples, seed=seed)
