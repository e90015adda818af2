"""The certificate that a server presents, when its files change while it runs."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from proreus.net.tls import issuing
from proreus.net.tls.certificates import TlsFiles
from proreus.net.tls.key_pairs import KeyPair
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.testing.virtual_clock import VirtualClock
from tests.http2_client import connected_http2, trusting_anybody
from tests.robustness.wire import connected


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    async with ApiServer(ServerConfig(data_dir=tmp_path, tls=True)) as running:
        yield running


def files_of(server: ApiServer) -> TlsFiles:
    assert server.credentials.tls is not None
    return server.credentials.tls


def trusting(server: ApiServer) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(files_of(server).authority.certificate))


def another_pair(server: ApiServer) -> KeyPair:
    authority = files_of(server).authority.read()
    return issuing.issue_server(authority, ["127.0.0.1", "localhost"], now=server.clock.now())


async def reload(server: ApiServer) -> None:
    followed = server.parts.followed_tls
    assert followed is not None
    await followed.reload(server.parts.offload.configuration)


async def presented(server: ApiServer, trust: ssl.SSLContext | None = None) -> str:
    """The certificate that who connects now gets, and accepts."""
    _, writer = await asyncio.open_connection(
        "127.0.0.1", server.parts.http.port, ssl=trust or trusting(server)
    )
    certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.transport.abort()
    return ssl.DER_cert_to_PEM_cert(certificate)


async def test_who_connects_after_a_change_gets_the_new_certificate(server: ApiServer) -> None:
    before, new = await presented(server), another_pair(server)

    async with connected(server, trusting(server)) as connection:
        files_of(server).server.write(new)
        await reload(server)

        assert await presented(server) == new.certificate.decode() != before
        assert (await connection.ask("GET", "/livez/ping")).body == b"ok"  # it was open before
        async with connected_http2(server.url, server.token) as client:
            assert (await client.ask("GET", "/livez/ping")).body == b"ok"


async def test_a_pair_that_does_not_fit_leaves_the_old_one_in_force_and_is_named_once(
    server: ApiServer,
) -> None:
    before, new, files = await presented(server), another_pair(server), files_of(server).server

    with capture_logs() as said:
        files.certificate.write_bytes(new.certificate)  # its key is to come
        await reload(server)
        await reload(server)
        still = await presented(server)
        files.key.unlink()
        await reload(server)
        without_key = await presented(server)
        files.write(new)
        await reload(server)

    assert (still, without_key) == (before, before)
    assert await presented(server) == new.certificate.decode()
    assert [line["event"] for line in said if "certificate" in line["event"]] == [
        "the serving certificate stays as it was",
        "the serving certificate stays as it was",
        "serving certificate reloaded",
    ]


async def test_the_files_are_read_once_a_minute(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with ApiServer(ServerConfig(data_dir=tmp_path, tls=True), clock) as server:
        new = another_pair(server)
        files_of(server).server.write(new)
        async with asyncio.timeout(60):
            # It is valid by the virtual clock, and perhaps not yet by the machine's.
            while await presented(server, trusting_anybody()) != new.certificate.decode():
                await clock.advance(61)
                await asyncio.sleep(0.01)
