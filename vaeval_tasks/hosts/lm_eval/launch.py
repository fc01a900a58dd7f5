"""The harness's own command line with our tasks and models registered.

Every argument means what it means to ``lm_eval``. Three things are added: our folder to ``include_path``
(the user's and that of ``--config`` stay), the run folder to the metadata (and to our models' arguments),
and our table at the end, with the overall score that the harness cannot compute.
"""

from __future__ import annotations

import difflib
import fnmatch
import os
import re
import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from vaeval_tasks.analysis.table import Table
from vaeval_tasks.asking.ranks import rank, world_size
from vaeval_tasks.errors import InputError, UnknownNameError, VaevalError
from vaeval_tasks.hosts.lm_eval.arguments import (
    argument_fault,
    as_mapping,
    check_arguments,
    in_one_line,
    read_config,
    read_samples,
)
from vaeval_tasks.hosts.lm_eval.dry_run import forecast_run, forecast_table
from vaeval_tasks.hosts.lm_eval.preflight import check_task, predicts_only
from vaeval_tasks.hosts.lm_eval.register import MODELS, our_folders, register
from vaeval_tasks.hosts.lm_eval.run_settings import METADATA, HarnessSettings, run_folder
from vaeval_tasks.scoring.results import read_results
from vaeval_tasks.scoring.results_text import results_text
from vaeval_tasks.scoring.suite import FAMILIES, GROUP, TASKS
from vaeval_tasks.store.lock import Writer, writing
from vaeval_tasks.store.run import RunDir

__all__ = ["launch"]

PREFIX = "vaeval-"
ANY = "vaeval"
"""The model that takes any configuration."""
_NAMING = ("peft", "delta", "pretrained", "model", "path", "engine")
"""Model arguments that the harness names the folder of ``--output_path`` after."""

_REFUSED_OF_MODELS = {
    "use_cache": "keys answers without the model; leave it out: the run folder keeps every answer already",
    "system_instruction": "does not reach a speech model: the tasks are spoken, and role-play has its own prompt",
}
"""Options of the harness that would silently do nothing, or harm, with our models."""


_HOLDS = {
    **{task: (task,) for task in TASKS},
    **{f"{GROUP}_{family}": members for family, members in FAMILIES.items()},
    GROUP: tuple(TASKS),
}
"""Our tasks and groups, and the tasks of each."""


def launch(arguments: Sequence[str]) -> None:
    """Run the harness.

    Raises:
        VaevalError: something the user can fix, from data to an unreachable judge.
    """
    register()
    from lm_eval._cli import HarnessCLI
    from lm_eval.utils import setup_logging

    setup_logging()
    sys.argv = ["vaeval lm-eval", *arguments]
    cli = HarnessCLI()
    _add_options(cli._parser)
    in_one_line(cli._parser)
    try:
        parsed = cli.parse_args()
    except VaevalError:
        raise
    except ValueError as error:  # JSON that is none
        raise argument_fault(error) or error from None
    if "include_path" not in parsed:  # no subcommand, which prints the help
        cli.execute(parsed)
        return
    strict, dry_run = (vars(parsed).pop(name, False) for name in ("strict", "dry_run"))
    config = read_config(getattr(parsed, "config", None))
    user = parsed.include_path or config.get("include_path")
    root = _prepare(parsed, config, strict=strict) if parsed.command == "run" else None
    parsed.include_path = _include_paths(user)
    _tell_one_process()
    if dry_run:
        print(_forecast(parsed, config).text(), end="")
        return
    if root is not None and not predicts_only(parsed.metadata):
        tasks = [task for name in _ours(parsed.tasks or config.get("tasks")) for task in _HOLDS[name]]
        if tasks:  # before the model is loaded
            told = as_mapping(parsed.model_args, "model_args") | parsed.metadata
            check_task(HarnessSettings.from_metadata(told), tasks)
    with ExitStack() as held:
        if root is not None and (_ours(parsed.tasks) or str(parsed.model).startswith(PREFIX)):
            # the scores too, from the start: nobody wants to be refused after hours of answers
            held.enter_context(writing(root, Writer.generate))
            held.enter_context(writing(root, Writer.score))
        try:
            cli.execute(parsed)
        except VaevalError:
            raise
        except Exception as error:
            fault = argument_fault(error)
            if fault is None:
                raise
            raise fault from None
    if root is not None and rank() == 0:
        _conclude(root)


def _add_options(parser: ArgumentParser) -> None:
    """Add our two options to ``run``, where its help shows them."""
    commands = next(action for action in parser._actions if isinstance(action, _SubParsersAction))
    ours = commands.choices["run"].add_argument_group("voiceassistant_eval")
    ours.add_argument("--strict", action="store_true", help="stop at an item with a broken clip or picture")
    ours.add_argument(
        "--dry-run",
        "--dry_run",
        action="store_true",
        help="print requests, audio minutes, judge calls and tokens still to come; ask nobody",
    )


def _forecast(parsed: Namespace, config: dict[str, Any]) -> Table:
    """Say what the run would ask."""
    from lm_eval.api.registry import get_model

    given = config | {name: value for name, value in vars(parsed).items() if value is not None}
    tasks = sorted({task for name in _ours(given.get("tasks")) for task in _HOLDS[name]}, key=list(TASKS).index)
    if not tasks:
        raise InputError("--dry-run knows our tasks only, and --tasks names none of them; see: vaeval tasks list")
    arguments, name = as_mapping(parsed.model_args, "model_args"), str(given.get("model") or "hf")
    return forecast_table(
        forecast_run(
            tasks,
            arguments | parsed.metadata,
            model=get_model(name).create_from_arg_obj(arguments) if _speaks(name) else None,
            limit=given.get("limit"),
            samples=read_samples(given["samples"], tasks) if given.get("samples") else None,
            scored=not predicts_only(parsed.metadata),
        )
    )


def _include_paths(user: Any) -> list[str]:
    """Our folder and the user's. ``ls`` and ``validate`` of 0.4.13 take a list too, although they say otherwise."""
    return [*our_folders(), *([user] if isinstance(user, str) else user or [])]


def _tell_one_process() -> None:
    """Say that ``accelerate launch --num_processes 2 --cpu`` started one process only, as it does without a word."""
    if world_size() > 1 or not any(name.startswith("ACCELERATE_") for name in os.environ):
        return
    try:
        command = Path(f"/proc/{os.getppid()}/cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return  # no such table here: what accelerate was asked for is not known
    found = re.search(r"\0--num[-_]processes[\0=](\d+)\0", command)
    if found is not None and int(found[1]) > 1:
        print(
            f"accelerate was asked for {found[1]} processes and started one; for several on CPUs: "
            f"torchrun --nproc_per_node {found[1]} -m vaeval_tasks.cli lm-eval ...",
            file=sys.stderr,
        )


def _speaks(model: str) -> bool:
    """Whether it is one of our models."""
    return model == ANY or model.startswith(PREFIX)


def _ours(tasks: Any) -> list[str]:
    """Return which of our tasks and groups the names or patterns ask for."""
    patterns = ",".join([tasks] if isinstance(tasks, str) else map(str, tasks or [])).split(",")
    return [name for name in _HOLDS if any(fnmatch.fnmatchcase(name, pattern.strip()) for pattern in patterns)]


def _refuse_overlap(tasks: Any) -> None:
    """Refuse a task that is asked for twice: the harness does so too, but only after the model was loaded."""
    asked: dict[str, str] = {}
    for name in _ours(tasks):
        for task in _HOLDS[name]:
            if task in asked:
                raise InputError(f"--tasks: {name} holds {task}, which {asked[task]} asks for too; name one of them")
            asked[task] = name


def _refuse(given: dict[str, Any], model: str) -> None:
    refused = dict(_REFUSED_OF_MODELS) if _speaks(model) else {}
    if _ours(given.get("tasks")):
        refused["cache_requests"] = "keeps the settings of an earlier run inside the documents; leave it out"
    for option, reason in refused.items():
        if given.get(option):
            raise InputError(f"--{option} {reason}")
    if _speaks(model) and (options := as_mapping(given.get("gen_kwargs"), "gen_kwargs")):
        raise InputError(f"--gen_kwargs {', '.join(sorted(options))} has no effect here; use --model_args")


def _check_spelling(metadata: dict[str, Any]) -> None:
    """Refuse a name that is nearly one of ours: nothing would be done with it, and nobody would say so."""
    for name in metadata:
        if name not in METADATA and difflib.get_close_matches(name, METADATA, n=1, cutoff=0.8):
            raise UnknownNameError("metadata", name, METADATA)


def _prepare(parsed: Namespace, config: dict[str, Any], *, strict: bool) -> Path:
    """Fill in what our hooks and models need to know, and return the run folder.

    The harness lets an argument replace that of ``--config`` as a whole, so both are merged here.
    """
    from lm_eval.api.registry import model_registry

    typed = {name: value for name, value in vars(parsed).items() if value is not None}
    given = config | typed
    model = str(given.get("model") or "hf")
    asked = sorted({task for name in _ours(given.get("tasks")) for task in _HOLDS[name]})
    check_arguments(given, asked)
    if _speaks(model) and model not in model_registry:
        raise UnknownNameError("model", model, MODELS)
    model_args = as_mapping(config.get("model_args"), "model_args") | as_mapping(typed.get("model_args"), "model_args")
    metadata = as_mapping(config.get("metadata"), "metadata") | as_mapping(typed.get("metadata"), "metadata")
    metadata |= {"strict": True} if strict else {}
    _refuse(given, model)
    _refuse_overlap(given.get("tasks"))
    _check_spelling(metadata)
    if model == "vaeval-replay" and "responses" in model_args:
        # two folders of answers are two models
        model_args = {"pretrained": Path(str(model_args["responses"])).expanduser().resolve().name} | model_args
    naming = ("config_id", "config") if model == ANY else _NAMING
    label = next((str(model_args[name]) for name in naming if name in model_args), "")
    name = f"{model} {label}".strip()
    root = run_folder(str(metadata.get("run_dir") or model_args.get("run_dir") or ""), name).resolve()
    metadata |= {"run_dir": str(root), "model_name": name}
    if given.get("predict_only"):
        metadata["predict_only"] = True
        if not given.get("output_path"):  # the harness wants one; the answers are in the run folder anyway
            parsed.output_path = str(root)
    if given.get("limit") is not None:
        metadata["limit"] = given["limit"]
    if _speaks(model):
        parsed.model_args = {"pretrained": model} | model_args | {"run_dir": str(root)}
    parsed.metadata = metadata
    return root


def _conclude(root: Path) -> None:
    run = RunDir(root)
    results = read_results(run)
    if results.configs:
        print(results_text(results))
    if run.responses():  # else none of the tasks was ours
        print(f"answers{', scores and results.json' if results.configs else ''}: {root}")
