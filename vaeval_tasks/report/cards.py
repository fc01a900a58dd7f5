"""Configuration cards, and the sample player: only prompts that are marked public are ever put into the page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from vaeval_tasks.audio import mp3_uri, read_audio
from vaeval_tasks.report.records import ConfigCard, Sample, SampleAnswer
from vaeval_tasks.store.answers import study_answers
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ModelConfig, Prompt, Response

__all__ = ["config_cards", "samples"]

_ANSWERS = 6
"""Answers per sample prompt, one configuration of each model in the order of the board."""


def _counts(responses: Iterable[Response]) -> str:
    found = Counter(r.status.value for r in responses)
    return ", ".join(f"{n} {status}" for status, n in sorted(found.items(), key=lambda item: -item[1]))


def config_cards(
    configs: Mapping[str, ModelConfig], responses: Sequence[Response], order: Sequence[str]
) -> tuple[ConfigCard, ...]:
    """Return a card per configuration, the models in the order of the board."""
    place = {model: i for i, model in enumerate(order)}
    ordered = sorted(configs.items(), key=lambda item: (place.get(item[1].model, len(place)), item[0]))
    return tuple(
        ConfigCard(
            config_id=config_id,
            model=c.model,
            voice=c.voice,
            thinking=c.thinking,
            provider=c.provider,
            system_prompt=c.system_prompt,
            params=json.dumps(c.params, indent=1, ensure_ascii=False, sort_keys=True) if c.params else "",
            counts=_counts(r for r in responses if r.config_id == config_id and not r.task),
        )
        for config_id, c in ordered
    )


def _sample(run: RunDir, prompt: Prompt, answers: Sequence[tuple[str, Response]]) -> Sample:
    return Sample(
        prompt_id=prompt.prompt_id,
        about=", ".join(x for x in (prompt.category, prompt.difficulty, prompt.condition.value) if x),
        audio=mp3_uri(read_audio(run.root / prompt.path)),
        text=prompt.script,
        answers=tuple(
            SampleAnswer(label=label, audio=mp3_uri(read_audio(run.root / r.path)), text=r.text) for label, r in answers
        ),
    )


def samples(
    run: RunDir,
    prompts: Sequence[Prompt],
    responses: Sequence[Response],
    configs: Mapping[str, ModelConfig],
    order: Sequence[str],
    most: int,
) -> tuple[Sample, ...]:
    """Return up to ``most`` public prompts with an answer of each of the best models.

    Raises:
        InputError: a file cannot be read as sound.
    """
    public = [p for p in prompts if p.public and p.path and (run.root / p.path).is_file()]
    answers = study_answers(responses)
    out = []
    for prompt in public[:most]:
        playable = {
            config_id: response
            for (prompt_id, config_id), response in answers.items()
            if prompt_id == prompt.prompt_id and response.sound(run.root) is not None
        }
        first: dict[str, tuple[str, Response]] = {}
        for config_id in sorted(playable):
            config = configs.get(config_id)
            model, label = (config.model, f"{config.model} ({config.voice})") if config else (config_id, config_id)
            first.setdefault(model, (label, playable[config_id]))
        chosen = sorted(first, key=lambda model: order.index(model) if model in order else len(order))
        out.append(_sample(run, prompt, [first[model] for model in chosen[:_ANSWERS]]))
    return tuple(out)
