"""A server with a configuration of authentication: issuers over HTTPS, webhooks, the anonymous."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import structlog

from proreus.api.wire import json
from proreus.client import Client, Unauthorized
from proreus.client.rest.request import RestRequest
from proreus.server.authn.options import AuthenticationOptions, OidcOptions
from proreus.server.config import ConfigInvalid, ServerConfig
from proreus.testing.server import RunningServer, running_server
from proreus.testing.virtual_clock import VirtualClock
from tests.robustness.wire import ask
from tests.unit.server.authn import issuer as issuers
from tests.unit.server.authn.issuer import TestIssuer

REVIEW = "/apis/authentication.k8s.io/v1/tokenreviews"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


issuer = issuers.issuer


class World:
    """A server that follows a configuration file; ``prefix`` is that of users in the file."""

    def __init__(self, folder: Path, issuer: TestIssuer) -> None:
        self.file = folder / "authentication.yaml"
        self.issuer = issuer
        self.clock = VirtualClock()
        self.write()

    def write(self, prefix: str = "oidc:", **others: Any) -> None:
        entry = {
            "issuer": {
                "url": self.issuer.url,
                "audiences": ["proreus"],
                "certificateAuthority": self.issuer.authority,
            },
            "claimMappings": {
                "username": {"expression": f"'{prefix}' + claims.sub"},
                "groups": {"expression": "claims.?roles.orValue([])"},
            },
            "userValidationRules": [
                {"expression": "!user.?groups.orValue([]).exists(g, g.startsWith('system:'))"}
            ],
        }
        kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration"}
        self.put(json.encode({**kind, "jwt": [entry], **others}))

    def put(self, content: bytes) -> None:
        """Whole at once: a server may be reading."""
        new = self.file.with_suffix(".new")
        new.write_bytes(content)
        new.replace(self.file)

    def config(self, **options: Any) -> ServerConfig:
        wanted = AuthenticationOptions(config_file=self.file, **options)
        return ServerConfig(authentication=wanted)


@pytest.fixture
def world(tmp_path: Path, issuer: TestIssuer) -> World:
    return World(tmp_path, issuer)


async def post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return await client.rest.get_json(RestRequest("create", "POST", path, body=json.encode(body)))


async def name_of(server: RunningServer, token: str) -> str:
    """ "" if it is not let in."""
    async with server.client(token) as bearer:
        try:
            return str((await post(bearer, WHO, {}))["status"]["userInfo"]["username"])
        except Unauthorized:
            return ""


async def until(holds: Callable[[], Awaitable[bool]], clock: VirtualClock) -> None:
    """What is waited for happens outside of the loop: in a thread, or at the issuer."""
    async with asyncio.timeout(60):
        while not await holds():
            await asyncio.sleep(0.01)
            await clock.advance(5)


async def test_users_of_an_issuer_are_let_in_and_a_changed_file_takes_effect(world: World) -> None:
    token = world.issuer.token(roles=["dev"])

    def is_named(name: str) -> Callable[[], Awaitable[bool]]:
        async def holds() -> bool:
            return await name_of(server, token) == name

        return holds

    async with running_server(world.config(), world.clock) as server, server.client() as admin:
        await until(is_named("oidc:jane"), world.clock)
        reviewed = await post(admin, REVIEW, {"spec": {"token": token}})
        reserved = world.issuer.token(roles=["system:masters"])
        refused = await post(admin, REVIEW, {"spec": {"token": reserved}})

        world.write("new:")
        await until(is_named("new:jane"), world.clock)
        world.put(b"nonsense")
        await until(lambda: counted(server, "failure"), world.clock)
        assert await name_of(server, token) == "new:jane"
        assert await counted(server, "success")

    assert reviewed["status"]["user"]["groups"] == ["dev", "system:authenticated"]
    assert "failed: " in refused["status"]["error"]
    assert not refused["status"].get("authenticated")


async def counted(server: RunningServer, status: str) -> bool:
    answer = await ask(server, "GET", "/metrics")
    name = "apiserver_authentication_config_controller_automatic_reloads_total"
    return f'{name}{{status="{status}"}} 1\n' in answer.body.decode()


async def test_a_server_starts_although_its_issuer_is_down_and_others_are_let_in(
    world: World,
) -> None:
    world.issuer.pages.clear()
    token = world.issuer.token()
    async with running_server(world.config(), world.clock) as server:
        assert await name_of(server, token) == ""
        assert await name_of(server, server.token) == "kubernetes-admin"

        world.issuer.publish()

        async def is_in() -> bool:
            return await name_of(server, token) == "oidc:jane"

        await until(is_in, world.clock)


async def test_the_anonymous_are_let_in_where_the_file_says(world: World) -> None:
    world.write(anonymous={"enabled": True, "conditions": [{"path": "/livez"}]})
    nobody = [("Authorization", "")]
    async with running_server(world.config(), world.clock) as server:
        codes = [
            (await ask(server, "GET", path, None, nobody)).code for path in ("/livez", "/version")
        ]

    assert codes == [200, 401]


async def test_flags_and_files_that_contradict_each_other_are_refused(world: World) -> None:
    world.write(anonymous={"enabled": True})
    for options in ({"anonymous": False}, {"anonymous": True}):
        with pytest.raises(ConfigInvalid, match="--anonymous-auth flag cannot be set when"):
            async with running_server(world.config(**options)):
                pass
    with pytest.raises(ValueError, match=r"oidc-\* flags are mutually exclusive"):
        world.config(oidc=OidcOptions(issuer_url="https://i", client_id="c"))


async def test_a_wrong_file_is_refused_at_the_start_with_file_and_field(world: World) -> None:
    world.file.write_text(
        "apiVersion: apiserver.config.k8s.io/v1\n"
        "kind: AuthenticationConfiguration\n"
        "jwt: [{issuer: {url: x}}]\n"
    )

    with pytest.raises(ConfigInvalid) as refused:
        async with running_server(world.config()):
            pass

    assert str(refused.value).startswith(
        f"authentication configuration file {world.file}: "
        '[jwt[0].issuer.url: Invalid value: "x": URL scheme must be https'
    )


async def test_no_token_is_ever_logged(world: World, issuer: TestIssuer) -> None:
    good, bad = issuer.token(), issuer.token(aud="other")
    with structlog.testing.capture_logs() as logs:
        async with running_server(world.config(), world.clock) as server:

            async def is_in() -> bool:
                return await name_of(server, good) == "oidc:jane"

            await until(is_in, world.clock)
            assert await name_of(server, bad) == ""
            rendered = repr(server.api) + repr(server.api.config)

    said = str(logs) + rendered
    for token in (good, bad, server.token):
        assert token not in said
        assert token.rpartition(".")[2] not in said
