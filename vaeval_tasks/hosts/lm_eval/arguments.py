"""What is wrong with the harness's arguments, in one line and before anything is loaded."""

from __future__ import annotations

import argparse
import difflib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import yaml

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.scoring.suite import TASKS

__all__ = ["argument_fault", "as_mapping", "check_arguments", "in_one_line", "read_config", "read_samples"]

_FAULTS = {
    "Tasks not found": "see: vaeval tasks list",
    "Duplicate task": "name a group or what is in it, not both",
    "Specify --output_path": "",
    "Elements of --samples": "",
}
"""How the harness's complaints about the arguments start, and what to do where they do not say it."""

_ARGUMENT_CODE = ("config", "_cli", "registry.py", "_yaml_loader.py", "manager.py", "_index.py", "_factory.py")
"""The parts of the harness that read arguments and files named by them: what they raise is about these."""


def in_one_line(parser: argparse.ArgumentParser) -> None:
    """Let a parser and those of its commands say what is wrong in a line, not after a page of usage."""

    def refuse(message: str) -> NoReturn:
        raise InputError(f"{' '.join(message.split())}; see: {parser.prog} --help")

    parser.error = refuse  # type: ignore[method-assign]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                in_one_line(command)


def read_config(path: str | None) -> dict[str, Any]:
    """Return what ``--config`` holds.

    Raises:
        InputError: there is no such file, or it is not a YAML mapping.
    """
    if path is None:
        return {}
    file = Path(path)
    if not file.is_file():
        raise InputError("no such file; --config takes a YAML file of lm-eval's options", path=file)
    try:
        loaded = yaml.safe_load(file.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise InputError(f"is not YAML ({' '.join(str(error).split())})", path=file) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", path=file) from None
    if not isinstance(loaded, dict) or not all(isinstance(name, str) for name in loaded):
        raise InputError("must hold options of lm-eval by name, such as model: vaeval-offline", path=file)
    return loaded


def as_mapping(value: Any, option: str) -> dict[str, Any]:
    """Return the names and values of an option such as ``--metadata``, from a text or a mapping.

    Raises:
        InputError: it is neither.
    """
    from lm_eval.utils import simple_parse_args_string

    if value is None:
        return {}
    if isinstance(value, str):
        text = value.strip()
        try:
            found = json.loads(text) if text.startswith("{") else simple_parse_args_string(text)
        except ValueError as error:
            raise InputError(f"--{option} cannot be read ({error}); give name=value,name=value or JSON") from None
        return dict(found)
    if not isinstance(value, Mapping):
        raise InputError(f"--{option} must be names with values, not {value!r}")
    return {str(name): one for name, one in value.items()}


def check_arguments(given: Mapping[str, Any], asked: Sequence[str]) -> None:
    """Refuse arguments that the harness takes and then does something else with, or breaks on much later.

    Args:
        given: the options by name.
        asked: those of our tasks that are asked for.

    Raises:
        InputError: an argument is not what it must be.
        UnknownNameError: ``--samples`` names a task that is nearly one of ours.
    """
    if not given.get("tasks"):
        raise InputError("--tasks is missing; see: vaeval tasks list")
    limit = given.get("limit")
    if limit is not None and (not isinstance(limit, int | float) or not math.isfinite(limit) or limit <= 0):
        raise InputError(f"--limit {limit}: must be a number of items, or a share of them below 1")
    paths = given.get("include_path") or []
    for path in [paths] if isinstance(paths, str) else paths:
        if not Path(path).is_dir():
            raise InputError("no such folder; --include_path takes a folder of task YAMLs", path=path)
    if out := given.get("output_path"):
        place = next(p for p in (Path(str(out)), *Path(str(out)).absolute().parents) if p.exists())
        if not place.is_dir() and place.suffix != ".json":
            raise InputError("is a file; --output_path takes a folder", path=place)
    if given.get("samples"):
        read_samples(given["samples"], asked)


def read_samples(samples: Any, asked: Sequence[str]) -> dict[str, list[int]]:
    """Return what ``--samples`` asks for: item numbers by task.

    Raises:
        InputError: they are something else, or of a task that is not run.
        UnknownNameError: a task is nearly one of ours.
    """
    if isinstance(samples, str):
        try:
            text = samples if samples.lstrip().startswith("{") else Path(samples).read_text(encoding="utf-8")
            samples = json.loads(text)
        except (OSError, ValueError) as error:
            raise InputError(
                f"--samples is neither a JSON object nor a file with one ({error}); such as '{{\"TASK\": [0, 3]}}'"
            ) from None
    if not isinstance(samples, Mapping) or not samples:
        raise InputError('--samples must be an object of item numbers by task, such as {"speaking_safety": [0, 3]}')
    for task, numbers in samples.items():
        if task in TASKS and task not in asked:
            raise InputError(f"--samples: {task} is not among the tasks that are run")
        if task not in TASKS and difflib.get_close_matches(task, TASKS, n=1, cutoff=0.8):
            raise UnknownNameError("task", task, TASKS, where="--samples")
        whole = isinstance(numbers, list) and all(type(n) is int and n >= 0 for n in numbers)
        if not whole or not numbers or len(set(numbers)) < len(numbers):
            raise InputError(f"--samples: {task} must have a list of item numbers from 0, each once, not {numbers!r}")
    return dict(samples)


def argument_fault(error: Exception) -> InputError | None:
    """Return what an exception of the harness says about the arguments, None where it is about something else."""
    lines = " ".join(str(error).split()) or type(error).__name__
    advice = next((advice for start, advice in _FAULTS.items() if lines.startswith(start)), None)
    if advice is not None:
        return InputError(f"{lines}; {advice}" if advice else lines)
    return InputError(f"lm-eval: {lines}") if _raised_by(error.__traceback__) else None


def _raised_by(traceback: TracebackType | None) -> bool:
    """Whether the part of the harness that an exception comes from reads arguments, and it is not ours."""
    part: tuple[str, ...] = ()
    while traceback is not None:
        parts = Path(traceback.tb_frame.f_code.co_filename).parts
        if "vaeval_tasks" in parts or "lm_eval" in parts:
            part = parts
        traceback = traceback.tb_next
    return "vaeval_tasks" not in part and any(name in part for name in _ARGUMENT_CODE)
