"""The signs and names that every stage relies on."""

from __future__ import annotations

import pytest

from vaeval_tasks import rubrics
from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.store.schema import ModelConfig, Pair, PairKind


def test_config_id_is_a_slug_of_model_thinking_voice() -> None:
    config = ModelConfig(model="GPT-Realtime 2.1", provider="openai_realtime", thinking="xhigh", voice="Marin")
    assert config.config_id == "gpt-realtime-2.1/xhigh/marin"


def test_a_pair_names_the_smaller_configuration_first() -> None:
    Pair(pair_id="1", prompt_id="p", a="a", b="b")
    Pair(pair_id="2", prompt_id="p", a="a", b="a", kind=PairKind.trap)
    for a, b in (("b", "a"), ("a", "a")):
        with pytest.raises(InputError, match="a < b"):
            Pair(pair_id="3", prompt_id="p", a=a, b=b)


def test_the_twelve_rubrics() -> None:
    # counts from the published rubric table: 1 overall, 5 humanness, 6 technical quality, 3 of them gated
    families = [r.family for r in rubrics.RUBRICS]
    assert [families.count(f) for f in rubrics.FAMILIES] == [1, 5, 6]
    assert rubrics.GATED == ("emotional_appropriateness", "instruction_following", "reasoning")
    sections = [r.section for r in rubrics.RUBRICS]
    # Table 4: 4 in content, 5 in acoustic, 2 in interaction
    assert [sections.count(s) for s in rubrics.Section] == [4, 5, 2, 1]
    with pytest.raises(UnknownNameError, match="Did you mean 'reasoning'"):
        rubrics.rubric("resoning")
