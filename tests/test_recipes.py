"""The recipes of CONTRIBUTING: the files that it shows do what it says."""

from __future__ import annotations

import csv
import functools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from vaeval_tasks import paths
from vaeval_tasks.cli import main
from vaeval_tasks.metrics import profiles
from vaeval_tasks.metrics.backends import Scored
from vaeval_tasks.metrics.content_judge_rules import RulesJudge
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.testing import sample_recording, write_recording

BLOCK = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="session")
def shown(repository: Path) -> dict[str, str]:
    """The files of the page, by name."""
    files = dict(BLOCK.findall((repository / ".github" / "CONTRIBUTING.md").read_text("utf-8")))
    assert set(files) == {"pub_quiz/pub_quiz.yaml", "make_items.py", "ties.py"}
    return files


def test_add_a_task(
    shown: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import lm_eval.tasks

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VAEVAL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "pub_quiz").mkdir()
    shutil.copy(paths.task_configs_dir() / "_base", "pub_quiz/_base")
    for name in ("pub_quiz/pub_quiz.yaml", "make_items.py"):
        Path(name).write_text(shown[name])
    subprocess.run([sys.executable, "make_items.py"], check=True)
    for item, said in {"quiz-0": "It is Paris.", "quiz-1": "A spider has six legs."}.items():
        write_recording(tmp_path / "answers" / f"{item}.wav", sample_recording(1.0))
        (tmp_path / "answers" / f"{item}.txt").write_text(said)
    # the harness's own 14 000 tasks are not indexed, which takes half a minute
    manager = functools.partial(lm_eval.tasks.TaskManager, include_defaults=False)
    monkeypatch.setattr(lm_eval.tasks, "TaskManager", manager)
    monkeypatch.setattr(profiles, "load_scorers", lambda profile, **options: scorers())
    ways = ["--include_path", "pub_quiz", "--tasks", "pub_quiz", "--metadata", "profile=offline", "run_dir=run"]
    main(["lm-eval", *ways, "--model", "vaeval-replay", "--model_args", "responses=answers"])
    said = capsys.readouterr().out
    assert re.search(r"^\|pub_quiz\|.*\n.*vae_content *\|↑ +\| *50(?:\.0000)?\|", said, re.MULTILINE), said
    kept = json.loads(Path("run/results.json").read_text())["configs"]["answers/default/default"]["tasks"]
    assert {name: (task["n"], task["content"]["value"]) for name, task in kept.items() if task["n"]} == {
        "listening_speech": (2, 50.0)
    }


class _Ear:
    signature = "ear"

    def transcribe(self, clips: list[object]) -> list[str]:
        return ["It is Paris." for _ in clips]

    def score(self, clips: list[object]) -> list[Scored]:
        return [Scored(value=5.0) for _ in clips]


def scorers() -> profiles.Scorers:
    """The real judge; what is heard does not matter here."""
    return profiles.Scorers(judge=RulesJudge(), speech=_Ear(), recogniser=_Ear(), speaker=None, emotion=None)


def test_add_a_table(shown: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vaeval_tasks.analysis import study_analysis

    ties = ModuleType("ties")
    monkeypatch.setitem(sys.modules, "ties", ties)
    exec(compile(shown["ties.py"], "ties.py", "exec"), ties.__dict__)
    line = {"ties": lambda study: ties.tie_table(ties.tie_shares(study.ratings))}
    monkeypatch.setattr(study_analysis, "_TABLES", {**study_analysis._TABLES, **line})
    study = tmp_path / "study"
    main(["simulate", str(study), "--prompts", "20", "--raters", "12", "--mos-raters", "4", "--seed", "3"])
    main(["tables", str(study), "--out", str(tmp_path / "tables"), "--splits", "20", "--resamples", "20"])
    with (tmp_path / "tables" / "ties.csv").open(newline="") as file:
        rows = {row["rubric"]: row for row in csv.DictReader(file)}
    scores = [r.score for r in RunDir(study).read("ratings") if r.rubric == "overall"]
    assert float(rows["overall"]["n_ratings"]) == len(scores)
    assert float(rows["overall"]["share"]) == pytest.approx(scores.count(0) / len(scores))
    assert "| overall |" in (tmp_path / "tables" / "ties.md").read_text("utf-8")
