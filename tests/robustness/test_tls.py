"""TLS: who is let in, who is not, and who may read the keys."""

from __future__ import annotations

import datetime
import ssl
import stat
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest
import trustme

from proreus.net.tls import certificates, issuing, key_pairs
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from tests.robustness.wire import CONFIG_MAPS, Answer, connected

NOBODY = [("Authorization", "")]
DAY_S = 86_400.0


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    data_dir = tmp_path / "data"
    config = ServerConfig(data_dir=data_dir, tls=True, kubeconfig=data_dir / "kubeconfig")
    async with ApiServer(config) as running:
        yield running


def trusting(server: ApiServer) -> ssl.SSLContext:
    files = server.credentials.tls
    assert files is not None
    return ssl.create_default_context(cafile=str(files.authority.certificate))


def with_certificate(server: ApiServer, pair: key_pairs.KeyPair, folder: Path) -> ssl.SSLContext:
    context = trusting(server)
    (folder / "client.crt").write_bytes(pair.certificate)
    (folder / "client.key").write_bytes(pair.key)
    context.load_cert_chain(folder / "client.crt", folder / "client.key")
    return context


def issued(server: ApiServer, user: str, *, now: float | None = None) -> key_pairs.KeyPair:
    files = server.credentials.tls
    assert files is not None
    when = server.clock.now() if now is None else now
    return issuing.issue_client(files.authority.read(), user, ["system:masters"], now=when)


async def ask_as_nobody(server: ApiServer, context: ssl.SSLContext) -> Answer:
    """Without a token, so that only the certificate speaks."""
    async with connected(server, context) as connection:
        return await connection.ask("GET", CONFIG_MAPS, None, NOBODY)


async def assert_alive(server: ApiServer) -> None:
    async with connected(server, trusting(server)) as connection:
        assert (await connection.ask("GET", CONFIG_MAPS)).code == 200


async def test_a_certificate_of_our_authority_says_who_asks(
    server: ApiServer, tmp_path: Path
) -> None:
    pair = issued(server, "jane")
    context = with_certificate(server, pair, tmp_path)

    async with connected(server, context) as connection:
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        answer = await connection.ask("POST", path, b"{}", NOBODY)

    who = answer.json["status"]["userInfo"]
    digest = sha256(ssl.PEM_cert_to_DER_cert(pair.certificate.decode())).hexdigest()
    assert who["username"] == "jane"
    assert who["extra"] == {"authentication.kubernetes.io/credential-id": [f"X509SHA256={digest}"]}


async def test_without_certificate_and_token_only_public_paths_answer(server: ApiServer) -> None:
    assert (await ask_as_nobody(server, trusting(server))).code == 403

    async with connected(server, trusting(server)) as connection:
        assert (await connection.ask("GET", "/livez", None, NOBODY)).code == 200


async def test_a_client_that_trusts_another_authority_refuses_the_server(
    server: ApiServer,
) -> None:
    context = ssl.create_default_context()
    trustme.CA().configure_trust(context)

    with pytest.raises(ssl.SSLCertVerificationError):
        async with connected(server, context):
            pass
    await assert_alive(server)


async def test_a_certificate_of_another_authority_is_refused(
    server: ApiServer, tmp_path: Path
) -> None:
    stranger = issuing.make_authority("proreus", now=server.clock.now())
    pair = issuing.issue_client(stranger, "jane", ["system:masters"], now=server.clock.now())

    with pytest.raises((ssl.SSLError, ConnectionError)):
        await ask_as_nobody(server, with_certificate(server, pair, tmp_path))
    await assert_alive(server)


async def test_an_expired_certificate_is_refused(server: ApiServer, tmp_path: Path) -> None:
    pair = issued(server, "jane", now=server.clock.now() - 20 * 365 * DAY_S)

    with pytest.raises((ssl.SSLError, ConnectionError)):
        await ask_as_nobody(server, with_certificate(server, pair, tmp_path))
    await assert_alive(server)


async def test_a_certificate_from_the_future_is_refused(server: ApiServer, tmp_path: Path) -> None:
    pair = issued(server, "jane", now=server.clock.now() + 365 * DAY_S)

    with pytest.raises((ssl.SSLError, ConnectionError)):
        await ask_as_nobody(server, with_certificate(server, pair, tmp_path))


async def test_the_server_s_own_certificate_is_no_client_s(
    server: ApiServer, tmp_path: Path
) -> None:
    files = server.credentials.tls
    assert files is not None

    with pytest.raises((ssl.SSLError, ConnectionError)):
        await ask_as_nobody(server, with_certificate(server, files.server.read(), tmp_path))


async def test_plain_http_on_the_tls_port_is_dropped(server: ApiServer) -> None:
    async with connected(server) as connection:
        await connection.send(connection.head("GET", "/readyz"))
        said = await connection.rest()

    assert b"200 OK" not in said
    await assert_alive(server)


@pytest.mark.parametrize("sent", [b"", b"\x16", bytes.fromhex("16030100f8010000f4"), b"x" * 5_000])
async def test_a_handshake_that_breaks_off_hurts_nobody(server: ApiServer, sent: bytes) -> None:
    async with connected(server) as connection:
        await connection.send(sent)
        connection.vanish()

    await assert_alive(server)


async def test_outdated_protocol_versions_are_refused(server: ApiServer) -> None:
    context = trusting(server)
    with pytest.warns(DeprecationWarning):
        context.minimum_version = ssl.TLSVersion.TLSv1_1
        context.maximum_version = ssl.TLSVersion.TLSv1_1

    with pytest.raises((ssl.SSLError, ConnectionError)):
        async with connected(server, context):
            pass
    await assert_alive(server)


@pytest.mark.parametrize("umask", [0o000, 0o022])
async def test_only_the_owner_may_read_keys_tokens_and_objects(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    before = os.umask(umask)
    try:
        data_dir = tmp_path / "deep" / "data"
        config = ServerConfig(data_dir=data_dir, tls=True, kubeconfig=data_dir / "kubeconfig")
        async with ApiServer(config) as server, connected(server, trusting(server)) as connection:
            path = "/api/v1/namespaces/default/serviceaccounts"
            await connection.ask("POST", path, b'{"metadata":{"name":"a"}}')
            body = b'{"spec":{"audiences":[]}}'
            assert (await connection.ask("POST", f"{path}/a/token", body)).code == 201
            open_to_others = {
                str(found.relative_to(tmp_path)): oct(stat.S_IMODE(found.stat().st_mode))
                for found in (data_dir, *data_dir.rglob("*"))
                if stat.S_IMODE(found.stat().st_mode) != (0o700 if found.is_dir() else 0o600)
            }
            assert (data_dir / "service-accounts.key").exists()
    finally:
        os.umask(before)

    assert open_to_others == {}


async def test_a_server_certificate_about_to_expire_is_renewed_at_the_start(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / "data"
    long_ago = datetime.datetime.now(datetime.UTC).timestamp() - 3 * 365 * DAY_S
    certificates.ensure_files(data_dir / "tls", ["127.0.0.1"], admin="a", groups=(), now=long_ago)
    expiring = (data_dir / "tls" / "server.crt").read_bytes()

    async with ApiServer(ServerConfig(data_dir=data_dir, tls=True)) as server:
        await assert_alive(server)

    assert (data_dir / "tls" / "server.crt").read_bytes() != expiring


async def test_a_torn_token_file_lets_nobody_in(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o700)
    (data_dir / "admin.token").write_text("")

    async with ApiServer(ServerConfig(data_dir=data_dir)) as server:
        async with connected(server) as connection:
            for header in ("Bearer ", "Bearer", "Bearer  x", ""):
                answer = await connection.ask("GET", CONFIG_MAPS, None, [("Authorization", header)])
                assert answer.code in (401, 403), answer
        assert server.token
