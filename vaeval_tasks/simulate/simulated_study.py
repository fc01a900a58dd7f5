"""A whole simulated study in memory, and its run folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vaeval_tasks.design import DesignSettings, first_wave
from vaeval_tasks.errors import InputError
from vaeval_tasks.files import write_text
from vaeval_tasks.models.configs import write_configs
from vaeval_tasks.rubrics import BY_KEY, KEYS
from vaeval_tasks.simulate.comments import THEME_RATES, draw_comments
from vaeval_tasks.simulate.people import make_prompts, make_raters
from vaeval_tasks.simulate.published_study import CONFIGS, MODELS
from vaeval_tasks.simulate.rater_answers import NOT_ASKED, draw_cmos, draw_mos
from vaeval_tasks.simulate.shape import Effects, Shape
from vaeval_tasks.simulate.task_lists import MosTasks, PairTasks, mos_tasks, pair_tasks
from vaeval_tasks.simulate.truth import Truth, plant, true_model_elo
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Comment, MosRating, Pair, Prompt, Rater, Rating, StudyKind
from vaeval_tasks.store.tables import arrow_schema

__all__ = ["SimulatedStudy", "simulate", "write_study"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedStudy:
    """A simulated study. Codes index ``CONFIGS``, ``prompts`` and the raters of each pool."""

    seed: int
    shape: Shape
    effects: Effects
    truth: Truth
    prompts: list[Prompt]
    raters: list[Rater]
    cmos_raters: tuple[str, ...]
    mos_raters: tuple[str, ...]
    pairs: list[Pair]
    """The design; ``a < b`` as identifiers."""
    tasks: PairTasks
    scores: NDArray[np.int8]
    """Rubrics by tasks, -3..3, ``NOT_ASKED`` where a gate left the question out."""
    mos_tasks: MosTasks | None
    mos_scores: NDArray[np.int8]
    comment_tasks: NDArray[np.int64]
    comments: list[str]


def simulate(shape: Shape | None = None, *, effects: Effects | None = None, seed: int = 0) -> SimulatedStudy:
    """Draw a study with known truth; the same seed gives the same study.

    Args:
        shape: how big it is; the published size by default.
        effects: how much raters and prompts vary.
        seed: 0 or more.
    """
    shape, effects = shape or Shape(), effects or Effects()
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(7)]
    truth = plant(streams[0], effects)
    with_mos = shape.mos_per_sample > 0
    prompts = make_prompts(shape.prompts, streams[1])
    raters = make_raters(shape.raters, shape.mos_raters if with_mos else 0, streams[2])
    pools = {pool: tuple(r.rater_id for r in raters if pool in r.pools) for pool in StudyKind}
    asked = np.array([[not BY_KEY[k].gated or k in p.gates for p in prompts] for k in KEYS])
    design = DesignSettings(seed=seed, raters_per_pair=shape.raters_per_pair)
    pairs = first_wave(prompts, [c.config_id for c in CONFIGS], design)
    tasks = pair_tasks(pairs, shape, prompts, streams[3])
    scores = draw_cmos(truth, tasks, asked, effects, shape.raters, streams[4])
    listens = mos_tasks(shape, len(CONFIGS), streams[5]) if with_mos else None
    mos_scores = np.zeros((len(KEYS), 0), dtype=np.int8)
    comment_tasks, comments = np.zeros(0, dtype=np.int64), list[str]()
    if listens is not None:
        mos_scores = draw_mos(truth, listens, asked, shape.mos_raters, streams[5])
        comment_tasks, comments = draw_comments(listens, shape.comment_rate, streams[6])
    return SimulatedStudy(
        seed=seed,
        shape=shape,
        effects=effects,
        truth=truth,
        prompts=prompts,
        raters=raters,
        cmos_raters=pools[StudyKind.cmos],
        mos_raters=pools[StudyKind.mos],
        pairs=pairs,
        tasks=tasks,
        scores=scores,
        mos_tasks=listens,
        mos_scores=mos_scores,
        comment_tasks=comment_tasks,
        comments=comments,
    )


def _strings(names: list[str] | tuple[str, ...], codes: NDArray[Any]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(list(names))).cast(pa.string())


def _table(record: type, columns: dict[str, Any], rows: int) -> pa.Table:
    schema = arrow_schema(record)
    filled = [
        pa.array(columns[f.name], f.type) if not isinstance(columns[f.name], pa.Array) else columns[f.name]
        for f in schema
    ]
    table = pa.Table.from_arrays(filled, schema=schema)
    if table.num_rows != rows:
        raise ValueError(f"{record.__name__}: {table.num_rows} rows for {rows}")
    return table


def _cmos_table(study: SimulatedStudy) -> pa.Table:
    rubric, task = np.nonzero(study.scores.T != NOT_ASKED)[::-1]
    tasks, n = study.tasks, len(task)
    ids = [f"{study.pairs[pair].pair_id}.{slot}" for pair, slot in zip(tasks.pair, tasks.slot, strict=True)]
    config_ids = [c.config_id for c in CONFIGS]
    return _table(
        Rating,
        {
            "prompt_id": _strings([p.prompt_id for p in study.prompts], tasks.prompt[task]),
            "a": _strings(config_ids, tasks.a[task]),
            "b": _strings(config_ids, tasks.b[task]),
            "rater_id": _strings(study.cmos_raters, tasks.rater[task]),
            "rubric": _strings(KEYS, rubric),
            "score": study.scores[rubric, task].astype(np.int64),
            "left_is_a": tasks.left_is_a[task],
            "assignment_id": _strings(ids, task),
            "use": np.ones(n, dtype=bool),
            "kind": _strings(["main"], np.zeros(n)),
        },
        n,
    )


def _mos_table(study: SimulatedStudy, tasks: MosTasks) -> pa.Table:
    rubric, task = np.nonzero(study.mos_scores.T != NOT_ASKED)[::-1]
    n = len(task)
    return _table(
        MosRating,
        {
            "prompt_id": _strings([p.prompt_id for p in study.prompts], tasks.prompt[task]),
            "config_id": _strings([c.config_id for c in CONFIGS], tasks.config[task]),
            "rater_id": _strings(study.mos_raters, tasks.rater[task]),
            "rubric": _strings(KEYS, rubric),
            "score": study.mos_scores[rubric, task].astype(np.int64),
            "assignment_id": _strings([f"m{i:06d}" for i in range(len(tasks.prompt))], task),
            "use": np.ones(n, dtype=bool),
        },
        n,
    )


def _truth_json(study: SimulatedStudy) -> dict[str, Any]:
    truth = study.truth
    return {
        "seed": study.seed,
        "shape": asdict(study.shape),
        "effects": asdict(study.effects),
        "configs": [c.config_id for c in CONFIGS],
        "models": list(MODELS),
        "strengths": {k: truth.strengths[i].tolist() for i, k in enumerate(KEYS)},
        "model_elo": true_model_elo(truth),
        "config_elo": {k: truth.config_elo[i].tolist() for i, k in enumerate(KEYS)},
        "thresholds": {k: truth.thresholds[i].tolist() for i, k in enumerate(KEYS)},
        "mos": {k: truth.mos[i].tolist() for i, k in enumerate(KEYS)},
        "theme_rates": {theme: [rate / 100 for rate in rates] for theme, rates in THEME_RATES.items()},
    }


def write_study(study: SimulatedStudy, root: str | Path) -> RunDir:
    """Write the run folder of a study: every table of an export, ``configs.yaml`` and ``truth.json``.

    Raises:
        InputError: the folder already holds a run.
    """
    root = Path(root)
    if (root / "run.json").exists():
        raise InputError("already holds a run; name a new folder", path=root)
    root.mkdir(parents=True, exist_ok=True)
    run = RunDir(root)
    write_configs(root / "configs.yaml", CONFIGS)
    truth = json.dumps(_truth_json(study), indent=1, allow_nan=False)
    write_text(root / "truth.json", truth + "\n")
    tables: dict[str, Any] = {
        "prompts": study.prompts,
        "raters": study.raters,
        "pairs": study.pairs,
        "ratings": _cmos_table(study),
    }
    if study.mos_tasks is not None:
        at = study.comment_tasks
        tables["mos"] = _mos_table(study, study.mos_tasks)
        tables["comments"] = [
            Comment(
                prompt_id=study.prompts[int(study.mos_tasks.prompt[i])].prompt_id,
                config_id=CONFIGS[int(study.mos_tasks.config[i])].config_id,
                rater_id=study.mos_raters[int(study.mos_tasks.rater[i])],
                text=text,
                assignment_id=f"m{int(i):06d}",
            )
            for i, text in zip(at, study.comments, strict=True)
        ]
    for name, rows in tables.items():
        run.write(name, rows, made_by="vaeval simulate", seed=study.seed)
    run.note(simulated=True, seed=study.seed, truth="truth.json")
    return run
