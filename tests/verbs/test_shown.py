"""What a prompt and a notebook show of a result, and its rows as frames."""

from __future__ import annotations

import builtins
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from verbs.conftest import COLUMNS, OPINIONS, RATINGS, WORDS

import vaeval_tasks as vaeval
from vaeval_tasks.errors import MissingDependencyError, UnknownNameError

EVIL = "<script>alert(1)</script>\n\x1b[31m\"'&"


class Tags(HTMLParser):
    """The elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def renamed(name: str) -> pd.DataFrame:
    return pd.DataFrame(RATINGS).replace({"first": {"x": name}, "second": {"x": name}})


def results(name: str) -> dict[str, Any]:
    frame = renamed(name)
    how: dict[str, Any] = {"columns": COLUMNS, "scores": WORDS}
    opinions = pd.DataFrame(OPINIONS).replace({"config": {"x": name}})
    return {
        "rank": vaeval.rank(frame, ci="sandwich", difference=(name.strip(), "y"), side=True, **how),
        "agree": vaeval.agree(frame, splits=20, **how),
        "mos": vaeval.mos(opinions, resamples=20),
        "load": vaeval.load(frame, **how),
    }


@pytest.mark.parametrize("name", ["x", EVIL, "long " * 60, "界" * 50])
def test_a_repr_fits_a_terminal(name: str) -> None:
    for verb, found in results(name).items():
        text = repr(found)
        assert 3 < len(text.splitlines()) < 40, verb
        assert all(len(line) <= 80 for line in text.splitlines()), text
        assert "\x1b" not in text
        assert str(found) == text


def test_many_rows_are_counted_not_printed() -> None:
    rows = [{"prompt": "p", "config": f"c{i:03}", "rater": 1, "score": 3} for i in range(300)]
    found = vaeval.mos(rows, resamples=20)
    assert "… and 280 more rows" in repr(found)
    assert found._repr_html_().count("<tr>") == 201
    assert len(found.to_pandas()) == 300


def test_html_shows_names_as_text() -> None:
    for verb, found in results(EVIL).items():
        tags = Tags(found._repr_html_())
        assert {tag for tag, _ in tags.seen} <= {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"}, (
            verb
        )
        if verb != "agree":  # which names no system
            assert "<script>alert(1)</script>" in tags.text


def test_a_board_is_shown_apart_from_the_notebook(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text('rubric,model,cmos_elo,cmos_elo_lo,cmos_elo_hi\noverall,"<script>x</script>",1000,990,1010\n')
    page = vaeval.board(path, title='"><script>alert(2)</script>')
    ((tag, attributes),) = Tags(page._repr_html_()).seen
    assert tag == "iframe"
    assert attributes["srcdoc"] == page.html
    assert "allow-same-origin" not in str(attributes["sandbox"])
    assert "<script>alert(2)" not in page.html
    assert all(len(line) <= 80 for line in repr(page).splitlines())


def test_frames_hold_the_rows_of_the_json() -> None:
    board = results("x")["rank"]
    frame = board.to_pandas()
    assert list(frame.columns) == list(board.to_json()["rows"][0])
    assert frame["elo"].tolist() == [row.elo for row in board.rows]
    assert frame["low"].dtype == np.float64
    assert board.to_arrow().to_pylist() == board.to_json()["rows"]
    assert board.to_pandas("differences").loc[0, "a"] == "x"
    assert len(board.to_pandas("side")) == 1
    with pytest.raises(UnknownNameError, match="Did you mean 'differences'"):
        board.to_pandas("difference")


def test_what_could_not_be_computed_is_nan() -> None:
    frame = vaeval.mos([row for row in OPINIONS if row["rater"] == 1], resamples=20).to_pandas()
    assert frame["low"].dtype == np.float64
    assert frame["low"].isna().all()


def test_without_pandas_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    found = results("x")["rank"]
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match="pip install pandas"):
        found.to_pandas()
