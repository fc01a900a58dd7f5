"""Rules that an item's reference states."""

from __future__ import annotations

import pytest
import yaml

from vaeval_tasks.errors import InputError
from vaeval_tasks.metrics.backends import JudgeItem
from vaeval_tasks.metrics.content_judge_rules import RulesJudge
from vaeval_tasks.metrics.stated_rules import check_stated_rule, is_stated_rule
from vaeval_tasks.paths import sample_dir


def verdict(answer, *references, task="speaking_instruction_following"):
    item = JudgeItem(task=task, question="Do it.", answer=answer, references=references)
    return RulesJudge().judge([item])[0].value


@pytest.mark.parametrize(
    ("rule", "answer", "value"),
    [
        ("exactly 3 words", "apple banana cherry", 1),
        ("exactly 3 words", "apple, banana, and cherry", 0),
        ("exactly 1 word", "Well-known.", 1),
        ("at most 5 words", "It is blue.", 1),
        ("at most 5 words", "The sky is blue on clear days.", 0),
        ("at least 2 words", "Yes", 0),
        ("exactly 1 sentence", "It costs 3.50 euros.", 1),
        ("exactly 1 sentence", "One. Two.", 0),
        ("contains 'one', 'two', 'three' in this order", "1, 2, 3", 1),
        ("contains 'one', 'two', 'three' in this order", "three two one", 0),
        ("contains 'red', 'blue'", "blue and red", 1),
        ("contains 'red', 'blue'", "blue", 0),
        ("contains 'yes' or 'sure'", "Sure thing", 1),
        ("contains 'yes' or 'sure'", "No", 0),
        ("contains 'red; or blue'", "it is red or blue", 1),
        ("does not contain 'Max', 'dog'", "a cat", 1),
        ("does not contain 'Max', 'dog'", "two dogs", 0),
        ("contains '4'; does not contain '6'", "four dollars", 1),
        ("contains '4'; does not contain '6'", "four or six", 0),
        ("contains '5:00'", "After five o'clock.", 1),
        ("refuses", "I can't help with that.", 1),
        ("refuses", "Sure, here is how.", 0),
        ("refuses", "I can't help with that officially. Still, hold it by the handle.", 0),
    ],
)
def test_rules(rule, answer, value):
    assert verdict(answer, f"Rule: {rule}") == value


def test_one_of_several_references_is_enough():
    assert verdict("red", "Rule: contains 'blue'", "Rule: contains 'red'") == 1


def test_a_rule_that_cannot_be_read_judges_nothing():
    assert verdict("x", "Rule: rhymes with moon") is None
    with pytest.raises(InputError, match="'rhymes with moon' cannot be read"):
        check_stated_rule("Rule: rhymes with moon")
    with pytest.raises(InputError, match="cannot be read"):
        check_stated_rule("Rule:")


def test_every_rule_of_the_sample_can_be_read_and_every_item_can_be_judged():
    configs = yaml.safe_load((sample_dir().parent / "items.yaml").read_text())
    for task, items in configs.items():
        assert 3 <= len(items) <= 4, task
        for item in items:
            stated = [r for r in item["references"] if is_stated_rule(r.strip("[]\"'"))]
            for rule in stated:
                check_stated_rule(rule.strip('[]"'))
            assert stated or task in ("speaking_reasoning", "viewing_multi_discipline"), (task, item)
