"""Tokens of service accounts."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from proreus.api.values.timestamp import parse_time
from proreus.api.wire import json
from proreus.client import Client, Unauthorized
from proreus.client.rest.request import RestRequest
from proreus.net.private_files import write_private
from proreus.server.authn.options import AuthenticationOptions, ServiceAccountOptions
from proreus.server.config import ConfigInvalid, ServerConfig
from proreus.testing.server import RunningServer, running_server
from proreus.testing.virtual_clock import VirtualClock

REVIEW = "/apis/authentication.k8s.io/v1/tokenreviews"
TOKEN = {"spec": {"expirationSeconds": 600}}


def service_accounts(**options: Any) -> ServerConfig:
    wanted = ServiceAccountOptions(**options)
    return ServerConfig(authentication=AuthenticationOptions(service_accounts=wanted))


def pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    private = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption())


async def post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return await client.rest.get_json(RestRequest("create", "POST", path, body=json.encode(body)))


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
    modulus, exponent = (int.from_bytes(_unpacked(key[part]), "big") for part in "ne")
    signed, _, signature = token.rpartition(".")
    public = rsa.RSAPublicNumbers(exponent, modulus).public_key()
    # Raises if the signature is another's.
    public.verify(_unpacked(signature), signed.encode(), padding.PKCS1v15(), SHA256())
    return True


async def test_a_token_stands_for_its_account(server: RunningServer, client: Client) -> None:
    token = await token_of(client, "bob")

    assert await who(server, token) == "system:serviceaccount:default:bob"


async def test_others_can_check_a_token_by_the_published_key(client: Client) -> None:
    token = await token_of(client, "bob")

    document = await client.rest.get_json(
        RestRequest("get", "GET", "/.well-known/openid-configuration")
    )
    keys = await client.rest.get_json(RestRequest("get", "GET", "/openid/v1/jwks"))

    header, claims = (json.decode(_unpacked(part)) for part in token.split(".")[:2])
    assert document["issuer"] == claims["iss"] == "https://kubernetes.default.svc.cluster.local"
    assert document["jwks_uri"].endswith("/openid/v1/jwks")
    assert document["id_token_signing_alg_values_supported"] == [header["alg"]] == ["RS256"]
    assert [key["kid"] for key in keys["keys"]] == [header["kid"]]
    assert _is_signed(token, keys["keys"][0])


async def test_the_key_of_a_data_folder_stays(tmp_path: Path) -> None:
    async with running_server(ServerConfig(data_dir=tmp_path)) as first, first.client() as client:
        token = await token_of(client, "bob")
    async with running_server(ServerConfig(data_dir=tmp_path)) as again:
        assert await who(again, token) == "system:serviceaccount:default:bob"


async def test_a_folder_with_a_key_of_before_goes_on_with_it(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    write_private(tmp_path / "service-accounts.key", pem(key))

    async with running_server(ServerConfig(data_dir=tmp_path)) as server, server.client() as client:
        token = await token_of(client, "bob")
        assert await who(server, token) == "system:serviceaccount:default:bob"

    assert json.decode(_unpacked(token.split(".")[0]))["alg"] == "ES256"


async def test_keys_issuers_and_audiences_can_be_given(tmp_path: Path) -> None:
    old, new = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "old").write_bytes(pem(old))
    (tmp_path / "new").write_bytes(pem(new))
    before = service_accounts(issuers=("https://old",), signing_key_file=tmp_path / "old")
    after = service_accounts(
        issuers=("https://new", "https://old"),
        signing_key_file=tmp_path / "new",
        key_files=(tmp_path / "old",),
        api_audiences=("https://old", "api"),
        jwks_uri="https://keys.example.com/jwks",
    )
    async with running_server(before) as server, server.client() as client:
        token = await token_of(client, "bob")
    async with running_server(after) as server, server.client() as client:
        made = await token_of(client, "eve")
        document = await client.rest.get_json(
            RestRequest("get", "GET", "/.well-known/openid-configuration")
        )
        keys = await client.rest.get_json(RestRequest("get", "GET", "/openid/v1/jwks"))
        assert await who(server, made) == "system:serviceaccount:default:eve"
        with pytest.raises(Unauthorized):  # its account is another server's
            await who(server, token)
        said = await post(client, REVIEW, {"spec": {"token": token}})

    claims = json.decode(_unpacked(made.split(".")[1]))
    assert (claims["iss"], claims["aud"]) == ("https://new", ["https://old", "api"])
    assert (document["issuer"], document["jwks_uri"]) == (
        "https://new",
        "https://keys.example.com/jwks",
    )
    assert document["id_token_signing_alg_values_supported"] == ["ES256", "ES384"]
    assert [key["crv"] for key in keys["keys"]] == ["P-256", "P-384"]
    assert said["status"]["error"] == '[invalid bearer token, serviceaccounts "bob" not found]'


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"signing_key_file": "none"}, "service account key file none: No such file or directory"),
        ({"key_files": ("text",)}, "service account key file text: data does not contain any"),
        ({"signing_key_file": "text"}, "service account key file text: it is not a private key"),
    ],
)
async def test_a_key_that_cannot_be_used_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("secret")
    given = {
        name: tuple(map(Path, value)) if isinstance(value, tuple) else Path(value)
        for name, value in options.items()
    }

    with pytest.raises(ConfigInvalid, match=why) as refused:
        async with running_server(service_accounts(**given)):
            pass

    assert "secret" not in str(refused.value)


async def test_a_kubelets_token_lasts_a_year_and_says_when_it_should_have_been_replaced(
    client: Client, clock: VirtualClock, server: RunningServer
) -> None:
    await client.core_v1.serviceaccounts("default").create({"metadata": {"name": "bob"}})
    containers = [{"name": "c", "image": "i"}]
    spec = {"serviceAccountName": "bob", "containers": containers}
    await client.core_v1.pods("default").create({"metadata": {"name": "p"}, "spec": spec})
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    path = "/api/v1/namespaces/default/serviceaccounts/bob/token"

    def claims(answer: Any) -> Any:
        return json.decode(_unpacked(answer["status"]["token"].split(".")[1]))

    wanted = {"expirationSeconds": 3607, "boundObjectRef": bound}
    kubelets = await post(client, path, {"spec": wanted})
    others = [
        await post(client, path, {"spec": spec})
        for spec in (
            {"expirationSeconds": 3607},
            {"expirationSeconds": 3600, "boundObjectRef": bound},
            {**wanted, "audiences": ["vault"]},
        )
    ]

    now = int(clock.now())
    assert claims(kubelets)["exp"] == now + 365 * 24 * 3600
    assert claims(kubelets)["kubernetes.io"]["warnafter"] == now + 3607
    assert parse_time(kubelets["status"]["expirationTimestamp"]) == now + 3607
    assert kubelets["spec"]["expirationSeconds"] == 3607
    assert all(claims(other)["exp"] <= now + 3607 for other in others)
    token = kubelets["status"]["token"]
    assert await who(server, token) == "system:serviceaccount:default:bob"
    assert await who(server, others[0]["status"]["token"]) == "system:serviceaccount:default:bob"
    await clock.advance(4000)
    assert await who(server, token) == "system:serviceaccount:default:bob"
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {server.token}"}) as admin:
        scraped = (await admin.get(f"{server.url}/metrics")).text
    assert "serviceaccount_valid_tokens_total 1\n" in scraped
    assert "serviceaccount_stale_tokens_total 1\n" in scraped


async def test_a_server_may_limit_how_long_tokens_last() -> None:
    async with (
        running_server(service_accounts(max_expiration_s=700.0)) as server,
        server.client() as client,
    ):
        await client.core_v1.serviceaccounts("default").create({"metadata": {"name": "bob"}})
        path = "/api/v1/namespaces/default/serviceaccounts/bob/token"
        made = await post(client, path, {"spec": {"expirationSeconds": 3600}})

    assert made["spec"]["expirationSeconds"] == 700


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
