"""Measure the judge on this machine against labelled answers, and write the table that says what it may judge.

    python tests/benchmarks/local_judge.py answers.jsonl            # ask, print; goes on where it was stopped
    python tests/benchmarks/local_judge.py answers.jsonl --kept     # ask nothing, print what was asked so far
    python tests/benchmarks/local_judge.py answers.jsonl --write    # and write content_judge_local_measured.json

It needs ``vaeval weights pull judge`` and two to six processor seconds an answer. A kind that can no longer reach the
bound is left, unless ``--all`` is given. The answers of a kind are in random order, so that a run that was ended from
outside has asked a random part of them. Probabilities are kept by question and model: after a change of either all are
asked again.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import yaml

from vaeval_tasks.files import sha256_bytes
from vaeval_tasks.metrics.backends import JudgeItem
from vaeval_tasks.metrics.content_judge_local import (
    MEASURED,
    THRESHOLD,
    WEIGHTS,
    LocalContentJudge,
    MeasuredKind,
    load_question,
    open_judge_model,
)
from vaeval_tasks.services import weights
from vaeval_tasks.services.local_llm import LocalLLM
from vaeval_tasks.stats.intervals import wilson_interval

DATA = Path(__file__).parents[1] / "metrics" / "data"
DRAWN = {"short": 60, "speech": 45, "safety": 45}
"""How many of ``rules_answers.yaml`` are asked of these kinds; of the others all of ``local_judge_items.yaml``."""
SEED = 11
"""The seed of the draw. While the question was written, 8, 4 and 4 of those that were not drawn were looked at."""


def labelled() -> dict[str, list[tuple[JudgeItem, bool]]]:
    """Return the measured answers of each kind with their labels, in random order."""
    question = load_question()
    found: dict[str, list[tuple[JudgeItem, bool]]] = {kind: [] for kind in question.kinds}
    for file in ("rules_answers.yaml", "local_judge_items.yaml"):
        for row in yaml.safe_load((DATA / file).read_text(encoding="utf-8")):
            right, references = row.pop("right"), tuple(row.pop("references", ()))
            found[question.kind(row["task"])].append((JudgeItem(references=references, **row), right))
    for kind, items in found.items():
        random.Random(SEED).shuffle(items)
        del items[DRAWN.get(kind, len(items)) :]
    return found


def key(item: JudgeItem) -> str:
    """Return what an answer is kept under: all that the model reads, and the model."""
    question = load_question()
    kind = question.kind(item.task)
    parts = (kind, question.sha256(kind), question.render(item), weights.OFFLINE[WEIGHTS].sha256)
    return sha256_bytes("\0".join(parts).encode())[:16]


@cache
def loaded() -> LocalLLM:
    """Return the model, loaded once: it stays when the judge gives it back."""
    model = open_judge_model()
    model.close = model.client.close  # type: ignore[method-assign]
    return model


def asked(
    judge: LocalContentJudge, items: list[tuple[JudgeItem, bool]], kept: Path, *, every: bool, ask: bool
) -> Iterator[bool]:
    """Ask what was not asked before, until the kind can no longer pass; say of each verdict whether it agrees."""
    known = {row["key"]: row for row in map(json.loads, kept.read_text().splitlines())} if kept.exists() else {}
    wrong = 0
    for item, right in items:
        row = known.get(key(item))
        if row is None and not ask:
            continue
        if row is None:
            if not every and not MeasuredKind(question="", n=len(items), agreed=len(items) - wrong).enough:
                return
            (found,) = judge.weigh([item])
            row = {"key": key(item), "kind": judge.question.kind(item.task), "right": right, "p": found.probability}
            with kept.open("a") as file:
                file.write(json.dumps(row | {"reason": found.reason, "item": asdict(item)}) + "\n")
        agrees = row["p"] is not None and (row["p"] >= THRESHOLD) == right
        wrong += not agrees
        yield agrees


def auc(pairs: list[tuple[float, bool]]) -> float | None:
    """Return how often a right answer has a higher P(Yes) than a wrong one; ties count half."""
    yes, no = [p for p, right in pairs if right], [p for p, right in pairs if not right]
    if not yes or not no:
        return None
    return sum((a > b) + (a == b) / 2 for a in yes for b in no) / (len(yes) * len(no))


def main() -> None:
    """Ask, print a row for each kind, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--all", action="store_true", help="ask also what cannot pass any more")
    parser.add_argument("--kept", action="store_true", help="ask nothing: count what was asked so far")
    parser.add_argument("--kinds", default="", help="only these, separated by commas; the table then holds only these")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    judge = LocalContentJudge(loaded)
    kinds = {}
    print(f"{'kind':14}{'n':>5}{'accuracy':>10}{'95 %':>16}{'AUC':>7}  may judge")
    for kind, items in labelled().items():
        if options.kinds and kind not in options.kinds.split(","):
            continue
        agree = list(asked(judge, items, options.answers, every=options.all, ask=not options.kept))
        rows = [json.loads(line) for line in options.answers.read_text().splitlines()]
        wanted = {key(item) for item, _ in items}
        found = auc([(r["p"], r["right"]) for r in rows if r["key"] in wanted and r["p"] is not None])
        if not agree:
            continue
        kinds[kind] = MeasuredKind(
            question=judge.question.sha256(kind),
            n=len(agree),
            agreed=sum(agree),
            auc=None if found is None else round(found, 3),
        )
        span = wilson_interval(sum(agree), len(agree))
        print(
            f"{kind:14}{len(agree):>5}{kinds[kind].accuracy:>10.2f}{f'[{span.low:.2f}, {span.high:.2f}]':>16}"
            f"{found or 0:>7.2f}  {'yes' if kinds[kind].enough else 'no'}",
            flush=True,
        )
    if options.write:
        table = {
            "date": datetime.now(UTC).date().isoformat(),
            "weights": weights.OFFLINE[WEIGHTS].sha256,
            "kinds": {name: asdict(kind) for name, kind in kinds.items()},
        }
        MEASURED.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
