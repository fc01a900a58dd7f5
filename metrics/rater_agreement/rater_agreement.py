"""Agreement between raters: a thin shell over ``vaeval_tasks.analysis`` and ``vaeval_tasks.stats``."""

import datasets
import evaluate
from vaeval_tasks.hosts.evaluate import preference as hub
from vaeval_tasks.hosts.evaluate.speech import check_init

_DESCRIPTION = """\
Says how far raters agree on units that two or more of them have scored: Krippendorff's alpha, the intraclass \
correlation ICC(1), and Gwet's AC1 or AC2 over the declared scale, for any number of raters per unit."""

_CITATION = """\
@book{krippendorff2004content,
  title={Content Analysis: An Introduction to Its Methodology}, author={Krippendorff, Klaus}, year={2004}}
@article{gwet2008computing,
  title={Computing inter-rater reliability and its variance in the presence of high agreement},
  author={Gwet, Kilem Li}, journal={British Journal of Mathematical and Statistical Psychology},
  volume={61}, pages={29--48}, year={2008}}
@article{shrout1979intraclass,
  title={Intraclass correlations: uses in assessing rater reliability},
  author={Shrout, Patrick E and Fleiss, Joseph L}, journal={Psychological Bulletin},
  volume={86}, pages={420--428}, year={1979}}"""

_KWARGS_DESCRIPTION = """
Args:
    unit, rater (`list` of `str`): what was scored, by whom; a rater scores a unit once.
    score (`list` of numbers): whole numbers from `low` to `high`.
    low, high (`int`): the declared scale, -3 and 3; categories nobody used still count for AC.
    metric (`str`): of alpha: `interval` (default), `ordinal`, `nominal` or `ratio`.
    weights (`str`): of AC: `quadratic` (default), `linear`, `ordinal`, or `identity`, which is AC1.
    mirrored (`bool`): enter each unit in both signs, so that alpha, ICC and AC of CMOS scores do not depend on which
        system is called the first; False.

Returns:
    rater_agreement (`float` or None): alpha; 1 is perfect, 0 is chance, below 0 is worse; higher is better.
    icc1, ac2 (`float` or None): the other coefficients.
    n, n_units, n_skipped (`int`): ratings, units with two or more, and ratings that stand alone in their unit.
    skipped (`list` of `str`): `row N: why` for the latter. reason (`str`): why a coefficient is None. signature (`str`).

Examples:
    >>> import evaluate
    >>> from vaeval_tasks.paths import metric_module
    >>> agreement = evaluate.load(metric_module("rater_agreement"), keep_in_memory=True)
    >>> result = agreement.compute(unit=["1", "1", "2", "2", "3"], rater=["r", "s", "r", "s", "r"],
    ...                            score=[2, 2, -1, -1, 0])
    >>> result["rater_agreement"], result["n_units"], result["n_skipped"]
    (1.0, 2, 1)
    >>> result = agreement.compute(unit=["1", "1"], rater=["r", "s"], score=[0, 0])
    >>> result["rater_agreement"] is None, bool(result["reason"])
    (True, True)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class RaterAgreement(evaluate.Measurement):
    """Agreement coefficients of scores."""

    def __init__(self, *args, **kwargs):
        check_init(kwargs)
        super().__init__(*args, **kwargs)

    def _info(self):
        text = datasets.Value("string")
        return evaluate.MeasurementInfo(
            module_type="measurement",
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features({"unit": text, "rater": text, "score": datasets.Value("float64")}),
            reference_urls=["https://doi.org/10.1348/000711006X126600", "https://doi.org/10.1037/0033-2909.86.2.420"],
        )

    def compute(self, *, unit=None, rater=None, score=None, **kwargs):
        """Return the coefficients of these scores, or of those added before; see the class for the arguments."""
        if any(column is not None for column in (unit, rater, score)):
            self.add_batch(unit=unit, rater=rater, score=score)
        return super().compute(**kwargs)

    def add_batch(self, *, unit=None, rater=None, score=None):
        """Add scores; every row is checked before any is added."""
        super().add_batch(**hub.columns({"unit": unit, "rater": rater, "score": score}))

    def add(self, *, unit=None, rater=None, score=None):
        """Add one score."""
        row = {"unit": unit, "rater": rater, "score": score}
        self.add_batch(**{name: None if value is None else [value] for name, value in row.items()})

    def _compute(self, unit, rater, score, low=-3, high=3, metric="interval", weights="quadratic", mirrored=False):
        rows = {"unit": unit, "rater": rater, "score": score}
        return hub.agreement_result(rows, low=low, high=high, metric=metric, weights=weights, mirrored=mirrored)
