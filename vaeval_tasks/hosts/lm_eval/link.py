"""Links that let a bare ``lm_eval --tasks voiceassistant_eval`` find our tasks.

0.4.13 looks for YAMLs in its own ``tasks`` folder only. Its search follows links to files, not to folders,
so each YAML is linked. Models cannot be linked: ``--model vaeval-…`` needs ``vaeval lm-eval``.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from vaeval_tasks import paths
from vaeval_tasks.errors import InputError, MissingDependencyError
from vaeval_tasks.scoring.suite import GROUP

__all__ = ["link", "link_folder", "unlink"]


def link_folder() -> Path:
    """Return the folder inside the installed harness that links go to.

    Raises:
        MissingDependencyError: the harness is not installed.
    """
    spec = importlib.util.find_spec("lm_eval")  # imports nothing
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError("linking tasks", "lm-eval")
    return Path(spec.submodule_search_locations[0]) / "tasks" / GROUP


def link(folder: Path) -> list[Path]:
    """Link every task YAML into a folder, in the place of earlier links, and return the links.

    Raises:
        InputError: the folder holds something that is not such a link, or cannot be written.
    """
    _refuse_foreign(folder)
    source = paths.task_configs_dir()
    try:
        _remove(folder)
        made = []
        for path in sorted(source.glob("**/*.yaml")):
            target = folder / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(path)
            made.append(target)
    except OSError as error:
        raise InputError(f"cannot be written ({error}); use vaeval lm-eval, or --include_path", path=folder) from None
    return made


def unlink(folder: Path) -> int:
    """Remove the links and return how many there were.

    Raises:
        InputError: the folder holds something that is not such a link.
    """
    _refuse_foreign(folder)
    return _remove(folder)


def _ours(path: Path) -> bool:
    """Whether a file is a link into a ``task_configs`` folder, of this or an earlier installation."""
    return path.is_symlink() and "task_configs" in path.readlink().parts


def _refuse_foreign(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError("is not a folder that vaeval made; nothing was changed", path=folder)
    for path in sorted(folder.rglob("*")):
        if not _ours(path) and (path.is_symlink() or not path.is_dir()):
            raise InputError("is not a link that vaeval made; nothing was changed", path=path)


def _remove(folder: Path) -> int:
    links = [path for path in folder.rglob("*") if _ours(path)]
    for path in links:
        path.unlink()
    for path in sorted((p for p in folder.rglob("*") if p.is_dir()), reverse=True):
        path.rmdir()
    if folder.is_dir():
        folder.rmdir()
    return len(links)
