"""AWS keys from a profile, a program and a role, found by botocore's chain; Bedrock through a proxy."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vaeval_tasks.errors import InputError, MissingDependencyError, ServiceError
from vaeval_tasks.models.adapters.nova_sonic import NovaSonic
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.providers import check_access
from vaeval_tasks.models.transport import aws_credentials as chain
from vaeval_tasks.testing.bedrock import ACCESS_KEY
from vaeval_tasks.testing.server import KEY

SSO = """[profile speech]
sso_start_url = https://x
sso_region = us-east-1
sso_account_id = 1
sso_role_name = r
"""
NAME = "nova-2-sonic/default/tiffany"
FAST = Clock(25.0)


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No keys in the environment, and a config file of one's own; the machine's metadata service is not asked."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    chain._looked_up.cache_clear()
    yield tmp_path
    chain._looked_up.cache_clear()


def a_program(folder: Path, **given: str) -> str:
    """Return a command that prints keys, as tools for single sign-on do (``credential_process``)."""
    script = folder / "keys.py"
    script.write_text(f"print({json.dumps(json.dumps({'Version': 1, **given}))})")
    return f"{sys.executable} {script}"


def test_a_profile_of_the_shared_files(aws: Path, serve: Any, ask: Any, config: Any, short_prompt: Path) -> None:
    (aws / "credentials").write_text(f"[speech]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {KEY}\n")
    (aws / "config").write_text("[profile speech]\nregion = eu-north-1\n")
    serve("nova_sonic")
    asked = config(NAME, connection={"profile": "speech", "region": None})
    check_access(asked)
    assert chain.aws_credentials(asked).region == "eu-north-1"
    reply = ask(NovaSonic(), asked, short_prompt, clock=FAST)
    assert reply.status == "ok", reply.error


def test_a_program_that_prints_keys_and_a_session_token(
    aws: Path, serve: Any, ask: Any, config: Any, short_prompt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = a_program(aws, AccessKeyId=ACCESS_KEY, SecretAccessKey=KEY, SessionToken="t0ken")
    (aws / "config").write_text(f"[profile sso]\ncredential_process = {command}\n")
    monkeypatch.setenv("AWS_PROFILE", "sso")
    fake = serve("nova_sonic")
    reply = ask(NovaSonic(), config(NAME), short_prompt, clock=FAST)
    assert reply.status == "ok", reply.error
    assert chain.aws_credentials(config(NAME)).token == "t0ken"
    assert "t0ken" not in str(reply.events) + str(reply.request)
    assert fake.sessions


def test_variables_come_before_the_chain_unless_a_profile_is_named(
    aws: Path, config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (aws / "credentials").write_text("[default]\naws_access_key_id = A\naws_secret_access_key = B\n")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "VARIABLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    monkeypatch.setenv("AWS_REGION", "ap-northeast-1")
    found = chain.aws_credentials(config(NAME, connection={"region": None}))
    assert (found.access_key, found.region) == ("VARIABLE", "ap-northeast-1")
    assert chain.aws_credentials(config(NAME, connection={"region": "us-west-2"})).region == "us-west-2"
    assert chain.aws_credentials(config(NAME, connection={"profile": "default"})).access_key == "A"


@pytest.mark.parametrize(
    ("files", "profile", "why"),
    [
        ({}, "", "no AWS keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile"),
        ({}, "speech", r"AWS: The config profile \(speech\) could not be found"),
        ({"config": "[profile speech]\ncredential_process = false\n"}, "speech", "AWS: Error when retrieving"),
        ({"config": SSO}, "speech", "AWS: Error loading SSO Token"),
        ({"config": "[profile speech\n"}, "speech", "AWS: Unable to parse config file"),
    ],
)
def test_what_is_missing_is_one_line_before_anything_is_asked(
    files: dict[str, str], profile: str, why: str, aws: Path, config: Any
) -> None:
    for name, text in files.items():
        (aws / name).write_text(text)
    with pytest.raises(InputError, match=why) as raised:
        check_access(config(NAME, connection={"profile": profile} if profile else {}))
    assert "\n" not in str(raised.value)


def test_without_botocore_it_says_what_to_install(aws: Path, config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)
    for name in ("session", "exceptions"):
        monkeypatch.setitem(sys.modules, f"botocore.{name}", None)
    with pytest.raises(InputError, match=r"set AWS_ACCESS_KEY_ID .* pip install 'vaeval\[aws\]'"):
        check_access(config(NAME))
    with pytest.raises(MissingDependencyError, match=r"vaeval\[aws\]"):
        check_access(config(NAME, connection={"profile": "speech"}))


class Proxy:
    """A proxy that understands CONNECT; ``wants`` is the Proxy-Authorization it asks for."""

    def __init__(self, answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n", wants: str = "") -> None:
        self.answer, self.wants, self.heads = answer, wants, list[str]()
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = self.server.sockets[0].getsockname()[1]
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        if self.wants and f"Proxy-Authorization: {self.wants}\r\n" not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
        else:
            writer.write(self.answer)
        await writer.drain()
        if b" 200 " not in self.answer or (self.wants and self.wants not in head):
            writer.close()
            return
        host, _, port = head.split()[1].rpartition(":")
        there, to = await asyncio.open_connection(host, int(port))

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(1 << 16):
                sink.write(data)
                await sink.drain()
            sink.close()

        await asyncio.gather(pump(reader, to), pump(there, writer), return_exceptions=True)


@pytest.fixture
def through(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set the proxy of the environment; nothing is exempt from it."""
    for name in ("NO_PROXY", "no_proxy", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)

    def use(proxy: Proxy, user: str = "", kind: str = "http") -> Proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"{kind}://{user}127.0.0.1:{proxy.port}")
        return proxy

    return use


def test_bedrock_through_a_proxy(serve: Any, ask: Any, config: Any, short_prompt: Path, through: Any) -> None:
    proxy = through(Proxy(wants="Basic YW5uYTpzOmNyZXQ="), user="anna:s%3Acret@")
    serve("nova_sonic")
    reply = ask(NovaSonic(), config(NAME), short_prompt, clock=FAST)
    assert reply.status == "ok", reply.error
    assert len(proxy.heads) == 1
    assert proxy.heads[0].startswith("CONNECT localhost:")


def test_a_host_that_is_exempt_is_spoken_to_directly(
    serve: Any, ask: Any, config: Any, short_prompt: Path, through: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = through(Proxy())
    monkeypatch.setenv("NO_PROXY", "localhost")
    serve("nova_sonic")
    assert ask(NovaSonic(), config(NAME), short_prompt, clock=FAST).status == "ok"
    assert not proxy.heads


@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", "http", "refused: 403 Forbidden"),
        (b"hello\r\n\r\n", "http", "refused: no status"),
        (b"SSH-2.0\r\n", "http", "does not answer as an HTTP proxy"),
        (b"", "socks5", "a proxy of the kind socks5:// is not spoken to"),
    ],
)
def test_a_proxy_that_does_not_let_through_is_one_line(
    answer: bytes, kind: str, why: str, serve: Any, ask: Any, config: Any, short_prompt: Path, through: Any
) -> None:
    through(Proxy(answer), kind=kind)
    serve("nova_sonic")
    with pytest.raises(ServiceError, match=why) as raised:
        ask(NovaSonic(), config(NAME), short_prompt, clock=FAST)
    assert raised.value.retry
