"""``vaeval pair`` on real run folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from vaeval_tasks.audio import Clip, read_audio, write_wav
from vaeval_tasks.cli import main
from vaeval_tasks.cli.pair import pair as command
from vaeval_tasks.design.copies import noisy
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Pair, PairKind, Response, ResponseStatus

MakeRun = Callable[..., RunDir]


def test_pair_writes_a_frozen_design_with_its_balance(make_run: MakeRun) -> None:
    run = make_run(12, ["m1", "m2", "m3"])
    shown = CliRunner().invoke(command, [str(run.root), "--json", "--seed", "7"], catch_exceptions=False)
    counted = json.loads(shown.output)
    assert counted["kinds"] == {"main": 24, "repeat": 1, "trap": 1, "gold": 1, "train": 5}
    assert counted["pair_rate"] == {"low": 8, "high": 8}
    assert counted["tasks"] == 48
    assert counted["ratings"] == 48 * 9 + 24  # every second prompt has one gated rubric
    about = run.manifest()["tables"]["pairs"]
    assert about["waves"][0]["seed"] == 7
    assert about["waves"][0]["generator"] == "cyclic-near-factors/1"
    assert run.stale() == []


def test_gold_clips_are_made_and_found_like_responses(make_run: MakeRun) -> None:
    run = make_run(40, ["m1", "m2", "m3"])
    main(["pair", str(run.root)])
    responses = {(r.prompt_id, r.config_id): r for r in run.responses()}
    pairs = run.read("pairs")
    for pair in pairs:
        for config in (pair.a, pair.b):
            assert (run.root / responses[pair.prompt_id, config].path).is_file()
    gold = [p for p in pairs if p.kind is PairKind.gold]
    assert len(gold) == 4
    assert not any(c.startswith("check/") for p in pairs if p.kind is PairKind.main for c in (p.a, p.b))
    bad = next(c for p in gold for c in (p.a, p.b) if c.startswith("check/noisy/"))
    copy = read_audio(run.root / next(r.path for r in run.responses() if r.config_id == bad))
    assert copy.rate == 24000


def test_copies_are_made_once_and_sound_like_no_other_response(make_run: MakeRun) -> None:
    run = make_run(40, ["m1", "m2", "m3"])
    main(["pair", str(run.root)])
    made, design = run.responses(), run.path("pairs").read_bytes()
    run.path("pairs").unlink()  # as if interrupted before the table was written
    log = run.responses_log.read_bytes()
    main(["pair", str(run.root)])
    assert run.responses_log.read_bytes() == log
    assert run.path("pairs").read_bytes() == design
    sounds = {read_audio(run.root / r.path).sha256 for r in made if r.config_id.startswith("check/other-prompt")}
    assert not sounds & {read_audio(run.root / r.path).sha256 for r in made if not r.config_id.startswith("check/")}


def test_the_noisy_copy_has_5_db_of_snr_and_nothing_above_4_khz() -> None:
    rate = 24000
    tone = (0.3 * np.sin(2 * np.pi * 300 * np.arange(4 * rate) / rate)).astype(np.float32)
    made = noisy(Clip(tone, rate), 1)
    power = np.abs(np.fft.rfft(made.samples)) ** 2
    hz = np.fft.rfftfreq(len(made.samples), 1 / rate)
    signal = power[np.abs(hz - 300) < 1].sum()
    assert 10 * np.log10(signal / (power.sum() - signal)) == pytest.approx(5, abs=0.3)
    assert power[hz > 4200].sum() / power.sum() < 1e-3
    assert made.peak <= 1


def test_a_design_is_frozen_and_a_wave_leaves_it_alone(
    make_run: MakeRun, add_answers: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(12, ["m1", "m2", "m3"])
    main(["pair", str(run.root)])
    first = run.read("pairs")
    with pytest.raises(SystemExit):
        main(["pair", str(run.root)])
    assert "the design is frozen; use --add" in capsys.readouterr().err
    add_answers(run, [p.prompt_id for p in run.read("prompts")], ["a9"])
    main(["pair", str(run.root), "--add", "--seed", "4"])
    assert "with those added later, pairs meet 4 times" in capsys.readouterr().out
    both = run.read("pairs")
    assert both[: len(first)] == first
    assert {p.wave for p in both[len(first) :]} == {2}
    assert kinds_of(both[len(first) :]) == {"main": 12, "trap": 1}
    assert [w["seed"] for w in run.manifest()["tables"]["pairs"]["waves"]] == [0, 4]
    with pytest.raises(SystemExit):
        main(["pair", str(run.root), "--add"])
    assert "none to add" in capsys.readouterr().err


def kinds_of(pairs: list[Pair]) -> dict[str, int]:
    return {kind: sum(p.kind == kind for p in pairs) for kind in {p.kind.value for p in pairs}}


def test_a_prompt_without_an_answer_is_left_out_for_all_or_nothing_is_designed(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(6, ["m1", "m2", "m3"])
    failed = Response(response_id="m2/p004", prompt_id="p004", config_id="m2", status=ResponseStatus.timeout)
    run.append_response(failed)
    with pytest.raises(SystemExit):
        main(["pair", str(run.root)])
    assert "1 of 18 responses have no audio, the first of 'm2' to 'p004'" in capsys.readouterr().err
    assert not run.has("pairs")
    with pytest.raises(SystemExit):
        main(["pair", str(run.root), "--config", "m1", "--config", "m4"])
    assert "unknown configuration 'm4'. Known: m1, m2, m3." in capsys.readouterr().err
    # a failed answer with sound is rated as it is, unless it is silence
    write_wav(run.root / "quiet.wav", Clip(np.zeros(8000, np.float32), 16000))
    rambling = replace(failed, response_id="m3/p001", prompt_id="p001", config_id="m3", path="audio/responses/m3.wav")
    run.append_response(rambling)
    run.append_response(replace(failed, response_id="m3/p002", prompt_id="p002", config_id="m3", path="quiet.wav"))
    main(["pair", str(run.root), "--exclude-unanswered"])
    assert {p.prompt_id for p in run.read("pairs")} == {"p000", "p001", "p003", "p005"}


def test_before_generation_the_configurations_are_named(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(6, [])
    with pytest.raises(SystemExit):
        main(["pair", str(run.root)])
    assert "name the configurations with --config" in capsys.readouterr().err
    main(["pair", str(run.root), "--config", "x", "--config", "y", "--raters", "3"])
    pairs = run.read("pairs")
    assert {p.slots for p in pairs if p.kind is PairKind.main} == {3}
    assert not [p for p in pairs if p.kind is PairKind.gold]
    before = run.path("pairs").read_bytes()
    capsys.readouterr()
    main(["pair", str(run.root), "--show"])
    assert "every configuration stands on every prompt" in capsys.readouterr().out
    assert run.path("pairs").read_bytes() == before


def test_gold_of_a_file_joins_the_design(make_run: MakeRun) -> None:
    run = make_run(6, ["m1", "m2", "m3"])
    file = run.root / "gold.jsonl"
    file.write_text('{"prompt_id": "p001", "a": "m2", "b": "m1", "expect": ["overall:1:3"]}\n')
    main(["pair", str(run.root), "--gold", str(file), "--checks-every", "0"])
    (gold,) = [p for p in run.read("pairs") if p.kind is PairKind.gold]
    assert (gold.a, gold.b, gold.expect) == ("m1", "m2", ("overall:-3:-1",))


def test_no_prompts_says_what_to_run(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SystemExit) as exit_:
        main(["pair", str(tmp_path)])
    assert exit_.value.code == 1
    assert "run: vaeval prompts import" in capsys.readouterr().err
