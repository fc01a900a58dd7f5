"""Names of other packages' classes: found without importing, loaded with one line where they cannot be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vaeval_tasks.errors import InputError, PluginError, UnknownNameError, fault
from vaeval_tasks.plugins import PluginGroup, find, installed


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a package with entry points on the path, as an installer leaves it."""

    def put(name: str, code: str, *points: str, group: str = "vaeval.systems") -> Path:
        folder = tmp_path / name
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n" + "\n".join(points) + "\n")
        (folder / f"{name}.py").write_text(code)
        monkeypatch.syspath_prepend(str(folder))
        return folder

    return put


def look(name: str, **more):
    return find(PluginGroup.systems, name, kind="provider", built_in=("ours",), **more)


def test_a_name_is_found_without_importing(install) -> None:
    install("acmea", "raise RuntimeError('must not run')", "a-voice = acmea:Voice [extra]")
    assert installed(PluginGroup.systems)["a-voice"].target == "acmea:Voice"
    assert str(look("a-voice")) == "'a-voice' (acmea:Voice; acmea 1.0, group vaeval.systems)"
    assert "acmea" not in sys.modules
    assert "a-voice" not in installed(PluginGroup.judges)
    with pytest.raises(
        UnknownNameError, match=r"^mine\.yaml: unknown provider 'a-voise'\. Did you mean 'a-voice'\? Kno"
    ):
        look("a-voise", where="mine.yaml")
    with pytest.raises(UnknownNameError, match="Did you mean 'ours'"):
        look("our")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nowhere_at_all", "cannot be imported: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("x = (", "cannot be imported: SyntaxError: "),
        ("import sys; sys.exit(4)", "cannot be imported: SystemExit: 4"),
        ("raise ValueError('two\\nlines')", "cannot be imported: ValueError: two lines"),
        ("class Voise: pass", "has no class 'Voice'; classes there: Voise"),
        ("Voice = 3", "is of type int; it must be a class"),
        ("def Voice(): pass", "is of type function; it must be a class"),
    ],
)
def test_what_cannot_be_loaded_is_one_line_that_names_package_and_entry_point(
    install, monkeypatch, code: str, message: str
) -> None:
    name = f"acmeb{abs(hash(code)) % 10**8}"
    install(name, code, "b-voice = " + name + ":Voice")
    with pytest.raises(PluginError) as caught:
        look("b-voice").load()
    said = str(caught.value)
    assert said.startswith(f"the plug-in 'b-voice' ({name}:Voice; {name} 1.0, group vaeval.systems) ")
    assert message in said
    assert "\n" not in said


def test_two_packages_of_one_name_are_told_apart(install) -> None:
    install("acmec", "class Voice: pass", "c-voice = acmec:Voice")
    install("acmed", "class Voice: pass", "c-voice = acmed:Voice")
    with pytest.raises(
        PluginError, match=r"^provider 'c-voice' is installed by several packages \(.*acmec 1\.0.*\); write pack"
    ):
        look("c-voice")
    assert look("acmed:Voice").load().__module__ == "acmed"


def test_a_class_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acmelocal.py").write_text("class Outer:\n    class Inner: pass\n")
    (tmp_path / "json.py").write_text("raise RuntimeError('shadows nothing')")
    assert look("acmelocal:Outer.Inner").load().__qualname__ == "Outer.Inner"
    assert look("json:JSONDecoder").load().__module__.startswith("json")
    assert sys.path[-1] == str(tmp_path)


@pytest.mark.parametrize("name", ["acme:", ":Voice", "acme voice:Voice", "acme/voice.py:Voice", "a:b:c"])
def test_a_name_of_no_form(name: str) -> None:
    with pytest.raises(InputError, match=r"is not of the form package\.module:Class"):
        look(name)


def test_a_fault_names_the_line() -> None:
    try:
        Path("/nowhere/at/all").read_text()
    except OSError as error:
        text = fault(error)
    assert text.startswith("FileNotFoundError: [Errno 2]")
    assert ", line " in text
