"""Scales of scores: declared, found and said, binned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaeval_tasks.analysis.load.scale import COMPARED, RATED, binned, found_scale, parse_scale
from vaeval_tasks.errors import InputError

SEVEN = [(-3, "x", "y"), (2, "x", "y"), (1, "x", "y"), (0, "y", "x"), (3, "y", "x"), (-1, "x", "y"), (-2, "x", "y")] * 2


def compared(path: Path, score: Any) -> Path:
    rows = [f"p{i},{a},{b},r{i % 3},{score(s)}" for i, (s, a, b) in enumerate(SEVEN)]
    path.write_text("prompt,a,b,rater,score\n" + "\n".join(rows) + "\n")
    return path


def elos(invoke: Any, path: Path, *options: object) -> list[tuple[str, float]]:
    rows = invoke("rank", path, "--ci", "iid", *options, "--json").json["rows"]
    return [(row["entity"], row["elo"], row["low"]) for row in rows]


@pytest.mark.parametrize(
    ("score", "scale"),
    [
        (lambda s: s + 4, "1..7"),
        (lambda s: 4 - s, "7..1"),
        (lambda s: s / 2, "-1.5..1.5:0.5"),
        (lambda s: 50 + 10 * s, "20..80:10"),
        (lambda s: f"{s / 2}".replace(".", ","), "-1.5..1.5:0.5"),
    ],
)
def test_one_scale_is_as_good_as_another(score: Any, scale: str, tmp_path: Path, invoke: Any) -> None:
    path = compared(tmp_path / "r.csv", lambda s: f'"{score(s)}"')
    wanted = elos(invoke, compared(tmp_path / "w.csv", str))
    for found, other in zip(elos(invoke, path, "--scale", scale), wanted, strict=True):
        assert found == pytest.approx(other)
    fractional = elos(invoke, path, "--scale", scale, "--engine", "fractional")
    assert fractional[0][1] == pytest.approx(elos(invoke, tmp_path / "w.csv", "--engine", "fractional")[0][1])


@pytest.mark.parametrize(
    ("values", "usual", "scale"),
    [
        ([-3, 0, 3, 1], COMPARED, "-3..3"),
        ([1, 5, 4, 3], COMPARED, "1..5"),
        ([1, 7, 4, 6], COMPARED, "1..7"),
        ([0, 100, 55, 20], COMPARED, "0..100"),
        ([0, 0.5, 1, 0.5], COMPARED, "0..1:0.5"),
        ([-5, 4, 0], COMPARED, "-5..5"),
        ([-1.5, 0.5, 1, 0], COMPARED, "-2..2:0.5"),
        ([1, 2, 5], RATED, "1..5"),
        ([1.5, 2.5, 2, 5], RATED, "1..5:0.5"),
        ([1.5, 2, 5], RATED, "1..5"),  # a slip
        ([7, 6, 1], RATED, "1..7"),
        ([0, 77, 100], RATED, "0..100"),
        ([0, 7, 10], RATED, "0..10"),
        ([1, 2, 3, 4, 5, 4, 3, 2, 1, 2, 3, 4, 30], RATED, "1..5"),  # a slip
        ([1, 2, 333, 1000], RATED, "1..5"),  # no scale that is known
    ],
)
def test_a_scale_is_found_and_said(values: list[float], usual: Any, scale: str) -> None:
    found, note = found_scale(np.array(values, dtype=float), usual=usual)
    assert str(found) == scale
    assert bool(note) == (found != usual)


def test_what_is_found_is_in_the_notes_and_a_slip_stays_an_error(tmp_path: Path, invoke: Any) -> None:
    path = compared(tmp_path / "r.csv", lambda s: s + 4)
    notes = invoke("rank", path, "--ci", "iid", "--json").json["notes"]
    assert any("on 1..7: 4 is no preference, more prefers a; --scale 7..1 turns it round" in note for note in notes)
    refused = invoke("rank", path, "--scale", "1..6").err
    assert "row 5, field 'score': 7 is out of range; scores are whole numbers from 1 to 6; --scale" in refused
    text = (tmp_path / "r.csv").read_text().replace(",7\n", ",x\n")
    path.write_text(text)
    assert "'x' is not a number" in invoke("rank", path).err


@pytest.mark.parametrize("text", ["", "1-5", "1..", "3..3", "1..5:0.3", "0..1:0", "0..100000", "a..b"])
def test_what_is_no_scale(text: str) -> None:
    with pytest.raises(InputError, match="--scale"):
        parse_scale(text)


def test_opinions_on_any_scale(tmp_path: Path, invoke: Any) -> None:
    def mos(score: Any, *options: object) -> dict[str, Any]:
        rows = [f"p{i % 4},{c},r{i % 3},{score(1 + (i + j) % 5)}" for i in range(12) for j, c in enumerate("xy")]
        (tmp_path / "m.csv").write_text("prompt,config,rater,score\n" + "\n".join(rows) + "\n")
        return invoke("mos", tmp_path / "m.csv", "--resamples", 50, "--json", *options).json

    usual = mos(str)["rows"]
    half = mos(lambda s: s / 2 + 0.5, "--scale", "1..3:0.5")["rows"]
    hundred = mos(lambda s: s * 20)
    turned = mos(lambda s: 6 - s, "--scale", "5..1")["rows"]
    for one, other, big, back in zip(usual, half, hundred["rows"], turned, strict=True):
        assert other["mos"] == pytest.approx(one["mos"] / 2 + 0.5)
        assert other["low"] == pytest.approx(one["low"] / 2 + 0.5)
        assert big["mos"] == pytest.approx(one["mos"] * 20)
        assert back == one
        assert other["share_1.5"] == one["share_2"]
        assert not [name for name in big if name.startswith("share")]
    assert hundred["notes"] == ["scores are taken to be on 0..100; --scale declares another"]


def test_bins_are_of_equal_width_around_the_middle() -> None:
    codes, reach = binned(np.arange(-50, 51), 50, 5)
    assert reach == 2
    assert np.bincount(codes + 2).tolist() == [20, 20, 21, 20, 20]
    assert np.array_equal(codes, -codes[::-1])
    assert binned(np.array([-1, 1]), 1, 7)[1] == 1
    with pytest.raises(InputError, match="must be odd"):
        binned(codes, 50, 4)


def test_bins_on_the_command_line(tmp_path: Path, invoke: Any) -> None:
    path = compared(tmp_path / "r.csv", lambda s: 50 + 16 * s)
    fit = invoke("rank", path, "--ci", "iid", "--scale", "0..100", "--bins", 3, "--json").json["fit"]
    assert len(fit["thresholds"]) == 1
