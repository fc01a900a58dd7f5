"""Questions of one's own: keys, labels and groups from a small table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.analysis.load.own_questions import read_questions
from vaeval_tasks.errors import InputError, UnknownNameError

OWN = """
- key: clear
  label: How clear?
  group: Sound
- {key: loud, label: "How loud?", group: Sound}
- {key: kind, group: Manner}
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "own.yaml").write_text(OWN)
    return tmp_path / "own.yaml"


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    rows = [
        f"p{p},{('x,y', 'y,z', 'x,z')[p % 3]},r{r},{q},{(p * p + r * k) % 5 - 2}"
        for p in range(12)
        for r in range(4)
        for k, q in enumerate(("kind", "How loud?", "clear"), 1)
    ]
    (tmp_path / "r.csv").write_text("prompt,a,b,rater,rubric,score\n" + "\n".join(rows) + "\n")
    return tmp_path / "r.csv"


def test_own_questions_have_their_order_and_their_labels_are_taken(own: Path, ratings: Path, invoke: Any) -> None:
    rows = invoke("rank", ratings, "--rubrics", own, "--ci", "iid", "--json").json["rows"]
    assert list(dict.fromkeys(row["rubric"] for row in rows)) == ["clear", "loud", "kind"]
    only = invoke("rank", ratings, "--rubrics", own, "--rubric", "loud", "--ci", "iid", "--json").json["rows"]
    assert {row["rubric"] for row in only} == {"loud"}
    assert "--rubrics names your own" in invoke("rank", ratings, "--ci", "iid").err


def test_own_groups_are_families(own: Path, ratings: Path, invoke: Any) -> None:
    found = invoke("agree", ratings, "--rubrics", own, "--splits", 10, "--json").json
    assert [row["rubric"] for row in found["rows"]] == ["Sound", "clear", "loud", "kind"]
    assert {row["rubric"]: row["family"] for row in found["split_half"]} == {
        "clear": "Sound", "loud": "Sound", "kind": "Manner"
    }  # fmt: skip
    clusters = invoke("cluster", ratings, "--rubrics", own, "--resamples", 20, "--halves", 4)
    assert "Sound" in clusters.out
    assert "Manner" in clusters.out


def test_a_key_that_is_misspelt_is_told(own: Path, tmp_path: Path, invoke: Any) -> None:
    (tmp_path / "m.csv").write_text("prompt,config,rater,rubric,score\np,x,r,claer,3\n")
    told = invoke("mos", tmp_path / "m.csv", "--rubrics", own).err
    assert "row 1, field 'rubric'" in told
    assert "Did you mean 'clear'? Known: clear, kind, loud." in told
    (tmp_path / "m.csv").write_text("prompt,config,rater,rubric,score\np,x,r,clear,3\n")
    rows = invoke("mos", tmp_path / "m.csv", "--rubrics", own, "--json").json["rows"]
    assert [(row["rubric"], row["mos"]) for row in rows] == [("clear", 3)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- {label: x}", "field 'key'"),
        ("- {key: x}\n- {key: X}", "row 2, field 'key': 'x' is the name of another question"),
        ("- {key: x, label: y}\n- {key: y}", "row 2, field 'key': 'y' is the name of another"),
        ("- {key: x, label: One}\n- {key: y, label: one}", "row 2, field 'label': 'one' is the name of another"),
        ("- {key: x, family: y}", "unknown field 'family'"),
        ("key: x", "must hold a list"),
    ],
)
def test_what_is_wrong_with_own_questions_is_told(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "q.yaml").write_text(text)
    with pytest.raises((InputError, UnknownNameError), match=said):
        read_questions(tmp_path / "q.yaml")
