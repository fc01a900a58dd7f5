"""Prompt sets and runs for the tests of the pair design."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vaeval_tasks.audio import Clip, write_wav
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Condition, Prompt, Response, ResponseStatus

DEGRADED = (Condition.indoor, Condition.outdoor, Condition.far_field)


@pytest.fixture(scope="session")
def published() -> list[Prompt]:
    """The published set's shape: Table 1 (156, 157, 160, 156, 145 core prompts in 11 categories, 45 degraded)."""
    levels = [
        level
        for level, n in zip(("L1", "L2", "L3", "L4", "L5"), (156, 157, 160, 156, 145), strict=True)
        for _ in range(n)
    ]
    core = [Prompt(prompt_id=f"p{i:04d}", category=f"c{i % 11:02d}", difficulty=x) for i, x in enumerate(levels)]
    degraded = [
        Prompt(prompt_id=f"d{i:04d}", category=f"c{i % 11:02d}", difficulty="", condition=DEGRADED[i % 3])
        for i in range(45)
    ]
    return core + degraded


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., RunDir]:
    """Make a run of ``n`` prompts with one second of tone from every configuration."""

    def make(n: int, configs: list[str], name: str = "run") -> RunDir:
        run = RunDir(tmp_path / name)
        prompts = [
            Prompt(
                prompt_id=f"p{i:03d}",
                category=("help", "chat")[i % 2],
                difficulty=f"L{i % 5 + 1}",
                gates=("reasoning",) * (i % 2),
            )
            for i in range(n)
        ]
        run.root.mkdir()
        run.write("prompts", prompts, made_by="test")
        answer(run, [p.prompt_id for p in prompts], configs)
        return run

    return make


def answer(run: RunDir, prompt_ids: list[str], configs: list[str]) -> None:
    tone = (0.3 * np.sin(2 * np.pi * 300 * np.arange(12000) / 24000)).astype(np.float32)
    for config in configs:
        path = run.response_audio / f"{config}.wav"
        write_wav(path, Clip(tone, 24000))
        for prompt_id in prompt_ids:
            run.append_response(
                Response(
                    response_id=f"{config}/{prompt_id}",
                    prompt_id=prompt_id,
                    config_id=config,
                    status=ResponseStatus.ok,
                    path=path.relative_to(run.root).as_posix(),
                    sampling_rate=24000,
                    seconds=0.5,
                )
            )


@pytest.fixture
def add_answers() -> Callable[..., None]:
    """Give every prompt of a run answers of further configurations."""
    return answer
