"""A small run with real audio, its database, and a real server on the loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa
import uvicorn

from vaeval_tasks.audio import Clip, read_audio, write_wav
from vaeval_tasks.collect.people import identity
from vaeval_tasks.collect.serve import Opened, open_study
from vaeval_tasks.collect.server_clock import now_ms
from vaeval_tasks.collect.web.app import create_app
from vaeval_tasks.simulate.driver import TaskPage, count_beeps
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import Pair, PairKind, Prompt, Response, ResponseStatus, StudyKind

CERTIFICATES = httpx.create_ssl_context()  # reading them takes a client a while; all clients here share them
GATES = ("instruction_following", "reasoning", "emotional_appropriateness")


def tone(hertz: float, seconds: float, rate: int = 16_000) -> Clip:
    """A tone at -12 dBFS."""
    time_ = np.arange(round(seconds * rate)) / rate
    return Clip((0.25 * np.sin(2 * np.pi * hertz * time_)).astype(np.float32), rate)


def config_name(n: int) -> str:
    return f"model-{n:02}/default/voice-{n:02}"


def make_run(
    root: Path, *, prompts: int = 3, configs: int = 3, seconds: float = 0.4, slots: int = 2, train: int = 0
) -> RunDir:
    """A run whose every pair of configurations is asked on every prompt; prompt 0 has all gates, the rest none."""
    run = RunDir(root)
    names = [config_name(n) for n in range(configs)]
    rows, responses, pairs = [], [], []
    for p in range(prompts):
        prompt_id = f"p{p:03}"
        path = f"audio/prompts/{prompt_id}.wav"
        write_wav(root / path, tone(200 + p, seconds))
        rows.append(
            Prompt(prompt_id=prompt_id, category="advice", difficulty="L1", gates=GATES if p == 0 else (), path=path)
        )
        for c, name in enumerate(names):
            path = f"audio/responses/{prompt_id}-{c}.wav"
            write_wav(root / path, tone(300 + 20 * c + p / 10, seconds))
            responses.append(
                Response(
                    response_id=f"{prompt_id}-{c}",
                    prompt_id=prompt_id,
                    config_id=name,
                    status=ResponseStatus.ok,
                    path=path,
                    seconds=seconds,
                )
            )
        for i in range(configs):
            for j in range(i + 1, configs):
                kind = PairKind.train if p < train else PairKind.main
                pairs.append(
                    Pair(
                        pair_id=f"{prompt_id}:{i}-{j}",
                        prompt_id=prompt_id,
                        a=names[i],
                        b=names[j],
                        kind=kind,
                        slots=slots,
                        left_is_a=(i + j + p) % 2 == 0,
                    )
                )
    run.write("prompts", rows, made_by="test")
    run.write("responses", responses, made_by="test")
    run.write("pairs", pairs, made_by="test")
    return run


class Browser:
    """A rater's HTTP client: what the page does, without a browser."""

    def __init__(self, url: str, code: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=30, verify=CERTIFICATES)
        self.code = code

    def enter(self) -> TaskPage:
        return TaskPage(self.http.get(f"/join/{self.code}", follow_redirects=True).text)

    def ready(self) -> Browser:
        """Enter and pass consent, questions and sound check (the last by reading the number off the server)."""
        page = self.enter()
        if page.task or not page.fields:
            return self
        for path in ("/consent", "/about-you"):
            answer = self.http.post(path, data={"csrf": page.fields["csrf"]}, follow_redirects=True)
            page = TaskPage(answer.text)
        beeps = read_audio(self.http.get(f"/sound-check/{page.fields['nonce']}.wav").content)
        self.http.post("/sound-check", data=page.fields | {"heard": str(count_beeps(beeps))}, follow_redirects=True)
        return self

    def task(self) -> TaskPage:
        answer = self.http.get("/task", follow_redirects=True)
        return TaskPage(answer.text)

    def send(self, page: TaskPage, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        headers = {"X-CSRF-Token": page.task["data-csrf"], **{k.replace("_", "-"): v for k, v in headers.items()}}
        kind = {"content": body} if isinstance(body, bytes) else {"json": body}
        return self.http.request(method, f"/api/task/{page.task['data-token']}/{path}", headers=headers, **kind)

    def listen(self, page: TaskPage, seconds: float = 0.4) -> None:
        events = [{"seq": 1, "kind": "play", "at": 0}]
        assert self.send(page, "POST", "events", events).status_code == 200
        ranges = {part: [[0, seconds]] for part in page.clips}
        answer = self.send(page, "POST", "listened", ranges)
        if answer.status_code == 422:
            time.sleep(answer.json()["wait_ms"] / 1000)
            answer = self.send(page, "POST", "listened", ranges)
        assert answer.status_code == 200, answer.text

    def answers(self, page: TaskPage, position: int = 2) -> dict[str, Any]:
        return {key: {"position": position, "ms": 1000} for part in page.parts for key in part}

    def lock(self, page: TaskPage, position: int = 2) -> None:
        """Lock all sections but the last."""
        for number, keys in enumerate(page.parts[:-1], 1):
            body = {key: {"position": position, "ms": 1000} for key in keys}
            answer = self.send(page, "POST", f"section/{number}", body)
            assert answer.status_code == 200, answer.text

    def submit(self, page: TaskPage, key: str = "key-00000001", position: int = 2, comment: str = "") -> httpx.Response:
        body = {"answers": self.answers(page, position), "comment": comment}
        return self.send(page, "POST", "submit", body, Idempotency_Key=key)

    def do(self, page: TaskPage, position: int = 2, comment: str = "") -> httpx.Response:
        self.listen(page)
        self.lock(page, position)
        return self.submit(page, f"key-{page.task['data-token']}", position, comment)


@dataclass(kw_only=True)
class Served:
    """A study behind a real server; ``shift`` moves the server's clock (ms)."""

    url: str
    opened: Opened
    run: RunDir
    shift: list[int]

    @property
    def db(self) -> Any:
        return self.opened.context.database

    def link(self) -> str:
        code = f"code-{time.monotonic_ns()}"
        identity.new_rater(self.db, "link", code, now=now_ms(), retention_days=365)
        return code

    def rater(self) -> Browser:
        return Browser(self.url, self.link()).ready()

    def admin(self) -> httpx.Client:
        client = httpx.Client(base_url=self.url, timeout=30, verify=CERTIFICATES)
        answer = client.post("/admin/login", data={"password": self.opened.admin_password})
        assert answer.status_code == 303
        return client

    def rows(self, query: Any) -> list[Any]:
        with self.db.read() as connection:
            return list(connection.execute(query).all())


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an application on a free port of the loopback."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    config = uvicorn.Config(app, host="127.0.0.1", port=port, access_log=False, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join()


@contextmanager
def served_run(run: RunDir, study: StudyKind = StudyKind.cmos, **given: Any) -> Iterator[Served]:
    shift = [0]
    password = given.pop("admin_password", None)
    db = given.pop("db", None)
    opened = open_study(run, study, given, db=db, admin_password=password)
    context = replace(opened.context, clock=lambda: now_ms() + shift[0])
    opened = replace(opened, context=context)
    with serving(create_app(context)) as url:
        yield Served(url=url, opened=opened, run=run, shift=shift)
    opened.context.database.close()


@pytest.fixture(scope="session", name="make_run")
def make_run_() -> Callable[..., RunDir]:
    """Make a run in a given folder."""
    return make_run


def _as_owner(command: list[str]) -> list[str]:
    """PostgreSQL refuses to run as root; as root its commands are run as the user ``postgres``."""
    if os.geteuid() != 0:
        return command
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A throw-away PostgreSQL cluster on the loopback; the URL of its maintenance database."""
    tools = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    assert tools, "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    folder = tempfile.mkdtemp(prefix="vaeval-pg-")
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]

    def tool(name: str, *options: str) -> None:
        command = _as_owner([str(tools[-1] / name), *options])
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)

    data = f"{folder}/data"
    tool("initdb", "-D", data, "-A", "trust", "-U", "vaeval", "--no-sync", "-E", "UTF8")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c max_connections=200"
    tool("pg_ctl", "-D", data, "-o", options, "-l", f"{folder}/log", "-w", "start")
    try:
        yield f"postgresql://vaeval@127.0.0.1:{port}/postgres"
    finally:
        tool("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)


@pytest.fixture
def postgres(postgres_server: str) -> str:
    """The URL of a new, empty PostgreSQL database."""
    name = f"d{time.monotonic_ns()}"
    engine = sa.create_engine(postgres_server.replace("postgresql", "postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return postgres_server.replace("/postgres", f"/{name}")


@pytest.fixture(params=["sqlite", "postgresql"])
def any_db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a new database, once for SQLite and once for PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "any.sqlite")
    return str(request.getfixturevalue("postgres"))


@pytest.fixture
def run_of(tmp_path: Path) -> Callable[..., RunDir]:
    """Make a run in the test's folder."""
    return lambda name="run", **options: make_run(tmp_path / name, **options)


@pytest.fixture
def serve() -> Any:
    """The context manager that serves a run."""
    return served_run


@pytest.fixture
def serve_app() -> Any:
    """The context manager that serves an application."""
    return serving


@pytest.fixture(scope="session")
def imported_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was imported once, to be copied by the tests that only read its design."""
    root = tmp_path_factory.mktemp("imported") / "run"
    open_study(make_run(root), StudyKind.cmos, {"dwell": 0.0}).context.database.close()
    return root


@pytest.fixture
def study(imported_run: Path, tmp_path: Path) -> Iterator[Served]:
    """A CMOS study of three prompts and three configurations with clips of 0.4 s, served without a dwell."""
    root = shutil.copytree(imported_run, tmp_path / "run")
    with served_run(RunDir(root)) as served:
        yield served


@pytest.fixture
def browser_of() -> type[Browser]:
    """The HTTP client that does what the page does."""
    return Browser
