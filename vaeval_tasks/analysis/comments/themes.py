"""Free-text comments: theme rates per model (table A9) and unsupervised clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.analysis.comments.lexicon import Lexicon
from vaeval_tasks.analysis.load.entities import Level, entity_names
from vaeval_tasks.analysis.load.source import Source
from vaeval_tasks.analysis.table import Table
from vaeval_tasks.errors import EstimationError
from vaeval_tasks.stats import Coverage, Draws, Interval, mos, mos_ratings
from vaeval_tasks.store.schema import ModelConfig

__all__ = [
    "COMMENT_COLUMNS",
    "THEMES_TITLE",
    "CommentCluster",
    "Comments",
    "ThemeRate",
    "cluster_table",
    "comment_clusters",
    "load_comments",
    "model_theme_table",
    "theme_rates",
    "theme_sizes",
    "theme_table",
    "themes_json",
]

THEMES_TITLE = "A9: theme mention rate by model, percent of its comments, 95 % intervals"
COMMENT_COLUMNS = ("prompt", "config", "rater", "text")
"""What a plain file of comments holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comments:
    """Non-empty comments on single responses, one a row."""

    path: Path
    configs: tuple[str, ...]
    config: NDArray[np.int64]
    prompt: NDArray[np.int64]
    rater: NDArray[np.int64]
    texts: tuple[str, ...]
    known: dict[str, ModelConfig]
    left_out: int
    """Empty comments, and comments on pairs."""

    def entities(self, level: Level) -> tuple[str, ...]:
        """Return the entity of every configuration."""
        return entity_names(self.configs, self.known, level, self.path)


def load_comments(source: Source) -> Comments:
    """Read the comments of a run folder (those on single responses) or of a plain file.

    Raises:
        InputError: a column is missing, or an identifier is blank.
        EstimationError: there is no comment on a single response.
    """
    source.check_columns(COMMENT_COLUMNS)
    sheet = source.sheet("comments")
    prompt, config, rater = (source.identifiers(sheet, name) for name in ("prompt", "config", "rater"))
    text = source.column(sheet, "text")
    cleaned = ["" if value is None else str(value).strip() for value in text.values]
    keep = source.kept(sheet, prompt, rater) & np.array([bool(t) for t in cleaned])[text.codes]
    if source.run is not None and "other_config_id" in sheet.names:
        other = sheet.column("other_config_id")
        keep &= np.array([not value for value in other.values])[other.codes]
    if not keep.any():
        raise EstimationError("there is no comment on a single response", path=sheet.path)
    return Comments(
        path=source.path,
        configs=config.names,
        config=config.codes[keep],
        prompt=prompt.codes[keep],
        rater=rater.codes[keep],
        texts=tuple(cleaned[i] for i in text.codes[keep]),
        known=source.configs,
        left_out=int((~keep).sum()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeRate:
    """The share of an entity's comments that mention a theme, or are in a cluster."""

    theme: str
    entity: str
    rate: float | None
    interval: Interval
    coverage: Coverage
    """Its comments, and who wrote them on which prompts."""
    reason: str
    """Why there is no rate or no interval."""


def _rates(
    comments: Comments, level: Level, names: Sequence[str], has: NDArray[np.bool_], draws: Draws
) -> tuple[ThemeRate, ...]:
    """Return the share of each entity's comments that have each of some marks, with its interval."""
    times = len(names)
    data = mos_ratings(
        entities=comments.configs,
        entity=np.repeat(comments.config, times),
        score=has.astype(np.int64).ravel(),
        rater=np.repeat(comments.rater, times),
        prompt=np.repeat(comments.prompt, times),
        rubrics=names,
        rubric=np.tile(np.arange(times), len(comments.texts)),
        levels=(0, 1),
    ).relabel(comments.entities(level))
    # the share of comments is the mean of 0/1 marks over comments: a MOS that is not averaged by sample first
    return tuple(
        ThemeRate(
            theme=found.rubric,
            entity=found.entity,
            rate=found.mean,
            interval=found.interval,
            coverage=found.coverage,
            reason=found.reason or found.interval.reason,
        )
        for found in mos(data, draws, pooled=True)
    )


def theme_rates(comments: Comments, lexicon: Lexicon, level: Level, draws: Draws) -> tuple[ThemeRate, ...]:
    """Return the share of each entity's comments that mention each theme.

    Themes overlap, so shares do not sum to 1. The denominator is the entity's non-empty comments.
    """
    names = [theme.label for theme in lexicon.themes]
    distinct, codes = np.unique(comments.texts, return_inverse=True)
    has = lexicon.mentions(distinct.tolist())[codes]
    return _rates(comments, level, names, has, draws)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentCluster:
    """Comments that use the same words."""

    name: str
    """Its most typical terms."""
    size: int
    examples: tuple[str, ...]
    """The comments nearest to its centre."""
    rates: tuple[ThemeRate, ...]
    """Share of each entity's comments."""


def comment_clusters(
    comments: Comments, level: Level, draws: Draws, *, k: int, seed: int
) -> tuple[CommentCluster, ...]:
    """Cluster comments by k-means on TF-IDF of words and word pairs, largest cluster first.

    Raises:
        EstimationError: there are fewer distinct comments than clusters, or they hold no words.
    """
    from sklearn.cluster import KMeans
    from sklearn.feature_extraction.text import TfidfVectorizer

    if len(set(comments.texts)) < k:
        raise EstimationError(
            f"{len(set(comments.texts))} distinct comments cannot form {k} clusters; lower --clusters"
        )
    vectorizer = TfidfVectorizer(stop_words="english", ngram_range=(1, 2), max_features=5000, sublinear_tf=True)
    try:
        vectors = vectorizer.fit_transform(comments.texts)
    except ValueError:
        raise EstimationError("the comments hold no words to cluster by", path=comments.path) from None
    model = KMeans(n_clusters=k, n_init=3, random_state=seed).fit(vectors)
    words = vectorizer.get_feature_names_out()
    distances = model.transform(vectors)
    order = np.argsort(-np.bincount(model.labels_, minlength=k), kind="stable")
    names = [", ".join(words[i] for i in np.argsort(-model.cluster_centers_[c])[:4]) for c in order]
    names = [f"{i}: {name}" for i, name in enumerate(names, 1)]
    has = model.labels_[:, None] == order[None, :]
    rates = _rates(comments, level, names, has, draws)
    out = []
    for c, name in zip(order, names, strict=True):
        members = np.flatnonzero(model.labels_ == c)
        nearest = members[np.argsort(distances[members, c], kind="stable")]
        examples = tuple(dict.fromkeys(comments.texts[i] for i in nearest))[:3]
        mine = tuple(one for one in rates if one.theme == name)
        out.append(CommentCluster(name=name, size=len(members), examples=examples, rates=mine))
    return tuple(out)


def _row(one: ThemeRate) -> dict[str, Any]:
    return {
        "theme": one.theme,
        "entity": one.entity,
        "rate": one.rate,
        "low": one.interval.low,
        "high": one.interval.high,
        "n_comments": one.coverage.n_ratings,
        "n_raters": one.coverage.n_raters,
        "n_prompts": one.coverage.n_prompts,
        "reason": one.reason,
    }


def model_theme_table(found: Sequence[ThemeRate], models: Sequence[str]) -> Table:
    """Return table A9: theme rates in percent, three columns a model (rate and the ends of its interval)."""
    cells = {(one.theme, one.entity): one for one in found}
    rows = []
    for theme in dict.fromkeys(one.theme for one in found):
        row: dict[str, Any] = {"theme": theme}
        for model in models:
            one = cells.get((theme, model))
            ends = (one.rate, one.interval.low, one.interval.high) if one else (None, None, None)
            for name, value in zip((model, f"{model} low", f"{model} high"), ends, strict=True):
                row[name] = None if value is None else 100 * value
        rows.append(row)
    return Table(
        name="A9",
        title=THEMES_TITLE,
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits={c: 1 for c in rows[0] if c != "theme"},
        notes=(theme_sizes(found, models),),
    )


def theme_sizes(found: Sequence[ThemeRate], models: Sequence[str]) -> str:
    """Return in words how many comments each model has, by how many raters on how many prompts."""
    sizes = {one.entity: one.coverage for one in found}
    return "; ".join(
        f"{m} {sizes[m].n_ratings:.0f} comments, {sizes[m].n_raters} raters, {sizes[m].n_prompts} prompts"
        for m in models
        if m in sizes
    )


def theme_table(found: Sequence[ThemeRate]) -> Table:
    """Return theme rates as one row a theme and entity."""
    rows = [_row(one) for one in found]
    return Table(
        name="themes",
        title="Share of comments that mention a theme (themes overlap), 95 % intervals",
        columns=tuple(rows[0]),
        rows=tuple(rows),
        digits={"n_comments": 0},
    )


def cluster_table(groups: Sequence[CommentCluster]) -> Table:
    """Return clusters of comments with their size and the comment nearest to the centre."""
    rows = [{"cluster": g.name, "size": g.size, "example": g.examples[0][:100]} for g in groups]
    return Table(
        name="comment_clusters",
        title="Clusters of comments (k-means on TF-IDF)",
        columns=("cluster", "size", "example"),
        rows=tuple(rows),
        digits={},
    )


def themes_json(comments: Comments, found: Sequence[ThemeRate], groups: Sequence[CommentCluster]) -> dict[str, Any]:
    """Return themes and clusters as plain values."""
    return {
        "rows": [_row(one) for one in found],
        "clusters": [
            {"name": g.name, "size": g.size, "examples": list(g.examples), "rates": [_row(one) for one in g.rates]}
            for g in groups
        ],
        "n_comments": len(comments.texts),
        "left_out": comments.left_out,
    }
