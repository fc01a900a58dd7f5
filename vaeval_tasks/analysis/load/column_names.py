"""What other people call our columns: a guess for a message, never taken without a word."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

__all__ = ["likely_column"]

_OTHERS = {
    "prompt": "prompt_id question_id item_id instance_id sample_id utterance stimulus trial_id trial item sample wav"
    " file filename query question conversation_id task_id id",
    "a": "model_a system_a system1 left model1 first assistant_a candidate_a option_a item_a object1 player1 doc_a"
    " response_a",
    "b": "model_b system_b system2 right model2 second assistant_b candidate_b option_b item_b object2 player2 doc_b"
    " response_b",
    "config": "system model system_id condition algorithm method stimulus codec entity",
    "rater": "rater_id worker workerid annotator judge listener participant subject_id subject user user_id"
    " completed_by evaluator session_uuid",
    "score": "rating winner response answer vote preference mos value judgement judgment label choice cmos slider"
    " result",
    "rubric": "question criterion dimension aspect attribute scale",
    "text": "comment comments feedback remark note",
    "count": "n weight freq frequency votes",
}
"""Names seen in exports and data sets, likeliest first."""


def likely_column(ours: str, names: Sequence[str]) -> str | None:
    """Return the column that most likely is the one that is missing; None where none resembles it.

    Args:
        ours: the name that was looked for.
        names: the columns that there are.
    """
    plain = {re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_"): name for name in names}
    if near := difflib.get_close_matches(ours, plain, n=1, cutoff=0.75):
        return plain[near[0]]
    others = _OTHERS.get(ours, "").split()
    for other in others:
        if other in plain:
            return plain[other]
    parts = [name for name in plain if any(len(other) > 3 and other in name.split("_") for other in others)]
    return plain[parts[0]] if parts else None
