"""A package of somebody else's, as the README of the models shows it, is built, installed and used for real."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from vaeval_tasks.audio import write_wav
from vaeval_tasks.files import sha256_file
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Prompt, ResponseStatus
from vaeval_tasks.testing import sample_recording

KEY = "sk-acme-0123456789"
README = "vaeval_tasks/models/README.md"
BLOCK = re.compile(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
LM_EVAL = """
import functools, sys
import lm_eval.tasks
# the harness's own 14 000 tasks are not indexed, which takes half a minute
lm_eval.tasks.TaskManager = functools.partial(lm_eval.tasks.TaskManager, include_defaults=False)
from vaeval_tasks.cli import main
main(["lm-eval", *sys.argv[1:]])
"""

Vaeval = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def source(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the README."""
    folder = tmp_path_factory.mktemp("source")
    for name, text in BLOCK.findall((repository / README).read_text()):
        (folder / name).write_text(text)
    assert {p.name for p in folder.iterdir()} == {
        *("acme_voices.py", "acme_scorers.py", "pyproject.toml", "mine.yaml", "test_acme.py"),
    }
    return folder


@pytest.fixture(scope="module")
def site(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the package was built and installed into, without a network."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-index"]
    build = [*pip, "--no-deps", "--no-build-isolation", "--target", str(folder), str(source)]
    subprocess.run(build, check=True, capture_output=True, cwd=folder)
    assert (folder / "acme_voices.py").is_file()
    return folder


@pytest.fixture
def vaeval(site: Path, repository: Path, tmp_path: Path) -> Vaeval:
    """Run the command line where the package is installed, in the test's folder."""

    def run(*arguments: str, code: str = "", module: str = "vaeval_tasks.cli", **variables: str):
        path = os.pathsep.join([str(site), str(repository)])
        environment = {**os.environ, "PYTHONPATH": path, "ACME_KEY": KEY, "LMEVAL_LOG_LEVEL": "ERROR", **variables}
        start = ["-c", code] if code else ["-m", module]
        return subprocess.run(
            [sys.executable, *start, *arguments],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    return run


@pytest.fixture
def study(tmp_path: Path) -> RunDir:
    """A run folder with six prompts, the last one silent."""
    run = RunDir(tmp_path / "study")
    prompts = []
    for number in range(6):
        path = Path("audio/prompts") / f"p{number}.wav"
        clip = sample_recording(0.5, seed=number)
        write_wav(run.root / path, clip if number < 5 else replace(clip, samples=clip.samples * 0))
        prompts.append(
            Prompt(
                prompt_id=f"p{number}",
                category="chat",
                difficulty="L1",
                path=str(path),
                sha256=sha256_file(run.root / path),
                sampling_rate=16_000,
                seconds=0.5,
            )
        )
    run.write("prompts", prompts, made_by="test")
    return run


def configuration(folder: Path, provider: str, more: str = "params: {model: hum-1, hertz: 110}", n: int = 1) -> str:
    path = folder / f"mine{n}.yaml"
    path.write_text(f"configurations:\n- model: Acme Hum {n}\n  provider: {provider}\n  {more}\n")
    return path.name


def last(done: subprocess.CompletedProcess[str]) -> str:
    assert "Traceback" not in done.stderr, done.stderr
    return done.stderr.strip().splitlines()[-1]


def test_a_study_is_asked_by_both_names_and_in_two_processes(vaeval: Vaeval, study: RunDir, tmp_path: Path) -> None:
    by_name, by_class = configuration(tmp_path, "acme-hum"), configuration(tmp_path, "acme_voices:Hum", n=2)
    dry = vaeval("generate", "study", "--config", by_name, "--dry-run")
    assert re.search(r"^acme-hum +1 +6 +0\.1 +0 +4$", dry.stdout, re.MULTILINE), dry
    done = vaeval("generate", "study", "--config", by_name, "--config", by_class, "--processes", "2")
    assert done.returncode == 0, done.stderr
    assert "study: 2 error, 10 ok" in done.stdout
    assert len(list(study.root.glob("responses*.jsonl"))) == 2, "both processes answered"
    answers = {r.response_id: r for r in study.responses()}
    assert len(answers) == 12
    for r in answers.values():
        silent = r.prompt_id == "p5"
        assert (r.status, r.error) == ((ResponseStatus.error, "I hear nothing") if silent else (ResponseStatus.ok, ""))
        assert silent or (r.text, r.seconds, r.sampling_rate) == ("Hmm.", 1.0, 16_000)
        assert r.request["params"] == {"model": "hum-1", "hertz": 110}
    assert answers["acme-hum-1/default/default/p0"].sha256 == answers["acme-hum-2/default/default/p0"].sha256
    assert KEY not in "".join(p.read_text(errors="ignore") for p in study.root.rglob("*") if p.is_file())
    again = vaeval("generate", "study")  # the configurations of the run, read back
    assert "nothing was left to ask" in again.stdout, again.stderr
    scored = vaeval("score", "study", "--profile", "offline", *scorers("--scorer"))
    assert scored.returncode == 0, scored.stderr
    kept = {s.metric: s.signature for s in study.read("scores")}
    assert kept["mos"] == "acme-mos|version:1"
    assert kept["wer"].startswith("acme-ears|version:1 + ")


def scorers(option: str = "") -> list[str]:
    names = ("judge=acme-judge", "speech=acme_scorers:Loudness", "recogniser=acme-ears")
    return [word for name in names for word in ((option, name) if option else (name,))]


def test_torchrun_shares_the_work(vaeval: Vaeval, study: RunDir, tmp_path: Path) -> None:
    config = configuration(tmp_path, "acme-hum")
    launcher = ("--standalone", "--nproc_per_node", "2", "-m", "vaeval_tasks.cli")
    done = vaeval(
        *launcher, *("generate", "study", "--config", config), module="torch.distributed.run", OMP_NUM_THREADS="1"
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(study.read("responses")) == 6
    assert len(list(study.root.glob("responses*.jsonl"))) == 2


def test_lm_eval_takes_the_configuration_and_the_scorers(vaeval: Vaeval, tmp_path: Path) -> None:
    config = configuration(tmp_path, "acme-hum")
    data = ("--metadata", "dataset_path=sample", "profile=offline", *scorers())
    asked = ("--model", "vaeval", "--tasks", "listening_general,speaking_multi_round")
    done = vaeval(*asked, "--model_args", f"config={config}", *data, code=LM_EVAL)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "|vae_content" in done.stdout
    run = RunDir(tmp_path / "vaeval-runs" / f"vaeval-{config}")
    assert f"answers, scores and results.json: {run.root}" in done.stdout
    assert {(r.status.value, r.text) for r in run.responses()} == {("ok", "Hmm.")}
    assert max(len(r.turn_texts) for r in run.responses()) > 1
    tasks = json.loads((run.root / "results.json").read_text())["configs"]["acme-hum-1/default/default"]["tasks"]
    assert tasks["listening_general"]["signatures"]["content"] == "acme-judge|version:1"
    assert tasks["listening_general"]["content"]["value"] == 100.0
    assert "acme-hum-1/default/default" in done.stdout


def test_its_own_test_passes(vaeval: Vaeval, source: Path) -> None:
    done = vaeval("-q", "-p", "no:cacheprovider", "-n", "0", str(source / "test_acme.py"), module="pytest")
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_it_is_listed_without_being_imported(vaeval: Vaeval, source: Path, tmp_path: Path) -> None:
    listed = vaeval("configs", "list")
    assert listed.stdout.endswith(
        "installed: provider acme-hum (acme_voices:Hum; acme-voices 1.2, group vaeval.systems)\n"
    ), listed
    (tmp_path / "mine.yaml").write_text((source / "mine.yaml").read_text())
    assert "acme-hum/default/low  -  acme_voices:Hum  needs ACME_KEY\n" in vaeval("configs", "list", "mine.yaml").stdout
    shown = vaeval("configs", "show", "mine.yaml").stdout
    (tmp_path / "again.yaml").write_text(shown)
    sys_path_free = vaeval(
        "again.yaml",
        code="import sys; from vaeval_tasks.cli import main; "
        "main(['configs', 'list']); assert 'acme_voices' not in sys.modules",
    )
    assert sys_path_free.returncode == 0, sys_path_free.stderr
    assert "provider: acme_voices:Hum" in shown


@pytest.mark.parametrize(
    ("provider", "more", "message"),
    [
        ("acme-humm", "params: {}", "unknown provider 'acme-humm'. Did you mean 'acme-hum'? Known: acme-hum, cascade"),
        ("acme_voices:Him", "params: {}", "the plug-in 'acme_voices:Him' has no class 'Him'; classes there: "),
        (
            "acme_voces:Hum",
            "params: {}",
            "the plug-in 'acme_voces:Hum' cannot be imported: ModuleNotFoundError: No mod",
        ),
        ("acme_scorers:Ears", "params: {}", "the plug-in 'acme_scorers:Ears' is no speech system: it must be a subc"),
        (
            "acme-hum",
            "params: {herz: 3}",
            "acme-hum-1/default/default: params: unknown key 'herz'. Did you mean 'hertz'",
        ),
        (
            "acme-hum",
            "params: {hertz: 2026-01-01}",
            "hertz: Object of type date is not JSON serializable; put a date in",
        ),
        ("acme-hum", "connection: {timeouts: {trn: 3}}", "connection.timeouts: unknown key 'trn'. Did you mean 'turn'"),
        ("acme-hum", "connection: {sessions: 0}", "expected a whole number from 1, got 0"),
    ],
)
def test_what_is_wrong_is_one_line(vaeval: Vaeval, study: RunDir, tmp_path: Path, provider, more, message) -> None:
    done = vaeval("generate", "study", "--config", configuration(tmp_path, provider, more))
    assert done.returncode == 1
    assert last(done).startswith("Error: ")
    assert message in last(done)
    assert study.responses() == []


def test_a_missing_key_and_an_unknown_scorer(vaeval: Vaeval, study: RunDir, tmp_path: Path) -> None:
    config = configuration(tmp_path, "acme-hum")
    done = vaeval("generate", "study", "--config", config, ACME_KEY="")
    assert "acme-hum-1/default/default: the environment variable ACME_KEY is not set; acme-hum needs it" in last(done)
    assert vaeval("generate", "study", "--config", config).returncode == 0
    for option, message in {
        "speech=acme-moss": "Error: speech: unknown scorer 'acme-moss'. Did you mean 'acme-mos'?",
        "speach=acme-mos": "Error: --scorer: unknown role 'speach'. Did you mean 'speech'?",
        "judge=acme-mos": "Error: judge: unknown judge 'acme-mos'. Known: acme-judge, local, package.module:Class.",
        "speech=acme-ears": "Error: speech: the plug-in 'acme-ears' (acme_scorers:Ears; acme-voices 1.2, group "
        "vaeval.scorers) has no method 'score'",
    }.items():
        said = last(vaeval("score", "study", "--profile", "offline", "--scorer", option))
        assert said.startswith(message), said
