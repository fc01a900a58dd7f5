import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaeval_tasks.errors import InputError, UnknownNameError
from vaeval_tasks.metrics import content_judge_prompts
from vaeval_tasks.metrics.backends import JudgeItem
from vaeval_tasks.metrics.content_judge_prompts import FAMILIES, VerdictWords, family, load_prompts, parse_verdict

OWN = content_judge_prompts.Path(content_judge_prompts.__file__).parent / "prompts"


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(OWN, tmp_path / "prompts")


def test_there_are_13_tasks_in_the_papers_families():
    assert len(FAMILIES) == 13
    correct = {task for task, kind in FAMILIES.items() if kind is VerdictWords.correct}
    assert correct == {
        "listening_general",
        "listening_music",
        "listening_sound",
        "listening_speech",
        "speaking_reasoning",
        "viewing_multi_discipline",
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[Correct]", 1.0),
        ("[incorrect]", 0.0),
        ("It could be [Correct]. But no: [INCORRECT]", None),
        ("First [Incorrect], then again [Correct].", None),
        ("**[Correct]**", 1.0),
        ("[ Correct ]", 1.0),
        ("[**Correct**]", 1.0),
        ("<think>[Incorrect]?</think>\nFine.\n[Correct]", 1.0),
        ("[Good]", None),  # the other family's verdict is none
        ("Correct", 1.0),
        ("It is Correct", None),
        ("", None),
        ("[correctly]", None),
    ],
)
def test_one_clear_verdict_at_the_end_counts(text, value):
    assert parse_verdict(text, VerdictWords.correct).value == value


def test_without_a_family_both_count():
    assert parse_verdict("[Good]").value == 1.0
    assert parse_verdict("[Incorrect]").value == 0.0
    assert parse_verdict("[Good] [Incorrect]").value is None


def test_a_missing_verdict_says_what_was_read():
    assert (
        parse_verdict("I am not sure.", VerdictWords.good).detail
        == "no verdict in the judge's answer (it names none): I am not sure."
    )


@given(st.text(), st.sampled_from(["Good", "Bad"]))
def test_thinking_before_the_verdict_never_turns_it(thought, verdict):
    assert parse_verdict(f"{thought}\n[{verdict}]", VerdictWords.good).value in (None, float(verdict == "Good"))


@pytest.mark.parametrize("task", FAMILIES)
def test_every_prompt_holds_what_its_task_needs(task):
    item = JudgeItem(
        task=task,
        question="QQ",
        answer="AA",
        references=("R1", "R2"),
        system_prompt="SS",
        user_emotion="UU",
        assistant_emotions="EE",
    )
    text = load_prompts().render(item)
    needed = {"QQ", "AA"}
    needed |= {"R1\nR2"} if family(task) is VerdictWords.correct or task == "speaking_multi_round" else set()
    needed |= {"SS", "R1\nR2"} if task == "speaking_roleplay" else set()
    needed |= {"UU", "EE"} if task == "speaking_emotion" else set()
    assert all(part in text for part in needed)
    assert "{" not in text


def test_empty_fields_read_not_given_and_braces_in_answers_stay():
    text = load_prompts().render(JudgeItem(task="speaking_emotion", question="{answer}", answer='{"a": 1}'))
    assert '{"a": 1}' in text
    assert "<user_said>\n{answer}\n</user_said>" in text
    assert "<assistant_emotions>\n(not given)\n</assistant_emotions>" in text


def test_the_checksum_follows_the_text(folder):
    before = load_prompts(folder).sha256
    assert before == load_prompts().sha256
    path = folder / "listening_music.txt"
    path.write_text(path.read_text() + "Be strict.\n")
    assert load_prompts(folder).sha256 != before


def test_another_set_may_hold_literal_braces(folder):
    (folder / "listening_music.txt").write_text('{"a": 1} {answer} [Correct] or [Incorrect]')
    assert (
        load_prompts(folder).render(JudgeItem(task="listening_music", question="", answer="x")).startswith('{"a": 1} x')
    )


def break_placeholder(folder):
    (folder / "listening_music.txt").write_text("{anwser} {answer} [Correct] [Incorrect]")
    return r"listening_music.txt: unknown placeholder 'anwser'. Did you mean 'answer'\?"


def break_task(folder):
    (folder / "speaking_safety.txt").unlink()
    return "speaking_safety.txt: the judge prompt of this task is missing"


def break_answer(folder):
    (folder / "listening_music.txt").write_text("[Correct] [Incorrect]")
    return r"listening_music.txt: has no \{answer\} placeholder"


def break_verdict(folder):
    (folder / "speaking_safety.txt").write_text("{answer} [Good]")
    return r"speaking_safety.txt: never names the verdict \[Bad\]"


def break_name(folder):
    (folder / "listening_musik.txt").write_text("x")
    return "listening_musik.txt: unknown task 'listening_musik'. Did you mean 'listening_music'"


def break_encoding(folder):
    (folder / "listening_music.txt").write_bytes(b"\xff\xfe\x00{answer}")
    return "listening_music.txt: is not UTF-8"


@pytest.mark.parametrize(
    "breaks", [break_placeholder, break_task, break_answer, break_verdict, break_name, break_encoding]
)
def test_a_broken_set_is_refused(folder, breaks):
    message = breaks(folder)
    with pytest.raises(InputError, match=message):
        load_prompts(folder)


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such folder of judge prompts"):
        load_prompts(tmp_path / "none")


def test_an_unknown_task_is_named():
    with pytest.raises(UnknownNameError, match="Did you mean 'listening_music'"):
        family("listening_musics")
