"""The command line: exit codes, one-line errors, help for every verb, and a quick start."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from vaeval_tasks.cli import VERBS, cli, main

HEAVY = ("torch", "transformers", "lm_eval", "evaluate", "datasets", "pandas", "sklearn", "scipy", "numba", "fastapi")


def test_help_lists_every_verb_and_each_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out
    context = click.Context(cli)
    for verb in VERBS:
        assert f"\n  {verb} " in listed
        command = cli.get_command(context, verb)
        assert command is not None
        assert command.name == verb
        assert command.help


def test_an_unknown_verb_is_a_usage_error_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["weigths"])
    assert caught.value.code == 2
    assert "Did you mean 'weights'?" in capsys.readouterr().err


@pytest.mark.parametrize("code", ["import vaeval_tasks", "from vaeval_tasks.cli import main; main(['--help'])"])
def test_starting_loads_no_heavy_library(code: str) -> None:
    probe = f"import sys; {code}; print(sorted(set(sys.modules) & set({HEAVY!r})), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
