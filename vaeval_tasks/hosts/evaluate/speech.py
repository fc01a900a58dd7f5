"""What the ``evaluate`` metric modules share: checked inputs, sound as rows of a table, and the form of results.

``evaluate`` checks the type of the first row only and coerces the rest (``nan`` becomes ``'nan'``, a string is taken as
a list of characters). So every row is checked here, before anything is added.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from vaeval_tasks.audio import Clip, read_audio
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.metrics.backends import ContentJudge, JudgeItem, Scored
from vaeval_tasks.metrics.common import Profile
from vaeval_tasks.metrics.content_judge import family, parse_verdict, pick_content_judge
from vaeval_tasks.metrics.guest_scorers import open_scorer, refuse_beside
from vaeval_tasks.metrics.profiles import PROFILES
from vaeval_tasks.scoring.combine import LOW_COVERAGE, MIN_JUDGED, check_min_judged

__all__ = [
    "AudioRows",
    "audio_features",
    "audio_rows",
    "backend_of",
    "check_init",
    "judge_columns",
    "judge_items",
    "judge_of",
    "read_verdicts",
    "result",
    "same_length",
    "string_lists",
    "strings",
]

log = logging.getLogger(__name__)

_INIT = {
    "config_name", "keep_in_memory", "cache_dir", "num_process", "process_id", "seed", "experiment_id", "hash",
    "max_concurrent_cache_files", "timeout",
}  # fmt: skip


def check_init(options: dict[str, Any]) -> None:
    """Refuse options of ``evaluate.load`` that nothing would read; ``evaluate`` itself drops them silently.

    Raises:
        UnknownNameError: an option is unknown.
    """
    for name in options:
        if name not in _INIT:
            raise UnknownNameError("option of evaluate.load", name, _INIT)


def backend_of(option: str | None, config_name: str) -> str:
    """Return the backend: of ``compute``, else the configuration given to ``evaluate.load``, else ``offline``.

    Raises:
        UnknownNameError: there is no such backend.
    """
    name = option or (Profile.offline if config_name == "default" else config_name)
    if name not in PROFILES:
        raise UnknownNameError("backend", name, PROFILES)
    return name


def _rows(column: Any, field: str) -> list[Any]:
    if column is None:
        raise InputError("is missing", field=field)
    if isinstance(column, str | bytes | dict | Path) or not isinstance(column, Iterable):
        raise InputError(f"must be a list, got {type(column).__name__}", field=field)
    return list(column)


def strings(column: Any, field: str) -> list[str]:
    """Return a column of strings, every row checked.

    Raises:
        InputError: it is no list, or a row is not a string; names the row, counted from 1.
    """
    rows = _rows(column, field)
    for i, row in enumerate(rows, 1):
        if not isinstance(row, str):
            raise InputError(f"must be a string, got {type(row).__name__}", row=i, field=field)
    return rows


def string_lists(column: Any, field: str) -> list[list[str]]:
    """Return a column of lists of strings, every row checked.

    Raises:
        InputError: it is no list, or a row is not a list of strings.
    """
    rows = _rows(column, field)
    for i, row in enumerate(rows, 1):
        if not isinstance(row, list | tuple) or not all(isinstance(text, str) for text in row):
            raise InputError(f"must be a list of strings, got {type(row).__name__}", row=i, field=field)
    return [list(row) for row in rows]


def same_length(columns: Mapping[str, Sequence[Any]]) -> None:
    """Raise InputError unless all columns have as many rows."""
    if len({len(column) for column in columns.values()}) > 1:
        counts = ", ".join(f"{len(column)} {field}" for field, column in columns.items())
        raise InputError(f"the columns differ in length: {counts}")


def judge_columns(predictions: Any, references: Any, questions: Any, verdicts: Any) -> dict[str, list[Any]]:
    """Return the four columns of the judge's module, every row checked; what was not given is empty.

    Raises:
        InputError: a column or row is of the wrong type, the columns differ in length, or predictions are missing.
    """
    columns: dict[str, list[Any]] = {}
    if verdicts is not None:
        columns["verdicts"] = [[text] for text in strings(verdicts, "verdicts")]
    if predictions is not None or verdicts is None:
        columns["predictions"] = strings(predictions, "predictions")
    if references is not None:
        columns["references"] = string_lists(references, "references")
    if questions is not None:
        columns["questions"] = strings(questions, "questions")
    same_length(columns)
    n = len(next(iter(columns.values())))
    absent: dict[str, Any] = {"predictions": "", "references": [], "questions": "", "verdicts": []}
    return {name: columns.get(name, [empty] * n) for name, empty in absent.items()}


def judge_items(
    task: str | None, predictions: list[str], references: list[list[str]], questions: list[str]
) -> list[JudgeItem]:
    """Return what the judge reads.

    Raises:
        InputError: no task was named.
        UnknownNameError: there is no such task.
    """
    if task is None:
        raise InputError("name the task of the answers, such as task='listening_general'", field="task")
    family(task)
    return [
        JudgeItem(task=task, question=question, answer=answer, references=tuple(right))
        for answer, right, question in zip(predictions, references, questions, strict=True)
    ]


def read_verdicts(task: str | None, verdicts: Iterable[list[str]], options: Mapping[str, Any]) -> list[Scored]:
    """Return what a judge's own words, one text a row, say.

    Raises:
        UnknownNameError: there is no such task.
        InputError: an option of a judge is given, and none is asked.
    """
    if given := [name for name, value in options.items() if value is not None]:
        raise InputError(
            f"{given[0]} does nothing beside verdicts, as no judge is asked; leave one out", field=given[0]
        )
    kind = family(task) if task else None
    return [parse_verdict(text, kind) for [text] in verdicts]


def judge_of(profile: Profile, judge: str | None, options: Mapping[str, Any]) -> ContentJudge:
    """Return the judge of content that a call of the module names.

    Args:
        profile: without a ``judge``: rules, or a language model.
        judge: ``local``, or somebody else's.
        options: ``url``, ``model``, ``prompts`` and how the judge is asked (``judge_max_tokens`` and the like).

    Raises:
        VaevalError: an option is unknown or does not go with the judge, or the judge cannot be used.
    """
    address = {name: options.get(name) for name in ("url", "model", "prompts")}
    request = {name: value for name, value in options.items() if name not in address}
    if judge:
        refuse_beside("judge", judge, **address, **request)
        return open_scorer("judge", judge)
    return pick_content_judge(profile, **address, request=request)


def audio_features() -> dict[str, Any]:
    """Return the schema of a column of sound: a path, the bytes of a file, or float32 samples with their rate."""
    import datasets

    return {
        "path": datasets.Value("string"),
        "bytes": datasets.Value("large_binary"),
        "pcm": datasets.Value("large_binary"),
        "sampling_rate": datasets.Value("int64"),
    }


def audio_rows(column: Any, field: str) -> list[dict[str, Any]]:
    """Return a column of sound in the form of :func:`audio_features`, every row checked.

    Rows are paths, bytes of whole files, or dicts with ``array`` and ``sampling_rate``, ``path`` or ``bytes``. Files
    are opened but not decoded yet; arrays are taken as they are, two channels mixed to one.

    Raises:
        InputError: a row is none of these, is no sound, or holds NaN; names the row, counted from 1.
    """
    rows = []
    for i, source in enumerate(_rows(column, field), 1):
        try:
            rows.append(_audio_row(source))
        except InputError as error:
            raise InputError(str(error), row=i, field=field) from None
    return rows


def _audio_row(source: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"path": "", "bytes": b"", "pcm": b"", "sampling_rate": 0}
    if hasattr(source, "get_all_samples"):  # the decoder that datasets' Audio feature gives
        source = {"array": source["array"], "sampling_rate": source["sampling_rate"]}
    if isinstance(source, dict):
        if source.get("array") is not None:
            clip = read_audio(source)
            return row | {"pcm": clip.samples.tobytes(), "sampling_rate": clip.rate}
        source = source.get("bytes") or source.get("path")
    if isinstance(source, bytes):
        _check_sound(io.BytesIO(source), "audio")
        return row | {"bytes": source}
    if isinstance(source, str | Path):
        if not Path(source).is_file():
            raise InputError("no such audio file", path=source)
        _check_sound(str(source), str(source))
        return row | {"path": str(source)}
    raise InputError(f"expected a path, bytes, or a dict with 'array' and 'sampling_rate', got {type(source).__name__}")


def _check_sound(file: Any, name: str) -> None:
    import soundfile

    try:
        soundfile.info(file)
    except (soundfile.SoundFileError, RuntimeError, TypeError) as error:
        raise InputError(f"cannot be read as sound ({error})", path=name) from None


class AudioRows(Sequence[Clip]):
    """The clips of a column, each decoded when it is asked for, so that memory holds one at a time."""

    def __init__(self, rows: Sequence[dict[str, Any]], field: str) -> None:
        self._rows = rows
        self._field = field

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Clip: ...
    @overload
    def __getitem__(self, index: slice) -> AudioRows: ...
    def __getitem__(self, index: int | slice) -> Clip | AudioRows:
        if isinstance(index, slice):
            return AudioRows(self._rows[index], self._field)
        row = self._rows[index]
        if row["sampling_rate"]:
            return Clip(np.frombuffer(row["pcm"], np.float32), row["sampling_rate"])
        try:
            return read_audio(row["bytes"] or row["path"])
        except InputError as error:
            raise InputError(str(error), row=index + 1, field=self._field) from None


def result(
    name: str, scored: Sequence[Scored], signature: str, *, min_judged: float = MIN_JUDGED, **more: Any
) -> dict[str, Any]:
    """Return the result of a module: plain Python values that are valid JSON.

    ``<name>`` is the mean over what could be scored; None, with the ``reason``, where fewer than ``min_judged`` of the
    rows could: what cannot be scored is seldom so by chance. ``scores`` has a value or None for each of the ``n`` rows,
    ``skipped`` says ``row N: why`` for each None, and below 90 % a warning is logged.

    Raises:
        InputError: ``min_judged`` is no share.
    """
    floor = check_min_judged(min_judged)
    values = [s.value for s in scored if s.value is not None]
    n, covered = len(scored), len(values) / len(scored) if scored else None
    enough = covered is not None and covered >= floor and bool(values)
    reason = "" if enough or not n else f"only {len(values)} of {n} rows have a value, min_judged is {floor:g}"
    if covered is not None and covered < LOW_COVERAGE:
        log.warning("%s: %s", name, reason or f"{len(values)} of {n} rows have a value; the others are left out")
    return {
        name: float(np.mean(values)) if enough else None,
        "scores": [None if s.value is None else float(s.value) for s in scored],
        "n": n,
        "n_skipped": n - len(values),
        "skipped": [f"row {i}: {s.detail}" for i, s in enumerate(scored, 1) if s.value is None],
        "coverage": covered,
        "reason": reason,
        "signature": signature,
        **more,
    }
