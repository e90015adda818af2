"""Tokens of service accounts."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256

from proreus.api.wire import json
from proreus.client import Client, Unauthorized
from proreus.client.rest.request import Request
from proreus.testing.server import RunningServer, running_server
from proreus.testing.virtual_clock import VirtualClock

TOKEN = {"spec": {"expirationSeconds": 600}}


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest_asyncio.fixture
async def server(clock: VirtualClock) -> AsyncIterator[RunningServer]:
    async with running_server(clock=clock) as running:
        yield running


@pytest_asyncio.fixture
async def client(server: RunningServer) -> AsyncIterator[Client]:
    async with server.client() as connected:
        yield connected


async def post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return await client.rest.get_json(Request("create", "POST", path, body=json.encode(body)))


async def token_of(client: Client, name: str) -> str:
    await client.core_v1.serviceaccounts("default").create({"metadata": {"name": name}})
    path = f"/api/v1/namespaces/default/serviceaccounts/{name}/token"
    answer = await post(client, path, TOKEN)
    return str(answer["status"]["token"])


async def who(server: RunningServer, token: str) -> str:
    async with server.client(token) as bearer:
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        answer = await post(bearer, path, {})
    return str(answer["status"]["userInfo"]["username"])


def _unpacked(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _is_signed(token: str, key: dict[str, str]) -> bool:
    x, y = (int.from_bytes(_unpacked(key[axis]), "big") for axis in "xy")
    signed, _, signature = token.rpartition(".")
    packed = _unpacked(signature)
    numbers = (int.from_bytes(half, "big") for half in (packed[:32], packed[32:]))
    public = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    # Raises if the signature is another's.
    public.verify(utils.encode_dss_signature(*numbers), signed.encode(), ec.ECDSA(SHA256()))
    return True


async def test_a_token_stands_for_its_account(server: RunningServer, client: Client) -> None:
    token = await token_of(client, "bob")

    assert await who(server, token) == "system:serviceaccount:default:bob"


async def test_others_can_check_a_token_by_the_published_key(client: Client) -> None:
    token = await token_of(client, "bob")

    told = await client.rest.get_json(Request("get", "GET", "/.well-known/openid-configuration"))
    keys = await client.rest.get_json(Request("get", "GET", "/openid/v1/jwks"))

    header, claims = (json.decode(_unpacked(part)) for part in token.split(".")[:2])
    assert told["issuer"] == claims["iss"] == "https://kubernetes.default.svc"
    assert told["jwks_uri"].endswith("/openid/v1/jwks")
    assert told["id_token_signing_alg_values_supported"] == [header["alg"]] == ["ES256"]
    assert [key["kid"] for key in keys["keys"]] == [header["kid"]]
    assert _is_signed(token, keys["keys"][0])


async def test_a_token_ends_with_its_time(
    server: RunningServer, client: Client, clock: VirtualClock
) -> None:
    token = await token_of(client, "bob")

    await clock.advance(601)

    with pytest.raises(Unauthorized):
        await who(server, token)


async def test_a_token_ends_with_its_account(server: RunningServer, client: Client) -> None:
    token = await token_of(client, "bob")

    await client.core_v1.serviceaccounts("default").delete("bob")
    await client.core_v1.serviceaccounts("default").create({"metadata": {"name": "bob"}})

    with pytest.raises(Unauthorized):
        await who(server, token)


async def test_a_changed_token_is_none(server: RunningServer, client: Client) -> None:
    head, claims, signature = (await token_of(client, "bob")).split(".")

    for forged in (f"{head}.{claims}.{signature[::-1]}", f"{head}.{claims}x.{signature}", "a.b.c"):
        with pytest.raises(Unauthorized):
            await who(server, forged)
