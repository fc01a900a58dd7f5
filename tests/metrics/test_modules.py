"""The evaluate modules as their users load them: by path, without a network, from their own folder."""

import ast
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from vaeval_tasks import paths
from vaeval_tasks.errors import VaevalError

NAMES = ("judge_correctness", "modified_wer", "speaker_similarity", "utmos")
GRADIO = "6.31.0"


@pytest.fixture(scope="module")
def probed(tmp_path_factory):
    home = tmp_path_factory.mktemp("hf")
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("module_probe.py")), str(paths.metrics_dir())],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"HF_HOME": str(home), "HF_MODULES_CACHE": str(home / "modules"), "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def front_matter(name):
    text = (paths.metrics_dir() / name / "README.md").read_text(encoding="utf-8")
    _, head, body = text.split("---\n", 2)
    return yaml.safe_load(head), body


@pytest.mark.parametrize("name", NAMES)
class TestModule:
    def test_results_have_the_common_form(self, probed, name):
        result = probed[name]["result"]
        assert {name, "scores", "n", "n_skipped", "skipped", "signature"} <= set(result)
        assert set(probed[name]["types"]) <= {"float", "int", "str", "list"}
        assert result["n"] == len(result["scores"]) == 2
        assert result["n_skipped"] == result["scores"].count(None) == len(result["skipped"])

    def test_no_rows_have_a_defined_result(self, probed, name):
        empty = probed[name]["empty"]
        assert (empty[name], empty["scores"], empty["n"], empty["n_skipped"]) == (None, [], 0, 0)

    def test_a_second_instance_and_single_rows_give_the_same(self, probed, name):
        assert probed[name]["second"]
        assert probed[name]["single"]

    def test_its_name_is_its_folder(self, probed, name):
        assert probed[name]["name"] == name

    def test_bad_input_is_refused_with_its_place(self, probed, name):
        assert "field 'predictions': must be a list, got str" in probed[name]["bare"]
        for message in probed[name]["late"]:
            assert message.startswith("row 2, field 'predictions': ")
        assert "differ in length" in probed[name]["length"] or name == "utmos"

    def test_unknown_options_are_refused(self, probed, name):
        assert "unknown option of evaluate.load 'model_pth'" in probed[name]["init"]
        assert "no_such_option" in probed[name]["option"]

    def test_its_examples_hold(self, probed, name):
        failed, attempted = probed[name]["doctest"]
        assert failed == 0
        assert attempted > 1

    def test_the_script_keeps_the_rules_of_the_import_scanner(self, name):
        script = paths.metrics_dir() / name / f"{name}.py"
        text = script.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 110
        imports = [line for line in text.splitlines() if re.match(r"(import|from)\s", line)]
        assert all("#" not in line and "," not in line and not line.startswith("from .") for line in imports)
        assert "from evaluate import" not in text
        assert "'''" not in text
        roots = {line.split()[1].partition(".")[0] for line in imports}
        assert roots == {"datasets", "evaluate", "vaeval_tasks"}
        tree = ast.parse(text)
        assert len([node for node in tree.body if isinstance(node, ast.ClassDef)]) == 1
        (compute,) = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "_compute"]
        # the judge's options are checked by name where they are read
        assert compute.args.kwarg is None or name == "judge_correctness"

    def test_the_card(self, probed, name):
        head, body = front_matter(name)
        assert head["sdk"] == "gradio"
        assert head["app_file"] == "app.py"
        assert head["license"] == "apache-2.0"
        assert head["tags"] == ["evaluate", "metric"]
        assert " ".join(head["description"].split()) == " ".join(probed[name]["description"].split())
        requirements = (paths.metrics_dir() / name / "requirements.txt").read_text().split()
        assert head["sdk_version"] == GRADIO
        assert f"gradio=={GRADIO}" in requirements
        for section in ("Metric Description", "How to Use", "Inputs", "Output Values", "Values from Popular Papers",
                        "Examples", "Limitations and Bias", "Citation", "Further References"):  # fmt: skip
            assert re.search(rf"^##+ {section}$", body, re.MULTILINE), section
        assert "is better**" in body or "is more alike**" in body
        assert "Licences:" in body


@pytest.mark.parametrize("name", NAMES)
def test_the_code_of_the_card_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    _, body = front_matter(name)
    blocks = re.findall(r"```python\n(.*?)```", body, re.DOTALL)
    assert len(blocks) >= 2
    for block in blocks:
        exec(compile(block, f"{name}/README.md", "exec"), {})
    assert capsys.readouterr().out


def test_distillmos_is_never_called_utmos(probed):
    result = probed["utmos"]["result"]
    assert result["signature"].startswith("DistillMOS|")
    assert result["model"] == "DistillMOS"
    assert "UTMOS" not in result["signature"]
    assert "**Distill-MOS v7**, a stand-in" in front_matter("utmos")[1]


def test_values_of_the_modules(probed):
    assert probed["judge_correctness"]["result"]["scores"] == [1.0, 0.0]
    assert probed["modified_wer"]["result"]["scores"] == [pytest.approx(1 / 15), 0.0]  # one letter of 15; both short
    assert probed["modified_wer"]["result"]["consistency"] == pytest.approx(100 * (1 - 1 / 30))
    assert probed["speaker_similarity"]["result"]["scores"][0] == pytest.approx(1.0)
    assert probed["speaker_similarity"]["result"]["skipped"] == ["row 2: too little speech in the response"]
    assert probed["utmos"]["result"]["skipped"] == ["row 2: shorter than 0.3 s (0.01 s)"]


SILENCE = {"array": [0.0] * 16000, "sampling_rate": 16000}


@pytest.mark.parametrize("config", [None, "reference"])
def test_a_language_model_judges_through_the_module(fake, config):
    import evaluate

    module = evaluate.load(paths.metric_module("judge_correctness"), config, keep_in_memory=True)
    options = {"url": fake.url, "model": "m"} | ({} if config else {"backend": "reference"})
    result = module.compute(predictions=["a"], questions=["q"], task="speaking_reasoning", **options)
    assert result["scores"] == [1.0]
    assert result["signature"].startswith("judge-llm|model:m|prompts:")
    assert "<question>\nq\n</question>" in fake.requests[0][2]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("name", "columns", "options", "message"),
    [
        ("utmos", {"predictions": [SILENCE]}, {"path": "none.pt", "backend": "reference"}, r"none\.pt: no such file"),
        ("utmos", {"predictions": [SILENCE]}, {"path": "none.pt"}, "Distill-MOS has pinned weights"),
        ("utmos", {"predictions": [SILENCE]}, {"backend": "utmos"}, "unknown backend 'utmos'"),
        ("speaker_similarity", {"predictions": [SILENCE], "references": [SILENCE]},
         {"path": "none.onnx", "backend": "reference"}, r"none\.onnx: no such file"),
        ("judge_correctness", {"predictions": ["a"]}, {"backend": "reference", "task": "speaking_safety"}, "endpoint"),
        ("judge_correctness", {"predictions": ["a"]}, {}, "name the task"),
        ("judge_correctness", {"predictions": ["a"]}, {"task": "speaking_safty"}, "Did you mean 'speaking_safety'"),
        ("judge_correctness", {"predictions": ["a"]}, {"task": "speaking_safety", "judge_tmeout": 1}, "judge_timeout"),
        ("judge_correctness", {"predictions": ["a"]}, {"task": "speaking_safety", "judge_timeout": 1}, "ask nobody"),
        ("judge_correctness", {"predictions": ["a"]}, {"task": "speaking_safety", "judge": "local", "url": "http://a"},
         "url does not go with the judge 'local'"),
        ("judge_correctness", {"predictions": ["a"]}, {"task": "speaking_safety", "judge": "lokal"}, "local"),
        ("judge_correctness", {"verdicts": ["[Good]"]}, {"judge": "local"}, "judge does nothing beside verdicts"),
        ("judge_correctness", {"verdicts": ["[Good]"]}, {"urll": "http://a"}, "urll does nothing beside verdicts"),
    ],
)  # fmt: skip
def test_options_that_cannot_be_met_are_one_line(name, columns, options, message):
    import evaluate

    module = evaluate.load(paths.metric_module(name), keep_in_memory=True)
    with pytest.raises(VaevalError, match=message) as caught:
        module.compute(**columns, **options)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def gradio_env():
    patch = pytest.MonkeyPatch()
    patch.setenv("GRADIO_ANALYTICS_ENABLED", "False")
    yield
    patch.undo()


INPUTS = {
    "judge_correctness": ("listening_general", "capital?", "Paris", "It is Paris."),
    "modified_wer": ("hello there world", "hello there word"),
    "speaker_similarity": ("clip", "clip"),
    "utmos": ("clip",),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_demo_page_starts_and_answers(gradio_env, name, flite, tmp_path):
    from gradio_client import Client, handle_file

    clip = flite("The quick brown fox jumps over the lazy dog and runs away.", tmp_path)
    inputs = [handle_file(str(clip)) if value == "clip" else value for value in INPUTS[name]]
    demo = runpy.run_path(str(paths.metrics_dir() / name / "app.py"))["demo"]
    _, url, _ = demo.launch(prevent_thread_lock=True, quiet=True, server_name="127.0.0.1")
    try:
        answer = Client(url, verbose=False).predict(*inputs, api_name="/score")
    finally:
        demo.close()
    assert answer["n"] == 1
    assert answer["n_skipped"] == 0
    assert answer[name] == answer["scores"][0]
