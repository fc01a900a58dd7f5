"""The codebook of an export: what every column means, which questions were asked, which rules were applied."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vaeval_tasks.collect.rules.quality import RULES, RULES_VERSION
from vaeval_tasks.collect.rules.questions import CMOS_STEPS, MOS_STEPS
from vaeval_tasks.collect.store import database_tables as store
from vaeval_tasks.store.run import RECORDS
from vaeval_tasks.store.tables import arrow_schema

__all__ = ["COLUMNS", "TABLES", "codebook"]

TABLES: dict[str, str] = {
    "ratings": "One answer to one question on one pair of responses (CMOS).",
    "mos": "One answer to one question on one response (MOS).",
    "comments": "Free text on one task, without e-mail and web addresses, panel ids and telephone numbers.",
    "raters": "One rater, under a keyed pseudonym.",
    "assignments": "One task given to one rater, whatever became of it.",
    "events": "What the page reported during an assignment, and what the server noted.",
    "quality": "The outcome of every quality rule for every rater, and the rules single assignments failed.",
}

_RATER = "The rater's pseudonym; the same person has the same one in all tables of this export."
_ASSIGNMENT = "The assignment; joins ratings, mos, comments, events and quality with assignments."
_PROMPT = "The prompt; joins with prompts.parquet."
_RUBRIC = "The question, by its key; see the questions below."

COLUMNS: dict[str, dict[str, str]] = {
    "ratings": {
        "prompt_id": _PROMPT,
        "a": "The configuration whose id comes first in the alphabet.",
        "b": "The other configuration; equal to a in a trap. check/… is a worse copy made for a gold pair.",
        "rater_id": _RATER,
        "rubric": _RUBRIC,
        "score": "-3 to 3, positive where a is preferred, 0 about the same.",
        "left_is_a": "Whether a was shown on the left (as 'A' on the screen).",
        "assignment_id": _ASSIGNMENT,
        "use": "False where the quality rules leave the answer out.",
        "kind": "main enters the analysis; repeat, trap, gold and train do not.",
    },
    "mos": {
        "prompt_id": _PROMPT,
        "config_id": "The configuration that gave the response.",
        "rater_id": _RATER,
        "rubric": _RUBRIC,
        "score": "1 (bad) to 5 (excellent).",
        "assignment_id": _ASSIGNMENT,
        "use": "False where the quality rules leave the answer out, and for practice and check responses.",
    },
    "comments": {
        "prompt_id": _PROMPT,
        "config_id": "The response's configuration (MOS), or a of the pair (CMOS).",
        "rater_id": _RATER,
        "text": "The comment. NUL and lone surrogates are U+FFFD.",
        "other_config_id": "b of the pair; empty in a MOS study.",
        "assignment_id": _ASSIGNMENT,
    },
    "raters": {
        "rater_id": _RATER,
        "kind": "human or simulated; never mixed in one study.",
        "gender": "As the rater said; empty unless the export was asked for demographics.",
        "age": "Years, as the rater said; empty unless the export was asked for demographics.",
        "pools": "The studies the rater took part in.",
        "accepted": "Whether the checks that payment depends on were passed, in every study.",
        "use": "Whether the rater's answers enter the analysis, in every study.",
        "reasons": "The rules that were not passed, as study:rule.",
    },
    "assignments": {
        "assignment_id": _ASSIGNMENT,
        "pair_id": "The pair of pairs.parquet; of a MOS task mos:PROMPT:CONFIGURATION.",
        "rater_id": _RATER,
        "slot": "Which of the pair's slots it fills.",
        "left_is_a": "Whether a was shown on the left.",
        "state": "leased, done, expired or withdrawn.",
        "started": "When the task was given out, UTC.",
        "finished": "When it was submitted, UTC; empty where it was not.",
    },
    "events": {
        "assignment_id": _ASSIGNMENT,
        "seq": "The order within the assignment, from 1.",
        "kind": "play, pause, ended, seeked, ratechange, volumechange, waiting, stalled, error, hidden, visible, "
        "offline, online (the page); problem, late_submit (the server).",
        "at": "The server's time, UTC.",
        "client_ms": "The page's clock, in ms since the first event of the assignment.",
        "payload": "JSON: part (prompt, left, right), n (which play), from, to and position (s), rate, volume, muted, "
        "code, reason.",
    },
    "quality": {
        "rater_id": _RATER,
        "study": "cmos or mos.",
        "rule": "The rule's name.",
        "outcome": "pass, fail, or unknown (too little to tell, or the checker did not answer), which fails nobody.",
        "decides": "accept (payment and use) or use (the analysis only).",
        "detail": "What was found, in words.",
        "rules_version": "The version of the rules.",
        "assignment_id": "The assignment, where the rule is about one; empty where it is about the rater.",
        "value": "What was measured.",
        "limit": "What it was held against.",
    },
}


def codebook(connection: Connection, counts: Mapping[str, int]) -> str:
    """Return the codebook as Markdown.

    Args:
        connection: the study's database, for its questions and settings.
        counts: rows of each table of the export.
    """
    lines = [
        "# Codebook",
        "",
        "CSV: UTF-8, CRLF; lists and objects are JSON. A text that would begin like a formula, or",
    ]
    lines.append("with an apostrophe, has an apostrophe in front: take one off to get the text. Empty: no value.")
    for name, rows in counts.items():
        lines += [
            "",
            f"## {name} ({rows} rows)",
            "",
            TABLES[name],
            "",
            "| column | type | meaning |",
            "|---|---|---|",
        ]
        kinds = {f.name: _type(f.type) for f in arrow_schema(RECORDS[name])}
        lines += [f"| {column} | {kinds[column]} | {meaning} |" for column, meaning in COLUMNS[name].items()]
    lines += ["", "## Questions", "", "| study | key | version | text |", "|---|---|---|---|"]
    asked = sa.select(store.questions).order_by(*(store.questions.c[n] for n in ("study", "rubric", "version")))
    lines += [f"| {q.study} | {q.rubric} | {q.version} | {q.text} |" for q in connection.execute(asked)]
    lines += ["", f"CMOS steps, left to right: {', '.join(CMOS_STEPS)}. MOS steps, 1 to 5: {', '.join(MOS_STEPS)}."]
    lines += ["", f"## Quality rules, version {RULES_VERSION}", "", "| limit | value |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in asdict(RULES).items()]
    for study in connection.execute(sa.select(store.studies).order_by(store.studies.c.study)):
        lines += ["", f"## Settings of the {study.study} study", "", "| setting | value |", "|---|---|"]
        kept = {k: v for k, v in json.loads(study.settings).items() if k not in _UNTOLD}
        lines += [f"| {name} | {json.dumps(value)} |" for name, value in sorted(kept.items())]
    return "\n".join(lines) + "\n"


_UNTOLD = ("completion_code", "full_code", "contact")
"""Settings that stay behind: the codes are worth money."""


def _type(kind: pa.DataType) -> str:
    names = {pa.string(): "text", pa.int64(): "whole number", pa.float64(): "number", pa.bool_(): "true/false"}
    return names.get(kind, "list of texts")
