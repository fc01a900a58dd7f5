"""Elo from graded pairwise preferences: a thin shell over ``vaeval_tasks.analysis`` and ``vaeval_tasks.stats``."""

import datasets
import evaluate
from vaeval_tasks.hosts.evaluate import preference as hub
from vaeval_tasks.hosts.evaluate.speech import check_init

_DESCRIPTION = """\
Ranks systems from graded pairwise preferences (comparative mean opinion scores, CMOS, -3 to +3, ties allowed): an \
ordinal Bradley-Terry model on the Elo scale, anchored so that the mean of the systems is 1000, with intervals that \
take raters and prompts as drawn at random, and the ranks each system may hold."""

_CITATION = """\
@article{bradley1952rank,
  title={Rank analysis of incomplete block designs: I. The method of paired comparisons},
  author={Bradley, Ralph Allan and Terry, Milton E.}, journal={Biometrika}, volume={39}, pages={324--345}, year={1952}}
@article{agresti1992analysis,
  title={Analysis of ordinal paired comparison data},
  author={Agresti, Alan}, journal={Applied Statistics}, volume={41}, pages={287--297}, year={1992}}"""

_KWARGS_DESCRIPTION = """
Args:
    a, b (`list` of `str`): the two systems that were compared; in any order.
    score (`list` of numbers): whole numbers from -3 to +3, positive where `a` is preferred, 0 a tie.
    rater, prompt (`list` of `str`, optional): who compared, on what; intervals are clustered by those given.
    engine (`str`): `ordinal` (default), `massey` or `fractional` (Bradley-Terry on partial margins).
    ci (`str`): `bootstrap` (raters and prompts; default), `sandwich` (clustered by them) or `iid`.
    resamples, seed (`int`): of the bootstrap, 1000 and 0.
    ridge (`float`): a penalty where no finite estimate exists, 0.

Returns:
    systems (`list` of `str`): best first.
    cmos_elo (`list` of `float`): Elo of each; higher is better (CMOS points for `massey`).
    low, high (`list`): 95 % intervals; None where there is none, see `reason`.
    rank_low, rank_high (`list`): the best and worst rank each system may hold.
    n, n_skipped (`int`), skipped (`list`): ratings, and those left out (none: a wrong row is refused).
    n_ratings (`list` of `int`), n_raters, n_prompts (`int` or None), log_likelihood, thresholds, method, reason,
        signature.

Examples:
    >>> import evaluate
    >>> from vaeval_tasks.paths import metric_module
    >>> elo = evaluate.load(metric_module("cmos_elo"), keep_in_memory=True)
    >>> result = elo.compute(a=["x", "x", "y", "x"], b=["y", "y", "x", "y"], score=[1, 2, 1, 0])
    >>> result["systems"], [round(e) for e in result["cmos_elo"]], result["low"]
    (['x', 'y'], [1063, 937], [None, None])
    >>> result["reason"]
    'no intervals: the table names no raters or prompts; ci iid takes ratings as independent'
    >>> result = elo.compute(a=["x"] * 6, b=["y"] * 6, score=[1, -1, 2, 0, 1, 1], rater=["r1", "r2", "r3"] * 2,
    ...                      prompt=["p1", "p2"] * 3, ci="sandwich")
    >>> result["systems"][0], result["low"][0] < result["cmos_elo"][0] < result["high"][0]
    ('x', True)
"""

_TEXT = ("a", "b", "rater", "prompt")


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class CmosElo(evaluate.Comparison):
    """Elo of systems from graded preferences."""

    def __init__(self, *args, **kwargs):
        check_init(kwargs)
        super().__init__(*args, **kwargs)

    def _info(self):
        features = {name: datasets.Value("string") for name in _TEXT} | {"score": datasets.Value("float64")}
        return evaluate.ComparisonInfo(
            module_type="comparison",
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(features),
            reference_urls=["https://doi.org/10.2307/2334029", "https://doi.org/10.2307/2347562"],
        )

    def compute(self, *, a=None, b=None, score=None, rater=None, prompt=None, **kwargs):
        """Rank the systems of these ratings, or of those added before; see the class for the arguments."""
        if any(column is not None for column in (a, b, score, rater, prompt)):
            self.add_batch(a=a, b=b, score=score, rater=rater, prompt=prompt)
        return super().compute(**kwargs)

    def add_batch(self, *, a=None, b=None, score=None, rater=None, prompt=None):
        """Add ratings; every row is checked before any is added."""
        given = {"a": a, "b": b, "score": score, "rater": rater, "prompt": prompt}
        super().add_batch(**hub.columns(given, optional=("rater", "prompt")))

    def add(self, *, a=None, b=None, score=None, rater=None, prompt=None):
        """Add one rating."""
        row = {"a": a, "b": b, "score": score, "rater": rater, "prompt": prompt}
        self.add_batch(**{name: None if value is None else [value] for name, value in row.items()})

    def _compute(self, a, b, score, rater, prompt, engine="ordinal", ci="bootstrap", resamples=1000, seed=0, ridge=0.0):
        rows = {"a": a, "b": b, "score": score, "rater": rater, "prompt": prompt}
        return hub.cmos_elo_result(rows, engine=engine, ci=ci, resamples=resamples, seed=seed, ridge=ridge)
