"""The three preference modules as their users load them: by path, without a network, from their own folder."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaeval_tasks import paths
from vaeval_tasks.errors import EstimationError, InputError, UnknownNameError
from vaeval_tasks.hosts.evaluate import preference as hub
from vaeval_tasks.hosts.evaluate import spaces as publish

KINDS = {"cmos_elo": "comparison", "mos": "measurement", "rater_agreement": "measurement"}


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("hf")
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("preference_probe.py")), str(paths.metrics_dir())],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"HF_HOME": str(home), "HF_MODULES_CACHE": str(home / "modules")},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", KINDS)
class TestModule:
    def test_results_are_flat_plain_values(self, probed: dict[str, Any], name: str) -> None:
        result = probed[name]["result"]
        assert {name, "n", "n_skipped", "skipped", "signature", "reason"} <= set(result)
        assert set(probed[name]["types"]) <= {"float", "int", "str", "list"}
        assert result["signature"].startswith("vaeval|")
        assert len(result["skipped"]) == result["n_skipped"]

    def test_name_and_kind(self, probed: dict[str, Any], name: str) -> None:
        assert probed[name]["name"] == name
        assert probed[name]["type"] == KINDS[name]

    def test_single_rows_give_the_same(self, probed: dict[str, Any], name: str) -> None:
        assert probed[name]["single"]

    def test_no_rows_have_a_defined_result(self, probed: dict[str, Any], name: str) -> None:
        empty = probed[name]["empty"]
        assert not empty[name]
        assert (empty["n"], empty["n_skipped"], empty["reason"]) == (0, 0, "no ratings")

    def test_bad_rows_are_refused_with_their_place(self, probed: dict[str, Any], name: str) -> None:
        assert "field 'rater': must be a list, got str" in probed[name]["bare"]
        for cell, message in probed[name]["late"].items():
            field = cell.split()[0]
            assert message.startswith(f"row 2, field {field!r}: "), (cell, message)
        assert "differ in length" in probed[name]["length"]
        assert "field 'score': is missing" in probed[name]["missing"]

    def test_unknown_options_are_refused(self, probed: dict[str, Any], name: str) -> None:
        assert "unknown option of evaluate.load 'model_pth'" in probed[name]["init"]
        assert "no_such_option" in probed[name]["option"]

    def test_its_examples_hold(self, probed: dict[str, Any], name: str) -> None:
        failed, attempted = probed[name]["doctest"]
        assert failed == 0
        assert attempted > 1

    def test_the_script_keeps_the_rules_of_the_import_scanner(self, name: str) -> None:
        text = (paths.metrics_dir() / name / f"{name}.py").read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 120
        imports = [line for line in text.splitlines() if re.match(r"(import|from)\s", line)]
        assert all("#" not in line and "," not in line and not line.startswith("from .") for line in imports)
        assert "from evaluate import" not in text
        assert "'''" not in text
        assert {line.split()[1].partition(".")[0] for line in imports} == {"datasets", "evaluate", "vaeval_tasks"}
        tree = ast.parse(text)
        assert len([node for node in tree.body if isinstance(node, ast.ClassDef)]) == 1
        (compute,) = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "_compute"]
        assert compute.args.kwarg is None

    def test_the_card(self, name: str) -> None:
        folder = paths.metrics_dir() / name
        publish.check_card(folder)
        body = (folder / "README.md").read_text(encoding="utf-8")
        kind = re.search(r"^# (\w+) Card for ", body, re.MULTILINE)[1]
        for section in (f"{kind} Description", "How to Use", "Inputs", "Output Values", "Values from Popular Papers",
                        "Examples", "Limitations and Bias", "Citation", "Further References"):  # fmt: skip
            assert re.search(rf"^##+ {section}$", body, re.MULTILINE), section
        assert "higher is better**" in body

    def test_the_code_of_the_card_runs(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        body = (paths.metrics_dir() / name / "README.md").read_text(encoding="utf-8")
        blocks = re.findall(r"```python\n(.*?)```", body, re.DOTALL)
        assert len(blocks) >= 2
        for block in blocks:
            exec(compile(block, f"{name}/README.md", "exec"), {})

    def test_the_demo_page_answers_its_example(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        from gradio_client import Client
        from gradio_client.exceptions import AppError

        monkeypatch.setenv("GRADIO_ANALYTICS_ENABLED", "False")
        page = runpy.run_path(str(paths.metrics_dir() / name / "app.py"))
        _, url, _ = page["demo"].launch(prevent_thread_lock=True, quiet=True, server_name="127.0.0.1", show_error=True)
        try:
            client = Client(url, verbose=False)
            answer = client.predict(page["EXAMPLE"], api_name="/score")
            with pytest.raises(AppError, match="score"):
                client.predict(page["EXAMPLE"].replace(",1", ",oops").replace(",5", ",oops"), api_name="/score")
        finally:
            page["demo"].close()
        assert answer[name]
        assert answer["n"] == len(page["EXAMPLE"].splitlines()) - 1


def test_elo_of_the_module_is_that_of_the_board(probed: dict[str, Any]) -> None:
    result = probed["cmos_elo"]["result"]
    assert sum(result["cmos_elo"]) / 3 == pytest.approx(1000)
    assert result["systems"][0] == "x"
    assert all(
        low < elo < high for low, elo, high in zip(result["low"], result["cmos_elo"], result["high"], strict=True)
    )


def test_values_of_mos_and_agreement(probed: dict[str, Any]) -> None:
    assert probed["mos"]["result"]["scores"] == [4.5, 2.5]
    assert probed["mos"]["result"]["mos"] == 3.5
    agreement = probed["rater_agreement"]["result"]
    # units (2, 1), (-1, -2): Do = mean of 1 and 1 = 1; De = mean squared difference of 2 1 -1 -2 over 6 pairs
    # = (1 + 9 + 16 + 4 + 9 + 1) / 6 = 40 / 6; alpha = 1 - 6 / 40
    assert agreement["rater_agreement"] == pytest.approx(1 - 6 / 40)
    # mean squares: between 2 * 2 * 1.5^2 / 1 = 9, within (.25 * 4) / 2 = .5; (9 - .5) / (9 + .5)
    assert agreement["icc1"] == pytest.approx(8.5 / 9.5)
    assert agreement["skipped"] == ["row 5: the only rating of unit '3'"]


ROWS = {"a": ["x", "x"], "b": ["y", "y"], "score": [3, 3], "rater": ["", ""], "prompt": ["", ""]}


def test_what_cannot_be_estimated_is_said() -> None:
    with pytest.raises(EstimationError, match="x"):
        hub.cmos_elo_result(ROWS)
    assert hub.cmos_elo_result(ROWS, ridge=0.5)["systems"] == ["x", "y"]
    with pytest.raises(UnknownNameError, match="Did you mean 'ordinal'"):
        hub.cmos_elo_result(ROWS, engine="ordnal")
    with pytest.raises(UnknownNameError, match="sandwich"):
        hub.cmos_elo_result(ROWS, ci="none")
    with pytest.raises(InputError, match="row 2, field 'b': a and b are both 'x'"):
        hub.cmos_elo_result({**ROWS, "b": ["y", "x"]})


def test_agreement_needs_a_symmetric_scale_to_be_mirrored() -> None:
    rows = {"unit": ["1", "1"], "rater": ["r", "s"], "score": [1, 1]}
    with pytest.raises(InputError, match="mirrored"):
        hub.agreement_result(rows, low=1, high=5, mirrored=True)
    with pytest.raises(InputError, match="row 2: rater 'r' rated unit '1' in row 1 already"):
        hub.agreement_result({**rows, "rater": ["r", "r"]})
    assert hub.agreement_result(rows, mirrored=True)["rater_agreement"] == pytest.approx(1)


def test_columns_take_what_numpy_and_pandas_give() -> None:
    given = hub.columns({"score": np.array([1, -2]), "rater": np.array(["r", "s"])})
    assert given == {"score": [1.0, -2.0], "rater": ["r", "s"]}


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", InputError, "pasted table: is empty"),
        ("unit,score\n", InputError, "pasted table: there are no rows"),
        ("unit,scroe\n1,2\n", UnknownNameError, "Did you mean 'score'"),
        ("unit,score\n1\n", InputError, "row 1: has 1 cells"),
        ("unit,score\n1,2\n2,x\n", InputError, "row 2, field 'score': 'x' is not a number"),
    ],
)
def test_pasted_tables(text: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        hub.pasted(text, ("unit", "rater", "score"))


def test_a_pasted_table_is_its_columns() -> None:
    assert hub.pasted("unit, score\n1, 2\n\n", ("unit", "score")) == {"unit": ["1"], "score": [2.0]}
