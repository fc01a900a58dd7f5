"""The sample's spoken questions as the prompts of a small study."""

from __future__ import annotations

from pathlib import Path

from vaeval_tasks.audio import read_audio
from vaeval_tasks.sample.prompt_set import write_prompts
from vaeval_tasks.store.check import check
from vaeval_tasks.store.run import RunDir


def test_eight_public_prompts_with_sound(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    prompts = write_prompts(run)
    assert run.read("prompts") == prompts
    assert len(prompts) == 8
    assert all(p.public and p.script for p in prompts)
    assert {g for p in prompts for g in p.gates} == {"emotional_appropriateness", "instruction_following", "reasoning"}
    for prompt in prompts:
        assert read_audio(tmp_path / prompt.path).seconds == prompt.seconds > 0.5
    assert check(run) == []
