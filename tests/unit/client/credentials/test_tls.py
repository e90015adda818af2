"""TLS over a real socket: trust, certificates, and their rotation."""

from __future__ import annotations

import contextlib
import logging
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme

from proreus.client.client_config import AuthSettings, ClientConfig, ConfigError, TlsSettings
from proreus.client.credentials import Credential, TlsIdentity
from proreus.client.rest.client import RestClient
from proreus.client.rest.request import RestRequest
from proreus.net.client.transport_error import TlsFailed
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.client.scripted_server import Connection, Received, ScriptedServer, answer

GET = RestRequest("get", "GET", "/x")


def pem(ca: trustme.CA) -> bytes:
    content: bytes = ca.cert_pem.bytes()
    return content


def pair(ca: trustme.CA, name: str) -> tuple[bytes, bytes]:
    issued = ca.issue_cert(name, common_name=name)
    return b"".join(b.bytes() for b in issued.cert_chain_pems), issued.private_key_pem.bytes()


class NamingServer(ScriptedServer):
    """Remembers the name in each client's certificate."""

    def __init__(self) -> None:
        super().__init__([self.step], repeats=True)
        self.names: list[str] = []

    async def step(self, received: Received, connection: Connection) -> None:
        certificate = connection.writer.get_extra_info("peercert")
        subject = dict(part[0] for part in (certificate or {}).get("subject", ()))
        self.names.append(subject.get("commonName", ""))
        await answer(200, b"{}")(received, connection)


@contextlib.asynccontextmanager
async def server(ca: trustme.CA, name: str = "127.0.0.1") -> AsyncIterator[NamingServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(name).configure_cert(context)
    context.verify_mode = ssl.CERT_OPTIONAL
    ca.configure_trust(context)
    naming = NamingServer()
    async with naming.running(context):
        yield naming


async def test_a_server_of_the_given_authority_is_trusted_and_gets_the_token() -> None:
    ca = trustme.CA()
    async with server(ca) as running:
        config = ClientConfig(
            running.url, tls=TlsSettings(ca_data=pem(ca)), auth=AuthSettings(token="t")
        )
        async with RestClient(config) as rest:
            await rest.send(GET)

    assert running.requests[0].headers["authorization"] == "Bearer t"


async def test_a_server_of_another_authority_is_not() -> None:
    async with server(trustme.CA()) as running:
        config = ClientConfig(running.url, tls=TlsSettings(ca_data=pem(trustme.CA())))
        async with RestClient(config) as rest:
            with pytest.raises(TlsFailed, match=r"TLS: .*(certificate|issuer)"):
                await rest.send(GET)


async def test_unless_it_is_not_to_be_checked() -> None:
    async with server(trustme.CA()) as running:
        config = ClientConfig(running.url, tls=TlsSettings(insecure=True))
        async with RestClient(config) as rest:
            await rest.send(GET)
        assert len(running.requests) == 1


async def test_the_certificate_may_be_for_another_name_if_that_is_said() -> None:
    ca = trustme.CA()
    async with server(ca, "kubernetes.default") as running:
        wrong = ClientConfig(running.url, tls=TlsSettings(ca_data=pem(ca)))
        right = ClientConfig(
            running.url, tls=TlsSettings(ca_data=pem(ca), server_name="kubernetes.default")
        )
        async with RestClient(wrong) as rest:
            with pytest.raises(TlsFailed):
                await rest.send(GET)
        async with RestClient(right) as rest:
            await rest.send(GET)


async def test_a_renewed_certificate_is_presented_on_new_connections(tmp_path: Path) -> None:
    ca, clock = trustme.CA(), VirtualClock()
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"

    def write(name: str) -> None:
        for path, content in zip((cert, key), pair(ca, name), strict=True):
            path.unlink(missing_ok=True)
            path.write_bytes(content)

    write("old")
    async with server(ca) as running:
        tls = TlsSettings(ca_data=pem(ca), cert_file=cert, key_file=key)
        async with RestClient(ClientConfig(running.url, tls=tls), clock=clock) as rest:
            await rest.send(GET)
            await rest.send(GET)
            write("new")
            await clock.advance(2)
            await rest.send(GET)

    assert running.names == ["old", "old", "new"]
    assert running.connections == 2


def test_the_context_stays_while_nothing_changes_and_survives_bad_files(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ca, clock, path = trustme.CA(), VirtualClock(), tmp_path / "ca"
    path.write_bytes(pem(ca))
    identity = TlsIdentity(TlsSettings(ca_file=path), clock)
    first = identity.context(Credential())
    clock._elapsed_s += 5

    assert identity.context(Credential()) is first
    path.write_bytes(b"")
    clock._elapsed_s += 5
    with caplog.at_level(logging.WARNING):
        assert identity.context(Credential()) is first
    assert "is empty" in caplog.text
    path.write_bytes(pem(trustme.CA()))
    clock._elapsed_s += 5
    assert identity.context(Credential()) is not first


def test_a_plugins_certificate_makes_a_new_context() -> None:
    ca = trustme.CA()
    identity = TlsIdentity(TlsSettings(ca_data=pem(ca)), VirtualClock())
    cert, key = pair(ca, "x")

    plain = identity.context(Credential())
    with_certificate = identity.context(Credential("", cert, key))

    assert plain is not with_certificate
    assert identity.context(Credential("", cert, key)) is with_certificate


def test_what_cannot_be_used_is_said(tmp_path: Path) -> None:
    ca = trustme.CA()
    cert, key = pair(ca, "x")
    other = pair(ca, "y")[1]
    for settings, message in (
        (TlsSettings(ca_file=tmp_path / "none"), "none: cannot be read"),
        (TlsSettings(ca_data=b"junk"), "no certificates in it"),
        (TlsSettings(ca_data=b"\xff"), "no certificates in it"),
        (TlsSettings(cert_data=cert, key_data=other), "do not make a pair"),
        (TlsSettings(cert_data=cert), "without its key"),
    ):
        with pytest.raises(ConfigError, match=message):
            TlsIdentity(settings, VirtualClock()).context(Credential())
    with pytest.raises(ConfigError, match="insecure"):
        TlsIdentity(TlsSettings(insecure=True, ca_data=pem(ca)), VirtualClock())
    assert TlsIdentity(TlsSettings(cert_data=cert, key_data=key), VirtualClock()).context(
        Credential()
    )


async def test_a_refused_plugin_credential_is_replaced_for_the_next_call(tmp_path: Path) -> None:
    """The 401 surfaces and is not replayed; the next call has new credentials."""
    import sys

    from proreus.api.status import Unauthorized
    from proreus.client.client_config import ExecSettings

    ca, count = trustme.CA(), tmp_path / "count"
    count.write_text("0")
    program = (
        "import json,pathlib,sys;p=pathlib.Path(sys.argv[1]);n=int(p.read_text())+1;"
        "p.write_text(str(n));print(json.dumps(dict(kind='ExecCredential',"
        "apiVersion='client.authentication.k8s.io/v1',status=dict(token=str(n)))))"
    )
    plugin = ExecSettings(
        sys.executable,
        "client.authentication.k8s.io/v1",
        ("-S", "-E", "-c", program, str(count)),
        interactive_mode="Never",
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1").configure_cert(context)
    async with ScriptedServer([answer(401), answer(200, b"{}")]).running(context) as running:
        config = ClientConfig(
            running.url, tls=TlsSettings(ca_data=pem(ca)), auth=AuthSettings(exec=plugin)
        )
        async with RestClient(config) as rest:
            with pytest.raises(Unauthorized):
                await rest.send(GET)
            assert count.read_text() == "1"
            await rest.send(GET)

    assert [one.headers["authorization"] for one in running.requests] == ["Bearer 1", "Bearer 2"]
