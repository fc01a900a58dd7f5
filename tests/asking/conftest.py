from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.fixtures import ask, authority, config, environment, make_speech, prompt, serve, short_prompt

from vaeval_tasks.audio import write_wav
from vaeval_tasks.files import sha256_file
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Prompt

__all__ = ["ask", "authority", "config", "environment", "make_speech", "prompt", "serve", "short_prompt"]


@pytest.fixture
def make_run(make_speech) -> Callable[..., RunDir]:
    """Make a run folder with so many prompts of so many seconds."""

    def make(root: Path, count: int, seconds: float = 0.25) -> RunDir:
        folder = RunDir(root)
        prompts = []
        for number in range(count):
            path = Path("audio/prompts") / f"p{number:04}.wav"
            write_wav(root / path, make_speech(seconds, seed=number))
            prompts.append(
                Prompt(
                    prompt_id=f"p{number:04}",
                    category="chat",
                    difficulty="L1",
                    path=str(path),
                    sha256=sha256_file(root / path),
                    sampling_rate=16000,
                    seconds=seconds,
                )
            )
        folder.write("prompts", prompts, made_by="test")
        return folder

    return make
