"""Put a metric module on the Hub as a Space: its card, examples and demo page are checked first, then it goes up.

The token comes from the environment (``HF_TOKEN``) and is written nowhere. ``HF_ENDPOINT`` names another Hub.
"""

from __future__ import annotations

import doctest
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from vaeval_tasks.errors import InputError, ServiceError, VaevalError
from vaeval_tasks.paths import metric_module

__all__ = ["FILES", "PublishedModule", "check_app", "check_card", "check_doctest", "front_matter", "publish"]

FILES = ("README.md", "app.py", "requirements.txt")
"""What a module's folder holds beside its script."""
_KINDS = ("metric", "comparison", "measurement")
_START_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedModule:
    """Where a module went."""

    name: str
    repo_id: str
    url: str


def front_matter(card: Path) -> dict[str, Any]:
    """Return the YAML block at the head of a card.

    Raises:
        InputError: the card is missing, or has no such block.
    """
    if not card.is_file():
        raise InputError("no such card", path=card)
    parts = card.read_text(encoding="utf-8").split("---\n", 2)
    try:
        block = yaml.safe_load(parts[1]) if len(parts) == 3 and not parts[0].strip() else None
    except yaml.YAMLError as error:
        raise InputError(f"the front matter is not YAML ({str(error).splitlines()[0]})", path=card) from None
    if not isinstance(block, dict):
        raise InputError("must begin with a block of YAML between two lines of ---", path=card)
    return block


def _load(script: Path) -> Any:
    import evaluate

    return evaluate.load(str(script), keep_in_memory=True)


def check_card(folder: Path) -> None:
    """Check that a module's folder is whole and that its card agrees with its script and requirements.

    Raises:
        InputError: a file is missing, or a key of the front matter is not as it must be.
    """
    script = folder / f"{folder.name}.py"
    for file in (script, *(folder / name for name in FILES)):
        if not file.is_file():
            raise InputError("the module has no such file", path=file)
    card = folder / "README.md"
    block = front_matter(card)
    module = _load(script)
    pinned = [
        line.partition("==")[2].strip()
        for line in (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
        if line.startswith("gradio==")
    ]
    kind = str(module.info.module_type)
    tags = block.get("tags") or []
    wanted: dict[str, tuple[bool, str]] = {
        "title": (bool(block.get("title")), "must be the name shown on the Hub"),
        "sdk": (block.get("sdk") == "gradio", "must be gradio"),
        "app_file": (block.get("app_file") == "app.py", "must be app.py"),
        "license": (bool(block.get("license")), "must name the licence"),
        "sdk_version": (
            [str(block.get("sdk_version"))] == pinned,
            f"must be gradio's pin in requirements.txt {pinned}",
        ),
        "tags": ("evaluate" in tags and [t for t in tags if t in _KINDS] == [kind], f"must hold evaluate and {kind}"),
        "description": (_words(block.get("description")) == _words(module.description), "must be the script's own"),
    }
    for key, (fine, message) in wanted.items():
        if not fine:
            raise InputError(message, path=card, field=key)


def _words(text: Any) -> list[str]:
    return str(text or "").split()


def check_doctest(script: Path) -> int:
    """Run the examples of a module's documentation and return how many there are.

    Raises:
        InputError: an example fails, or there are fewer than two.
    """
    module = sys.modules[type(_load(script)).__module__]
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    results = [runner.run(test, out=said.append) for test in doctest.DocTestFinder().find(module)]
    failed, attempted = sum(r.failed for r in results), sum(r.attempted for r in results)
    if failed:
        got = " ".join("".join(said).partition("Failed example:")[2].split())
        raise InputError(f"{failed} of {attempted} examples fail: {got[:200]}", path=script)
    if attempted < 2:
        raise InputError("needs two or more examples in its documentation", path=script)
    return attempted


def check_app(folder: Path, *, timeout: float = _START_S) -> float:
    """Start a copy of the demo page on the loopback address and return the seconds until it answered.

    Raises:
        InputError: it ended, or did not answer in time; its last line is shown.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / folder.name
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
        environment = {
            **{k: v for k, v in os.environ.items() if k not in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")},
            "GRADIO_SERVER_NAME": "127.0.0.1",
            "GRADIO_SERVER_PORT": str(port),
            "GRADIO_ANALYTICS_ENABLED": "False",
        }
        log = Path(scratch) / "log"
        with log.open("w") as out:
            process = subprocess.Popen(
                [sys.executable, "app.py"], cwd=copy, env=environment, stdout=out, stderr=subprocess.STDOUT
            )
        try:
            return _answered(process, f"http://127.0.0.1:{port}/config", log, folder / "app.py", timeout)
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answered(process: subprocess.Popen[bytes], url: str, log: Path, app: Path, timeout: float) -> float:
    began = time.monotonic()
    while time.monotonic() - began < timeout:
        if process.poll() is not None:
            last = [line for line in log.read_text(errors="replace").splitlines() if line.strip()][-1:]
            raise InputError(f"ended with status {process.returncode}: {''.join(last)}", path=app)
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 (our own page on loopback)
                if answer.status == 200:
                    return time.monotonic() - began
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    raise InputError(f"did not answer within {timeout:.0f} s", path=app)


def _transport_error() -> type[Exception]:
    """Return the error of what huggingface_hub sends with: httpx2 from its version 2.0 on, httpx before."""
    module = importlib.import_module("httpx2" if importlib.util.find_spec("httpx2") else "httpx")
    error: type[Exception] = module.HTTPError
    return error


def publish(name: str, namespace: str, *, private: bool = False) -> PublishedModule:
    """Upload a checked metric module as the Space ``namespace/name``, making it if it is new.

    Args:
        name: a module's name.
        namespace: a user or organisation of the Hub.
        private: make a new Space private.

    Raises:
        UnknownNameError: there is no such module.
        VaevalError: there is no token in the environment.
        ServiceError: the Hub refused, or could not be reached.
    """
    folder = Path(metric_module(name)).parent
    token = os.environ.get("HF_TOKEN")
    if not token:
        raise VaevalError("set HF_TOKEN to a Hub token that may write; it is taken from the environment only")
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"), token=token)
    repo_id = f"{namespace}/{name}"
    try:
        api.create_repo(repo_id, repo_type="space", space_sdk="gradio", exist_ok=True, private=private)
        api.upload_folder(
            repo_id=repo_id,
            repo_type="space",
            folder_path=folder,
            commit_message=f"Update {name}",
            ignore_patterns=["__pycache__/*", "*.pyc"],
        )
    except HFValidationError as error:
        raise InputError(str(error).splitlines()[0], field="namespace") from None
    except HfHubHTTPError as error:
        status = getattr(error.response, "status_code", "?")
        raise ServiceError(f"the Hub refused {repo_id} (status {status}): {str(error).splitlines()[0]}") from None
    except (_transport_error(), OSError) as error:
        raise ServiceError(f"the Hub at {api.endpoint} could not be reached ({error})") from None
    return PublishedModule(name=name, repo_id=repo_id, url=f"{api.endpoint}/spaces/{repo_id}")
