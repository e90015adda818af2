"""Tokens and plugins: what is sent now, and what after a change."""

from __future__ import annotations

import asyncio
import pickle
import sys
from pathlib import Path

import pytest

from proreus.api.wire import json
from proreus.client.client_config import (
    AuthSettings,
    ClientConfig,
    ConfigError,
    ExecSettings,
    TlsSettings,
)
from proreus.client.credentials import CredentialError, credential_source
from proreus.client.credentials.exec_plugin import (
    ExecPlugin,
    cluster_of,
    is_interactive,
    read_output,
)
from proreus.client.credentials.token_file import TokenFile
from proreus.net.client.transport_error import ConnectFailed
from proreus.testing.virtual_clock import VirtualClock

V1 = "client.authentication.k8s.io/v1"


def config(**auth: object) -> ClientConfig:
    return ClientConfig("https://h", auth=AuthSettings(**auth))  # type: ignore[arg-type]


async def header(settings: ClientConfig) -> str:
    return (await credential_source(settings, VirtualClock()).current()).authorization


async def test_tokens_and_basic_become_headers() -> None:
    assert await header(config()) == ""
    assert await header(config(token="t")) == "Bearer t"
    assert await header(config(username="u", password="p")) == "Basic dTpw"
    assert await header(ClientConfig("http://h", auth=AuthSettings(token="t"))) == ""
    local = AuthSettings(token="t", over_loopback_http=True)
    assert await header(ClientConfig("http://127.0.0.1:1", auth=local)) == "Bearer t"
    assert await header(ClientConfig("http://10.0.0.1:1", auth=local)) == ""
    with pytest.raises(ConfigError, match="both"):
        await header(config(token="t", username="u"))


async def test_a_certificate_makes_a_plugin_unnecessary() -> None:
    plugin = ExecSettings("/does/not/exist", V1)
    tls = TlsSettings(cert_data=b"c", key_data=b"k")
    settings = ClientConfig("https://h", tls=tls, auth=AuthSettings(exec=plugin))

    assert await header(settings) == ""


async def test_a_rotated_token_file_is_read_again_after_fifty_seconds(tmp_path: Path) -> None:
    clock, path = VirtualClock(), tmp_path / "token"
    path.write_text(" one\n")
    source = TokenFile(path, clock)
    assert (await source.current()).authorization == "Bearer one"
    path.write_text("two")

    await clock.advance(49)
    assert (await source.current()).authorization == "Bearer one"
    await clock.advance(1)
    assert (await source.current()).authorization == "Bearer two"
    path.unlink()
    await clock.advance(50)
    source.refused(await source.current())
    assert (await source.current()).authorization == "Bearer two"


async def test_a_token_file_that_never_was_is_an_error_or_falls_back(tmp_path: Path) -> None:
    path = tmp_path / "token"
    with pytest.raises(CredentialError, match="cannot be read"):
        await TokenFile(path, VirtualClock()).current()
    path.write_text("\n")
    with pytest.raises(CredentialError, match="is empty"):
        await TokenFile(path, VirtualClock()).current()

    assert await header(config(token_file=path, token="spare")) == "Bearer spare"
    path.write_text("new")
    assert await header(config(token_file=path, token="spare")) == "Bearer new"


PLUGIN = """
import json, os, pathlib, sys
count = pathlib.Path(sys.argv[1])
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
asked = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
status = {"token": f"{os.environ['PREFIX']}-{number}"}
if len(sys.argv) > 2:
    status["expirationTimestamp"] = sys.argv[2]
if "cluster" in asked["spec"]:
    status["token"] = asked["spec"]["cluster"]["server"]
print(json.dumps({"kind": "ExecCredential", "apiVersion": asked["apiVersion"], "status": status}))
"""


def plugin(tmp_path: Path, *args: str, **more: object) -> ExecSettings:
    script = tmp_path / "plugin.py"
    script.write_text(PLUGIN)
    return ExecSettings(
        command=sys.executable,
        api_version=V1,
        args=("-S", "-E", str(script), str(tmp_path / "count"), *args),
        env=(("PREFIX", "token"),),
        interactive_mode="Never",
        **more,  # type: ignore[arg-type]
    )


async def test_a_plugin_runs_once_and_again_after_a_refusal(tmp_path: Path) -> None:
    settings = plugin(tmp_path)
    source = ExecPlugin(settings, ClientConfig("https://h"), VirtualClock())

    first, same = await asyncio.gather(source.current(), source.current())
    assert first.authorization == same.authorization == "Bearer token-1"
    source.refused(first)
    second = await source.current()
    source.refused(first)  # late news about the old one

    assert second.authorization == "Bearer token-2"
    assert await source.current() is second


async def test_expired_credentials_are_fetched_again(tmp_path: Path) -> None:
    clock = VirtualClock()  # starts at 2026-01-01
    settings = plugin(tmp_path, "2026-01-01T00:00:10Z")
    source = ExecPlugin(settings, ClientConfig("https://h"), clock)

    assert (await source.current()).authorization == "Bearer token-1"
    await clock.advance(10)
    assert (await source.current()).authorization == "Bearer token-1"
    await clock.advance(1)
    assert (await source.current()).authorization == "Bearer token-2"


async def test_a_plugin_may_learn_of_the_cluster(tmp_path: Path) -> None:
    settings = plugin(tmp_path, provide_cluster=True)
    source = ExecPlugin(settings, ClientConfig("https://h"), VirtualClock())

    assert (await source.current()).authorization == "Bearer https://h"


def test_the_cluster_is_described_in_full(tmp_path: Path) -> None:
    (tmp_path / "ca").write_bytes(b"CA")
    plugin = ExecSettings("x", V1, cluster_extension='{"a":1}')
    settings = ClientConfig(
        "https://h",
        tls=TlsSettings(ca_file=tmp_path / "ca", server_name="n"),
        auth=AuthSettings(exec=plugin),
        proxy_url="http://p",
        disable_compression=True,
    )

    assert cluster_of(settings) == {
        "server": "https://h",
        "tls-server-name": "n",
        "certificate-authority-data": "Q0E=",
        "proxy-url": "http://p",
        "disable-compression": True,
        "config": {"a": 1},
    }
    insecure = ClientConfig("https://h", tls=TlsSettings(insecure=True))
    assert cluster_of(insecure)["insecure-skip-tls-verify"] is True


async def test_a_missing_program_is_said_with_its_install_hint() -> None:
    settings = ExecSettings("/no/such/plugin", V1, install_hint="get it", interactive_mode="Never")
    source = ExecPlugin(settings, ClientConfig("https://h"), VirtualClock())

    with pytest.raises(CredentialError, match="no such program\n\nget it"):
        await source.current()


async def test_a_failing_program_is_said_with_its_exit_code() -> None:
    settings = ExecSettings(
        sys.executable, V1, ("-c", "raise SystemExit(3)"), interactive_mode="Never"
    )
    with pytest.raises(CredentialError, match="exit code 3"):
        await ExecPlugin(settings, ClientConfig("https://h"), VirtualClock()).current()


async def test_a_program_that_never_answers_is_ended(tmp_path: Path) -> None:
    clock, started = VirtualClock(), tmp_path / "started"
    wait = f"import pathlib, time; pathlib.Path({str(started)!r}).touch(); time.sleep(600)"
    settings = ExecSettings(sys.executable, V1, ("-c", wait), interactive_mode="Never")
    source = ExecPlugin(settings, ClientConfig("https://h"), clock)

    async def outcome() -> str:
        try:
            await source.current()
        except CredentialError as problem:
            return str(problem)
        return ""

    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(outcome())
        async with asyncio.timeout(60):
            while not started.exists():  # noqa: ASYNC110  # another process makes it
                await asyncio.sleep(0.01)
        await clock.advance(60)

    assert "no credential in 60 s" in waiting.result()


def printed(**status: object) -> bytes:
    return json.encode({"kind": "ExecCredential", "apiVersion": V1, "status": status})


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (b"oops", "no JSON"),
        (b"{}", "no ExecCredential"),
        (b"[]", "no ExecCredential"),
        (b'{"kind":"ExecCredential","apiVersion":"v9"}', "printed v9"),
        (printed(), "neither a token nor a certificate"),
        (printed(clientCertificateData="c"), "without the other"),
    ],
)
def test_what_a_plugin_prints_is_checked(output: bytes, message: str) -> None:
    with pytest.raises(CredentialError, match=message):
        read_output(output, ExecSettings("x", V1))


def test_a_plugin_may_give_a_certificate() -> None:
    found, expires = read_output(
        printed(
            clientCertificateData="c",
            clientKeyData="k",
            expirationTimestamp="2026-01-01T00:00:00Z",
        ),
        ExecSettings("x", V1),
    )

    assert (found.authorization, found.cert_data, found.key_data) == ("", b"c", b"k")
    assert expires == 1_767_225_600


def test_interaction_needs_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    assert not is_interactive(ExecSettings("x", V1, interactive_mode="IfAvailable"))
    with pytest.raises(CredentialError, match="needs a terminal"):
        is_interactive(ExecSettings("x", V1, interactive_mode="Always"))


def test_a_credential_that_cannot_be_had_is_a_passing_trouble_not_a_wrong_configuration() -> None:
    failed = CredentialError("plugin: exit code 1")

    assert isinstance(failed, ConnectFailed)
    assert not isinstance(failed, ConfigError)
    assert str(failed) == str(pickle.loads(pickle.dumps(failed))) == "plugin: exit code 1"
