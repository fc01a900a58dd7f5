"""``vaeval publish`` against a stand-in of the Hub on the loopback address."""

from __future__ import annotations

import base64
import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks import paths
from vaeval_tasks.cli import main
from vaeval_tasks.errors import InputError, ServiceError, UnknownNameError, VaevalError
from vaeval_tasks.hosts.evaluate import spaces as publish

TOKEN = "hf_not_a_real_token"


class Hub:
    """The part of the Hub that an upload of a Space talks to."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, Any]] = []
        self.files: dict[str, bytes] = {}
        self.refuse: int | None = None
        self.url = ""

    def answer(self, method: str, path: str, token: str, body: bytes) -> tuple[int, Any]:
        self.requests.append((method, path, body))
        if token != f"Bearer {TOKEN}":
            return 401, {"error": "Invalid credentials"}
        if self.refuse:
            return self.refuse, {"error": "You do not have the rights"}
        if path == "/api/repos/create":
            made = json.loads(body)
            return 200, {"url": f"{self.url}/spaces/{made['organization']}/{made['name']}"}
        if path.endswith("/preupload/main"):
            files = json.loads(body)["files"]
            return 200, {"files": [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in files]}
        if path.endswith("/commit/main"):
            for line in body.decode().splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    self.files[entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
            return 200, {
                "commitUrl": f"{self.url}/spaces/team/x/commit/{'1' * 40}",
                "commitOid": "1" * 40,
                "success": True,
            }
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        return 404, {"error": f"nothing at {path}"}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    stand_in = Hub()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, said = stand_in.answer(
                self.command, self.path.partition("?")[0], self.headers.get("Authorization", ""), body
            )
            content = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_HEAD = _answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stand_in.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("HF_ENDPOINT", stand_in.url)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    yield stand_in
    server.shutdown()


@pytest.fixture
def module_copy(tmp_path: Path) -> Path:
    """A copy of a module's folder that a test may break."""
    folder = tmp_path / "mos"
    shutil.copytree(paths.metrics_dir() / "mos", folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_a_checked_module_goes_up_whole(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["publish", "mos", "--to", "team"]) == 0
    said = capsys.readouterr().out
    assert "examples: " in said
    assert "demo page: answered after" in said
    assert "/spaces/team/mos" in said
    made = json.loads(next(body for _, path, body in hub.requests if path == "/api/repos/create"))
    assert (made["type"], made["sdk"], made["organization"], made["name"]) == ("space", "gradio", "team", "mos")
    folder = paths.metrics_dir() / "mos"
    assert set(hub.files) == {"README.md", "app.py", "mos.py", "requirements.txt"}
    for name, content in hub.files.items():
        assert content == (folder / name).read_bytes()
    assert TOKEN not in said


def test_without_a_token_nothing_is_sent(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(VaevalError, match="set HF_TOKEN"):
        publish.publish("mos", "team")
    assert hub.requests == []


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_refusal_is_one_line(status: int, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    if status == 401:
        monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    else:
        hub.refuse = status
    with pytest.raises(ServiceError, match=f"refused team/mos \\(status {status}\\)") as caught:
        publish.publish("mos", "team")
    assert len(str(caught.value).splitlines()) == 1
    assert hub.files == {}


def test_an_unreachable_hub(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ServiceError, match="could not be reached"):
        publish.publish("mos", "team")


def test_a_bad_namespace(hub: Hub) -> None:
    with pytest.raises(InputError, match="namespace"):
        publish.publish("mos", "no/such team")


def test_an_unknown_module(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'cmos_elo'"):
        publish.publish("cmos_el", "team")
    with pytest.raises(SystemExit):
        main(["publish", "cmos_el", "--to", "team"])
    assert "unknown metric module" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("sdk_version: 6.31.0", "sdk_version: 3.19.1", "sdk_version"),
        ("- measurement", "- metric", "tags"),
        ("title: MOS", "title: ''", "title"),
        ("Summarises opinion", "Sums opinion", "description"),
        ("app_file: app.py", "app_file: main.py", "app_file"),
        ("sdk: gradio", "sdk: static", "sdk"),
        ("license: apache-2.0\n", "", "license"),
    ],
)
def test_a_card_that_disagrees_is_refused(old: str, new: str, field: str, module_copy: Path) -> None:
    card = module_copy / "README.md"
    text = card.read_text(encoding="utf-8")
    assert old in text
    card.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=f"README.md, field '{field}'"):
        publish.check_card(module_copy)


def test_a_card_without_front_matter(module_copy: Path) -> None:
    (module_copy / "README.md").write_text("# Card\n")
    with pytest.raises(InputError, match="must begin with a block of YAML"):
        publish.check_card(module_copy)
    (module_copy / "app.py").unlink()
    with pytest.raises(InputError, match=r"app\.py: the module has no such file"):
        publish.check_card(module_copy)


def test_an_example_that_fails_is_shown(module_copy: Path) -> None:
    script = module_copy / "mos.py"
    script.write_text(script.read_text(encoding="utf-8").replace("[4.25, 2.0]", "[4.5, 2.0]"), encoding="utf-8")
    with pytest.raises(InputError, match=r"1 of \d examples fail: .*4\.25"):
        publish.check_doctest(script)


def test_a_page_that_does_not_start_is_shown(module_copy: Path) -> None:
    (module_copy / "app.py").write_text("raise SystemExit('no gradio here')\n")
    with pytest.raises(InputError, match="ended with status 1: no gradio here"):
        publish.check_app(module_copy)
    (module_copy / "app.py").write_text("import time\ntime.sleep(60)\n")
    with pytest.raises(InputError, match="did not answer within 1 s"):
        publish.check_app(module_copy, timeout=1)
