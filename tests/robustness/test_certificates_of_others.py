"""Client certificates of further authorities, and proxies that speak for users, over real TLS."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from proreus.api.wire import json
from proreus.net.tls import issuing
from proreus.net.tls.key_pairs import KeyPair
from proreus.server.app import ApiServer
from proreus.server.authn.options import AuthenticationOptions, RequestHeaderOptions
from proreus.server.config import ConfigInvalid, ServerConfig
from tests.robustness.wire import connected

NOW = 1_767_225_600.0  # 2026-01-01
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
TRUST = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


class World:
    """A server that trusts two further authorities: of users, and of proxies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.users = issuing.make_authority("users", now=NOW)
        self.proxies = issuing.make_authority("proxies", now=NOW)
        (folder / "users.crt").write_bytes(self.users.certificate)
        (folder / "proxies.crt").write_bytes(self.proxies.certificate)

    def config(self) -> ServerConfig:
        proxy = RequestHeaderOptions(
            client_ca_file=self.folder / "proxies.crt",
            allowed_names=("proxy",),
            username_headers=("X-Remote-User",),
            uid_headers=("X-Remote-Uid",),
            group_headers=("X-Remote-Group",),
            extra_headers_prefix=("X-Remote-Extra-",),
        )
        options = AuthenticationOptions(
            client_ca_file=self.folder / "users.crt", request_header=proxy
        )
        return ServerConfig(data_dir=self.folder / "data", tls=True, authentication=options)

    def trust(self, server: ApiServer, pair: KeyPair | None) -> ssl.SSLContext:
        files = server.credentials.tls
        assert files is not None
        context = ssl.create_default_context(cafile=str(files.authority.certificate))
        if pair is not None:
            (self.folder / "client.pem").write_bytes(pair.certificate + pair.key)
            context.load_cert_chain(self.folder / "client.pem")
        return context


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
async def server(world: World) -> AsyncIterator[ApiServer]:
    async with ApiServer(world.config()) as running:
        yield running


async def user_of(
    world: World, server: ApiServer, pair: KeyPair | None, *headers: tuple[str, str]
) -> Any:
    """UserInfo, or the status code of a refusal. Without a token unless ``headers`` have one."""
    context = world.trust(server, pair)
    async with connected(server, context) as connection:
        given = headers if dict(headers).get("Authorization") else [("Authorization", ""), *headers]
        answer = await connection.ask("POST", WHO, b"{}", given)
    return answer.json["status"]["userInfo"] if answer.code == 201 else answer.code


async def test_certificates_of_a_further_authority_are_users(
    world: World, server: ApiServer
) -> None:
    pair = issuing.issue_client(world.users, "jane", ["dev"], now=NOW)

    user = await user_of(world, server, pair)

    assert (user["username"], user["groups"]) == ("jane", ["dev", "system:authenticated"])


async def test_a_proxy_says_who_asks(world: World, server: ApiServer) -> None:
    proxy = issuing.issue_client(world.proxies, "proxy", [], now=NOW)
    headers = [
        ("X-Remote-User", "carol"),
        ("X-Remote-Group", "a"),
        ("X-Remote-Group", "b"),
        ("X-Remote-Uid", "7"),
        ("X-Remote-Extra-Scopes", "x"),
    ]

    named = await user_of(world, server, proxy, *headers)
    silent = await user_of(world, server, proxy)
    wrong_token = await user_of(world, server, proxy, *headers, ("Authorization", "Bearer wrong"))

    assert (
        named
        == wrong_token
        == {
            "username": "carol",
            "uid": "7",
            "groups": ["a", "b", "system:authenticated"],
            "extra": {"scopes": ["x"]},
        }
    )
    assert silent == 401  # a proxy is no user itself


async def test_nobody_else_is_believed(world: World, server: ApiServer) -> None:
    claim = ("X-Remote-User", "carol")
    user = issuing.issue_client(world.users, "jane", [], now=NOW)
    other_proxy = issuing.issue_client(world.proxies, "eve", [], now=NOW)
    token = ("Authorization", f"Bearer {server.token}")

    assert (await user_of(world, server, user, claim))["username"] == "jane"
    assert await user_of(world, server, other_proxy, claim) == 401
    assert await user_of(world, server, None, claim) in (401, 403)
    assert (await user_of(world, server, None, claim, token))["username"] == "kubernetes-admin"
    assert (await user_of(world, server, other_proxy, token))["username"] == "kubernetes-admin"


async def test_servers_of_further_apis_find_the_authorities_in_a_config_map(
    world: World, server: ApiServer
) -> None:
    async with connected(server, world.trust(server, None)) as connection:
        data = (await connection.ask("GET", TRUST)).json["data"]

    assert world.users.certificate.decode().strip() in data["client-ca-file"]
    assert data["client-ca-file"].count("BEGIN CERTIFICATE") == 2  # and the server's own
    assert data["requestheader-client-ca-file"].startswith(world.proxies.certificate.decode())
    # And that of the server's own certificate, by which it calls them itself.
    assert data["requestheader-client-ca-file"].count("BEGIN CERTIFICATE") == 2
    lists = {name: json.decode(text.encode()) for name, text in data.items() if "-ca-" not in name}
    assert lists == {
        "requestheader-allowed-names": ["proxy", "front-proxy-client"],
        "requestheader-extra-headers-prefix": ["X-Remote-Extra-"],
        "requestheader-group-headers": ["X-Remote-Group"],
        "requestheader-uid-headers": ["X-Remote-Uid"],
        "requestheader-username-headers": ["X-Remote-User"],
    }


async def test_authorities_that_others_rely_on_stay_in_the_config_map(world: World) -> None:
    async with ApiServer(world.config()):
        pass
    old = world.users.certificate.decode().strip()
    world.users = issuing.make_authority("users", now=NOW)
    (world.folder / "users.crt").write_bytes(world.users.certificate)

    async with (
        ApiServer(world.config()) as server,
        connected(server, world.trust(server, None)) as connection,
    ):
        data = (await connection.ask("GET", TRUST)).json["data"]

    assert old in data["client-ca-file"]
    assert world.users.certificate.decode().strip() in data["client-ca-file"]
    assert data["client-ca-file"].count("BEGIN CERTIFICATE") == 3


@pytest.mark.parametrize("content", [None, "nothing"])
async def test_a_file_without_authorities_is_refused_at_the_start(
    world: World, content: str | None
) -> None:
    file = world.folder / "proxies.crt"
    file.unlink()
    if content is not None:
        file.write_text(content)

    with pytest.raises(ConfigInvalid, match=f"requestheader-client-ca-file {file}: "):
        async with ApiServer(world.config()):
            pass
