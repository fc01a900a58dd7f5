"""Links into an installed lm-eval: made, found by its search, removed, and never over other people's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaeval_tasks.cli import main
from vaeval_tasks.errors import InputError
from vaeval_tasks.hosts.lm_eval.link import link, link_folder, unlink
from vaeval_tasks.scoring.suite import GROUP, TASKS


def test_links_are_found_by_the_harness_and_go_again(tmp_path: Path) -> None:
    from lm_eval.tasks import TaskManager

    folder = tmp_path / "tasks" / GROUP
    assert len(link(folder)) == 17
    assert len(link(folder)) == 17, "linking again replaces the links"
    about = {"dataset_path": "sample", "profile": "offline"}
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False, metadata=about)
    assert set(TASKS) < set(manager.all_tasks)
    assert manager.load("listening_general")["tasks"]["listening_general"].eval_docs[0]["task"] == "listening_general"
    assert unlink(folder) == 17
    assert not folder.exists()
    assert unlink(folder) == 0


def test_files_of_others_are_not_touched(tmp_path: Path) -> None:
    folder = tmp_path / GROUP
    folder.mkdir()
    (folder / "theirs.yaml").write_text("task: theirs\n")
    for act in (link, unlink):
        with pytest.raises(InputError, match=r"theirs\.yaml: is not a link that vaeval made; nothing was changed"):
            act(folder)
    assert [path.name for path in folder.iterdir()] == ["theirs.yaml"]
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is not a folder that vaeval made"):
        link(tmp_path / "file")


def test_the_folder_is_inside_the_installed_harness() -> None:
    import lm_eval.tasks

    assert link_folder() == Path(lm_eval.tasks.__file__).parent / GROUP


def test_the_verbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("vaeval_tasks.hosts.lm_eval.link.link_folder", lambda: tmp_path / GROUP)
    main(["tasks", "link"])
    assert "17 links in" in capsys.readouterr().out
    main(["tasks", "unlink"])
    assert "17 links removed" in capsys.readouterr().out
    main(["tasks", "list"])
    assert capsys.readouterr().out.split()[:3] == [GROUP, f"{GROUP}_listening", "listening_general"]
    main(["tasks", "path"])
    assert (Path(capsys.readouterr().out.strip()) / "voiceassistant_eval.yaml").is_file()
