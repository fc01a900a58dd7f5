"""A small prompt set of the sample's spoken questions, for a preference study without any recording."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from vaeval_tasks.audio import read_audio
from vaeval_tasks.files import sha256_bytes, write_bytes
from vaeval_tasks.paths import sample_dir
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Condition, Prompt

__all__ = ["write_prompts"]

# sample config: (category of the study, gates that apply, condition it was recorded in)
SOURCES: dict[str, tuple[str, tuple[str, ...], Condition]] = {
    "speaking_assistant": ("information", (), Condition.clean),
    "speaking_emotion": ("emotional talk", ("emotional_appropriateness",), Condition.clean),
    "speaking_instruction_following": ("instructions", ("instruction_following",), Condition.clean),
    "speaking_reasoning": ("reasoning", ("reasoning",), Condition.clean),
}


def write_prompts(run: RunDir, *, each: int = 2) -> list[Prompt]:
    """Write the sample's single-turn spoken questions as the prompts of a study; all are public.

    Args:
        run: the run folder.
        each: how many of each of four sample configs.
    """
    prompts = [prompt for config in SOURCES for prompt in _prompts(run.root, config)[:each]]
    run.write("prompts", prompts, made_by="vaeval demo")
    return prompts


def _prompts(root: Path, config: str) -> list[Prompt]:
    category, gates, condition = SOURCES[config]
    out = []
    for index, row in enumerate(pq.read_table(sample_dir() / "speaking" / f"test_{config}.parquet").to_pylist()):
        prompt_id = f"{config.removeprefix('speaking_').replace('_', '-')}-{index}"
        data, path = row["user_audio_0"], f"audio/prompts/{prompt_id}.wav"
        write_bytes(root / path, data)
        clip = read_audio(data)
        out.append(
            Prompt(
                prompt_id=prompt_id,
                category=category,
                difficulty=f"L{1 + 2 * index}" if condition is Condition.clean else "",
                condition=condition,
                gates=gates,
                script=row["extra"]["user_audio_transcripts"][0],
                path=path,
                sha256=sha256_bytes(data),
                sampling_rate=clip.rate,
                seconds=clip.seconds,
                public=True,
            )
        )
    return out
