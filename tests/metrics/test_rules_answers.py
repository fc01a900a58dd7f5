"""The offline rules on answers that were labelled before any rule saw them, and what must hold for any answer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from vaeval_tasks.metrics.backends import JudgeItem
from vaeval_tasks.metrics.content_judge_rules import RulesJudge
from vaeval_tasks.metrics.spoken_corrections import corrected

SETS = ("rules_blind", "rules_blind_2", "rules_blind_3", "rules_blind_4")


def entries(name):
    return yaml.safe_load((Path(__file__).parent / "data" / f"{name}.yaml").read_text(encoding="utf-8"))


ENTRIES = [entry for name in SETS for entry in entries(name)]
SAID = [entry for entry in ENTRIES if entry["kind"] not in ("safety", "rule", "yesno", "language", "open")]
RIGHT = [
    (entry, answer) for entry in SAID for answer in entry["right"] if not corrected(answer) and " but " not in answer
]
JUDGED = [(entry, answer) for entry in SAID for answer in (*entry["right"], *entry["wrong"])]


def verdict(answer, *references, question="", task="listening_general"):
    item = JudgeItem(task=task, question=question, answer=answer, references=references)
    return RulesJudge().judge([item])[0].value


def of(entry, answer):
    return verdict(answer, *entry["references"], question=entry["question"], task=entry["task"])


@pytest.mark.parametrize("name", SETS)
def test_false_verdicts_are_rare_and_most_answers_are_judged(name):
    """At most 2 % false; at least three quarters judged; nothing in another language is judged."""
    seen, false = Counter(), []
    for entry in entries(name):
        for label, value in (("right", 1), ("wrong", 0), ("unread", None)):
            for answer in entry.get(label) or []:
                found = of(entry, answer)
                seen["all"] += label != "unread"
                seen["judged"] += found is not None
                if found is not None and found != value:
                    false.append((entry["question"], answer, found))
    assert len(false) <= 0.02 * seen["judged"], false
    assert not [one for one in false if one[1] in [a for e in entries(name) for a in e.get("unread") or []]]
    assert seen["judged"] >= 0.75 * seen["all"]


ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()


def below_hundred(n, hyphen):
    return ONES[n] if n < 20 else TENS[n // 10] + (hyphen + ONES[n % 10] if n % 10 else "")


def in_words(n, *, hyphen="-", joined=" and "):
    if n >= 1_000_000:
        rest = n % 1_000_000
        return f"{in_words(n // 1_000_000)} million" + (" " + in_words(rest, hyphen=hyphen) if rest else "")
    if n >= 1000:
        rest = n % 1000
        tail = (joined if rest < 100 else " ") + in_words(rest, hyphen=hyphen, joined=joined) if rest else ""
        return f"{in_words(n // 1000, hyphen=hyphen, joined=joined)} thousand{tail}"
    if n >= 100:
        rest = n % 100
        return f"{ONES[n // 100]} hundred" + (joined + below_hundred(rest, hyphen) if rest else "")
    return below_hundred(n, hyphen)


def spellings(n):
    return [
        str(n), f"{n:,}", in_words(n), in_words(n, hyphen=" "), in_words(n, joined=" "),
        in_words(n, hyphen=" ", joined=" ").capitalize() + ".", f"It's {n}.", f"The answer is {in_words(n)}.",
    ]  # fmt: skip


@given(st.integers(0, 2_000_000), st.integers(0, 7), st.integers(0, 4))
@settings(max_examples=300, deadline=None)
def test_a_number_is_the_same_however_it_is_spelt(n, answered, referred):
    assert verdict(spellings(n)[answered], spellings(n)[referred], question="How many are there?") == 1


@given(st.integers(0, 20_000), st.integers(0, 20_000), st.integers(0, 7))
@settings(max_examples=300, deadline=None)
def test_another_number_is_never_right(n, other, answered):
    if n != other:
        assert verdict(spellings(other)[answered], str(n), question="How many are there?") != 1


def spoken_times(hour, minute):
    twelve = (hour - 1) % 12 + 1
    half = "in the morning" if hour < 12 else ("in the afternoon" if hour < 18 else "in the evening")
    yield f"{hour}:{minute:02d}"
    yield f"{twelve}:{minute:02d} {'am' if hour < 12 else 'p.m.'}"
    if minute >= 10:
        yield f"At {in_words(twelve)} {in_words(minute)} {half}."
    elif minute:
        yield f"{in_words(twelve)} oh {ONES[minute]}"
    else:
        yield f"{in_words(twelve)} o'clock"
    if minute == 30:
        yield f"half past {in_words(twelve)}"
    if minute == 15:
        yield f"a quarter past {in_words(twelve)} {half}"
    if minute == 45:
        yield f"quarter to {in_words(twelve % 12 + 1)}"


@pytest.mark.parametrize("said", ["four oh four", "4:04", "four", "four minutes"])
@pytest.mark.parametrize("time", ["12:04", "0:04"])
def test_minutes_alone_are_no_time_of_day(said, time):
    assert verdict(said, time, question="When does it begin?") != 1


@pytest.mark.parametrize("hour", ["three", "twelve"])
@pytest.mark.parametrize("minutes", ["oh one", "oh three", "o one", "thirty"])
def test_an_hour_with_minutes_is_not_the_full_hour(hour, minutes):
    full = {"three": "3:00", "twelve": "12:00"}[hour]
    assert verdict(f"{hour} {minutes}", full, question="When does it begin?") != 1


@given(st.integers(0, 23), st.integers(0, 59), st.data())
@settings(max_examples=300, deadline=None)
def test_a_time_is_the_same_however_it_is_said(hour, minute, data):
    said = data.draw(st.sampled_from(list(spoken_times(hour, minute))))
    assert verdict(said, f"{hour}:{minute:02d}", question="When does it begin?") == 1
    other = (hour * 60 + minute + data.draw(st.integers(1, 719))) % 1440
    assert verdict(said, f"{other // 60}:{other % 60:02d}", question="When does it begin?") != 1


@given(st.integers(1, 28), st.integers(1, 12), st.integers(1500, 2099), st.data())
@settings(max_examples=200, deadline=None)
def test_a_date_is_the_same_however_it_is_said(day, month, year, data):
    names = "January February March April May June July August September October November December".split()
    name, ending = names[month - 1], {1: "st", 2: "nd", 3: "rd"}.get(day % 10 if day not in (11, 12, 13) else 0, "th")
    forms = (f"{name} {day}, {year}", f"{day} {name} {year}", f"On the {day}{ending} of {name} {year}.")
    said, reference = data.draw(st.sampled_from(forms)), data.draw(st.sampled_from(forms))
    assert verdict(said, reference, question="When was it?") == 1
    other = names[(month + data.draw(st.integers(0, 10))) % 12]
    assert verdict(said, f"{day} {other} {year}", question="When was it?") == 0


def amounts(cents):
    dollars, rest = divmod(cents, 100)
    yield f"${cents / 100:,.2f}"
    yield f"{dollars} dollars and {rest} cents" if rest else f"{in_words(dollars)} dollars"
    yield (
        f"It costs {in_words(dollars)} dollars {in_words(rest)}." if rest >= 10 else f"It costs {cents / 100} dollars."
    )


@given(st.integers(200, 99_999), st.data())
@settings(max_examples=200, deadline=None)
def test_a_price_is_the_same_however_it_is_said(cents, data):
    said, reference = data.draw(st.sampled_from(list(amounts(cents)))), f"${cents / 100:.2f}"
    assert verdict(said, reference, question="How much is it?") == 1
    other = cents + data.draw(st.integers(1, 500))
    assert verdict(said, f"${other / 100:.2f}", question="How much is it?") != 1
    assert verdict(said, f"€{cents / 100:.2f}", question="How much is it?") != 1


NEGATIONS = (
    "It is not true that it's {}", "I don't think it's {}", "It isn't {}", "Not {}", "Definitely not {}",
    "Nobody would say {}", "It can't be {}", "It was never {}", "Anything but {}", "No, it's not {}", "{} is wrong.",
    "{}? No.", "Not {}, something else.", "It is neither {} nor anything like it", "I doubt that it's {}",
)  # fmt: skip


@given(st.sampled_from(RIGHT), st.sampled_from(NEGATIONS))
@settings(max_examples=600, deadline=None)
def test_a_negated_right_answer_is_never_right(case, negation):
    entry, answer = case
    bare = answer.rstrip(".!")
    assert of(entry, negation.format(bare)) != 1


ASIDES = ("Thank you for asking.", "Let me know if you need anything else.", "Good question!", "Happy to help.")


@given(st.sampled_from(JUDGED), st.sampled_from(ASIDES), st.booleans())
@settings(max_examples=600, deadline=None)
def test_an_aside_before_or_after_turns_no_verdict(case, aside, before):
    entry, answer = case
    whole = answer if answer.endswith((".", "!", "?")) else answer + "."
    plain, said = of(entry, whole), of(entry, f"{aside} {whole}" if before else f"{whole} {aside}")
    assert said is None or plain is None or said == plain


@given(st.sampled_from(RIGHT), st.sampled_from(RIGHT))
@settings(max_examples=300, deadline=None)
def test_taking_an_answer_back_for_that_of_another_question_is_never_right(case, other):
    (entry, answer), (_, instead) = case, other
    if of(entry, instead) != 1:
        assert of(entry, f"{answer.rstrip('.!')}. No wait, {instead}") != 1


PIECES = (
    "0", "1", "-2", "1/2", "3/0", "½", "7:45", "25:99", "1,000", "007", "K7", "one", "twenty", "hundred", "million",
    "oh", "double", "half", "quarter", "third", "past", "to", "am", "in the morning", "o'clock", "minutes", "hours",
    "dollars", "cents", "£", "$", "€", "%", "°F", "square", "km/h", "per hour", "may", "october", "31st", "of", "a",
    "the", "and", "or", "not", "no", "but", "no wait", "I mean", "option", "bee", "A.", "B)", "yes", "Paris", "who",
    "is", "over", "point", "minus", "²", "'", "\u2019s", ",", ".", "?", ";", "\n", "(", "\u4e09", "\u00e9",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join) | st.text(max_size=20)
TASKS = st.sampled_from(["listening_general", "speaking_safety", "speaking_reasoning", "viewing_multi_discipline"])


@given(TEXTS, TEXTS, TEXTS, TASKS)
@settings(max_examples=1500, deadline=None)
def test_no_answer_reference_or_question_breaks_a_rule(question, reference, answer, task):
    assert verdict(answer, reference, question=question, task=task) in (0, 1, None)
