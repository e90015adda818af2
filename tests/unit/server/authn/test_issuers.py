"""Tokens of issuers: keys come over real HTTPS, and whatever an issuer does nobody else gets in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from proreus.aio.tasks import background
from proreus.api.wire import json
from proreus.server.authn.config_file import parse_config
from proreus.server.authn.jwt.authenticators import JwtAuthenticators
from proreus.server.authn.jwt.compact import encoded
from proreus.server.authn.jwt.config import ClaimMappings, Issuer, JwtConfig, PrefixedClaim
from proreus.server.authn.metrics import AuthenticationMetrics
from proreus.server.authn.oidc_flags import flags_config
from proreus.server.authn.options import AuthenticationInvalid, OidcOptions
from proreus.server.authn.token_check import Rejected
from proreus.server.offload import INLINE
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.user import User
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.server.authn import issuer as issuers
from tests.unit.server.authn.issuer import KEYS, RSA_KEY, WELL_KNOWN, TestIssuer

JANE = User("oidc:jane")
NOT_READY = Rejected("oidc: authenticator not initialized")
UNSIGNED = Rejected(
    "oidc: verify token: failed to verify signature: failed to verify id token signature"
)


def config_of(issuer: TestIssuer, **changes: Any) -> JwtConfig:
    mappings = ClaimMappings(username=PrefixedClaim("sub", "oidc:"))
    given = {"audiences": ("proreus",), "mappings": mappings, **changes}
    return JwtConfig(issuer=Issuer(issuer.url, authority=issuer.authority), **given)


class World:
    def __init__(self, issuer: TestIssuer) -> None:
        self.issuer = issuer
        self.clock = VirtualClock()
        self.registry = CollectorRegistry()
        metrics = AuthenticationMetrics(self.registry)
        self.authenticators = JwtAuthenticators([config_of(issuer)], metrics, self.clock, INLINE)

    async def check(self, **claims: Any) -> User | Rejected | None:
        return await self.authenticators.check(self.issuer.token(**claims))

    async def ready(self) -> None:
        """The issuer is asked in real time, and waits in virtual time."""
        await self.until(self.is_ready)

    async def is_ready(self) -> bool:
        return await self.check(nbf=1) != NOT_READY

    async def until(self, holds: Callable[[], Any]) -> None:
        async with asyncio.timeout(60):
            while not await holds():
                await asyncio.sleep(0.005)
                await self.clock.advance(1)


issuer = issuers.issuer


@pytest.fixture
async def world(issuer: TestIssuer) -> AsyncIterator[World]:
    world = World(issuer)
    async with background(world.authenticators.run()):
        yield world


async def test_a_token_of_the_issuer_names_its_user(world: World) -> None:
    await world.ready()

    assert await world.check() == JANE


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"])
async def test_all_rsa_algorithms_of_kubernetes_are_accepted(world: World, algorithm: str) -> None:
    await world.ready()

    assert await world.check(algorithm=algorithm) == JANE


@pytest.mark.parametrize(
    ("algorithm", "curve"),
    [("ES256", ec.SECP256R1()), ("ES384", ec.SECP384R1()), ("ES512", ec.SECP521R1())],
)
async def test_a_curve_is_accepted_with_its_own_algorithm_only(
    world: World, algorithm: str, curve: ec.EllipticCurve
) -> None:
    key = ec.generate_private_key(curve)
    world.issuer.keys.append(key)
    world.issuer.publish()
    await world.ready()

    assert await world.check(algorithm=algorithm, key=key) == JANE
    other = "ES256" if algorithm != "ES256" else "ES384"
    assert await world.check(algorithm=other, key=key) == UNSIGNED


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"aud": "other"}, 'oidc: expected audience "proreus" got ["other"]'),
        ({"aud": ["a", "b"]}, 'oidc: expected audience "proreus" got ["a" "b"]'),
        ({"aud": None}, 'oidc: expected audience "proreus" got []'),
        ({"aud": [1]}, 'oidc: expected audience "proreus" got []'),
        ({"exp": None}, "oidc: token is expired (Token Expiry: 1970-01-01T00:00:00Z)"),
        ({"exp": 1_700_000_000}, "oidc: token is expired (Token Expiry: 2023-11-14T22:13:20Z)"),
        ({"exp": "soon"}, "oidc: failed to unmarshal claims: a time is not a number"),
        ({"iat": True}, "oidc: failed to unmarshal claims: a time is not a number"),
        ({"nbf": 3_900_000_000}, "before the nbf (not before) time: 2093-08-01T21:20:00Z"),
        ({"algorithm": "HS256"}, 'unsupported algorithm, expected ["ES256" "ES384"'),
        ({"algorithm": "none"}, 'got "none"'),
    ],
)
async def test_a_token_for_others_or_for_another_time_is_refused(
    world: World, claims: dict[str, Any], why: str
) -> None:
    await world.ready()
    algorithm = claims.pop("algorithm", "RS256")
    token = world.issuer.token(**claims)
    if algorithm != "RS256":
        head = encoded(json.encode({"alg": algorithm}))
        token = f"{head}.{token.split('.')[1]}."

    verdict = await world.authenticators.check(token)

    assert isinstance(verdict, Rejected)
    assert verdict.why.startswith("oidc: verify token: ")
    assert why in verdict.why
    assert token not in verdict.why


async def test_clocks_may_differ_by_a_minute_and_one_of_several_audiences_is_enough(
    world: World,
) -> None:
    await world.ready()
    now = int(world.clock.now())

    assert await world.check(nbf=now + 50, aud=["other", "proreus"]) == JANE
    assert isinstance(await world.check(nbf=now + 70), Rejected)


async def test_tokens_of_nobody_we_know_are_somebody_elses(world: World) -> None:
    await world.ready()

    for token in ("", "a.b.c", "a", "e30.e30.", world.issuer.token(iss="https://other")):
        assert await world.authenticators.check(token) is None


async def test_a_forged_token_is_refused(world: World) -> None:
    await world.ready()
    head, claims, signed = world.issuer.token().split(".")
    root = encoded(json.encode({"iss": world.issuer.url, "aud": "proreus", "sub": "root",
                                "exp": 4_000_000_000}))  # fmt: skip
    stranger = rsa.generate_private_key(65537, 2048)

    for token in (f"{head}.{root}.{signed}", f"{head}.{claims}.", f"{head}.{claims}.AAAA",
                  world.issuer.token(key=stranger)):  # fmt: skip
        assert await world.authenticators.check(token) == UNSIGNED


async def test_a_new_key_is_fetched_when_a_token_names_it_but_not_for_every_such_token(
    world: World,
) -> None:
    await world.ready()
    new = rsa.generate_private_key(65537, 2048)
    world.issuer.keys = [new]
    world.issuer.publish()
    before = world.issuer.asked.count(KEYS)
    await world.clock.advance(11)

    assert await world.check(key=new) == JANE
    after = world.issuer.asked.count(KEYS)
    for number in range(5):
        assert await world.check(key=RSA_KEY, jti=str(number)) == UNSIGNED

    assert (after, world.issuer.asked.count(KEYS)) == (before + 1, before + 1)


async def test_a_key_that_was_withdrawn_is_forgotten_within_an_hour(world: World) -> None:
    await world.ready()
    world.issuer.keys = [rsa.generate_private_key(65537, 2048)]
    world.issuer.publish()
    asked = world.issuer.asked.count(KEYS)
    await world.clock.advance(3700)

    async def is_fetched() -> bool:
        return world.issuer.asked.count(KEYS) > asked

    async def is_gone() -> bool:
        return await world.check(key=RSA_KEY) == UNSIGNED

    await world.until(is_fetched)
    await world.until(is_gone)


async def test_an_issuer_that_is_down_at_first_is_asked_until_it_answers(world: World) -> None:
    del world.issuer.pages[WELL_KNOWN]

    async def is_asked_twice() -> bool:
        return world.issuer.asked.count(WELL_KNOWN) >= 2

    await world.until(is_asked_twice)
    assert await world.check() == NOT_READY
    assert fetch_results(world.registry) == {"failure"}
    world.issuer.publish()
    await world.ready()

    assert await world.check() == JANE


async def huge(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    for _ in range(40):
        await answer.write(b" " * 65536)
    return answer


async def redirected(request: web.Request) -> web.StreamResponse:
    return web.Response(status=302, headers={"Location": "/elsewhere"})


@pytest.mark.parametrize("path", [WELL_KNOWN, KEYS])
@pytest.mark.parametrize(
    "page",
    [b"", b"[", b"[]", b'{"issuer": "https://other", "keys": {}}', None, huge, redirected],
    ids=["empty", "no-json", "no-object", "another", "slow", "huge", "redirected"],
)
async def test_an_issuer_that_answers_nonsense_changes_nothing_and_holds_nobody_up(
    world: World, path: str, page: Any
) -> None:
    await world.ready()
    world.issuer.pages["/elsewhere"] = world.issuer.pages[path]
    world.issuer.pages[path] = world.issuer.silent if page is None else page
    asked = world.issuer.asked.count(path)
    new = rsa.generate_private_key(65537, 1024)
    await world.clock.advance(11)

    async def is_asked() -> bool:
        return world.issuer.asked.count(path) > asked

    async with asyncio.TaskGroup() as group:
        unknown = group.create_task(world.check(key=new))
        await world.until(is_asked)
        assert await world.check(jti="other") == JANE

        async def is_over() -> bool:
            return unknown.done()

        await world.until(is_over)

    assert unknown.result() == UNSIGNED
    assert "/elsewhere" not in world.issuer.asked
    assert await world.check(jti="after") == JANE


async def test_a_good_token_is_remembered_for_ten_seconds_but_not_beyond_its_end(
    world: World,
) -> None:
    await world.ready()
    now = int(world.clock.now())
    token, short = world.issuer.token(jti="1"), world.issuer.token(exp=now + 3)

    assert await world.authenticators.check(token) == JANE
    assert await world.authenticators.check(short) == JANE
    seen = latency_count(world.registry)
    assert await world.authenticators.check(token) == JANE
    assert latency_count(world.registry) == seen
    await world.clock.advance(5)

    assert isinstance(await world.authenticators.check(short), Rejected)


def fetch_results(registry: CollectorRegistry) -> set[str]:
    name = "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds"
    families = [family for family in registry.collect() if family.name == name]
    return {sample.labels["result"] for sample in families[0].samples}


def latency_count(registry: CollectorRegistry) -> float:
    name = "apiserver_authentication_jwt_authenticator_latency_seconds_count"
    return sum(
        sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == name and sample.labels["result"] == "success"
    )


async def test_a_configuration_that_is_replaced_takes_effect_for_the_next_request(
    world: World,
) -> None:
    await world.ready()
    token = world.issuer.token()
    assert await world.authenticators.check(token) == JANE

    mappings = ClaimMappings(username=PrefixedClaim("sub", "new:"))
    world.authenticators.replace([config_of(world.issuer, mappings=mappings)])
    renamed = await world.authenticators.check(token)
    world.authenticators.replace([])

    assert renamed == User("new:jane")
    assert await world.authenticators.check(token) is None


def flags(**given: Any) -> JwtConfig:
    return flags_config(
        OidcOptions(**{"issuer_url": "https://i", "client_id": "c", **given}), ["s"]
    )


@pytest.mark.parametrize(
    ("given", "prefix"),
    [
        ({}, "https://i#"),
        ({"username_claim": "email"}, ""),
        ({"username_prefix": "-"}, ""),
        ({"username_prefix": "p:", "username_claim": "email"}, "p:"),
    ],
)
def test_names_are_prefixed_by_the_issuer_unless_flags_say_otherwise(
    given: dict[str, Any], prefix: str
) -> None:
    username = flags(**given).mappings.username

    assert isinstance(username, PrefixedClaim)
    assert username.prefix == prefix


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"issuer_url": "http://i"}, "URL scheme must be https"),
        ({"issuer_url": "https://u:p@i"}, "URL must not contain a username or password"),
        ({"signing_algorithms": ("HS256",)}, 'oidc: unsupported signing alg: "HS256"'),
        ({"ca_file": Path("none")}, "oidc-ca-file none: No such file or directory"),
    ],
)
def test_wrong_flags_are_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(AuthenticationInvalid, match=why):
        flags(**given)


def test_flags_and_a_file_say_the_same() -> None:
    by_file = parse_config(b"""
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer: {url: "https://i", audiences: [c]}
  claimValidationRules: [{claim: hd, requiredValue: example.com}]
  claimMappings:
    username: {claim: sub, prefix: "https://i#"}
    groups: {claim: roles, prefix: "g:"}
""").jwt[0]
    by_flags = flags(
        groups_claim="roles",
        groups_prefix="g:",
        required_claims={"hd": "example.com"},
        signing_algorithms=by_file.algorithms,
    )

    assert by_flags == by_file
