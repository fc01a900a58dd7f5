"""What a judge finally says: 200 replies in the forms that models use, and none becomes a verdict that is not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks.services.verdicts import final_text, json_objects, read_label

LABELS = ("correct", "incorrect", "good", "bad")
OTHER = {"correct": "incorrect", "incorrect": "correct", "good": "bad", "bad": "good"}
REPLIES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "judge_replies.jsonl").read_text(encoding="utf-8").splitlines()
]
STATED = [r["reply"] for r in REPLIES if r["right"] != "none"]
NONE = [r["reply"] for r in REPLIES if r["right"] == "none"]


def label(text: str) -> str:
    return read_label(text, LABELS).label


def test_the_corpus_is_large_and_of_every_kind() -> None:
    assert len(REPLIES) >= 200
    assert len({r["reply"] for r in REPLIES}) == len(REPLIES)
    assert len(NONE) >= 90
    assert {r["right"] for r in REPLIES} == {*LABELS, "none"}


def test_no_verdict_is_invented_and_nearly_none_is_missed() -> None:
    found = [(r["reply"], r["right"], label(r["reply"]) or "none") for r in REPLIES]
    invented = [f for f in found if f[2] not in ("none", f[1])]
    missed = [f for f in found if f[2] == "none" != f[1]]
    assert invented == []
    # these cost one more request each, and say their verdict outside of the form that was asked for
    assert len(missed) <= 2, missed


@pytest.mark.parametrize("reply", NONE)
def test_what_is_no_verdict_is_none_in_other_clothes_either(reply: str) -> None:
    for dressed in (
        reply,
        f"Let me compare the two.\n\n{reply}",
        f"**{reply}**",
        f"<think>hm</think>\n{reply}",
        f"{reply}\n",
        reply.upper() if "<" not in reply and '"' not in reply and "\\" not in reply else reply,
    ):
        assert label(dressed) == "", dressed


@pytest.mark.parametrize("reply", STATED)
def test_thinking_that_has_no_end_makes_none_of_any_verdict(reply: str) -> None:
    assert label(f"{reply}\n<think>") == ""
    if not any(mark in reply for mark in ("think", "THINK", "channel", "reasoning", "thought", "assistantfinal")):
        assert label(f"<think>\n{reply}") == ""
        assert label(f"<think>\n{reply}\n</think>") == ""


@pytest.mark.parametrize("reply", STATED)
def test_two_verdicts_are_none(reply: str) -> None:
    if not (said := label(reply)):
        return
    other = OTHER[said].capitalize()
    assert label(f"{reply}\n\n[{other}]") in ("", OTHER[said])
    assert label(f"[{other}]\n\n[{said}]") == ""
    assert label(f"{reply} [{other}]") == ""
    assert label(f"{reply}\n\nor\n\n[{other}]") == ""


@given(st.text(), st.sampled_from(["Good", "Bad"]))
def test_thinking_before_a_verdict_never_turns_it(thought: str, verdict: str) -> None:
    assert label(f"{thought}\n\n[{verdict}]") in (verdict.lower(), "")
    assert label(f"<think>{thought}</think>\n\n[{verdict}]") == verdict.lower()


@given(st.text(alphabet=st.characters(exclude_characters="[]{}【】［］"), min_size=8))
def test_words_without_brackets_are_no_verdict(words: str) -> None:
    assert label(words) == "" or label(words) in words.lower()


@pytest.mark.parametrize("size", [5_000, 100_000])
def test_long_replies_are_read_in_one_pass(size: int) -> None:
    for piece in ("{", "[", "<think>", "[Good] ", '{"a":', "**", "\\boxed{", "Verdict: ", " \n\n", "* "):
        assert label(piece * (size // len(piece))) in ("", "good")


def test_json_objects_are_found_once_each_and_broken_ones_are_none() -> None:
    text = 'a {"x": {"y": 1}} b {"z": 2} {broken {"k": 1, "k": 2}'
    assert [content for _, _, content in json_objects(text)] == [{"x": {"y": 1}}, {"z": 2}]


def test_the_reasoning_goes_and_the_rest_stays() -> None:
    assert final_text("<think>a</think>  b ") == "b"
    assert final_text("a</think>b") == "b"
    assert final_text("no tags: a < b") == "no tags: a < b"
    assert final_text("<|channel|>analysis<|message|>a<|end|>") == ""
