"""A server with a certificate of its administrator's, and authorities of clients that change."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from proreus.client import Client, ClientConfig, TlsSettings, TransportError, load_config
from proreus.net.tls import issuing
from proreus.net.tls.key_pairs import KeyPair, PairFiles
from proreus.server.app import ApiServer
from proreus.server.authn.options import AuthenticationOptions
from proreus.server.config import ConfigInvalid, ServerConfig

NAME = "cluster.example.com"
_NOW = time.time()


@dataclass(frozen=True, slots=True)
class Office:
    """An authority that the cluster has nothing to do with, and the files it fills."""

    authority: KeyPair
    served: PairFiles
    clients: Path

    def serve(self, server: ApiServer | None = None) -> KeyPair:
        now = server.clock.now() if server is not None else _NOW
        made = issuing.issue_server(self.authority, [NAME], now=now)
        self.served.certificate.write_bytes(made.certificate)
        self.served.key.write_bytes(made.key)
        return made

    def user(self, name: str) -> KeyPair:
        return issuing.issue_client(self.authority, name, (), now=_NOW)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    authority = issuing.make_authority("office", now=_NOW)
    made = Office(
        authority, PairFiles(tmp_path / "tls.crt", tmp_path / "tls.key"), tmp_path / "clients.crt"
    )
    made.serve()
    made.clients.write_bytes(issuing.make_authority("nobody's", now=_NOW).certificate)
    return made


@pytest.fixture
async def server(tmp_path: Path, office: Office) -> AsyncIterator[ApiServer]:
    folder = tmp_path / "data"
    config = ServerConfig(
        data_dir=folder,
        tls=True,
        serving=office.served,
        kubeconfig=folder / "kubeconfig",
        authentication=AuthenticationOptions(client_ca_file=office.clients),
    )
    async with ApiServer(config) as running:
        yield running


async def reload(server: ApiServer) -> None:
    followed = server.parts.followed_tls
    assert followed is not None
    await followed.reload(server.parts.offload.configuration)


async def presented_for(server: ApiServer, name: str, trusted: bytes) -> str:
    """The certificate, which is checked."""
    trust = ssl.create_default_context(cadata=trusted.decode())
    trust.set_alpn_protocols(["h2", "http/1.1"])
    _, writer = await asyncio.open_connection(
        "127.0.0.1", server.parts.http.port, ssl=trust, server_hostname=name
    )
    connection = writer.get_extra_info("ssl_object")
    assert connection.selected_alpn_protocol() == "h2"
    certificate = connection.getpeercert(binary_form=True)
    writer.transport.abort()
    return ssl.DER_cert_to_PEM_cert(certificate)


async def test_who_names_the_host_sees_the_given_certificate_and_the_kubeconfig_works(
    server: ApiServer, office: Office
) -> None:
    presented = await presented_for(server, NAME, office.authority.certificate)
    own = server.credentials.authority
    assert own is not None
    by_address = await presented_for(server, "127.0.0.1", own)

    assert presented == office.served.certificate.read_text() != by_address
    async with Client(load_config(server.config.kubeconfig)) as client:
        assert (await client.core_v1.namespaces.get("default")).name == "default"


async def test_a_new_pair_is_presented_and_one_that_does_not_fit_leaves_it_in_force(
    server: ApiServer, office: Office
) -> None:
    new = office.serve(server)
    await reload(server)
    assert await presented_for(server, NAME, office.authority.certificate) == (
        new.certificate.decode()
    )

    office.served.key.write_bytes(office.authority.key)
    await reload(server)

    assert await presented_for(server, NAME, office.authority.certificate) == (
        new.certificate.decode()
    )


async def test_users_of_an_authority_are_known_as_soon_as_its_file_has_it_and_not_after(
    server: ApiServer, office: Office
) -> None:
    user = office.user("jane")
    tls = TlsSettings(
        ca_data=server.credentials.authority, cert_data=user.certificate, key_data=user.key
    )
    config = ClientConfig(server.url, tls=tls)

    async def who() -> str:
        async with Client(config) as client:
            found = await client.authentication_v1.selfsubjectreviews.create({})
            return str(found.status.userInfo.username)

    with pytest.raises(TransportError):
        await who()
    nobodys = office.clients.read_bytes()
    office.clients.write_bytes(office.authority.certificate)
    await reload(server)
    assert await who() == "jane"

    office.clients.write_bytes(b"no certificate")
    await reload(server)
    assert await who() == "jane"

    office.clients.write_bytes(nobodys)
    await reload(server)
    with pytest.raises(TransportError):
        await who()


async def test_a_pair_that_is_none_keeps_a_server_from_starting(
    tmp_path: Path, office: Office
) -> None:
    office.served.key.write_bytes(office.authority.key)
    config = ServerConfig(data_dir=tmp_path / "data", tls=True, serving=office.served)

    with pytest.raises(ConfigInvalid, match="are not a certificate and its key"):
        async with ApiServer(config):
            raise AssertionError("it started")
