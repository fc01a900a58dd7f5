"""The whole way: a real prompt set, the real recogniser, the command line."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vaeval_tasks.audio import Clip, read_audio, write_wav
from vaeval_tasks.cli import main
from vaeval_tasks.errors import InputError
from vaeval_tasks.metrics.backends import Recogniser
from vaeval_tasks.prompts.collection import Job, import_prompts, read_report, selections
from vaeval_tasks.prompts.loudness import MARGIN_S, loudness, true_peak_db
from vaeval_tasks.prompts.signal import activity
from vaeval_tasks.prompts.take_findings import Finding
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Condition

Cases = dict[str, tuple[str, str, str, str]]


@pytest.fixture(scope="module")
def imported(prompt_set: Path, recogniser: Recogniser, tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    run = RunDir(tmp_path_factory.mktemp("imported"))
    import_prompts(run, Job(manifest=prompt_set, recogniser=recogniser))
    return run


def test_every_case_is_judged_right(imported: RunDir, cases: Cases) -> None:
    takes = {t.script_id: t for t in read_report(imported)}
    assert set(takes) == set(cases)
    for script_id, (_, _, _, wanted) in cases.items():
        take = takes[script_id]
        if wanted:
            assert wanted in take.findings, take
            assert not take.accepted
            assert take.reason
        else:
            assert take.accepted, take
            assert take.reason == "the only take"
            assert not any(Finding(f).rejects for f in take.findings), take
    assert "mixed_down" in takes["stereo"].findings
    assert takes["twice"].detail[-1] == "the same recording as good.wav of good"


def test_only_usable_prompts_are_imported_with_their_facts(imported: RunDir, cases: Cases) -> None:
    prompts = {p.prompt_id: p for p in imported.read("prompts")}
    assert set(prompts) == {k for k, case in cases.items() if not case[3]}
    assert prompts["far"].condition is Condition.far_field
    assert prompts["good"].gates == ("reasoning",)
    about = imported.manifest()["tables"]["prompts"]
    assert about["target_lufs"] == -23
    assert "whisper-tiny.en" in about["recogniser"]


def test_imported_sound_is_the_recording_times_one_gain(imported: RunDir, prompt_set: Path) -> None:
    takes = {t.script_id: t for t in read_report(imported)}
    for prompt in imported.read("prompts"):
        clip = read_audio(imported.root / prompt.path)
        assert clip.rate == prompt.sampling_rate
        assert clip.seconds == pytest.approx(prompt.seconds)
        assert loudness(clip) == pytest.approx(-23, abs=0.1)
        assert true_peak_db(clip) <= -1.4
        source = read_audio(prompt_set.parent / takes[prompt.prompt_id].take)
        gain = 10 ** (takes[prompt.prompt_id].gain_db / 20)
        start = max(0, round((activity(source).first_s - MARGIN_S) * source.rate))
        same = source.samples[start : start + len(clip.samples)] * gain
        assert np.max(np.abs(same - clip.samples)) < 2 / 32768
        assert len(clip.samples) <= len(source.samples)
    # "good" was padded by 0.4 and 0.6 s; a quarter of a second stays on either side
    good = read_audio(imported.root / "audio/prompts/good.wav")
    assert float(np.max(np.abs(good.samples[: good.rate // 5]))) < 1e-3


def test_an_interrupted_import_does_not_transcribe_again(
    imported: RunDir, prompt_set: Path, recogniser: Recogniser, says: Callable[..., Recogniser], tmp_path: Path
) -> None:
    run = RunDir(tmp_path / "again")
    run.root.mkdir()
    shutil.copy(imported.root / "prompt_transcripts.jsonl", run.root)
    silent = says()  # would fail if asked
    silent.signature = recogniser.signature
    import_prompts(run, Job(manifest=prompt_set, recogniser=silent))
    assert run.path("prompts").read_bytes() == imported.path("prompts").read_bytes()


def test_check_lists_what_is_wrong_and_writes_nothing(prompt_set: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(prompt_set.parent.iterdir())
    with pytest.raises(SystemExit) as exit_:
        main(["prompts", "check", str(prompt_set), "--asr", "none"])
    assert exit_.value.code == 1
    seen = capsys.readouterr()
    assert "rejected clipped  clipped.wav\n           clipped: stands flat at its peak in" in seen.out
    assert "22050 Hz, mono, 3.0 s, peak -100.0 dBFS, noise -100 dBFS, SNR 0 dB" in seen.out
    assert "low-rate: no usable take" in seen.err
    assert sorted(prompt_set.parent.iterdir()) == before


def test_import_and_report_on_the_command_line(
    prompt_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    command = ["prompts", "import", str(prompt_set), str(run), "--asr", "none", "--lufs", "-26"]
    main([*command, "--limit", "clean_snr_db=-99"])
    seen = capsys.readouterr()
    assert "chosen   loud-street" in seen.out  # the limit was changed
    table = [line.split() for line in seen.out.splitlines() if line.startswith(("category", "help", "total"))]
    assert table[0] == ["category", "L1", "L2", "L3", "L4", "L5", "degraded", "total"]
    # without words: good, stereo, cut-short, other and loud-street are clean; indoor, outdoor and far degraded
    assert table[1] == ["help", "5", "0", "0", "0", "0", "3", "8"]
    assert loudness(read_audio(run / "audio/prompts/good.wav")) == pytest.approx(-26, abs=0.1)
    main(["prompts", "report", str(run), "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert shown["balance"]["conditions"] == {"clean": 5, "indoor": 1, "outdoor": 1, "far_field": 1}
    assert {t["script_id"] for t in shown["takes"] if t["chosen"]} >= {"good", "far"}
    main(["prompts", "report", str(run)])
    assert "gated rubrics: 0 emotional_appropriateness, 0 instruction_following, 8 reasoning" in capsys.readouterr().out


def manifest(folder: Path, rows: list[dict[str, str]]) -> Path:
    with (folder / "m.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["script_id", "category", "difficulty", "condition", "script", "takes"])
        writer.writeheader()
        writer.writerows({"category": "c", "difficulty": "L1", **row} for row in rows)
    return folder / "m.csv"


@pytest.fixture
def takes(prompt_set: Path, tmp_path: Path) -> Path:
    for name in ("good", "clipped", "outdoor", "other", "stereo", "half-file", "text"):
        shutil.copy(prompt_set.parent / f"{name}.wav", tmp_path)
    return tmp_path


def test_the_better_take_is_chosen_and_the_report_says_why(takes: Path, says: Callable[..., Recogniser]) -> None:
    rows = [{"script_id": "a", "script": "one two three four", "takes": "clipped.wav;good.wav;other.wav"}]
    heard = says("one two three four", "one two three fore", "one two three four")
    (found,) = selections(Job(manifest=manifest(takes, rows), recogniser=heard))
    clipped, good, other = found.takes
    assert (clipped.accepted, good.accepted, other.accepted) == (False, True, True)
    assert "flat at its peak" in clipped.reason
    assert other.reason == "usable, another take was chosen"
    # other.wav begins in the middle of sound, which weighs more than the one word wrong in good.wav
    assert good.chosen
    assert good.reason == "fewer findings than other.wav (0 against 1)"


@pytest.mark.parametrize(
    ("texts", "names", "chosen", "why"),
    [
        (("one two three", "one two tree"), "good.wav;stereo.wav", 0, "fewer findings than stereo.wav (0 against 1)"),
        (
            ("one two tree four", "one two three four"),
            "good.wav;studio.wav",
            1,
            "fewer word errors than good.wav (0.00 against 0.25)",
        ),
        (("one two three", "one two three"), "faint.wav;good.wav", 1, "less noise than faint.wav"),
    ],
)
def test_why_a_take_was_chosen(
    prompt_set: Path,
    tmp_path: Path,
    says: Callable[..., Recogniser],
    texts: tuple[str, ...],
    names: str,
    chosen: int,
    why: str,
) -> None:
    script = "one two three four" if "four" in texts[1] else "one two three"
    rows = [{"script_id": "a", "script": script, "takes": names}]
    job = Job(manifest=manifest(tmp_path, rows), recordings=prompt_set.parent, recogniser=says(*texts))
    (found,) = selections(job)
    assert found.takes[chosen].chosen, found.takes
    assert found.takes[chosen].reason.startswith(why)


def reviewed(takes: Path, rows: list[dict[str, str]], *verdicts: str) -> Job:
    file = takes / "reviews.csv"
    file.write_text("script_id,take,verdict,reviewer,note\n" + "\n".join(verdicts) + "\n")
    return Job(manifest=manifest(takes, rows), reviews=file)


def test_a_reviewer_overrides_what_was_measured(takes: Path) -> None:
    rows = [{"script_id": "a", "takes": "clipped.wav;good.wav"}]
    (found,) = selections(reviewed(takes, rows, "a,clipped.wav,choose,Kim,meant to be loud"))
    assert found.takes[0].chosen
    assert found.takes[0].reason == "choose by Kim: meant to be loud"
    assert "clipped" in found.takes[0].findings  # what was found is still said
    (found,) = selections(reviewed(takes, rows, "a,clipped.wav,accept,,", "a,good.wav,reject,Kim,mumbles"))
    assert [t.chosen for t in found.takes] == [True, False]
    assert found.takes[1].reason == "reject by Kim: mumbles"
    (found,) = selections(reviewed(takes, [{"script_id": "a", "takes": "text.wav"}], "a,text.wav,accept,Kim,"))
    assert found.chosen is None  # nobody can accept what cannot be read


def test_a_reviewer_s_silence_stops_the_import_and_steady_sound_is_kept_whole(takes: Path, prompt_set: Path) -> None:
    for name in ("silent", "hiss"):
        shutil.copy(prompt_set.parent / f"{name}.wav", takes)
    job = reviewed(takes, [{"script_id": "a", "takes": "hiss.wav"}], "a,hiss.wav,accept,,")
    import_prompts(RunDir(takes / "run"), job)
    assert RunDir(takes / "run").read("prompts")[0].seconds == pytest.approx(4)
    job = reviewed(takes, [{"script_id": "a", "takes": "silent.wav"}], "a,silent.wav,accept,,")
    with pytest.raises(InputError, match=r"silent\.wav: a silent clip has no loudness to normalise; a reviewer cannot"):
        import_prompts(RunDir(takes / "other"), job)
    assert not RunDir(takes / "other").has("prompts")


def test_an_empty_and_a_faint_recording_are_silent(takes: Path) -> None:
    write_wav(takes / "empty.wav", Clip(np.zeros(0, np.float32), 16000))
    rng = np.random.default_rng(0)
    write_wav(takes / "faint.wav", Clip((1.5e-4 * rng.standard_normal(32000)).astype(np.float32), 16000))
    rows = [{"script_id": "a", "takes": "empty.wav;faint.wav"}]
    (found,) = selections(Job(manifest=manifest(takes, rows)))
    assert [t.findings for t in found.takes] == [("silent",), ("silent",)]


@pytest.mark.parametrize(
    ("verdicts", "message"),
    [
        (["b,good.wav,accept,,"], "row 1, field 'script_id': unknown script 'b'"),
        (["a,goood.wav,accept,,"], "row 1, field 'take': unknown take 'goood.wav'. Did you mean 'good.wav'"),
        (["a,good.wav,acept,,"], "row 1, field 'verdict': unknown verdict 'acept'. Did you mean 'accept'"),
        (["a,good.wav,accept,,", "a,good.wav,reject,,"], "row 2, field 'take': 'good.wav' has a verdict already"),
        (["a,good.wav,choose,,", "a,clipped.wav,choose,,"], "row 2, field 'verdict': 'a' has a chosen take"),
    ],
)
def test_wrong_verdicts_name_their_place(takes: Path, verdicts: list[str], message: str) -> None:
    job = reviewed(takes, [{"script_id": "a", "takes": "clipped.wav;good.wav"}], *verdicts)
    with pytest.raises(Exception, match=message):
        selections(job)


def test_takes_are_found_by_the_script_id(prompt_set: Path, tmp_path: Path) -> None:
    for name in ("a-1.wav", "a-1_take2.wav", "a-11.wav"):
        shutil.copy(prompt_set.parent / "good.wav", tmp_path / name)
    found = selections(Job(manifest=manifest(tmp_path, [{"script_id": "a-1"}, {"script_id": "a-2"}])))
    assert [t.take for t in found[0].takes] == ["a-1.wav", "a-1_take2.wav"]
    assert found[0].takes[1].findings == ("duplicate",)
    assert found[1].takes == ()


def test_nothing_is_imported_over_a_design_or_without_a_usable_take(takes: Path, tmp_path: Path) -> None:
    job = Job(manifest=manifest(takes, [{"script_id": "a", "takes": "text.wav"}]))
    run = RunDir(tmp_path / "run")
    with pytest.raises(InputError, match=r"no script has a usable take \(text.wav: cannot be read as sound"):
        import_prompts(run, job)
    assert not run.has("prompts")
    job = Job(manifest=manifest(takes, [{"script_id": "a", "takes": "good.wav"}]))
    import_prompts(run, job)
    run.write("pairs", [], made_by="test")
    with pytest.raises(InputError, match="pairs were designed"):
        import_prompts(run, job)


def test_where_peaks_forbid_the_target_the_report_says_so(takes: Path, tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run")
    job = Job(manifest=manifest(takes, [{"script_id": "a", "takes": "good.wav"}]), target_lufs=-6.0)
    (found,) = import_prompts(run, job)
    assert found.takes[0].findings == ("below_target",)
    clip = read_audio(run.root / "audio/prompts/a.wav")
    assert true_peak_db(clip) == pytest.approx(-1.5, abs=0.05)
    assert loudness(clip) == pytest.approx(found.takes[0].lufs, abs=0.05)
    assert read_report(run) == list(found.takes)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("clean_snr=1", "unknown limit 'clean_snr'. Did you mean 'clean_snr_db'"),
        ("min_s=x", "--limit min_s takes a number"),
    ],
)
def test_wrong_limits(prompt_set: Path, option: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["prompts", "check", str(prompt_set), "--asr", "none", "--limit", option])
    assert message in capsys.readouterr().err
