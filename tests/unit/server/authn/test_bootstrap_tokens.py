"""Bootstrap tokens: Secrets of kube-system that let nodes join."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from proreus.client import Client, Unauthorized
from proreus.server.authn.bootstrap_tokens import user_of
from proreus.server.authn.options import AuthenticationOptions
from proreus.server.config import ServerConfig
from proreus.server.registry.user import User
from proreus.testing.server import RunningServer, running_server

NOW = 1_767_225_600.0  # 2026-01-01
SECRET = "0123456789abcdef"
GOOD = {
    "token-id": "abcdef",
    "token-secret": SECRET,
    "usage-bootstrap-authentication": "true",
}
JOINING = User("system:bootstrap:abcdef", ("system:bootstrappers",))


def secret(
    *, kind: str = "bootstrap.kubernetes.io/token", deleted: bool = False, **changes: str
) -> dict[str, Any]:
    data = {**GOOD, **{name.replace("_", "-"): value for name, value in changes.items()}}
    packed = {name: base64.b64encode(value.encode()).decode() for name, value in data.items()}
    metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    return {"type": kind, "metadata": metadata, "data": packed}


def test_a_good_token_is_a_bootstrapper() -> None:
    assert user_of(secret(), "abcdef", SECRET, NOW) == JOINING


def test_a_token_may_have_further_groups_of_bootstrappers() -> None:
    groups = "system:bootstrappers:z,system:bootstrappers:kubeadm:default-node-token"

    found = user_of(secret(auth_extra_groups=groups), "abcdef", SECRET, NOW)

    assert found is not None
    assert found.groups == ("system:bootstrappers", *sorted(groups.split(",")))


@pytest.mark.parametrize(
    "stored",
    [
        secret(kind="Opaque"),
        secret(deleted=True),
        secret(token_secret="0123456789abcdeg"),
        secret(token_secret=""),
        secret(token_id="abcdeg"),
        secret(usage_bootstrap_authentication="false"),
        secret(usage_bootstrap_authentication="yes"),
        secret(expiration="2026-01-01T00:00:00Z"),
        secret(expiration="soon"),
        secret(auth_extra_groups="system:masters"),
        secret(auth_extra_groups="system:bootstrappers"),
        secret(auth_extra_groups="system:bootstrappers:a,"),
        {"type": "bootstrap.kubernetes.io/token"},
        {"type": "bootstrap.kubernetes.io/token", "data": {"token-secret": "!"}},
    ],
)
def test_a_secret_that_says_something_else_lets_nobody_in(stored: dict[str, Any]) -> None:
    assert user_of(stored, "abcdef", SECRET, NOW) is None


def test_a_token_that_has_not_expired_yet_is_good() -> None:
    stored = secret(expiration="2026-01-01T00:00:01Z")

    assert user_of(stored, "abcdef", SECRET, NOW) == JOINING


async def who(server: RunningServer, token: str) -> str:
    async with server.client(token) as bearer:
        return await user_name(bearer)


async def user_name(client: Client) -> str:
    reviews = client.resource(api_version="authentication.k8s.io/v1", kind="SelfSubjectReview")
    return str((await reviews.create({}))["status"]["userInfo"]["username"])


@pytest.mark.parametrize("is_enabled", [True, False])
async def test_tokens_are_let_in_while_their_secret_is_there_if_that_is_wanted(
    is_enabled: bool,
) -> None:
    options = AuthenticationOptions(bootstrap_tokens=is_enabled)
    token = f"abcdef.{SECRET}"
    async with (
        running_server(ServerConfig(authentication=options)) as server,
        server.client() as client,
    ):
        secrets = client.core_v1.secrets("kube-system")
        await secrets.create({**secret(), "metadata": {"name": "bootstrap-token-abcdef"}})
        if is_enabled:
            assert await who(server, token) == "system:bootstrap:abcdef"
            await secrets.delete("bootstrap-token-abcdef")
        with pytest.raises(Unauthorized):
            await who(server, token)
