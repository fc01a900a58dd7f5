"""The statistics of a preference study: arrays in, frozen records out; no files, no data frames.

From ratings to a board::

    data = comparisons(entities=…, rubrics=…, a=…, b=…, score=…, rater=…, prompt=…, rubric=…, weight=…, side=…)
    models = data.relabel(model_of_each_config)            # pooled; same-model rows are kept
    fits = fit_all(models, engine=Engine.ordinal)          # one Fit per rubric: .ratings (Elo), .log_likelihood, …
    found = ranking(models, RankSettings(ci=Ci.bootstrap, resamples=1000, seed=0), fits=fits)
    board = found.rubrics[0].standings                     # intervals, rank ranges, coverage; found.notes, found.method
    gap = found.rubrics[0].difference("GPT-Realtime 2.1", "Nova 2 Sonic")

:func:`ranking` is what every board of the package comes from: it chooses the clusters that the data have and makes the
intervals with ``bootstrap`` or ``sandwich``, which can be called alone as well. Around it: ``side_effect``,
``margins`` (voices, thinking), ``agreement``, ``split_half``, ``cluster_rubrics`` (with ``rater_halves``),
``rubric_correlations`` and ``block_means``, ``mos``, ``spearman``. Two systems on the same items of tasks (no raters)
are compared by :mod:`.paired` and :mod:`.paired_median`.

What cannot be computed is None with a ``reason``, never NaN. What stops a whole analysis (no finite estimate, a code
out of range) raises ``EstimationError`` that names the entities.
"""

from vaeval_tasks.stats.bootstrap import Progress, Resamples, bootstrap
from vaeval_tasks.stats.clustering import (
    Profiles,
    RubricClusters,
    adjusted_rand,
    cluster_rubrics,
    partition,
    residual_profiles,
)
from vaeval_tasks.stats.clusters import ClusterChoice, Clusters, Unclustered, choose_clusters
from vaeval_tasks.stats.coefficients import (
    Coefficient,
    Metric,
    Weights,
    gwet_ac,
    icc1,
    krippendorff_alpha,
    unit_counts,
)
from vaeval_tasks.stats.comparisons import Comparisons, Coverage, comparisons
from vaeval_tasks.stats.correlation import Block, CorrelationLevel, RubricCorrelations, block_means, rubric_correlations
from vaeval_tasks.stats.draws import Draws, Scheme
from vaeval_tasks.stats.elo import ANCHOR, ELO_PER_LOGIT, elo
from vaeval_tasks.stats.engines import fit, fit_all
from vaeval_tasks.stats.fits import Engine, Fit, Unit
from vaeval_tasks.stats.head_to_head import Margin, margins
from vaeval_tasks.stats.intervals import Interval, percentile_interval
from vaeval_tasks.stats.mos import MosRatings, MosSummary, mos, mos_ratings
from vaeval_tasks.stats.ordinal import Link, Thresholds, fit_ordinal
from vaeval_tasks.stats.rank_correlation import spearman
from vaeval_tasks.stats.ranking import Ci, RankedRubric, Ranking, RankSettings, method, ranking
from vaeval_tasks.stats.rater_agreement import Agreement, Orientation, agreement, agreement_of_counts
from vaeval_tasks.stats.refits import FALLBACK_RIDGE
from vaeval_tasks.stats.sandwich import Covariance, sandwich
from vaeval_tasks.stats.side import SideEffect, side_effect
from vaeval_tasks.stats.split_half import SplitHalf, rater_halves, split_half
from vaeval_tasks.stats.standings import Standings, difference, standings

__all__ = [
    "ANCHOR",
    "ELO_PER_LOGIT",
    "FALLBACK_RIDGE",
    "Agreement",
    "Block",
    "Ci",
    "ClusterChoice",
    "Clusters",
    "Coefficient",
    "Comparisons",
    "CorrelationLevel",
    "Covariance",
    "Coverage",
    "Draws",
    "Engine",
    "Fit",
    "Interval",
    "Link",
    "Margin",
    "Metric",
    "MosRatings",
    "MosSummary",
    "Orientation",
    "Profiles",
    "Progress",
    "RankSettings",
    "RankedRubric",
    "Ranking",
    "Resamples",
    "RubricClusters",
    "RubricCorrelations",
    "Scheme",
    "SideEffect",
    "SplitHalf",
    "Standings",
    "Thresholds",
    "Unclustered",
    "Unit",
    "Weights",
    "adjusted_rand",
    "agreement",
    "agreement_of_counts",
    "block_means",
    "bootstrap",
    "choose_clusters",
    "cluster_rubrics",
    "comparisons",
    "difference",
    "elo",
    "fit",
    "fit_all",
    "fit_ordinal",
    "gwet_ac",
    "icc1",
    "krippendorff_alpha",
    "margins",
    "method",
    "mos",
    "mos_ratings",
    "partition",
    "percentile_interval",
    "ranking",
    "rater_halves",
    "residual_profiles",
    "rubric_correlations",
    "sandwich",
    "side_effect",
    "spearman",
    "split_half",
    "standings",
    "unit_counts",
]
